/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Which row a packet is of: as on a network device, a hash over keys with a
 * mask each; where several match, the first row counts.
 */
#ifndef FX_DPU_FLOWS_H
#define FX_DPU_FLOWS_H

#include <linux/fabric_ext_nic.h>

#include "types.h"

#define FX_DPU_NO_ROW	0xffffffffU

struct rte_hash;

struct fx_dpu_flows {
	struct rte_hash *hash;
	struct fx_flow_key mask[FX_DIRS][FX_NIC_MAX_MASKS];
	u32 masks[FX_DIRS];
};

/* Room for @n flows; 0 or -ENOMEM; to fx_dpu_flows_free() in any case. */
int fx_dpu_flows_init(struct fx_dpu_flows *f, u32 n);
void fx_dpu_flows_free(struct fx_dpu_flows *f);

/**
 * fx_dpu_flows_key() - what a flow is found by
 * @f: table
 * @flow: as it lies in flows.bin
 * @key: out: its key, with the number of its mask
 *
 * Return: 0; -E2BIG for too many masks.
 */
int fx_dpu_flows_key(struct fx_dpu_flows *f, const struct fx_nic_flow *flow,
		     struct fx_flow_key *key);
/* Let @key find @row, unless it finds another already; 0 or -ENOMEM. */
int fx_dpu_flows_add(struct fx_dpu_flows *f, const struct fx_flow_key *key, u32 row);
void fx_dpu_flows_del(struct fx_dpu_flows *f, const struct fx_flow_key *key);
/* The row that such a key finds, or FX_DPU_NO_ROW. */
u32 fx_dpu_flows_at(const struct fx_dpu_flows *f, const struct fx_flow_key *key);

/* The first row whose flow matches, or FX_DPU_NO_ROW. */
u32 fx_dpu_flows_find(const struct fx_dpu_flows *f, u32 dir, const struct fx_flow_key *key);

#endif /* FX_DPU_FLOWS_H */
