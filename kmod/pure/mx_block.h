/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What mx.c and mx_avx2.c know of each other. */
#ifndef FABRIC_EXT_MX_BLOCK_H
#define FABRIC_EXT_MX_BLOCK_H

#include "mx.h"

#define FX_BF16_MAGNITUDE	0x7fff
#define FX_BF16_INF		0x7f80
#define FX_BF16_NAN		0x7fc0
#define FX_E4M3_MAX		0x7e
#define FX_E4M3_NAN		0x7f
#define FX_E4M3_EMAX		8	/* 256 is its largest power of two */

/*
 * Let e be the exponent field of a block's maximum. From 19 on a bf16 subnormal
 * is less than half a step of an element and rounds to zero, so that an
 * element's code depends only on how far its bits are from e.
 */
#define FX_MX_FAST_EXP		19

/*
 * Scales for which every finite element is a normal bf16: 2^-9 is the smallest
 * element, 448 < 2^9 the largest.
 */
#define FX_MX_FAST_SCALE_MIN	10
#define FX_MX_FAST_SCALE_MAX	246

void fx_mxfp8_quantize_block(u8 *dst, const void *src);
void fx_mxfp8_dequantize_block(void *dst, const u8 *src);

#ifdef FX_PURE_HAS_AVX2
void fx_mxfp8_quantize_avx2(u8 *dst, const u8 *src, size_t blocks);
void fx_mxfp8_dequantize_avx2(u8 *dst, const u8 *src, size_t blocks);
#endif

#endif /* FABRIC_EXT_MX_BLOCK_H */
