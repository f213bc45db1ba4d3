// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Which chains of transforms are legal, and how many bytes come out. The
 * compiler asks before it writes a bundle; the kernel asks again of each
 * movement, of which a policy may keep only a part of the chain.
 */
#include "transform.h"

static int quantized_bytes(u64 src_len, u64 *dst_len)
{
	return src_len % 2 ? FX_PURE_RAGGED : fx_mx_bytes(src_len / 2, dst_len);
}

static int dequantized_bytes(u64 src_len, u64 *dst_len)
{
	u64 elems;
	int ret = fx_mx_elems(src_len, &elems);

	if (ret)
		return ret;
	if (elems > ~0ull / 2)
		return FX_PURE_RANGE;
	*dst_len = elems * 2;
	return FX_PURE_OK;
}

/*
 * The conversions there are. Dequantizing is lossy as a type: bf16 does not
 * have every value of MXFP8, though it has all that quantizing writes.
 */
static const struct conversion {
	u8 kind;		/* enum fx_xform */
	u8 from, to;		/* enum fx_element */
	bool lossy;
	int (*bytes)(u64 src_len, u64 *dst_len);
} conversions[] = {
	{ FX_XFORM_QUANTIZE, FX_ELEM_BF16, FX_ELEM_MXFP8, true, quantized_bytes },
	{ FX_XFORM_DEQUANTIZE, FX_ELEM_MXFP8, FX_ELEM_BF16, true, dequantized_bytes },
	{ .bytes = NULL },	/* the end */
};

static const char *const why[FX_CHAIN_FAULTS] = {
	[FX_CHAIN_OK] = "is legal",
	[FX_CHAIN_LONG] = "is one transform more than an edge can have",
	[FX_CHAIN_UNKNOWN] = "is no transform, element type or checksum that exists",
	[FX_CHAIN_FLAGS] = "carries a flag that this transform does not have",
	[FX_CHAIN_UNSUPPORTED] = "is not supported yet for this element type or algorithm",
	[FX_CHAIN_TYPE] = "takes another element type than it is given",
	[FX_CHAIN_LOSSY] = "is lossy, and the edge is exact",
	[FX_CHAIN_TWICE] = "is the second of its kind, and one pass does one",
	[FX_CHAIN_AFTER_SUM] = "changes bytes that are checksummed already: that comes last",
};

/**
 * fx_chain_why - a fault as the predicate of a sentence about the transform
 * @fault: the fault
 *
 * Context: any. Return: "takes another element type than it is given"; never
 * NULL.
 */
const char *fx_chain_why(enum fx_chain_fault fault)
{
	return (u32)fault < FX_CHAIN_FAULTS ? why[fault] : "has an unknown fault";
}

static const struct conversion *find_conversion(u8 kind, u8 from, u8 to)
{
	const struct conversion *c;

	for (c = conversions; c->bytes; c++) {
		if (c->kind == kind && c->from == from && c->to == to)
			return c;
	}
	return NULL;
}

/* Some element type can be converted so, if not the one at hand. */
static bool can_convert(u8 kind, u8 to)
{
	const struct conversion *c;

	for (c = conversions; c->bytes; c++) {
		if (c->kind == kind && c->to == to)
			return true;
	}
	return false;
}

static enum fx_chain_fault add_checksum(const struct fx_xform_desc *x,
					struct fx_chain *chain)
{
	if (x->arg == FX_CSUM_NONE || x->arg >= FX_CSUMS)
		return FX_CHAIN_UNKNOWN;
	if (chain->csum != FX_CSUM_NONE)
		return FX_CHAIN_TWICE;
	if (x->arg != FX_CSUM_CRC32C)
		return FX_CHAIN_UNSUPPORTED;
	chain->csum = x->arg;
	return FX_CHAIN_OK;
}

static enum fx_chain_fault add_conversion(const struct fx_xform_desc *x,
					  bool exact, struct fx_chain *chain)
{
	const struct conversion *c;

	if (x->arg == FX_ELEM_NONE || x->arg >= FX_ELEMS)
		return FX_CHAIN_UNKNOWN;
	if (chain->convert != FX_XFORM_MOVE)
		return FX_CHAIN_TWICE;
	if (chain->csum != FX_CSUM_NONE)
		return FX_CHAIN_AFTER_SUM;
	c = find_conversion(x->kind, chain->to, x->arg);
	if (!c)
		return can_convert(x->kind, x->arg) ? FX_CHAIN_TYPE :
						      FX_CHAIN_UNSUPPORTED;
	if (exact && c->lossy)
		return FX_CHAIN_LOSSY;
	chain->convert = c->kind;
	chain->to = c->to;
	return FX_CHAIN_OK;
}

