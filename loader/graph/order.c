// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * What waits for what. The nodes are the edge instances and, for each member
 * of an alias set, one that stands for "this member and all before it", so
 * that a release, which waits for all earlier ones, costs one arc:
 *
 *	member 0 -> P0 -> P1 -> P2 -> ...
 *	            member 1 -^   ^- member 2
 *	release 3 waits for P2
 */
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "codes.h"

/* Steps of all searches backwards together: per node, and for small graphs. */
#define STEPS_PER_NODE	64ULL
#define STEPS		(1ULL << 24)
/* Arcs that a report about a cycle spells out. */
#define MAX_TOLD	12

struct fx_ordering {
	const struct fx_graph *g;
	u32 n_edge, n_node;
	u32 *set_first;		/* of each alias set, in member[]; one more */
	u32 *member;		/* instances, by set and number */
	u32 *slot;		/* of an instance in member[], FX_EDGE_NONE */
	u32 *rank;		/* of every node */
	u32 *mark;		/* search: last search that saw the node */
	u32 *stack;
	u32 search;
	u32 last, low;		/* what is marked: for whom, down to which rank */
	u64 steps;		/* left */
};

static const struct fx_class *class_of(const struct fx_ordering *o, u32 edge)
{
	return &o->g->cls[o->g->edge[edge].cls];
}

static bool releases(const struct fx_class *c)
{
	return c->order == FX_ORDER_RELEASE || c->order == FX_ORDER_ACQ_REL;
}

static u32 set_of_slot(const struct fx_ordering *o, u32 slot)
{
	return class_of(o, o->member[slot])->alias.place;
}

/* The i-th node that @node waits for; FX_EDGE_NONE behind the last. */
static u32 pred(const struct fx_ordering *o, u32 node, u32 i)
{
	const struct fx_edge_desc *e;
	u32 slot;

	if (node >= o->n_edge) {
		slot = node - o->n_edge;
		if (!i)
			return o->member[slot];
		return i == 1 && slot > o->set_first[set_of_slot(o, slot)] ?
		       node - 1 : FX_EDGE_NONE;
	}
	e = &o->g->edge[node];
	if (i < e->n_after)
		return o->g->after[e->after + i];
	slot = o->slot[node];
	if (i > e->n_after || slot == FX_EDGE_NONE ||
	    !releases(class_of(o, node)) ||
	    slot == o->set_first[set_of_slot(o, slot)])
		return FX_EDGE_NONE;
	return o->n_edge + slot - 1;
}

static void collect_members(struct fx_ordering *o)
{
	const struct fx_graph *g = o->g;
	u32 n = 0, *next;

	o->set_first = fx_calloc(g->n_alias + 1, sizeof(u32));
	for (u32 i = 0; i < g->n_cls; i++)
		if (g->cls[i].alias.place != FX_ALIAS_NONE)
			o->set_first[g->cls[i].alias.place] += g->cls[i].count;
	for (u32 i = 0; i <= g->n_alias; i++) {
		u32 count = o->set_first[i];

		o->set_first[i] = n;
		n += count;
	}
	o->member = fx_calloc(n, sizeof(u32));
	o->slot = fx_calloc(o->n_edge, sizeof(u32));
	next = fx_calloc(g->n_alias + 1, sizeof(u32));
	memcpy(next, o->set_first, (g->n_alias + 1) * sizeof(u32));
	for (u32 i = 0; i < o->n_edge; i++) {
		u16 set = class_of(o, i)->alias.place;

		o->slot[i] = set == FX_ALIAS_NONE ? FX_EDGE_NONE : next[set]++;
		if (set != FX_ALIAS_NONE)
			o->member[o->slot[i]] = i;
	}
	free(next);
	o->n_node = o->n_edge + n;
}

/* ---- a cycle, told ---------------------------------------------------- */

static void tell_arc(const struct fx_ordering *o, struct fx_diag *d, u32 from,
		     u32 to)
{
	const struct fx_class *c = class_of(o, from);
	char *name = fx_strdup(fx_instance_name(o->g, from));
	struct fx_pos pos = c->order_pos;
	const char *why = "as a release, for all earlier ones of its alias set, with";

	for (u32 i = 0; i < o->g->edge[from].n_after; i++) {
		if (o->g->after[o->g->edge[from].after + i] != to)
			continue;
		why = "for";
		pos = c->pos;
		for (u32 j = 0; j < c->n_ref; j++)
			if (c->ref[j].cls == o->g->edge[to].cls)
				pos = c->ref[j].pos;
		break;
	}
	fx_diag_note(d, pos, "%s waits %s %s", name, why,
		     fx_instance_name(o->g, to));
	free(name);
}

/* Instances only: an arc through a P node goes on to the member it reached. */
static void tell_cycle(struct fx_graph *g, const struct fx_ordering *o,
		       const u32 *blocked)
{
	u32 *at = fx_calloc(o->n_node, sizeof(u32)), *path;
	u32 n = 0, node = 0, start, first = FX_EDGE_NONE, last;
	struct fx_diag *d;

	path = fx_calloc((size_t)o->n_node + 1, sizeof(u32));
	while (!blocked[node])
		node++;
	/* every blocked node waits for a blocked one: walk until one repeats */
	while (!at[node]) {
		path[n++] = node;
		at[node] = n;
		for (u32 i = 0;; i++) {
			u32 p = pred(o, node, i);

			if (!blocked[p])
				continue;
			node = p;
			break;
		}
	}
	start = at[node] - 1;
	for (u32 i = start; i < n && first == FX_EDGE_NONE; i++)
		if (path[i] < o->n_edge)
			first = path[i];
	d = fx_diag(g->diags, FX_E_CYCLE, class_of(o, first)->pos,
		    "%s can never start: it waits for itself",
		    fx_instance_name(g, first));
	last = first;
	for (u32 i = start, told = 0; i < n && told < MAX_TOLD; i++) {
		if (path[i] >= o->n_edge || path[i] == first)
			continue;
		tell_arc(o, d, last, path[i]);
		last = path[i];
		told++;
	}
	tell_arc(o, d, last, first);
	free(path);
	free(at);
}

