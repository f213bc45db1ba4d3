// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <rte_mbuf.h>

#include "packet.h"

/* The headers of a packet in several pieces are copied together once. */
static int parse(const struct rte_mbuf *m, struct fx_packet *p, struct fx_flow_key *key)
{
	const u16 vlan = m->ol_flags & RTE_MBUF_F_RX_VLAN_STRIPPED ?
			 m->vlan_tci & 0xfff : FX_VLAN_NONE;
	u8 head[FX_MAX_HEAD];
	u32 size;
	int rc;

	*key = (struct fx_flow_key){ .vlan = vlan };
	*p = (struct fx_packet){ .data = rte_pktmbuf_mtod(m, void *), .len = m->pkt_len };
	p->end = (char *)p->data + m->data_len;
	rc = fx_parse(p, key);
	if (rc != FX_PKT_SHORT || m->nb_segs == 1)
		return rc;
	size = m->pkt_len < sizeof(head) ? m->pkt_len : sizeof(head);
	*key = (struct fx_flow_key){ .vlan = vlan };
	*p = (struct fx_packet){ .data = head, .end = head + size, .len = m->pkt_len };
	for (u32 at = 0; m && at < size; m = m->next) {
		u32 n = m->data_len < size - at ? m->data_len : size - at;

		memcpy(head + at, rte_pktmbuf_mtod(m, void *), n);
		at += n;
	}
	return fx_parse(p, key);
}

/* Its queue pair into the key, as fx_read_roce() does on a network device. */
static int read_roce(const struct rte_mbuf *m, const struct fx_packet *udp,
		     struct fx_dpu_packet *p)
{
	const u32 n = udp->bytes < FX_ROCE_HEAD ? udp->bytes : FX_ROCE_HEAD;
	struct fx_roce_wire w = { 0 };
	const void *at;
	int rc;

	if (!fx_roce_whole(udp))
		return FX_PKT_MALFORMED;
	at = rte_pktmbuf_read(m, udp->off + 8, n, w.b);
	if (!at)
		return FX_PKT_MALFORMED;
	if (at != w.b)
		memcpy(w.b, at, n);
	rc = fx_roce_parse(&w, udp->bytes, &p->roce);
	if (rc == FX_PKT_FLOW)
		p->key.qp = p->roce.qp;
	return rc;
}

int fx_dpu_packet_read(const struct rte_mbuf *m, bool roce, struct fx_dpu_packet *p)
{
	struct fx_packet at;
	int rc;

	memset(&p->roce, 0, sizeof(p->roce));
	rc = parse(m, &at, &p->key);
	p->bytes = at.bytes;
	if (roce && rc == FX_PKT_FLOW && fx_roce_key(&p->key))
		rc = read_roce(m, &at, p);
	return rc;
}
