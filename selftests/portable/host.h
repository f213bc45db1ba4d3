/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef HOST_H
#define HOST_H

#include <stddef.h>

struct fx_dpu_context;

struct host_map {
	const char *name;
	void **values;			/* to fill in: size * entries bytes */
	size_t size, entries;
};

/* What a library made of host.c has under the name host_policy. */
struct host_policy {
	void (*run)(struct fx_dpu_context *ctx);
	struct host_map *map;
	size_t n_map;
};

#endif /* HOST_H */
