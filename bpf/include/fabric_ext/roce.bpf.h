/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * RoCEv2: RDMA over UDP to port 4791. Of each packet the base header (BTH) says
 * the operation, the queue pair it goes to and its sequence number (PSN); where
 * the data goes and how much it is (RETH) stands in the first packet of a
 * message alone. So of each queue pair its message is known, and which of its
 * packets were seen: what is sent again counts once.
 *
 * The programs of network devices and fabric-dpu are both compiled from this.
 * Where the queue pairs are kept, and who may touch one, is theirs to know:
 * roce_nic.bpf.h, dpu/qps.h.
 *
 * What is read: RC, XRC, UC and UD. RD, congestion notifications, opcodes of
 * manufacturers and those that are not known here are well formed and of no
 * queue pair, as are acknowledgements.
 * The check sum at the end (ICRC) is for the adapters to check.
 */
#ifndef FABRIC_EXT_ROCE_BPF_H
#define FABRIC_EXT_ROCE_BPF_H

#include <fabric_ext/packet.bpf.h>

#define FX_BTH_LEN	12
#define FX_ICRC_LEN	4
#define FX_24_BITS	0xffffffU
#define FX_RDMA_MAX	0x80000000U	/* bytes of a message */

/* Sets of the 32 opcodes that each transport has. */
#define FX_OPS_SEND	0x00c0003fU
#define FX_OPS_WRITE	0x00000fc0U
#define FX_OPS_ASK	0x00001000U	/* for data: READ request */
#define FX_OPS_READ	0x0001e000U	/* the data */
#define FX_OPS_ACK	0x00060000U
#define FX_OPS_ATOMIC	0x00180000U
#define FX_OPS_FIRST	0x00002041U	/* more packets follow */
#define FX_OPS_MIDDLE	0x00004082U
#define FX_OPS_ONLY	0x00810c30U	/* the only packet */
#define FX_OPS_RETH	0x00001c40U	/* FIRST and ONLY of WRITE, READ request */
#define FX_OPS_AETH	0x0007a000U
#define FX_OPS_IMM	0x00c00a28U	/* an immediate, or a key to invalidate */
#define FX_OPS_ANSWER	(FX_OPS_READ | FX_OPS_ACK)

/* The transports that are read, the three bits above, and what each has of them. */
#define FX_ROCE_RC	0
#define FX_ROCE_UC	1
#define FX_ROCE_UD	3
#define FX_ROCE_XRC	5
#define FX_OPS_RC	0x00dfffffU
#define FX_OPS_UC	0x00000fffU
#define FX_OPS_UD	0x00000030U

/* Silent for this long, whoever uses a queue pair's number is another. */
#define FX_ROCE_SILENT_NS	16000000000ULL
/* A full table is searched for the silent no sooner than this after the last time. */
#define FX_ROCE_SWEEP_NS	4000000000ULL
/* This far behind, a packet is of a new sequence and not of the past. */
#define FX_PSN_PAST		65536U

#define FX_QP_WORDS		(FX_QP_SEEN / 64)

static __always_inline bool fx_op_in(__u32 op, __u32 set)
{
	return set >> (op & 31) & 1;
}

/* What a packet begins with: BTH, XRCETH, RETH. */
#define FX_ROCE_HEAD	32

struct fx_roce_wire {
	__u8 b[FX_ROCE_HEAD];
};

/* What of RoCEv2 a packet has. */
struct fx_roce {
	struct fx_rdma rdma;	/* addr, rkey and length where this packet says */
	__u32 qp;		/* destination */
	__u32 bytes;		/* of data, without headers, padding and ICRC */
	__u8 answers;
	__u8 datagram;		/* no connection, no sequence */
	__u8 first;		/* of its message */
	__u8 reserved[5];
};

static __always_inline __u32 fx_be32(const __u8 *b)
{
	return (__u32)b[0] << 24 | b[1] << 16 | b[2] << 8 | b[3];
}

/* Bytes of headers behind BTH, without an immediate. */
static __always_inline __u32 fx_roce_extended(__u32 transport, __u32 op)
{
	__u32 size = 0;

	if (transport == FX_ROCE_UD)
		size += 8;
	if (transport == FX_ROCE_XRC && !fx_op_in(op, FX_OPS_ANSWER))
		size += 4;
	if (fx_op_in(op, FX_OPS_RETH))
		size += 16;
	if (fx_op_in(op, FX_OPS_AETH))
		size += 4;
	if (fx_op_in(op, FX_OPS_ATOMIC))
		size += 28;
	/* what the atomic found, behind the AETH */
	if (op == 0x12)
		size += 8;
	return size;
}

