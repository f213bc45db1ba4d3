// SPDX-License-Identifier: GPL-2.0-only
/*
 * The way of a movement.
 *
 *	submit -- checked -- routed --+-- refused ---------------+-- done -- reaped
 *	                              +-- lane -- worker -- ended +
 *	close: what is in a lane is cancelled, what runs too, at its next step
 *
 * A destination that the engine has to allocate is allocated when the movement
 * is routed, in the submitter's context: its memory cgroup pays, its cpuset and
 * its signals count.
 */
#include <linux/hash.h>
#include <linux/poll.h>
#include <linux/slab.h>

#include "engine.h"
#include "inject.h"
#include "observe.h"
#include "ops.h"
#include "tag.h"

static struct workqueue_struct *fx_wq;

/* ---- lanes ------------------------------------------------------------ */

static struct fx_users *fx_users_of(struct fx_queue *q, const struct fx_buf *b)
{
	return &q->users[hash_ptr(fx_buf_key(b), FX_KEY_BITS)];
}

/* Movements of a class whose order says so wait for all before them. */
static bool fx_job_is_ordered(const struct fx_job *job)
{
	return job->cls->desc.order != FX_ORDER_NONE ||
	       job->edge->desc.n_after;
}

/*
 * Lanes are emptied from 7 down, each in the order of submission. A movement
 * may therefore overtake those in lower lanes; where it must not, it goes into
 * the lowest lane in which there is one that it has to stay behind:
 *
 * - one that writes a buffer that it reads or writes, or reads one that it
 *   writes (buffers are told apart by a hash: two may count as one);
 * - any, if its edge has an order or comes after others. So release, acq_rel,
 *   seq_cst and `after` hold among the movements of a file; what depends on an
 *   acquire says so by `after`.
 */
static u8 fx_lane_of(struct fx_queue *q, const struct fx_job *job, u8 priority)
{
	const struct fx_users *src = fx_users_of(q, job->src);
	const struct fx_users *dst = fx_users_of(q, job->dst);
	bool ordered = fx_job_is_ordered(job);
	u8 lane;

	for (lane = 0; lane < priority; lane++) {
		if (ordered && q->queued[lane])
			break;
		if (src->writers[lane])
			break;
		/* nobody else knows a new destination */
		if (!job->fresh && (dst->writers[lane] || dst->readers[lane]))
			break;
	}
	return lane;
}

static void fx_job_count(struct fx_queue *q, struct fx_job *job, int by)
{
	lockdep_assert_held(&q->lock);
	q->queued[job->lane] += by;
	fx_users_of(q, job->src)->readers[job->lane] += by;
	fx_users_of(q, job->dst)->writers[job->lane] += by;
	job->src->pending += by;
	job->dst->pending += by;
}

static void fx_job_enqueue(struct fx_queue *q, struct fx_job *job, u32 priority)
{
	spin_lock(&q->lock);
	job->lane = fx_lane_of(q, job, min(priority, FX_LANES - 1));
	fx_job_count(q, job, 1);
	list_add_tail(&job->link, &q->lanes[job->lane]);
	if (!q->running) {
		q->running = true;
		kref_get(&q->ref);
		queue_work(fx_wq, &q->work);
	}
	spin_unlock(&q->lock);
}

static struct fx_job *fx_job_next(struct fx_queue *q)
{
	struct fx_job *job = NULL;
	int lane;

	spin_lock(&q->lock);
	for (lane = FX_LANES - 1; lane >= 0 && !job; lane--)
		job = list_first_entry_or_null(&q->lanes[lane], struct fx_job,
					       link);
	if (job)
		list_del(&job->link);
	else
		q->running = false;
	spin_unlock(&q->lock);
	return job;
}

/* ---- the end of a movement -------------------------------------------- */

static bool fx_reason_is_refusal(u32 reason)
{
	return reason >= FX_REFUSED_POLICY && reason <= FX_REFUSED_GENERATION;
}

static void fx_job_account(const struct fx_job *job)
{
	const struct fx_completion *c = &job->done;
	struct fx_class *cls = job->cls;

	if (c->error) {
		atomic64_inc(fx_reason_is_refusal(c->reason) ? &cls->refused :
							       &cls->failed);
		return;
	}
	atomic64_inc(&job->edge->moves);
	if (!fx_injected(FX_INJECT_COUNT))
		atomic64_inc(&cls->moves);
	atomic64_add(c->bytes_in, &cls->bytes_in);
	atomic64_add(c->bytes_out, &cls->bytes_out);
	atomic64_add(c->ns, &cls->ns);
	atomic64_add(c->verify_ns, &cls->verify_ns);
}

