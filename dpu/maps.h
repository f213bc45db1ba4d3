/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The maps of a program, and the helpers that it calls. No part of it needs
 * DPDK's environment: the tests and benchmarks run programs without one.
 *
 * A thread that runs programs is a worker. It calls fx_dpu_view_begin() before
 * a burst of them: what is published while the burst lasts is seen by the next.
 */
#ifndef FX_DPU_MAPS_H
#define FX_DPU_MAPS_H

#include <linux/fabric_ext_dpu.h>
#include <stdint.h>

#include "types.h"

struct fx_dpu_mem {
	struct fx_dpu_map desc;
	u32 id;			/* of the map in its program */
	u32 stride;		/* bytes from entry to entry */
	u32 shards;		/* of a counter: one per worker */
	void *values;		/* of the present epoch; atomic */
	u32 *holders;		/* how many programs have these values */
	u64 epoch;
};

struct fx_dpu_maps {
	struct fx_dpu_mem map[FX_DPU_MAX_MAPS];
	u32 n;
};

/* What a worker sees. */
struct fx_dpu_view {
	char *base[FX_DPU_MAX_MAPS];
};

extern _Thread_local struct fx_dpu_view fx_dpu_view;

/* 0 or -ENOMEM; to fx_dpu_maps_free() in any case. */
int fx_dpu_maps_init(struct fx_dpu_maps *m, const struct fx_dpu_map *desc, u32 n, u32 workers);
void fx_dpu_maps_free(struct fx_dpu_maps *m);
/* A program that takes another's place goes on with its maps, where they are alike. */
void fx_dpu_maps_share(struct fx_dpu_maps *m, struct fx_dpu_maps *from);
struct fx_dpu_mem *fx_dpu_maps_find(struct fx_dpu_maps *m, const char *name);
/* Is one of them of this class? */
bool fx_dpu_maps_have(const struct fx_dpu_maps *m, const char *class);

/* Let this thread, worker number @worker, see the maps as they are now. */
void fx_dpu_view_begin(struct fx_dpu_maps *m, u32 worker);

/*
 * Entries @first to @first + @n, of a counter summed over the workers; the last
 * word of an entry is read first.
 */
void fx_dpu_mem_read(const struct fx_dpu_mem *m, u32 first, u32 n, void *out);
/* One entry, of every shard; each aligned word of eight bytes is stored whole. */
void fx_dpu_mem_write(struct fx_dpu_mem *m, u32 index, const void *value);
/**
 * fx_dpu_mem_publish() - put all values in place of the present ones
 * @m: a map without shards
 * @values: entries * value_size bytes
 * @old: set to the old values, to free() when no worker sees them, or to NULL
 *	 when another program has them
 *
 * Return: 0; -ENOMEM, with nothing changed.
 */
int fx_dpu_mem_publish(struct fx_dpu_mem *m, const void *values, void **old);

/* The helpers, as librte_bpf calls them: map and key are addresses. */
uint64_t fx_dpu_lookup(uint64_t map, uint64_t key, uint64_t unused3, uint64_t unused4, uint64_t unused5);
uint64_t fx_dpu_clock(uint64_t unused1, uint64_t unused2, uint64_t unused3, uint64_t unused4, uint64_t unused5);

#endif /* FX_DPU_MAPS_H */
