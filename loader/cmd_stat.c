// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* fabricctl stat: what a graph's classes moved and its policy was asked. */
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cmd.h"
#include "diag.h"
#include "edge_sums.h"
#include "json.h"
#include "map_counts.h"
#include "nic_rows.h"
#include "rows.h"
#include "session.h"
#include "system.h"

struct config {
	const char *graph;
	u64 interval;		/* ns; 0: once */
	u64 count;		/* 0: until a signal */
	bool all;
};

/* What is known of a graph at one moment. */
struct report {
	bool alone;		/* on network devices: there are no tables */
	struct fx_tables tables;
	struct fx_nic_views nics;
	struct fx_map_counts maps;
};

static void report_free(struct report *r)
{
	fx_tables_free(&r->tables);
	fx_nic_views_free(&r->nics);
	fx_map_counts_free(&r->maps);
}

/* Opens the connection when there is something to ask. */
static enum fx_rc report_read(struct fx_nl **nl, const char *graph, struct report *r)
{
	enum fx_rc rc;

	memset(r, 0, sizeof(*r));
	if (fx_nic_views_read(graph, &r->nics))
		return FX_RC_SYSTEM;
	if (fx_map_counts_read(graph, &r->maps)) {
		report_free(r);
		return FX_RC_SYSTEM;
	}
	r->alone = fx_nic_views_alone(&r->nics);
	if (r->alone)
		return FX_RC_OK;
	if (!*nl)
		*nl = fx_nl_open();
	rc = *nl ? fx_session_rc(fx_tables_read(*nl, graph, false, &r->tables)) :
		   FX_RC_SYSTEM;
	if (rc != FX_RC_OK)
		report_free(r);
	return rc;
}

/* Each device, and what they make together; nothing where there is none. */
static void put_devices(struct json_object *o, const struct fx_nic_views *v)
{
	fx_nic_views_put(o, v);
	if (v->n)
		fx_edge_sums_put(o, v);
}

static struct json_object *json(const struct report *r)
{
	const struct fx_tables *t = &r->tables;
	struct json_object *o = fx_json_object(), *list;

	if (r->alone) {
		fx_json_str(o, "graph", r->nics.view[0].conf.graph);
		fx_json_str(o, "policy", r->nics.view[0].conf.policy);
		put_devices(o, &r->nics);
		fx_json_put(o, "maps", fx_map_counts_json(&r->maps));
		return o;
	}
	fx_json_str(o, "graph", t->graph.name);
	fx_json_str(o, "policy", t->graph.policy[0] ? t->graph.policy : NULL);
	list = fx_json_array();
	for (u32 i = 0; i < t->n_class; i++)
		fx_json_add(list, fx_class_json(&t->cls[i], t));
	fx_json_put(o, "classes", list);
	list = fx_json_array();
	for (u32 i = 0; i < t->n_counter; i++)
		fx_json_add(list, fx_counter_json(&t->counter[i]));
	fx_json_put(o, "operations", list);
	fx_json_u64(o, "events_emitted", t->graph.emitted);
	fx_json_u64(o, "events_lost", t->graph.lost);
	put_devices(o, &r->nics);
	fx_json_put(o, "maps", fx_map_counts_json(&r->maps));
	return o;
}

/* Turn @old into what happened from then to @now. */
static void difference(struct fx_tables *old, const struct fx_tables *now)
{
	for (u32 i = 0; i < old->n_class && i < now->n_class; i++) {
		struct fx_nl_class *o = &old->cls[i];
		const struct fx_nl_class *n = &now->cls[i];

		o->moves = n->moves - o->moves;
		o->refused = n->refused - o->refused;
		o->failed = n->failed - o->failed;
		o->bytes_in = n->bytes_in - o->bytes_in;
		o->bytes_out = n->bytes_out - o->bytes_out;
		o->ns = n->ns - o->ns;
		o->verify_ns = n->verify_ns - o->verify_ns;
	}
	for (u32 i = 0; i < old->n_counter && i < now->n_counter; i++) {
		struct fx_nl_counter *o = &old->counter[i];
		const struct fx_nl_counter *n = &now->counter[i];

		o->asked = n->asked - o->asked;
		o->refused = n->refused - o->refused;
		o->invalid = n->invalid - o->invalid;
	}
	old->graph.emitted = now->graph.emitted - old->graph.emitted;
	old->graph.lost = now->graph.lost - old->graph.lost;
}

