/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What devices counted of an edge, added up over all that it crosses. */
#ifndef FX_EDGE_SUMS_H
#define FX_EDGE_SUMS_H

#include "nic_rows.h"

struct json_object;

struct fx_edge_sum {
	u32 edge;		/* instance */
	const char *cls;	/* borrowed from the views */
	u32 crossings;		/* devices and directions */
	struct fx_nic_count count;
};

/* The edges of all devices in the order of their instances, to free(). */
struct fx_edge_sum *fx_edge_sums(const struct fx_nic_views *v, u32 *n);

/* "edges" of @o. */
void fx_edge_sums_put(struct json_object *o, const struct fx_nic_views *v);
/* A table, when an edge crosses more than one device. */
void fx_edge_sums_print(const struct fx_nic_views *v);

#endif /* FX_EDGE_SUMS_H */
