/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Ops that every policy of these tests has: they count and tell. */
#ifndef LIFE_BPF_H
#define LIFE_BPF_H

#include <fabric_ext/policy.bpf.h>
#include "life.h"

struct fxt_state state;

FX_INIT(args)
{
	__sync_fetch_and_add(&state.inits, 1);
	if (state.init_gives_up)
		fx_bpf_error(fx_call_of(args), "init gives up");
	return state.init_answer;
}

FX_DUMP(args)
{
	__sync_fetch_and_add(&state.dumps, 1);
	fx_bpf_dump(args, "attaches", state.asked[FX_OP_DMABUF_ATTACH]);
	fx_bpf_dump(args, "exits_before", state.exits);
}

FX_EXIT(args)
{
	state.exit_kind = args->kind;
	__sync_fetch_and_add(&state.exits, 1);
}

#define FXT_LIFE_OPS								\
	.init = (void *)fx_init, .dump = (void *)fx_dump, .exit = (void *)fx_exit

#define FXT_OPS_DMABUF								\
	(FX_OP_BIT(FX_OP_DMABUF_EXPORT) | FX_OP_BIT(FX_OP_DMABUF_ATTACH) |	\
	 FX_OP_BIT(FX_OP_DMABUF_MAP) | FX_OP_BIT(FX_OP_DMABUF_CPU))
#define FXT_OPS_TOLD								\
	(FX_OP_BIT(FX_OP_DMABUF_UNMAP) | FX_OP_BIT(FX_OP_DMABUF_DETACH) |	\
	 FX_OP_BIT(FX_OP_DMABUF_RELEASE))

char LICENSE[] SEC("license") = "Dual BSD/GPL";

#endif
