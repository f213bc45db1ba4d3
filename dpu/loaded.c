// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What is loaded: built, put in place, taken away. */
#include <errno.h>
#include <rte_cycles.h>
#include <rte_rcu_qsbr.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "context.h"
#include "dpu.h"
#include "qps.h"

/* Workers are away for a burst of packets; this is far longer. */
#define GRACE_MS	2000
/* So many may wait for one that does not come back. */
#define LINGER_MAX	8

static int refuse(char *why, int err, const char *what)
{
	snprintf(why, FX_DPU_WHY_LEN, "%s", what);
	return err;
}

void fx_dpu_files_free(struct fx_dpu_files *f)
{
	for (u32 i = 0; i < FX_DPU_FDS; i++)
		free(f->data[i]);
	memset(f, 0, sizeof(*f));
}

static void destroy(struct fx_dpu_loaded *l)
{
	if (!l)
		return;
	fx_dpu_program_free(&l->prog);
	fx_dpu_maps_free(&l->maps);
	fx_dpu_flows_free(&l->flows);
	for (u32 i = 0; i < FX_DIRS; i++)
		fx_dpu_qps_put(l->qps[i]);
	fx_dpu_image_close(&l->img);
	fx_dpu_files_free(&l->files);
	for (u32 i = 0; i < l->workers; i++)
		free(l->shard[i].count);
	free(l->before.count);
	free(l->row);
	free(l->bound);
	free(l);
}

/* Wait until no worker uses what it found before; false: one does not come back. */
static bool grace(struct fx_dpu_state *dpu, u64 token)
{
	for (u32 i = 0; i < GRACE_MS * 10; i++) {
		if (rte_rcu_qsbr_check(dpu->seen, token, false))
			return true;
		rte_delay_us_sleep(100);
	}
	return false;
}

/*
 * Put @l in the place of what is there, and return that. Workers have left it,
 * unless one is away for too long: then it is whole all the same, may be put
 * back, and is not freed but by retire(). What the burst of that one counts
 * there after it was carried over is in no sum.
 */
static struct fx_dpu_loaded *swap(struct fx_dpu_state *dpu, struct fx_dpu_loaded *l)
{
	struct fx_dpu_loaded *old = dpu->loaded;

	__atomic_store_n(&dpu->loaded, l, __ATOMIC_RELEASE);
	if (!old)
		return NULL;
	old->left = rte_rcu_qsbr_start(dpu->seen);
	if (!grace(dpu, old->left))
		fprintf(stderr, "fabric-dpu: a worker does not come back; what it uses is kept\n");
	return old;
}

/* Free those whose last worker has come back; how many are left. */
static u32 reap(struct fx_dpu_state *dpu)
{
	struct fx_dpu_loaded **at = &dpu->lingering;
	u32 n = 0;

	while (*at) {
		struct fx_dpu_loaded *l = *at;

		if (rte_rcu_qsbr_check(dpu->seen, l->left, false)) {
			*at = l->next;
			destroy(l);
		} else {
			at = &l->next;
			n++;
		}
	}
	return n;
}

/* Free what was taken out, as soon as no worker uses it. */
static void retire(struct fx_dpu_state *dpu, struct fx_dpu_loaded *l)
{
	if (!l)
		return;
	l->next = dpu->lingering;
	dpu->lingering = l;
	reap(dpu);
}

static bool same_flows(const struct fx_dpu_loaded *a, const struct fx_dpu_loaded *b)
{
	return !memcmp(a->img.a->flows, b->img.a->flows, FX_DIGEST_LEN);
}

/* Rows of the same flows go on counting: add what @from counted itself. */
static void carry_counts(struct fx_dpu_loaded *to, const struct fx_dpu_loaded *from)
{
	if (!from || !same_flows(to, from))
		return;
	for (u32 w = 0; w < from->workers; w++) {
		for (u32 i = 0; i < to->conf.rows; i++)
			fx_dpu_add_up(&to->before.count[i], &from->shard[w].count[i],
				      sizeof(to->before.count[i]));
		fx_dpu_add_up(to->before.total, from->shard[w].total,
			      sizeof(to->before.total));
	}
}

/* The same, and what @from took over. */
static void carry_all(struct fx_dpu_loaded *to, const struct fx_dpu_loaded *from)
{
	carry_counts(to, from);
	if (!from || !same_flows(to, from))
		return;
	for (u32 i = 0; i < to->conf.rows; i++)
		fx_dpu_add_up(&to->before.count[i], &from->before.count[i],
			      sizeof(to->before.count[i]));
	fx_dpu_add_up(to->before.total, from->before.total, sizeof(to->before.total));
}

