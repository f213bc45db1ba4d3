// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* A policy that answers what the test wants it to. */
#include <fabric_ext/policy.bpf.h>

#include "route.h"

struct route_control control;

FX_ROUTE(args)
{
	control.routed++;
	control.asked_place = args->place;
	control.asked_xforms = args->xforms;
	control.asked_bytes = args->bytes;
	control.src_place = args->src_place;
	if (control.place != KEEP)
		args->place = control.place;
	if (control.xforms != KEEP)
		args->xforms = control.xforms;
	if (control.priority != KEEP)
		args->priority = control.priority;
	if (control.chunk != KEEP)
		args->chunk = control.chunk;
	return control.verdict;
}

FX_COMPLETE(args)
{
	control.completed++;
	control.last_reason = args->reason;
	control.last_place = args->place;
	control.last_csum = args->csum;
	control.last_error = args->error;
	control.bytes_in += args->bytes_in;
	control.bytes_out += args->bytes_out;
}

FX_ADMIT(args)
{
	control.cpu_edge = args->call.edge;
	return 0;
}

FX_POLICY(engine_route, .route = (void *)fx_route, .admit = (void *)fx_admit,
	  .hooks = FX_OP_BIT(FX_OP_DMABUF_CPU),
	  .complete = (void *)fx_complete, .invalid_budget = 100,
	  .graph = ROUTE_GRAPH);

char LICENSE[] SEC("license") = "Dual BSD/GPL";
