// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Refuses what has priority 1. */
#include <fabric_ext/portable.bpf.h>

FX_GUARD(move)
{
	return move->priority == 1 ? fx_drop(EACCES) : fx_pass();
}

FX_PORTABLE(deny, FX_MALFORMED_DROP);

char LICENSE[] SEC("license") = "Dual BSD/GPL";
