// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Not a policy: a look-up may find nothing. */
#include <fabric_ext/policy.bpf.h>

FX_ADMIT(args)
{
	struct fx_edge *edge = fx_bpf_edge(fx_call_of(args), args->call.edge);

	return edge->desc.bytes > args->bytes ? -EACCES : 0; /* refused here */
}

FX_POLICY(no_null_check, .admit = (void *)fx_admit);

char LICENSE[] SEC("license") = "Dual BSD/GPL";
