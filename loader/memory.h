/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Memories that the kernel's maps do not lie in: a row each, by how the names
 * of their devices begin. The agent copies from and to them and knows no more.
 */
#ifndef FX_MEMORY_H
#define FX_MEMORY_H

#include "maps.h"

struct fx_memory_ops {
	const char *prefix;		/* "dpu-" */

	/*
	 * All return 0 or -errno, and wait for a few seconds at most; or with a
	 * limit for @limit_ms: -EAGAIN then means that the answer is to come,
	 * before which there is none to anything else.
	 */

	/* -ECONNREFUSED, -ENOENT: it is away, or has another graph or none */
	int (*open)(const char *name, const char *graph, u32 limit_ms, void **out);
	void (*close)(void *m);
	/* the limit is for all calls from here on, the next one first: that which
	 * was answered late ends with its answer when it is made again
	 */
	void (*again)(void *m);
	/* -EAGAIN; 0; or what the call came to that was answered late */
	int (*owed)(void *m);
	/* @life: a number that is another one when the memory begins anew */
	int (*life)(void *m, const char *graph, u64 *life);
	/* -ENOENT: it has no such map; -EPROTO: one that is not like this */
	int (*has)(void *m, const struct fx_map_desc *d);
	/* counter: the sums of d->entries; snapshot: the table; else all rows */
	int (*read)(void *m, const struct fx_map_desc *d, void *rows);
	int (*write)(void *m, const struct fx_map_desc *d, u32 row, const void *value);
	/* when it returns, no program there sees the table before */
	int (*publish)(void *m, const struct fx_map_desc *d, const void *table);
};

extern const struct fx_memory_ops fx_memory_dpu;

/* The row for a device's name, and with @name what follows the prefix; or NULL. */
const struct fx_memory_ops *fx_memory_ops_of(const char *device, const char **name);

/* Bytes of what read() fills in. */
size_t fx_memory_bytes(const struct fx_map_desc *d);

#endif /* FX_MEMORY_H */
