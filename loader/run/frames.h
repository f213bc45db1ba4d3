/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Where pages really are: frame numbers from pagemap, and what the system, not
 * the module, says of those addresses.
 */
#ifndef FX_RUN_FRAMES_H
#define FX_RUN_FRAMES_H

#include <linux/fabric_ext.h>
#include <stddef.h>

#include "../types.h"

/* A place as sysfs knows it. */
struct fx_where {
	u64 start, size;	/* of a region; size 0: look at @node */
	int node;
	u64 block;		/* bytes of a memory block */
};

int fx_where_is(const struct fx_place_desc *place, struct fx_where *w);
int fx_frames_within(const void *map, size_t bytes, const struct fx_where *w,
		     u64 *stray);

#endif /* FX_RUN_FRAMES_H */
