// SPDX-License-Identifier: GPL-2.0-only
/* What an open file has: handles of buffers, movements, completions. */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/mm.h>
#include <linux/poll.h>
#include <linux/printk.h>
#include <linux/ratelimit.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "engine.h"

DEFINE_RATELIMIT_STATE(fx_bad_limit, 5 * HZ, 250);

/* Turned away because a file had all it can have. */
atomic64_t fx_handles_refused = ATOMIC64_INIT(0);
atomic64_t fx_inflight_refused = ATOMIC64_INIT(0);

/* ---- handles ---------------------------------------------------------- */

/**
 * fx_handle_add() - give a buffer a handle
 * @q: queue of the file
 * @buf: the caller's reference goes with it; NULL reserves a handle: it stands
 *	for nothing, and storing a buffer there later needs no memory
 * @handle: out
 *
 * Context: may sleep.
 * Return: 0; -ENOSPC if the file has FX_HANDLES_MAX, -ENOMEM.
 */
int fx_handle_add(struct fx_queue *q, struct fx_buf *buf, u32 *handle)
{
	int err = xa_alloc(&q->handles, handle, buf,
			   XA_LIMIT(1, FX_HANDLES_MAX), GFP_KERNEL_ACCOUNT);

	if (err != -EBUSY)
		return err;
	atomic64_inc(&fx_handles_refused);
	return fx_bad(-ENOSPC, "all %u handles of the file are in use",
		      FX_HANDLES_MAX);
}

/**
 * fx_handle_get() - the buffer of a handle
 * @q: queue of the file
 * @handle: unchecked
 *
 * Return: the buffer with a reference for the caller, or NULL.
 */
struct fx_buf *fx_handle_get(struct fx_queue *q, u32 handle)
{
	struct fx_buf *buf;

	xa_lock(&q->handles);
	buf = xa_load(&q->handles, handle);
	if (buf)
		fx_buf_get(buf);
	xa_unlock(&q->handles);
	return buf;
}

/**
 * fx_handle_free() - forget a handle
 * @q: queue of the file
 * @handle: unchecked
 *
 * Movements that use the buffer go on.
 *
 * Context: may sleep.
 * Return: 0 or -ENOENT.
 */
int fx_handle_free(struct fx_queue *q, u32 handle)
{
	struct fx_buf *buf;

	xa_lock(&q->handles);
	buf = xa_load(&q->handles, handle);
	/* what is only reserved stays: its movement will want it */
	if (buf)
		__xa_erase(&q->handles, handle);
	xa_unlock(&q->handles);
	fx_buf_put(buf);
	return buf ? 0 : -ENOENT;
}

/* ---- queues ----------------------------------------------------------- */

/**
 * fx_queue_new() - a queue for an open file
 * @g: graph; the queue takes a reference of its own
 *
 * Context: may sleep.
 * Return: the queue or NULL without memory.
 */
struct fx_queue *fx_queue_new(struct fx_graph *g)
{
	struct fx_queue *q = kvzalloc(sizeof(*q), GFP_KERNEL_ACCOUNT);
	int lane;

	if (!q)
		return NULL;
	kref_init(&q->ref);
	q->graph = fx_graph_get(g);
	xa_init_flags(&q->handles, XA_FLAGS_ALLOC1 | XA_FLAGS_ACCOUNT);
	spin_lock_init(&q->lock);
	for (lane = 0; lane < FX_LANES; lane++)
		INIT_LIST_HEAD(&q->lanes[lane]);
	INIT_LIST_HEAD(&q->done);
	init_waitqueue_head(&q->wait);
	mutex_init(&q->reap);
	INIT_WORK(&q->work, fx_queue_work);
	return q;
}

static void fx_queue_release(struct kref *ref)
{
	struct fx_queue *q = container_of(ref, struct fx_queue, ref);
	struct fx_job *job, *next;
	unsigned long handle;
	struct fx_buf *buf;

	list_for_each_entry_safe(job, next, &q->done, link)
		fx_job_free(job);
	xa_for_each(&q->handles, handle, buf)
		fx_buf_put(buf);
	xa_destroy(&q->handles);
	fx_graph_put(q->graph);
	mutex_destroy(&q->reap);
	kvfree(q);
}

