/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * fx_mark() on what a network device receives: XDP decides, and cannot set the
 * mark, as there is no skb yet. It lies before the packet's data until the tc hook,
 * which sets it. Only glue_nic.bpf.h includes this.
 */
#ifndef FABRIC_EXT_MARK_BPF_H
#define FABRIC_EXT_MARK_BPF_H

#include <stdbool.h>

/* verdicts of tc; pkt_cls.h would bring in the rest of it */
#define FX_TC_SHOT	2
#define FX_TC_NEXT	(-1)

struct fx_nic_meta {
	__u32 magic;		/* FX_NIC_META */
	__u32 mark;
	__u32 priority;
};

#define FX_NIC_META	0x4d58464dU

/* Hand the mark to fx_nic_set_mark(); false: there is no room before the packet. */
static __always_inline bool fx_carry_mark(struct xdp_md *ctx, __u32 mark, __u32 priority)
{
	struct fx_nic_meta *meta;

	if (bpf_xdp_adjust_meta(ctx, -(int)sizeof(*meta)))
		return false;
	meta = (void *)(long)ctx->data_meta;
	if ((void *)(meta + 1) > (void *)(long)ctx->data)
		return false;
	meta->magic = FX_NIC_META;
	meta->mark = mark;
	meta->priority = priority;
	return true;
}

/* In the tc hook: what was handed on, if this packet has it. */
static __always_inline int fx_nic_set_mark(struct __sk_buff *skb)
{
	struct fx_nic_meta *meta = (void *)(long)skb->data_meta;

	if ((void *)(meta + 1) > (void *)(long)skb->data || meta->magic != FX_NIC_META)
		return FX_TC_NEXT;
	skb->mark = meta->mark;
	skb->priority = meta->priority;
	return FX_TC_NEXT;
}

#endif
