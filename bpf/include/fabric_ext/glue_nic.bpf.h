/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The guard of a portable policy on a network device: XDP for what it
 * receives, tc for what it sends. Only portable.bpf.h includes this.
 *
 * A packet is parsed, its edge looked up, and only for a packet of an edge is
 * the guard asked. The flow table is a hash over keys with a mask each, of
 * which there are few: the cost does not grow with the number of edges. Where
 * several flows match, the one that stands first in the graph counts.
 */
#ifndef FABRIC_EXT_GLUE_NIC_BPF_H
#define FABRIC_EXT_GLUE_NIC_BPF_H

#include <fabric_ext/packet.bpf.h>

/* verdicts of tc; pkt_cls.h would bring in the rest of it */
#define FX_TC_SHOT	2
#define FX_TC_NEXT	(-1)

/* sizes are set before loading, by what the bundle holds */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct fx_nic_conf);
} fx_conf SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, FX_DIRS * FX_NIC_MAX_MASKS);
	__type(key, __u32);
	__type(value, struct fx_flow_key);
} fx_masks SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, struct fx_flow_key);
	__type(value, __u32);
} fx_flows SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct fx_nic_row);
} fx_rows SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct fx_nic_count);
} fx_counts SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, FX_DIRS);
	__type(key, __u32);
	__type(value, struct fx_nic_total);
} fx_totals SEC(".maps");

/* Before the packet's data, from XDP to tc: the mark, which XDP cannot set. */
struct fx_nic_meta {
	__u32 magic;		/* FX_NIC_META */
	__u32 mark;
	__u32 priority;
};

#define FX_NIC_META	0x4d58464dU

union fx_flow_words {
	struct fx_flow_key key;
	__u32 word[FX_FLOW_WORDS];
};

/* What is known of a packet while it is judged. */
struct fx_crossing {
	struct fx_nic_conf *conf;
	struct fx_nic_total *total;
	struct fx_nic_count *count;	/* of the edge's row, or NULL */
	__u64 bytes;
	__u32 packets;
};

/* The row of the first flow that matches, or -1. */
static __always_inline __u32 fx_find_row(struct fx_nic_conf *conf, __u32 dir,
					 const union fx_flow_words *k)
{
	__u32 best = ~0U;

	for (__u32 i = 0; i < FX_NIC_MAX_MASKS; i++) {
		__u32 number = dir * FX_NIC_MAX_MASKS + i, *row;
		union fx_flow_words masked, *mask;

		if (i >= conf->masks[dir])
			break;
		mask = bpf_map_lookup_elem(&fx_masks, &number);
		if (!mask)
			break;
		for (__u32 j = 0; j < FX_FLOW_WORDS; j++)
			masked.word[j] = k->word[j] & mask->word[j];
		masked.key.mask = number;
		row = bpf_map_lookup_elem(&fx_flows, &masked);
		if (row && *row < best)
			best = *row;
	}
	return best;
}

static __always_inline bool fx_begin(struct fx_crossing *c, __u32 dir)
{
	__u32 zero = 0;

	c->conf = bpf_map_lookup_elem(&fx_conf, &zero);
	c->total = bpf_map_lookup_elem(&fx_totals, &dir);
	c->count = 0;
	if (!c->conf || !c->total || c->conf->flags & FX_NIC_F_BYPASS)
		return false;
	c->total->packets += c->packets;
	return true;
}

/* Count a refusal; is it carried out? */
static __always_inline bool fx_enforced(const struct fx_crossing *c)
{
	return !(c->conf->flags & FX_NIC_F_AUDIT);
}

/* Ask @guard about a parsed packet, and count what comes of it. */
static __always_inline struct fx_verdict
fx_judge(struct fx_crossing *c, __u32 dir, int parsed, const union fx_flow_words *k,
	 bool drop_malformed, struct fx_verdict (*guard)(const struct fx_move *))
{
	struct fx_verdict v = fx_pass();
	struct fx_nic_row *row;
	struct fx_move m = { };
	__u32 i = ~0U;

	if (parsed == FX_PKT_MALFORMED || parsed == FX_PKT_SHORT) {
		c->total->malformed += c->packets;
		if (!drop_malformed)
			return v;
		c->total->malformed_refused += c->packets;
		return fx_enforced(c) ? fx_drop(EPERM) : v;
	}
	if (parsed == FX_PKT_FLOW)
		i = fx_find_row(c->conf, dir, k);
	row = bpf_map_lookup_elem(&fx_rows, &i);
	c->count = bpf_map_lookup_elem(&fx_counts, &i);
	if (!row || !c->count) {
		c->count = 0;
		c->total->no_edge += c->packets;
		return v;
	}
	m.edge = row->edge;
	m.cls = row->cls;
	m.place = c->conf->place;
	m.device = FX_DEVICE_NIC;
	m.op = FX_OP_MOVE;
	m.bytes = c->bytes;
	m.stated = row->bytes;
	m.priority = row->priority;
	m.dir = dir;
	m.flow = k->key;
	v = guard(&m);
	if (v.action == FX_DROP) {
		c->count->refused += c->packets;
		c->count->refused_bytes += c->bytes;
		if (fx_enforced(c))
			return v;
		v.action = FX_PASS;
	}
	/* an audit changes nothing */
	if (v.action == FX_MARK && !fx_enforced(c))
		v.action = FX_PASS;
	c->count->packets += c->packets;
	c->count->bytes += c->bytes;
	return v;
}

