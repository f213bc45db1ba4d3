/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A packet into what a flow is found by. Every length in it is a claim of
 * whoever sent it: each is compared with what is there before it is used.
 *
 * Read are Ethernet, one VLAN tag, IPv4 with options, IPv6 with at most
 * FX_MAX_EXT extension headers, UDP and TCP, within FX_MAX_HEAD bytes. What is
 * none of these is well formed and of no edge.
 */
#ifndef FABRIC_EXT_PACKET_BPF_H
#define FABRIC_EXT_PACKET_BPF_H

#include <stdbool.h>
#include <linux/types.h>
#include <linux/fabric_ext_nic.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#define FX_MAX_EXT	8	/* extension headers of IPv6 */
#define FX_MAX_HEAD	512	/* bytes of all headers together */
#define FX_ONE_HEAD	40	/* of the longest that is read at once */

enum fx_parsed {
	FX_PKT_FLOW = 0,	/* the key is filled in */
	FX_PKT_OTHER,		/* nothing that a flow can ask for */
	FX_PKT_MALFORMED,
	FX_PKT_SHORT,		/* more of it must be made readable first */
};

struct fx_packet {
	void *data, *end;	/* what can be read */
	__u32 len;		/* of the frame, which may be more */
	__u32 off;		/* where the next header begins */
	__u32 stop;		/* where the IP packet ends */
	__u32 bytes;		/* out: carried by the transport */
	__u8 proto;
	bool whole;		/* no fragment: lengths of the transport hold */
	bool merged;		/* many packets in one: IP may not say how long */
	volatile __u32 *cell;	/* of a caller, see fx_forget(); may be NULL */
};

/*
 * Let the verifier forget what it knows of a number, that is, on which way it
 * came to be: it follows what comes next once, and not once per way. What it
 * reads from memory of a function's caller may be anything.
 */
static __always_inline __u32 fx_forget(const struct fx_packet *p, __u32 number)
{
	if (!p->cell)
		return number;
	*p->cell = number;
	return *p->cell;
}

/* The header at p->off, which has to end by @limit; 0, or what the packet is. */
static __always_inline int fx_header(const struct fx_packet *p, __u8 **h, __u32 size,
				     __u32 limit)
{
	__u32 off = p->off;

	if (off + size > limit)
		return FX_PKT_MALFORMED;
	/* there may be such a packet, but none that is read here */
	if (off > FX_MAX_HEAD - size)
		return FX_PKT_OTHER;
	/* the verifier has to see the bound on what is added */
	barrier_var(off);
	if (off > FX_MAX_HEAD)
		return FX_PKT_OTHER;
	*h = p->data + off;
	return (void *)*h + size > p->end ? FX_PKT_SHORT : FX_PKT_FLOW;
}

static __always_inline __u16 fx_be16(const __u8 *b)
{
	return b[0] << 8 | b[1];
}

/* TCP: the ports, and how long its header is. */
static __always_inline int fx_parse_tcp(struct fx_packet *p, struct fx_flow_key *k)
{
	__u32 size;
	__u8 *h;
	int rc;

	rc = fx_header(p, &h, 20, p->stop);
	if (rc)
		return rc;
	size = (h[12] >> 4) * 4;
	if (size < 20 || p->off + size > p->stop)
		return FX_PKT_MALFORMED;
	k->sport = fx_be16(h);
	k->dport = fx_be16(h + 2);
	p->bytes = p->stop - p->off - size;
	return FX_PKT_FLOW;
}

static __always_inline int fx_parse_udp(struct fx_packet *p, struct fx_flow_key *k)
{
	__u32 size, rest;
	__u8 *h;
	int rc;

	rc = fx_header(p, &h, 8, p->stop);
	if (rc)
		return rc;
	size = fx_be16(h + 4);
	rest = p->stop - p->off;
	if (p->whole && !p->merged && (size < 8 || size > rest))
		return FX_PKT_MALFORMED;
	if (!p->whole || p->merged)
		size = rest;
	k->sport = fx_be16(h);
	k->dport = fx_be16(h + 2);
	p->bytes = size - 8;
	return FX_PKT_FLOW;
}

static __always_inline int fx_parse_transport(struct fx_packet *p, struct fx_flow_key *k,
					      bool first)
{
	p->off = fx_forget(p, p->off);
	p->stop = fx_forget(p, p->stop);
	k->proto = p->proto;
	p->bytes = p->stop - p->off;
	/* what follows the first fragment has no ports */
	if (!first)
		return FX_PKT_FLOW;
	if (p->proto == 6)
		return fx_parse_tcp(p, k);
	if (p->proto == 17)
		return fx_parse_udp(p, k);
	return FX_PKT_FLOW;
}

