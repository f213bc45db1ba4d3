// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * fabricctl bypass: the operator's way out. To the module it needs neither
 * bpffs nor libbpf; programs on network devices are reached by their pins.
 */
#include <stdio.h>
#include <string.h>

#include "cmd.h"
#include "diag.h"
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

/* The programs on network devices, which the module does not know; first. */
static enum fx_rc bypass_nics(const struct config *c, bool *some)
{
	struct fx_words graphs = { 0 };
	enum fx_rc rc = FX_RC_OK;

	fx_pins_list_graphs(&graphs);
	for (u32 i = 0; i < graphs.n; i++) {
		int err;

		if (c->graph && strcmp(c->graph, graphs.word[i]))
			continue;
		*some = true;
		err = fx_nics_bypass(graphs.word[i]);
		if (!err)
			continue;
		fx_err("the programs of graph '%s' on network devices cannot be by-passed: %s",
		       graphs.word[i], strerror(-err));
		rc = FX_RC_SYSTEM;
	}
	fx_words_free(&graphs);
	return rc;
}

/* Is there nothing that the module would have to by-pass? */
static bool alone(const struct config *c)
{
	struct fx_nic_views v;
	bool alone;

	if (!fx_sys_module())
		return true;
	if (c->all || fx_nic_views_read(c->graph, &v))
		return false;
	alone = fx_nic_views_alone(&v);
	fx_nic_views_free(&v);
	return alone;
}

static enum fx_rc run(const void *config)
{
	const struct config *c = config;
	bool nics = false;
	struct json_object *o;
	struct fx_nl *nl;
	enum fx_rc rc;
	int err;

	if (c->all == !!c->graph) {
		fx_err("bypass takes the name of a graph, or --all");
		return FX_RC_INPUT;
	}
	rc = bypass_nics(c, &nics);
	if (rc != FX_RC_OK || (nics && alone(c)))
		goto out;
	nl = fx_nl_open();
	if (!nl)
		return FX_RC_SYSTEM;
	err = fx_nl_bypass(nl, c->graph);
	if (err && c->graph) {
		fx_session_no_graph(nl, c->graph, err);
		rc = fx_session_rc(err);
	} else if (err) {
		fx_err("policies cannot be by-passed: %s", fx_nl_why(nl));
		rc = FX_RC_SYSTEM;
	}
	fx_nl_close(nl);
out:
	if (rc != FX_RC_OK)
		return rc;

	if (c->all)
		fx_info("every policy is by-passed");
	else
		fx_info("graph '%s' is by-passed", c->graph);
	if (fx_json_mode) {
		o = fx_json_object();
		fx_json_bool(o, "all", c->all);
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