/* Hand the mark to fx_nic_mark(), which runs when the packet has an skb. */
static __always_inline void fx_carry_mark(struct xdp_md *ctx, struct fx_crossing *c,
					  const struct fx_verdict *v)
{
	struct fx_nic_meta *meta;

	if (bpf_xdp_adjust_meta(ctx, -(int)sizeof(*meta)))
		goto fail;
	meta = (void *)(long)ctx->data_meta;
	if ((void *)(meta + 1) > (void *)(long)ctx->data)
		goto fail;
	meta->magic = FX_NIC_META;
	meta->mark = v->mark;
	meta->priority = v->priority;
	c->count->marked += c->packets;
	return;
fail:
	c->count->failed += c->packets;
}

static __always_inline int fx_nic_receive(struct xdp_md *ctx, bool drop_malformed,
					  struct fx_verdict (*guard)(const struct fx_move *))
{
	struct fx_crossing c = { .packets = 1 };
	union fx_flow_words k = { .key.vlan = FX_VLAN_NONE };
	struct fx_packet p = { };
	struct fx_verdict v;
	int parsed;

	if (!fx_begin(&c, FX_DIR_IN))
		return XDP_PASS;
	p.data = (void *)(long)ctx->data;
	p.end = (void *)(long)ctx->data_end;
	p.len = bpf_xdp_get_buff_len(ctx);
	parsed = fx_parse(&p, &k.key);
	c.bytes = p.bytes;
	v = fx_judge(&c, FX_DIR_IN, parsed, &k, drop_malformed, guard);
	if (v.action == FX_DROP)
		return XDP_DROP;
	if (v.action == FX_MARK && c.count)
		fx_carry_mark(ctx, &c, &v);
	return XDP_PASS;
}

static __always_inline int fx_nic_send(struct __sk_buff *skb, bool drop_malformed,
				       struct fx_verdict (*guard)(const struct fx_move *))
{
	struct fx_crossing c = { .packets = skb->gso_segs ? skb->gso_segs : 1 };
	union fx_flow_words k = { };
	struct fx_packet p = { };
	struct fx_verdict v;
	int parsed = FX_PKT_SHORT;

	if (!fx_begin(&c, FX_DIR_OUT))
		return FX_TC_NEXT;
	/* headers usually lie together; once more when they do not */
	for (int i = 0; i < 2 && parsed == FX_PKT_SHORT; i++) {
		__u32 want = skb->len < FX_MAX_HEAD ? skb->len : FX_MAX_HEAD;

		if (i && bpf_skb_pull_data(skb, want))
			break;
		__builtin_memset(&k, 0, sizeof(k));
		/* the device adds a tag that is kept beside the packet */
		k.key.vlan = skb->vlan_present ? skb->vlan_tci & 0xfff : FX_VLAN_NONE;
		p.data = (void *)(long)skb->data;
		p.end = (void *)(long)skb->data_end;
		p.len = skb->len;
		p.merged = skb->gso_segs > 1;
		parsed = fx_parse(&p, &k.key);
	}
	c.bytes = p.bytes;
	v = fx_judge(&c, FX_DIR_OUT, parsed, &k, drop_malformed, guard);
	if (v.action == FX_DROP)
		return FX_TC_SHOT;
	if (v.action == FX_MARK && c.count) {
		skb->mark = v.mark;
		skb->priority = v.priority;
		c.count->marked += c.packets;
	}
	return FX_TC_NEXT;
}

static __always_inline int fx_nic_set_mark(struct __sk_buff *skb)
{
	struct fx_nic_meta *meta = (void *)(long)skb->data_meta;

	if ((void *)(meta + 1) > (void *)(long)skb->data || meta->magic != FX_NIC_META)
		return FX_TC_NEXT;
	skb->mark = meta->mark;
	skb->priority = meta->priority;
	return FX_TC_NEXT;
}

/*
 * FX_PORTABLE(name, malformed, ...): the programs. Further arguments are for
 * the kernel.
 */
#define FX_PORTABLE(policy, drops, ...)					\
const volatile struct fx_nic_policy fx_nic_policy			\
	SEC(".rodata.fx_policy") = {					\
	.name = #policy,						\
	.version = FX_NIC_VERSION,					\
	.malformed = drops,						\
};									\
									\
SEC("xdp.frags") int fx_nic_in(struct xdp_md *ctx)			\
{									\
	return fx_nic_receive(ctx, drops, fx_guard);			\
}									\
									\
SEC("tcx/ingress") int fx_nic_mark(struct __sk_buff *skb)		\
{									\
	return fx_nic_set_mark(skb);					\
}									\
									\
SEC("tcx/egress") int fx_nic_out(struct __sk_buff *skb)			\
{									\
	return fx_nic_send(skb, drops, fx_guard);			\
}

#endif
