// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* open: everything passes. */
#include <fabric_ext/portable.bpf.h>

FX_GUARD(move)
{
	(void)move;
	return fx_pass();
}

FX_PORTABLE(open, FX_MALFORMED_PASS, .hooks = FX_OP_BIT(FX_OP_DMABUF_ATTACH),
	    .timeout_ms = 10000);

char LICENSE[] SEC("license") = "Dual BSD/GPL";