static __always_inline __u32 fx_roce_op(__u32 op)
{
	if (fx_op_in(op, FX_OPS_SEND))
		return FX_RDMA_SEND;
	if (fx_op_in(op, FX_OPS_WRITE))
		return FX_RDMA_WRITE;
	if (fx_op_in(op, FX_OPS_READ))
		return FX_RDMA_READ;
	if (fx_op_in(op, FX_OPS_ASK))
		return FX_RDMA_READ_REQUEST;
	return fx_op_in(op, FX_OPS_ATOMIC) ? FX_RDMA_ATOMIC : FX_RDMA_NONE;
}

/* What RETH at @h says, against what the packet carries. */
static __always_inline int fx_parse_reth(const __u8 *h, __u32 op, struct fx_roce *r)
{
	__u32 length = fx_be32(h + 12);

	r->rdma.addr = (__u64)fx_be32(h) << 32 | fx_be32(h + 4);
	r->rdma.rkey = fx_be32(h + 8);
	r->rdma.length = length;
	if (length > FX_RDMA_MAX)
		return FX_PKT_MALFORMED;
	if (fx_op_in(op, FX_OPS_FIRST) && r->bytes >= length)
		return FX_PKT_MALFORMED;
	if (fx_op_in(op, FX_OPS_WRITE & FX_OPS_ONLY) && r->bytes != length)
		return FX_PKT_MALFORMED;
	return FX_PKT_FLOW;
}

/* The opcodes of a transport that are read, as a set. */
static __always_inline __u32 fx_roce_ops(__u32 transport)
{
	if (transport == FX_ROCE_RC || transport == FX_ROCE_XRC)
		return FX_OPS_RC;
	if (transport == FX_ROCE_UC)
		return FX_OPS_UC;
	return transport == FX_ROCE_UD ? FX_OPS_UD : 0;
}

/* Is a packet with this key to be read as RoCEv2? */
static __always_inline bool fx_roce_key(const struct fx_flow_key *k)
{
	return k->dport == FX_ROCE_PORT && k->proto == 17;
}

/*
 * Can it be read? RoCEv2 is not fragmented, and many in one cannot be told
 * apart; @p->off is the UDP header's.
 */
static __always_inline bool fx_roce_whole(const struct fx_packet *p)
{
	return p->whole && !p->merged && p->bytes >= FX_BTH_LEN + FX_ICRC_LEN;
}

/*
 * fx_roce_parse() - a packet to port 4791 into @r
 * @w: what it begins with, from BTH on; zero where it is shorter
 * @size: bytes from BTH on, the ICRC included; at least those two
 * @r: zero; without a queue pair afterwards, it is none that a flow can ask for
 */
static __always_inline int fx_roce_parse(const struct fx_roce_wire *w, __u32 size,
					 struct fx_roce *r)
{
	__u32 transport, op, head, pad;
	int rc = FX_PKT_FLOW;

	transport = w->b[0] >> 5;
	op = w->b[0] & 31;
	pad = w->b[1] >> 4 & 3;
	if (w->b[1] & 15)		/* the header's version */
		return FX_PKT_MALFORMED;
	/* newer than this, or somebody's own: who knows what is in it? */
	if (!fx_op_in(op, fx_roce_ops(transport)))
		return FX_PKT_FLOW;

	head = fx_roce_extended(transport, op);
	if (fx_op_in(op, FX_OPS_IMM))
		head += 4;
	head += FX_BTH_LEN + pad + FX_ICRC_LEN;
	if (size < head || size & 3)
		return FX_PKT_MALFORMED;
	r->bytes = size - head;
	r->rdma.op = fx_roce_op(op);
	if (r->rdma.op == FX_RDMA_NONE)
		return r->bytes || pad ? FX_PKT_MALFORMED : FX_PKT_FLOW;
	/* what others follow is full, and what carries nothing is empty */
	if (fx_op_in(op, FX_OPS_FIRST | FX_OPS_MIDDLE) && (pad || !r->bytes))
		return FX_PKT_MALFORMED;
	if (fx_op_in(op, FX_OPS_ASK | FX_OPS_ATOMIC) && (pad || r->bytes))
		return FX_PKT_MALFORMED;
	r->rdma.opcode = w->b[0];
	r->rdma.psn = fx_be32(w->b + 8) & FX_24_BITS;
	r->answers = fx_op_in(op, FX_OPS_ANSWER);
	r->datagram = transport == FX_ROCE_UD;
	r->first = fx_op_in(op, FX_OPS_FIRST | FX_OPS_ONLY | FX_OPS_ASK | FX_OPS_ATOMIC);
	if (fx_op_in(op, FX_OPS_RETH))
		rc = fx_parse_reth(w->b + FX_BTH_LEN + (transport == FX_ROCE_XRC ? 4 : 0), op, r);
	if (rc == FX_PKT_FLOW)
		r->qp = fx_be32(w->b + 4) & FX_24_BITS;
	return rc;
}

/* ---- sequences -------------------------------------------------------- */

/*
 * The last packets of a sequence: which of them were seen. A bit per packet,
 * at its number modulo FX_QP_SEEN; those above the head are zero.
 */
