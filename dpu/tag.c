// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What of a flow is only known while it runs: the queue pair of an edge. */
#include <errno.h>
#include <rte_cycles.h>
#include <stdio.h>

#include "dpu.h"
#include "qps.h"

/* Workers hold a lock for a burst of packets; this is far longer. */
#define LOCK_MS	2000
#define TRY_US	50

/* Of the directions before @end. */
static void unlock(struct fx_dpu_loaded *l, u32 end)
{
	for (u32 dir = FX_DIR_IN; dir < end; dir++)
		fx_dpu_qps_unlock(l->qps[dir]);
}

static bool trylock(struct fx_dpu_loaded *l)
{
	for (u32 dir = FX_DIR_IN; dir < FX_DIRS; dir++) {
		if (fx_dpu_qps_trylock(l->qps[dir]))
			continue;
		unlock(l, dir);
		return false;
	}
	return true;
}

/* The locks of all directions, or -ETIMEDOUT. It sleeps with none of them. */
static int lock(struct fx_dpu_loaded *l)
{
	for (u32 i = 0; i < LOCK_MS * 1000 / TRY_US; i++) {
		if (trylock(l))
			return 0;
		rte_delay_us_sleep(TRY_US);
	}
	return -ETIMEDOUT;
}

static struct fx_nic_row *find(struct fx_dpu_loaded *l, u32 edge, u32 dir)
{
	for (u32 i = 0; i < l->conf.rows; i++)
		if (l->row[i].edge == edge && l->row[i].dir == dir)
			return &l->row[i];
	return NULL;
}

/* Under the locks: let the row have @qp in place of what it has. */
static int rebind(struct fx_dpu_loaded *l, struct fx_nic_row *row, u32 qp, u64 now, char *why)
{
	struct fx_flow_key old = row->key, key = row->key;
	u32 other;
	int err;

	key.qp = qp;
	/* the same number again is the next one that bears it */
	if (qp && qp != old.qp) {
		other = fx_dpu_flows_at(&l->flows, &key);
		if (other != FX_DPU_NO_ROW) {
			snprintf(why, FX_DPU_WHY_LEN,
				 "queue pair %u is that of another edge, instance %u ('%s'), already",
				 qp, l->row[other].edge, l->row[other].name);
			return -EEXIST;
		}
		err = fx_dpu_flows_add(&l->flows, &key, row - l->row);
		if (err) {
			snprintf(why, FX_DPU_WHY_LEN, "there is no room for another flow");
			return err;
		}
	}
	if (old.qp && old.qp != qp)
		fx_dpu_flows_del(&l->flows, &old);
	/* what was seen of the number is not what comes of the next that bears it */
	l->bound[row - l->row] = now;
	row->key.qp = qp;
	return 0;
}

int fx_dpu_tag(struct fx_dpu_state *dpu, u32 edge, u32 dir, u32 qp, char *why)
{
	struct fx_dpu_loaded *l = dpu->loaded;
	struct fx_nic_row *row = find(l, edge, dir);
	u64 now;
	u32 old;
	int err;

	if (!row) {
		snprintf(why, FX_DPU_WHY_LEN, "instance %u of the graph's edges does not cross it in that direction",
			 edge);
		return -ENOENT;
	}
	if (!row->tagged) {
		snprintf(why, FX_DPU_WHY_LEN, "the flow of '%s' is not for tagging: the graph has to say flow: { rocev2: tag }",
			 row->name);
		return -EPERM;
	}
	/* what was replaced and may come back would not know of it */
	if (dpu->before) {
		snprintf(why, FX_DPU_WHY_LEN, "graph '%s' is being attached by another process; try again when that has ended",
			 l->conf.graph);
		return -EBUSY;
	}
	err = lock(l);
	if (err) {
		snprintf(why, FX_DPU_WHY_LEN, "a worker does not come back, and may be at its queue pairs");
		return err;
	}
	old = row->key.qp;
	now = fx_dpu_now();
	err = rebind(l, row, qp, now, why);
	unlock(l, FX_DIRS);
	/* they are of no use to anybody, and take room */
	if (!err && old)
		fx_dpu_qps_forget(l->qps[dir], old, now);
	return err;
}
