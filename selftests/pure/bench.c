// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * How fast pure/ is next to memcpy() of the same source bytes: blocks of
 * 64 KiB, one core. The machine's speed cancels out: every run times all
 * operations and memcpy one after the other, a ratio is taken within a run, and
 * the median of the runs is reported. Time is the thread's own; neighbours still
 * take their share of caches and memory, so an idle machine measures best.
 *
 * Two working sets: "streamed" walks over much more than the caches hold, as a
 * movement of KV does; "cached" moves one block over and over, where memcpy
 * runs at the speed of the second-level cache.
 */
#include <errno.h>
#include <math.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "pure/crc32c.h"
#include "pure/transform.h"

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))
#define BLOCK	(64u << 10)
#define RUNS	15

struct arena {
	u8 *bf16, *mxfp8, *dst;
	size_t bytes;		/* of bf16 and dst */
	unsigned int rounds;	/* over the arena, per run */
	u32 cpu;
	struct fx_pass pass;
};

static void bench_memcpy(struct arena *a, size_t block)
{
	memcpy(a->dst + block * BLOCK, a->bf16 + block * BLOCK, BLOCK);
}

static void pass_or_die(struct arena *a, const struct fx_chain *chain, u8 *dst,
			const u8 *src, size_t src_len)
{
	int ret = fx_pass_run(&a->pass, chain, dst, BLOCK, src, src_len, a->cpu,
			      NULL, NULL);

	if (ret) {
		fprintf(stderr, "bench: a pass ended with status %d\n", ret);
		exit(2);
	}
}

#define CHAIN_BENCH(name, conv, sum, el_from, el_to)				\
static void bench_##name(struct arena *a, size_t block)				\
{										\
	static const struct fx_chain chain = {					\
		.convert = (conv), .csum = (sum), .from = (el_from), .to = (el_to), \
	};									\
										\
	pass_or_die(a, &chain, a->dst + block * BLOCK,				\
		    a->bf16 + block * BLOCK, BLOCK);				\
}

CHAIN_BENCH(move, FX_XFORM_MOVE, FX_CSUM_NONE, FX_ELEM_BF16, FX_ELEM_BF16)
CHAIN_BENCH(sum, FX_XFORM_MOVE, FX_CSUM_CRC32C, FX_ELEM_BF16, FX_ELEM_BF16)
CHAIN_BENCH(quantize, FX_XFORM_QUANTIZE, FX_CSUM_NONE, FX_ELEM_BF16,
	    FX_ELEM_MXFP8)
CHAIN_BENCH(quantize_sum, FX_XFORM_QUANTIZE, FX_CSUM_CRC32C, FX_ELEM_BF16,
	    FX_ELEM_MXFP8)

/* Its source is the MXFP8 of a block; counted are the bf16 bytes it gives. */
static void bench_dequantize(struct arena *a, size_t block)
{
	static const struct fx_chain chain = {
		.convert = FX_XFORM_DEQUANTIZE,
		.from = FX_ELEM_MXFP8, .to = FX_ELEM_BF16,
	};
	const size_t len = BLOCK / FX_MX_BF16_BYTES * FX_MXFP8_BYTES;

	pass_or_die(a, &chain, a->dst + block * BLOCK, a->mxfp8 + block * len, len);
}

static const struct {
	const char *name;
	void (*block)(struct arena *a, size_t block);
	double goal;		/* of memcpy; 0: none is set */
} ops[] = {
	{ "memcpy", bench_memcpy, 0 },
	{ "Move", bench_move, 0.9 },
	{ "Move+Checksum", bench_sum, 0.8 },
	{ "Move+Quantize", bench_quantize, 0 },
	{ "Move+Quantize+Checksum", bench_quantize_sum, 0.5 },
	{ "Move+Dequantize", bench_dequantize, 0 },
};

#define OPS	ARRAY_SIZE(ops)

