// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* fabricctl tag: say by what an edge is found that nobody knew before it ran. */
#include <stdio.h>

#include <linux/fabric_ext_nic.h>

#include "cmd.h"
#include "diag.h"
#include "json.h"
#include "tag.h"

struct config {
	const char *graph, *edge, *dev;
	u64 qp;
	bool none;
};

static enum fx_rc run(const void *config)
{
	const struct config *c = config;
	struct fx_tag tag = { c->graph, c->edge, c->dev, c->qp };
	struct json_object *o;
	enum fx_rc rc;
	u32 devices;

	if (!c->qp == !c->none) {
		fx_err("tag takes --qp and the number of a queue pair, or --none");
		return FX_RC_INPUT;
	}
	rc = fx_tag(&tag, &devices);
	if (rc != FX_RC_OK)
		return rc;
	if (c->qp)
		fx_info("queue pair %llu is %s of graph '%s'", c->qp, c->edge, c->graph);
	else
		fx_info("no queue pair is %s of graph '%s'", c->edge, c->graph);
	if (fx_json_mode) {
		o = fx_json_object();
		fx_json_str(o, "graph", c->graph);
		fx_json_str(o, "edge", c->edge);
		if (c->qp)
			fx_json_u64(o, "qp", c->qp);
		fx_json_u64(o, "devices", devices);
		fx_json_print(o);
	}
	return FX_RC_OK;
}

static const struct fx_operand operands[] = {
	FX_OPERAND_GRAPH(struct config),
	{ "EDGE", "its name, or name[i] for an instance", offsetof(struct config, edge) },
	{ }
};

static const struct fx_option options[] = {
	{ "qp", 'q', FX_OPT_NUMBER, .value = "N", .help = "destination queue pair",
	  .at = offsetof(struct config, qp), .min = FX_QP_MIN, .max = FX_QP_MAX },
	{ "none", 'n', FX_OPT_FLAG, .help = "the edge has no queue pair any more",
	  .at = offsetof(struct config, none) },
	{ "dev", 'd', FX_OPT_STRING, .value = "NAME",
	  .help = "a netdev or DPU: only there, not at each that the edge crosses",
	  .at = offsetof(struct config, dev) },
	{ }
};

const struct fx_command fx_cmd_tag = {
	.name = "tag",
	.summary = "bind a queue pair to an edge while it runs",
	.details =
	"The flow of the edge is { rocev2: tag } in the graph, which is attached with\n"
	"--pin. Until it is bound, and from --none on, the edge's packets are of no edge\n"
	"and pass. Binding another queue pair lets go of the one before; the edge's\n"
	"counters go on. An edge with several loops has its instances numbered through,\n"
	"the last loop running fastest.\n",
	.operands = operands,
	.options = options,
	.config_size = sizeof(struct config),
	.run = run,
};
