// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Asks for a kfunc whose name is nearly one of the module's. */
#include <fabric_ext/policy.bpf.h>

extern int fx_bpf_clas(struct fx_call *call) __ksym;

FX_ADMIT(args)
{
	return fx_bpf_clas(fx_call_of(args));
}

FX_POLICY(misspelt, .admit = (void *)fx_admit);

char LICENSE[] SEC("license") = "Dual BSD/GPL";
