// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* fabricctl detach: end a pinned policy and forget its graph. */
#include <stdio.h>

#include "cmd.h"
#include "diag.h"
#include "json.h"
#include "session.h"

struct config {
	const char *graph;
};

static enum fx_rc run(const void *config)
{
	const struct config *c = config;
	enum fx_rc rc = fx_session_detach(c->graph);
	struct json_object *o;

	if (rc != FX_RC_OK)
		return rc;
	fx_info("graph '%s' is detached", c->graph);
	if (fx_json_mode) {
		o = fx_json_object();
		fx_json_str(o, "graph", c->graph);
		fx_json_print(o);
	}
	return FX_RC_OK;
}

static const struct fx_operand operands[] = {
	FX_OPERAND_GRAPH(struct config),
	{ }
};

const struct fx_command fx_cmd_detach = {
	.name = "detach",
	.summary = "end a graph's pinned policy and remove the graph",
	.operands = operands,
	.config_size = sizeof(struct config),
	.run = run,
};
