// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * bf16 <-> MXFP8; mx.h says what it computes.
 *
 * Two ways to the same bits: fx_mxfp8_encode() and fx_mxfp8_decode() take one
 * element of any scale as the definition has it; the block functions take the
 * blocks that occur, by table, and leave the rest to them.
 */
#include "mx.h"
#include "mx_block.h"
#include "mx_tables.h"

#define LANES(x)	((x) * 0x0001000100010001ull)
#define SIGNS		LANES(0x8000ull)
#define PIECE_BLOCKS	16	/* read at a time; a KiB of stack */

/* A block as it lies in memory, in words and in signed elements. */
union block {
	u64 word[FX_MX_BF16_BYTES / 8];
	s16 elem[FX_MX_BLOCK];
};

/**
 * fx_mx_bytes - size of MXFP8 for a number of elements
 * @elems: elements
 * @bytes: out: bytes; untouched on failure
 *
 * Context: any. Return: FX_PURE_OK, FX_PURE_RAGGED where @elems is no multiple
 * of 32, FX_PURE_RANGE where the size does not fit.
 */
int fx_mx_bytes(u64 elems, u64 *bytes)
{
	if (elems % FX_MX_BLOCK)
		return FX_PURE_RAGGED;
	if (elems / FX_MX_BLOCK > ~0ull / FX_MXFP8_BYTES)
		return FX_PURE_RANGE;
	*bytes = elems / FX_MX_BLOCK * FX_MXFP8_BYTES;
	return FX_PURE_OK;
}

/**
 * fx_mx_elems - number of elements in MXFP8 of some size
 * @bytes: bytes
 * @elems: out: elements; untouched on failure
 *
 * Context: any. Return: FX_PURE_OK, or FX_PURE_RAGGED where @bytes is no
 * multiple of 33.
 */
int fx_mx_elems(u64 bytes, u64 *elems)
{
	if (bytes % FX_MXFP8_BYTES)
		return FX_PURE_RAGGED;
	*elems = bytes / FX_MXFP8_BYTES * FX_MX_BLOCK;
	return FX_PURE_OK;
}

static inline u32 log2_floor(u32 v)
{
	return 31 - (u32)__builtin_clz(v);
}

/* A bf16 magnitude is sig_of(v) * 2^(exp_of(v) - 134). */
static inline u32 sig_of(u32 v)
{
	return (v & 0x7f) | (v >> 7 ? 0x80 : 0);
}

static inline s32 exp_of(u32 v)
{
	return v >> 7 ? (s32)(v >> 7) : 1;
}

/* v * 2^n to an integer, nearest, ties to even; @v has at most 8 bits. */
static u32 round_shift(u32 v, s32 n)
{
	if (n >= 0)
		return v << n;
	if (n < -9)
		return 0;
	return FX_RNE(v, -n);
}

/**
 * fx_mxfp8_encode - one element, of any scale
 * @scale: E8M0; not NaN
 * @bf16: the value
 *
 * Context: any. Return: the E4M3 code.
 */
u8 fx_mxfp8_encode(u8 scale, u16 bf16)
{
	const u32 v = bf16 & FX_BF16_MAGNITUDE, sign = bf16 >> 8 & 0x80;
	const u32 sig = sig_of(v);
	s32 steps, top;
	u32 code;

	if (v >= FX_BF16_INF)
		return sign | FX_E4M3_NAN;
	if (!sig)
		return sign;
	/* |v| / X = sig * 2^steps, in units of the smallest element, 2^-9 */
	steps = exp_of(v) + 2 - scale;
	top = (s32)log2_floor(sig) + steps;
	if (top < 3) {
		code = round_shift(sig, steps);
	} else if (top > 17) {
		code = FX_E4M3_MAX;
	} else {
		/* four bits of significand; 16 carries into the exponent */
		code = round_shift(sig, 3 - (s32)log2_floor(sig)) +
		       (u32)(top - 3) * 8;
		if (code > FX_E4M3_MAX)
			code = FX_E4M3_MAX;
	}
	return sign | code;
}

/**
 * fx_mxfp8_decode - one element, of any scale
 * @scale: E8M0
 * @element: E4M3
 *
 * Context: any. Return: the bf16.
 */
