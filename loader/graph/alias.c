// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Alias sets and ownership. The members of a set are replayed in an order in
 * which they can run, over the pieces into which their ranges cut the set.
 * Each piece remembers who wrote it last, who has read it since, and where its
 * bytes can be. Whoever comes next must be ordered behind them: then all are,
 * as order is transitive. A transfer writes (the range has a new home), a
 * borrow or share reads.
 */
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "codes.h"

/* Pieces visited, and order looked up, per member on average: near linear. */
#define WORK_PER_MEMBER	256ULL

struct reader {
	u32 edge;
	u32 next;		/* in readers[], or FX_EDGE_NONE */
};

struct piece {
	u32 writer;		/* FX_EDGE_NONE: nobody yet */
	u32 readers;		/* head of a list in replay.reader */
};

struct replay {
	struct fx_graph *g;
	struct fx_ordering *o;
	u32 set;
	u64 *bound;		/* piece i is bound[i]..bound[i + 1] */
	u32 n_bound;
	struct piece *piece;
	struct reader *reader;
	u32 n_reader, cap_reader;
	u64 work, max_work;
	bool unknown;		/* an order that the search did not settle */
	u32 last[2];		/* the pair that was looked at last */
	u8 *told;		/* per pair of classes, hashed: one report each */
};

#define TOLD	4096

static const struct fx_class *class_of(const struct fx_graph *g, u32 edge)
{
	return &g->cls[g->edge[edge].cls];
}

static bool writes(const struct fx_class *c)
{
	return c->owner == FX_OWNER_TRANSFER;
}

static int by_value(const void *a, const void *b)
{
	u64 x = *(const u64 *)a, y = *(const u64 *)b;

	return x < y ? -1 : x > y;
}

