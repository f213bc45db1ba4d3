// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "diag.h"
#include "json.h"
#include "names.h"
#include "rows.h"
#include "session.h"
#include "system.h"
#include "util.h"

/* ---- reading ---------------------------------------------------------- */

static void add_place(const void *row, void *arg)
{
	struct fx_tables *t = arg;

	fx_grow(t->place, t->n_place, t->cap_place);
	t->place[t->n_place++] = *(const struct fx_nl_place *)row;
}

static void add_class(const void *row, void *arg)
{
	struct fx_tables *t = arg;

	fx_grow(t->cls, t->n_class, t->cap_class);
	t->cls[t->n_class++] = *(const struct fx_nl_class *)row;
}

static void add_counter(const void *row, void *arg)
{
	struct fx_tables *t = arg;

	fx_grow(t->counter, t->n_counter, t->cap_counter);
	t->counter[t->n_counter++] = *(const struct fx_nl_counter *)row;
}

int fx_tables_read(struct fx_nl *nl, const char *graph, bool places,
		   struct fx_tables *t)
{
	int err;

	memset(t, 0, sizeof(*t));
	err = fx_nl_graph_get(nl, graph, &t->graph);
	if (!err && places)
		err = fx_nl_dump(nl, FX_CMD_PLACE_GET, graph, add_place, t);
	if (!err)
		err = fx_nl_dump(nl, FX_CMD_CLASS_GET, graph, add_class, t);
	if (!err)
		err = fx_nl_dump(nl, FX_CMD_COUNTER_GET, graph, add_counter, t);
	if (err) {
		fx_session_no_graph(nl, graph, err);
		fx_tables_free(t);
	}
	return err;
}

void fx_tables_read_names(struct fx_nl *nl, const char *graph, struct fx_tables *t)
{
	memset(t, 0, sizeof(*t));
	if (fx_nl_dump(nl, FX_CMD_PLACE_GET, graph, add_place, t) ||
	    fx_nl_dump(nl, FX_CMD_CLASS_GET, graph, add_class, t))
		fx_tables_free(t);
}

void fx_tables_free(struct fx_tables *t)
{
	free(t->place);
	free(t->cls);
	free(t->counter);
	memset(t, 0, sizeof(*t));
}

/* ---- words ------------------------------------------------------------ */

char *fx_ops_text(u64 ops)
{
	struct fx_words w = { 0 };
	char *text;

	for (u32 i = 0; i < FX_OPS; i++)
		if (ops & FX_OP_BIT(i))
			fx_words_add(&w, fx_name(&fx_ops, i));
	text = fx_words_text(&w, FX_OPS);
	fx_words_free(&w);
	return text;
}

char *fx_graph_state(const struct fx_nl_graph *g)
{
	const char *why = fx_name(&fx_exits, g->exit_kind);

	if (g->flags & FX_GRAPH_F_BYPASS)
		return fx_asprintf("by-passed (%s%s%s)", why,
				   g->exit_msg[0] ? ": " : "", g->exit_msg);
	if (g->flags & FX_GRAPH_F_AUDIT)
		return fx_strdup("audit");
	if (g->flags & FX_GRAPH_F_ATTACHED)
		return fx_strdup("attached");
	if (g->exit_kind)
		return fx_asprintf("no policy (last: %s%s%s)", why,
				   g->exit_msg[0] ? ": " : "", g->exit_msg);
	return fx_strdup("no policy");
}

/* The name of a place of the graph, "-" for none. */
static const char *place_name(const struct fx_tables *t, u32 i)
{
	static char number[16];

	if (i == FX_PLACE_NONE)
		return "-";
	if (i < t->n_place)
		return t->place[i].desc.name;
	snprintf(number, sizeof(number), "#%u", i);
	return number;
}

static const struct fx_class_desc *class_of_edge(const struct fx_tables *t, u32 edge)
{
	for (u32 i = 0; i < t->n_class; i++) {
		const struct fx_class_desc *d = &t->cls[i].desc;

		if (edge >= d->first && edge - d->first < d->count)
			return d;
	}
	return NULL;
}

