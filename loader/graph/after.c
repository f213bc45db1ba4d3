// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* `after:` of every class into the AFTER table of the instances. */
#include <stdlib.h>
#include <string.h>

#include "codes.h"
#include "elaborate.h"

#define MAX_PER_EDGE	0xffffU

/* One reference of one instance: a range of indices per dimension. */
struct target {
	u32 n;
	u32 low[FX_MAX_DIMS], len[FX_MAX_DIMS];
};

static bool bind(struct fx_graph *g, struct fx_class *c)
{
	struct fx_scope scope = { .outer = &g->params };
	bool ok = true;

	for (u32 i = 0; i < c->n_loop; i++)
		fx_scope_add(&scope, c->loop[i].name, c->loop[i].pos);
	for (u32 i = 0; i < c->n_ref; i++) {
		struct fx_ref *r = &c->ref[i];
		const struct fx_class *to = &g->cls[r->cls];
		bool all = r->n_index == 1 && !r->index[0];

		if (r->n_index != to->n_loop && !(all && to->n_loop)) {
			fx_diag_note(fx_diag(g->diags, FX_E_INDEX_COUNT, r->pos,
					     "'%s' has %u loops and is given %u indices",
					     to->name, to->n_loop, r->n_index),
				     to->pos, "it is declared here; %s[*] is all of it",
				     to->name);
			ok = false;
			continue;
		}
		for (u32 j = 0; j < r->n_index; j++)
			if (r->index[j] &&
			    !fx_expr_bind(r->index[j], &scope, g->diags))
				ok = false;
	}
	fx_scope_free(&scope);
	return ok;
}

/* FOUND_NONE: an optional reference to nothing. */
enum found { FOUND, FOUND_NONE, FOUND_ERROR };

static enum found find(struct fx_graph *g, const struct fx_class *c, u32 k,
		       const struct fx_ref *r, const struct fx_value *slot,
		       struct target *t)
{
	const struct fx_class *to = &g->cls[r->cls];
	bool all = r->n_index == 1 && !r->index[0];
	struct fx_expr_err err;
	struct fx_value v;
	struct fx_diag *d;

	t->n = to->n_loop;
	for (u32 j = 0; j < t->n; j++) {
		if (all || !r->index[j]) {
			t->low[j] = 0;
			t->len[j] = to->dim[j];
			continue;
		}
		if (!fx_expr_eval(r->index[j], slot, &v, &err)) {
			fx_note_instance(fx_diag(g->diags, err.code, err.pos,
						 "%s", err.text), c, k);
			return FOUND_ERROR;
		}
		if (v.unit != FX_UNIT_NONE) {
			fx_diag(g->diags, FX_E_UNIT_PLACE,
				fx_expr_pos(r->index[j]),
				"an index takes a plain number");
			return FOUND_ERROR;
		}
		if (v.v >= 0 && v.v < to->dim[j]) {
			t->low[j] = v.v;
			t->len[j] = 1;
			continue;
		}
		if (r->optional)
			return FOUND_NONE;
		d = fx_diag(g->diags, FX_E_INDEX_RANGE,
			    fx_expr_pos(r->index[j]),
			    "'%s' has no instance %lld; its '%s' runs from 0 to %u",
			    to->name, v.v, to->loop[j].name, to->dim[j] - 1);
		fx_note_instance(d, c, k);
		fx_diag_help(d,
			     "a question mark behind the reference, %s[...]?, leaves out what does not exist",
			     to->name);
		return FOUND_ERROR;
	}
	return FOUND;
}

static u64 target_size(const struct target *t)
{
	u64 n = 1;

	for (u32 i = 0; i < t->n; i++)
		n *= t->len[i];
	return n;
}

static void append(struct fx_graph *g, const struct fx_class *to,
		   const struct target *t)
{
	u32 at[FX_MAX_DIMS] = { 0 };
	u64 n = target_size(t);

	for (u64 k = 0; k < n; k++) {
		u32 edge = 0;

		for (u32 i = 0; i < t->n; i++)
			edge = edge * to->dim[i] + t->low[i] + at[i];
		fx_grow(g->after, g->n_after, g->cap_after);
		g->after[g->n_after++] = to->first + edge;
		for (u32 i = t->n; i-- > 0;) {
			if (++at[i] < t->len[i])
				break;
			at[i] = 0;
		}
	}
}

static int by_number(const void *a, const void *b)
{
	u32 x = *(const u32 *)a, y = *(const u32 *)b;

	return x < y ? -1 : x > y;
}

/* Several references may name the same instance. */
static void unique(struct fx_graph *g, u32 start)
{
	u32 n = start;

	qsort(g->after + start, g->n_after - start, sizeof(*g->after), by_number);
	for (u32 i = start; i < g->n_after; i++)
		if (i == start || g->after[i] != g->after[n - 1])
			g->after[n++] = g->after[i];
	g->n_after = n;
}

static bool too_many(struct fx_graph *g, const struct fx_class *c, u32 k,
		     const struct fx_ref *r, u32 start, u64 in_edge)
{
	struct fx_diag *d = NULL;

	if (in_edge > MAX_PER_EDGE)
		d = fx_diag(g->diags, FX_E_LIMIT, r->pos,
			    "one instance of '%s' waits for %llu others; at most %u fit",
			    c->name, in_edge, MAX_PER_EDGE);
	else if (start + in_edge > FX_MAX_AFTER)
		d = fx_diag(g->diags, FX_E_LIMIT, r->pos,
			    "with '%s' the graph has more than %u 'after' entries",
			    c->name, FX_MAX_AFTER);
	if (d)
		fx_note_instance(d, c, k);
	return d;
}

static bool after_of(struct fx_graph *g, const struct fx_class *c, u32 k,
		     const struct fx_value *slot)
{
	struct fx_edge_desc *e = &g->edge[c->first + k];
	u32 start = g->n_after;
	struct target t;

	e->after = start;
	for (u32 i = 0; i < c->n_ref; i++) {
		const struct fx_ref *r = &c->ref[i];

		switch (find(g, c, k, r, slot, &t)) {
		case FOUND_ERROR:
			return false;
		case FOUND_NONE:
			continue;
		case FOUND:
			break;
		}
		if (too_many(g, c, k, r, start,
			     target_size(&t) + g->n_after - start))
			return false;
		append(g, &g->cls[r->cls], &t);
	}
	if (g->n_after - start > 1)
		unique(g, start);
	e->n_after = g->n_after - start;
	return true;
}

/* fx_elaborate_after() - fill the AFTER table; all classes have instances */
void fx_elaborate_after(struct fx_graph *g)
{
	u32 params = fx_scope_size(&g->params), index[FX_MAX_DIMS];
	struct fx_value *slot;

	slot = fx_calloc(params + FX_MAX_DIMS, sizeof(*slot));
	memcpy(slot, g->param_value, params * sizeof(*slot));
	for (u32 i = 0; i < g->n_cls; i++) {
		struct fx_class *c = &g->cls[i];

		if (!bind(g, c))
			continue;
		for (u32 k = 0; k < c->count; k++) {
			fx_instance_loops(c, k, index);
			for (u32 j = 0; j < c->n_loop; j++)
				slot[params + j] = (struct fx_value){
					.v = index[j]
				};
			if (!after_of(g, c, k, slot))
				break;
		}
	}
	free(slot);
}
