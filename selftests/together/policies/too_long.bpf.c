// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* too_long: devices take it, and the module refuses a timeout of a day. */
#include <fabric_ext/portable.bpf.h>

FX_GUARD(move)
{
	(void)move;
	return fx_pass();
}

FX_PORTABLE(too_long, FX_MALFORMED_PASS, .hooks = FX_OP_BIT(FX_OP_DMABUF_ATTACH),
	    .timeout_ms = 86400000);

char LICENSE[] SEC("license") = "Dual BSD/GPL";
