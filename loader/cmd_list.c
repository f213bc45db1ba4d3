// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* fabricctl list: the loaded graphs. */
#include <stdio.h>
#include <stdlib.h>

#include "cmd.h"
#include "diag.h"
#include "json.h"
#include "netlink.h"
#include "rows.h"
#include "util.h"

struct config {
	char unused;	/* a structure has a member */
};

struct listing {
	struct json_object *json;
	u32 n;
};

static void add(const void *row, void *arg)
{
	const struct fx_nl_graph *g = row;
	struct listing *l = arg;
	char *state;

	if (l->json) {
		fx_json_add(l->json, fx_graph_json(g));
		return;
	}
	if (!l->n++)
		printf("%-28s %-16s %7s %8s %10s %12s  %s\n", "GRAPH", "POLICY",
		       "PLACES", "CLASSES", "EDGES", "EVENTS", "STATE");
	state = fx_graph_state(g);
	printf("%-28s %-16s %7u %8u %10u %12llu  %s\n", g->name,
	       g->policy[0] ? g->policy : "-", g->count[FX_SECT_PLACE],
	       g->count[FX_SECT_CLASS], g->count[FX_SECT_EDGE], g->emitted,
	       state);
	free(state);
}

static enum fx_rc run(const void *config)
{
	struct listing l = { .json = fx_json_mode ? fx_json_array() : NULL };
	enum fx_rc rc = FX_RC_SYSTEM;
	struct fx_nl *nl = fx_nl_open();

	(void)config;
	if (!nl)
		goto out;
	if (fx_nl_dump(nl, FX_CMD_GRAPH_GET, NULL, add, &l)) {
		fx_err("the loaded graphs cannot be read: %s", fx_nl_why(nl));
		goto out;
	}
	if (fx_json_mode)
		fx_json_print(l.json);
	else if (!l.n)
		fx_info("no graph is loaded");
	l.json = NULL;
	rc = FX_RC_OK;
out:
	json_object_put(l.json);
	fx_nl_close(nl);
	return rc;
}

const struct fx_command fx_cmd_list = {
	.name = "list",
	.summary = "list the loaded graphs and their policies",
	.config_size = sizeof(struct config),
	.run = run,
};
