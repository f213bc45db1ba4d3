// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "diag.h"
#include "json.h"
#include "map_counts.h"
#include "system.h"
#include "util.h"

static int read_sums(const struct fx_shared *s, const struct fx_map_desc *d,
		     struct fx_map_counts *c)
{
	struct fx_words devices = { 0 };
	struct fx_map_count *m;
	int err = 0;

	fx_grow(c->map, c->n, c->cap);
	m = &c->map[c->n++];
	memcpy(m->name, d->name, sizeof(m->name));
	m->n = d->entries;
	m->sum = fx_calloc(m->n, sizeof(*m->sum));
	fx_shared_shards(s, d, &devices);
	for (u32 i = 0; i < devices.n && !err; i++)
		err = fx_shared_add_shard(s, d, devices.word[i], m->sum);
	fx_words_free(&devices);
	return err;
}

int fx_map_counts_read(const char *graph, struct fx_map_counts *c)
{
	struct fx_shared s;
	int err = fx_shared_open(graph, &s);

	memset(c, 0, sizeof(*c));
	for (u32 i = 0; i < s.maps.n && !err; i++)
		if (s.maps.map[i].cls == FX_MAP_COUNTER)
			err = read_sums(&s, &s.maps.map[i], c);
	fx_shared_close(&s);
	/* it has no maps, or was detached under our eyes */
	if (!err || err == -ENOENT)
		return 0;
	fx_err("the counters of graph '%s' cannot be read: %s", graph,
	       err == -EPROTO ? "they are of another version of fabricctl" :
	       strerror(-err));
	fx_map_counts_free(c);
	return err;
}

void fx_map_counts_free(struct fx_map_counts *c)
{
	for (u32 i = 0; i < c->n; i++)
		free(c->map[i].sum);
	free(c->map);
	memset(c, 0, sizeof(*c));
}

void fx_map_counts_diff(struct fx_map_counts *old, const struct fx_map_counts *now)
{
	for (u32 i = 0; i < old->n && i < now->n; i++)
		for (u32 j = 0; j < old->map[i].n && j < now->map[i].n; j++)
			old->map[i].sum[j] = now->map[i].sum[j] - old->map[i].sum[j];
}

struct json_object *fx_map_counts_json(const struct fx_map_counts *c)
{
	struct json_object *all = fx_json_array(), *o, *sums;

	for (u32 i = 0; i < c->n; i++) {
		o = fx_json_object();
		fx_json_str(o, "map", c->map[i].name);
		sums = fx_json_array();
		for (u32 j = 0; j < c->map[i].n; j++)
			fx_json_add(sums, json_object_new_uint64(c->map[i].sum[j]));
		fx_json_put(o, "sum", sums);
		fx_json_add(all, o);
	}
	return all;
}

void fx_map_counts_print(const struct fx_map_counts *c, bool all)
{
	printf("%-24s %8s %20s\n", "COUNTER", "ENTRY", "SUM");
	for (u32 i = 0; i < c->n; i++)
		for (u32 j = 0; j < c->map[i].n; j++)
			if (all || c->map[i].sum[j])
				printf("%-24s %8u %20llu\n", c->map[i].name, j,
				       c->map[i].sum[j]);
}
