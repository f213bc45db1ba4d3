// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * observe: counts what is asked, and refuses nothing.
 *
 * The smallest useful policy, and the one whose cost Documentation/cost.rst
 * states. `bpftool map dump pinned /sys/fs/bpf/fabric_ext/GRAPH/maps/counts`
 * shows its counters next to those that the module keeps anyway.
 */
#include <fabric_ext/policy.bpf.h>

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, FX_OPS);
	__type(key, __u32);
	__type(value, __u64);
} counts SEC(".maps");

static __always_inline void count(struct fx_call *call)
{
	__u32 op = call->op;
	__u64 *n = bpf_map_lookup_elem(&counts, &op);

	if (n)
		(*n)++;
}

FX_ADMIT(args)
{
	count(fx_call_of(args));
	return 0;
}

FX_COMPLETE(args)
{
	count(fx_call_of(args));
}

FX_POLICY(observe,
	  .admit = (void *)fx_admit,
	  .complete = (void *)fx_complete,
	  .hooks = FX_OP_BIT(FX_OP_DMABUF_ATTACH) | FX_OP_BIT(FX_OP_DMABUF_DETACH) |
		   FX_OP_BIT(FX_OP_DMABUF_EXPORT) | FX_OP_BIT(FX_OP_DMABUF_MAP) |
		   FX_OP_BIT(FX_OP_CXL_CREATE) | FX_OP_BIT(FX_OP_CXL_COMMIT) |
		   FX_OP_BIT(FX_OP_MEM_ONLINE) | FX_OP_BIT(FX_OP_P2P_MMAP));

char LICENSE[] SEC("license") = "Dual BSD/GPL";
