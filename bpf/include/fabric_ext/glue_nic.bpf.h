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

#include <fabric_ext/mark.bpf.h>
#include <fabric_ext/packet.bpf.h>
#include <fabric_ext/queue.bpf.h>
#include <fabric_ext/roce_nic.bpf.h>

/* the policy's body, below FX_GUARD() */
static __always_inline struct fx_verdict fx_guard(const struct fx_move *move);

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

/*
 * The headers of a packet that lies in pieces. Nothing is read past FX_MAX_HEAD;
 * to the verifier a header may begin there.
 */
struct fx_head {
	__u8 b[FX_MAX_HEAD + FX_ONE_HEAD];
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct fx_head);
} fx_heads SEC(".maps");

union fx_flow_words {
	struct fx_flow_key key;
	__u32 word[FX_FLOW_WORDS];
};

/* A packet that was read, and what the policy says of it. */
struct fx_crossing {
	union fx_flow_words k;
	struct fx_roce roce;	/* of one that a queue pair may find */
	__u64 bytes;
	__u32 packets;
	__u32 dir;
	__u32 row;		/* ~0: of no edge */
	__u32 redirect;		/* enum fx_queue_kind */
	__u32 cell;		/* for fx_forget() */
	struct fx_verdict verdict;
};

/* What of it is looked up while it is judged. */
struct fx_ledger {
	struct fx_nic_conf *conf;
	struct fx_nic_total *total;
	struct fx_nic_count *count;
	struct fx_qp_state *qp;	/* of RoCEv2 with a connection, or NULL */
};

static __always_inline struct fx_nic_conf *fx_conf_of(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&fx_conf, &zero);
}

/* Is a refusal carried out? */
static __always_inline bool fx_enforced(const struct fx_nic_conf *conf)
{
	return !(conf->flags & FX_NIC_F_AUDIT);
}

/* The row of the first flow that matches, or -1. */
static __always_inline __u32 fx_find_row(const struct fx_nic_conf *conf,
					 const struct fx_crossing *c)
{
	__u32 best = ~0U, dir = c->dir;

	if (dir >= FX_DIRS)
		return best;
	for (__u32 i = 0; i < FX_NIC_MAX_MASKS; i++) {
		__u32 number = dir * FX_NIC_MAX_MASKS + i, *row;
		union fx_flow_words masked, *mask;

		if (i >= conf->masks[dir])
			break;
		mask = bpf_map_lookup_elem(&fx_masks, &number);
		if (!mask)
			break;
		for (__u32 j = 0; j < FX_FLOW_WORDS; j++)
			masked.word[j] = c->k.word[j] & mask->word[j];
		masked.key.mask = number;
		row = bpf_map_lookup_elem(&fx_flows, &masked);
		if (row && *row < best)
			best = *row;
	}
	return best;
}

/* What a queue pair's packet is more than any other. */
static __always_inline void fx_read_message(struct fx_crossing *c, struct fx_ledger *l,
					    struct fx_move *m)
{
	c->bytes = c->roce.bytes;
	m->bytes = c->bytes;
	m->rdma = c->roce.rdma;
	/* a datagram is sent once, and alone */
	if (c->roce.datagram)
		return;
	l->qp = fx_qp_find(&c->k.key, &c->roce, c->dir);
	if (!l->qp)
		l->total->untracked += c->packets;
	else if (fx_qp_begin_locked(l->qp, &c->roce, &m->rdma))
		m->bytes = 0;
}

/* Did the same become of this packet before? */
static __always_inline bool fx_again(const struct fx_crossing *c,
				     const struct fx_ledger *l, bool refused)
{
	return l->qp && fx_qp_note_locked(l->qp, c->roce.rdma.psn, refused);
}

/* Count a verdict; what is carried out of it. */
static __always_inline struct fx_verdict
fx_account(const struct fx_crossing *c, const struct fx_ledger *l, struct fx_verdict v)
{
	bool again = false;

	if (v.action == FX_DROP) {
		again = fx_again(c, l, true);
		if (!again) {
			l->count->refused += c->packets;
			l->count->refused_bytes += c->bytes;
		}
		if (fx_enforced(l->conf)) {
			l->count->repeated += again;
			return v;
		}
	}
	/* an audit changes nothing */
	if (!fx_enforced(l->conf))
		v.action = FX_PASS;
	if (fx_again(c, l, false)) {
		again = true;
	} else {
		l->count->packets += c->packets;
		l->count->bytes += c->bytes;
	}
	l->count->repeated += again;
	return v;
}

/*
 * fx_judge() - find the packet's edge, ask the policy and count what comes of it
 * @c: filled in but for row and verdict
 *
 * A function of its own to the verifier, which would else follow each way that a
 * packet can be read through all of this.
 */
