/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Which row a packet is of: as on a network device, a hash over keys with a
 * mask each; where several match, the first row counts.
 */
#ifndef FX_DPU_FLOWS_H
#define FX_DPU_FLOWS_H

#include <linux/fabric_ext_nic.h>

#include "types.h"

struct rte_hash;

struct fx_dpu_flows {
	struct rte_hash *hash;
	struct fx_flow_key mask[FX_DIRS][FX_NIC_MAX_MASKS];
	u32 masks[FX_DIRS];
};

/* 0, -ENOMEM, -E2BIG for too many masks; to fx_dpu_flows_free() in any case. */
int fx_dpu_flows_init(struct fx_dpu_flows *f, const struct fx_nic_flow *flow, u32 n);
void fx_dpu_flows_free(struct fx_dpu_flows *f);

/* The row, or FX_DPU_NO_ROW. */
#define FX_DPU_NO_ROW	0xffffffffU
u32 fx_dpu_flows_find(const struct fx_dpu_flows *f, u32 dir, const struct fx_flow_key *key);

#endif /* FX_DPU_FLOWS_H */
