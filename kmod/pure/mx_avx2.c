// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The block functions of mx.c for user space with AVX2; integer instructions
 * only. Bit for bit the same answers: blocks that are none of the common ones
 * go back to mx.c.
 */
#include "mx_block.h"

#ifdef FX_PURE_HAS_AVX2
#include <immintrin.h>

#define AVX2	__attribute__((__target__("avx2")))

/* How far ahead of the conversion its source is fetched, bytes. */
#define AHEAD	2048

/* The compiler is not to know where a value comes from. */
static inline AVX2 __m256i keep(__m256i v)
{
	__asm__("" : "+x" (v));
	return v;
}

/* The compiler may not read the source again, which someone may be changing. */
static inline AVX2 __m256i load_once(const void *p)
{
	return keep(_mm256_loadu_si256(p));
}

/* A constant that stays in a register, rather than being made in every block. */
static inline AVX2 __m256i keep16(s32 v)
{
	return keep(_mm256_set1_epi16((s16)v));
}

/*
 * The largest of 16 lanes, complemented, in lane 0: phminposuw finds the
 * smallest of 8.
 */
static inline AVX2 __m128i max_complement(__m256i v)
{
	__m128i m = _mm_max_epu16(_mm256_castsi256_si128(v),
				  _mm256_extracti128_si256(v, 1));

	return _mm_minpos_epu16(_mm_xor_si128(m, _mm_set1_epi16(-1)));
}

/*
 * Subnormal elements, 0 to 8 steps: how many of the eight boundaries between
 * steps k and k + 1 a magnitude is beyond. The boundary is (2k + 1) / 2 steps,
 * as bits of a bf16 relative to 2^e; a tie goes to the even step, hence it
 * belongs to k where k is even and to k + 1 where it is odd.
 */
static inline AVX2 __m256i count_steps(__m256i v, __m256i exp)
{
	static const s16 boundary[8] = {
		-18 * 128, -17 * 128 + 64 - 1,
		-16 * 128 + 32, -16 * 128 + 96 - 1,
		-15 * 128 + 16, -15 * 128 + 48 - 1,
		-15 * 128 + 80, -15 * 128 + 112 - 1,
	};
	__m256i n = _mm256_setzero_si256();
	u32 k;

	for (k = 0; k < 8; k++) {
		__m256i b = _mm256_add_epi16(exp, _mm256_set1_epi16(boundary[k]));

		n = _mm256_sub_epi16(n, _mm256_cmpgt_epi16(v, b));
	}
	return n;
}

struct quantize_consts {
	__m256i magnitude, inf, one, bias, normal, max, sign;
};

/*
 * Magnitudes to E4M3's normal codes, in 16-bit lanes; beyond 0x7e where they
 * are to be clamped.
 */
static inline AVX2 __m256i round_normal(__m256i v, __m256i bias, __m256i one)
{
	__m256i odd = _mm256_and_si256(_mm256_srli_epi16(v, 4), one);

	return _mm256_srli_epi16(_mm256_sub_epi16(_mm256_add_epi16(v, odd), bias), 4);
}

/* False: not one of the common blocks. */
static inline AVX2 bool quantize(u8 *dst, __m256i w0, __m256i w1,
				 const struct quantize_consts *k)
{
	__m256i v0 = _mm256_and_si256(w0, k->magnitude);
	__m256i v1 = _mm256_and_si256(w1, k->magnitude);
	__m128i complement = max_complement(_mm256_max_epi16(v0, v1));
	u32 max = ~(u32)_mm_cvtsi128_si32(complement) & 0xffff;
	__m256i exp, bias, normal, r0, r1;

	if (max >= FX_BF16_INF || max >> 7 < FX_MX_FAST_EXP)
		return false;
	/* the maximum's exponent field in place, in every lane */
	exp = _mm256_andnot_si256(_mm256_broadcastw_epi16(complement), k->inf);
	bias = _mm256_sub_epi16(exp, k->bias);
	r0 = round_normal(v0, bias, k->one);
	r1 = round_normal(v1, bias, k->one);
	normal = _mm256_sub_epi16(exp, k->normal);
	if (_mm256_movemask_epi8(_mm256_cmpgt_epi16(normal, _mm256_min_epi16(v0, v1)))) {
		r0 = _mm256_blendv_epi8(r0, count_steps(v0, exp),
					_mm256_cmpgt_epi16(normal, v0));
		r1 = _mm256_blendv_epi8(r1, count_steps(v1, exp),
					_mm256_cmpgt_epi16(normal, v1));
	}
	/* saturating to bytes keeps the top bit of the bf16 as that of the byte */
	r0 = _mm256_min_epu8(_mm256_packus_epi16(r0, r1), k->max);
	r1 = _mm256_and_si256(_mm256_packs_epi16(w0, w1), k->sign);
	/* packing works within halves: put the quarters back in order */
	r0 = _mm256_permute4x64_epi64(_mm256_or_si256(r0, r1), 0xd8);
	dst[0] = (max >> 7) - FX_E4M3_EMAX;
	_mm256_storeu_si256((void *)(dst + 1), r0);
	return true;
}