char *fx_edge_name(const struct fx_tables *t, u32 edge)
{
	const struct fx_class_desc *d = class_of_edge(t, edge);
	char at[FX_MAX_DIMS * 11 + 3] = "";
	u32 index[FX_MAX_DIMS], n = 0;
	int len = 0;

	if (!d)
		return NULL;
	while (n < FX_MAX_DIMS && d->dim[n])
		n++;
	edge -= d->first;
	for (u32 i = n; i-- > 0; edge /= d->dim[i])
		index[i] = edge % d->dim[i];
	for (u32 i = 0; i < n; i++)
		len += sprintf(at + len, "%c%u", i ? ',' : '[', index[i]);
	return fx_asprintf("%s%s%s", d->name, at, n ? "]" : "");
}

const char *fx_bytes_text(u64 bytes)
{
	static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB",
					     "PiB", "EiB" };
	static char text[2][16];
	static u32 turn;
	char *s = text[turn++ % 2];
	u32 i = 0;

	while (i + 1 < ARRAY_SIZE(units) && bytes >> (10 * i + 10))
		i++;
	if (bytes & ((1ULL << 10 * i) - 1))
		snprintf(s, sizeof(text[0]), "%.1f %s",
			 (double)bytes / (double)(1ULL << 10 * i), units[i]);
	else
		snprintf(s, sizeof(text[0]), "%llu %s", bytes >> 10 * i, units[i]);
	return s;
}

/* ---- JSON ------------------------------------------------------------- */

struct json_object *fx_ops_json(u64 ops)
{
	struct json_object *list = fx_json_array();

	for (u32 i = 0; i < FX_OPS; i++)
		if (ops & FX_OP_BIT(i))
			fx_json_add_str(list, fx_name(&fx_ops, i));
	return list;
}

struct json_object *fx_graph_json(const struct fx_nl_graph *g)
{
	static const char *const tables[FX_SECTS] = {
		"places", "alias_sets", "classes", "edges", "after",
	};
	struct json_object *o = fx_json_object(), *list = fx_json_array();
	struct json_object *counts = fx_json_object();

	fx_json_str(o, "graph", g->name);
	fx_json_hex(o, "digest", g->digest, sizeof(g->digest));
	fx_json_str(o, "policy", g->policy[0] ? g->policy : NULL);
	fx_json_bool(o, "attached", g->flags & FX_GRAPH_F_ATTACHED);
	fx_json_bool(o, "bypassed", g->flags & FX_GRAPH_F_BYPASS);
	fx_json_bool(o, "audit", g->flags & FX_GRAPH_F_AUDIT);
	fx_json_str(o, "exit", g->exit_kind ? fx_name(&fx_exits, g->exit_kind) : NULL);
	fx_json_str(o, "exit_message", g->exit_msg[0] ? g->exit_msg : NULL);
	fx_json_str(o, "exit_dump", g->exit_dump[0] ? g->exit_dump : NULL);
	fx_json_put(o, "not_hooked", fx_ops_json(g->missing));
	for (u32 i = 0; i < fx_governs.n; i++)
		if (g->governs >> i & 1)
			fx_json_add_str(list, fx_governs.name[i]);
	fx_json_put(o, "governs", list);
	for (u32 i = 0; i < FX_SECTS; i++)
		fx_json_u64(counts, tables[i], g->count[i]);
	fx_json_put(o, "counts", counts);
	fx_json_u64(o, "kernel_bytes", g->kmem);
	fx_json_u64(o, "events_emitted", g->emitted);
	fx_json_u64(o, "events_lost", g->lost);
	return o;
}

struct json_object *fx_place_json(const struct fx_nl_place *p)
{
	struct json_object *o = fx_json_object();

	fx_json_u64(o, "index", p->index);
	fx_json_str(o, "place", p->desc.name);
	fx_json_str(o, "kind", fx_name(&fx_place_kinds, p->desc.kind));
	fx_json_str(o, "match_kind", fx_name(&fx_match_kinds, p->desc.match_kind));
	fx_json_str(o, "match", p->desc.match);
	fx_json_bool(o, "appears_later", p->desc.flags & FX_PLACE_F_LATER);
	fx_json_bool(o, "bound", p->bound);
	if (p->node != FX_NODE_NONE)
		fx_json_s64(o, "node", p->node);
	if (p->res_size) {
		fx_json_u64(o, "region_start", p->res_start);
		fx_json_u64(o, "region_bytes", p->res_size);
	}
	fx_json_u64(o, "capacity", p->desc.capacity);
	fx_json_u64(o, "used", p->used);
	fx_json_u64(o, "island", p->desc.island);
	return o;
}

