// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "maps.h"

#define COUNTER	"counter"
#define LINE	64	/* shards of two workers share no cache line */

_Thread_local struct fx_dpu_view fx_dpu_view;

static size_t shard_bytes(const struct fx_dpu_mem *m)
{
	size_t bytes = (size_t)m->stride * m->desc.entries;

	return (bytes + LINE - 1) / LINE * LINE;
}

static void *new_values(const struct fx_dpu_mem *m)
{
	size_t bytes = shard_bytes(m) * m->shards;
	void *p = aligned_alloc(LINE, bytes);

	return p ? memset(p, 0, bytes) : NULL;
}

int fx_dpu_maps_init(struct fx_dpu_maps *m, const struct fx_dpu_map *desc, u32 n, u32 workers)
{
	memset(m, 0, sizeof(*m));
	for (u32 i = 0; i < n; i++) {
		struct fx_dpu_mem *mem = &m->map[i];

		mem->desc = desc[i];
		mem->id = i;
		mem->stride = (desc[i].value_size + 7) / 8 * 8;
		mem->shards = strcmp(desc[i].cls, COUNTER) ? 1 : workers;
		mem->values = new_values(mem);
		mem->holders = malloc(sizeof(*mem->holders));
		if (!mem->values || !mem->holders) {
			free(mem->values);
			free(mem->holders);
			return -ENOMEM;
		}
		*mem->holders = 1;
		m->n++;
	}
	return 0;
}

/* Let go of the values: they are returned when nobody else has them. */
static void *release(struct fx_dpu_mem *m)
{
	if (--*m->holders)
		return NULL;
	free(m->holders);
	return m->values;
}

void fx_dpu_maps_free(struct fx_dpu_maps *m)
{
	for (u32 i = 0; i < m->n; i++)
		free(release(&m->map[i]));
	m->n = 0;
}

void fx_dpu_maps_share(struct fx_dpu_maps *m, struct fx_dpu_maps *from)
{
	for (u32 i = 0; i < m->n; i++) {
		struct fx_dpu_mem *to = &m->map[i];
		struct fx_dpu_mem *f = fx_dpu_maps_find(from, to->desc.name);

		if (!f || memcmp(&f->desc, &to->desc, sizeof(f->desc)) ||
		    f->shards != to->shards)
			continue;
		free(release(to));
		to->values = f->values;
		to->holders = f->holders;
		to->epoch = f->epoch;
		++*to->holders;
	}
}

struct fx_dpu_mem *fx_dpu_maps_find(struct fx_dpu_maps *m, const char *name)
{
	for (u32 i = 0; i < m->n; i++)
		if (!strcmp(m->map[i].desc.name, name))
			return &m->map[i];
	return NULL;
}

bool fx_dpu_maps_have(const struct fx_dpu_maps *m, const char *class)
{
	for (u32 i = 0; i < m->n; i++)
		if (!strcmp(m->map[i].desc.cls, class))
			return true;
	return false;
}

void fx_dpu_view_begin(struct fx_dpu_maps *m, u32 worker)
{
	for (u32 i = 0; i < m->n; i++) {
		const struct fx_dpu_mem *mem = &m->map[i];
		char *values = __atomic_load_n(&mem->values, __ATOMIC_ACQUIRE);

		fx_dpu_view.base[i] = values + (mem->shards > 1 ? worker * shard_bytes(mem) : 0);
	}
}

/*
 * Sum of an entry over the shards, word by word from the last one down: a
 * program stores a bounded value before its stamp, so who reads the stamp first
 * finds under it that value or a newer one.
 */
static void read_entry(const struct fx_dpu_mem *m, u32 index, void *out)
{
	const char *at = (const char *)m->values + (size_t)index * m->stride;
	u64 word;

	for (u32 off = m->stride; off;) {
		u32 size;

		off -= sizeof(word);
		size = m->desc.value_size - off;
		word = 0;
		for (u32 i = 0; i < m->shards; i++)
			word += __atomic_load_n((const u64 *)(at + i * shard_bytes(m) + off),
						__ATOMIC_ACQUIRE);
		memcpy((char *)out + off, &word, size < sizeof(word) ? size : sizeof(word));
	}
}

void fx_dpu_mem_read(const struct fx_dpu_mem *m, u32 first, u32 n, void *out)
{
	for (u32 i = 0; i < n; i++)
		read_entry(m, first + i, (char *)out + (size_t)i * m->desc.value_size);
}

void fx_dpu_mem_write(struct fx_dpu_mem *m, u32 index, const void *value)
{
	char *at = (char *)m->values + (size_t)index * m->stride;
	u64 word;

	for (u32 off = 0; off < m->desc.value_size; off += sizeof(word)) {
		u32 size = m->desc.value_size - off;

		word = 0;
		memcpy(&word, (const char *)value + off, size < sizeof(word) ? size : sizeof(word));
		__atomic_store_n((u64 *)(at + off), word, __ATOMIC_RELEASE);
	}
}

int fx_dpu_mem_publish(struct fx_dpu_mem *m, const void *values, void **old)
{
	u32 *holders = malloc(sizeof(*holders));
	char *fresh = new_values(m);

	*old = NULL;
	if (!fresh || !holders) {
		free(fresh);
		free(holders);
		return -ENOMEM;
	}
	for (u32 i = 0; i < m->desc.entries; i++)
		memcpy(fresh + (size_t)i * m->stride,
		       (const char *)values + (size_t)i * m->desc.value_size, m->desc.value_size);
	*old = release(m);
	*holders = 1;
	m->holders = holders;
	__atomic_store_n(&m->values, fresh, __ATOMIC_RELEASE);
	m->epoch++;
	return 0;
}

uint64_t fx_dpu_lookup(uint64_t map, uint64_t key, uint64_t unused3, uint64_t unused4, uint64_t unused5)
{
	const struct fx_dpu_mem *m = (const void *)map;
	u32 index;

	(void)unused3;
	(void)unused4;
	(void)unused5;
	memcpy(&index, (const void *)key, sizeof(index));
	if (index >= m->desc.entries)
		return 0;
	return (uintptr_t)(fx_dpu_view.base[m->id] + (size_t)index * m->stride);
}

uint64_t fx_dpu_clock(uint64_t unused1, uint64_t unused2, uint64_t unused3, uint64_t unused4, uint64_t unused5)
{
	struct timespec t;

	(void)unused1;
	(void)unused2;
	(void)unused3;
	(void)unused4;
	(void)unused5;
	/*
	 * The clock that the agent has, and the kernel's programs: anew each
	 * time, as fx_get() asks it after it has read.
	 */
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ULL + t.tv_nsec;
}
