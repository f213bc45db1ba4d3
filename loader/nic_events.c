// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "diag.h"
#include "json.h"
#include "names.h"
#include "nic.h"
#include "nic_events.h"
#include "nic_rows.h"
#include "owner.h"
#include "pins.h"
#include "system.h"
#include "util.h"

/* What a graph's devices had counted when it was last looked at. */
struct seen {
	char *graph;
	struct fx_nic_views views;
	bool there;		/* in this look */
	u64 not_before;		/* ns: it could not be read, and is left alone until */
};

#define LEFT_ALONE_NS	10000000000ULL

struct fx_nic_watch {
	char *only;
	struct seen *seen;
	u32 n, cap;
	u64 ns;			/* of this look */
	bool first;
	fx_nic_event_fn *tell;
	void *arg;
};

/* ---- telling ---------------------------------------------------------- */

static void tell(const struct fx_nic_watch *w, const char *graph,
		 const struct fx_nic_view *v, struct fx_nic_event e)
{
	if (w->first)
		return;
	e.ev.ns = w->ns;
	e.ev.place = v->conf.place;
	e.graph = graph;
	e.kind = v->dpu ? "dpu" : "netdev";
	e.device = v->conf.netdev;
	e.cls = e.cls ? e.cls : "";
	w->tell(&e, w->arg);
}

static void tell_row(const struct fx_nic_watch *w, const char *graph,
		     const struct fx_nic_view *v, u32 i, const struct fx_nic_count *old)
{
	const struct fx_nic_count *c = &v->count[i];
	const bool audit = v->conf.flags & FX_NIC_F_AUDIT;
	const struct {
		u64 now, before, bytes;
		u16 type;
		u32 reason;
	} kinds[] = {
		{ c->refused, old->refused, c->refused_bytes - old->refused_bytes,
		  FX_EV_VERDICT, audit ? FX_AUDIT_REFUSED : FX_REFUSED_POLICY },
		{ c->packets, old->packets, c->bytes - old->bytes, FX_EV_MOVE,
		  FX_APPLIED },
	};

	for (u32 k = 0; k < ARRAY_SIZE(kinds); k++)
		if (kinds[k].now != kinds[k].before)
			tell(w, graph, v, (struct fx_nic_event){
				.ev = {
					.type = kinds[k].type, .op = FX_OP_MOVE,
					.edge = v->row[i].edge,
					.reason = kinds[k].reason,
					.bytes = kinds[k].bytes,
					.arg0 = kinds[k].now - kinds[k].before,
				},
				.cls = v->row[i].name,
			});
}

static void tell_state(const struct fx_nic_watch *w, const char *graph,
		       const struct fx_nic_view *v, u16 type, const char *text)
{
	tell(w, graph, v, (struct fx_nic_event){
		.ev = {
			.type = type, .op = FX_OPS, .edge = FX_EDGE_NONE,
			.reason = type == FX_EV_ATTACH ? FX_APPLIED : FX_BYPASS_EJECTED,
			.arg0 = type == FX_EV_ATTACH ? 0 :
				v->conf.flags & FX_NIC_F_BYPASS ? FX_EXIT_BYPASS :
								  FX_EXIT_UNREG,
		},
		.text = text,
	});
}

/* An agent comes and goes as a device does. */
static void tell_agent(const struct fx_nic_watch *w, const char *graph,
		       const struct fx_agent_view *a, u16 type, const char *text)
{
	struct fx_nic_event e = {
		.ev = {
			.ns = w->ns, .type = type, .op = FX_OPS, .edge = FX_EDGE_NONE,
			.reason = type == FX_EV_ATTACH ? FX_APPLIED : FX_BYPASS_EJECTED,
			.arg0 = type == FX_EV_ATTACH ? 0 : FX_EXIT_UNREG,
		},
		.graph = graph, .kind = "agent", .pid = a->pid, .cls = "", .text = text,
	};

	if (!w->first)
		w->tell(&e, w->arg);
}

