/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A received packet, as far as it is read. */
#ifndef FX_DPU_PACKET_H
#define FX_DPU_PACKET_H

#include "context.h"
#include "types.h"

struct rte_mbuf;

struct fx_dpu_packet {
	struct fx_flow_key key;
	struct fx_roce roce;		/* of one that a queue pair may find */
	u64 bytes;			/* that its transport carries */
};

/**
 * fx_dpu_packet_read() - what is in a packet
 * @m: the packet, in however many pieces
 * @roce: a flow asks for a queue pair: read RoCEv2
 * @p: filled in as far as it was read
 *
 * Return: enum fx_parsed; FX_PKT_SHORT is a packet that ends too early.
 */
int fx_dpu_packet_read(const struct rte_mbuf *m, bool roce, struct fx_dpu_packet *p);

#endif /* FX_DPU_PACKET_H */