/**
 * fx_queue_put() - drop a reference
 * @q: queue
 *
 * Context: may sleep.
 */
void fx_queue_put(struct fx_queue *q)
{
	kref_put(&q->ref, fx_queue_release);
}

/**
 * fx_queue_close() - the file is closed
 * @q: queue; the caller's reference goes
 *
 * Cancels all movements. One that does not even come to its next step within
 * FX_CLOSE_WAIT_MS keeps its buffers and the queue until it does.
 *
 * Context: may sleep.
 */
void fx_queue_close(struct fx_queue *q)
{
	WRITE_ONCE(q->closing, true);
	if (wait_event_timeout(q->wait, !READ_ONCE(q->running),
			       msecs_to_jiffies(FX_CLOSE_WAIT_MS)))
		/* the worker lets go of the queue: room at places is back then */
		flush_work(&q->work);
	else
		pr_warn("graph %s: a movement does not end although its file was closed; it keeps its buffers until then\n",
			q->graph->image.name);
	fx_queue_put(q);
}

/**
 * fx_queue_has_done() - is there a completion to be read?
 * @q: queue
 *
 * Return: true if there is one now.
 */
bool fx_queue_has_done(struct fx_queue *q)
{
	return !list_empty_careful(&q->done);
}

/**
 * fx_queue_submit() - take descriptors
 * @q: queue
 * @descs: copies in kernel memory
 * @n: how many
 * @accepted: out: that many, all before the first bad one, are now movements
 *
 * Context: process context of the submitter; may sleep.
 * Return: 0, or why the first one after them was not accepted: -EAGAIN when
 *	FX_INFLIGHT_MAX completions are due, else as fx_job_new().
 */
int fx_queue_submit(struct fx_queue *q, const struct fx_desc *descs, u32 n,
		    u32 *accepted)
{
	struct fx_job *job, *next;
	LIST_HEAD(batch);
	int err = 0;
	u32 i;

	/* all are looked at before the first has an effect */
	for (i = 0; i < n; i++) {
		if (!atomic_add_unless(&q->inflight, 1, FX_INFLIGHT_MAX)) {
			atomic64_inc(&fx_inflight_refused);
			err = -EAGAIN;
			break;
		}
		job = fx_job_new(q, &descs[i], i);
		if (IS_ERR(job)) {
			atomic_dec(&q->inflight);
			err = PTR_ERR(job);
			break;
		}
		list_add_tail(&job->link, &batch);
	}
	*accepted = i;
	list_for_each_entry_safe(job, next, &batch, link) {
		list_del(&job->link);
		fx_job_start(q, job);
	}
	return err;
}

/**
 * fx_queue_reap() - read completions, oldest first
 * @q: queue
 * @to: user memory for @n
 * @n: at most
 * @got: out: that many were read and are gone
 *
 * Context: process context; may sleep.
 * Return: 0, also without any; -EFAULT, -EINTR: those read before are gone.
 */
int fx_queue_reap(struct fx_queue *q, struct fx_completion __user *to, u32 n,
		  u32 *got)
{
	struct fx_job *job;
	int err = 0;

	*got = 0;
	if (mutex_lock_interruptible(&q->reap))
		return -EINTR;
	while (*got < n) {
		spin_lock(&q->lock);
		job = list_first_entry_or_null(&q->done, struct fx_job, link);
		spin_unlock(&q->lock);
		if (!job)
			break;
		if (copy_to_user(to + *got, &job->done, sizeof(job->done))) {
			err = -EFAULT;
			break;
		}
		spin_lock(&q->lock);
		list_del(&job->link);
		spin_unlock(&q->lock);
		fx_job_free(job);
		atomic_dec(&q->inflight);
		(*got)++;
		cond_resched();
	}
	mutex_unlock(&q->reap);
	if (*got)
		wake_up_interruptible_poll(&q->wait, EPOLLOUT | EPOLLWRNORM);
	return err;
}
