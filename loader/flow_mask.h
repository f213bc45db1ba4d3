/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Whether a flow can be looked for, as fabricctl and fabric-dpu both have to know. */
#ifndef FX_FLOW_MASK_H
#define FX_FLOW_MASK_H

#include <linux/fabric_ext_nic.h>
#include <stddef.h>

#include "types.h"

/* The mask has whole bytes, and the key nothing where the mask has none. */
static inline bool fx_flow_mask_ok(const struct fx_nic_flow *f)
{
	const u8 *key = (const u8 *)&f->key, *mask = (const u8 *)&f->mask;

	for (size_t i = 0; i < sizeof(f->key); i++)
		if ((mask[i] && mask[i] != 0xff) || key[i] & ~mask[i])
			return false;
	return !f->mask.mask && !f->mask.reserved;
}

#endif /* FX_FLOW_MASK_H */