struct json_object *fx_class_json(const struct fx_nl_class *c,
				  const struct fx_tables *t)
{
	const struct fx_class_desc *d = &c->desc;
	struct json_object *o = fx_json_object(), *list;

	fx_json_u64(o, "index", c->index);
	fx_json_str(o, "class", d->name);
	if (t->n_place) {
		fx_json_str(o, "from", place_name(t, d->from));
		list = fx_json_array();
		for (u32 i = 0; i < d->n_to; i++)
			fx_json_add_str(list, place_name(t, d->to[i]));
		fx_json_put(o, "to", list);
		fx_json_str(o, "element", fx_name(&fx_elements, d->element));
		fx_json_str(o, "order", fx_name(&fx_orders, d->order));
		fx_json_str(o, "owner", fx_name(&fx_owners, d->owner));
		list = fx_json_array();
		for (u32 i = 0; i < d->n_xforms; i++)
			fx_json_add_str(list, fx_name(&fx_xforms, d->xform[i].kind));
		fx_json_put(o, "transform", list);
		fx_json_u64(o, "first", d->first);
		fx_json_u64(o, "count", d->count);
	}
	fx_json_u64(o, "moves", c->moves);
	fx_json_u64(o, "refused", c->refused);
	fx_json_u64(o, "failed", c->failed);
	fx_json_u64(o, "bytes_in", c->bytes_in);
	fx_json_u64(o, "bytes_out", c->bytes_out);
	fx_json_u64(o, "ns", c->ns);
	fx_json_u64(o, "verify_ns", c->verify_ns);
	return o;
}

struct json_object *fx_counter_json(const struct fx_nl_counter *c)
{
	struct json_object *o = fx_json_object();

	fx_json_str(o, "op", fx_name(&fx_ops, c->index));
	fx_json_u64(o, "asked", c->asked);
	fx_json_u64(o, "refused", c->refused);
	fx_json_u64(o, "invalid", c->invalid);
	return o;
}

/* The names that go with the numbers of an event. */
static void event_names(struct json_object *o, const struct fx_event *ev,
			const struct fx_tables *t)
{
	const struct fx_class_desc *d = class_of_edge(t, ev->edge);
	char *name;

	if (d) {
		name = fx_edge_name(t, ev->edge);
		fx_json_str(o, "edge_name", name);
		fx_json_str(o, "class", d->name);
		free(name);
	}
	if (ev->place < t->n_place)
		fx_json_str(o, "place_name", t->place[ev->place].desc.name);
}

struct json_object *fx_event_json(const struct fx_event *ev, const char *graph,
				  const struct fx_tables *t)
{
	struct json_object *o = fx_json_object();

	fx_json_str(o, "graph", graph);
	fx_json_u64(o, "seq", ev->seq);
	fx_json_u64(o, "ns", ev->ns);
	fx_json_str(o, "event", fx_name(&fx_events, ev->type));
	fx_json_str(o, "op", ev->op < FX_OPS ? fx_name(&fx_ops, ev->op) : NULL);
	if (ev->edge != FX_EDGE_NONE)
		fx_json_u64(o, "edge", ev->edge);
	if (ev->place != FX_PLACE_NONE)
		fx_json_u64(o, "place", ev->place);
	event_names(o, ev, t);
	if (ev->type == FX_EV_PLACE) {
		fx_json_bool(o, "bound", (s32)ev->arg0 != FX_NODE_NONE);
		if ((s32)ev->arg0 != FX_NODE_NONE) {
			fx_json_s64(o, "node", (s32)ev->arg0);
			fx_json_u64(o, "address", ev->arg1);
		}
	}
	fx_json_str(o, "reason", fx_name(&fx_reasons, ev->reason));
	fx_json_s64(o, "error", ev->error);
	if (ev->type == FX_EV_EJECT)
		fx_json_str(o, "exit", fx_name(&fx_exits, ev->arg0));
	fx_json_u64(o, "bytes", ev->bytes);
	fx_json_u64(o, "pid", ev->pid);
	fx_json_u64(o, "arg0", ev->arg0);
	fx_json_u64(o, "arg1", ev->arg1);
	return o;
}

/* ---- text ------------------------------------------------------------- */

