// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* online: regions may be made and committed, their memory stays offline. */
#include <fabric_ext/policy.bpf.h>

FX_ADMIT(args)
{
	/* not EPERM, which a notifier's plain "bad" means, nor what the kernel says */
	return args->call.op == FX_OP_MEM_ONLINE ? -ENOSPC : 0;
}

FX_POLICY(online,
	  .admit = (void *)fx_admit,
	  .hooks = FX_OP_BIT(FX_OP_CXL_CREATE) | FX_OP_BIT(FX_OP_CXL_COMMIT) |
		   FX_OP_BIT(FX_OP_MEM_ONLINE),
	  .timeout_ms = 10000);

char LICENSE[] SEC("license") = "Dual BSD/GPL";
