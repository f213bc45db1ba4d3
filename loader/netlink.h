/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The kernel's control plane: generic netlink family "fabric_ext".
 *
 * Calls return 0 or -errno; fx_nl_why() then has the reason in words, as the
 * kernel gave it. Rows that a dump hands out live until the callback returns.
 */
#ifndef FX_NETLINK_H
#define FX_NETLINK_H

#include <linux/fabric_ext.h>

#include "graph/image.h"
#include "types.h"

struct fx_nl;

/* FX_CMD_GRAPH_GET */
struct fx_nl_graph {
	char name[FX_NAME_LEN];
	u8 digest[FX_DIGEST_LEN];
	u32 governs;
	u32 count[FX_SECTS];
	char policy[FX_NAME_LEN];	/* empty: none attached */
	u32 flags;			/* FX_GRAPH_F_* */
	u32 exit_kind;			/* enum fx_exit_kind */
	char exit_msg[256];
	char exit_dump[4096];
	u64 emitted;
	u64 lost;
	u64 kmem;
	u64 missing;			/* FX_OP_BIT() wanted and not hooked */
};

/* FX_CMD_PLACE_GET */
struct fx_nl_place {
	u32 index;
	struct fx_place_desc desc;
	s32 node;			/* FX_NODE_NONE: not bound */
	u8 bound;
	u64 used;
	u64 res_start;
	u64 res_size;			/* 0: no region known */
};

/* FX_CMD_CLASS_GET */
struct fx_nl_class {
	u32 index;
	struct fx_class_desc desc;
	u64 moves;
	u64 refused;
	u64 failed;
	u64 bytes_in;
	u64 bytes_out;
	u64 ns;
	u64 verify_ns;
};

/* FX_CMD_EDGE_GET */
struct fx_nl_edge {
	u32 index;
	struct fx_edge_desc desc;
	u64 moves;
};

/* FX_CMD_COUNTER_GET */
struct fx_nl_counter {
	u32 index;			/* enum fx_op */
	u64 asked;
	u64 refused;
	u64 invalid;
};

/* FX_CMD_EVENT: one message */
struct fx_nl_events {
	const char *graph;
	u64 emitted;			/* by the graph so far */
	u64 lost;			/* of these, before they were sent */
	const struct fx_event *ev;
	u32 n;
};

/* @row: the structure of the command that is dumped */
typedef void (*fx_nl_fn)(const void *row, void *arg);

/* NULL after one sentence through fx_err(). */
struct fx_nl *fx_nl_open(void);
void fx_nl_close(struct fx_nl *nl);
const char *fx_nl_why(const struct fx_nl *nl);

int fx_nl_upload(struct fx_nl *nl, const struct fx_image *img);
int fx_nl_remove(struct fx_nl *nl, const char *graph);
int fx_nl_bypass(struct fx_nl *nl, const char *graph);
int fx_nl_graph_get(struct fx_nl *nl, const char *graph, struct fx_nl_graph *out);
int fx_nl_dump(struct fx_nl *nl, enum fx_cmd cmd, const char *graph, fx_nl_fn fn,
	       void *arg);

int fx_nl_subscribe(struct fx_nl *nl);
int fx_nl_fd(const struct fx_nl *nl);
int fx_nl_events_read(struct fx_nl *nl,
		      void (*fn)(const struct fx_nl_events *msg, void *arg),
		      void *arg);

/* ---- between netlink.c and netlink_rows.c ---- */
struct nlattr;
size_t fx_nl_row_size(enum fx_cmd cmd);
int fx_nl_row(enum fx_cmd cmd, struct nlattr *attrs, int len, void *row);
int fx_nl_events_row(struct nlattr *attrs, int len, struct fx_event *room,
		     u32 cap, struct fx_nl_events *out);

#endif /* FX_NETLINK_H */
