// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* A queue pair is bound at a network device by what its maps hold. */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "diag.h"
#include "nic.h"
#include "pins.h"
#include "tag_dev.h"
#include "util.h"

enum { MAP_FLOWS, MAP_ROWS, MAP_QPS };

static const struct {
	const char *name;
	u32 key, value;			/* sizes; 0: whatever it is */
} maps[FX_TAG_MAPS] = {
	[MAP_FLOWS] = { "fx_flows", sizeof(struct fx_flow_key), sizeof(u32) },
	[MAP_ROWS] = { "fx_rows", sizeof(u32), sizeof(struct fx_nic_row) },
	[MAP_QPS] = { "fx_qps", sizeof(struct fx_qp_key), 0 },
};

static enum fx_rc open_maps(struct fx_tag_at *b)
{
	char *dir = fx_pins_dir(b->graph), *sub = fx_pins_nic(b->view->conf.netdev);
	enum fx_rc rc = FX_RC_OK;

	for (u32 i = 0; i < FX_TAG_MAPS; i++)
		b->fd[i] = -1;
	for (u32 i = 0; i < FX_TAG_MAPS && rc == FX_RC_OK; i++) {
		struct bpf_map_info info = { 0 };
		u32 len = sizeof(info);
		char *path = fx_asprintf("%s/%s/maps/%s", dir, sub, maps[i].name);

		b->fd[i] = bpf_obj_get(path);
		if (b->fd[i] < 0 || bpf_map_get_info_by_fd(b->fd[i], &info, &len)) {
			fx_err("%s cannot be opened: %s", path, strerror(errno));
			rc = FX_RC_SYSTEM;
		} else if (info.key_size != maps[i].key ||
			   (maps[i].value && info.value_size != maps[i].value)) {
			fx_err("%s is of another version of fabricctl", path);
			rc = FX_RC_SYSTEM;
		}
		free(path);
	}
	free(sub);
	free(dir);
	return rc;
}

static enum fx_rc check_free(const struct fx_tag_at *b, u32 qp)
{
	struct fx_flow_key key = b->view->row[b->row].key;
	u32 other;

	key.qp = qp;
	if (bpf_map_lookup_elem(b->fd[MAP_FLOWS], &key, &other) || other == b->row)
		return FX_RC_OK;
	if (other < b->view->conf.rows)
		return fx_tag_taken(b, qp, other);
	fx_err("the maps of netdev '%s' contradict each other; detach the graph",
	       b->view->conf.netdev);
	return FX_RC_SYSTEM;
}

/* What was seen of a queue pair's number is not what comes of the next one. */
static int forget(const struct fx_tag_at *b, u32 qp)
{
	const u8 dir = b->view->row[b->row].dir;
	struct fx_qp_key key, next = { 0 };
	int fd = b->fd[MAP_QPS];
	bool more = !bpf_map_get_next_key(fd, NULL, &key);

	/* others come meanwhile, but not for ever */
	for (u32 i = 0; more && i < 2 * (FX_NIC_QPS + FX_NIC_MAX_FLOWS); i++) {
		more = !bpf_map_get_next_key(fd, &key, &next);
		if (key.qp == qp && key.dir == dir && bpf_map_delete_elem(fd, &key) &&
		    errno != ENOENT)
			return -errno;
		key = next;
	}
	return 0;
}

static int rebind(const struct fx_tag_at *b, u32 old, u32 qp)
{
	struct fx_nic_row row = b->view->row[b->row];
	int err;

	/* the same number again is the next one that bears it */
	if (old == qp)
		return qp ? forget(b, qp) : 0;
	row.key.qp = qp;
	if (qp) {
		err = forget(b, qp);
		if (err)
			return err;
		if (bpf_map_update_elem(b->fd[MAP_FLOWS], &row.key, &b->row, BPF_ANY))
			return -errno;
	}
	if (bpf_map_update_elem(b->fd[MAP_ROWS], &b->row, &row, BPF_EXIST))
		return -errno;
	row.key.qp = old;
	if (old && bpf_map_delete_elem(b->fd[MAP_FLOWS], &row.key) && errno != ENOENT)
		return -errno;
	return old ? forget(b, old) : 0;
}

static enum fx_rc tell(const struct fx_tag_at *b, int err)
{
	fx_err("the flow of '%s' at netdev '%s' cannot be written: %s", b->edge,
	       b->view->conf.netdev, strerror(-err));
	return FX_RC_SYSTEM;
}

static void close_maps(struct fx_tag_at *b)
{
	for (u32 i = 0; i < FX_TAG_MAPS; i++)
		if (b->fd[i] >= 0)
			close(b->fd[i]);
}

const struct fx_tag_kind fx_tag_nic = {
	.noun = "netdev", .open = open_maps, .check = check_free, .bind = rebind,
	.tell = tell, .close = close_maps,
};
