/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * MXFP8: bf16 in blocks of 32, each with one power of two as its scale, as of
 * the OCP Microscaling Formats (MX) Specification v1.0. Integers only.
 *
 * Layout. The specification leaves it open. Here a block is 33 bytes: the scale
 * (E8M0), then its 32 elements (E4M3) in order; blocks follow one another
 * without padding. bf16 elements are little-endian.
 *
 * Formats.
 *	E8M0	value 2^(byte - 127); 0xff is NaN; no zero, no sign
 *	E4M3	sign, 4 bits exponent with bias 7, 3 bits mantissa; subnormals in
 *		steps of 2^-9; largest 448 (0x7e); NaN 0x7f; no infinity
 *
 * Quantizing follows section 6.3. With m = max |v| of the block's finite
 * elements and X the scale
 *	X = 2^(floor(log2(m)) - 8), 8 being the exponent of E4M3's largest power
 *	of two, and no less than 2^-127, the smallest that E8M0 has
 *	p = v / X, rounded to nearest, ties to even, clamped to +-448
 *
 * What the specification leaves to the implementation:
 *	- A block without a finite nonzero element has the smallest scale, 0x00.
 *	- NaN becomes the element NaN with its sign. The rest of the block keeps
 *	  its values: one bad element is no reason to lose 31 good ones, so the
 *	  scale NaN is never written.
 *	- Infinity becomes the element NaN, too, with its sign. E4M3 has no
 *	  infinity; clamping is for numbers, and a reader that finds 448 could
 *	  not tell that the value was lost.
 *	- The sign of zero is kept, also of what rounds to zero.
 *
 * Dequantizing gives X * p as bf16, rounded to nearest even. That is exact but
 * at the ends of the scale: below 2^-133 bits are lost, from 2^128 on the
 * answer is infinity. No block written here reaches either end. NaN, be it of
 * the scale (then all 32) or of an element, becomes 0x7fc0 with the element's
 * sign.
 *
 * Error bound of a finite x and y = dequantize(quantize(x)):
 *	|x - y| <= max(|x| / 16, X / 1024)	where |x| <= 464 X
 *	|x - y| <= |x| / 8			above: clamped to 448 X
 * The first is half a step of a normal element, the second half a step of a
 * subnormal one. In terms of the block's maximum m: X <= m / 256, therefore
 * never more than m / 8, and never more than m / 16 in a block whose
 * m <= 1.8125 * 2^floor(log2(m)). fx_mxfp8_within() decides it.
 */
#ifndef FABRIC_EXT_MX_H
#define FABRIC_EXT_MX_H

#include "pure.h"

#define FX_MX_BLOCK		32	/* elements */
#define FX_MX_BF16_BYTES	64	/* of a block as bf16 */
#define FX_MXFP8_BYTES		33	/* of a block as MXFP8 */
#define FX_MX_SCALE_NAN		0xff

int fx_mx_bytes(u64 elems, u64 *bytes);
int fx_mx_elems(u64 bytes, u64 *elems);

void fx_mxfp8_quantize(void *dst, const void *src, size_t blocks, u32 cpu);
void fx_mxfp8_dequantize(void *dst, const void *src, size_t blocks, u32 cpu);

u8 fx_mxfp8_encode(u8 scale, u16 bf16);
u16 fx_mxfp8_decode(u8 scale, u8 element);
bool fx_mxfp8_within(u16 x, u16 y, u8 scale);

#endif /* FABRIC_EXT_MX_H */
