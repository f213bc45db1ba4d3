// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What an attach has pinned for network devices, and how it ends. */
#include <bpf/bpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "diag.h"
#include "digest.h"
#include "nic.h"
#include "nic_dev.h"
#include "system.h"
#include "util.h"

bool fx_map_is(int fd, u32 key, u32 value)
{
	struct bpf_map_info info = { 0 };
	u32 len = sizeof(info);

	return !bpf_map_get_info_by_fd(fd, &info, &len) && info.key_size == key &&
	       info.value_size == value;
}

int fx_map_read(const char *path, void *value, u32 size)
{
	int fd = bpf_obj_get(path), err = fd < 0 ? -errno : 0;
	const u32 zero = 0;

	if (err)
		return err;
	if (!fx_map_is(fd, sizeof(zero), size))
		err = -EPROTO;
	else if (bpf_map_lookup_elem(fd, &zero, value))
		err = -errno;
	close(fd);
	return err;
}

void fx_nic_digest(const struct fx_bundle_nic *part, u8 digest[FX_DIGEST_LEN])
{
	fx_digest(part->object, part->object_size, digest);
}

void fx_close(int fd)
{
	if (fd > 0)
		close(fd);
}

/* A link that a process holds: a descriptor, -ENOENT when there is none, -ENOLINK. */
static int open_owned(const char *graph_dir, const char *sub, u32 link)
{
	char *path = fx_asprintf("%s/%s/" FX_NIC_LINK_IDS, graph_dir, sub);
	int map = bpf_obj_get(path), fd = -ENOENT;
	u32 id = 0;

	free(path);
	if (map < 0)
		return -errno;
	if (!fx_map_is(map, sizeof(link), sizeof(id)) ||
	    bpf_map_lookup_elem(map, &link, &id))
		fd = -EPROTO;
	close(map);
	if (id)
		fd = bpf_link_get_fd_by_id(id);
	/* no other gets its number */
	return id && fd < 0 ? (errno == ENOENT ? -ENOLINK : -errno) : fd;
}

int fx_nic_link_info(const char *graph_dir, const char *sub, u32 link,
		     struct bpf_link_info *info)
{
	char *path = fx_asprintf("%s/%s/%s", graph_dir, sub, fx_nic_links[link].pin);
	int fd = bpf_obj_get(path), err = 0;
	u32 len = sizeof(*info);

	memset(info, 0, sizeof(*info));
	if (fd < 0)
		fd = errno == ENOENT ? open_owned(graph_dir, sub, link) : -errno;
	free(path);
	if (fd < 0)
		return fd;
	if (bpf_link_get_info_by_fd(fd, info, &len))
		err = -errno;
	close(fd);
	return err;
}

u32 fx_nic_ifindex_of(const struct bpf_link_info *info)
{
	if (info->type == BPF_LINK_TYPE_XDP)
		return info->xdp.ifindex;
	return info->type == BPF_LINK_TYPE_TCX ? info->tcx.ifindex : 0;
}

int fx_nic_link_ifindex(const char *graph_dir, const char *sub, u32 link)
{
	struct bpf_link_info info;
	int err = fx_nic_link_info(graph_dir, sub, link, &info);

	return !err ? (int)fx_nic_ifindex_of(&info) : err == -ENOLINK ? 0 : err;
}

bool fx_nics_pinned(const char *graph)
{
	return fx_pins_has(graph, fx_pins_list_nics);
}

int fx_nic_end_link(const char *dir, const char *sub, const char *name)
{
	char *path = fx_asprintf("%s/%s/%s", dir, sub, name);
	int fd = bpf_obj_get(path);
	int err = 0;

	if (fd < 0) {
		free(path);
		return errno == ENOENT ? 0 : -errno;
	}
	/* first its name: one that is there without a device is one that went away */
	if (unlink(path) && errno != ENOENT)
		err = -errno;
	/* at once, and not when the last of its descriptors happens to close */
	if (!err && bpf_link_detach(fd) && errno != ENOLINK && errno != EINVAL)
		err = -errno;
	free(path);
	close(fd);
	return err;
}

enum fx_rc fx_nics_detach(const char *graph, const struct fx_pins *pins)
{
	struct fx_words subs = { 0 };
	enum fx_rc rc = FX_RC_OK;

	fx_pins_list_nics(graph, &subs);
	for (u32 i = 0; i < subs.n; i++) {
		for (u32 j = 0; j < FX_NIC_LINKS; j++) {
			int err = fx_nic_end_link(pins->dir, subs.word[i], fx_nic_links[j].pin);

			if (!err)
				continue;
			fx_err("%s/%s/%s cannot be detached: %s", pins->dir,
			       subs.word[i], fx_nic_links[j].pin, strerror(-err));
			rc = FX_RC_SYSTEM;
		}
	}
	fx_words_free(&subs);
	return rc;
}