/* fx_mxfp8_quantize() with FX_CPU_AVX2 */
AVX2 void fx_mxfp8_quantize_avx2(u8 *dst, const u8 *src, size_t blocks)
{
	const struct quantize_consts k = {
		.magnitude = keep16(FX_BF16_MAGNITUDE),
		.inf = keep16(FX_BF16_INF),
		.one = keep16(1),
		/* to E4M3's largest exponent; and half a step, less the tie */
		.bias = keep16(15 * 128 + 7),
		.normal = keep16(14 * 128),
		.max = keep16(FX_E4M3_MAX * 0x101),
		.sign = keep16(0x8080),
	};

	for (; blocks; blocks--, src += FX_MX_BF16_BYTES, dst += FX_MXFP8_BYTES) {
		__m256i w0 = load_once(src), w1 = load_once(src + 32);

		fx_prefetch(src + AHEAD, FX_MX_BF16_BYTES);
		if (!quantize(dst, w0, w1, &k)) {
			__m256i w[2] = { w0, w1 };

			fx_mxfp8_quantize_block(dst, w);
		}
	}
}

/* 16 codes with their exponent continued below zero, as bf16. */
static inline AVX2 __m256i widen(__m128i code, __m128i zero, __m128i elem,
				 __m256i add)
{
	__m256i sign = _mm256_and_si256(_mm256_slli_epi16(_mm256_cvtepu8_epi16(elem), 8),
					_mm256_set1_epi16((s16)0x8000));
	__m256i r = _mm256_slli_epi16(_mm256_cvtepi8_epi16(code), 4);

	r = _mm256_andnot_si256(_mm256_cvtepi8_epi16(zero),
				_mm256_add_epi16(r, add));
	return _mm256_or_si256(r, sign);
}

/* False: not one of the common blocks. */
static inline AVX2 bool dequantize(u8 *dst, const u8 *src)
{
	/* f * 2^-9 as a code: leading one at exponent -2, -1 or 0 */
	const __m256i subnormal = _mm256_setr_epi8(0, -16, -8, -4, 0, 2, 4, 6,
						   0, 0, 0, 0, 0, 0, 0, 0,
						   0, -16, -8, -4, 0, 2, 4, 6,
						   0, 0, 0, 0, 0, 0, 0, 0);
	const u8 scale = src[0];
	__m256i e, c, zero, add;

	e = load_once(src + 1);
	c = _mm256_and_si256(e, _mm256_set1_epi8(0x7f));
	if (scale < FX_MX_FAST_SCALE_MIN || scale > FX_MX_FAST_SCALE_MAX ||
	    _mm256_movemask_epi8(_mm256_cmpeq_epi8(c, _mm256_set1_epi8(FX_E4M3_NAN))))
		return false;
	zero = _mm256_cmpeq_epi8(c, _mm256_setzero_si256());
	c = _mm256_blendv_epi8(c, _mm256_shuffle_epi8(subnormal, c),
			       _mm256_cmpgt_epi8(_mm256_set1_epi8(8), c));
	add = _mm256_set1_epi16((s16)((scale - 7) << 7));
	_mm256_storeu_si256((void *)dst,
			    widen(_mm256_castsi256_si128(c),
				  _mm256_castsi256_si128(zero),
				  _mm256_castsi256_si128(e), add));
	_mm256_storeu_si256((void *)(dst + 32),
			    widen(_mm256_extracti128_si256(c, 1),
				  _mm256_extracti128_si256(zero, 1),
				  _mm256_extracti128_si256(e, 1), add));
	return true;
}

/* fx_mxfp8_dequantize() with FX_CPU_AVX2 */
AVX2 void fx_mxfp8_dequantize_avx2(u8 *dst, const u8 *src, size_t blocks)
{
	for (; blocks; blocks--, src += FX_MXFP8_BYTES, dst += FX_MX_BF16_BYTES)
		if (!dequantize(dst, src))
			fx_mxfp8_dequantize_block(dst, src);
}
#endif /* FX_PURE_HAS_AVX2 */
