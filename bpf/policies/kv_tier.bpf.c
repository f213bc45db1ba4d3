// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * kv_tier: the KV cache of a prefill in two tiers.
 *
 * What is touched again soon stays in DRAM as it is; the rest goes to CXL,
 * quantized and checksummed. "Soon" is the stack distance of an LRU cache
 * (Mattson et al., 1970): a cache of B bytes holds what is touched again
 * within B bytes, so B is the DRAM budget and the edge's `reuse` the distance.
 * Data that is written as often as read costs a write to the slow tier for
 * each read that it saves, so the distance counts by the share of reads
 * (`rw`).
 *
 * KV buffers are attached only by devices that are places of the graph, P2P
 * only between such devices, and CXL regions are made only for its places.
 */
#include <fabric_ext/policy.bpf.h>

/* DRAM for KV in bytes */
#ifndef KV_DRAM_BUDGET
#define KV_DRAM_BUDGET	(64ULL << 20)
#endif
const volatile __u64 dram_budget = KV_DRAM_BUDGET;

/* tier of the CXL place; CXL's default is 2880, DRAM is FX_ADISTANCE_DRAM */
const volatile __u32 cxl_adistance = 1500;

/* bytes routed to each tier, and attachments refused */
__u64 to_dram, to_cxl, refused;

FX_ADMIT(args)
{
	switch (args->call.op) {
	case FX_OP_DMABUF_ATTACH:
		/* untagged buffers are not KV of this graph */
		if (args->call.edge == FX_EDGE_NONE)
			return 0;
		if (fx_bpf_dev_place(args) != FX_PLACE_NONE)
			return 0;
		__sync_fetch_and_add(&refused, 1);
		return -EACCES;
	case FX_OP_CXL_CREATE:
	case FX_OP_CXL_COMMIT:
	case FX_OP_MEM_ONLINE:
	case FX_OP_P2P_MMAP:
		return args->place == FX_PLACE_NONE ? -EPERM : 0;
	}
	return 0;
}

FX_P2P_MAP(args)
{
	return args->provider_place == FX_PLACE_NONE ||
	       args->client_place == FX_PLACE_NONE ? -EPERM : FX_P2P_ALLOW;
}

FX_TIER(args)
{
	return args->place == FX_PLACE_NONE ? 0 : (int)cxl_adistance;
}

/* Bytes until the next touch, by the share of reads; UNKNOWN and NEVER stay. */
static __always_inline __u64 distance(struct fx_edge *e, struct fx_class *c)
{
	__u64 reuse = e->desc.reuse;
	__u64 r = c->desc.rw_read, w = c->desc.rw_write;

	if (reuse >= FX_REUSE_UNKNOWN || !(r + w))
		return reuse;
	/* divide first: reuse may be near 2^64, the ratio is below 2^17 */
	return reuse / (r + w) * r;
}

FX_ROUTE(args)
{
	struct fx_call *call = fx_call_of(args);
	struct fx_class *c = fx_bpf_class(call, args->call.edge);
	struct fx_edge *e = fx_bpf_edge(call, args->call.edge);
	__u32 dram, cxl;
	__s64 used;

	if (!c || !e)
		return 0;
	dram = fx_to_of_kind(call, c, FX_PLACE_DRAM);
	cxl = fx_to_of_kind(call, c, FX_PLACE_CXL);
	if (dram == FX_PLACE_NONE || cxl == FX_PLACE_NONE)
		return 0;	/* one tier only: nothing to decide */

	used = fx_bpf_place_used(call, dram);
	if (used >= 0 && args->bytes <= dram_budget &&
	    (__u64)used <= dram_budget - args->bytes && distance(e, c) <= dram_budget) {
		args->place = dram;
		args->xforms = args->xforms_asked &
			       ~fx_xforms_of_kind(c, FX_XFORM_QUANTIZE);
		__sync_fetch_and_add(&to_dram, args->bytes);
	} else {
		args->place = cxl;
		__sync_fetch_and_add(&to_cxl, args->bytes);
	}
	return 0;
}

FX_DUMP(args)
{
	fx_bpf_dump(args, "to_dram", to_dram);
	fx_bpf_dump(args, "to_cxl", to_cxl);
	fx_bpf_dump(args, "refused", refused);
}

FX_POLICY(kv_tier,
	  .admit = (void *)fx_admit,
	  .p2p_map = (void *)fx_p2p_map,
	  .tier = (void *)fx_tier,
	  .route = (void *)fx_route,
	  .dump = (void *)fx_dump,
	  .hooks = FX_OP_BIT(FX_OP_DMABUF_ATTACH) | FX_OP_BIT(FX_OP_CXL_CREATE) |
		   FX_OP_BIT(FX_OP_CXL_COMMIT) | FX_OP_BIT(FX_OP_MEM_ONLINE) |
		   FX_OP_BIT(FX_OP_P2P_MMAP));

char LICENSE[] SEC("license") = "Dual BSD/GPL";
