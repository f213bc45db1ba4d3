// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Transforms: each takes the element that the one before leaves, whole blocks
 * of it, and an exact edge loses nothing. What a transform takes and leaves is
 * one table; what this version cannot run yet is refused by name.
 */
#include "check.h"
#include "codes.h"
#include "elements.h"

const struct fx_element_info fx_element_info[FX_ELEMS] = {
	[FX_ELEM_NONE] = { 1, 1 },
	[FX_ELEM_BF16] = { 1, 2 },
	[FX_ELEM_FP16] = { 1, 2 },
	[FX_ELEM_FP32] = { 1, 4 },
	[FX_ELEM_MXFP8] = { 32, 33, true },
	[FX_ELEM_MXFP4] = { 32, 17, true },
	[FX_ELEM_Q8_0] = { 32, 34, true },
	[FX_ELEM_Q4_0] = { 32, 18, true },
};

static const char *name(u8 element)
{
	return element == FX_ELEM_NONE ? "bytes without an element" :
	       fx_name(&fx_elements, element);
}

static struct fx_diag *chain_error(struct fx_graph *g, const struct fx_class *c,
				   const struct fx_xform_decl *x, u8 in,
				   const char *wants)
{
	const struct fx_xform_decl *before = x > c->xform ? x - 1 : NULL;
	struct fx_diag *d;

	if (!before && in == FX_ELEM_NONE) {
		d = fx_diag(g->diags, FX_E_ELEMENT, x->pos,
			    "'%s' takes %s, and '%s' does not say its element",
			    fx_name(&fx_xforms, x->kind), wants, c->name);
		fx_diag_help(d, "add element: bf16 to the edge");
		return d;
	}
	d = fx_diag(g->diags, before ? FX_E_CHAIN : FX_E_ELEMENT, x->pos,
		    "'%s' takes %s and is given %s",
		    fx_name(&fx_xforms, x->kind), wants, name(in));
	if (before)
		fx_diag_note(d, before->pos, "'%s' leaves %s",
			     fx_name(&fx_xforms, before->kind), name(in));
	else
		fx_diag_note(d, c->element_pos, "as the edge says here");
	return d;
}

/* `from:` repeats what arrives, so that a reader of the graph sees it. */
static bool from_matches(struct fx_graph *g, const struct fx_class *c,
			 const struct fx_xform_decl *x, u8 in)
{
	if (x->from == FX_ELEM_NONE || x->from == in)
		return true;
	chain_error(g, c, x, in, name(x->from));
	return false;
}

static bool quantize(struct fx_graph *g, const struct fx_class *c,
		     struct fx_xform_decl *x, u8 in)
{
	if (!from_matches(g, c, x, in))
		return false;
	if (in == FX_ELEM_NONE || fx_element_info[in].blocks) {
		chain_error(g, c, x, in, "bf16");
		return false;
	}
	if (!fx_element_info[x->to].blocks) {
		fx_diag_help(fx_diag(g->diags, FX_E_ELEMENT, x->to_pos,
				     "'quantize' cannot leave %s", name(x->to)),
			     "it leaves mxfp8");
		return false;
	}
	if (c->exact) {
		fx_diag_note(fx_diag(g->diags, FX_E_LOSSY, x->pos,
				     "'quantize' loses precision, and '%s' is exact",
				     c->name),
			     c->exact_pos, "it is declared exact here");
		return false;
	}
	if (in != FX_ELEM_BF16)
		fx_diag(g->diags, FX_E_NYET_ELEMENT, x->pos,
			"not supported yet: 'quantize' from %s; it takes bf16",
			name(in));
	else if (x->to != FX_ELEM_MXFP8)
		fx_diag(g->diags, FX_E_NYET_ELEMENT, x->to_pos,
			"not supported yet: 'quantize' to %s; it leaves mxfp8",
			name(x->to));
	else
		x->out = x->to;
	return x->out;
}

