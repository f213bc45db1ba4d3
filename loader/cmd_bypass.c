// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * fabricctl bypass: the operator's way out. To the module it needs neither
 * bpffs nor libbpf; programs on network devices are reached by their pins.
 */
#include <stdio.h>
#include <string.h>

#include "cmd.h"
#include "diag.h"
#include "dpus.h"
#include "json.h"
#include "nic.h"
#include "nic_rows.h"
#include "pins.h"
#include "session.h"
#include "system.h"

struct config {
	const char *graph;
	bool all;
};

static void count_in_force(const void *row, void *arg)
{
	const struct fx_nl_graph *g = row;

	if (g->flags & FX_GRAPH_F_ATTACHED && !(g->flags & FX_GRAPH_F_BYPASS))
		++*(u32 *)arg;
}

/* What is found on network devices: of which the module does not know; first. */
struct nics {
	bool some;		/* programs of a graph that is meant */
	bool alone;		/* and none of them has a part for the kernel */
	u32 in_force;		/* policies without one that were not by-passed */
	bool was_in_force;	/* the graph that is looked at */
};

/* What a graph's devices say, which does not keep anything from ending. */
static void look_at(const char *graph, struct nics *n)
{
	struct fx_nic_views v;

	n->some = true;
	if (fx_nic_views_read(graph, &v) || !fx_nic_views_alone(&v)) {
		n->alone = false;
		return;
	}
	n->in_force += n->was_in_force;
	fx_nic_views_free(&v);
}

/* The devices that cannot be in the way come first. */
static enum fx_rc bypass_graph(const char *graph, struct nics *n)
{
	enum fx_rc rc = FX_RC_OK;
	int err;

	n->was_in_force = !fx_nics_bypassed(graph);
	err = fx_nics_bypass(graph);
	if (err) {
		fx_err("the programs of graph '%s' on network devices cannot be by-passed: %s",
		       graph, strerror(-err));
		rc = FX_RC_SYSTEM;
	}
	if (fx_dpus_bypass(graph))
		rc = FX_RC_SYSTEM;
	look_at(graph, n);
	return rc;
}

static enum fx_rc bypass_nics(const struct config *c, struct nics *n)
{
	struct fx_words graphs = { 0 };
	enum fx_rc rc = FX_RC_OK;

	n->alone = true;
	fx_pins_list_graphs(&graphs);
	/* one that fails does not keep the others from it */
	for (u32 i = 0; i < graphs.n; i++)
		if ((!c->graph || !strcmp(c->graph, graphs.word[i])) &&
		    bypass_graph(graphs.word[i], n) != FX_RC_OK)
			rc = FX_RC_SYSTEM;
	fx_words_free(&graphs);
	return rc;
}

/* The module's: all of them, or the graph's. */
static enum fx_rc bypass_loaded(const struct config *c, u32 *n)
{
	struct fx_nl *nl = fx_nl_open();
	enum fx_rc rc = FX_RC_OK;
	u32 loaded = 0;
	int err;

	if (!nl)
		return FX_RC_SYSTEM;
	/* for the report alone: whatever it says, the policies end */
	if (c->all && !fx_nl_dump(nl, FX_CMD_GRAPH_GET, NULL, count_in_force, &loaded))
		*n += loaded;
	err = fx_nl_bypass(nl, c->graph);
	if (err && c->graph) {
		fx_session_no_graph(nl, c->graph, err);
		rc = fx_session_rc(err);
	} else if (err) {
		fx_err("policies cannot be by-passed: %s", fx_nl_why(nl));
		rc = FX_RC_SYSTEM;
	}
	fx_nl_close(nl);
	return rc;
}

static enum fx_rc run(const void *config)
{
	const struct config *c = config;
	struct nics nics = { 0 };
	struct json_object *o;
	enum fx_rc rc;
	u32 n;

	if (c->all == !!c->graph) {
		fx_err("bypass takes the name of a graph, or --all");
		return FX_RC_INPUT;
	}
	rc = bypass_nics(c, &nics);
	n = nics.in_force;
	/* without a module, and without a part for it, there is no more to do */
	if (!nics.some || !nics.alone || (c->all && fx_sys_module())) {
		enum fx_rc loaded = bypass_loaded(c, &n);

		rc = rc == FX_RC_OK ? loaded : rc;
	}
	if (rc != FX_RC_OK)
		return rc;

	if (c->all && n)
		fx_info("%u %s by-passed", n,
			n == 1 ? "policy is" : "policies are");
	else if (c->all)
		fx_info("no policy was in force, so there was nothing to by-pass");
	else
		fx_info("graph '%s' is by-passed", c->graph);
	if (fx_json_mode) {
		o = fx_json_object();
		fx_json_bool(o, "all", c->all);
		if (c->all)
			fx_json_u64(o, "policies", n);
		fx_json_str(o, "graph", c->graph);
		fx_json_print(o);
	}
	return FX_RC_OK;
}

static const struct fx_operand operands[] = {
	FX_OPERAND_GRAPH(struct config, .optional = true),
	{ }
};

static const struct fx_option options[] = {
	{ "all", 'a', FX_OPT_FLAG, .help = "every graph's policy",
	  .at = offsetof(struct config, all) },
	{ }
};

const struct fx_command fx_cmd_bypass = {
	.name = "bypass",
	.summary = "end policies at once, without their links",
	.details =
	"From here on the graph's operations go as if no policy were attached. The\n"
	"policy stays visible with the reason of its end until `fabricctl detach`.\n",
	.operands = operands,
	.options = options,
	.config_size = sizeof(struct config),
	.run = run,
	.urgent = true,
};
