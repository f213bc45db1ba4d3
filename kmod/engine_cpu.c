// SPDX-License-Identifier: GPL-2.0-only
/*
 * The executor that always works: the CPU, in one pass over the source, with
 * kernel mappings of both buffers.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/dma-buf.h>
#include <linux/dma-resv.h>
#include <linux/io.h>
#include <linux/ktime.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <asm/cacheflush.h>

#include "engine.h"
#include "inject.h"
#include "pure/crc32c.h"

/* bytes of I/O memory that are brought to where pure/ can read them */
#define FX_BOUNCE	PAGE_SIZE

/* enum fx_cpu; asking traps to the hypervisor in a virtual machine */
static u32 fx_cpu;

/**
 * struct fx_run - one movement being executed
 * @job: movement
 * @pass: transforms
 * @cancel: the file was closed
 * @bounce: FX_BOUNCE bytes where the source is I/O memory, else NULL
 * @read: source bytes taken
 * @written: destination bytes written
 */
struct fx_run {
	struct fx_job *job;
	struct fx_pass *pass;
	const bool *cancel;
	void *bounce;
	u64 read;
	u64 written;
};

/* To be called between two steps. */
static int fx_run_go_on(const struct fx_run *run)
{
	cond_resched();
	return READ_ONCE(*run->cancel) ? -ECANCELED : 0;
}

/* The next source bytes, of which there are @len, maybe none. */
static const void *fx_run_source(struct fx_run *run, u64 *len)
{
	struct fx_job *job = run->job;
	u64 off;

	*len = run->job->step;
	if (run->read == job->from.bytes) {
		*len = 0;
		return NULL;
	}
	if (run->bounce)
		*len = min_t(u64, *len, FX_BOUNCE);
	off = fx_span_run(&job->from, run->read, len);
	if (!run->bounce)
		return job->src->map.vaddr + off;
	iosys_map_memcpy_from(run->bounce, &job->src->map, off, *len);
	return run->bounce;
}

static int fx_run_copy(struct fx_run *run)
{
	struct fx_job *job = run->job;
	int err;

	if (fx_pass_begin(run->pass, &job->chain, job->from.bytes, fx_cpu))
		return -EINVAL;
	while (run->written < job->into.bytes) {
		u64 src_len, dst_len = U64_MAX, off;
		size_t took, wrote;
		const void *src;

		err = fx_run_go_on(run);
		if (err)
			return err;
		src = fx_run_source(run, &src_len);
		off = fx_span_run(&job->into, run->written, &dst_len);
		if (fx_pass_step(run->pass, job->dst->map.vaddr + off, dst_len,
				 &wrote, src, src_len, &took))
			return -EIO;
		/* neither can happen; without an end it would be worse */
		if (WARN_ON_ONCE(!took && !wrote))
			return -EIO;
		run->read += took;
		run->written += wrote;
	}
	return fx_pass_end(run->pass, &job->done.bytes_out, &job->done.csum) ?
		-EIO : 0;
}

static void fx_run_inject(const struct fx_run *run)
{
	const struct fx_span *into = &run->job->into;
	u64 len = 1, off = fx_span_run(into, into->bytes / 2, &len);
	u8 *byte = run->job->dst->map.vaddr + off;

	if (fx_injected(FX_INJECT_FLIP))
		*byte ^= 1;
}

/*
 * Called twice: what is read in between differs from what is there, and what
 * is there stays as it was. The exponent of a bf16 is hit, or the element of a
 * block: neither is within a format's error.
 */
static void fx_run_inject_source(const struct fx_run *run)
{
	const struct fx_span *from = &run->job->from;
	u64 len = 1, off = fx_span_run(from, from->bytes / 2 | 1, &len);

	if (fx_injected(FX_INJECT_SOURCE) && !run->bounce && from->bytes > 2)
		*((u8 *)run->job->src->map.vaddr + off) ^= 0x40;
}

/*
 * The destination again, after all of it was written. Its lines leave the
 * caches first, so that what is summed up comes from the memory itself.
 */
static int fx_run_verify(struct fx_run *run)
{
	struct fx_job *job = run->job;
	u64 pos, len;
	u32 crc = 0;
	int err;

	for (pos = 0; pos < job->into.bytes; pos += len) {
		void *at;

		err = fx_run_go_on(run);
		if (err)
			return err;
		len = job->step;
		at = job->dst->map.vaddr + fx_span_run(&job->into, pos, &len);
		clflush_cache_range(at, len);
		crc = fx_crc32c(crc, at, len, fx_cpu);
	}
	return crc == job->done.csum ? 0 : -EILSEQ;
}

/* Wait for the fences of a dma-buf until @end, or until the queue closes. */
static int fx_fences_wait(const struct fx_run *run, struct dma_buf *dmabuf,
			  bool write, unsigned long end)
{
	enum dma_resv_usage usage = dma_resv_usage_rw(write);
	long left;

	for (;;) {
		left = dma_resv_wait_timeout(dmabuf->resv, usage, true,
					     msecs_to_jiffies(FX_FENCE_LOOK_MS));
		if (left)
			return left < 0 ? left : 0;
		if (READ_ONCE(*run->cancel))
			return -ECANCELED;
		if (time_after_eq(jiffies, end))
			return -ETIMEDOUT;
	}
}