static __always_inline int fx_parse_ipv4(struct fx_packet *p, struct fx_flow_key *k)
{
	__u32 size, total, frag;
	__u8 *h;
	int rc;

	rc = fx_header(p, &h, 20, p->len);
	if (rc)
		return rc;
	size = (h[0] & 15) * 4;
	total = fx_be16(h + 2);
	if (!total && p->merged)
		total = p->len - p->off;
	frag = fx_be16(h + 6);
	if (h[0] >> 4 != 4 || size < 20 || total < size || p->off + total > p->len)
		return FX_PKT_MALFORMED;
	k->family = 4;
	k->dscp = h[1] >> 2;
	__builtin_memcpy(k->src, h + 12, 4);
	__builtin_memcpy(k->dst, h + 16, 4);
	p->proto = h[9];
	p->whole = !(frag & 0x3fff);
	p->stop = p->off + total;
	p->off += size;
	return fx_parse_transport(p, k, !(frag & 0x1fff));
}

/* Past the extension headers; 0, or what the packet is instead. */
static __always_inline int fx_skip_ext(struct fx_packet *p, bool *first)
{
	for (int i = 0; i <= FX_MAX_EXT; i++) {
		__u8 proto = p->proto;
		__u32 size;
		__u8 *h;
		int rc;

		if (proto != 0 && proto != 43 && proto != 44 && proto != 51 &&
		    proto != 60)
			return FX_PKT_FLOW;
		rc = fx_header(p, &h, 8, p->stop);
		if (rc)
			return rc;
		if (proto == 44) {	/* fragment */
			size = 8;
			p->whole = p->whole && !(fx_be16(h + 2) & 0xfff9);
			*first = !(fx_be16(h + 2) & 0xfff8);
		} else if (proto == 51) {	/* authentication */
			size = (h[1] + 2) * 4;
		} else {
			size = (h[1] + 1) * 8;
		}
		if (p->off + size > p->stop)
			return FX_PKT_MALFORMED;
		p->proto = h[0];
		p->off = fx_forget(p, p->off + size);
		/* the rest is in the first fragment */
		if (!*first)
			return FX_PKT_FLOW;
	}
	return FX_PKT_OTHER;
}

static __always_inline int fx_parse_ipv6(struct fx_packet *p, struct fx_flow_key *k)
{
	bool first = true;
	__u32 carried;
	__u8 *h;
	int rc;

	rc = fx_header(p, &h, 40, p->len);
	if (rc)
		return rc;
	carried = fx_be16(h + 4);
	if (!carried && p->merged)
		carried = p->len - p->off - 40;
	if (h[0] >> 4 != 6 || p->off + 40 + carried > p->len)
		return FX_PKT_MALFORMED;
	k->family = 6;
	k->dscp = fx_be16(h) >> 6 & 63;
	__builtin_memcpy(k->src, h + 8, 16);
	__builtin_memcpy(k->dst, h + 24, 16);
	p->proto = h[6];
	p->whole = true;
	p->off += 40;
	p->stop = p->off + carried;
	rc = fx_skip_ext(p, &first);
	return rc == FX_PKT_FLOW ? fx_parse_transport(p, k, first) : rc;
}

/* fx_parse() - @p with data, end, len and merged into @k, which has its vlan */
static __always_inline int fx_parse(struct fx_packet *p, struct fx_flow_key *k)
{
	__u16 proto;
	__u8 *h;
	int rc;

	p->off = 0;
	rc = fx_header(p, &h, 14, p->len);
	if (rc)
		return rc;
	proto = fx_be16(h + 12);
	p->off = 14;
	if (proto == 0x8100 || proto == 0x88a8) {
		/* a second tag is for somebody else */
		if (k->vlan != FX_VLAN_NONE)
			return FX_PKT_OTHER;
		rc = fx_header(p, &h, 4, p->len);
		if (rc)
			return rc;
		k->vlan = fx_be16(h) & 0xfff;
		proto = fx_be16(h + 2);
		p->off = 18;
	}
	if (proto == 0x0800)
		return fx_parse_ipv4(p, k);
	if (proto == 0x86dd)
		return fx_parse_ipv6(p, k);
	return FX_PKT_OTHER;
}

#endif