static void fx_job_tell(struct fx_queue *q, const struct fx_job *job)
{
	const struct fx_completion *c = &job->done;
	struct fabric_ext_complete_args args = {
		.call.edge = c->edge,
		.bytes_in = c->bytes_in,
		.bytes_out = c->bytes_out,
		.ns = c->ns,
		.place = c->place,
		.reason = c->reason,
		.error = c->error,
		.csum = c->csum,
	};
	struct fx_event ev = {
		.type = FX_EV_MOVE,
		.op = FX_OP_MOVE,
		.edge = c->edge,
		.reason = c->reason,
		.error = c->error,
		.place = c->place,
		.pid = job->pid,
		.bytes = c->bytes_in,
		.arg0 = c->bytes_out,
		.arg1 = c->ns,
	};

	fx_tell_complete(q->graph, &args);
	if (!fx_injected(FX_INJECT_EVENT))
		fx_emit(q->graph, &ev);
}

/*
 * The handle of a new destination becomes good, or is given back. A checksum
 * that differs leaves it to the user to look at what was written.
 */
static void fx_job_publish(struct fx_queue *q, struct fx_job *job, bool written)
{
	if (!job->fresh) {
		job->done.dst = written ? job->desc.dst : 0;
		return;
	}
	if (!written) {
		xa_erase(&q->handles, job->handle);
		return;
	}
	xa_store(&q->handles, job->handle, fx_buf_get(job->dst), GFP_KERNEL);
	job->done.dst = job->handle;
}

/* Turns a movement into a completion. @queued: it was in a lane. */
static void fx_job_end(struct fx_queue *q, struct fx_job *job, int err,
		       u32 reason, bool queued)
{
	bool unused[2] = {};

	job->done.cookie = job->desc.cookie;
	job->done.edge = job->desc.edge;
	job->done.error = err;
	job->done.reason = reason;
	fx_job_publish(q, job, !err || reason == FX_FAILED_CHECKSUM);
	fx_job_account(job);
	fx_job_tell(q, job);

	if (queued) {
		spin_lock(&q->lock);
		fx_job_count(q, job, -1);
		unused[0] = !job->src->pending;
		unused[1] = !job->dst->pending;
		spin_unlock(&q->lock);
		if (unused[0])
			fx_buf_unmap(job->src);
		if (unused[1])
			fx_buf_unmap(job->dst);
	}
	fx_buf_put(job->src);
	fx_buf_put(job->dst);
	job->src = NULL;
	job->dst = NULL;

	spin_lock(&q->lock);
	list_add_tail(&job->link, &q->done);
	spin_unlock(&q->lock);
	wake_up_interruptible_poll(&q->wait, EPOLLIN | EPOLLRDNORM);
}

/* ---- routing ---------------------------------------------------------- */

/*
 * A destination that the user named: it has to be where the policy wants the
 * data. The default, without a policy's word, is any place of the edge.
 */
static int fx_job_check_dst(const struct fx_job *job, u32 place, u32 *reason)
{
	int err;

	if (*reason == FX_APPLIED && job->dst->place != place) {
		*reason = FX_REFUSED_PLACE;
		return -EXDEV;
	}
	err = fx_job_fits(job);
	if (err)
		*reason = FX_REFUSED_RANGE;
	return err;
}

static int fx_job_alloc_dst(struct fx_queue *q, struct fx_job *job, u32 place,
			    u64 bytes, u32 *reason)
{
	/* between the pieces of a scattered destination nothing is written */
	bool zero = job->into.stride != job->into.piece;
	struct fx_mem *mem;
	u32 why;
	int err;

	mem = fx_mem_alloc(q->graph, place, bytes, zero, &why);
	if (IS_ERR(mem)) {
		*reason = why;
		return PTR_ERR(mem);
	}
	job->dst = fx_buf_new(mem, bytes);
	if (!job->dst) {
		fx_mem_put(mem);
		*reason = FX_FAILED_MEMORY;
		return -ENOMEM;
	}
	err = fx_handle_add(q, NULL, &job->handle);
	if (err) {
		*reason = err == -ENOSPC ? FX_REFUSED_CAPACITY :
					   FX_FAILED_MEMORY;
		return err;
	}
	job->fresh = true;
	return 0;
}