static void print(const struct report *r, bool all)
{
	const struct fx_tables *t = &r->tables;

	if (!r->alone) {
		fx_classes_print(t, all);
		printf("\n");
		fx_counters_print(t, all);
		printf("\n%llu events, %llu lost\n", t->graph.emitted, t->graph.lost);
	}
	if (r->nics.n && !r->alone)
		printf("\n");
	if (r->nics.n) {
		fx_nic_views_print(&r->nics);
		fx_edge_sums_print(&r->nics);
	}
	if (r->maps.n) {
		printf("\n");
		fx_map_counts_print(&r->maps, all);
	}
	fflush(stdout);
}

/* Of one graph, attached to the same devices: what can be subtracted. */
static bool same_graph(const struct report *a, const struct report *b)
{
	if (a->alone != b->alone || a->nics.n != b->nics.n ||
	    memcmp(a->tables.graph.digest, b->tables.graph.digest,
		   sizeof(a->tables.graph.digest)))
		return false;
	for (u32 i = 0; i < a->nics.n; i++)
		if (memcmp(&a->nics.view[i].conf.digest, &b->nics.view[i].conf.digest,
			   FX_DIGEST_LEN))
			return false;
	return true;
}

/* One report per interval, each of what was since the one before. */
static enum fx_rc repeat(struct fx_nl **nl, const struct config *c)
{
	struct report old = { 0 }, now = { 0 };
	struct pollfd fd = { .fd = fx_sys_signals(false), .events = POLLIN };
	enum fx_rc rc = FX_RC_SYSTEM;

	if (fd.fd < 0)
		return rc;
	rc = report_read(nl, c->graph, &old);
	for (u64 i = 0; rc == FX_RC_OK && (!c->count || i < c->count); i++) {
		if (poll(&fd, 1, (int)(c->interval / 1000000)))
			break;
		rc = report_read(nl, c->graph, &now);
		if (rc != FX_RC_OK)
			break;
		if (same_graph(&old, &now)) {
			difference(&old.tables, &now.tables);
			fx_nic_views_diff(&old.nics, &now.nics);
			fx_map_counts_diff(&old.maps, &now.maps);
			if (fx_json_mode)
				fx_json_line(json(&old));
			else
				print(&old, c->all);
		}
		report_free(&old);
		old = now;
		memset(&now, 0, sizeof(now));
	}
	report_free(&old);
	close(fd.fd);
	return rc;
}

static enum fx_rc once(struct fx_nl **nl, const struct config *c)
{
	struct report r;
	enum fx_rc rc = report_read(nl, c->graph, &r);

	if (rc != FX_RC_OK)
		return rc;
	if (fx_json_mode)
		fx_json_print(json(&r));
	else
		print(&r, c->all);
	report_free(&r);
	return FX_RC_OK;
}

static enum fx_rc run(const void *config)
{
	const struct config *c = config;
	struct fx_nl *nl = NULL;
	enum fx_rc rc;

	if (c->count && !c->interval) {
		fx_err("--count counts reports, one per --interval; give that too");
		return FX_RC_INPUT;
	}
	rc = c->interval ? repeat(&nl, c) : once(&nl, c);
	fx_nl_close(nl);
	return rc;
}

static const struct fx_operand operands[] = {
	FX_OPERAND_GRAPH(struct config),
	{ }
};

static const struct fx_option options[] = {
	{ "interval", 'i', FX_OPT_TIME, .value = "TIME",
	  .help = "report again and again what was since",
	  .at = offsetof(struct config, interval), .min = 10000000,
	  .max = 86400ULL * 1000000000 },
	{ "all", 'a', FX_OPT_FLAG, .help = "what counted nothing too",
	  .at = offsetof(struct config, all) },
	{ "count", 'n', FX_OPT_NUMBER, .value = "N", .help = "end after N reports",
	  .at = offsetof(struct config, count), .min = 1 },
	{ }
};

const struct fx_command fx_cmd_stat = {
	.name = "stat",
	.summary = "count a graph's moves and its policy's decisions",
	.operands = operands,
	.options = options,
	.config_size = sizeof(struct config),
	.run = run,
};
