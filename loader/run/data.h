/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What `fabricctl run` moves, and how it knows that it arrived: made from a
 * seed, so that it need not be kept, and judged by the formats' definitions
 * rather than by the code that converted it.
 */
#ifndef FX_RUN_DATA_H
#define FX_RUN_DATA_H

#include <stddef.h>

#include "../types.h"

void fx_data_fill(void *buf, size_t bytes, u64 seed);
bool fx_data_same(const void *buf, size_t bytes, u64 seed, size_t *at);

struct fx_quant_error {
	double worst;		/* largest error, as a part of what is allowed */
	size_t at;		/* element where it is */
};

bool fx_data_mxfp8(const u8 *buf, size_t elems, u64 seed, u16 *value,
		   struct fx_quant_error *e);

#endif /* FX_RUN_DATA_H */
