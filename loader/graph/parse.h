/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Between the files of the parser. */
#ifndef FX_GRAPH_PARSE_H
#define FX_GRAPH_PARSE_H

#include "graph.h"
#include "keys.h"

bool fx_check_graph_name(struct fx_graph *g, struct fx_pos pos, const char *name);

/* parse_edge.c */
void fx_take_edges(struct fx_graph *g, const struct fx_key *k,
		   struct fx_node *v, void *obj);
/* Taker of an expression of a class; the field's id stands in the key's offset. */
void fx_take_number(struct fx_graph *g, const struct fx_key *k,
		    struct fx_node *v, void *obj);
/* Does a field of edges bear this name in expressions? */
bool fx_field_named(const char *name);

/* parse_ref.c: a reference such as kv_out[layer, *]? */
bool fx_ref_parse(struct fx_graph *g, const struct fx_node *v, struct fx_ref *ref);

/* parse_flow.c */
void fx_take_flow(struct fx_graph *g, const struct fx_key *k,
		  struct fx_node *v, void *obj);

/* parse_copies.c */
void fx_take_copies(struct fx_graph *g, const struct fx_key *k,
		    struct fx_node *v, void *obj);

/* parse_xform.c */
void fx_take_transforms(struct fx_graph *g, const struct fx_key *k,
			struct fx_node *v, void *obj);

#endif /* FX_GRAPH_PARSE_H */
