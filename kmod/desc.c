// SPDX-License-Identifier: GPL-2.0-only
/*
 * From a descriptor to a movement that may be queued: every field is checked
 * here, against the graph and against the buffers. Nothing has an effect yet.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": submit: " fmt

#include <linux/pid.h>
#include <linux/printk.h>
#include <linux/sched.h>
#include <linux/slab.h>

#include "engine.h"

/* Bytes of one element that an offset must be a multiple of. */
static const u8 fx_elem_align[FX_ELEMS] = {
	[FX_ELEM_NONE]	= 1,
	[FX_ELEM_BF16]	= 2,
	[FX_ELEM_FP16]	= 2,
	[FX_ELEM_FP32]	= 4,
	[FX_ELEM_MXFP8]	= 1,	/* blocks of 33 bytes, not padded */
	[FX_ELEM_MXFP4]	= 1,
	[FX_ELEM_Q8_0]	= 1,
	[FX_ELEM_Q4_0]	= 1,
};

static int fx_desc_check_head(const struct fx_desc *d, u32 i)
{
	if (d->size != sizeof(*d))
		return fx_bad(-EINVAL, "desc %u: size %u is not %zu", i,
			      d->size, sizeof(*d));
	if (d->version != FX_UAPI_VERSION)
		return fx_bad(-EINVAL, "desc %u: version %u is not %u", i,
			      d->version, FX_UAPI_VERSION);
	if (d->flags & ~FX_DESC_F_ALL)
		return fx_bad(-EINVAL, "desc %u: flags 0x%x: only 0x%x exist",
			      i, d->flags, FX_DESC_F_ALL);
	if (d->reserved)
		return fx_bad(-EINVAL, "desc %u: reserved 0x%llx is not 0", i,
			      d->reserved);
	if (!d->bytes)
		return fx_bad(-EINVAL, "desc %u: bytes is 0", i);
	if (!d->src)
		return fx_bad(-EINVAL, "desc %u: src is 0", i);
	if (!d->dst && d->dst_off)
		return fx_bad(-EINVAL,
			      "desc %u: dst_off 0x%llx without a dst", i,
			      d->dst_off);
	return 0;
}

static int fx_desc_find_edge(struct fx_job *job, const struct fx_graph *g,
			     u32 i)
{
	const struct fx_desc *d = &job->desc;
	const struct fx_class_desc *c;
	u32 all;

	job->edge = fx_edge_at(g, d->edge);
	if (!job->edge)
		return fx_bad(-ENOENT, "desc %u: edge %u: the graph has %u", i,
			      d->edge, g->image.count[FX_SECT_EDGE]);
	job->cls = fx_class_of(g, job->edge);
	c = &job->cls->desc;
	if (d->bytes > job->edge->desc.bytes)
		return fx_bad(-ERANGE,
			      "desc %u: bytes 0x%llx: edge %u of %s has 0x%llx",
			      i, d->bytes, d->edge, c->name,
			      job->edge->desc.bytes);

	all = (1U << c->n_xforms) - 1;
	if (d->xforms == FX_DESC_XFORMS_EDGE)
		job->desc.xforms = all;
	else if (d->xforms & ~all)
		return fx_bad(-EINVAL,
			      "desc %u: xforms 0x%x: %s has the transforms 0x%x",
			      i, d->xforms, c->name, all);
	return 0;
}

static int fx_desc_find_src(struct fx_job *job, struct fx_queue *q, u32 i)
{
	const struct fx_desc *d = &job->desc;
	const struct fx_class_desc *c = &job->cls->desc;
	u64 end;

	job->src = fx_handle_get(q, d->src);
	if (!job->src)
		return fx_bad(-ENOENT, "desc %u: src %u: no such buffer", i,
			      d->src);
	if (job->src->place != c->from)
		return fx_bad(-EINVAL,
			      "desc %u: src %u lies at %s, but %s moves from %s",
			      i, d->src,
			      fx_place_at(q->graph, job->src->place)->desc.name,
			      c->name,
			      fx_place_at(q->graph, c->from)->desc.name);
	if (d->src_off % fx_elem_align[c->element])
		return fx_bad(-EINVAL,
			      "desc %u: src_off 0x%llx is no multiple of %u", i,
			      d->src_off, fx_elem_align[c->element]);
	if (!fx_span_set(&job->from, d->src_off, d->bytes, c->chunk, c->stride,
			 &end))
		return fx_bad(-ERANGE,
			      "desc %u: src_off 0x%llx + bytes 0x%llx overflow",
			      i, d->src_off, d->bytes);
	if (end > job->src->bytes)
		return fx_bad(-ERANGE,
			      "desc %u: src_off 0x%llx + bytes 0x%llx end at 0x%llx, buffer %u of 0x%llx bytes before",
			      i, d->src_off, d->bytes, end, d->src,
			      job->src->bytes);
	return 0;
}