static bool dequantize(struct fx_graph *g, const struct fx_class *c,
		       struct fx_xform_decl *x, u8 in)
{
	u8 to = x->to == FX_ELEM_NONE ? FX_ELEM_BF16 : x->to;

	if (!from_matches(g, c, x, in))
		return false;
	if (!fx_element_info[in].blocks) {
		chain_error(g, c, x, in, "mxfp8");
		return false;
	}
	if (fx_element_info[to].blocks) {
		fx_diag_help(fx_diag(g->diags, FX_E_ELEMENT, x->to_pos,
				     "'dequantize' cannot leave %s", name(to)),
			     "it leaves bf16");
		return false;
	}
	if (in != FX_ELEM_MXFP8)
		fx_diag(g->diags, FX_E_NYET_ELEMENT, x->pos,
			"not supported yet: 'dequantize' from %s; it takes mxfp8",
			name(in));
	else if (to != FX_ELEM_BF16)
		fx_diag(g->diags, FX_E_NYET_ELEMENT, x->to_pos,
			"not supported yet: 'dequantize' to %s; it leaves bf16",
			name(to));
	else
		x->out = to;
	return x->out;
}

static bool checksum(struct fx_graph *g, const struct fx_class *c,
		     struct fx_xform_decl *x, u8 in)
{
	const struct fx_xform_decl *end = c->xform + c->n_xform;

	x->out = in;
	if (x->algo == FX_CSUM_NONE)
		fx_diag(g->diags, FX_E_WORD, x->pos,
			"a checksum without an algorithm is none");
	else if (x->verify_algo && x->verify_algo != x->algo)
		fx_diag_note(fx_diag(g->diags, FX_E_VERIFIER, x->verify_pos,
				     "the verifier computes %s, and the checksum is %s",
				     fx_name(&fx_checksums, x->verify_algo),
				     fx_name(&fx_checksums, x->algo)),
			     x->pos, "the checksum is here");
	else if (x->algo != FX_CSUM_CRC32C)
		fx_diag(g->diags, FX_E_NYET_CHECKSUM, x->pos,
			"not supported yet: the checksum %s; crc32c is",
			fx_name(&fx_checksums, x->algo));
	for (const struct fx_xform_decl *y = x + 1; y < end; y++) {
		if (y->kind == FX_XFORM_MOVE)
			continue;
		fx_diag_note(fx_diag(g->diags, FX_E_CHAIN, x->pos,
				     "'checksum' covers the bytes written and comes last"),
			     y->pos, "'%s' stands behind it",
			     fx_name(&fx_xforms, y->kind));
		return false;
	}
	return true;
}

static bool move(struct fx_graph *g, const struct fx_class *c,
		 struct fx_xform_decl *x, u8 in)
{
	(void)g;
	(void)c;
	x->out = in;
	return true;
}

/* Without an entry: refused by support.c, the chain ends there. */
static bool (*const check_xform[FX_XFORMS])(struct fx_graph *g,
					     const struct fx_class *c,
					     struct fx_xform_decl *x, u8 in) = {
	[FX_XFORM_MOVE] = move,
	[FX_XFORM_QUANTIZE] = quantize,
	[FX_XFORM_DEQUANTIZE] = dequantize,
	[FX_XFORM_CHECKSUM] = checksum,
};

static bool whole(const struct fx_class *c, const struct fx_xform_decl *x)
{
	return x->kind == FX_XFORM_QUANTIZE && c->element == x->in;
}

/* Bytes that instances are multiples of: an element, or a block to quantize. */
static u64 granule(const struct fx_class *c)
{
	const struct fx_element_info *e = &fx_element_info[c->element];
	u64 n = e->bytes;

	for (u32 i = 0; i < c->n_xform; i++)
		if (whole(c, &c->xform[i]) && c->xform[i].out)
			n = (u64)fx_element_info[c->xform[i].out].elems *
			    e->bytes / e->elems;
	return n;
}