static enum fx_chain_fault add(const struct fx_xform_desc *x, bool exact,
			       struct fx_chain *chain)
{
	const u8 flags = x->kind == FX_XFORM_CHECKSUM ? FX_XFORM_F_VERIFY : 0;

	if (x->kind >= FX_XFORMS || x->from >= FX_ELEMS)
		return FX_CHAIN_UNKNOWN;
	if (x->flags & ~flags)
		return FX_CHAIN_FLAGS;
	/* opaque bytes may be given their type where they are first used */
	if (chain->to == FX_ELEM_NONE && x->from != FX_ELEM_NONE) {
		chain->from = x->from;
		chain->to = x->from;
	}
	if (x->from != FX_ELEM_NONE && x->from != chain->to)
		return FX_CHAIN_TYPE;
	switch (x->kind) {
	case FX_XFORM_MOVE:
		return x->arg ? FX_CHAIN_UNKNOWN : FX_CHAIN_OK;
	case FX_XFORM_QUANTIZE:
	case FX_XFORM_DEQUANTIZE:
		return add_conversion(x, exact, chain);
	case FX_XFORM_CHECKSUM:
		return add_checksum(x, chain);
	default:
		return FX_CHAIN_UNSUPPORTED;
	}
}

/**
 * fx_chain_check - check an edge's transforms and fuse them
 * @xform: the transforms in order; may be NULL where @n is 0
 * @n: their number; none is a plain move
 * @element: enum fx_element of the edge, what the source holds
 * @exact: the edge takes no lossy transform
 * @chain: out: the fused chain; valid only where FX_CHAIN_OK is answered
 * @at: out: index of the transform that the answer is about; may be NULL
 *
 * A transform that states its input (from) must state what it is given; on an
 * edge of opaque bytes the first such statement says what they are.
 *
 * Context: any. Return: FX_CHAIN_OK or the first fault.
 */
enum fx_chain_fault fx_chain_check(const struct fx_xform_desc *xform, u32 n,
				   u8 element, bool exact,
				   struct fx_chain *chain, u32 *at)
{
	enum fx_chain_fault fault = FX_CHAIN_OK;
	u32 i = 0;

	chain->convert = FX_XFORM_MOVE;
	chain->csum = FX_CSUM_NONE;
	chain->from = element;
	chain->to = element;
	if (element >= FX_ELEMS)
		fault = FX_CHAIN_UNKNOWN;
	else if (n > FX_MAX_XFORMS)
		fault = FX_CHAIN_LONG;
	for (; fault == FX_CHAIN_OK && i < n; i++)
		fault = add(&xform[i], exact, chain);
	if (at)
		*at = fault == FX_CHAIN_LONG ? FX_MAX_XFORMS : i ? i - 1 : 0;
	return fault;
}

/**
 * fx_chain_bytes - how much a chain writes
 * @chain: from fx_chain_check()
 * @src_len: bytes of source
 * @dst_len: out: bytes of destination; untouched on failure
 *
 * Context: any. Return: FX_PURE_OK; FX_PURE_RAGGED where @src_len is no whole
 * number of blocks, for there is no telling padding from data on the way back;
 * FX_PURE_RANGE where the result does not fit; FX_PURE_INVALID where @chain is
 * none.
 */
int fx_chain_bytes(const struct fx_chain *chain, u64 src_len, u64 *dst_len)
{
	const struct conversion *c;

	if (chain->csum != FX_CSUM_NONE && chain->csum != FX_CSUM_CRC32C)
		return FX_PURE_INVALID;
	if (chain->convert == FX_XFORM_MOVE) {
		if (chain->from != chain->to)
			return FX_PURE_INVALID;
		*dst_len = src_len;
		return FX_PURE_OK;
	}
	c = find_conversion(chain->convert, chain->from, chain->to);
	return c ? c->bytes(src_len, dst_len) : FX_PURE_INVALID;
}