static void print_json(const struct fx_nic_event *e)
{
	const struct fx_event *ev = &e->ev;
	struct json_object *o = fx_json_object();

	fx_json_str(o, "graph", e->graph);
	fx_json_u64(o, "ns", ev->ns);
	fx_json_str(o, "event", fx_name(&fx_events, ev->type));
	fx_json_str(o, "op", ev->op < FX_OPS ? fx_name(&fx_ops, ev->op) : NULL);
	if (e->device) {
		fx_json_str(o, e->kind, e->device);
		fx_json_u64(o, "place", ev->place);
	} else {
		fx_json_u64(o, e->kind, e->pid);
	}
	if (ev->edge != FX_EDGE_NONE) {
		fx_json_u64(o, "edge", ev->edge);
		fx_json_str(o, "class", e->cls);
		fx_json_u64(o, "packets", ev->arg0);
		fx_json_u64(o, "bytes", ev->bytes);
	}
	fx_json_str(o, "reason", fx_name(&fx_reasons, ev->reason));
	if (ev->type == FX_EV_EJECT)
		fx_json_str(o, "exit", fx_name(&fx_exits, ev->arg0));
	if (e->text)
		fx_json_str(o, ev->type == FX_EV_ATTACH ? "policy" : "message", e->text);
	fx_json_line(o);
}

void fx_nic_event_print(const struct fx_nic_event *e)
{
	const struct fx_event *ev = &e->ev;

	if (fx_json_mode) {
		print_json(e);
		return;
	}
	printf("%llu.%09llu %s %s ", ev->ns / 1000000000, ev->ns % 1000000000,
	       e->graph, fx_name(&fx_events, ev->type));
	if (e->device)
		printf("%s=%s", e->kind, e->device);
	else
		printf("%s=%u", e->kind, e->pid);
	if (ev->op < FX_OPS)
		printf(" op=%s", fx_name(&fx_ops, ev->op));
	if (ev->type == FX_EV_EJECT)
		printf(" exit=%s", fx_name(&fx_exits, ev->arg0));
	if (ev->edge != FX_EDGE_NONE)
		printf(" edge=%u (%s) packets=%llu bytes=%llu", ev->edge, e->cls,
		       ev->arg0, ev->bytes);
	printf(" reason=%s", fx_name(&fx_reasons, ev->reason));
	if (e->text)
		printf(" %s=\"%s\"", ev->type == FX_EV_ATTACH ? "policy" : "message",
		       e->text);
	printf("\n");
}

/* ---- comparing -------------------------------------------------------- */

static const struct fx_nic_view *find(const struct fx_nic_views *all,
				      const struct fx_nic_view *like)
{
	for (u32 i = 0; i < all->n; i++)
		if (all->view[i].dpu == like->dpu &&
		    !strcmp(all->view[i].conf.netdev, like->conf.netdev))
			return &all->view[i];
	return NULL;
}

static bool in_force(const struct fx_nic_view *v)
{
	return v->attached && !(v->conf.flags & FX_NIC_F_BYPASS);
}

/* A graph that was attached anew begins to count anew. */
static bool goes_on(const struct fx_nic_view *old, const struct fx_nic_view *now)
{
	if (!old || old->conf.rows != now->conf.rows ||
	    memcmp(old->conf.digest, now->conf.digest, sizeof(now->conf.digest)))
		return false;
	for (u32 dir = FX_DIR_IN; dir < FX_DIRS; dir++)
		if (now->total[dir].packets < old->total[dir].packets)
			return false;
	return true;
}

static void compare_view(const struct fx_nic_watch *w, const char *graph,
			 const struct fx_nic_view *old, const struct fx_nic_view *now)
{
	static const struct fx_nic_count none;

	if (in_force(now) && (!old || !in_force(old) ||
			      strcmp(old->conf.policy, now->conf.policy)))
		tell_state(w, graph, now, FX_EV_ATTACH, now->conf.policy);
	for (u32 i = 0; i < now->conf.rows; i++)
		tell_row(w, graph, now, i, goes_on(old, now) ? &old->count[i] : &none);
	if (!in_force(now) && (!old || in_force(old)))
		tell_state(w, graph, now, FX_EV_EJECT, fx_nic_state(now));
}

/* Another one in the place of one that ended between two looks is both. */
static void compare_agent(const struct fx_nic_watch *w, const char *graph,
			  const struct fx_agent_view *old, const struct fx_agent_view *now)
{
	const bool same = old->born == now->born, runs = now->state == FX_AGENT_RUNS;

	if (old->state == FX_AGENT_RUNS && !(runs && same))
		tell_agent(w, graph, old, FX_EV_EJECT,
			   now->state == FX_AGENT_NONE ? "detached" :
			   runs ? "it has ended" : fx_agent_text(now));
	if (runs && !(old->state == FX_AGENT_RUNS && same))
		tell_agent(w, graph, now, FX_EV_ATTACH, NULL);
}

