// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What an attach has pinned for network devices, and how it ends. */
#include <bpf/bpf.h>
#include <errno.h>
#include <sha256.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "diag.h"
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

void fx_nic_digest(const struct fx_bundle_nic *part, u8 digest[FX_DIGEST_LEN])
{
	SHA2_CTX sha;

	SHA256Init(&sha);
	SHA256Update(&sha, part->object, part->object_size);
	SHA256Final(digest, &sha);
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

int fx_nic_link_ifindex(const char *graph_dir, const char *sub, u32 link)
{
	char *path = fx_asprintf("%s/%s/%s", graph_dir, sub, fx_nic_links[link].pin);
	struct bpf_link_info info = { 0 };
	int fd = bpf_obj_get(path), ret = 0;
	u32 len = sizeof(info);

	if (fd < 0)
		fd = errno == ENOENT ? open_owned(graph_dir, sub, link) : -errno;
	free(path);
	if (fd < 0)
		return fd == -ENOLINK ? 0 : fd;
	/* one whose device went away holds none */
	if (bpf_link_get_info_by_fd(fd, &info, &len))
		ret = -errno;
	else if (info.type == BPF_LINK_TYPE_XDP)
		ret = info.xdp.ifindex;
	else if (info.type == BPF_LINK_TYPE_TCX)
		ret = info.tcx.ifindex;
	close(fd);
	return ret;
}

bool fx_nics_pinned(const char *graph)
{
	struct fx_words subs = { 0 };
	bool pinned;

	fx_pins_list_nics(graph, &subs);
	pinned = subs.n;
	fx_words_free(&subs);
	return pinned;
}

int fx_nic_end_link(const char *dir, const char *sub, const char *name)
{
	char *path = fx_asprintf("%s/%s/%s", dir, sub, name);
	int fd = bpf_obj_get(path);
	int err = 0;

	free(path);
	if (fd < 0)
		return errno == ENOENT ? 0 : -errno;
	/* at once, and not when the last of its descriptors happens to close */
	if (bpf_link_detach(fd) && errno != ENOLINK && errno != EINVAL)
		err = -errno;
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

int fx_nic_conf_read(const char *graph, const char *sub, struct fx_nic_conf *conf)
{
	char *dir = fx_pins_dir(graph);
	char *path = fx_asprintf("%s/%s/maps/fx_conf", dir, sub);
	const u32 zero = 0;
	int fd = bpf_obj_get(path);
	int err = fd < 0 ? -errno : 0;

	if (!err && !fx_map_is(fd, sizeof(zero), sizeof(*conf)))
		err = -EPROTO;
	if (!err && bpf_map_lookup_elem(fd, &zero, conf))
		err = -errno;
	if (fd >= 0)
		close(fd);
	free(path);
	free(dir);
	return err;
}

static int bypass(const char *path)
{
	struct fx_nic_conf conf;
	const u32 zero = 0;
	int fd = bpf_obj_get(path);
	int err = 0;

	if (fd < 0)
		return -errno;
	if (!fx_map_is(fd, sizeof(zero), sizeof(conf)))
		err = -EPROTO;
	else if (bpf_map_lookup_elem(fd, &zero, &conf))
		err = -errno;
	conf.flags |= FX_NIC_F_BYPASS;
	if (!err && bpf_map_update_elem(fd, &zero, &conf, BPF_EXIST))
		err = -errno;
	close(fd);
	return err;
}

bool fx_nics_bypassed(const char *graph)
{
	struct fx_words subs = { 0 };
	struct fx_nic_conf conf;
	bool bypassed;

	fx_pins_list_nics(graph, &subs);
	bypassed = subs.n;
	for (u32 i = 0; i < subs.n; i++)
		bypassed = bypassed && !fx_nic_conf_read(graph, subs.word[i], &conf) &&
			   conf.flags & FX_NIC_F_BYPASS;
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
		char *path = fx_asprintf("%s/%s/maps/fx_conf", dir, subs.word[i]);
		int rc = bypass(path);

		err = err ? err : rc;
		free(path);
	}
	fx_words_free(&subs);
	free(dir);
	return err;
}
