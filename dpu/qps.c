// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <rte_hash.h>
#include <rte_jhash.h>
#include <rte_lcore.h>
#include <rte_spinlock.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "qps.h"

#define BATCH	256	/* entries that are looked at before a worker may go on */

struct entry {
	struct fx_qp_key key;
	bool used;
	u64 made;			/* ns */
	struct fx_qp qp;
};

struct fx_dpu_qps {
	rte_spinlock_t lock;
	struct rte_hash *hash;		/* key to the number of an entry */
	struct entry *entry;
	u32 limit;
	u32 programs;			/* that have it; the main lcore's to count */
	u64 swept;			/* ns: when it was full, and searched */
};

struct fx_dpu_qps *fx_dpu_qps_new(u32 limit)
{
	static u32 made;
	char name[RTE_HASH_NAMESIZE];
	struct rte_hash_parameters params = {
		.name = name,
		.entries = limit,
		.key_len = sizeof(struct fx_qp_key),
		.hash_func = rte_jhash,
		.socket_id = (int)rte_socket_id(),
		/* all of them fit, whatever they are */
		.extra_flag = RTE_HASH_EXTRA_FLAGS_EXT_TABLE,
	};
	struct fx_dpu_qps *q = calloc(1, sizeof(*q));

	if (!q)
		return NULL;
	q->programs = 1;
	q->limit = limit;
	rte_spinlock_init(&q->lock);
	snprintf(name, sizeof(name), "qps-%u", made++);
	/* keys come from the wire: nobody is to know which of them meet */
	if (getrandom(&params.hash_func_init_val, sizeof(params.hash_func_init_val), 0) ==
	    sizeof(params.hash_func_init_val))
		q->hash = rte_hash_create(&params);
	/* which entry is whose the hash says: its keys are numbered from 0 on */
	if (q->hash)
		q->entry = calloc(rte_hash_max_key_id(q->hash) + 1, sizeof(*q->entry));
	if (q->entry)
		return q;
	fx_dpu_qps_put(q);
	return NULL;
}

struct fx_dpu_qps *fx_dpu_qps_get(struct fx_dpu_qps *q)
{
	q->programs++;
	return q;
}

void fx_dpu_qps_put(struct fx_dpu_qps *q)
{
	if (!q || --q->programs)
		return;
	rte_hash_free(q->hash);
	free(q->entry);
	free(q);
}

void fx_dpu_qps_lock(struct fx_dpu_qps *q)
{
	rte_spinlock_lock(&q->lock);
}

bool fx_dpu_qps_trylock(struct fx_dpu_qps *q)
{
	return rte_spinlock_trylock(&q->lock);
}

void fx_dpu_qps_unlock(struct fx_dpu_qps *q)
{
	rte_spinlock_unlock(&q->lock);
}

static void drop(struct fx_dpu_qps *q, struct entry *e)
{
	rte_hash_del_key(q->hash, &e->key);
	e->used = false;
}

/* Let go of the silent ones, which are begun anew anyway; was it time to? */
static bool sweep(struct fx_dpu_qps *q, u64 now)
{
	const u32 end = rte_hash_max_key_id(q->hash);

	if (now < q->swept + FX_ROCE_SWEEP_NS)
		return false;
	q->swept = now;
	for (u32 i = 0; i <= end; i++)
		if (q->entry[i].used && fx_qp_silent(&q->entry[i].qp, now))
			drop(q, &q->entry[i]);
	return true;
}

static void begin(struct entry *e, const struct fx_qp_key *key, u64 now)
{
	*e = (struct entry){ .key = *key, .used = true, .made = now };
}

static bool is_full(const struct fx_dpu_qps *q)
{
	return (u32)rte_hash_count(q->hash) >= q->limit;
}

struct fx_qp *fx_dpu_qps_find(struct fx_dpu_qps *q, const struct fx_qp_key *key, u64 now,
			      u64 since)
{
	int at = rte_hash_lookup(q->hash, key);

	if (at >= 0) {
		if (q->entry[at].made < since)
			begin(&q->entry[at], key, now);
		return &q->entry[at].qp;
	}
	if (is_full(q) && (!sweep(q, now) || is_full(q)))
		return NULL;
	at = rte_hash_add_key(q->hash, key);
	if (at < 0)
		return NULL;
	begin(&q->entry[at], key, now);
	return &q->entry[at].qp;
}

void fx_dpu_qps_forget(struct fx_dpu_qps *q, u32 qp, u64 since)
{
	const u32 end = rte_hash_max_key_id(q->hash);

	for (u32 i = 0; i <= end;) {
		fx_dpu_qps_lock(q);
		for (u32 n = 0; n < BATCH && i <= end; n++, i++) {
			struct entry *e = &q->entry[i];

			if (e->used && e->key.qp == qp && e->made < since)
				drop(q, e);
		}
		fx_dpu_qps_unlock(q);
	}
}
