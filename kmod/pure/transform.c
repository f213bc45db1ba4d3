// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * One pass over a source: transform.h has the interface and its rules.
 *
 * A plain move goes from segment to segment. A conversion goes through the
 * bounce, which stays in the first-level cache: blocks of 33 bytes end where no
 * word does, and slow memory should see whole words; and there the checksum
 * reads what is about to be written. The bounce is two parts, source bytes that
 * wait and destination bytes that wait.
 */
#include "transform.h"
#include "crc32c.h"

/*
 * @direct: the function reads each source byte once, and whole words where the
 * source is aligned, so that it may run on the source itself; only a block that
 * straddles two segments is put together in the bounce. Otherwise all of the
 * source goes there, @piece bytes at a time, and a rest of less than a block
 * may precede them.
 */
static const struct converter {
	void (*run)(void *dst, const void *src, size_t blocks, u32 cpu);
	u32 src_block, dst_block;	/* bytes */
	u32 blocks;			/* converted at a time */
	u32 piece;			/* bytes */
	u32 out;			/* where its part of the bounce begins */
	bool direct;
} converters[] = {
	[FX_XFORM_QUANTIZE] = {
		.run = fx_mxfp8_quantize,
		.src_block = FX_MX_BF16_BYTES,
		.dst_block = FX_MXFP8_BYTES,
		.blocks = 120,
		.out = 64,
		.direct = true,
	},
	[FX_XFORM_DEQUANTIZE] = {
		.run = fx_mxfp8_dequantize,
		.src_block = FX_MXFP8_BYTES,
		.dst_block = FX_MX_BF16_BYTES,
		.blocks = 40,
		.piece = 40 * FX_MXFP8_BYTES,
		.out = 1408,
	},
};

static_assert(64 + 120 * FX_MXFP8_BYTES <= FX_PASS_BOUNCE, "quantize");
static_assert(41 * FX_MXFP8_BYTES - 1 <= 1408 &&
	      1408 + 40 * FX_MX_BF16_BYTES <= FX_PASS_BOUNCE, "dequantize");

/* What is left of the caller's two segments. */
struct segments {
	u8 *dst;
	size_t dst_len;
	const u8 *src;
	size_t src_len;
};

static void advance_src(struct fx_pass *pass, struct segments *seg, size_t n)
{
	seg->src += n;
	seg->src_len -= n;
	pass->left -= n;
}

/* All bytes of the destination are written here, and checksummed with it. */
static void write_out(struct fx_pass *pass, struct segments *seg,
		      const u8 *from, size_t n)
{
	if (pass->chain.csum == FX_CSUM_CRC32C)
		pass->crc = fx_crc32c_copy(pass->crc, seg->dst, from, n, pass->cpu);
	else
		fx_copy(seg->dst, from, n);
	seg->dst += n;
	seg->dst_len -= n;
	pass->written += n;
}

static void move(struct fx_pass *pass, struct segments *seg)
{
	const size_t n = seg->src_len < seg->dst_len ? seg->src_len : seg->dst_len;

	write_out(pass, seg, seg->src, n);
	advance_src(pass, seg, n);
}

/* Convert @blocks of @src, which is the source or in the bounce; none waits. */
static void convert(struct fx_pass *pass, const struct converter *c,
		    const struct segments *seg, const u8 *src, size_t blocks)
{
	pass->out_at = 0;
	pass->out_fill = blocks * c->dst_block;
	/* the lines arrive while the blocks are converted */
	fx_prefetchw(seg->dst, seg->dst_len < pass->out_fill ? seg->dst_len :
							       pass->out_fill);
	c->run((u8 *)pass->bounce + c->out, src, blocks, pass->cpu);
}

/* Convert the next piece, if the source has one; false: it has not. */
static bool produce(struct fx_pass *pass, const struct converter *c,
		    struct segments *seg)
{
	u8 *in = (u8 *)pass->bounce;
	size_t blocks, room, used;

	if (c->direct && !pass->in_fill && seg->src_len >= c->src_block) {
		blocks = seg->src_len / c->src_block;
		if (blocks > c->blocks)
			blocks = c->blocks;
		convert(pass, c, seg, seg->src, blocks);
		advance_src(pass, seg, blocks * c->src_block);
		return true;
	}
	/* a constant piece keeps reads as aligned as the segment is */
	room = c->direct ? c->src_block - pass->in_fill : c->piece;
	if (room > seg->src_len)
		room = seg->src_len;
	fx_copy(in + pass->in_fill, seg->src, room);
	advance_src(pass, seg, room);
	pass->in_fill += room;
	blocks = pass->in_fill / c->src_block;
	if (!blocks)
		return false;
	convert(pass, c, seg, in, blocks);
	/* less than a block is left: what it moves over has been converted */
	used = blocks * c->src_block;
	pass->in_fill -= used;
	fx_copy(in, in + used, pass->in_fill);
	return true;
}

