// SPDX-License-Identifier: GPL-2.0-only
/* Gathered and scattered bytes: pieces at equal distances. */
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/overflow.h>

#include "engine.h"

/**
 * fx_span_set() - describe where bytes lie
 * @span: out
 * @off: of the first byte
 * @bytes: in all, more than 0
 * @piece: contiguous bytes; 0: all
 * @stride: from piece to piece; 0: @piece, nothing between
 * @end: out: offset of the first byte after the last
 *
 * Return: false where @end does not fit in 64 bits, or pieces overlap: then
 * the last one need not be the one that ends last.
 */
bool fx_span_set(struct fx_span *span, u64 off, u64 bytes, u64 piece,
		 u64 stride, u64 *end)
{
	u64 full, at;

	if (!piece || piece > bytes)
		piece = bytes;
	if (!stride)
		stride = piece;
	span->off = off;
	span->bytes = bytes;
	span->piece = piece;
	span->stride = stride;

	/* the last piece may be a shorter one */
	full = div64_u64(bytes - 1, piece);
	if (full && stride < piece)
		return false;
	return !check_mul_overflow(full, stride, &at) &&
	       !check_add_overflow(at, off, &at) &&
	       !check_add_overflow(at, bytes - full * piece, end);
}

/**
 * fx_span_run() - what is contiguous from a position on
 * @span: from fx_span_set()
 * @pos: bytes before it, less than @span->bytes
 * @len: in: at most; out: contiguous bytes
 *
 * Return: offset in the buffer.
 */
u64 fx_span_run(const struct fx_span *span, u64 pos, u64 *len)
{
	u64 in_piece, piece;

	if (span->stride == span->piece) {
		*len = min(*len, span->bytes - pos);
		return span->off + pos;
	}
	piece = div64_u64_rem(pos, span->piece, &in_piece);
	*len = min3(*len, span->piece - in_piece, span->bytes - pos);
	return span->off + piece * span->stride + in_piece;
}