static u32 find_bound(const struct replay *r, u64 at)
{
	u32 low = 0, high = r->n_bound;

	while (low < high) {
		u32 mid = low + (high - low) / 2;

		if (r->bound[mid] < at)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

/* The same two classes meet in the same way at each instance: tell once. */
static bool first_report(struct replay *r, u32 a, u32 b, u32 code)
{
	u32 h = (r->g->edge[a].cls * 31U + r->g->edge[b].cls) * 7U + code;
	bool first = !r->told[h % TOLD];

	r->told[h % TOLD] = 1;
	return first;
}

static void need_order(struct replay *r, u32 a, u32 b)
{
	const struct fx_class *ca = class_of(r->g, a), *cb = class_of(r->g, b);
	struct fx_diag *d;
	char *name;

	r->work += 4;
	switch (fx_order_before(r->o, a, b)) {
	case FX_ORDERED:
		return;
	case FX_ORDER_UNKNOWN:
		r->unknown = true;
		return;
	case FX_UNORDERED:
		break;
	}
	if (!first_report(r, a, b, FX_E_RACE))
		return;
	name = fx_strdup(fx_instance_name(r->g, a));
	d = fx_diag(r->g->diags, FX_E_RACE, cb->pos,
		    "nothing orders %s, which %s, and %s, which %s the same bytes of set '%s'",
		    fx_instance_name(r->g, b), writes(cb) ? "moves" : "reads",
		    name, writes(ca) ? "moves" : "reads",
		    r->g->alias[r->set].name);
	fx_diag_note(d, ca->pos, "'%s' is declared here", ca->name);
	fx_diag_help(d, "let one wait for the other, such as after: [ %s ]",
		     name);
	free(name);
}

/* Where the last transfer can have left the bytes must be where this begins. */
static void need_home(struct replay *r, u32 a, u32 b)
{
	const struct fx_class *ca = class_of(r->g, a), *cb = class_of(r->g, b);
	u32 code = writes(cb) ? FX_E_TRANSFER_TWICE : FX_E_USE_AFTER;
	struct fx_diag *d;
	char *name;

	for (u32 i = 0; i < ca->n_to; i++)
		if (ca->to[i].place == cb->from.place)
			return;
	if (!first_report(r, a, b, code))
		return;
	name = fx_strdup(fx_instance_name(r->g, a));
	d = fx_diag(r->g->diags, code, cb->from.pos,
		    "%s %s '%s', but %s has transferred these bytes away",
		    fx_instance_name(r->g, b),
		    writes(cb) ? "transfers from" : "reads from",
		    cb->from.name, name);
	fx_diag_note(d, ca->pos, "they go to '%s' here%s", ca->to[0].name,
		     ca->n_to > 1 ? " (or to another of its places)" : "");
	free(name);
}

static void visit(struct replay *r, struct piece *p, u32 edge)
{
	const struct fx_class *c = class_of(r->g, edge);

	/* consecutive pieces mostly have the same past */
	if (p->writer != FX_EDGE_NONE &&
	    (r->last[0] != p->writer || r->last[1] != edge)) {
		need_order(r, p->writer, edge);
		need_home(r, p->writer, edge);
		r->last[0] = p->writer;
		r->last[1] = edge;
	}
	if (!writes(c)) {
		fx_grow(r->reader, r->n_reader, r->cap_reader);
		r->reader[r->n_reader] = (struct reader){ edge, p->readers };
		p->readers = r->n_reader++;
		return;
	}
	for (u32 i = p->readers; i != FX_EDGE_NONE; i = r->reader[i].next) {
		need_order(r, r->reader[i].edge, edge);
		r->work++;
	}
	p->writer = edge;
	p->readers = FX_EDGE_NONE;
}

static const struct fx_ordering *sort_by;

static int by_rank(const void *a, const void *b)
{
	u32 x = fx_order_rank(sort_by, *(const u32 *)a);
	u32 y = fx_order_rank(sort_by, *(const u32 *)b);

	return x < y ? -1 : x > y;
}

/* false: stopped at the bound on work */
static bool replay_set(struct replay *r, const u32 *member, u32 n)
{
	const struct fx_graph *g = r->g;
	u32 *seq = fx_calloc(n, sizeof(u32)), m = 0;
	bool all = true;

	r->bound = fx_calloc(n, 2 * sizeof(u64));
	for (u32 i = 0; i < n; i++) {
		const struct fx_edge_desc *e = &g->edge[member[i]];

		r->bound[2 * i] = e->alias_at;
		r->bound[2 * i + 1] = e->alias_at + e->bytes;
		seq[i] = member[i];
	}
	qsort(r->bound, 2 * (size_t)n, sizeof(u64), by_value);
	for (u32 i = 0; i < 2 * n; i++)
		if (!i || r->bound[i] != r->bound[m - 1])
			r->bound[m++] = r->bound[i];
	r->n_bound = m;
	r->piece = fx_calloc(m, sizeof(*r->piece));
	memset(r->piece, 0xff, m * sizeof(*r->piece));
	sort_by = r->o;
	qsort(seq, n, sizeof(u32), by_rank);

	r->max_work = WORK_PER_MEMBER * n + (1 << 20);
	for (u32 i = 0; i < n && all; i++) {
		const struct fx_edge_desc *e = &g->edge[seq[i]];
		u32 p = find_bound(r, e->alias_at);

		for (; r->bound[p] < e->alias_at + e->bytes && all; p++) {
			visit(r, &r->piece[p], seq[i]);
			all = ++r->work < r->max_work;
		}
	}
	free(seq);
	free(r->bound);
	free(r->piece);
	free(r->reader);
	return all;
}

void fx_check_alias(struct fx_graph *g, struct fx_ordering *o)
{
	u8 *told = fx_calloc(TOLD, 1);
	bool all = true;

	for (u32 set = 0; set < g->n_alias; set++) {
		struct replay r = { .g = g, .o = o, .set = set, .told = told,
				    .last = { FX_EDGE_NONE, FX_EDGE_NONE } };
		u32 n;
		const u32 *member = fx_order_members(o, set, &n);

		memset(told, 0, TOLD);
		if (n)
			all = replay_set(&r, member, n) && !r.unknown && all;
	}
	free(told);
	if (!g->n_alias)
		return;
	fx_oblige(g, "alias.race", all ? FX_PROVED : FX_ASSUMED, FX_CLASS_NONE,
		  "a writer of an alias set's bytes is ordered with all others who touch them",
		  all ? "compile: replay of each set in an order of its edges" :
		  "too many overlapping ranges to prove it in near-linear time");
	fx_oblige(g, "own.home", all ? FX_PROVED : FX_ASSUMED, FX_CLASS_NONE,
		  "an edge starts where the last transfer can have left the bytes",
		  all ? "compile: replay of each set in an order of its edges" :
		  "too many overlapping ranges to prove it in near-linear time");
}
