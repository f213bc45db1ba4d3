// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <pthread.h>
#include <stdatomic.h>

#include "pure_test.h"

#include "pure/transform.h"

static const struct fx_chain chains[] = {
	{ FX_XFORM_MOVE, FX_CSUM_NONE, FX_ELEM_NONE, FX_ELEM_NONE },
	{ FX_XFORM_MOVE, FX_CSUM_CRC32C, FX_ELEM_BF16, FX_ELEM_BF16 },
	{ FX_XFORM_QUANTIZE, FX_CSUM_NONE, FX_ELEM_BF16, FX_ELEM_MXFP8 },
	{ FX_XFORM_QUANTIZE, FX_CSUM_CRC32C, FX_ELEM_BF16, FX_ELEM_MXFP8 },
	{ FX_XFORM_DEQUANTIZE, FX_CSUM_NONE, FX_ELEM_MXFP8, FX_ELEM_BF16 },
	{ FX_XFORM_DEQUANTIZE, FX_CSUM_CRC32C, FX_ELEM_MXFP8, FX_ELEM_BF16 },
};

/* A source of @blocks blocks, its destination as it must become, the sum. */
struct movement {
	const struct fx_chain *chain;
	size_t src_len, dst_len;
	u8 *src, *want;
	u32 crc;
};

/* Mostly like real data, some blocks of anything. */
static void fill_bf16(u8 *p, size_t blocks)
{
	size_t i, b;

	for (b = 0; b < blocks; b++, p += 64) {
		rnd_bytes(p, 64);
		if (b % 5 == 4)
			continue;
		for (i = 1; i < 64; i += 2)
			p[i] = (p[i] & 0x80) | (0x3c + (u8)rnd_below(4));
	}
}

static struct movement make(const struct fx_chain *chain, size_t blocks)
{
	struct movement m = { .chain = chain };
	u8 *bf16 = malloc(blocks * 64 + 1), *mx = malloc(blocks * 33 + 1);
	size_t b, i;

	assert_non_null(bf16);
	assert_non_null(mx);
	fill_bf16(bf16, blocks);
	for (b = 0; b < blocks; b++) {
		u16 in[32];

		memcpy(in, bf16 + 64 * b, 64);
		ref_quantize(mx + 33 * b, in);
	}
	switch (chain->convert) {
	case FX_XFORM_QUANTIZE:
		m.src = bf16;
		m.src_len = blocks * 64;
		m.want = mx;
		m.dst_len = blocks * 33;
		break;
	case FX_XFORM_DEQUANTIZE:
		m.src = mx;
		m.src_len = blocks * 33;
		m.want = bf16;
		m.dst_len = blocks * 64;
		for (b = 0; b < blocks; b++) {
			for (i = 0; i < 32; i++) {
				u16 v = ref_decode(mx[33 * b], mx[33 * b + 1 + i]);

				memcpy(bf16 + 64 * b + 2 * i, &v, 2);
			}
		}
		break;
	default:
		/* a move need not be whole blocks */
		free(mx);
		m.src = bf16;
		m.src_len = blocks * 64 - blocks % 64;
		m.want = malloc(m.src_len + 1);
		assert_non_null(m.want);
		memcpy(m.want, m.src, m.src_len);
		m.dst_len = m.src_len;
	}
	m.crc = chain->csum ? ref_crc32c(m.want, m.dst_len) : 0;
	return m;
}

static void destroy(struct movement *m)
{
	free(m->src);
	free(m->want);
}

/* How much is offered at a time, as a function of where one stands. */
typedef size_t (*segment_fn)(size_t at, size_t arg);

static size_t seg_all(size_t at, size_t arg)
{
	(void)at;
	(void)arg;
	return (size_t)-1;
}

static size_t seg_fixed(size_t at, size_t arg)
{
	(void)at;
	return arg;
}

static size_t seg_split_once(size_t at, size_t arg)
{
	return at < arg ? arg - at : (size_t)-1;
}

static size_t seg_page(size_t at, size_t arg)
{
	return 4096 - (at + arg) % 4096;
}

