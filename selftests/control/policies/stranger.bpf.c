// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Asks for a kfunc that no kernel has. */
#include <fabric_ext/policy.bpf.h>

extern int fx_bpf_no_such_thing(struct fx_call *call) __ksym;

FX_ADMIT(args)
{
	return fx_bpf_no_such_thing(fx_call_of(args));
}

FX_POLICY(stranger, .admit = (void *)fx_admit);

char LICENSE[] SEC("license") = "Dual BSD/GPL";
