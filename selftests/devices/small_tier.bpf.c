// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* kv_tier as shipped, with a budget that small graphs exceed. */
#define KV_DRAM_BUDGET	(1ULL << 20)
#include "../../bpf/policies/kv_tier.bpf.c"