void fx_places_print(const struct fx_tables *t)
{
	char node[16], match[96];

	printf("%-16s %-7s %-28s %5s %12s %12s\n", "PLACE", "KIND", "MATCH",
	       "NODE", "USED", "CAPACITY");
	for (u32 i = 0; i < t->n_place; i++) {
		const struct fx_nl_place *p = &t->place[i];

		snprintf(node, sizeof(node), "%d", p->node);
		snprintf(match, sizeof(match), "%s %s",
			 fx_name(&fx_match_kinds, p->desc.match_kind),
			 p->desc.match);
		printf("%-16s %-7s %-28s %5s %12s %12s\n", p->desc.name,
		       fx_name(&fx_place_kinds, p->desc.kind),
		       p->desc.match_kind == FX_MATCH_NONE ? "-" : match,
		       p->node == FX_NODE_NONE ? "-" : node,
		       fx_bytes_text(p->used),
		       p->desc.capacity ? fx_bytes_text(p->desc.capacity) : "-");
	}
}

static void left_out(u32 n, u32 of)
{
	if (n)
		printf("(%u%s counted nothing; --all shows %s)\n", n,
		       n < of ? " more" : "", n == 1 ? "it" : "them");
}

void fx_classes_print(const struct fx_tables *t, bool all)
{
	u32 idle = 0;

	printf("%-24s %12s %10s %10s %12s %12s %12s %12s\n", "CLASS", "MOVES",
	       "REFUSED", "FAILED", "BYTES IN", "BYTES OUT", "NS/MOVE",
	       "VERIFY NS");
	for (u32 i = 0; i < t->n_class; i++) {
		const struct fx_nl_class *c = &t->cls[i];

		if (!all && !(c->moves | c->refused | c->failed)) {
			idle++;
			continue;
		}
		printf("%-24s %12llu %10llu %10llu %12s %12s %12llu %12llu\n",
		       c->desc.name, c->moves, c->refused, c->failed,
		       fx_bytes_text(c->bytes_in), fx_bytes_text(c->bytes_out),
		       c->moves ? c->ns / c->moves : 0,
		       c->moves ? c->verify_ns / c->moves : 0);
	}
	left_out(idle, t->n_class);
}

void fx_counters_print(const struct fx_tables *t, bool all)
{
	u32 idle = 0;

	printf("%-16s %14s %14s %14s\n", "OPERATION", "ASKED", "REFUSED",
	       "INVALID");
	for (u32 i = 0; i < t->n_counter; i++) {
		const struct fx_nl_counter *c = &t->counter[i];

		if (!all && !(c->asked | c->refused | c->invalid)) {
			idle++;
			continue;
		}
		printf("%-16s %14llu %14llu %14llu\n", fx_name(&fx_ops, c->index),
		       c->asked, c->refused, c->invalid);
	}
	left_out(idle, t->n_counter);
}

void fx_event_print(const struct fx_event *ev, const char *graph,
		    const struct fx_tables *t)
{
	char *edge = fx_edge_name(t, ev->edge);

	printf("%llu.%09llu %s #%llu %s", ev->ns / 1000000000,
	       ev->ns % 1000000000, graph, ev->seq, fx_name(&fx_events, ev->type));
	if (ev->op < FX_OPS && ev->type <= FX_EV_MOVE)
		printf(" op=%s", fx_name(&fx_ops, ev->op));
	if (ev->type == FX_EV_EJECT)
		printf(" exit=%s", fx_name(&fx_exits, ev->arg0));
	if (ev->edge != FX_EDGE_NONE)
		printf(" edge=%u", ev->edge);
	if (edge)
		printf(" (%s)", edge);
	if (ev->place < t->n_place)
		printf(" place=%s", t->place[ev->place].desc.name);
	else if (ev->place != FX_PLACE_NONE)
		printf(" place=%u", ev->place);
	printf(" reason=%s", fx_name(&fx_reasons, ev->reason));
	if (ev->error)
		printf(" error=%d", ev->error);
	if (ev->bytes)
		printf(" bytes=%llu", ev->bytes);
	if (ev->type == FX_EV_PLACE && (s32)ev->arg0 == FX_NODE_NONE)
		printf(" unbound");
	else if (ev->type == FX_EV_PLACE)
		printf(" node=%d address=%#llx", (s32)ev->arg0, ev->arg1);
	if (ev->type == FX_EV_POLICY)
		printf(" arg0=%#llx arg1=%#llx", ev->arg0, ev->arg1);
	printf(" pid=%u\n", ev->pid);
	free(edge);
}