static void check_blocks(struct fx_graph *g, const struct fx_class *c)
{
	const struct fx_field *chunk = &c->field[FX_F_CHUNK];
	u64 n = granule(c);
	const char *of = n == fx_element_info[c->element].bytes ?
			 name(c->element) : "a block of 32";

	if (chunk->expr && chunk->value % n)
		fx_diag(g->diags, FX_E_BLOCK, chunk->pos,
			"pieces of %llu bytes are no multiple of %llu, the bytes of %s",
			chunk->value, n, of);
	for (u32 k = 0; k < c->count; k++) {
		u64 bytes = g->edge[c->first + k].bytes;

		if (!(bytes % n))
			continue;
		fx_note_instance(fx_diag(g->diags, FX_E_BLOCK,
					 c->field[FX_F_BYTES].pos,
					 "%llu bytes are no multiple of %llu, the bytes of %s",
					 bytes, n, of), c, k);
		break;
	}
}

u64 fx_bytes_out(const struct fx_class *c, u64 bytes)
{
	u8 out = c->element;

	for (u32 i = 0; i < c->n_xform; i++)
		out = c->xform[i].out;
	return bytes / fx_element_info[c->element].bytes *
	       fx_element_info[c->element].elems /
	       fx_element_info[out].elems * fx_element_info[out].bytes;
}

static void check_shape(struct fx_graph *g, const struct fx_class *c)
{
	static const enum fx_field_id strides[] = { FX_F_STRIDE, FX_F_TO_STRIDE };
	u64 piece[ARRAY_SIZE(strides)];
	const struct fx_field *chunk = &c->field[FX_F_CHUNK];

	if (!chunk->expr)
		return;
	/* at the destination a piece is as small as its chain makes it */
	piece[0] = chunk->value;
	piece[1] = fx_bytes_out(c, chunk->value);
	for (u32 i = 0; i < ARRAY_SIZE(strides); i++) {
		const struct fx_field *s = &c->field[strides[i]];

		if (s->expr && s->value < piece[i])
			fx_diag_note(fx_diag(g->diags, FX_E_SHAPE, s->pos,
					     "pieces of %llu bytes overlap at a stride of %llu",
					     piece[i], s->value),
				     chunk->pos, "the piece is this long");
	}
	for (u32 k = 0; k < c->count; k++) {
		u64 bytes = g->edge[c->first + k].bytes;

		if (!(bytes % chunk->value))
			continue;
		fx_note_instance(fx_diag(g->diags, FX_E_SHAPE, chunk->pos,
					 "%llu bytes are not whole pieces of %llu",
					 bytes, chunk->value), c, k);
		break;
	}
}

static void check_chain(struct fx_graph *g, struct fx_class *c)
{
	u8 in = c->element;
	bool meets = true;

	for (u32 i = 0; i < c->n_xform && meets; i++) {
		struct fx_xform_decl *x = &c->xform[i];

		x->in = in;
		meets = check_xform[x->kind] &&
			check_xform[x->kind](g, c, x, in);
		in = x->out;
	}
	check_blocks(g, c);
	check_shape(g, c);
	if (!c->n_xform || !meets)
		return;
	fx_oblige(g, "transform.chain", FX_PROVED, c - g->cls,
		  "each transform takes what the one before leaves, in whole blocks",
		  "compile: types of the chain, size of every instance");
	fx_oblige(g, "transform.subset", FX_RUN_TIME, c - g->cls,
		  "what a policy keeps of the chain is a chain too",
		  "kernel: check of the verdict of route");
	if (c->exact)
		fx_oblige(g, "transform.exact", FX_PROVED, c - g->cls,
			  "nothing on an exact edge loses precision",
			  "compile: no lossy transform in the chain");
}

void fx_check_types(struct fx_graph *g)
{
	for (u32 i = 0; i < g->n_cls; i++)
		check_chain(g, &g->cls[i]);
}
