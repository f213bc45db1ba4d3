// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <stdlib.h>
#include <string.h>

#include "run.h"
#include "../diag.h"
#include "../util.h"

static const struct fx_place_desc *place(const struct fx_run *r, u16 i)
{
	return &r->before.place[i].desc;
}

/* Memory that the engine can allocate and pagemap can tell. */
static bool is_memory(const struct fx_run *r, u16 i)
{
	return place(r, i)->match_kind == FX_MATCH_NODE ||
	       place(r, i)->match_kind == FX_MATCH_REGION;
}

/* From a device's buffers to memory: what can be put there and looked at. */
static bool goes_out(const struct fx_run *r, const struct fx_class_desc *c)
{
	if (place(r, c->from)->match_kind != FX_MATCH_DRIVER || !c->n_xforms)
		return false;
	for (u32 i = 0; i < c->n_to; i++)
		if (!is_memory(r, c->to[i]))
			return false;
	return c->element == FX_ELEM_BF16;
}

static void add_edge(const void *row, void *arg)
{
	const struct fx_nl_edge *e = row;
	struct fx_run *r = arg;

	fx_grow(r->edges, r->n_edges, r->cap_edges);
	r->edges[r->n_edges++] = e->desc;
}

/*
 * The tables are read one after the other, and another graph may be loaded
 * under the name in between: what indexes one must do so in the other.
 */
static bool fit_together(const struct fx_run *r)
{
	const struct fx_tables *t = &r->before;
	bool fit = true;

	for (u32 i = 0; i < t->n_class && fit; i++) {
		const struct fx_class_desc *c = &t->cls[i].desc;

		fit = c->from < t->n_place && c->first <= r->n_edges &&
		      c->count <= r->n_edges - c->first;
		for (u32 j = 0; j < c->n_to; j++)
			fit = fit && c->to[j] < t->n_place;
	}
	for (u32 i = 0; i < r->n_edges && fit; i++)
		fit = r->edges[i].cls < t->n_class;
	return fit;
}

/* The data is checked in words and blocks, pages by the page. */
static enum fx_rc check_sizes(const struct fx_run *r, const struct fx_class_desc *c)
{
	for (u32 i = 0; i < c->count; i++) {
		u64 bytes = r->edges[c->first + i].bytes;

		if (bytes % 64 || bytes > 1ULL << 30) {
			fx_err("class '%s' of graph '%s': instance %u has %llu bytes; run takes multiples of 64 up to 1 GiB",
			       c->name, r->opt->graph, i, bytes);
			return FX_RC_INPUT;
		}
	}
	return FX_RC_OK;
}

/**
 * fx_run_plan() - find the class that moves out
 * @r: with options, connection and tables
 *
 * Return: FX_RC_OK with r->cls and r->edges set; FX_RC_INPUT when the graph has
 * none, FX_RC_SYSTEM when it cannot be read; both after one sentence.
 */
enum fx_rc fx_run_plan(struct fx_run *r)
{
	const struct fx_tables *t = &r->before;
	u32 found = FX_EDGE_NONE;
	int err;

	err = fx_nl_dump(r->nl, FX_CMD_EDGE_GET, r->opt->graph, add_edge, r);
	if (err) {
		fx_err("the edges of graph '%s' cannot be read: %s", r->opt->graph,
		       fx_nl_why(r->nl));
		return FX_RC_SYSTEM;
	}
	if (!fit_together(r)) {
		fx_err("graph '%s' was replaced while it was read; run again",
		       r->opt->graph);
		return FX_RC_SYSTEM;
	}
	for (u32 i = 0; i < t->n_class && found == FX_EDGE_NONE; i++) {
		if (r->opt->cls && strcmp(t->cls[i].desc.name, r->opt->cls))
			continue;
		if (goes_out(r, &t->cls[i].desc)) {
			found = i;
		} else if (r->opt->cls) {
			fx_err("class '%s' of graph '%s' does not move bf16 from a place with `driver:` to places with `node:` or `region:`, which is what run can do and check",
			       r->opt->cls, r->opt->graph);
			return FX_RC_INPUT;
		}
	}
	if (found == FX_EDGE_NONE) {
		fx_err("graph '%s' has no class%s%s that moves bf16 from a place with `driver:` to places with `node:` or `region:`; `fabricctl show %s` lists its classes",
		       r->opt->graph, r->opt->cls ? " " : "",
		       r->opt->cls ? r->opt->cls : "", r->opt->graph);
		return FX_RC_INPUT;
	}
	r->cls = found;
	return check_sizes(r, &t->cls[found].desc);
}

static bool ends_in_memory(const struct fx_run *r, const struct fx_class_desc *c)
{
	return c->n_to == 1 && is_memory(r, c->to[0]);
}

/**
 * fx_run_back_edge() - the edge that brings an instance back
 * @r: run
 * @instance: of the class that moved out
 * @edge: out: its index; where there is none, that of one which ends where run
 *	cannot look, or FX_EDGE_NONE
 *
 * It starts at the place where the instance is, in the same alias set at the
 * same offset, and takes what is there: same element, same size. It ends in
 * memory.
 *
 * Return: whether the graph has one.
 */
bool fx_run_back_edge(const struct fx_run *r, u32 instance, u32 *edge)
{
	const struct fx_class_desc *out = &r->before.cls[r->cls].desc;
	const struct fx_kept *k = &r->kept[instance];

	*edge = FX_EDGE_NONE;
	for (u32 i = 0; i < r->before.n_class; i++) {
		const struct fx_class_desc *c = &r->before.cls[i].desc;
		/* most graphs list both the same way */
		u32 guess = c->first + instance;

		if (i == r->cls || c->from != k->place || c->alias != out->alias ||
		    c->element != k->element)
			continue;
		for (u32 j = 0; j < c->count; j++) {
			u32 at = c->first + (guess - c->first + j) % c->count;

			if (r->edges[at].alias_at ==
			    r->edges[out->first + instance].alias_at &&
			    r->edges[at].bytes == k->bytes) {
				*edge = at;
				if (ends_in_memory(r, c))
					return true;
				break;
			}
		}
	}
	return false;
}

const char *fx_run_place(const struct fx_run *r, u16 i)
{
	return i < r->before.n_place ? place(r, i)->name : "-";
}
