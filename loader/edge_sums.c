// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <stdio.h>
#include <stdlib.h>

#include "edge_sums.h"
#include "json.h"
#include "util.h"

static int by_edge(const void *a, const void *b)
{
	const struct fx_edge_sum *x = a, *y = b;

	return x->edge < y->edge ? -1 : x->edge > y->edge;
}

/* All counters are u64: what one of them means does not matter here. */
static void add(struct fx_nic_count *sum, const struct fx_nic_count *more)
{
	const u64 *m = (const u64 *)more;
	u64 *s = (u64 *)sum;

	for (size_t i = 0; i < sizeof(*sum) / sizeof(*s); i++)
		s[i] += m[i];
}

struct fx_edge_sum *fx_edge_sums(const struct fx_nic_views *v, u32 *n)
{
	struct fx_edge_sum *all = NULL;
	u32 rows = 0, cap = 0, kept = 0;

	for (u32 i = 0; i < v->n; i++)
		for (u32 j = 0; j < v->view[i].conf.rows; j++) {
			fx_grow(all, rows, cap);
			all[rows++] = (struct fx_edge_sum){
				.edge = v->view[i].row[j].edge,
				.cls = v->view[i].row[j].name, .crossings = 1,
				.count = v->view[i].count[j],
			};
		}
	if (rows)
		qsort(all, rows, sizeof(*all), by_edge);
	for (u32 i = 0; i < rows; i++) {
		if (kept && all[kept - 1].edge == all[i].edge) {
			all[kept - 1].crossings++;
			add(&all[kept - 1].count, &all[i].count);
		} else {
			all[kept++] = all[i];
		}
	}
	*n = kept;
	return all;
}

void fx_edge_sums_put(struct json_object *o, const struct fx_nic_views *v)
{
	struct json_object *list = fx_json_array(), *e;
	u32 n;
	struct fx_edge_sum *all = fx_edge_sums(v, &n);

	for (u32 i = 0; i < n; i++) {
		e = fx_json_object();
		fx_json_str(e, "class", all[i].cls);
		fx_json_u64(e, "edge", all[i].edge);
		fx_json_u64(e, "crossings", all[i].crossings);
		fx_nic_count_put(e, &all[i].count);
		fx_json_add(list, e);
	}
	fx_json_put(o, "edges", list);
	free(all);
}

void fx_edge_sums_print(const struct fx_nic_views *v)
{
	bool several = false;
	u32 n;
	struct fx_edge_sum *all = fx_edge_sums(v, &n);

	for (u32 i = 0; i < n; i++)
		several = several || all[i].crossings > 1;
	if (several)
		printf("\n%-24s %8s %9s %14s %18s %12s %16s\n", "CLASS", "EDGE",
		       "CROSSINGS", "PACKETS", "BYTES", "REFUSED", "REFUSED BYTES");
	for (u32 i = 0; i < n && several; i++)
		printf("%-24s %8u %9u %14llu %18llu %12llu %16llu\n", all[i].cls,
		       all[i].edge, all[i].crossings, all[i].count.packets,
		       all[i].count.bytes, all[i].count.refused,
		       all[i].count.refused_bytes);
	free(all);
}
