/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The guard of a portable policy on a DPU: one program that is handed the move
 * and writes the verdict. fabric-dpu, which finds the edge of a packet, runs it
 * with librte_bpf; the kernel verifies, and can run, the same object as a
 * syscall program. Only portable.bpf.h includes this.
 *
 * What librte_bpf takes is checked by fabricctl: no loops, calls, fetching
 * atomics or constants in memory (Documentation/dpu.rst).
 */
#ifndef FABRIC_EXT_GLUE_DPU_BPF_H
#define FABRIC_EXT_GLUE_DPU_BPF_H

#include <linux/fabric_ext_dpu.h>
#include <fabric_ext/context.bpf.h>

/*
 * FX_PORTABLE(name, malformed, ...): the program. Further arguments are for
 * the kernel.
 */
#define FX_PORTABLE(policy, drops, ...)					\
const struct fx_nic_policy fx_dpu_about SEC(FX_DPU_ABOUT) = {		\
	.name = #policy,						\
	.version = FX_NIC_VERSION,					\
	.malformed = drops,						\
};									\
									\
SEC(FX_DPU_SECTION) int fx_dpu_move(struct fx_dpu_context *ctx)	\
{									\
	ctx->verdict = fx_guard(&ctx->move);				\
	return 0;							\
}

#endif
