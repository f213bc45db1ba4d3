// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* host_bridge: peers reach each other through the host bridge or not at all. */
#include <fabric_ext/policy.bpf.h>

FX_P2P_MAP(args)
{
	return args->provider ? FX_P2P_HOST_BRIDGE : 0;
}

FX_POLICY(host_bridge, .p2p_map = (void *)fx_p2p_map, .timeout_ms = 10000);

char LICENSE[] SEC("license") = "Dual BSD/GPL";
