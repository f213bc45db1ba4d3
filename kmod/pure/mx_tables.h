/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Tables of mx.c, computed by the compiler.
 *
 * Quantizing: with the block's scale fixed, the code of an element depends on
 * its sign and on the distance of its bits from those of 2^e, e being the
 * exponent field of the block's maximum. A bf16 taken as a signed 16-bit
 * integer, minus e << 7, is that distance and the sign in one number: negative
 * elements end up 32768 lower. Over all finite elements and all e the two sides
 * never meet, so one table serves, and a look-up is one load.
 *
 * Only the top 19 binades of a side are not zero: 16 exponents of E4M3 and
 * three binades of subnormals below the last.
 */
#ifndef FABRIC_EXT_MX_TABLES_H
#define FABRIC_EXT_MX_TABLES_H

#include "mx_block.h"
#include "table.h"

/* clang-format off */

/* v / 2^n, rounded to nearest, ties to even */
#define FX_RNE(v, n) \
	(((v) + (1 << ((n) - 1)) - 1 + ((v) >> (n) & 1)) >> (n))

/*
 * @u counts bf16 steps from the lowest of the 19 binades. Binade 4 is the first
 * of normal elements: there it is enough to round the bits. Below, the mantissa
 * with its leading one is shifted out to the subnormals' step.
 */
#define FX_MX_BINADES		19
#define FX_MX_NORMAL(u)		FX_RNE((u) - 3 * 128, 4)
#define FX_MX_SUBNORMAL(u)						\
	FX_RNE(128 + ((u) & 127), (u) < 4 * 128 ? 8 - ((u) >> 7) : 8)
#define FX_MX_CODE(u, s)							\
	((s) | ((u) < 4 * 128 ? FX_MX_SUBNORMAL(u) :			\
		FX_MX_NORMAL(u) > FX_E4M3_MAX ? FX_E4M3_MAX : FX_MX_NORMAL(u)))
#define FX_MX_BINADE(s, b)						\
	{ FX_TABLE_64(FX_MX_CODE, (b) * 128, s),			\
	  FX_TABLE_64(FX_MX_CODE, (b) * 128 + 64, s) }
#define FX_MX_SIDE(s)							\
	{ FX_MX_BINADE(s, 0), FX_MX_BINADE(s, 1), FX_MX_BINADE(s, 2),	\
	  FX_MX_BINADE(s, 3), FX_MX_BINADE(s, 4), FX_MX_BINADE(s, 5),	\
	  FX_MX_BINADE(s, 6), FX_MX_BINADE(s, 7), FX_MX_BINADE(s, 8),	\
	  FX_MX_BINADE(s, 9), FX_MX_BINADE(s, 10), FX_MX_BINADE(s, 11),	\
	  FX_MX_BINADE(s, 12), FX_MX_BINADE(s, 13), FX_MX_BINADE(s, 14), \
	  FX_MX_BINADE(s, 15), FX_MX_BINADE(s, 16), FX_MX_BINADE(s, 17), \
	  FX_MX_BINADE(s, 18) }

/* Distances run from FX_MX_LOWEST to 127: -0.0 in a block of the largest e. */
#define FX_MX_LOWEST		(-32768 - 254 * 128)
#define FX_MX_NEG_ZEROS		((254 - (FX_MX_BINADES - 1)) * 128)
#define FX_MX_POS_ZEROS		(32768 - FX_MX_BINADES * 128)

static const union {
	struct {
		u8 neg_zeros[FX_MX_NEG_ZEROS];
		u8 neg[FX_MX_BINADES][2][4][4][4];
		u8 pos_zeros[FX_MX_POS_ZEROS];
		u8 pos[FX_MX_BINADES][2][4][4][4];
	} side;
	u8 at[FX_MX_NEG_ZEROS + FX_MX_POS_ZEROS + 2 * FX_MX_BINADES * 128];
} fx_mx_codes = {
	.side = {
		.neg_zeros = { [0 ... FX_MX_NEG_ZEROS - 1] = 0x80 },
		.neg = FX_MX_SIDE(0x80),
		.pos = FX_MX_SIDE(0),
	},
};

/*
 * Dequantizing: bits of the element as bf16, short of the scale. A subnormal
 * f * 2^-9 is written as if E4M3's exponent went on below zero; then
 * ((bits + scale) & mask) | fix is the answer for zero and NaN, too.
 */
struct fx_mx_value {
	u16 bits;
	u16 mask;
	u16 fix;
	u16 pad;		/* eight bytes: a size that is an index's scale */
};

#define FX_MX_SUB_BITS(f)						\
	((f) == 1 ? -2 * 128 : (f) < 4 ? -128 + ((f) - 2) * 64 : ((f) - 4) * 32)
#define FX_MX_VALUE(c, ...)						\
	{ .bits = (u16)(((c) & 0x7f) < 8 ? FX_MX_SUB_BITS((c) & 0x7f) :	\
			((c) & 0x7f) << 4),				\
	  .mask = ((c) & 0x7f) == 0 || ((c) & 0x7f) == FX_E4M3_NAN ?	\
			0 : FX_BF16_MAGNITUDE,				\
	  .fix = ((c) & 0x80) << 8 |					\
		 (((c) & 0x7f) == FX_E4M3_NAN ? FX_BF16_NAN : 0) }

static const union {
	struct fx_mx_value quarters[4][4][4][4];
	struct fx_mx_value at[256];
} fx_mx_values = {
	.quarters = {
		FX_TABLE_64(FX_MX_VALUE, 0, 0), FX_TABLE_64(FX_MX_VALUE, 64, 0),
		FX_TABLE_64(FX_MX_VALUE, 128, 0), FX_TABLE_64(FX_MX_VALUE, 192, 0),
	},
};

/* clang-format on */

#endif /* FABRIC_EXT_MX_TABLES_H */