/* A row for each flow, and what finds it; bound as in @from, or NULL. */
static int fill_rows(struct fx_dpu_loaded *l, const struct fx_dpu_loaded *from)
{
	int err = 0;

	for (u32 i = 0; i < l->img.a->n_flows && !err; i++) {
		const struct fx_nic_flow *f = &l->img.flow[i];
		struct fx_nic_row *row = &l->row[i];

		*row = (struct fx_nic_row){ .edge = f->edge, .cls = f->cls, .dir = f->dir,
					    .priority = f->priority, .bytes = f->bytes };
		memcpy(row->name, l->img.name[i], FX_NAME_LEN);
		row->roce = !!f->mask.qp;
		row->tagged = row->roce && !f->key.qp;
		err = fx_dpu_flows_key(&l->flows, f, &row->key);
		if (row->tagged && from) {
			row->key.qp = from->row[i].key.qp;
			l->bound[i] = from->bound[i];
		}
		/* without its queue pair it finds nothing */
		if (!err && (!row->tagged || row->key.qp))
			err = fx_dpu_flows_add(&l->flows, &row->key, i);
	}
	return err;
}

/* Queue pairs, where a flow asks for one: those of @from, or new ones. */
static int fill_qps(struct fx_dpu_loaded *l, const struct fx_dpu_loaded *from)
{
	u32 n = 0;

	for (u32 i = 0; i < l->img.a->n_flows; i++)
		n += !!l->img.flow[i].mask.qp;
	for (u32 dir = FX_DIR_IN; dir < FX_DIRS && n; dir++) {
		if (from)
			l->qps[dir] = fx_dpu_qps_get(from->qps[dir]);
		else
			l->qps[dir] = fx_dpu_qps_new(2 * n > FX_NIC_QPS ? 2 * n : FX_NIC_QPS);
		if (!l->qps[dir])
			return -ENOMEM;
	}
	return 0;
}

static void fill_conf(struct fx_dpu_loaded *l, u32 flags)
{
	const struct fx_dpu_artifact *a = l->img.a;

	if (l->qps[FX_DIR_IN])
		flags |= FX_NIC_F_ROCE;
	l->conf = (struct fx_nic_conf){ .flags = flags, .place = a->place, .rows = a->n_flows };
	for (u32 i = 0; i < FX_DIRS; i++)
		l->conf.masks[i] = l->flows.masks[i];
	memcpy(l->conf.count, a->count, sizeof(l->conf.count));
	memcpy(l->conf.digest, a->graph_digest, sizeof(l->conf.digest));
	memcpy(l->conf.object, a->object, sizeof(l->conf.object));
	memcpy(l->conf.graph, a->graph, sizeof(l->conf.graph));
	memcpy(l->conf.policy, a->policy, sizeof(l->conf.policy));
	memcpy(l->conf.netdev, a->dpu, sizeof(l->conf.netdev));
}

/* @from: whose place it takes, or NULL */
static int build(struct fx_dpu_loaded *l, struct fx_dpu_loaded *from, char *why)
{
	const struct fx_dpu_loaded *alike = from && same_flows(l, from) ? from : NULL;
	const u32 rows = l->img.a->n_flows;
	int err;

	err = fx_dpu_maps_init(&l->maps, l->img.o.map, l->img.o.n_map, l->workers);
	if (err)
		return refuse(why, err, "there is no memory for the maps");
	if (from)
		fx_dpu_maps_share(&l->maps, &from->maps);
	err = fx_dpu_program_load(&l->prog, l->img.object, l->img.object_size, &l->maps,
				  sizeof(struct fx_dpu_context), why);
	if (err)
		return err;
	l->row = calloc(rows, sizeof(*l->row));
	for (u32 i = 0; i < l->workers; i++) {
		l->shard[i].count = calloc(rows, sizeof(*l->shard[i].count));
		if (!l->shard[i].count)
			return refuse(why, -ENOMEM, "there is no memory for the counts");
	}
	l->before.count = calloc(rows, sizeof(*l->before.count));
	l->bound = calloc(rows, sizeof(*l->bound));
	if (!l->row || !l->before.count || !l->bound)
		return refuse(why, -ENOMEM, "there is no memory for the rows");
	l->in_turn = l->workers > 1 && fx_dpu_maps_have(&l->maps, "bounded");
	err = fx_dpu_flows_init(&l->flows, rows);
	if (!err)
		err = fill_rows(l, alike);
	if (err == -E2BIG)
		return refuse(why, -EINVAL, "flows.bin: the flows ask for too many sets of fields; compile the bundle again");
	if (err)
		return refuse(why, err, "there is no memory for the flows; start fabric-dpu with a larger -m");
	err = fill_qps(l, alike);
	return err ? refuse(why, err, "there is no memory for the queue pairs; start fabric-dpu with a larger -m") : 0;
}

/*
 * What a client puts in the place of its own is not what it goes back to: that
 * is what was there before it came, and has counted all the same.
 */
