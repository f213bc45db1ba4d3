// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* observe for every device: counts what crosses, and refuses nothing. */
#include <fabric_ext/portable.bpf.h>

FX_MAP(counter, counts, __u64, 8);

FX_GUARD(move)
{
	fx_count(&counts, move->priority, 1);
	return fx_pass();
}

FX_PORTABLE(watch, FX_MALFORMED_PASS);

char LICENSE[] SEC("license") = "Dual BSD/GPL";
