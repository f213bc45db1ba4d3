// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* everywhere: hears of every operation that can be hooked, and lets it be. */
#include <fabric_ext/policy.bpf.h>

FX_ADMIT(args)
{
	return 0;
}

FX_P2P_MAP(args)
{
	return FX_P2P_ALLOW;
}

FX_POLICY(everywhere, .admit = (void *)fx_admit, .p2p_map = (void *)fx_p2p_map,
	  .hooks = (FX_OP_BIT(FX_OPS) - 1) &
		   ~(FX_OP_BIT(FX_OP_P2P_MAP) | FX_OP_BIT(FX_OP_TIER) |
		     FX_OP_BIT(FX_OP_MOVE)));

char LICENSE[] SEC("license") = "Dual BSD/GPL";
