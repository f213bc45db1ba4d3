/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Tables that the compiler computes: FX_TABLE_64(f, i, ...) is 64 entries
 * f(j, ...) from j = i on, as an initialiser of [4][4][4]. With a union such a
 * table is written in quarters and read flat.
 */
#ifndef FABRIC_EXT_TABLE_H
#define FABRIC_EXT_TABLE_H

#define FX_TABLE_4(f, i, ...)						\
	{ f((i), __VA_ARGS__), f((i) + 1, __VA_ARGS__),			\
	  f((i) + 2, __VA_ARGS__), f((i) + 3, __VA_ARGS__) }
#define FX_TABLE_16(f, i, ...)						\
	{ FX_TABLE_4(f, (i), __VA_ARGS__), FX_TABLE_4(f, (i) + 4, __VA_ARGS__), \
	  FX_TABLE_4(f, (i) + 8, __VA_ARGS__), FX_TABLE_4(f, (i) + 12, __VA_ARGS__) }
#define FX_TABLE_64(f, i, ...)						\
	{ FX_TABLE_16(f, (i), __VA_ARGS__), FX_TABLE_16(f, (i) + 16, __VA_ARGS__), \
	  FX_TABLE_16(f, (i) + 32, __VA_ARGS__), FX_TABLE_16(f, (i) + 48, __VA_ARGS__) }

#endif /* FABRIC_EXT_TABLE_H */
