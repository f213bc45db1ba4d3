// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What is copied to a GPU and from it: the edges, and whether they are right. */
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "codes.h"
#include "copies.h"

const struct fx_place *fx_copy_place(const struct fx_graph *g)
{
	for (u32 i = 0; i < g->n_place; i++)
		if (g->place[i].copies.given)
			return &g->place[i];
	return NULL;
}

/* Which way an edge crosses a place; out, where it begins and ends there. */
static u8 way_of(const struct fx_class *c, u32 place)
{
	if (c->from.place == place)
		return FX_DIR_OUT;
	for (u32 i = 0; i < c->n_to; i++)
		if (c->to[i].place == place)
			return FX_DIR_IN;
	return FX_DIR_NONE;
}

struct fx_copy_row *fx_copy_rows(const struct fx_graph *g, u32 place, u32 *n)
{
	struct fx_copy_row *row = fx_calloc(FX_COPY_MAX_ROWS, sizeof(*row)), *last = NULL;

	*n = 0;
	for (u32 i = 0; i < g->n_edge; i++) {
		const struct fx_class *c = &g->cls[g->edge[i].cls];
		u8 dir = way_of(c, place);

		if (dir == FX_DIR_NONE)
			continue;
		if (last && last->cls == g->edge[i].cls && last->bytes == g->edge[i].bytes &&
		    last->first + last->count == i) {
			last->count++;
			continue;
		}
		if (*n < FX_COPY_MAX_ROWS) {
			last = &row[*n];
			*last = (struct fx_copy_row){
				.dir = dir, .cls = g->edge[i].cls, .first = i, .count = 1,
				.bytes = g->edge[i].bytes,
				.priority = c->field[FX_F_PRIORITY].value,
			};
		} else {
			last = NULL;
		}
		++*n;
	}
	return row;
}

static void check_place(struct fx_graph *g, const struct fx_place *p,
			const struct fx_place *before)
{
	struct fx_diag *d;

	if (p->kind != FX_PLACE_GPU)
		fx_diag_help(fx_diag(g->diags, FX_E_COPIES, p->copies.pos,
				     "'%s' is of kind %s, and copies are a GPU's", p->name,
				     fx_name(&fx_place_kinds, p->kind)),
			     "a place of kind gpu has them");
	if (!before)
		return;
	d = fx_diag(g->diags, FX_E_COPIES, p->copies.pos,
		    "'%s' has copies, and '%s' has: a call does not say which of two GPUs it is about",
		    p->name, before->name);
	fx_diag_note(d, before->copies.pos, "the first is here");
}

static const char *class_at(const void *list, u32 i)
{
	const struct fx_graph *g = list;

	return i < g->n_cls ? g->cls[i].name : NULL;
}

static void check_kernel(struct fx_graph *g, u32 place, struct fx_copy_kernel *k)
{
	const char *near;
	struct fx_diag *d;

	for (u32 i = 0; i < g->n_cls; i++)
		if (!strcmp(g->cls[i].name, k->edge.name))
			k->edge.place = i;
	if (k->edge.place == FX_PLACE_NONE) {
		d = fx_diag(g->diags, FX_E_EDGE, k->edge.pos, "there is no edge '%s'", k->edge.name);
		near = fx_nearest(k->edge.name, class_at, g);
		if (near)
			fx_diag_help(d, "did you mean '%s'?", near);
	} else if (way_of(&g->cls[k->edge.place], place) == FX_DIR_NONE) {
		d = fx_diag(g->diags, FX_E_COPIES, k->edge.pos,
			    "'%s' neither begins nor ends at '%s', whose kernel carries it out",
			    k->edge.name, g->place[place].name);
		fx_diag_note(d, g->cls[k->edge.place].pos, "the edge is here");
	}
}

/* fx_check_copies() - of each place that has them */
void fx_check_copies(struct fx_graph *g)
{
	const struct fx_place *before = NULL;

	for (u32 i = 0; i < g->n_place; i++) {
		struct fx_copies *c = &g->place[i].copies;
		u32 n;

		if (!c->given)
			continue;
		check_place(g, &g->place[i], before);
		before = &g->place[i];
		for (u32 j = 0; j < c->n_kernel; j++)
			check_kernel(g, i, &c->kernel[j]);
		free(fx_copy_rows(g, i, &n));
		if (!n)
			fx_diag(g->diags, FX_E_COPIES, c->pos,
				"'%s' has copies, and no edge begins or ends there", g->place[i].name);
		else if (n > FX_COPY_MAX_ROWS)
			fx_diag_help(fx_diag(g->diags, FX_E_LIMIT, c->pos,
					     "the edges at '%s' have %u sizes in a row; copies are told apart among %u",
					     g->place[i].name, n, FX_COPY_MAX_ROWS),
				     "instances of an edge that state the same bytes are one");
	}
}