__noinline int fx_judge(struct fx_crossing *c)
{
	struct fx_ledger l = { .conf = fx_conf_of() };
	struct fx_nic_row *row;
	struct fx_move m = { };
	__u32 i, dir;

	if (!c || !l.conf)
		return FX_PASS;
	dir = c->dir;
	l.total = bpf_map_lookup_elem(&fx_totals, &dir);
	i = fx_find_row(l.conf, c);
	row = bpf_map_lookup_elem(&fx_rows, &i);
	l.count = bpf_map_lookup_elem(&fx_counts, &i);
	if (!l.total)
		return FX_PASS;
	if (!row || !l.count) {
		l.total->no_edge += c->packets;
		return FX_PASS;
	}
	c->row = i;
	c->redirect = row->redirect;
	m.edge = row->edge;
	m.cls = row->cls;
	m.place = l.conf->place;
	m.device = FX_DEVICE_NIC;
	m.op = FX_OP_MOVE;
	m.bytes = c->bytes;
	m.stated = row->bytes;
	m.priority = row->priority;
	m.dir = dir;
	m.flow = c->k.key;
	if (row->roce)
		fx_read_message(c, &l, &m);
	c->verdict = fx_account(c, &l, fx_guard(&m));
	return c->verdict.action;
}

/* Count the packet; is the policy in force? */
static __always_inline bool fx_begin(const struct fx_crossing *c)
{
	struct fx_nic_conf *conf = fx_conf_of();
	struct fx_nic_total *total;
	__u32 dir = c->dir;

	total = bpf_map_lookup_elem(&fx_totals, &dir);
	if (!conf || !total || conf->flags & FX_NIC_F_BYPASS)
		return false;
	total->packets += c->packets;
	return true;
}

/* A packet that is of no flow, or malformed: what becomes of it. */
static __always_inline int fx_unread(const struct fx_crossing *c, int parsed,
				     bool drop_malformed)
{
	struct fx_nic_conf *conf = fx_conf_of();
	struct fx_nic_total *total;
	__u32 dir = c->dir;

	total = bpf_map_lookup_elem(&fx_totals, &dir);
	if (!conf || !total)
		return FX_PASS;
	if (parsed == FX_PKT_OTHER) {
		total->no_edge += c->packets;
		return FX_PASS;
	}
	total->malformed += c->packets;
	if (!drop_malformed)
		return FX_PASS;
	total->malformed_refused += c->packets;
	return fx_enforced(conf) ? FX_DROP : FX_PASS;
}

/* Is the packet to be read as RoCEv2? Only where a flow asks for a queue pair. */
static __always_inline bool fx_is_roce(const struct fx_crossing *c, int parsed)
{
	struct fx_nic_conf *conf;

	if (parsed != FX_PKT_FLOW || !fx_roce_key(&c->k.key))
		return false;
	conf = fx_conf_of();
	return conf && conf->flags & FX_NIC_F_ROCE;
}

/* Its queue pair into the key. @load copies from the packet. */
static __always_inline int fx_read_roce(struct fx_crossing *c, const struct fx_packet *p,
					void *ctx, long (*load)(void *, __u32, void *, __u32))
{
	__u32 size = p->bytes, n = size < FX_ROCE_HEAD ? size : FX_ROCE_HEAD;
	struct fx_roce_wire w = { };
	int rc;

	if (!fx_roce_whole(p))
		return FX_PKT_MALFORMED;
	barrier_var(n);
	if (!n || n > FX_ROCE_HEAD || load(ctx, p->off + 8, &w, n))
		return FX_PKT_MALFORMED;
	rc = fx_parse_roce(&w, size, &c->roce);
	if (rc == FX_PKT_FLOW)
		c->k.key.qp = c->roce.qp;
	return rc;
}

/* The counters of the packet's edge, or NULL. */
static __always_inline struct fx_nic_count *fx_count_of(const struct fx_crossing *c)
{
	__u32 i = c->row;

	return bpf_map_lookup_elem(&fx_counts, &i);
}

/* The mark that the policy wants, which fx_nic_mark() sets. */
static __always_inline void fx_mark_it(struct xdp_md *ctx, const struct fx_crossing *c)
{
	struct fx_nic_count *count = fx_count_of(c);

	if (!count)
		return;
	if (fx_carry_mark(ctx, c->verdict.mark, c->verdict.priority))
		count->marked += c->packets;
	else
		count->failed += c->packets;
}

/* To the queue that the policy wants; without such a queue it just passes. */
static __always_inline int fx_carry_on(struct xdp_md *ctx, const struct fx_crossing *c)
{
	struct fx_nic_count *count = fx_count_of(c);
	int rc = fx_to_queue(ctx, c->redirect, c->verdict.queue);

	if (count && rc == XDP_REDIRECT)
		count->redirected += c->packets;
	else if (count)
		count->failed += c->packets;
	return rc;
}

/* What stands from @data to @end, of a packet that may be longer, into @c. */
static __always_inline int fx_read_from(struct xdp_md *ctx, struct fx_crossing *c,
					void *data, void *end)
{
	struct fx_packet p = { .data = data, .end = end, .cell = &c->cell,
			       .len = bpf_xdp_get_buff_len(ctx) };
	int parsed;

	parsed = fx_parse(&p, &c->k.key);
	c->bytes = p.bytes;
	if (fx_is_roce(c, parsed))
		parsed = fx_read_roce(c, &p, ctx, (void *)bpf_xdp_load_bytes);
	return parsed;
}

