// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Not a policy: it calls what the module does not have. */
#include <fabric_ext/policy.bpf.h>

extern int fx_bpf_teleport(struct fx_call *call) __ksym;

FX_ADMIT(args)
{
	return fx_bpf_teleport(fx_call_of(args)); /* refused here */
}

FX_POLICY(unknown_kfunc, .admit = (void *)fx_admit);

char LICENSE[] SEC("license") = "Dual BSD/GPL";
