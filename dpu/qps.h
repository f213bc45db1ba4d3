/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The queue pairs of one direction: what is known of each, a bounded number of
 * them. One that was silent for FX_ROCE_SILENT_NS is let go of when the table
 * is full and another asks for room, all such at once, and no sooner than
 * FX_ROCE_SWEEP_NS after the last time.
 *
 * A worker holds the lock for a burst, and the main lcore while it binds a
 * queue pair to an edge; nothing here is touched without. Who holds one does
 * not wait for another: a worker would wait for it with packets in hand.
 */
#ifndef FX_DPU_QPS_H
#define FX_DPU_QPS_H

#include "context.h"
#include "types.h"

struct fx_dpu_qps;

/* NULL: there is no memory; @limit queue pairs, to fx_dpu_qps_put(). */
struct fx_dpu_qps *fx_dpu_qps_new(u32 limit);
/* A program that takes another's place goes on with its queue pairs. */
struct fx_dpu_qps *fx_dpu_qps_get(struct fx_dpu_qps *q);
void fx_dpu_qps_put(struct fx_dpu_qps *q);

void fx_dpu_qps_lock(struct fx_dpu_qps *q);
bool fx_dpu_qps_trylock(struct fx_dpu_qps *q);
void fx_dpu_qps_unlock(struct fx_dpu_qps *q);

/**
 * fx_dpu_qps_find() - the state of a packet's queue pair, made where it is new
 * @q: locked
 * @key: the packet's
 * @now: ns, of the clock of all calls
 * @since: what was made before is of another that bore the number: begun anew
 *
 * Return: NULL when there is no room; valid until the lock is given back.
 */
struct fx_qp *fx_dpu_qps_find(struct fx_dpu_qps *q, const struct fx_qp_key *key, u64 now,
			      u64 since);

/**
 * fx_dpu_qps_forget() - make room: what was seen of a queue pair's number
 * @q: not locked; it is for a bounded number of entries at a time
 * @qp: number
 * @since: what was made later is of the next one that bears it, and stays
 */
void fx_dpu_qps_forget(struct fx_dpu_qps *q, u32 qp, u64 since);

#endif /* FX_DPU_QPS_H */
