// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Not a policy: a decision runs under locks and must not sleep. */
#include <fabric_ext/policy.bpf.h>

FX_DEFINE_OP(int, "struct_ops.s/admit", fx_sleeps, struct fabric_ext_admit_args, args)
{
	return args->bytes ? 0 : -EACCES;
}

FX_POLICY(sleeps, .admit = (void *)fx_sleeps);

char LICENSE[] SEC("license") = "Dual BSD/GPL";
