// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* fabricctl bypass: the operator's way out; needs neither bpffs nor libbpf. */
#include <stdio.h>

#include "cmd.h"
#include "diag.h"
#include "json.h"
#include "session.h"

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

static enum fx_rc run(const void *config)
{
	const struct config *c = config;
	enum fx_rc rc = FX_RC_OK;
	struct json_object *o;
	struct fx_nl *nl;
	u32 n = 0;
	int err;

	if (c->all == !!c->graph) {
		fx_err("bypass takes the name of a graph, or --all");
		return FX_RC_INPUT;
	}
	nl = fx_nl_open();
	if (!nl)
		return FX_RC_SYSTEM;
	/* for the report alone: whatever it says, the policies end */
	if (c->all && fx_nl_dump(nl, FX_CMD_GRAPH_GET, NULL, count_in_force, &n))
		n = 0;
	err = fx_nl_bypass(nl, c->graph);
	if (err && c->graph) {
		fx_session_no_graph(nl, c->graph, err);
		rc = fx_session_rc(err);
	} else if (err) {
		fx_err("policies cannot be by-passed: %s", fx_nl_why(nl));
		rc = FX_RC_SYSTEM;
	}
	fx_nl_close(nl);
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
};