static size_t seg_random(size_t at, size_t arg)
{
	(void)at;
	switch (rnd_below(4)) {
	case 0:
		return (size_t)rnd_below(3);
	case 1:
		return (size_t)rnd_below(100);
	default:
		return (size_t)rnd_below(arg);
	}
}

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

/*
 * Run a movement in segments that are separate allocations of their exact size,
 * so that ASan sees a byte too far in either.
 */
static void run_in_segments(const struct movement *m, u32 cpu, segment_fn src_fn,
			    size_t src_arg, segment_fn dst_fn, size_t dst_arg)
{
	struct fx_pass *pass = malloc(sizeof(*pass));
	size_t src_at = 0, dst_at = 0, idle = 0;
	u64 written = 0;
	u32 crc = 42;

	assert_non_null(pass);
	memset(pass, 0xee, sizeof(*pass));
	assert_int_equal(fx_pass_begin(pass, m->chain, m->src_len, cpu), FX_PURE_OK);
	while (fx_pass_end(pass, &written, &crc) == FX_PURE_SHORT) {
		size_t src_len = least(src_fn(src_at, src_arg), m->src_len - src_at);
		size_t dst_len = least(dst_fn(dst_at, dst_arg), m->dst_len - dst_at);
		void *src_base, *dst_base;
		u8 *src = exact_alloc(src_len, src_at % 8, &src_base);
		u8 *dst = exact_alloc(dst_len, dst_at % 8, &dst_base);
		size_t wrote, took;

		memcpy(src, m->src + src_at, src_len);
		assert_int_equal(fx_pass_step(pass, dst, dst_len, &wrote,
					      src, src_len, &took), FX_PURE_OK);
		assert_true(wrote <= dst_len && took <= src_len);
		/* it stops only where one of them is used up */
		assert_true(wrote == dst_len || took == src_len);
		assert_memory_equal(dst, m->want + dst_at, wrote);
		src_at += took;
		dst_at += wrote;
		idle = wrote || took ? 0 : idle + 1;
		assert_true(idle < 1000);
		free(src_base);
		free(dst_base);
	}
	assert_true(written == m->dst_len);
	assert_true(dst_at == m->dst_len && src_at == m->src_len);
	assert_int_equal(crc, m->crc);
	free(pass);
}

static void one_shot(void **state)
{
	static const size_t blocks[] = { 0, 1, 2, 39, 40, 41, 119, 120, 121, 1024 };
	const u32 cpu = cpu_or_skip(state);
	size_t c, b;

	for (c = 0; c < ARRAY_SIZE(chains); c++) {
		for (b = 0; b < ARRAY_SIZE(blocks); b++) {
			struct movement m = make(&chains[c], blocks[b]);
			struct fx_pass pass;
			u64 written = 42;
			u32 crc = 42;
			void *base;
			u8 *dst = exact_alloc(m.dst_len, b % 4, &base);

			assert_int_equal(fx_pass_run(&pass, m.chain, dst, m.dst_len,
						     m.src, m.src_len, cpu,
						     &written, &crc), FX_PURE_OK);
			assert_true(written == m.dst_len);
			assert_int_equal(crc, m.crc);
			assert_memory_equal(dst, m.want, m.dst_len);
			free(base);
			run_in_segments(&m, cpu, seg_all, 0, seg_all, 0);
			destroy(&m);
		}
	}
}

static void split_at_every_byte(void **state)
{
	const u32 cpu = cpu_or_skip(state);
	size_t c, at;

	for (c = 0; c < ARRAY_SIZE(chains); c++) {
		struct movement m = make(&chains[c], 5);

		for (at = 0; at <= m.src_len; at++)
			run_in_segments(&m, cpu, seg_split_once, at, seg_all, 0);
		for (at = 0; at <= m.dst_len; at++)
			run_in_segments(&m, cpu, seg_all, 0, seg_split_once, at);
		for (at = 1; at <= 70; at++) {
			run_in_segments(&m, cpu, seg_fixed, at, seg_all, 0);
			run_in_segments(&m, cpu, seg_all, 0, seg_fixed, at);
			run_in_segments(&m, cpu, seg_fixed, at, seg_fixed, 71 - at);
		}
		destroy(&m);
	}
}