static void compare(const struct fx_nic_watch *w, const char *graph,
		    const struct fx_nic_views *old, const struct fx_nic_views *now)
{
	for (u32 i = 0; i < now->n; i++)
		compare_view(w, graph, find(old, &now->view[i]), &now->view[i]);
	for (u32 i = 0; i < old->n; i++)
		if (!find(now, &old->view[i]))
			tell_state(w, graph, &old->view[i], FX_EV_EJECT, "detached");
	compare_agent(w, graph, &old->agent, &now->agent);
}

static struct seen *seen_of(struct fx_nic_watch *w, const char *graph)
{
	for (u32 i = 0; i < w->n; i++)
		if (!strcmp(w->seen[i].graph, graph))
			return &w->seen[i];
	fx_grow(w->seen, w->n, w->cap);
	w->seen[w->n] = (struct seen){ .graph = fx_strdup(graph) };
	return &w->seen[w->n++];
}

/* What has no links any more is being detached: there is only a moment less of it. */
static void forget_unlinked(struct fx_nic_views *v)
{
	u32 kept = 0;

	for (u32 i = 0; i < v->n; i++) {
		if (v->view[i].dpu || v->view[i].linked) {
			v->view[kept++] = v->view[i];
		} else {
			free(v->view[i].row);
			free(v->view[i].count);
		}
	}
	v->n = kept;
}

/* One graph that cannot be read, as when a DPU hangs, is not in the others' way. */
static void look_at(struct fx_nic_watch *w, const char *graph)
{
	struct fx_nic_views now;
	struct seen *s;

	if (w->only && strcmp(w->only, graph))
		return;
	s = seen_of(w, graph);
	s->there = true;
	if (fx_monotonic_ns() < s->not_before)
		return;
	/* it told what failed */
	if (fx_nic_views_read(graph, &now)) {
		s->not_before = fx_monotonic_ns() + LEFT_ALONE_NS;
		return;
	}
	forget_unlinked(&now);
	/* it has a name again at the next look */
	if (now.agent.state == FX_AGENT_UNKNOWN)
		now.agent = s->views.agent;
	compare(w, graph, &s->views, &now);
	fx_nic_views_free(&s->views);
	s->views = now;
}

void fx_nic_watch_look(struct fx_nic_watch *w, fx_nic_event_fn *tell_fn, void *arg)
{
	static const struct fx_nic_views nothing;
	struct fx_words graphs = { 0 };

	w->tell = tell_fn;
	w->arg = arg;
	w->ns = fx_monotonic_ns();
	for (u32 i = 0; i < w->n; i++)
		w->seen[i].there = false;
	fx_pins_list_graphs(&graphs);
	for (u32 i = 0; i < graphs.n; i++)
		look_at(w, graphs.word[i]);
	fx_words_free(&graphs);
	/* it was told of */
	fx_owner_sweep_all();
	for (u32 i = 0; i < w->n; i++) {
		struct seen *s = &w->seen[i];

		if (s->there)
			continue;
		compare(w, s->graph, &s->views, &nothing);
		fx_nic_views_free(&s->views);
		free(s->graph);
		w->seen[i--] = w->seen[--w->n];
	}
}

static void no_event(const struct fx_nic_event *e, void *arg)
{
	(void)e;
	(void)arg;
}

struct fx_nic_watch *fx_nic_watch_new(const char *graph)
{
	struct fx_nic_watch *w = fx_calloc(1, sizeof(*w));

	w->only = graph ? fx_strdup(graph) : NULL;
	w->first = true;
	fx_nic_watch_look(w, no_event, NULL);
	w->first = false;
	return w;
}

void fx_nic_watch_free(struct fx_nic_watch *w)
{
	if (!w)
		return;
	for (u32 i = 0; i < w->n; i++) {
		fx_nic_views_free(&w->seen[i].views);
		free(w->seen[i].graph);
	}
	free(w->seen);
	free(w->only);
	free(w);
}
