/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A run: each instance of an edge class is moved out of a device's buffer to
 * where the policy wants it, checked there, moved back, and checked again.
 */
#ifndef FX_RUN_H
#define FX_RUN_H

#include <linux/fabric_ext.h>

#include "../cmd.h"
#include "../netlink.h"
#include "../rows.h"
#include "device.h"
#include "frames.h"

#define FX_RUN_BATCH	16	/* instances that are under way at once */

struct fx_run_options {
	const char *graph;
	const char *cls;		/* NULL: the one that suits */
	const char *heap;
	const char *stranger;		/* V4L2 device that is no place, or NULL */
};

/* What is where, between out and back. */
struct fx_kept {
	u32 handle;		/* 0: nothing */
	u16 place;
	u16 element;		/* enum fx_element */
	u32 back_crc;		/* of what must come back */
	u64 bytes;		/* at the place */
};

/* One line of the table: a class and a place. */
struct fx_run_row {
	u32 cls;
	u16 place;
	u64 moves, bytes_in, bytes_out, ns, verify_ns;
};

struct fx_run {
	const struct fx_run_options *opt;
	struct fx_nl *nl;
	struct fx_nl *events_nl;
	struct fx_tables before, after;
	struct fx_edge_desc *edges;
	u32 n_edges, cap_edges;
	u32 cls;			/* that moves out */
	struct fx_kept *kept;		/* by instance of it */
	struct fx_where *where;		/* by place, found when needed */
	bool *where_known;
	u16 *scratch;			/* what a batch's element stands for */
	int dev, heap, drm;
	struct fx_run_row *row;
	u32 n_row, cap_row;
	u64 received, moves_seen;	/* events */
	double worst;			/* quantization error over its bound */
	u64 checked_out, checked_back, refused_checked;
	u64 stayed;			/* no way back, in an audit */
};

/* plan.c: which class, and which edge brings an instance back */
enum fx_rc fx_run_plan(struct fx_run *r);
bool fx_run_back_edge(const struct fx_run *r, u32 instance, u32 *edge);

/* move.c */
enum fx_rc fx_run_out(struct fx_run *r);
enum fx_rc fx_run_back(struct fx_run *r);

/* check.c */
enum fx_rc fx_check_out(struct fx_run *r, u32 instance, const struct fx_completion *c);
enum fx_rc fx_check_back(struct fx_run *r, u32 instance, const struct fx_completion *c);
enum fx_rc fx_check_stranger(struct fx_run *r, int dmabuf, u64 bytes);
enum fx_rc fx_check_totals(struct fx_run *r);
void fx_run_read_events(struct fx_run *r);

/* Count a completion into the table. */
void fx_run_count(struct fx_run *r, u32 cls, const struct fx_completion *c);

/* A policy in an audit changes nothing: what is default happens. */
static inline bool fx_run_audits(const struct fx_run *r)
{
	return r->before.graph.flags & FX_GRAPH_F_AUDIT;
}

const char *fx_run_place(const struct fx_run *r, u16 place);

#endif /* FX_RUN_H */