static bool fx_class_goes_to(const struct fx_class_desc *c, u16 place)
{
	u16 i;

	for (i = 0; i < c->n_to; i++) {
		if (c->to[i] == place)
			return true;
	}
	return false;
}

static int fx_desc_find_dst(struct fx_job *job, struct fx_queue *q, u32 i)
{
	const struct fx_desc *d = &job->desc;
	const struct fx_class_desc *c = &job->cls->desc;

	if (!d->dst)
		return 0;
	job->dst = fx_handle_get(q, d->dst);
	if (!job->dst)
		return fx_bad(-ENOENT, "desc %u: dst %u: no such buffer", i,
			      d->dst);
	if (!job->dst->mem)
		return fx_bad(-EINVAL,
			      "desc %u: dst %u: a dma-buf of another exporter is not written to",
			      i, d->dst);
	if (!fx_class_goes_to(c, job->dst->place))
		return fx_bad(-EINVAL,
			      "desc %u: dst %u lies at %s, where %s does not move to",
			      i, d->dst,
			      fx_place_at(q->graph, job->dst->place)->desc.name,
			      c->name);
	if (d->dst_off % fx_elem_align[job->chain.to])
		return fx_bad(-EINVAL,
			      "desc %u: dst_off 0x%llx is no multiple of %u", i,
			      d->dst_off, fx_elem_align[job->chain.to]);
	return 0;
}

/* The transforms that a mask keeps, as one chain. */
static enum fx_chain_fault fx_chain_of(const struct fx_class_desc *c,
				       u32 xforms, struct fx_chain *chain,
				       bool *verify, u32 *at)
{
	struct fx_xform_desc kept[FX_MAX_XFORMS];
	u8 index[FX_MAX_XFORMS + 1] = {};
	enum fx_chain_fault fault;
	u32 i, n = 0;

	*verify = false;
	for (i = 0; i < c->n_xforms; i++) {
		if (!(xforms & (1U << i)))
			continue;
		if (c->xform[i].kind == FX_XFORM_CHECKSUM &&
		    c->xform[i].flags & FX_XFORM_F_VERIFY)
			*verify = true;
		index[n] = i;
		kept[n] = c->xform[i];
		/*
		 * A checksum sums up bytes, whatever they stand for: what the
		 * graph says of its input holds for the whole chain, and a
		 * policy may have left the conversion before it out.
		 */
		if (kept[n].kind == FX_XFORM_CHECKSUM)
			kept[n].from = FX_ELEM_NONE;
		n++;
	}
	fault = fx_chain_check(kept, n, c->element,
			       c->flags & FX_CLASS_F_EXACT, chain, at);
	*at = index[*at];
	return fault;
}

/*
 * Sets chain, verify and destination span of a movement. @at: transform that
 * an error is about, or n_xforms if it is about lengths.
 */
static enum fx_chain_fault fx_job_chain(struct fx_job *job, u32 xforms,
					u64 *need, u32 *at)
{
	const struct fx_class_desc *c = &job->cls->desc;
	u64 bytes, piece = 0, off = job->desc.dst ? job->desc.dst_off : 0;
	enum fx_chain_fault fault;

	fault = fx_chain_of(c, xforms, &job->chain, &job->verify, at);
	if (fault)
		return fault;
	job->verify |= job->desc.flags & FX_DESC_F_VERIFY;
	/* there is something to compare with only if it was summed up */
	if (job->verify)
		job->chain.csum = FX_CSUM_CRC32C;

	*at = c->n_xforms;
	if (fx_chain_bytes(&job->chain, job->desc.bytes, &bytes))
		return FX_CHAIN_TYPE;
	if (c->to_stride && c->chunk < job->desc.bytes &&
	    (fx_chain_bytes(&job->chain, c->chunk, &piece) ||
	     c->to_stride < piece))
		return FX_CHAIN_TYPE;
	/* an end beyond 64 bits is found again: it fits into no buffer */
	if (!fx_span_set(&job->into, off, bytes, piece,
			 piece ? c->to_stride : 0, need))
		*need = U64_MAX;
	return FX_CHAIN_OK;
}

/**
 * fx_job_keep() - keep a part of the transforms
 * @job: movement
 * @xforms: bit i: the edge's i-th transform
 * @need: out: size that a destination needs at least, bytes
 *
 * Context: process context.
 * Return: 0; -EINVAL if they do not fit each other or the number of bytes,
 *	-EOPNOTSUPP if the engine has one of them not.
 */
