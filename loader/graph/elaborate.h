/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Between the files of elaboration. */
#ifndef FX_GRAPH_ELABORATE_H
#define FX_GRAPH_ELABORATE_H

#include "check.h"
#include "fields.h"
#include "graph.h"

/* elaborate.c: loop values of an instance of a class, by its number in it */
void fx_instance_loops(const struct fx_class *c, u32 k, u32 *index);

/* resolve.c: names of places, sets and classes into indices */
void fx_resolve(struct fx_graph *g);

/* flow.c: the flow of an instance whose fields were just evaluated */
void fx_elaborate_flow(struct fx_graph *g, const struct fx_class *c, u32 edge);

/* after.c: references into the AFTER table */
void fx_elaborate_after(struct fx_graph *g);

#endif /* FX_GRAPH_ELABORATE_H */
