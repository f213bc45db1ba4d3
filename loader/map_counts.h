/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The counters of a graph's policy, summed over its devices. */
#ifndef FX_MAP_COUNTS_H
#define FX_MAP_COUNTS_H

#include "maps.h"

struct json_object;

struct fx_map_count {
	char name[FX_NAME_LEN];
	u32 n;
	u64 *sum;		/* of each entry */
};

struct fx_map_counts {
	struct fx_map_count *map;
	u32 n, cap;
};

/**
 * fx_map_counts_read() - read all maps of class counter
 * @graph: name
 * @c: filled, empty when there are none; to fx_map_counts_free()
 *
 * Return: 0 or -errno, after one sentence through fx_err().
 */
int fx_map_counts_read(const char *graph, struct fx_map_counts *c);
void fx_map_counts_free(struct fx_map_counts *c);

/* Turn @old into what was counted from then to @now. */
void fx_map_counts_diff(struct fx_map_counts *old, const struct fx_map_counts *now);

struct json_object *fx_map_counts_json(const struct fx_map_counts *c);
void fx_map_counts_print(const struct fx_map_counts *c, bool all);

#endif /* FX_MAP_COUNTS_H */
