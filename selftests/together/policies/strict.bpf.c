// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* strict: no dma-buf is attached, and nothing that can wait is received. */
#include <fabric_ext/portable.bpf.h>

FX_GUARD(move)
{
	if (move->op == FX_OP_DMABUF_ATTACH)
		return fx_drop(EACCES);
	if (move->op == FX_OP_MOVE && move->priority < 4)
		return fx_drop(EPERM);
	return fx_pass();
}

FX_PORTABLE(strict, FX_MALFORMED_PASS, .hooks = FX_OP_BIT(FX_OP_DMABUF_ATTACH),
	    .timeout_ms = 10000);

char LICENSE[] SEC("license") = "Dual BSD/GPL";
