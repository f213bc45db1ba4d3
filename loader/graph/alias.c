// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Alias sets and ownership. The members of a set are replayed in an order in
 * which they can run, over the pieces into which their ranges cut the set.
 * Each piece remembers who wrote it last and where its bytes can be; who has
 * read it since stands in a tree over the pieces, so that a range is noted in
 * a few nodes however many pieces it has. Whoever comes next must be ordered
 * behind them: then all are, as order is transitive. A transfer writes (the
 * range has a new home), a borrow or share reads.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "codes.h"
#include "elaborate.h"

/* Pieces and readers looked at, per member on average: near linear. */
#define WORK_PER_MEMBER	512ULL

/* Pairs of classes that were told of, hashed. */
#define TOLD		4096

struct reader {
	u32 edge;
	u32 next;		/* the one before it, or FX_EDGE_NONE */
};

struct replay {
	struct fx_graph *g;
	struct fx_ordering *o;
	u32 set;
	u64 *bound;		/* piece i is bound[i]..bound[i + 1] */
	u32 n_bound;
	u32 *writer;		/* of each piece, the last; FX_EDGE_NONE */
	u32 leaves;		/* of the tree: a power of two */
	u32 *head;		/* of each node: the last reader */
	struct reader *reader;
	u32 n_reader, cap_reader;
	u32 *need;		/* whom this member must be ordered behind */
	u32 n_need, cap_need;
	u32 *seen;		/* by instance: last member that needed it */
	u64 work, max_work;
	bool unknown;		/* an order that the search did not settle */
	u8 *told;		/* per pair of classes: one report each */
};

static const struct fx_class *class_of(const struct fx_graph *g, u32 edge)
{
	return &g->cls[g->edge[edge].cls];
}

static bool writes(const struct fx_class *c)
{
	return c->owner == FX_OWNER_TRANSFER;
}

/* ---- reports ---------------------------------------------------------- */

/* The same two classes meet in the same way at each instance: tell once. */
static bool first_report(struct replay *r, u32 a, u32 b, u32 code)
{
	u32 h = (r->g->edge[a].cls * 31U + r->g->edge[b].cls) * 7U + code;
	bool first = !r->told[h % TOLD];

	r->told[h % TOLD] = 1;
	return first;
}

/*
 * Which instances of @a's class an instance of @b's has to wait for, as one
 * reference that serves all of them: a loop of @a that @b runs over as well is
 * named by @b's variable, the others are waited for whole.
 */
static const char *reference(const struct fx_graph *g, u32 a, u32 b)
{
	static char text[FX_NAME_LEN * (1 + FX_MAX_DIMS) + 16];
	const struct fx_class *ca = class_of(g, a), *cb = class_of(g, b);
	u32 at_a[FX_MAX_DIMS], at_b[FX_MAX_DIMS], named = 0, j;
	int n = snprintf(text, sizeof(text), "%s", ca->name);

	if (!ca->n_loop)
		return text;
	fx_instance_loops(ca, a - ca->first, at_a);
	fx_instance_loops(cb, b - cb->first, at_b);
	for (u32 i = 0; i < ca->n_loop; i++) {
		const char *word = "*";

		for (j = 0; j < cb->n_loop; j++)
			if (!strcmp(ca->loop[i].name, cb->loop[j].name))
				break;
		if (j == cb->n_loop && ca->n_loop == cb->n_loop)
			j = i;
		if (j < cb->n_loop && ca->dim[i] == cb->dim[j] &&
		    at_a[i] == at_b[j]) {
			word = cb->loop[j].name;
			named++;
		}
		n += snprintf(text + n, sizeof(text) - n, "%s%s",
			      i ? ", " : "[", word);
	}
	snprintf(text + n, sizeof(text) - n, "]");
	if (!named)
		snprintf(text, sizeof(text), "%s[*]", ca->name);
	return text;
}

