// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "data.h"

#define BLOCK	32	/* elements that share a scale */
#define BYTES	33	/* of a block: the scale, then the elements */

/* xorshift64* (Vigna, 2016): fast, and any two seeds differ at once. */
static u64 next(u64 *s)
{
	*s ^= *s >> 12;
	*s ^= *s << 25;
	*s ^= *s >> 27;
	return *s * 0x2545f4914f6cdd1dULL;
}

static u64 start(u64 seed)
{
	u64 s = (seed + 1) * 0x9e3779b97f4a7c15ULL;

	return s ? s : 1;
}

/*
 * Four bf16 from one random word: any sign and mantissa, exponents -7..0, the
 * range that activations have behind a normalisation.
 */
static u64 four(u64 *s)
{
	return (next(s) & 0x83ff83ff83ff83ffULL) | 0x3c003c003c003c00ULL;
}

/**
 * fx_data_fill() - make the data of a seed
 * @buf: room, aligned to 8
 * @bytes: how much, a multiple of 8
 * @seed: any
 */
void fx_data_fill(void *buf, size_t bytes, u64 seed)
{
	u64 s = start(seed), *w = buf;

	for (size_t i = 0; i < bytes / 8; i++)
		w[i] = four(&s);
}

/**
 * fx_data_same() - whether data is that of a seed
 * @at: out: the first byte, at word granularity, that is not
 */
bool fx_data_same(const void *buf, size_t bytes, u64 seed, size_t *at)
{
	u64 s = start(seed);
	const u64 *w = buf;

	for (size_t i = 0; i < bytes / 8; i++) {
		if (w[i] != four(&s)) {
			*at = i * 8;
			return false;
		}
	}
	return true;
}

/* E4M3 as the OFP8 specification defines it; NaN for its two NaNs. */
static float e4m3(u8 v)
{
	int exponent = v >> 3 & 15, mantissa = v & 7;
	float m;

	if (exponent == 15 && mantissa == 7)
		return NAN;
	m = exponent ? ldexpf(1.0f + (float)mantissa / 8, exponent - 7) :
		       ldexpf((float)mantissa / 8, -6);
	return v & 0x80 ? -m : m;
}

static const float *e4m3_table(void)
{
	static float table[256];
	static bool made;

	if (!made)
		for (int i = 0; i < 256; i++)
			table[i] = e4m3((u8)i);
	made = true;
	return table;
}

static float bf16(u16 v)
{
	u32 bits = (u32)v << 16;
	float f;

	memcpy(&f, &bits, sizeof(f));
	return f;
}

/**
 * fx_data_mxfp8() - whether MXFP8 is the data of a seed, within its error
 * @buf: blocks of 33 bytes
 * @elems: elements, a multiple of 32
 * @seed: of the source
 * @value: out: what each element stands for, as bf16, which holds it exactly:
 *	four bits of significand and an exponent near that of the source
 * @e: out: the largest error
 *
 * With X the block's scale an element may be off by half a step: |x| / 16 for
 * a normal one, X / 1024 for a subnormal one; what is above 464 X was clamped
 * to 448 X and is off by |x| / 8 at most (OCP MX v1.0, 6.3, E4M3).
 *
 * Return: whether all elements are within it.
 */
bool fx_data_mxfp8(const u8 *buf, size_t elems, u64 seed, u16 *value,
		   struct fx_quant_error *e)
{
	const float *table = e4m3_table();
	u64 s = start(seed);
	u16 src[BLOCK];

	e->worst = 0;
	e->at = 0;
	for (size_t b = 0; b < elems / BLOCK; b++, buf += BYTES) {
		float scale = ldexpf(1.0f, buf[0] - 127);
		u32 bits;

		if (buf[0] == 0xff) {
			e->worst = INFINITY;
			e->at = b * BLOCK;
			return false;
		}
		for (int i = 0; i < BLOCK; i += 4) {
			u64 w = four(&s);

			memcpy(src + i, &w, sizeof(w));
		}
		for (int i = 0; i < BLOCK; i++) {
			float x = bf16(src[i]), y = table[buf[1 + i]] * scale;
			float off = fabsf(x - y);
			float may = fabsf(x) > 464 * scale ? fabsf(x) / 8 :
				    fmaxf(fabsf(x) / 16, scale / 1024);

			memcpy(&bits, &y, sizeof(bits));
			*value++ = (u16)(bits >> 16);
			/* a NaN compares false: not within */
			if (!(off / may <= e->worst)) {
				e->worst = off / may;
				e->at = b * BLOCK + (size_t)i;
			}
		}
	}
	return e->worst <= 1;
}