static double now(void)
{
	struct timespec t;

	/* of this thread: others on the core delay it, but do not count */
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static double time_op(struct arena *a, size_t op)
{
	const size_t blocks = a->bytes / BLOCK;
	double begin = now();
	unsigned int r;
	size_t b;

	for (r = 0; r < a->rounds; r++)
		for (b = 0; b < blocks; b++)
			ops[op].block(a, b);
	return now() - begin;
}

static int ascending(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median(double *v)
{
	qsort(v, RUNS, sizeof(*v), ascending);
	return v[RUNS / 2];
}

static void measure(struct arena *a, const char *set)
{
	static double secs[OPS][RUNS], ratio[OPS][RUNS];
	const double bytes = (double)a->bytes * a->rounds;
	size_t op;
	int run;

	for (op = 0; op < OPS; op++)
		time_op(a, op);		/* page tables, caches, frequency */
	for (run = 0; run < RUNS; run++) {
		for (op = 0; op < OPS; op++) {
			secs[op][run] = time_op(a, op);
			ratio[op][run] = secs[0][run] / secs[op][run];
		}
	}
	for (op = 0; op < OPS; op++) {
		double low, high, mid = median(ratio[op]);

		low = ratio[op][RUNS / 4];
		high = ratio[op][RUNS - 1 - RUNS / 4];
		printf("%-9s %-23s %7.2f GB/s  %5.2f of memcpy (%.2f to %.2f)",
		       set, ops[op].name, bytes / median(secs[op]) / 1e9, mid,
		       low, high);
		if (ops[op].goal > 0)
			printf("  goal %.1f: %s", ops[op].goal,
			       mid >= ops[op].goal ? "met" : "missed");
		putchar('\n');
	}
}

/* Values as a layer's keys are: normal around zero, some variance per block. */
static void fill(u8 *dst, size_t bytes)
{
	size_t i;

	srand48(1);
	for (i = 0; i < bytes; i += 2) {
		float v = (float)(sqrt(-2.0 * log(1 - drand48())) *
				  cos(2 * M_PI * drand48()));
		u32 bits;

		memcpy(&bits, &v, sizeof(bits));
		dst[i] = (u8)(bits >> 16);
		dst[i + 1] = (u8)(bits >> 24);
	}
}

static u8 *allocate(size_t bytes)
{
	u8 *p = aligned_alloc(4096, bytes);

	if (!p) {
		fprintf(stderr, "bench: no memory for %zu MiB\n", bytes >> 20);
		exit(2);
	}
	memset(p, 1, bytes);
	return p;
}

int main(int argc, char **argv)
{
	size_t mib = argc > 1 ? strtoul(argv[1], NULL, 10) : 128;
	static struct arena a;
	size_t i, pattern = 8u << 20;
	cpu_set_t one;

	if (argc > 2 || mib < 8 || mib > 4096 || mib % 8) {
		fprintf(stderr, "usage: bench [MiB of source, 8 to 4096 in steps of 8]\n");
		return 1;
	}
	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	if (sched_setaffinity(0, sizeof(one), &one))
		fprintf(stderr, "bench: stays on no core: %s\n", strerror(errno));

	a.cpu = fx_cpu_detect();
	a.bytes = mib << 20;
	a.bf16 = allocate(a.bytes);
	a.dst = allocate(a.bytes);
	a.mxfp8 = allocate(a.bytes);
	fill(a.bf16, pattern);
	for (i = pattern; i < a.bytes; i += pattern)
		memcpy(a.bf16 + i, a.bf16, pattern);
	fx_mxfp8_quantize(a.mxfp8, a.bf16, a.bytes / FX_MX_BF16_BYTES, a.cpu);

	printf("build: %s; crc32 instruction: %s; AVX2: %s; %u runs, median (quartiles)\n",
	       BENCH_BUILD, a.cpu & FX_CPU_CRC32 ? "yes" : "no",
	       a.cpu & FX_CPU_AVX2 ? "yes" : "no", RUNS);
	a.rounds = 1;
	measure(&a, "streamed");
	a.bytes = BLOCK;
	a.rounds = 512;
	measure(&a, "cached");
	return 0;
}