/* As the engine does it: pages on both sides, begun at some offset. */
static void pages(void **state)
{
	const u32 cpu = cpu_or_skip(state);
	size_t c, src_at, dst_at;

	for (c = 0; c < ARRAY_SIZE(chains); c++) {
		struct movement m = make(&chains[c], 700);

		for (src_at = 0; src_at < 4096; src_at += 1024 + 8)
			for (dst_at = 0; dst_at < 4096; dst_at += 512 + 1)
				run_in_segments(&m, cpu, seg_page, src_at,
						seg_page, dst_at);
		destroy(&m);
	}
}

static void random_segments(void **state)
{
	const u32 cpu = cpu_or_skip(state);
	size_t c, round;

	for (c = 0; c < ARRAY_SIZE(chains); c++) {
		for (round = 0; round < 150; round++) {
			struct movement m = make(&chains[c], (size_t)rnd_below(300));

			run_in_segments(&m, cpu, seg_random, 5000, seg_random, 5000);
			run_in_segments(&m, cpu, seg_random, 200, seg_page, 0);
			destroy(&m);
		}
	}
}

static void refuses(void **state)
{
	const struct fx_chain *q = &chains[3];
	u8 src[128] = { 0 }, dst[128], before[128];
	size_t wrote, took;
	struct fx_pass pass;
	u64 written = 42;
	u32 crc = 42;

	(void)state;
	memset(dst, 0xee, sizeof(dst));
	memcpy(before, dst, sizeof(dst));
	assert_int_equal(fx_pass_run(&pass, q, dst, 65, src, 128, 0, &written, &crc),
			 FX_PURE_NOSPACE);
	assert_int_equal(fx_pass_run(&pass, q, dst, 66, src, 127, 0, &written, &crc),
			 FX_PURE_RAGGED);
	assert_int_equal(fx_pass_run(&pass, &chains[0], dst, 128, dst, 128, 0,
				     &written, &crc), FX_PURE_OVERLAP);
	assert_int_equal(fx_pass_run(&pass, &chains[0], dst, 64, dst + 63, 64, 0,
				     &written, &crc), FX_PURE_OVERLAP);
	assert_int_equal(fx_pass_run(&pass, &chains[0], dst + 63, 64, dst, 64, 0,
				     &written, &crc), FX_PURE_OVERLAP);
	assert_int_equal(fx_pass_run(&pass, q, dst + 63, 33, dst, 64, 0,
				     &written, &crc), FX_PURE_OVERLAP);
	assert_memory_equal(dst, before, sizeof(dst));
	assert_true(written == 42 && crc == 42);
	/* next to each other is fine */
	assert_int_equal(fx_pass_run(&pass, &chains[0], dst + 64, 64, dst, 64, 0,
				     &written, &crc), FX_PURE_OK);
	assert_int_equal(fx_pass_run(&pass, &chains[0], dst, 64, dst + 64, 64, 0,
				     NULL, NULL), FX_PURE_OK);

	/* more than announced: nothing of it is taken */
	assert_int_equal(fx_pass_begin(&pass, q, 64, 0), FX_PURE_OK);
	wrote = 42;
	took = 42;
	assert_int_equal(fx_pass_step(&pass, dst, 128, &wrote, src, 65, &took),
			 FX_PURE_EXCESS);
	assert_true(!wrote && !took);
	assert_int_equal(fx_pass_step(&pass, dst, 128, &wrote, src, 64, &took),
			 FX_PURE_OK);
	assert_true(wrote == 33 && took == 64);
	assert_int_equal(fx_pass_step(&pass, dst, 128, &wrote, src, 1, &took),
			 FX_PURE_EXCESS);
	assert_int_equal(fx_pass_end(&pass, &written, &crc), FX_PURE_OK);
	assert_true(written == 33 && crc == ref_crc32c(dst, 33));

	/* ended early: source missing; a block begun; destination pending */
	written = 42;
	assert_int_equal(fx_pass_begin(&pass, q, 128, 0), FX_PURE_OK);
	assert_int_equal(fx_pass_end(&pass, &written, &crc), FX_PURE_SHORT);
	assert_int_equal(fx_pass_step(&pass, dst, 33, &wrote, src, 64, &took), FX_PURE_OK);
	assert_int_equal(fx_pass_end(&pass, &written, &crc), FX_PURE_SHORT);
	assert_int_equal(fx_pass_step(&pass, dst, 32, &wrote, src, 64, &took), FX_PURE_OK);
	assert_true(wrote == 32 && took == 64);
	assert_int_equal(fx_pass_end(&pass, &written, &crc), FX_PURE_SHORT);
	assert_true(written == 42);
	assert_int_equal(fx_pass_step(&pass, dst, 1, &wrote, NULL, 0, &took), FX_PURE_OK);
	assert_int_equal(fx_pass_end(&pass, &written, &crc), FX_PURE_OK);
	assert_true(written == 66);
}

