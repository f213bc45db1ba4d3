// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* deny: no dma-buf is attached. */
#include <fabric_ext/policy.bpf.h>

FX_ADMIT(args)
{
	return args->call.op == FX_OP_DMABUF_ATTACH ? -EACCES : 0;
}

FX_POLICY(deny,
	  .admit = (void *)fx_admit,
	  .hooks = FX_OP_BIT(FX_OP_DMABUF_ATTACH),
	  .timeout_ms = 10000);

char LICENSE[] SEC("license") = "Dual BSD/GPL";
