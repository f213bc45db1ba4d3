// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "dpu.h"
#include "memory.h"
#include "pins.h"
#include "util.h"

static const struct fx_memory_ops *const memories[] = {
	&fx_memory_dpu,
};

const struct fx_memory_ops *fx_memory_ops_of(const char *device, const char **name)
{
	for (u32 i = 0; i < ARRAY_SIZE(memories); i++) {
		size_t len = strlen(memories[i]->prefix);

		if (strncmp(device, memories[i]->prefix, len))
			continue;
		*name = device + len;
		return memories[i];
	}
	return NULL;
}

size_t fx_memory_bytes(const struct fx_map_desc *d)
{
	if (d->cls == FX_MAP_COUNTER)
		return (size_t)d->entries * sizeof(u64);
	return (size_t)d->raw_size * (d->cls == FX_MAP_SNAPSHOT ? 1 : d->raw_entries);
}

/* ---- a DPU ------------------------------------------------------------- */

static int dpu_life(void *m, const char *graph, u64 *life)
{
	struct fx_dpu_info info;
	int err = fx_dpu_info(m, &info);

	if (err)
		return err;
	/* a policy that is replaced counts on; a process that ends does not */
	*life = info.life;
	return strcmp(info.graph, graph) ? -ENOENT : 0;
}

static int dpu_open(const char *name, const char *graph, u32 limit_ms, void **out)
{
	struct fx_dpu *d;
	int err = fx_dpu_open_within(name, limit_ms, &d);
	u64 life;

	/* so many wait already that this one is not even in their queue */
	if (err == -EAGAIN)
		err = -ECONNREFUSED;
	if (!err)
		err = dpu_life(d, graph, &life);
	if (err && err != -EAGAIN)
		fx_dpu_close(d);
	else
		*out = d;
	return err;
}

static void dpu_close(void *m)
{
	fx_dpu_close(m);
}

static void dpu_again(void *m)
{
	fx_dpu_again(m);
}

static int dpu_owed(void *m)
{
	return fx_dpu_owed(m);
}

static int dpu_has(void *m, const struct fx_map_desc *d)
{
	struct fx_dpu_map info;
	u32 entries = d->cls == FX_MAP_SNAPSHOT ? 1 :
		      d->cls == FX_MAP_COUNTER ? d->entries : d->raw_entries;
	u32 size = d->cls == FX_MAP_COUNTER ? sizeof(u64) : d->raw_size;
	int err = fx_dpu_map_info(m, d->name, &info, NULL);

	if (err)
		return err;
	return info.entries == entries && info.value_size == size &&
	       !strcmp(info.cls, fx_name(&fx_map_classes, d->cls)) ? 0 : -EPROTO;
}

static int dpu_read(void *m, const struct fx_map_desc *d, void *rows)
{
	return fx_dpu_map_read(m, d->name, rows, fx_memory_bytes(d));
}

static int dpu_write(void *m, const struct fx_map_desc *d, u32 row, const void *value)
{
	return fx_dpu_map_write(m, d->name, row, value, d->raw_size);
}

static int dpu_publish(void *m, const struct fx_map_desc *d, const void *table)
{
	return fx_dpu_map_publish(m, d->name, table, d->raw_size);
}

const struct fx_memory_ops fx_memory_dpu = {
	.prefix = FX_PINS_DPU,
	.open = dpu_open, .close = dpu_close, .again = dpu_again, .owed = dpu_owed, .life = dpu_life,
	.has = dpu_has,
	.read = dpu_read, .write = dpu_write, .publish = dpu_publish,
};
