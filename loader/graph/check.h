/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Between the checks; each reports errors and adds obligations. */
#ifndef FX_GRAPH_CHECK_H
#define FX_GRAPH_CHECK_H

#include "graph.h"

struct fx_ordering;

/* order.c: NULL when the edges wait for each other in a circle (reported) */
struct fx_ordering *fx_order_build(struct fx_graph *g);
void fx_order_free(struct fx_ordering *o);

/* Position in an order in which the instances can run. */
u32 fx_order_rank(const struct fx_ordering *o, u32 edge);

/* The members of an alias set, by instance number. */
const u32 *fx_order_members(const struct fx_ordering *o, u32 set, u32 *n);

bool fx_order_direct(const struct fx_ordering *o, u32 a, u32 b);
bool fx_order_ancestors(struct fx_ordering *o, u32 b, u32 low);
bool fx_order_marked(const struct fx_ordering *o, u32 a);

void fx_check_support(struct fx_graph *g);	/* support.c */
void fx_check_types(struct fx_graph *g);	/* types.c */
void fx_check_placement(struct fx_graph *g);	/* placement.c */
void fx_check_flows(struct fx_graph *g);	/* flow.c */
void fx_check_copies(struct fx_graph *g);	/* copies.c */
void fx_check_capacity(struct fx_graph *g);	/* capacity.c */
void fx_check_alias(struct fx_graph *g, struct fx_ordering *o);	/* alias.c */

void fx_oblige(struct fx_graph *g, const char *code, enum fx_proof status,
	       u32 cls, const char *text, const char *by);

/* elaborate.c: add "with layer = 3" to an error about an instance. */
void fx_note_instance(struct fx_diag *d, const struct fx_class *c, u32 k);

/* Bytes of an edge behind its whole chain, as far as the chain can shrink it. */
u64 fx_bytes_out(const struct fx_class *c, u64 bytes);

#endif /* FX_GRAPH_CHECK_H */