/* Told at the one that stands further down; neither comes before the other. */
static void tell_race(struct replay *r, u32 x, u32 y)
{
	u32 a = x < y ? x : y, b = x < y ? y : x;
	const struct fx_class *ca = class_of(r->g, a), *cb = class_of(r->g, b);
	struct fx_diag *d;
	char *name;

	if (!first_report(r, a, b, FX_E_RACE))
		return;
	name = fx_strdup(fx_instance_name(r->g, a));
	d = fx_diag(r->g->diags, FX_E_RACE, cb->pos,
		    "nothing orders %s, which %s, and %s, which %s the same bytes of set '%s'",
		    fx_instance_name(r->g, b), writes(cb) ? "moves" : "reads",
		    name, writes(ca) ? "moves" : "reads",
		    r->g->alias[r->set].name);
	fx_diag_note(d, ca->pos, "'%s' is declared here", ca->name);
	if (ca != cb)
		fx_diag_help(d, "let '%s' wait for '%s', such as after: [ %s ]",
			     cb->name, ca->name, reference(r->g, a, b));
	else if (ca->n_loop == 1)
		fx_diag_help(d, "let each wait for the one before it: after: [ %s[%s - 1]? ]",
			     ca->name, ca->loop[0].name);
	else
		fx_diag_help(d, "let one wait for the other, such as after: [ %s ]",
			     name);
	free(name);
}

/* Where the last transfer can have left the bytes must be where this begins. */
static void check_home(struct replay *r, u32 a, u32 b)
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

/* ---- who came before -------------------------------------------------- */

static void need(struct replay *r, u32 before, u32 edge)
{
	r->work++;
	if (r->seen[before] == edge)
		return;
	r->seen[before] = edge;
	fx_grow(r->need, r->n_need, r->cap_need);
	r->need[r->n_need++] = before;
}

/* Readers of piece @p since its last writer: on the way from leaf to root. */
static void need_readers(struct replay *r, u32 p, u32 edge)
{
	u32 since = r->writer[p] == FX_EDGE_NONE ? 0 :
		    fx_order_rank(r->o, r->writer[p]) + 1;

	for (u32 node = r->leaves + p; node; node /= 2) {
		for (u32 i = r->head[node]; i != FX_EDGE_NONE;
		     i = r->reader[i].next) {
			if (fx_order_rank(r->o, r->reader[i].edge) < since)
				break;
			need(r, r->reader[i].edge, edge);
		}
	}
}

static void note_reader(struct replay *r, u32 node, u32 edge)
{
	fx_grow(r->reader, r->n_reader, r->cap_reader);
	r->reader[r->n_reader] = (struct reader){ edge, r->head[node] };
	r->head[node] = r->n_reader++;
}

/* The fewest nodes that cover pieces @low up to @high. */
static void note_range(struct replay *r, u32 low, u32 high, u32 edge)
{
	low += r->leaves;
	high += r->leaves;
	for (; low < high; low /= 2, high /= 2) {
		if (low & 1)
			note_reader(r, low++, edge);
		if (high & 1)
			note_reader(r, --high, edge);
	}
}