struct scribble {
	atomic_bool begun, stop;
	u8 *mem;
	size_t len;
};

static void *scribbler(void *arg)
{
	struct scribble *s = arg;
	u32 x = 1;

	while (!atomic_load(&s->stop)) {
		x = x * 1664525 + 1013904223;
		__atomic_store_n(&s->mem[x % s->len], (u8)(x >> 24), __ATOMIC_RELAXED);
		atomic_store_explicit(&s->begun, true, memory_order_relaxed);
	}
	return NULL;
}

static void run_scribbled(const struct fx_chain *chain, size_t blocks, u32 rounds,
			  u32 cpu)
{
	struct movement m = make(chain, blocks);
	struct scribble s = { .mem = m.src, .len = m.src_len };
	u8 *dst = malloc(m.dst_len);
	struct fx_pass pass;
	pthread_t thread;
	u32 crc;

	assert_non_null(dst);
	assert_int_equal(pthread_create(&thread, NULL, scribbler, &s), 0);
	while (!atomic_load(&s.begun))
		;
	for (; rounds; rounds--) {
		assert_int_equal(fx_pass_run(&pass, m.chain, dst, m.dst_len,
					     m.src, m.src_len, cpu, NULL, &crc),
				 FX_PURE_OK);
		assert_int_equal(crc, ref_crc32c(dst, m.dst_len));
	}
	atomic_store(&s.stop, true);
	assert_int_equal(pthread_join(thread, NULL), 0);
	free(dst);
	destroy(&m);
}

/*
 * The owner changes the source while it moves. What arrives is anything between
 * before and after; but it is a whole destination, and the checksum is of the
 * very bytes that arrived.
 */
static void source_changes_meanwhile(void **state)
{
	/* long, and so short that the words after the last full round count */
	static const struct {
		size_t blocks;
		u32 rounds;
	} sizes[] = { { 512, 300 }, { 5, 15000 } };
	const u32 cpu = cpu_or_skip(state);
	size_t i, c;

	for (i = 0; i < ARRAY_SIZE(sizes); i++)
		for (c = 1; c < ARRAY_SIZE(chains); c += 2)
			run_scribbled(&chains[c], sizes[i].blocks, sizes[i].rounds, cpu);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST_ON(one_shot, cpu_plain),
		TEST_ON(one_shot, cpu_crc32),
		TEST_ON(one_shot, cpu_avx2),
		TEST_ON(split_at_every_byte, cpu_plain),
		TEST_ON(split_at_every_byte, cpu_crc32),
		TEST_ON(split_at_every_byte, cpu_avx2),
		TEST_ON(pages, cpu_plain),
		TEST_ON(pages, cpu_crc32),
		TEST_ON(pages, cpu_avx2),
		TEST_ON(random_segments, cpu_plain),
		TEST_ON(random_segments, cpu_crc32),
		TEST_ON(random_segments, cpu_avx2),
		cmocka_unit_test(refuses),
		TEST_ON(source_changes_meanwhile, cpu_plain),
		TEST_ON(source_changes_meanwhile, cpu_crc32),
		TEST_ON(source_changes_meanwhile, cpu_avx2),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("pure/pass", tests, NULL, NULL) ? 1 : 0;
}