static void fx_access_end(struct dma_buf *dmabuf, enum dma_data_direction dir)
{
	if (dmabuf)
		dma_buf_end_cpu_access(dmabuf, dir);
}

/*
 * CPU access to a dma-buf that may have fences. dma_buf_begin_cpu_access() is
 * the exporter's op and then a wait for them without an end; here it has one.
 * The op may wait for fences in its own way: those that are there already are
 * waited for before it.
 */
static int fx_access_begin(const struct fx_run *run, struct dma_buf *dmabuf,
			   enum dma_data_direction dir)
{
	unsigned long end = jiffies + msecs_to_jiffies(FX_FENCE_WAIT_MS);
	bool write = dir != DMA_FROM_DEVICE;
	int err;

	if (!dmabuf)
		return 0;
	err = fx_fences_wait(run, dmabuf, write, end);
	if (err || !dmabuf->ops->begin_cpu_access)
		return err;
	err = dmabuf->ops->begin_cpu_access(dmabuf, dir);
	if (err)
		return err;
	err = fx_fences_wait(run, dmabuf, write, end);
	if (err)
		fx_access_end(dmabuf, dir);
	return err;
}

/* With both buffers mapped and open to the CPU. */
static int fx_run_mapped(struct fx_run *run)
{
	struct fx_job *job = run->job;
	u64 begin, end;
	int err;

	fx_run_inject_source(run);
	begin = ktime_get_ns();
	err = fx_run_copy(run);
	/* the ordering point: what was written is visible before it is told */
	smp_mb();
	end = ktime_get_ns();
	job->done.ns = end - begin;
	fx_run_inject_source(run);
	job->done.bytes_in = run->read;
	if (err)
		return err;

	fx_run_inject(run);
	if (!job->verify)
		return 0;
	err = fx_run_verify(run);
	job->done.verify_ns = ktime_get_ns() - end;
	return err;
}

static int fx_run_bounce(struct fx_run *run)
{
	if (!run->job->src->map.is_iomem)
		return 0;
	run->bounce = kmalloc(FX_BOUNCE, GFP_KERNEL);
	return run->bounce ? 0 : -ENOMEM;
}

/* What the source holds may have changed since the movement was submitted. */
static bool fx_job_types_meet(struct fx_job *job)
{
	u8 holds = fx_buf_element(job->src);

	if (holds == FX_ELEM_NONE || holds == job->chain.from)
		return true;
	if (job->chain.convert != FX_XFORM_MOVE)
		return false;
	/* bytes that are only moved stay what they are */
	job->done.element = holds;
	return true;
}

static u32 fx_reason_of(int err)
{
	switch (err) {
	case -ENOMEM:
		return FX_FAILED_MEMORY;
	case -ETIMEDOUT:
		return FX_FAILED_TIMEOUT;
	case -ECANCELED:
		return FX_FAILED_CANCELLED;
	case -EILSEQ:
		return FX_FAILED_CHECKSUM;
	default:
		return FX_FAILED_IO;
	}
}

/**
 * fx_cpu_run() - execute a movement
 * @job: movement; its completion's figures are filled in
 * @pass: scratch memory
 * @cancel: becomes true when it shall stop
 * @reason: out: enum fx_reason of an error, else untouched
 *
 * Context: worker of the queue; may sleep.
 * Return: 0; -EINVAL if the source holds another element type by now,
 *	-EILSEQ if the destination differs from what was written, -ECANCELED,
 *	-ETIMEDOUT waiting for a fence, -ENOMEM, or the exporter's error.
 */
int fx_cpu_run(struct fx_job *job, struct fx_pass *pass, const bool *cancel,
	       u32 *reason)
{
	struct fx_run run = { .job = job, .pass = pass, .cancel = cancel };
	struct dma_buf *from, *into;
	int err;

	/* a buffer may be exported meanwhile: the same dma-buf, or none, for all */
	from = smp_load_acquire(&job->src->dmabuf); /* of fx_dmabuf_of() */
	into = smp_load_acquire(&job->dst->dmabuf); /* of fx_dmabuf_of() */
	if (!fx_job_types_meet(job)) {
		*reason = FX_REFUSED_TRANSFORM;
		return -EINVAL;
	}
	err = fx_access_begin(&run, from, DMA_FROM_DEVICE);
	if (err)
		goto out;
	err = fx_access_begin(&run, into, DMA_BIDIRECTIONAL);
	if (err)
		goto out_from;
	err = fx_buf_map(job->src) ?: fx_buf_map(job->dst) ?:
	      fx_run_bounce(&run);
	if (!err)
		err = fx_run_mapped(&run);
	kfree(run.bounce);
	fx_access_end(into, DMA_BIDIRECTIONAL);
out_from:
	fx_access_end(from, DMA_FROM_DEVICE);
out:
	if (err)
		*reason = fx_reason_of(err);
	return err;
}

/**
 * fx_cpu_init() - find out what this CPU can do
 *
 * Context: before the first movement.
 */
void fx_cpu_init(void)
{
	fx_cpu = fx_cpu_detect();
}