u16 fx_mxfp8_decode(u8 scale, u8 element)
{
	const u32 c = element & 0x7f, sign = (element & 0x80u) << 8;
	const u32 sig = (c & 7) | (c >> 3 ? 8 : 0);
	/* the value is sig * 2^(unit - 133), 2^-133 being bf16's smallest */
	const s32 unit = (c >> 3 ? (s32)(c >> 3) : 1) - 10 + scale - 127 + 133;
	s32 exp;

	if (scale == FX_MX_SCALE_NAN || c == FX_E4M3_NAN)
		return sign | FX_BF16_NAN;
	if (!sig)
		return sign;
	exp = (s32)log2_floor(sig) + unit - 6;
	if (exp > 254)
		return sign | FX_BF16_INF;
	if (exp < 1)
		return sign | round_shift(sig, unit);
	return sign | (u32)exp << 7 | (sig << (7 - log2_floor(sig)) & 0x7f);
}

/* |v| in units of X * 2^-40; all ones where that is beyond comparing. */
static u64 fixed_point(u32 v, u8 scale)
{
	const s32 shift = exp_of(v) - 134 - (scale - 127) + 40;

	if (shift > 50)
		return ~0ull;
	if (shift >= 0)
		return (u64)sig_of(v) << shift;
	return shift > -8 ? sig_of(v) >> -shift : 0;
}

/**
 * fx_mxfp8_within - whether a value came back within the bound of mx.h
 * @x: bf16 before quantizing
 * @y: bf16 after dequantizing
 * @scale: E8M0 of the block in between
 *
 * What lies below X * 2^-40 is not compared. NaN and infinity must come back as
 * NaN; the sign must be kept in any case.
 *
 * Context: any. Return: true if so.
 */
bool fx_mxfp8_within(u16 x, u16 y, u8 scale)
{
	const u32 vx = x & FX_BF16_MAGNITUDE, vy = y & FX_BF16_MAGNITUDE;
	const u64 half_step = 1ull << 30, clamped = 464ull << 40;
	u64 fx, fy, error, bound;

	if ((x ^ y) & 0x8000 || scale == FX_MX_SCALE_NAN)
		return false;
	if (vx >= FX_BF16_INF)
		return vy > FX_BF16_INF;
	if (vy >= FX_BF16_INF)
		return false;
	fx = fixed_point(vx, scale);
	fy = fixed_point(vy, scale);
	if (fx > 512ull << 40 || fy > 512ull << 40)
		return false;
	error = fx > fy ? fx - fy : fy - fx;
	bound = fx > clamped ? fx / 8 : fx / 16;
	return error <= (bound > half_step ? bound : half_step);
}

/* The larger of four pairs of 15-bit lanes: b + (a - b where that is >= 0). */
static inline u64 max_lanes(u64 a, u64 b)
{
	const u64 diff = (a | SIGNS) - b, no_borrow = diff & SIGNS;

	return b + (diff & (no_borrow - (no_borrow >> 15)));
}

static inline u32 max_magnitude(const union block *in)
{
	const u64 *w = in->word;
	u64 a = max_lanes(w[0] & ~SIGNS, w[1] & ~SIGNS);
	u64 b = max_lanes(w[2] & ~SIGNS, w[3] & ~SIGNS);
	u64 c = max_lanes(w[4] & ~SIGNS, w[5] & ~SIGNS);
	u64 d = max_lanes(w[6] & ~SIGNS, w[7] & ~SIGNS);

	a = max_lanes(max_lanes(a, b), max_lanes(c, d));
	a = max_lanes(a & 0xffffffff, a >> 32);
	return max_lanes(a & 0xffff, a >> 16);
}

/* Blocks with NaN, infinity, or at the low end of bf16's range. */
static void quantize_any(u8 *dst, const union block *in)
{
	u32 i, max = 0, exp;

	for (i = 0; i < FX_MX_BLOCK; i++) {
		u32 v = in->elem[i] & FX_BF16_MAGNITUDE;

		if (v < FX_BF16_INF && v > max)
			max = v;
	}
	exp = max >> 7;
	dst[0] = exp > FX_E4M3_EMAX ? exp - FX_E4M3_EMAX : 0;
	for (i = 0; i < FX_MX_BLOCK; i++)
		dst[1 + i] = fx_mxfp8_encode(dst[0], (u16)in->elem[i]);
}

