/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The movement engine. A descriptor comes in (queue.c), is checked (desc.c),
 * routed (engine.c), executed (engine_cpu.c) and becomes a completion.
 *
 * Each open file has one queue, with one worker, so that its movements happen
 * one after the other; queues run in parallel. See fx_lane_of() for what may
 * overtake what.
 */
#ifndef FX_ENGINE_H
#define FX_ENGINE_H

#include <linux/atomic.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/ratelimit.h>
#include <linux/spinlock.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>

#include "buffer.h"
#include "graph.h"
#include "pure/transform.h"

#define FX_LANES	8	/* priorities, 7 first */
#define FX_HANDLES_MAX	65536	/* per file; -ENOSPC above */
#define FX_KEY_BITS	6

/* bytes between two looks at whether the file was closed */
#define FX_STEP_MIN	4096U
#define FX_STEP_DEFAULT	65536U
#define FX_STEP_MAX	(4U << 20)

/* A close waits that long for what runs; it is cancelled between two steps. */
#define FX_CLOSE_WAIT_MS 10000

/**
 * struct fx_span - where the bytes of a movement lie in a buffer
 * @off: of the first
 * @bytes: in all
 * @piece: contiguous bytes
 * @stride: from the begin of one piece to the begin of the next
 */
struct fx_span {
	u64 off;
	u64 bytes;
	u64 piece;
	u64 stride;
};

/**
 * struct fx_job - a movement on its way from descriptor to completion
 * @link: in the batch, then in a lane, then among what is done
 * @desc: the copy that was checked; user memory is not read again
 * @edge: of @desc
 * @cls: its class
 * @src: counted, until the movement ended
 * @dst: likewise; NULL until one is allocated
 * @fresh: @dst was allocated for this movement, under the handle @handle
 * @handle: taken, but nothing is found there before the movement succeeded
 * @chain: transforms that are left to do
 * @verify: re-read the destination
 * @from: where it reads
 * @into: where it writes
 * @lane: see fx_lane_of()
 * @step: bytes between two steps
 * @pid: of the process that submitted it
 * @done: what the user will read
 */
struct fx_job {
	struct list_head link;
	struct fx_desc desc;
	struct fx_edge *edge;
	struct fx_class *cls;
	struct fx_buf *src;
	struct fx_buf *dst;
	bool fresh;
	bool verify;
	u8 lane;
	u32 handle;
	u32 step;
	pid_t pid;
	struct fx_chain chain;
	struct fx_span from;
	struct fx_span into;
	struct fx_completion done;
};

/* Movements in each lane that read, or write, one of the buffers of a key. */
struct fx_users {
	u16 readers[FX_LANES];
	u16 writers[FX_LANES];
};

/**
 * struct fx_queue - the movements of an open file
 * @ref: held by the file and by the worker while it is queued
 * @graph: counted; never changes
 * @handles: buffers, from handle 1 on
 * @inflight: movements whose completion was not read
 * @lock: of all that follows up to @wait, and of fx_buf.pending
 * @lanes: movements that did not begin, oldest first
 * @queued: how many, and the one that runs, by lane
 * @users: by key of the buffer, for the same movements
 * @done: completions, oldest first
 * @running: the worker is queued or runs
 * @closing: the file is closed; read without the lock by the worker
 * @wait: for @done, and for the worker's end
 * @reap: who takes completions away
 * @work: the worker
 * @pass: its scratch memory
 */
struct fx_queue {
	struct kref ref;
	struct fx_graph *graph;
	struct xarray handles;
	atomic_t inflight;
	spinlock_t lock;		/* of all down to closing */
	struct list_head lanes[FX_LANES];
	unsigned int queued[FX_LANES];
	struct fx_users users[1 << FX_KEY_BITS];
	struct list_head done;
	bool running;
	bool closing;
	wait_queue_head_t wait;
	struct mutex reap;		/* who takes completions away */
	struct work_struct work;
	struct fx_pass pass;
};

/*
 * Input that was refused: one line in the log that names the field, and the
 * errno. Users of /dev/fabric_ext have no extack. One limit for all lines, so
 * that who tries all fields still reads about each.
 */
extern struct ratelimit_state fx_bad_limit;

#define fx_bad(err, fmt, ...)						\
({									\
	if (__ratelimit(&fx_bad_limit))					\
		pr_notice(fmt "\n", ##__VA_ARGS__);			\
	(err);								\
})

/* queue.c */
extern atomic64_t fx_handles_refused, fx_inflight_refused;

struct fx_queue *fx_queue_new(struct fx_graph *g);
void fx_queue_put(struct fx_queue *q);
void fx_queue_close(struct fx_queue *q);
bool fx_queue_has_done(struct fx_queue *q);
int fx_queue_submit(struct fx_queue *q, const struct fx_desc *descs, u32 n,
		    u32 *accepted);
int fx_queue_reap(struct fx_queue *q, struct fx_completion __user *to, u32 n,
		  u32 *got);

int fx_handle_add(struct fx_queue *q, struct fx_buf *buf, u32 *handle);
struct fx_buf *fx_handle_get(struct fx_queue *q, u32 handle);
int fx_handle_free(struct fx_queue *q, u32 handle);

/* engine.c */
int fx_engine_init(void);
void fx_engine_exit(void);
void fx_job_start(struct fx_queue *q, struct fx_job *job);
void fx_queue_work(struct work_struct *work);

/* desc.c */
struct fx_job *fx_job_new(struct fx_queue *q, const struct fx_desc *desc,
			  u32 index);
void fx_job_free(struct fx_job *job);
int fx_job_keep(struct fx_job *job, u32 xforms, u64 *need);
int fx_job_fits(const struct fx_job *job);

/* span.c */
bool fx_span_set(struct fx_span *span, u64 off, u64 bytes, u64 piece,
		 u64 stride, u64 *end);
u64 fx_span_run(const struct fx_span *span, u64 pos, u64 *len);

/* engine_cpu.c */
void fx_cpu_init(void);
int fx_cpu_run(struct fx_job *job, struct fx_pass *pass, const bool *cancel,
	       u32 *reason);

#endif
