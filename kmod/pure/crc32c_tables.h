/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Tables of crc32c.c, spelled as what they are: linear maps over GF(2).
 *
 * "Advance by n zero bytes" is linear in the register, so a table over one byte
 * of it is given by the images of that byte's eight bits, and the compiler
 * adds them up. Bit j of byte k advanced by n bytes is x^(8n + 31 - 8k - j)
 * modulo the polynomial, reflected; the unit tests recompute every entry bit
 * by bit.
 */
#ifndef FABRIC_EXT_CRC32C_TABLES_H
#define FABRIC_EXT_CRC32C_TABLES_H

#include "pure.h"
#include "table.h"

/* One table over a byte: written in quarters, read flat. */
union fx_crc_table {
	u32 quarters[4][4][4][4];
	u32 at[256];
};

/* clang-format off */
#define FX_CRC_BIT(i, j, image)		((i) >> (j) & 1 ? (image) : 0u)
#define FX_CRC_ENTRY(i, b0, b1, b2, b3, b4, b5, b6, b7)			\
	(FX_CRC_BIT(i, 0, b0) ^ FX_CRC_BIT(i, 1, b1) ^			\
	 FX_CRC_BIT(i, 2, b2) ^ FX_CRC_BIT(i, 3, b3) ^			\
	 FX_CRC_BIT(i, 4, b4) ^ FX_CRC_BIT(i, 5, b5) ^			\
	 FX_CRC_BIT(i, 6, b6) ^ FX_CRC_BIT(i, 7, b7))
#define FX_CRC_TABLE(...)						\
	{ .quarters = { FX_TABLE_64(FX_CRC_ENTRY, 0, __VA_ARGS__),	\
			FX_TABLE_64(FX_CRC_ENTRY, 64, __VA_ARGS__),	\
			FX_TABLE_64(FX_CRC_ENTRY, 128, __VA_ARGS__),	\
			FX_TABLE_64(FX_CRC_ENTRY, 192, __VA_ARGS__) } }

/* [k]: a byte at the low end of the register, advanced by k + 1 bytes. */
static const union fx_crc_table fx_crc_slice[8] = {
	FX_CRC_TABLE(0xf26b8303, 0xe13b70f7, 0xc79a971f, 0x8ad958cf,
		     0x105ec76f, 0x20bd8ede, 0x417b1dbc, 0x82f63b78),
	FX_CRC_TABLE(0x13a29877, 0x274530ee, 0x4e8a61dc, 0x9d14c3b8,
		     0x3fc5f181, 0x7f8be302, 0xff17c604, 0xfbc3faf9),
	FX_CRC_TABLE(0xa541927e, 0x4f6f520d, 0x9edea41a, 0x38513ec5,
		     0x70a27d8a, 0xe144fb14, 0xc76580d9, 0x8b277743),
	FX_CRC_TABLE(0xdd45aab8, 0xbf672381, 0x7b2231f3, 0xf64463e6,
		     0xe964b13d, 0xd725148b, 0xaba65fe7, 0x52a0c93f),
	FX_CRC_TABLE(0x38116fac, 0x7022df58, 0xe045beb0, 0xc5670b91,
		     0x8f2261d3, 0x1ba8b557, 0x37516aae, 0x6ea2d55c),
	FX_CRC_TABLE(0xef306b19, 0xdb8ca0c3, 0xb2f53777, 0x6006181f,
		     0xc00c303e, 0x85f4168d, 0x0e045beb, 0x1c08b7d6),
	FX_CRC_TABLE(0x68032cc8, 0xd0065990, 0xa5e0c5d1, 0x4e2dfd53,
		     0x9c5bfaa6, 0x3d5b83bd, 0x7ab7077a, 0xf56e0ef4),
	FX_CRC_TABLE(0x493c7d27, 0x9278fa4e, 0x211d826d, 0x423b04da,
		     0x847609b4, 0x0d006599, 0x1a00cb32, 0x34019664),
};

/* Bytes that each of the three interleaved streams runs over. */
#define FX_CRC_STREAM	256

/* [k]: byte k of the register, advanced by FX_CRC_STREAM bytes. */
static const union fx_crc_table fx_crc_shift[4] = {
	FX_CRC_TABLE(0xdcb17aa4, 0xbc8e83b9, 0x7cf17183, 0xf9e2e306,
		     0xf629b0fd, 0xe9bf170b, 0xd69258e7, 0xa8c8c73f),
	FX_CRC_TABLE(0x547df88f, 0xa8fbf11e, 0x541b94cd, 0xa837299a,
		     0x558225c5, 0xab044b8a, 0x53e4e1e5, 0xa7c9c3ca),
	FX_CRC_TABLE(0x4a7ff165, 0x94ffe2ca, 0x2c13b365, 0x582766ca,
		     0xb04ecd94, 0x6571edd9, 0xcae3dbb2, 0x902bc195),
	FX_CRC_TABLE(0x25bbf5db, 0x4b77ebb6, 0x96efd76c, 0x2833d829,
		     0x5067b052, 0xa0cf60a4, 0x4472b7b9, 0x88e56f72),
};

/* clang-format on */

#endif /* FABRIC_EXT_CRC32C_TABLES_H */
