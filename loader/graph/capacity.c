// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Capacities, as far as they are certain: one movement that does not fit its
 * only destination, and what is transferred to a place that nothing is ever
 * transferred away from. What a policy chooses, and what leaves again, is
 * counted where it happens.
 */
#include <stdlib.h>

#include "check.h"
#include "codes.h"

struct range {
	u64 at, end;
	const struct fx_class *c;
};

static int by_start(const void *a, const void *b)
{
	const struct range *x = a, *y = b;

	return x->at < y->at ? -1 : x->at > y->at;
}

static bool only_to(const struct fx_class *c, u16 place)
{
	return c->n_to == 1 && c->to[0].place == place;
}

static bool stays(const struct fx_graph *g, u16 place)
{
	for (u32 i = 0; i < g->n_cls; i++)
		if (g->cls[i].from.place == place &&
		    g->cls[i].owner == FX_OWNER_TRANSFER)
			return false;
	return true;
}

static u64 add(u64 a, u64 b)
{
	u64 sum;

	return __builtin_add_overflow(a, b, &sum) ? U64_MAX : sum;
}

/* Bytes at their smallest: when a policy keeps the whole chain, or none of it. */
static u64 least(const struct fx_class *c, u64 bytes)
{
	u64 out = fx_bytes_out(c, bytes);

	return out < bytes ? out : bytes;
}

/* Bytes of a set that its transfers to @place cover, overlaps once. */
static u64 set_bytes(const struct fx_graph *g, u32 set, u16 place)
{
	struct range *r = NULL;
	u64 total = 0, end = 0;
	u32 n = 0, cap = 0;

	for (u32 i = 0; i < g->n_cls; i++) {
		const struct fx_class *c = &g->cls[i];

		if (c->alias.place != set || c->owner != FX_OWNER_TRANSFER ||
		    !only_to(c, place))
			continue;
		for (u32 k = 0; k < c->count; k++) {
			const struct fx_edge_desc *e = &g->edge[c->first + k];

			fx_grow(r, n, cap);
			r[n++] = (struct range){
				e->alias_at, e->alias_at + e->bytes, c
			};
		}
	}
	if (n)
		qsort(r, n, sizeof(*r), by_start);
	for (u32 i = 0; i < n; i++) {
		u64 at = r[i].at > end ? r[i].at : end;

		if (r[i].end > at)
			total = add(total, least(r[i].c, r[i].end - at));
		if (r[i].end > end)
			end = r[i].end;
	}
	free(r);
	return total;
}

static u64 resident(const struct fx_graph *g, u16 place)
{
	u64 total = 0;

	for (u32 i = 0; i < g->n_cls; i++) {
		const struct fx_class *c = &g->cls[i];

		if (c->alias.place != FX_ALIAS_NONE || !only_to(c, place) ||
		    c->owner != FX_OWNER_TRANSFER)
			continue;
		for (u32 k = 0; k < c->count; k++)
			total = add(total, least(c, g->edge[c->first + k].bytes));
	}
	for (u32 set = 0; set < g->n_alias; set++)
		total = add(total, set_bytes(g, set, place));
	return total;
}

/* The first instance that cannot fit at all. */
static bool single(struct fx_graph *g, u16 place)
{
	const struct fx_place *p = &g->place[place];

	for (u32 i = 0; i < g->n_cls; i++) {
		const struct fx_class *c = &g->cls[i];

		if (!only_to(c, place) || c->from.place == place)
			continue;
		for (u32 k = 0; k < c->count; k++) {
			u64 bytes = least(c, g->edge[c->first + k].bytes);
			struct fx_diag *d;

			if (bytes <= p->capacity.value)
				continue;
			d = fx_diag(g->diags, FX_E_CAPACITY,
				    c->field[FX_F_BYTES].pos,
				    "%llu bytes of '%s' do not fit '%s', which holds %llu",
				    bytes, c->name, p->name, p->capacity.value);
			fx_note_instance(d, c, k);
			fx_diag_note(d, p->capacity.pos,
				     "its capacity stands here");
			return true;
		}
	}
	return false;
}

void fx_check_capacity(struct fx_graph *g)
{
	bool limited = false;
	u64 bytes;

	for (u32 i = 0; i < g->n_place; i++) {
		const struct fx_place *p = &g->place[i];

		if (!p->capacity.expr)
			continue;
		limited = true;
		if (single(g, i) || !stays(g, i))
			continue;
		bytes = resident(g, i);
		if (bytes > p->capacity.value)
			fx_diag(g->diags, FX_E_CAPACITY, p->capacity.pos,
				"%llu bytes are transferred to '%s' and stay there, and it holds %llu",
				bytes, p->name, p->capacity.value);
	}
	if (limited)
		fx_oblige(g, "capacity.resident", FX_RUN_TIME, FX_CLASS_NONE,
			  "what lies at a place at one time fits its capacity",
			  "kernel: bytes of buffers per place, counted as they come and go");
}