/* fx_read_xdp() - what can be read of a packet into @c; a function as fx_judge() is */
__noinline int fx_read_xdp(struct xdp_md *ctx, struct fx_crossing *c)
{
	if (!c)
		return FX_PKT_SHORT;
	return fx_read_from(ctx, c, (void *)(long)ctx->data, (void *)(long)ctx->data_end);
}

/* fx_read_pieces() - the same of one whose headers do not all lie in its first piece */
__noinline int fx_read_pieces(struct xdp_md *ctx, struct fx_crossing *c)
{
	__u32 zero = 0, n = bpf_xdp_get_buff_len(ctx);
	struct fx_head *head = bpf_map_lookup_elem(&fx_heads, &zero);

	if (!c || !head)
		return FX_PKT_SHORT;
	__builtin_memset(&c->k, 0, sizeof(c->k));
	c->k.key.vlan = FX_VLAN_NONE;
	if (n > FX_MAX_HEAD)
		n = FX_MAX_HEAD;
	barrier_var(n);
	if (!n || n > FX_MAX_HEAD || bpf_xdp_load_bytes(ctx, 0, head->b, n))
		return FX_PKT_SHORT;
	return fx_read_from(ctx, c, head->b, head->b + n);
}

static __always_inline int fx_nic_receive(struct xdp_md *ctx, bool drop_malformed)
{
	struct fx_crossing c = { .dir = FX_DIR_IN, .packets = 1, .row = ~0U,
				 .k.key.vlan = FX_VLAN_NONE };
	int parsed, action;

	if (!fx_begin(&c))
		return XDP_PASS;
	parsed = fx_read_xdp(ctx, &c);
	if (parsed == FX_PKT_SHORT)
		parsed = fx_read_pieces(ctx, &c);
	action = parsed == FX_PKT_FLOW ? fx_judge(&c) : fx_unread(&c, parsed, drop_malformed);
	if (action == FX_DROP)
		return XDP_DROP;
	if (action == FX_REDIRECT)
		return fx_carry_on(ctx, &c);
	if (action == FX_MARK)
		fx_mark_it(ctx, &c);
	return XDP_PASS;
}

/*
 * fx_read_skb() - what can be read of a packet into @c
 *
 * A function of its own, as it is called twice and followed once.
 */
__noinline int fx_read_skb(struct __sk_buff *skb, struct fx_crossing *c)
{
	struct fx_packet p = { .len = skb->len, .merged = skb->gso_segs > 1 };
	int parsed;

	if (!c)
		return FX_PKT_SHORT;
	p.cell = &c->cell;
	__builtin_memset(&c->k, 0, sizeof(c->k));
	/* the device adds a tag that is kept beside the packet */
	c->k.key.vlan = skb->vlan_present ? skb->vlan_tci & 0xfff : FX_VLAN_NONE;
	p.data = (void *)(long)skb->data;
	p.end = (void *)(long)skb->data_end;
	parsed = fx_parse(&p, &c->k.key);
	c->bytes = p.bytes;
	if (fx_is_roce(c, parsed))
		parsed = fx_read_roce(c, &p, skb, (void *)bpf_skb_load_bytes);
	return parsed;
}

static __always_inline int fx_nic_send(struct __sk_buff *skb, bool drop_malformed)
{
	struct fx_crossing c = { .dir = FX_DIR_OUT, .row = ~0U,
				 .packets = skb->gso_segs ? skb->gso_segs : 1 };
	__u32 head = skb->len < FX_MAX_HEAD ? skb->len : FX_MAX_HEAD;
	struct fx_nic_count *count;
	int parsed, action;

	if (!fx_begin(&c))
		return FX_TC_NEXT;
	/* headers usually lie together; once more when they do not */
	parsed = fx_read_skb(skb, &c);
	if (parsed == FX_PKT_SHORT && !bpf_skb_pull_data(skb, head))
		parsed = fx_read_skb(skb, &c);
	action = parsed == FX_PKT_FLOW ? fx_judge(&c) : fx_unread(&c, parsed, drop_malformed);
	if (action == FX_DROP)
		return FX_TC_SHOT;
	if (action != FX_MARK && action != FX_REDIRECT)
		return FX_TC_NEXT;
	count = fx_count_of(&c);
	if (action == FX_MARK) {
		skb->mark = c.verdict.mark;
		skb->priority = c.verdict.priority;
	}
	if (count && action == FX_MARK)
		count->marked += c.packets;
	else if (count)		/* queues are of what is received */
		count->failed += c.packets;
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
	return fx_nic_receive(ctx, drops);			\
}									\
									\
SEC("tcx/ingress") int fx_nic_mark(struct __sk_buff *skb)		\
{									\
	return fx_nic_set_mark(skb);					\
}									\
									\
SEC("tcx/egress") int fx_nic_out(struct __sk_buff *skb)			\
{									\
	return fx_nic_send(skb, drops);			\
}

#endif