static void settle(struct replay *r, u32 edge)
{
	u32 low = U32_MAX, n = 0;

	for (u32 i = 0; i < r->n_need; i++) {
		u32 rank = fx_order_rank(r->o, r->need[i]);

		if (fx_order_direct(r->o, r->need[i], edge))
			continue;
		r->need[n++] = r->need[i];
		if (rank < low)
			low = rank;
	}
	if (n && !fx_order_ancestors(r->o, edge, low)) {
		r->unknown = true;
		return;
	}
	for (u32 i = 0; i < n; i++)
		if (!fx_order_marked(r->o, r->need[i]))
			tell_race(r, r->need[i], edge);
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

static void visit(struct replay *r, u32 edge)
{
	const struct fx_edge_desc *e = &r->g->edge[edge];
	u32 first = find_bound(r, e->alias_at);
	u32 end = find_bound(r, e->alias_at + e->bytes);
	bool writer = writes(class_of(r->g, edge));

	r->n_need = 0;
	for (u32 p = first; p < end; p++) {
		r->work++;
		if (r->writer[p] != FX_EDGE_NONE) {
			if (r->seen[r->writer[p]] != edge)
				check_home(r, r->writer[p], edge);
			need(r, r->writer[p], edge);
		}
		if (!writer)
			continue;
		need_readers(r, p, edge);
		r->writer[p] = edge;
	}
	settle(r, edge);
	if (!writer)
		note_range(r, first, end, edge);
}

/* ---- a set ------------------------------------------------------------ */

static int by_value(const void *a, const void *b)
{
	u64 x = *(const u64 *)a, y = *(const u64 *)b;

	return x < y ? -1 : x > y;
}

static const struct fx_ordering *sort_by;

static int by_rank(const void *a, const void *b)
{
	u32 x = fx_order_rank(sort_by, *(const u32 *)a);
	u32 y = fx_order_rank(sort_by, *(const u32 *)b);

	return x < y ? -1 : x > y;
}

static void cut(struct replay *r, const u32 *member, u32 n)
{
	u32 m = 0;

	r->bound = fx_calloc(n, 2 * sizeof(u64));
	for (u32 i = 0; i < n; i++) {
		const struct fx_edge_desc *e = &r->g->edge[member[i]];

		r->bound[2 * i] = e->alias_at;
		r->bound[2 * i + 1] = e->alias_at + e->bytes;
	}
	qsort(r->bound, 2 * (size_t)n, sizeof(u64), by_value);
	for (u32 i = 0; i < 2 * n; i++)
		if (!i || r->bound[i] != r->bound[m - 1])
			r->bound[m++] = r->bound[i];
	r->n_bound = m;
	r->leaves = 1;
	while (r->leaves < m)
		r->leaves *= 2;
	r->writer = fx_alloc(m * sizeof(u32));
	memset(r->writer, 0xff, m * sizeof(u32));
	r->head = fx_alloc(2 * (size_t)r->leaves * sizeof(u32));
	memset(r->head, 0xff, 2 * (size_t)r->leaves * sizeof(u32));
}

/* false: stopped at the bound on work */
static bool replay_set(struct replay *r, const u32 *member, u32 n)
{
	u32 *seq = fx_alloc(n * sizeof(u32)), i;

	memcpy(seq, member, n * sizeof(u32));
	sort_by = r->o;
	qsort(seq, n, sizeof(u32), by_rank);
	cut(r, member, n);
	r->max_work = WORK_PER_MEMBER * n + (1 << 20);
	for (i = 0; i < n && r->work < r->max_work && !r->unknown; i++)
		visit(r, seq[i]);
	free(seq);
	free(r->bound);
	free(r->writer);
	free(r->head);
	free(r->reader);
	free(r->need);
	return i == n && !r->unknown;
}

static void oblige(struct fx_graph *g, u32 cls, bool all)
{
	enum fx_proof status = all ? FX_PROVED : FX_ASSUMED;
	const char *by = all ?
		"compile: replay of each set in an order of its edges" :
		"too many overlapping ranges to prove it in near-linear time";

	fx_oblige(g, "alias.race", status, cls,
		  "a writer of an alias set's bytes is ordered with all others who touch them",
		  by);
	fx_oblige(g, "own.home", status, cls,
		  "an edge starts where the last transfer can have left the bytes",
		  by);
}

/* fx_check_alias() - races and transfers of all alias sets */
void fx_check_alias(struct fx_graph *g, struct fx_ordering *o)
{
	u32 *seen = fx_alloc(g->n_edge * sizeof(u32));
	u8 *told = fx_calloc(TOLD, 1);
	bool all = true;

	memset(seen, 0xff, g->n_edge * sizeof(u32));
	for (u32 set = 0; set < g->n_alias; set++) {
		struct replay r = { .g = g, .o = o, .set = set, .told = told,
				    .seen = seen };
		u32 n;
		const u32 *member = fx_order_members(o, set, &n);

		memset(told, 0, TOLD);
		if (n)
			all = replay_set(&r, member, n) && all;
	}
	free(told);
	free(seen);
	for (u32 i = 0; i < g->n_cls; i++)
		if (g->cls[i].alias.place != FX_ALIAS_NONE)
			oblige(g, i, all);
}
