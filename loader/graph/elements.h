/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Sizes of the element formats. */
#ifndef FX_GRAPH_ELEMENTS_H
#define FX_GRAPH_ELEMENTS_H

#include <linux/fabric_ext.h>

#include "../types.h"

struct fx_element_info {
	u32 elems;		/* per block */
	u32 bytes;		/* of a block */
	bool blocks;		/* a block format: quantize makes it */
};

extern const struct fx_element_info fx_element_info[FX_ELEMS];

#endif /* FX_GRAPH_ELEMENTS_H */