static inline void quantize_block(u8 *dst, const union block *in)
{
	const u32 max = max_magnitude(in);
	/* a block of zeros is zeros at any exponent */
	const u32 exp = max ? max >> 7 : FX_MX_FAST_EXP;
	const s16 *e = in->elem;
	const u8 *codes;
	u32 i;

	if (max >= FX_BF16_INF || exp < FX_MX_FAST_EXP) {
		quantize_any(dst, in);
		return;
	}
	dst[0] = max ? exp - FX_E4M3_EMAX : 0;
	/* stays within the table: exp is at most 254, elements at least -32768 */
	codes = fx_mx_codes.at + (-FX_MX_LOWEST - (s32)(exp << 7));
	/* whole words, because the caller's copy reads them back as such */
	for (i = 0; i < FX_MX_BLOCK; i += 8, e += 8) {
		u32 low = codes[e[0]] | codes[e[1]] << 8 |
			  codes[e[2]] << 16 | (u32)codes[e[3]] << 24;
		u32 high = codes[e[4]] | codes[e[5]] << 8 |
			   codes[e[6]] << 16 | (u32)codes[e[7]] << 24;

		fx_store64(dst + 1 + i, low | (u64)high << 32);
	}
}

/* One block; for mx_avx2.c to hand on what it does not do itself. */
void fx_mxfp8_quantize_block(u8 *dst, const void *src)
{
	union block in;

	fx_copy(&in, src, sizeof(in));
	quantize_block(dst, &in);
}

/**
 * fx_mxfp8_quantize - bf16 to MXFP8
 * @dst: 33 bytes per block, at any alignment; must not overlap @src
 * @src: 64 bytes per block, at any alignment; each byte is read once, so the
 *	result is sound even where the source changes meanwhile
 * @blocks: number of blocks
 * @cpu: set of enum fx_cpu that may be used
 *
 * Context: any; with FX_CPU_AVX2 one that may use vector registers.
 */
void fx_mxfp8_quantize(void *dst, const void *src, size_t blocks, u32 cpu)
{
	union block in[PIECE_BLOCKS];
	const u8 *s = src;
	u8 *d = dst;

#ifdef FX_PURE_HAS_AVX2
	if (cpu & FX_CPU_AVX2) {
		fx_mxfp8_quantize_avx2(d, s, blocks);
		return;
	}
#else
	(void)cpu;
#endif
	while (blocks) {
		size_t i, n = blocks < PIECE_BLOCKS ? blocks : PIECE_BLOCKS;

		fx_copy(in, s, n * FX_MX_BF16_BYTES);
		for (i = 0; i < n; i++, d += FX_MXFP8_BYTES)
			quantize_block(d, &in[i]);
		s += n * FX_MX_BF16_BYTES;
		blocks -= n;
	}
}

static inline u64 value(const struct fx_mx_value *v, u32 add)
{
	return ((v->bits + add) & v->mask) | v->fix;
}

/* One block, scale first; for mx_avx2.c, too. */
void fx_mxfp8_dequantize_block(void *dst, const u8 *src)
{
	const u8 scale = src[0], *e = src + 1;
	/* E4M3's bias is 7 and so is what is taken from the scale */
	const u32 add = ((u32)scale - 7) << 7;
	const struct fx_mx_value *v = fx_mx_values.at;
	u8 *d = dst;
	u32 i;

	if (scale < FX_MX_FAST_SCALE_MIN || scale > FX_MX_FAST_SCALE_MAX) {
		for (i = 0; i < FX_MX_BLOCK; i++, d += 2) {
			u16 bf16 = fx_mxfp8_decode(scale, e[i]);

			d[0] = (u8)bf16;
			d[1] = bf16 >> 8;
		}
		return;
	}
	for (i = 0; i < FX_MX_BLOCK; i += 4, d += 8)
		fx_store64(d, value(&v[e[i]], add) |
			      value(&v[e[i + 1]], add) << 16 |
			      value(&v[e[i + 2]], add) << 32 |
			      value(&v[e[i + 3]], add) << 48);
}

/**
 * fx_mxfp8_dequantize - MXFP8 to bf16
 * @dst: 64 bytes per block, at any alignment; must not overlap @src
 * @src: 33 bytes per block, at any alignment; must not change meanwhile, or
 *	the values of that block are arbitrary
 * @blocks: number of blocks
 * @cpu: set of enum fx_cpu that may be used
 *
 * Context: any; with FX_CPU_AVX2 one that may use vector registers.
 */
void fx_mxfp8_dequantize(void *dst, const void *src, size_t blocks, u32 cpu)
{
	const u8 *s = src;
	u8 *d = dst;

#ifdef FX_PURE_HAS_AVX2
	if (cpu & FX_CPU_AVX2) {
		fx_mxfp8_dequantize_avx2(d, s, blocks);
		return;
	}
#else
	(void)cpu;
#endif
	for (; blocks; blocks--, s += FX_MXFP8_BYTES, d += FX_MX_BF16_BYTES)
		fx_mxfp8_dequantize_block(d, s);
}
