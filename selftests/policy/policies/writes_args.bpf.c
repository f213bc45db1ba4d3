// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Not a policy: admit's arguments are read-only. */
#include <fabric_ext/policy.bpf.h>

FX_ADMIT(args)
{
	args->bytes = 0; /* refused here */
	return 0;
}

FX_POLICY(writes_args, .admit = (void *)fx_admit);

char LICENSE[] SEC("license") = "Dual BSD/GPL";
