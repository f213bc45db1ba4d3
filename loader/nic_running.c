// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Which of a device's pinned programs and maps run. A replacement updates links
 * first and exchanges pins later; killed in between, it leaves links that run what
 * lies in next/, or what is pinned nowhere once another replacement began.
 */
#include <bpf/bpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "nic.h"
#include "nic_dev.h"
#include "util.h"

#define PROG_MAPS	64	/* a program of ours has fewer */

static const char *const places[] = {
	[FX_NIC_RUNS_PINNED] = "", [FX_NIC_RUNS_NEXT] = FX_NIC_NEXT "/",
};

/* The maps of the program with this ID, if it is what is pinned at @path. */
static bool maps_of(const char *path, u32 id, u32 *maps, u32 *n)
{
	struct bpf_prog_info info = {
		.nr_map_ids = PROG_MAPS, .map_ids = (unsigned long)maps,
	};
	u32 len = sizeof(info);
	int fd = bpf_obj_get(path);
	bool same;

	same = fd >= 0 && !bpf_prog_get_info_by_fd(fd, &info, &len) && info.id == id;
	*n = same && info.nr_map_ids < PROG_MAPS ? info.nr_map_ids : 0;
	if (fd >= 0)
		close(fd);
	return same;
}

/* Is what is pinned at @path one of these maps? */
static bool is_among(const char *path, const u32 *maps, u32 n)
{
	struct bpf_map_info info = { 0 };
	u32 len = sizeof(info);
	int fd = bpf_obj_get(path);
	bool found = false;

	if (fd < 0)
		return false;
	if (!bpf_map_get_info_by_fd(fd, &info, &len))
		for (u32 i = 0; i < n; i++)
			found = found || maps[i] == info.id;
	close(fd);
	return found;
}

/* Where below the device's directory the program is pinned; ARRAY_SIZE(places) if not. */
static u32 find_prog(const char *dir, const char *name, u32 id, u32 *maps, u32 *n)
{
	u32 at;

	for (at = 0; at < ARRAY_SIZE(places); at++) {
		char *path = fx_asprintf("%s/%sprogs/%s", dir, places[at], name);
		bool found = maps_of(path, id, maps, n);

		free(path);
		if (found)
			break;
	}
	return at;
}

/* The same of the fx_conf that it reads. */
static u32 find_conf(const char *dir, const u32 *maps, u32 n)
{
	u32 at;

	for (at = 0; at < ARRAY_SIZE(places); at++) {
		char *path = fx_asprintf("%s/%smaps/fx_conf", dir, places[at]);
		bool found = is_among(path, maps, n);

		free(path);
		if (found)
			break;
	}
	return at;
}

int fx_nic_link_runs(const char *graph_dir, const char *sub, u32 link)
{
	struct bpf_link_info info;
	int err = fx_nic_link_info(graph_dir, sub, link, &info);
	u32 maps[PROG_MAPS], n, prog, conf;
	char *dir;

	if (err)
		return err;
	dir = fx_asprintf("%s/%s", graph_dir, sub);
	prog = find_prog(dir, fx_nic_links[link].prog, info.prog_id, maps, &n);
	/* what sets marks reads no fx_conf: it is where its program is */
	conf = link == FX_NIC_TC_IN ? prog : find_conf(dir, maps, n);
	free(dir);
	if (prog == FX_NIC_RUNS_PINNED && conf == FX_NIC_RUNS_PINNED)
		return FX_NIC_RUNS_PINNED;
	return conf == FX_NIC_RUNS_NEXT && link != FX_NIC_TC_IN ? FX_NIC_RUNS_NEXT :
								  FX_NIC_RUNS_OTHER;
}

enum fx_nic_runs fx_nic_runs(const char *graph_dir, const char *sub)
{
	int runs = FX_NIC_RUNS_PINNED;

	for (u32 i = 0; i < FX_NIC_LINKS && runs <= FX_NIC_RUNS_PINNED; i++)
		runs = fx_nic_link_runs(graph_dir, sub, i);
	/* a link that is not there runs nothing */
	return runs < 0 ? FX_NIC_RUNS_PINNED : runs;
}

/* ---- by-passing what is pinned nowhere -------------------------------- */

/* The fx_conf among these maps: a descriptor; -ENOENT, another -errno. */
static int conf_among(const u32 *maps, u32 n)
{
	for (u32 i = 0; i < n; i++) {
		struct bpf_map_info info = { 0 };
		int fd = bpf_map_get_fd_by_id(maps[i]);
		u32 len = sizeof(info);

		if (fd < 0)
			return -errno;
		if (!bpf_map_get_info_by_fd(fd, &info, &len) &&
		    !strcmp(info.name, "fx_conf"))
			return fd;
		close(fd);
	}
	return -ENOENT;
}

/* All that a link's program reads, found by its number. */
static int conf_of(u32 prog)
{
	u32 maps[PROG_MAPS], len;
	struct bpf_prog_info info = {
		.nr_map_ids = PROG_MAPS, .map_ids = (unsigned long)maps,
	};
	int fd = bpf_prog_get_fd_by_id(prog), err = 0;

	if (fd < 0)
		return -errno;
	len = sizeof(info);
	if (bpf_prog_get_info_by_fd(fd, &info, &len))
		err = -errno;
	close(fd);
	if (!err && info.nr_map_ids > PROG_MAPS)
		err = -E2BIG;
	return err ? err : conf_among(maps, info.nr_map_ids);
}

int fx_nic_link_bypass(const char *graph_dir, const char *sub, u32 link)
{
	struct bpf_link_info info;
	int err = fx_nic_link_info(graph_dir, sub, link, &info), fd;

	/* what is not there decides nothing */
	if (err)
		return err == -ENOENT || err == -ENOLINK ? 0 : err;
	fd = conf_of(info.prog_id);
	if (fd < 0)
		return fd == -ENOENT && link == FX_NIC_TC_IN ? 0 : fd;
	err = fx_nic_conf_bypass(fd);
	close(fd);
	return err < 0 ? err : 0;
}