int fx_job_keep(struct fx_job *job, u32 xforms, u64 *need)
{
	enum fx_chain_fault fault;
	u32 at;

	fault = fx_job_chain(job, xforms, need, &at);
	if (!fault)
		return 0;
	return fault == FX_CHAIN_UNSUPPORTED ? -EOPNOTSUPP : -EINVAL;
}

/**
 * fx_job_fits() - does what is written fit into the destination?
 * @job: with chain and destination
 *
 * Return: 0; -ERANGE if it ends behind the buffer, -EINVAL if it overlaps what
 *	is read.
 */
int fx_job_fits(const struct fx_job *job)
{
	struct fx_span span;
	u64 from_end, into_end;

	if (!fx_span_set(&span, job->into.off, job->into.bytes,
			 job->into.piece, job->into.stride, &into_end) ||
	    into_end > job->dst->bytes)
		return -ERANGE;
	if (!fx_buf_same(job->src, job->dst))
		return 0;
	if (!fx_span_set(&span, job->from.off, job->from.bytes,
			 job->from.piece, job->from.stride, &from_end))
		return -ERANGE;
	if (job->from.off < into_end && job->into.off < from_end)
		return -EINVAL;
	return 0;
}

static int fx_desc_check_chain(struct fx_job *job, u32 i)
{
	const struct fx_desc *d = &job->desc;
	const struct fx_class_desc *c = &job->cls->desc;
	enum fx_chain_fault fault;
	u64 need;
	u32 at;

	fault = fx_job_chain(job, d->xforms, &need, &at);
	if (!fault)
		return 0;
	if (at < c->n_xforms)
		return fx_bad(fault == FX_CHAIN_UNSUPPORTED ? -EOPNOTSUPP :
							      -EINVAL,
			      "desc %u: xforms 0x%x: transform %u of %s %s", i,
			      d->xforms, at, c->name, fx_chain_why(fault));
	return fx_bad(-EINVAL,
		      "desc %u: bytes 0x%llx: no whole number of blocks for the transforms 0x%x of %s and its pieces of 0x%llx",
		      i, d->bytes, d->xforms, c->name, c->chunk);
}

static int fx_desc_check_fit(struct fx_job *job, u32 i)
{
	const struct fx_desc *d = &job->desc;
	int err;

	if (!job->dst)
		return 0;
	err = fx_job_fits(job);
	if (err == -ERANGE)
		return fx_bad(err,
			      "desc %u: dst_off 0x%llx: the 0x%llx bytes written do not end within buffer %u of 0x%llx bytes",
			      i, d->dst_off, job->into.bytes, d->dst,
			      job->dst->bytes);
	if (err)
		return fx_bad(err,
			      "desc %u: src_off 0x%llx and dst_off 0x%llx: the ranges overlap in one buffer",
			      i, d->src_off, d->dst_off);
	return 0;
}

/**
 * fx_job_new() - check a descriptor
 * @q: of the file that submits it
 * @desc: copy in kernel memory
 * @index: in its batch, for the message
 *
 * Context: process context of the submitter; may sleep.
 * Return: the movement, or ERR_PTR(): -EINVAL a field is wrong by itself or
 *	does not go with the edge, -ENOENT there is no such edge or buffer,
 *	-ERANGE bytes lie outside of a buffer or edge, -EOPNOTSUPP the engine
 *	does not have the transform, -ENOMEM.
 */
struct fx_job *fx_job_new(struct fx_queue *q, const struct fx_desc *desc,
			  u32 index)
{
	struct fx_job *job;
	int err;

	err = fx_desc_check_head(desc, index);
	if (err)
		return ERR_PTR(err);
	job = kzalloc(sizeof(*job), GFP_KERNEL_ACCOUNT);
	if (!job)
		return ERR_PTR(-ENOMEM);
	job->desc = *desc;
	job->pid = task_tgid_nr(current);

	err = fx_desc_find_edge(job, q->graph, index) ?:
	      fx_desc_check_chain(job, index) ?:
	      fx_desc_find_src(job, q, index) ?:
	      fx_desc_find_dst(job, q, index) ?:
	      fx_desc_check_fit(job, index);
	if (!err)
		return job;
	fx_job_free(job);
	return ERR_PTR(err);
}

/**
 * fx_job_free() - forget a movement
 * @job: not queued
 *
 * Context: may sleep.
 */
void fx_job_free(struct fx_job *job)
{
	fx_buf_put(job->src);
	fx_buf_put(job->dst);
	kfree(job);
}
