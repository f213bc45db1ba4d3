// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* fabricctl show: one graph with its places, classes and counters. */
#include <stdio.h>
#include <stdlib.h>

#include "cmd.h"
#include "diag.h"
#include "json.h"
#include "nic_rows.h"
#include "rows.h"
#include "session.h"
#include "util.h"

struct config {
	const char *graph;
	bool edges;
	bool all;
};

/* Where the rows of edges go to, and the names for them come from. */
struct edges {
	const struct fx_tables *tables;
	struct json_object *list;	/* NULL: text */
};

static struct json_object *edge_json(const struct fx_nl_edge *e, const char *name)
{
	struct json_object *o = fx_json_object();

	fx_json_u64(o, "index", e->index);
	if (name)
		fx_json_str(o, "edge_name", name);
	fx_json_u64(o, "class", e->desc.cls);
	fx_json_u64(o, "bytes", e->desc.bytes);
	fx_json_u64(o, "alias_at", e->desc.alias_at);
	if (e->desc.reuse == FX_REUSE_NEVER)
		fx_json_str(o, "reuse", "never");
	else if (e->desc.reuse != FX_REUSE_UNKNOWN)
		fx_json_u64(o, "reuse", e->desc.reuse);
	fx_json_u64(o, "after", e->desc.n_after);
	fx_json_u64(o, "moves", e->moves);
	return o;
}

static void edge_print(const struct fx_nl_edge *e, const char *name)
{
	const char *reuse = e->desc.reuse == FX_REUSE_NEVER ? "never" :
			    e->desc.reuse == FX_REUSE_UNKNOWN ? "-" :
			    fx_bytes_text(e->desc.reuse);

	printf("%10u %-28s %12s %16llu %12s %6u %10llu\n", e->index,
	       name ? name : "?", fx_bytes_text(e->desc.bytes),
	       e->desc.alias_at, reuse, e->desc.n_after, e->moves);
}

static void on_edge(const void *row, void *arg)
{
	const struct fx_nl_edge *e = row;
	const struct edges *to = arg;
	char *name = fx_edge_name(to->tables, e->index);

	if (to->list)
		fx_json_add(to->list, edge_json(e, name));
	else
		edge_print(e, name);
	free(name);
}

static void print(const struct fx_tables *t, bool all)
{
	const struct fx_nl_graph *g = &t->graph;
	char *state = fx_graph_state(g), *digest = fx_hex(g->digest, 8);
	char *missing;

	printf("graph %s, digest %s..., %u edges in %u classes, %s of kernel memory\n",
	       g->name, digest, g->count[FX_SECT_EDGE], g->count[FX_SECT_CLASS],
	       fx_bytes_text(g->kmem));
	printf("policy %s, %s; %llu events, %llu lost\n",
	       g->policy[0] ? g->policy : "-", state, g->emitted, g->lost);
	if (g->exit_dump[0])
		printf("what the policy told at its end:\n%s\n", g->exit_dump);
	if (g->missing) {
		missing = fx_ops_text(g->missing);
		printf("not asked about, for this kernel has no hook there: %s\n",
		       missing);
		free(missing);
	}
	free(digest);
	free(state);
	printf("\n");
	fx_places_print(t);
	printf("\n");
	fx_classes_print(t, all);
	printf("\n");
	fx_counters_print(t, all);
}

static struct json_object *json(const struct fx_tables *t)
{
	struct json_object *o = fx_graph_json(&t->graph), *list;

	list = fx_json_array();
	for (u32 i = 0; i < t->n_place; i++)
		fx_json_add(list, fx_place_json(&t->place[i]));
	fx_json_put(o, "places", list);
	list = fx_json_array();
	for (u32 i = 0; i < t->n_class; i++)
		fx_json_add(list, fx_class_json(&t->cls[i], t));
	fx_json_put(o, "classes", list);
	list = fx_json_array();
	for (u32 i = 0; i < t->n_counter; i++)
		fx_json_add(list, fx_counter_json(&t->counter[i]));
	fx_json_put(o, "operations", list);
	return o;
}

/* A graph on network devices alone: what is pinned is all there is. */
static enum fx_rc show_nics(const struct config *c, const struct fx_nic_views *v)
{
	const struct fx_nic_conf *conf = &v->view[0].conf;
	char *digest;

	if (c->edges) {
		fx_err("not supported yet: every edge of a graph on network devices alone; without -e, those that a device looks for");
		return FX_RC_INPUT;
	}
	if (fx_json_mode) {
		fx_json_print(fx_nic_graph_json(v));
		return FX_RC_OK;
	}
	digest = fx_hex(conf->digest, 8);
	printf("graph %s, digest %s..., %u edges in %u classes, on network devices alone\npolicy %s\n\n",
	       conf->graph, digest, conf->count[FX_SECT_EDGE],
	       conf->count[FX_SECT_CLASS], conf->policy);
	free(digest);
	fx_nic_views_print(v);
	return FX_RC_OK;
}

static enum fx_rc show_loaded(const struct config *c, const struct fx_nic_views *v)
{
	enum fx_rc rc = FX_RC_SYSTEM;
	struct fx_tables t = { 0 };
	struct edges edges = { .tables = &t };
	struct json_object *o = NULL;
	struct fx_nl *nl;
	int err;

	nl = fx_nl_open();
	if (!nl)
		goto out;
	rc = fx_session_rc(fx_tables_read(nl, c->graph, true, &t));
	if (rc != FX_RC_OK)
		goto out;
	if (fx_json_mode)
		o = json(&t);
	else
		print(&t, c->all);
	if (v->n && o) {
		fx_nic_views_put(o, v);
	} else if (v->n) {
		printf("\n");
		fx_nic_views_print(v);
	}
	if (c->edges) {
		if (o)
			fx_json_put(o, "edges", edges.list = fx_json_array());
		else
			printf("\n%10s %-28s %12s %16s %12s %6s %10s\n", "EDGE",
			       "NAME", "BYTES", "ALIAS AT", "REUSE", "AFTER",
			       "MOVES");
		err = fx_nl_dump(nl, FX_CMD_EDGE_GET, c->graph, on_edge, &edges);
		if (err) {
			fx_session_no_graph(nl, c->graph, err);
			rc = fx_session_rc(err);
			goto out;
		}
	}
	if (o)
		fx_json_print(o);
	o = NULL;
out:
	json_object_put(o);
	fx_tables_free(&t);
	fx_nl_close(nl);
	return rc;
}

static enum fx_rc run(const void *config)
{
	const struct config *c = config;
	struct fx_nic_views v;
	enum fx_rc rc;

	if (fx_nic_views_read(c->graph, &v))
		return FX_RC_SYSTEM;
	rc = fx_nic_views_alone(&v) ? show_nics(c, &v) : show_loaded(c, &v);
	fx_nic_views_free(&v);
	return rc;
}

static const struct fx_operand operands[] = {
	FX_OPERAND_GRAPH(struct config),
	{ }
};

static const struct fx_option options[] = {
	{ "all", 'a', FX_OPT_FLAG, .help = "what counted nothing too",
	  .at = offsetof(struct config, all) },
	{ "edges", 'e', FX_OPT_FLAG, .help = "every edge instance too",
	  .at = offsetof(struct config, edges) },
	{ }
};

const struct fx_command fx_cmd_show = {
	.name = "show",
	.summary = "show a loaded graph: places, classes, counters",
	.operands = operands,
	.options = options,
	.config_size = sizeof(struct config),
	.run = run,
};