static void put_in_place(struct fx_dpu_state *dpu, struct fx_dpu_loaded *l)
{
	struct fx_dpu_loaded *old = swap(dpu, l);

	carry_all(l, old);
	if (!dpu->before) {
		dpu->before = old;
		return;
	}
	carry_counts(dpu->before, old);
	retire(dpu, old);
}

/* A bypass that the client does not know of is not what it means to end. */
static u32 bypassed_since(const struct fx_dpu_state *dpu, const struct fx_dpu_load *load)
{
	if (!dpu->loaded || load->replace != FX_DPU_REPLACE_DECIDING)
		return 0;
	return __atomic_load_n(&dpu->loaded->conf.flags, __ATOMIC_RELAXED) & FX_NIC_F_BYPASS;
}

int fx_dpu_load(struct fx_dpu_state *dpu, struct fx_dpu_files *f,
		const struct fx_dpu_load *load, u64 client, char *why)
{
	struct fx_dpu_loaded *l = calloc(1, sizeof(*l));
	int err;

	if (!l) {
		fx_dpu_files_free(f);
		return refuse(why, -ENOMEM, "there is no memory");
	}
	l->files = *f;
	memset(f, 0, sizeof(*f));
	l->workers = dpu->workers;
	err = fx_dpu_image_open(&l->files, dpu->name, &l->img, why);
	if (err)
		goto fail;
	if (dpu->loaded && (!load->replace || strcmp(dpu->loaded->conf.graph, l->img.a->graph))) {
		snprintf(why, FX_DPU_WHY_LEN, "graph '%s' is loaded there; `fabricctl detach %s` takes it off",
			 dpu->loaded->conf.graph, dpu->loaded->conf.graph);
		err = -EBUSY;
		goto fail;
	}
	if (dpu->loaded && dpu->loaded->client && dpu->loaded->client != client) {
		snprintf(why, FX_DPU_WHY_LEN, "graph '%s' is being attached by another process; try again when that has ended",
			 dpu->loaded->conf.graph);
		err = -EBUSY;
		goto fail;
	}
	if (reap(dpu) >= LINGER_MAX) {
		err = refuse(why, -EBUSY, "a worker does not come back, and may still use what was replaced the last times; end this fabric-dpu");
		goto fail;
	}
	err = build(l, dpu->loaded, why);
	if (err)
		goto fail;
	fill_conf(l, load->flags | bypassed_since(dpu, load));
	l->client = client;
	dpu->loads++;
	put_in_place(dpu, l);
	return 0;
fail:
	destroy(l);
	return err;
}

int fx_dpu_unload(struct fx_dpu_state *dpu, char *why)
{
	if (!dpu->loaded)
		return refuse(why, -ENOENT, "nothing is loaded");
	retire(dpu, dpu->before);
	dpu->before = NULL;
	retire(dpu, swap(dpu, NULL));
	return 0;
}

/* Back to what was there before. */
static void undo_load(struct fx_dpu_state *dpu)
{
	struct fx_dpu_loaded *l = dpu->before, *dropped;

	dpu->before = NULL;
	dropped = swap(dpu, l);
	carry_counts(l, dropped);
	dpu->loads++;
	retire(dpu, dropped);
}

int fx_dpu_settle(struct fx_dpu_state *dpu, bool undo, u64 client, char *why)
{
	if (!dpu->loaded || dpu->loaded->client != client)
		return refuse(why, -ENOENT, "this client has loaded nothing that is not settled");
	if (undo && !dpu->before)
		return refuse(why, -ENOENT, "nothing was replaced");
	if (undo) {
		undo_load(dpu);
		return 0;
	}
	dpu->loaded->client = 0;
	retire(dpu, dpu->before);
	dpu->before = NULL;
	return 0;
}

void fx_dpu_client_gone(struct fx_dpu_state *dpu, u64 client)
{
	char why[FX_DPU_WHY_LEN];

	if (dpu->loaded && dpu->loaded->client == client && dpu->before)
		undo_load(dpu);
	/* what was replaced can be the same client's */
	if (dpu->loaded && dpu->loaded->client == client)
		fx_dpu_unload(dpu, why);
}

int fx_dpu_publish(struct fx_dpu_state *dpu, struct fx_dpu_mem *m, const void *values, char *why)
{
	/* one set of values at most waits for a worker that hangs */
	if (dpu->retired && !rte_rcu_qsbr_check(dpu->seen, dpu->retired_at, false))
		return refuse(why, -EBUSY, "a worker does not come back, and may still see the values of before the last publish");
	free(dpu->retired);
	dpu->retired = NULL;
	if (fx_dpu_mem_publish(m, values, &dpu->retired))
		return refuse(why, -ENOMEM, "there is no memory for another set of values");
	dpu->retired_at = rte_rcu_qsbr_start(dpu->seen);
	if (!grace(dpu, dpu->retired_at))
		return refuse(why, -ETIMEDOUT, "a worker does not come back, and may still see the old values");
	free(dpu->retired);
	dpu->retired = NULL;
	return 0;
}
