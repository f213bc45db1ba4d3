/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What of a flow is only known while it runs: the queue pair of an edge. */
#ifndef FX_TAG_H
#define FX_TAG_H

#include "cmd.h"
#include "types.h"

struct fx_tag {
	const char *graph;
	const char *edge;		/* name or name[i] */
	const char *device;		/* netdev or DPU; NULL: each that the edge crosses */
	u32 qp;				/* 0: none from here on */
};

/**
 * fx_tag() - bind a queue pair to an edge whose flow is `rocev2: tag`
 * @t: which to which; the graph is pinned
 * @devices: how many devices find it so from here on
 *
 * Packets of the queue pair that was bound before are of no edge any more. All
 * devices or none: what was done is undone when one of them fails.
 *
 * Return: FX_RC_OK; FX_RC_INPUT or FX_RC_SYSTEM after one sentence.
 */
enum fx_rc fx_tag(const struct fx_tag *t, u32 *devices);

#endif /* FX_TAG_H */
