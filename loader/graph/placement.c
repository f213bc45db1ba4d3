// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Is there a way from an edge's source to each of its destinations? Links
 * describe what they name: of a place that no link names nothing is known,
 * and everything is assumed to reach it.
 */
#include "check.h"
#include "codes.h"

static u16 root(u16 *parent, u16 p)
{
	while (parent[p] != p) {
		parent[p] = parent[parent[p]];
		p = parent[p];
	}
	return p;
}

void fx_check_placement(struct fx_graph *g)
{
	u16 parent[FX_MAX_PLACES];
	bool linked[FX_MAX_PLACES] = { false }, assumed = false;

	for (u32 i = 0; i < g->n_place; i++)
		parent[i] = i;
	for (u32 i = 0; i < g->n_link; i++) {
		u16 a = g->link[i].end[0].place, b = g->link[i].end[1].place;

		if (a == b)
			fx_diag(g->diags, FX_E_LINK_SELF, g->link[i].pos,
				"a link of '%s' with itself leads nowhere",
				g->place[a].name);
		linked[a] = true;
		linked[b] = true;
		parent[root(parent, a)] = root(parent, b);
	}
	for (u32 i = 0; i < g->n_cls; i++) {
		const struct fx_class *c = &g->cls[i];
		u16 from = c->from.place;

		for (u32 j = 0; j < c->n_to; j++) {
			u16 to = c->to[j].place;
			struct fx_diag *d;

			if (from == to)
				continue;
			if (!linked[from] || !linked[to]) {
				assumed = true;
				continue;
			}
			if (root(parent, from) == root(parent, to))
				continue;
			d = fx_diag(g->diags, FX_E_NO_PATH, c->to[j].pos,
				    "no links lead from '%s' to '%s'",
				    c->from.name, c->to[j].name);
			fx_diag_note(d, c->from.pos, "'%s' starts here",
				     c->name);
		}
	}
	fx_oblige(g, "placement.path", assumed ? FX_ASSUMED : FX_PROVED,
		  FX_CLASS_NONE, "a way leads from each source to its destinations",
		  assumed ? "places that no link names are taken to be reachable" :
		  "compile: links connect them");
	fx_oblige(g, "placement.choice", FX_RUN_TIME, FX_CLASS_NONE,
		  "a policy sends an edge only where the edge may go",
		  "kernel: check of the verdict of route");
	fx_oblige(g, "placement.source", FX_RUN_TIME, FX_CLASS_NONE,
		  "what moves lies where its edge begins",
		  "kernel: place of the source's buffer, at submission");
}