static void drain(struct fx_pass *pass, const struct converter *c,
		  struct segments *seg)
{
	size_t n = pass->out_fill - pass->out_at;

	if (n > seg->dst_len)
		n = seg->dst_len;
	write_out(pass, seg, (u8 *)pass->bounce + c->out + pass->out_at, n);
	pass->out_at += n;
}

/**
 * fx_pass_begin - announce a movement
 * @pass: to be initialised
 * @chain: from fx_chain_check(); copied
 * @src_len: bytes of source in all its segments
 * @cpu: set of enum fx_cpu that may be used
 *
 * Context: any. Return: FX_PURE_OK, or what fx_chain_bytes() says against it.
 */
int fx_pass_begin(struct fx_pass *pass, const struct fx_chain *chain,
		  u64 src_len, u32 cpu)
{
	u64 dst_len;
	int ret = fx_chain_bytes(chain, src_len, &dst_len);

	if (ret)
		return ret;
	pass->chain = *chain;
	pass->cpu = cpu;
	pass->crc = 0;
	pass->left = src_len;
	pass->written = 0;
	pass->in_fill = 0;
	pass->out_at = 0;
	pass->out_fill = 0;
	return FX_PURE_OK;
}

/**
 * fx_pass_step - go on with the next segments
 * @pass: begun
 * @dst: where the next destination bytes go
 * @dst_len: room there, bytes; 0 is allowed
 * @wrote: out: destination bytes written
 * @src: the next source bytes; must not overlap @dst
 * @src_len: their number; 0 is allowed
 * @took: out: source bytes taken
 *
 * Ends when @dst is full or @src is used up. Both can be: then the last bytes
 * taken may still wait inside @pass, and come out first at the next step. The
 * bytes of a step may be reused as soon as it returns.
 *
 * Context: any. Return: FX_PURE_OK; FX_PURE_EXCESS, with nothing done, where
 * @src_len is more than is left of what was announced.
 */
int fx_pass_step(struct fx_pass *pass, void *dst, size_t dst_len, size_t *wrote,
		 const void *src, size_t src_len, size_t *took)
{
	struct segments seg = { dst, dst_len, src, src_len };

	*wrote = 0;
	*took = 0;
	if (src_len > pass->left)
		return FX_PURE_EXCESS;
	if (pass->chain.convert == FX_XFORM_MOVE) {
		move(pass, &seg);
	} else {
		const struct converter *c = &converters[pass->chain.convert];

		for (;;) {
			drain(pass, c, &seg);
			if (pass->out_at < pass->out_fill || !seg.src_len)
				break;
			if (!produce(pass, c, &seg))
				break;
		}
	}
	*wrote = dst_len - seg.dst_len;
	*took = src_len - seg.src_len;
	return FX_PURE_OK;
}

/**
 * fx_pass_end - confirm that a movement is complete
 * @pass: begun and stepped
 * @written: out: destination bytes; may be NULL
 * @crc: out: checksum of them as of the chain, 0 without one; may be NULL
 *
 * Context: any. Return: FX_PURE_OK; FX_PURE_SHORT where source bytes are
 * missing or destination bytes have not been written yet.
 */
int fx_pass_end(const struct fx_pass *pass, u64 *written, u32 *crc)
{
	/* the announced length is whole blocks: with all taken, none is begun */
	if (pass->left || pass->out_at < pass->out_fill)
		return FX_PURE_SHORT;
	if (written)
		*written = pass->written;
	if (crc)
		*crc = pass->crc;
	return FX_PURE_OK;
}

/**
 * fx_pass_run - a whole movement between two buffers
 * @pass: working memory
 * @chain: from fx_chain_check()
 * @dst: destination
 * @dst_len: room there, bytes; may be more than is needed
 * @src: source
 * @src_len: bytes of source
 * @cpu: set of enum fx_cpu that may be used
 * @written: out: destination bytes; may be NULL
 * @crc: out: as of fx_pass_end(); may be NULL
 *
 * Context: any. Return: FX_PURE_OK; what fx_chain_bytes() says against it;
 * FX_PURE_NOSPACE; FX_PURE_OVERLAP. Nothing is written on failure.
 */
int fx_pass_run(struct fx_pass *pass, const struct fx_chain *chain,
		void *dst, size_t dst_len, const void *src, size_t src_len,
		u32 cpu, u64 *written, u32 *crc)
{
	const unsigned long d = (unsigned long)dst, s = (unsigned long)src;
	size_t wrote, took;
	u64 need;
	int ret = fx_chain_bytes(chain, src_len, &need);

	if (ret)
		return ret;
	if (need > dst_len)
		return FX_PURE_NOSPACE;
	if (d < s ? need > s - d : src_len > d - s)
		return FX_PURE_OVERLAP;
	ret = fx_pass_begin(pass, chain, src_len, cpu);
	if (ret)
		return ret;
	ret = fx_pass_step(pass, dst, need, &wrote, src, src_len, &took);
	if (ret)
		return ret;
	return fx_pass_end(pass, written, crc);
}