static int fx_job_route(struct fx_queue *q, struct fx_job *job,
			struct fabric_ext_route_args *args)
{
	u32 *reason = &job->done.reason;
	u64 need;
	int err;

	job->done.place = FX_PLACE_NONE;
	if (READ_ONCE(q->graph->dead)) {
		*reason = FX_REFUSED_GENERATION;
		return -ENODEV;
	}
	err = fx_ask_route(q->graph, args, reason);
	if (err)
		return err;
	err = fx_job_keep(job, args->xforms, &need);
	if (err) {
		*reason = FX_REFUSED_TRANSFORM;
		return err;
	}
	if (job->dst)
		err = fx_job_check_dst(job, args->place, reason);
	else
		err = fx_job_alloc_dst(q, job, args->place, need, reason);
	job->done.place = job->dst ? job->dst->place : args->place;
	job->done.element = job->chain.to;
	job->step = clamp(args->chunk ?: FX_STEP_DEFAULT, FX_STEP_MIN,
			  FX_STEP_MAX);
	return err;
}

/**
 * fx_job_start() - route a movement and queue it
 * @q: queue
 * @job: from fx_job_new(); from here on it ends in a completion, whatever comes
 *
 * Context: process context of the submitter; may sleep.
 */
void fx_job_start(struct fx_queue *q, struct fx_job *job)
{
	struct fabric_ext_route_args args = {
		.call.edge = job->desc.edge,
		.bytes = job->desc.bytes,
		.src_place = job->src->place,
		.xforms_asked = job->desc.xforms,
	};
	int err;

	err = fx_job_route(q, job, &args);
	if (err)
		fx_job_end(q, job, err, job->done.reason, false);
	else
		fx_job_enqueue(q, job, args.priority);
}

/* ---- worker ----------------------------------------------------------- */

/* The destination was written: it serves this edge now, its dma-buf too. */
static void fx_job_mark(struct fx_queue *q, const struct fx_job *job)
{
	struct fx_buf *dst = job->dst;
	u32 edge = job->desc.edge;
	int err = 0;

	mutex_lock(&dst->lock);
	if (dst->dmabuf && READ_ONCE(dst->mem->edge) != edge)
		err = fx_tag_set(dst->dmabuf, q->graph, edge, dst->place);
	WRITE_ONCE(dst->mem->edge, edge);
	mutex_unlock(&dst->lock);
	/* -EBUSY: somebody tagged it for another graph, and that stands */
	if (err && err != -EBUSY && err != -ENODEV)
		pr_notice_ratelimited("tag: a dma-buf keeps that of the edge before edge %u: %pe\n",
				      edge, ERR_PTR(err));
}

static void fx_job_run(struct fx_queue *q, struct fx_job *job)
{
	u32 reason = job->done.reason;
	int err;

	if (READ_ONCE(q->closing)) {
		err = -ECANCELED;
		reason = FX_FAILED_CANCELLED;
	} else {
		err = fx_cpu_run(job, &q->pass, &q->closing, &reason);
	}
	if (!err)
		WRITE_ONCE(job->dst->mem->element, job->done.element);
	if (!err || reason == FX_FAILED_CHECKSUM)
		fx_job_mark(q, job);
	fx_job_end(q, job, err, reason, true);
}

/**
 * fx_queue_work() - the worker of a queue, until its lanes are empty
 * @work: in the queue; comes with a reference of it
 *
 * Context: may sleep.
 */
void fx_queue_work(struct work_struct *work)
{
	struct fx_queue *q = container_of(work, struct fx_queue, work);
	struct fx_job *job;

	while ((job = fx_job_next(q))) {
		fx_job_run(q, job);
		cond_resched();
	}
	wake_up(&q->wait);
	fx_queue_put(q);
}

/**
 * fx_engine_init() - make the workers
 *
 * Context: module init; may sleep.
 * Return: 0 or -ENOMEM.
 */
int fx_engine_init(void)
{
	fx_cpu_init();
	fx_wq = alloc_workqueue("fabric_ext", WQ_UNBOUND, 0);
	return fx_wq ? 0 : -ENOMEM;
}

/**
 * fx_engine_exit() - wait for the last movements and end the workers
 *
 * Context: module exit, when no file is open; may sleep.
 */
void fx_engine_exit(void)
{
	destroy_workqueue(fx_wq);
}