/* ---- sorting ---------------------------------------------------------- */

static bool sort(struct fx_graph *g, struct fx_ordering *o)
{
	u32 *waits = fx_calloc(o->n_node, sizeof(u32));
	u32 *first = fx_calloc((size_t)o->n_node + 2, sizeof(u32));
	u32 *succ, *queue, head = 0, tail = 0, p;
	bool ok;

	for (u32 v = 0; v < o->n_node; v++) {
		for (u32 i = 0; (p = pred(o, v, i)) != FX_EDGE_NONE; i++) {
			waits[v]++;
			first[p + 2]++;
		}
	}
	for (u32 v = 2; v < o->n_node + 2; v++)
		first[v] += first[v - 1];
	succ = fx_calloc(first[o->n_node + 1], sizeof(u32));
	for (u32 v = 0; v < o->n_node; v++)
		for (u32 i = 0; (p = pred(o, v, i)) != FX_EDGE_NONE; i++)
			succ[first[p + 1]++] = v;

	queue = fx_calloc(o->n_node, sizeof(u32));
	for (u32 v = 0; v < o->n_node; v++)
		if (!waits[v])
			queue[tail++] = v;
	while (head < tail) {
		u32 v = queue[head];

		o->rank[v] = head++;
		for (u32 i = first[v]; i < first[v + 1]; i++)
			if (!--waits[succ[i]])
				queue[tail++] = succ[i];
	}
	ok = tail == o->n_node;
	if (!ok)
		tell_cycle(g, o, waits);
	free(queue);
	free(succ);
	free(first);
	free(waits);
	return ok;
}

struct fx_ordering *fx_order_build(struct fx_graph *g)
{
	struct fx_ordering *o = fx_calloc(1, sizeof(*o));

	o->g = g;
	o->n_edge = g->n_edge;
	collect_members(o);
	o->rank = fx_calloc(o->n_node, sizeof(u32));
	o->mark = fx_calloc(o->n_node, sizeof(u32));
	/* a node is pushed once per search */
	o->stack = fx_calloc((size_t)o->n_node + 1, sizeof(u32));
	o->last = FX_EDGE_NONE;
	o->steps = STEPS + STEPS_PER_NODE * o->n_node;
	if (sort(g, o))
		return o;
	fx_order_free(o);
	return NULL;
}

void fx_order_free(struct fx_ordering *o)
{
	if (!o)
		return;
	free(o->set_first);
	free(o->member);
	free(o->slot);
	free(o->rank);
	free(o->mark);
	free(o->stack);
	free(o);
}

u32 fx_order_rank(const struct fx_ordering *o, u32 edge)
{
	return o->rank[edge];
}

const u32 *fx_order_members(const struct fx_ordering *o, u32 set, u32 *n)
{
	*n = o->set_first[set + 1] - o->set_first[set];
	return o->member + o->set_first[set];
}

/* Does waiting for node @v mean waiting for instance @a? */
static bool covers(const struct fx_ordering *o, u32 v, u32 a)
{
	u32 slot;

	if (v == a)
		return true;
	if (v < o->n_edge || o->slot[a] == FX_EDGE_NONE)
		return false;
	slot = v - o->n_edge;
	return o->slot[a] <= slot &&
	       o->slot[a] >= o->set_first[set_of_slot(o, slot)];
}

/* @b waits for @a by its own `after`, or as a release of the same set. */
bool fx_order_direct(const struct fx_ordering *o, u32 a, u32 b)
{
	const struct fx_edge_desc *e = &o->g->edge[b];
	u32 low = e->after, high = e->after + e->n_after, p;

	while (low < high) {
		u32 mid = low + (high - low) / 2;

		if (o->g->after[mid] == a)
			return true;
		if (o->g->after[mid] < a)
			low = mid + 1;
		else
			high = mid;
	}
	p = pred(o, b, e->n_after);
	return p != FX_EDGE_NONE && covers(o, p, a);
}

/*
 * fx_order_ancestors() - mark what @b waits for, directly or not
 * @low: down to this rank; what has a lower one is left out
 *
 * When @b waits for the instance that was asked about last, what that one
 * waits for is marked already: a chain of releases is walked once. Return:
 * false when the bound on all searches together is reached; then nobody knows.
 */
bool fx_order_ancestors(struct fx_ordering *o, u32 b, u32 low)
{
	u32 n = 0, p;

	if (o->last == FX_EDGE_NONE || low < o->low ||
	    !fx_order_direct(o, o->last, b)) {
		o->search++;
		o->low = low;
	}
	o->last = b;
	o->mark[b] = o->search;
	o->stack[n++] = b;
	while (n) {
		u32 v = o->stack[--n];

		for (u32 i = 0; (p = pred(o, v, i)) != FX_EDGE_NONE; i++) {
			if (!o->steps) {
				o->last = FX_EDGE_NONE;
				return false;
			}
			o->steps--;
			if (o->rank[p] < o->low || o->mark[p] == o->search)
				continue;
			o->mark[p] = o->search;
			o->stack[n++] = p;
		}
	}
	return true;
}

/* Was @a marked by the last fx_order_ancestors()? */
bool fx_order_marked(const struct fx_ordering *o, u32 a)
{
	return o->mark[a] == o->search;
}
