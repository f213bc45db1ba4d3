/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the unit tests of kmod/pure share. */
#ifndef PURE_TEST_H
#define PURE_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "pure/pure.h"

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))

/* One set of CPU features that the code under test is run with. */
struct cpu_set_case {
	const char *name;
	u32 cpu;
};

extern struct cpu_set_case cpu_plain, cpu_crc32, cpu_avx2;

/* A test with one of them; where this CPU lacks it, skipped with the reason. */
#define TEST_ON(f, set)		{ #f " with " #set, f, NULL, NULL, &(set) }

u32 cpu_or_skip(void **state);

/* Repeatable pseudo-random numbers. */
u64 rnd(void);
u64 rnd_below(u64 limit);
void rnd_bytes(void *p, size_t len);

/* Memory whose ends are watched by ASan, at a chosen misalignment. */
u8 *exact_alloc(size_t len, size_t misalign, void **base);

/* RFC 3720 bit by bit, sharing nothing with the code under test. */
u32 ref_crc32c(const void *p, size_t len);

/* The formats as the OCP specifications define them, in floating point. */
double ref_bf16(u16 bits);		/* NaN and infinity, too */
double ref_e4m3(u8 code);
double ref_e8m0(u8 code);
u16 ref_to_bf16(double v);		/* nearest, ties to even */
u8 ref_scale(const u16 *v, size_t n);
u8 ref_encode(double x, u16 v);		/* one element by the scale's value */
u16 ref_decode(u8 scale, u8 code);
void ref_quantize(u8 dst[33], const u16 src[32]);

#endif /* PURE_TEST_H */
