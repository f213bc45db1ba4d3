// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Reads what may be NULL: the verifier must refuse it. */
#include <fabric_ext/policy.bpf.h>

FX_ADMIT(args)
{
	struct fx_edge *e = fx_bpf_edge(fx_call_of(args), 0);

	return e->desc.bytes > 1 ? -EACCES : 0; /* the line that is reported */
}

FX_POLICY(unsafe, .admit = (void *)fx_admit);

char LICENSE[] SEC("license") = "Dual BSD/GPL";