struct fx_psns {
	__u32 head;		/* the highest number that was seen */
	__u32 used;
	__u64 seen[FX_QP_WORDS];
};

/* 0 before this one and 65535 after it: how far @psn lies behind the head. */
static __always_inline bool fx_psn_behind(const struct fx_psns *s, __u32 psn, __u32 *by)
{
	*by = (s->head - psn) & FX_24_BITS;
	return s->used && *by < FX_PSN_PAST;
}

static __always_inline bool fx_psn_seen(const struct fx_psns *s, __u32 psn)
{
	__u32 by, word = psn / 64 & (FX_QP_WORDS - 1);

	if (!fx_psn_behind(s, psn, &by))
		return false;
	/* too long ago to know, so it was */
	if (by >= FX_QP_SEEN - 64)
		return true;
	barrier_var(word);
	return s->seen[word & (FX_QP_WORDS - 1)] >> (psn & 63) & 1;
}

/* Make @psn the head: what is new between is not seen yet. */
static __always_inline void fx_psn_advance(struct fx_psns *s, __u32 psn)
{
	__u32 steps = (psn / 64 - s->head / 64) & (FX_24_BITS / 64);

	if (!s->used)
		steps = FX_QP_WORDS;
	for (__u32 i = 0; i < FX_QP_WORDS; i++) {
		__u32 word = psn / 64 - i;

		if (i >= steps)
			break;
		barrier_var(word);
		s->seen[word & (FX_QP_WORDS - 1)] = 0;
	}
	s->head = psn;
	s->used = 1;
}

/* Note @psn; was it seen before? */
static __always_inline bool fx_psn_note(struct fx_psns *s, __u32 psn)
{
	__u32 by, word = psn / 64 & (FX_QP_WORDS - 1);

	if (fx_psn_seen(s, psn))
		return true;
	if (!fx_psn_behind(s, psn, &by))
		fx_psn_advance(s, psn);
	barrier_var(word);
	s->seen[word & (FX_QP_WORDS - 1)] |= 1ULL << (psn & 63);
	return false;
}

/* ---- queue pairs ------------------------------------------------------ */

/* What is known of one; zero to begin with. */
struct fx_qp {
	__u64 last;		/* ns: when a packet was seen */
	__u64 addr;		/* the message, as its RETH says; length 0: unknown */
	__u32 rkey;
	__u32 length;
	__u32 mtu;		/* bytes of each packet but the last */
	__u32 psn;		/* of the message's first packet */
	struct fx_psns passed, refused;
};

/* Can it be let go of? Of one that was just made, the time is not there yet. */
static __always_inline bool fx_qp_silent(const struct fx_qp *s, __u64 now)
{
	return s->last && now > s->last && now - s->last > FX_ROCE_SILENT_NS;
}

/* What its table knows it by; the direction is the caller's. */
static __always_inline void fx_qp_key_of(const struct fx_flow_key *k, const struct fx_roce *r,
					 __u32 dir, struct fx_qp_key *key)
{
	key->qp = k->qp;
	key->dir = dir;
	key->answers = r->answers;
	__builtin_memcpy(key->src, k->src, sizeof(key->src));
	__builtin_memcpy(key->dst, k->dst, sizeof(key->dst));
}

/*
 * What the state adds to the packet: where its bytes go, whether it was seen.
 * Returns whether it has passed before, and so carries nothing new.
 */
static __always_inline bool fx_qp_begin(struct fx_qp *s, const struct fx_roce *r, __u64 now,
					struct fx_rdma *out)
{
	bool passed;
	__u64 at;

	if (now > s->last && now - s->last > FX_ROCE_SILENT_NS) {
		s->passed.used = 0;
		s->refused.used = 0;
		s->length = 0;
	}
	s->last = now;
	if (r->first) {
		s->psn = r->rdma.psn;
		s->addr = r->rdma.addr;
		s->rkey = r->rdma.rkey;
		s->length = r->rdma.length;
		s->mtu = r->bytes;
	}
	out->addr = 0;
	out->rkey = 0;
	out->length = 0;
	at = (__u64)((r->rdma.psn - s->psn) & FX_24_BITS) * s->mtu;
	if (at < s->length && (r->first || (r->rdma.op == FX_RDMA_WRITE && s->mtu))) {
		out->addr = s->addr + at;
		out->rkey = s->rkey;
		out->length = s->length;
	}
	passed = fx_psn_seen(&s->passed, r->rdma.psn);
	out->repeat = fx_psn_seen(&s->refused, r->rdma.psn) || passed;
	return passed;
}

/* Note what became of the packet; did the same become of it before? */
static __always_inline bool fx_qp_note(struct fx_qp *s, __u32 psn, bool refused)
{
	return fx_psn_note(refused ? &s->refused : &s->passed, psn);
}

#endif
