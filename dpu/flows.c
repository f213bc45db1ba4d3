// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <errno.h>
#include <rte_hash.h>
#include <rte_jhash.h>
#include <rte_lcore.h>
#include <stdio.h>
#include <string.h>

#include "flows.h"

union words {
	struct fx_flow_key key;
	u32 word[FX_FLOW_WORDS];
};

/* The number of a flow's mask among its direction's, or -E2BIG. */
static int number_of(struct fx_dpu_flows *f, const struct fx_nic_flow *flow)
{
	struct fx_flow_key *mask = f->mask[flow->dir];
	u32 i;

	for (i = 0; i < f->masks[flow->dir]; i++)
		if (!memcmp(&mask[i], &flow->mask, sizeof(*mask)))
			return i;
	if (i == FX_NIC_MAX_MASKS)
		return -E2BIG;
	mask[i] = flow->mask;
	return f->masks[flow->dir]++;
}

static u8 tag_of(u32 dir, u32 number)
{
	return dir * FX_NIC_MAX_MASKS + number;
}

int fx_dpu_flows_key(struct fx_dpu_flows *f, const struct fx_nic_flow *flow,
		     struct fx_flow_key *key)
{
	int number = number_of(f, flow);

	if (number < 0)
		return number;
	*key = flow->key;
	key->mask = tag_of(flow->dir, number);
	return 0;
}

u32 fx_dpu_flows_at(const struct fx_dpu_flows *f, const struct fx_flow_key *key)
{
	void *row;

	if (rte_hash_lookup_data(f->hash, key, &row) < 0)
		return FX_DPU_NO_ROW;
	return (u32)(uintptr_t)row;
}

int fx_dpu_flows_add(struct fx_dpu_flows *f, const struct fx_flow_key *key, u32 row)
{
	/* the first that says so counts */
	if (rte_hash_lookup(f->hash, key) >= 0)
		return 0;
	return rte_hash_add_key_data(f->hash, key, (void *)(uintptr_t)row) ? -ENOMEM : 0;
}

void fx_dpu_flows_del(struct fx_dpu_flows *f, const struct fx_flow_key *key)
{
	rte_hash_del_key(f->hash, key);
}

int fx_dpu_flows_init(struct fx_dpu_flows *f, u32 n)
{
	static u32 made;
	char name[RTE_HASH_NAMESIZE];
	struct rte_hash_parameters params = {
		.name = name,
		/* the table is of buckets of eight: small ones need room too, and a
		 * queue pair is bound before the old one is let go
		 */
		.entries = n * 2 < 64 ? 64 : n * 2,
		.key_len = sizeof(struct fx_flow_key),
		.hash_func = rte_jhash,
		.socket_id = (int)rte_socket_id(),
	};

	memset(f, 0, sizeof(*f));
	snprintf(name, sizeof(name), "flows-%u", made++);
	f->hash = rte_hash_create(&params);
	return f->hash ? 0 : -ENOMEM;
}

void fx_dpu_flows_free(struct fx_dpu_flows *f)
{
	rte_hash_free(f->hash);
	f->hash = NULL;
}

u32 fx_dpu_flows_find(const struct fx_dpu_flows *f, u32 dir, const struct fx_flow_key *key)
{
	const union words *k = (const void *)key;
	u32 best = FX_DPU_NO_ROW;

	for (u32 i = 0; i < f->masks[dir]; i++) {
		const union words *mask = (const void *)&f->mask[dir][i];
		union words masked;
		u32 row;

		for (u32 j = 0; j < FX_FLOW_WORDS; j++)
			masked.word[j] = k->word[j] & mask->word[j];
		masked.key.mask = tag_of(dir, i);
		row = fx_dpu_flows_at(f, &masked.key);
		if (row < best)
			best = row;
	}
	return best;
}
