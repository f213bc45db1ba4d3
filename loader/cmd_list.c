// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* fabricctl list: the loaded graphs. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd.h"
#include "diag.h"
#include "json.h"
#include "netlink.h"
#include "nic_rows.h"
#include "pins.h"
#include "rows.h"
#include "system.h"
#include "util.h"

struct config {
	char unused;	/* a structure has a member */
};

struct listing {
	struct json_object *json;
	struct fx_words seen;	/* what the module told of */
	u32 n;
};

static void header(struct listing *l)
{
	if (!l->n++)
		printf("%-28s %-16s %7s %8s %10s %12s  %s\n", "GRAPH", "POLICY",
		       "PLACES", "CLASSES", "EDGES", "EVENTS", "STATE");
}

static void print_agent(const struct fx_nic_views *v)
{
	if (*fx_agent_text(&v->agent))
		printf("; agent: %s", fx_agent_text(&v->agent));
}

static void add(const void *row, void *arg)
{
	const struct fx_nl_graph *g = row;
	struct listing *l = arg;
	struct fx_nic_views v;
	struct json_object *o;
	char *state;

	fx_words_add(&l->seen, g->name);
	/* it told what failed, and the graph is listed without */
	fx_nic_views_read(g->name, &v);
	if (l->json) {
		o = fx_graph_json(g);
		fx_nic_views_put(o, &v);
		fx_json_add(l->json, o);
		goto out;
	}
	header(l);
	state = fx_graph_state(g);
	printf("%-28s %-16s %7u %8u %10u %12llu  %s", g->name,
	       g->policy[0] ? g->policy : "-", g->count[FX_SECT_PLACE],
	       g->count[FX_SECT_CLASS], g->count[FX_SECT_EDGE], g->emitted,
	       state);
	for (u32 i = 0; i < v.n; i++)
		printf("; %s: %s", v.view[i].conf.netdev, fx_nic_state(&v.view[i]));
	print_agent(&v);
	printf("\n");
	free(state);
out:
	fx_nic_views_free(&v);
}

static bool seen(const struct listing *l, const char *graph)
{
	for (u32 i = 0; i < l->seen.n; i++)
		if (!strcmp(l->seen.word[i], graph))
			return true;
	return false;
}

/* What an attach that was killed has left. */
static void incomplete(struct listing *l, const char *graph)
{
	struct json_object *o;

	if (!l->json) {
		header(l);
		printf("%-28s %-16s %7s %8s %10s %12s  incomplete: detach it\n", graph,
		       "-", "-", "-", "-", "-");
		return;
	}
	o = fx_json_object();
	fx_json_str(o, "graph", graph);
	fx_json_bool(o, "attached", false);
	fx_json_bool(o, "incomplete", true);
	fx_json_add(l->json, o);
}

/* One state and who has it, then the next one. */
static void print_states(const struct fx_nic_views *v)
{
	for (u32 i = 0; i < v->n; i++) {
		const char *state = fx_nic_state(&v->view[i]);
		bool told = false;

		for (u32 j = 0; j < i; j++)
			told = told || !strcmp(fx_nic_state(&v->view[j]), state);
		if (told)
			continue;
		printf("%s%s on", i ? "; " : "  ", state);
		for (u32 j = i; j < v->n; j++)
			if (!strcmp(fx_nic_state(&v->view[j]), state))
				printf(" %s", v->view[j].conf.netdev);
	}
}

/* A graph on network devices alone. */
static enum fx_rc add_nics(struct listing *l, const char *graph)
{
	const struct fx_nic_conf *c;
	struct fx_nic_views v;

	if (fx_nic_views_read(graph, &v))
		return FX_RC_SYSTEM;
	if (!v.n) {
		incomplete(l, graph);
		goto out;
	}
	c = &v.view[0].conf;
	if (l->json) {
		fx_json_add(l->json, fx_nic_graph_json(&v));
	} else {
		header(l);
		printf("%-28s %-16s %7u %8u %10u %12s", c->graph, c->policy,
		       c->count[FX_SECT_PLACE], c->count[FX_SECT_CLASS],
		       c->count[FX_SECT_EDGE], "-");
		print_states(&v);
		print_agent(&v);
		printf("\n");
	}
out:
	fx_nic_views_free(&v);
	return FX_RC_OK;
}

/* What the module has, unless there is none and graphs live without it. */
static enum fx_rc add_loaded(struct listing *l, const struct fx_words *nics)
{
	enum fx_rc rc = FX_RC_OK;
	struct fx_nl *nl;

	if (nics->n && !fx_sys_module())
		return FX_RC_OK;
	nl = fx_nl_open();
	if (!nl)
		return FX_RC_SYSTEM;
	if (fx_nl_dump(nl, FX_CMD_GRAPH_GET, NULL, add, l)) {
		fx_err("the loaded graphs cannot be read: %s", fx_nl_why(nl));
		rc = FX_RC_SYSTEM;
	}
	fx_nl_close(nl);
	return rc;
}

static enum fx_rc run(const void *config)
{
	struct listing l = { .json = fx_json_mode ? fx_json_array() : NULL };
	struct fx_words nics = { 0 };
	enum fx_rc rc;

	(void)config;
	fx_pins_list_graphs(&nics);
	rc = add_loaded(&l, &nics);
	for (u32 i = 0; i < nics.n && rc == FX_RC_OK; i++)
		if (!seen(&l, nics.word[i]))
			rc = add_nics(&l, nics.word[i]);
	if (rc != FX_RC_OK)
		goto out;
	if (fx_json_mode)
		fx_json_print(l.json);
	else if (!l.n)
		fx_info("no graph is loaded");
	l.json = NULL;
out:
	json_object_put(l.json);
	fx_words_free(&l.seen);
	fx_words_free(&nics);
	return rc;
}

const struct fx_command fx_cmd_list = {
	.name = "list",
	.summary = "list the loaded graphs and their policies",
	.config_size = sizeof(struct config),
	.run = run,
};
