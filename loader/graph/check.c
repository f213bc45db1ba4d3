// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The checks in their order, and what they leave to others. */
#include "check.h"
#include "codes.h"

void fx_oblige(struct fx_graph *g, const char *code, enum fx_proof status,
	       u32 cls, const char *text, const char *by)
{
	fx_grow(g->obligation, g->n_obligation, g->cap_obligation);
	g->obligation[g->n_obligation++] = (struct fx_obligation){
		.code = code, .status = status, .cls = cls, .text = text,
		.by = by,
	};
}

static void check_acquire(struct fx_graph *g)
{
	for (u32 i = 0; i < g->n_cls; i++) {
		const struct fx_class *c = &g->cls[i];

		if ((c->order == FX_ORDER_ACQUIRE ||
		     c->order == FX_ORDER_ACQ_REL) && !c->n_ref)
			fx_diag_help(fx_diag(g->diags, FX_E_ACQUIRE,
					     c->order_pos,
					     "'%s' acquires, and there is nothing to acquire from",
					     c->name),
				     "name the edges whose data it reads: after: [ ... ]");
	}
}

static void oblige_submission(struct fx_graph *g)
{
	for (u32 i = 0; i < g->n_cls; i++) {
		const struct fx_class *c = &g->cls[i];

		if (c->order == FX_ORDER_NONE && !c->n_ref)
			continue;
		fx_oblige(g, "order.submitted", FX_ASSUMED, i,
			  "movements are submitted in an order that the graph allows",
			  "the kernel runs what is ordered as one file submits it; whether that is the graph's order it does not ask");
	}
}

static void check_order(struct fx_graph *g)
{
	struct fx_ordering *o;

	check_acquire(g);
	o = fx_order_build(g);
	if (!o)
		return;
	fx_oblige(g, "order.no_cycle", FX_PROVED, FX_CLASS_NONE,
		  "every edge can start: none waits for itself",
		  "compile: topological order of all instances");
	oblige_submission(g);
	fx_check_alias(g, o);
	fx_order_free(o);
}

static void (*const passes[])(struct fx_graph *g) = {
	fx_check_support,
	fx_check_types,
	fx_check_placement,
	fx_check_flows,
	fx_check_copies,
	fx_check_capacity,
	check_order,
};

/* fx_graph_check() - all checks; each reports all it finds */
void fx_graph_check(struct fx_graph *g)
{
	for (u32 i = 0; i < ARRAY_SIZE(passes); i++)
		passes[i](g);
	fx_oblige(g, "own.range", FX_ASSUMED, FX_CLASS_NONE,
		  "mappings of foreign buffers that exist already are not used against their owner",
		  "the kernel can refuse new attachments and maps, not take old ones away");
}
