// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Names in links and edges into indices of what they name. */
#include <string.h>

#include "codes.h"
#include "elaborate.h"

static const char *place_at(const void *list, u32 i)
{
	const struct fx_graph *g = list;

	return i < g->n_place ? g->place[i].name : NULL;
}

static const char *alias_at(const void *list, u32 i)
{
	const struct fx_graph *g = list;

	return i < g->n_alias ? g->alias[i].name : NULL;
}

static const char *class_at(const void *list, u32 i)
{
	const struct fx_graph *g = list;

	return i < g->n_cls ? g->cls[i].name : NULL;
}

static u16 find(struct fx_graph *g, const char *(*nth)(const void *, u32),
		u32 code, const char *what, const char *name, struct fx_pos pos)
{
	const char *known;
	struct fx_diag *d;

	if (!name)
		return FX_PLACE_NONE;
	for (u32 i = 0; (known = nth(g, i)); i++)
		if (!strcmp(known, name))
			return i;
	d = fx_diag(g->diags, code, pos, "there is no %s '%s'", what, name);
	known = fx_nearest(name, nth, g);
	if (known)
		fx_diag_help(d, "did you mean '%s'?", known);
	return FX_PLACE_NONE;
}

static void find_place(struct fx_graph *g, struct fx_link_end *e)
{
	e->place = find(g, place_at, FX_E_PLACE, "place", e->name, e->pos);
}

static void class_ends(struct fx_graph *g, struct fx_class *c)
{
	find_place(g, &c->from);
	for (u32 i = 0; i < c->n_to; i++) {
		find_place(g, &c->to[i]);
		for (u32 j = 0; j < i; j++) {
			if (c->to[i].place == FX_PLACE_NONE ||
			    c->to[j].place != c->to[i].place)
				continue;
			fx_diag(g->diags, FX_E_TWICE, c->to[i].pos,
				"'%s' stands twice in 'to'", c->to[i].name);
			break;
		}
	}
	if (c->alias.name)
		c->alias.place = find(g, alias_at, FX_E_ALIAS, "alias set",
				      c->alias.name, c->alias.pos);
	for (u32 i = 0; i < c->n_ref; i++)
		c->ref[i].cls = find(g, class_at, FX_E_EDGE, "edge",
				     c->ref[i].name, c->ref[i].pos);
}

/* Islands are numbered from 1 in the order in which places name them. */
static void number_islands(struct fx_graph *g)
{
	u32 next = 1;

	for (u32 i = 0; i < g->n_place; i++) {
		struct fx_place *p = &g->place[i];

		for (u32 j = 0; p->island && j < i && !p->island_id; j++)
			if (g->place[j].island &&
			    !strcmp(g->place[j].island, p->island))
				p->island_id = g->place[j].island_id;
		if (p->island && !p->island_id)
			p->island_id = next++;
	}
}

/* fx_resolve() - look up what links and edges name */
void fx_resolve(struct fx_graph *g)
{
	for (u32 i = 0; i < g->n_link; i++) {
		find_place(g, &g->link[i].end[0]);
		find_place(g, &g->link[i].end[1]);
	}
	for (u32 i = 0; i < g->n_cls; i++)
		class_ends(g, &g->cls[i]);
	number_islands(g);
}
