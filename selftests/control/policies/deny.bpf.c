// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Refuses every attachment, so that a test sees whether it was asked. */
#include <fabric_ext/policy.bpf.h>

FX_ADMIT(args)
{
	return -EACCES;
}

FX_DUMP(args)
{
	fx_bpf_dump(args, "told_at_the_end", 42);
}

FX_POLICY(deny,
	  .admit = (void *)fx_admit,
	  .dump = (void *)fx_dump,
	  .hooks = FX_OP_BIT(FX_OP_DMABUF_ATTACH));

char LICENSE[] SEC("license") = "Dual BSD/GPL";
