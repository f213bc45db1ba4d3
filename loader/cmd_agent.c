// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* fabricctl agent: keep the maps of devices with memories of their own in step. */
#include "agent.h"
#include "cmd.h"

struct config {
	const char *graph;
};

static enum fx_rc run(const void *config)
{
	const struct config *c = config;

	return fx_agent_run(c->graph);
}

static const struct fx_operand operands[] = {
	FX_OPERAND_GRAPH(struct config),
	{ }
};

const struct fx_command fx_cmd_agent = {
	.name = "agent",
	.summary = "copy maps between the memories of a graph's devices",
	.details =
	"attach starts one when a device has a memory of its own, such as a DPU. It runs\n"
	"until SIGTERM or until the graph is detached; one that was killed may be started\n"
	"again and loses nothing. Meanwhile readers of class bounded get no values.\n",
	.operands = operands,
	.config_size = sizeof(struct config),
	.run = run,
};