int fx_nic_conf_read_at(const char *dir, struct fx_nic_conf *conf)
{
	char *path = fx_asprintf("%s/maps/fx_conf", dir);
	int err = fx_map_read(path, conf, sizeof(*conf));

	free(path);
	return err;
}

int fx_nic_conf_read(const char *graph, const char *sub, struct fx_nic_conf *conf)
{
	char *graph_dir = fx_pins_dir(graph);
	char *dir = fx_asprintf("%s/%s", graph_dir, sub);
	int err = fx_nic_conf_read_at(dir, conf);

	free(dir);
	free(graph_dir);
	return err;
}

/* ---- by-passing ------------------------------------------------------- */

#define BYPASS_TRIES	16	/* a replacement meanwhile brings one more map */

int fx_nic_conf_bypass(int fd)
{
	struct fx_nic_conf conf;
	const u32 zero = 0;

	if (!fx_map_is(fd, sizeof(zero), sizeof(conf)))
		return -EPROTO;
	if (bpf_map_lookup_elem(fd, &zero, &conf))
		return -errno;
	if (conf.flags & FX_NIC_F_BYPASS)
		return 0;
	conf.flags |= FX_NIC_F_BYPASS;
	return bpf_map_update_elem(fd, &zero, &conf, BPF_EXIST) ? -errno : 1;
}

/* The fx_conf below @dir/@at: as fx_nic_conf_bypass(). */
static int bypass_at(const char *dir, const char *at)
{
	char *path = fx_asprintf("%s/%smaps/fx_conf", dir, at);
	int fd = bpf_obj_get(path);
	int ret = fd < 0 ? -errno : fx_nic_conf_bypass(fd);

	if (fd >= 0)
		close(fd);
	free(path);
	return ret;
}

/*
 * What is in force may be what is pinned, or what will be once the replacement
 * that goes on is done: both, until neither has changed, as the one becomes the
 * other under our eyes. A replacement that begins later sees the flag itself.
 */
static int bypass_pinned(const char *dir)
{
	int next, now;

	for (u32 i = 0; i < BYPASS_TRIES; i++) {
		next = bypass_at(dir, FX_NIC_NEXT "/");
		now = bypass_at(dir, "");
		if (next <= 0 && now <= 0)
			return now < 0 ? now : next == -ENOENT ? 0 : next;
	}
	return -EAGAIN;
}

static int bypass_dev(const char *graph_dir, const char *sub)
{
	char *dir = fx_asprintf("%s/%s", graph_dir, sub);
	int err = bypass_pinned(dir);

	for (u32 i = 0; i < FX_NIC_LINKS; i++) {
		int rc = 0;

		if (fx_nic_link_runs(graph_dir, sub, i) == FX_NIC_RUNS_OTHER)
			rc = fx_nic_link_bypass(graph_dir, sub, i);
		err = err ? err : rc;
	}
	free(dir);
	return err;
}

bool fx_nic_is_bypassed(const char *graph, const char *sub)
{
	char *graph_dir = fx_pins_dir(graph);
	char *next = fx_asprintf("%s/%s/" FX_NIC_NEXT, graph_dir, sub);
	struct fx_nic_conf conf;
	bool bypassed;

	bypassed = !fx_nic_conf_read(graph, sub, &conf) && conf.flags & FX_NIC_F_BYPASS &&
		   (fx_nic_conf_read_at(next, &conf) || conf.flags & FX_NIC_F_BYPASS);
	free(next);
	free(graph_dir);
	return bypassed;
}

bool fx_nics_bypassed(const char *graph)
{
	struct fx_words subs = { 0 };
	bool bypassed;

	fx_pins_list_nics(graph, &subs);
	bypassed = subs.n;
	for (u32 i = 0; i < subs.n; i++)
		bypassed = bypassed && fx_nic_is_bypassed(graph, subs.word[i]);
	fx_words_free(&subs);
	return bypassed;
}

int fx_nics_bypass(const char *graph)
{
	char *dir = fx_pins_dir(graph);
	struct fx_words subs = { 0 };
	int err = 0;

	fx_pins_list_nics(graph, &subs);
	for (u32 i = 0; i < subs.n; i++) {
		int rc = bypass_dev(dir, subs.word[i]);

		err = err ? err : rc;
	}
	fx_words_free(&subs);
	free(dir);
	return err;
}
