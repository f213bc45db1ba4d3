// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* answer: says what its test tells it to say, and counts. */
#include "life.bpf.h"

FX_ADMIT(args)
{
	__u32 op = args->call.op;

	if (op >= FX_OPS)
		return 0;
	__sync_fetch_and_add(&state.asked[op], 1);
	state.edge = args->call.edge;
	state.bytes = args->bytes;
	return state.answer[op];
}

FX_POLICY(answer, FXT_LIFE_OPS,
	  .admit = (void *)fx_admit,
	  .hooks = FXT_OPS_DMABUF | FXT_OPS_TOLD,
	  .timeout_ms = 10000);
