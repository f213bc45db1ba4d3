// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* commit: regions may be made and are not committed, places or not. */
#include <fabric_ext/policy.bpf.h>

FX_ADMIT(args)
{
	/* sysfs says EACCES to root for no reason of its own */
	return args->call.op == FX_OP_CXL_COMMIT ? -EACCES : 0;
}

FX_POLICY(commit,
	  .admit = (void *)fx_admit,
	  .hooks = FX_OP_BIT(FX_OP_CXL_CREATE) | FX_OP_BIT(FX_OP_CXL_COMMIT),
	  .timeout_ms = 10000);

char LICENSE[] SEC("license") = "Dual BSD/GPL";
