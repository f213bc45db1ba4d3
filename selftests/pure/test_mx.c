// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <math.h>

#include "pure_test.h"

#include "pure/mx.h"

/* Quantize one block and compare all 33 bytes with the definition. */
static void check_block(const u16 src[32], u32 cpu)
{
	u8 got[33], want[33];
	int i;

	memset(got, 0xee, sizeof(got));
	fx_mxfp8_quantize(got, src, 1, cpu);
	ref_quantize(want, src);
	if (memcmp(got, want, 33)) {
		for (i = 0; i < 33; i++)
			if (got[i] != want[i])
				print_message("# byte %d of %04x: got %02x, want %02x\n",
					      i, i ? src[i - 1] : 0, got[i], want[i]);
		fail();
	}
}

/*
 * Every scale and, with it, every bf16 that can stand in such a block: those up
 * to the binade of the maximum, NaN and infinities.
 */
static void quantize_exhaustive(void **state)
{
	const u32 cpu = cpu_or_skip(state);
	u32 e, v, n;
	u16 block[32];

	for (e = 0; e < 255; e++) {
		n = 1;
		for (v = 0; v < 0x10000; v++) {
			u32 magnitude = v & 0x7fff;

			/* NaNs are many and alike: some of them */
			if (magnitude >> 7 > e &&
			    (magnitude < 0x7f80 || magnitude % 31))
				continue;
			if (n == 1)
				block[0] = (u16)(e << 7 | 0x7f);
			block[n++] = (u16)v;
			if (n == 32 || v == 0xffff) {
				for (; n < 32; n++)
					block[n] = 0;
				check_block(block, cpu);
				n = 1;
			}
		}
	}
}

/* The maximum anywhere in the block, of any mantissa and sign. */
static void quantize_maximum_anywhere(void **state)
{
	const u32 cpu = cpu_or_skip(state);
	u32 at, e, m, i;
	u16 block[32];

	for (at = 0; at < 32; at++) {
		for (e = 0; e < 255; e += 1 + (e > 40 && e < 210)) {
			for (m = 0; m < 128; m += 9) {
				for (i = 0; i < 32; i++)
					block[i] = (u16)rnd_below((e << 7 | m) + 1) |
						   (u16)(rnd() & 0x8000);
				block[at] = (u16)(e << 7 | m) | (u16)(rnd() & 0x8000);
				check_block(block, cpu);
			}
		}
	}
}

/* Many binades at once, with zeros, NaN and infinities strewn in. */
static void quantize_random(void **state)
{
	const u32 cpu = cpu_or_skip(state);
	u32 round, i;

	for (round = 0; round < 60000; round++) {
		const u32 top = (u32)rnd_below(255), spread = 1 + (u32)rnd_below(40);
		const u32 odd = (u32)rnd_below(8);
		u16 block[32];

		for (i = 0; i < 32; i++) {
			u32 below = (u32)rnd_below(spread);
			u32 e = top > below ? top - below : 0;

			block[i] = (u16)(e << 7) | (u16)(rnd() & 0x807f);
			if (odd == 1 && !rnd_below(8))
				block[i] &= 0x8000;
			if (odd == 2 && !rnd_below(32))
				block[i] = 0x7f80 | (u16)(rnd() & 0x807f);
			if (odd == 3)
				block[i] = (u16)rnd();
		}
		check_block(block, cpu);
	}
}

/* What the definition leaves open and mx.h decides, in bytes. */
static void quantize_edges(void **state)
{
	static const struct {
		const char *what;
		u16 fill, first;
		u8 scale, code, code_first;
	} edges[] = {
		{ "zeros", 0x0000, 0x0000, 0x00, 0x00, 0x00 },
		{ "negative zeros", 0x8000, 0x8000, 0x00, 0x80, 0x80 },
		{ "all NaN", 0x7fc0, 0xffff, 0x00, 0x7f, 0xff },
		{ "all infinite", 0x7f80, 0xff80, 0x00, 0x7f, 0xff },
		{ "ones and a NaN", 0x3f80, 0x7fc0, 119, 0x78, 0x7f },
		{ "ones and an infinity", 0x3f80, 0xff80, 119, 0x78, 0xff },
		{ "ones and a negative zero", 0x3f80, 0x8000, 119, 0x78, 0x80 },
		/* 1.8125 is the tie between 448 and what 480 would be */
		{ "up to 448", 0x3fe0, 0x3fe8, 119, 0x7e, 0x7e },
		{ "clamped", 0x3fe9, 0xbfff, 119, 0x7e, 0xfe },
		/* 2^-10 of the scale is the tie between 0 and the smallest */
		{ "half the smallest", 0x3f80, 0x3680, 119, 0x78, 0x00 },
		{ "a bit more", 0x3f80, 0xb681, 119, 0x78, 0x81 },
		{ "one and a half steps", 0x3f80, 0x3740, 119, 0x78, 0x02 },
		{ "the largest bf16", 0x7f7f, 0x7f00, 246, 0x7e, 0x78 },
		/* 2^-133 / 2^-127 is E4M3's smallest normal */
		{ "the smallest bf16", 0x0001, 0x8001, 0x00, 0x08, 0x88 },
		{ "the largest subnormal", 0x007f, 0x0000, 0x00, 0x40, 0x00 },
		{ "the last scale that is clamped", 0x0400, 0x0001, 0x00, 0x78, 0x08 },
		{ "the first that is not", 0x0480, 0x0001, 0x01, 0x78, 0x04 },
	};
	const u32 cpu = cpu_or_skip(state);
	size_t e;
	int i;

	for (e = 0; e < ARRAY_SIZE(edges); e++) {
		u16 block[32];
		u8 got[33];

		for (i = 0; i < 32; i++)
			block[i] = edges[e].fill;
		block[0] = edges[e].first;
		fx_mxfp8_quantize(got, block, 1, cpu);
		if (got[0] != edges[e].scale || got[1] != edges[e].code_first ||
		    got[2] != edges[e].code || got[32] != edges[e].code) {
			print_message("# %s: got %02x: %02x %02x .. %02x\n",
				      edges[e].what, got[0], got[1], got[2], got[32]);
			fail();
		}
		check_block(block, cpu);
	}
}

/* Several blocks at any alignment; ASan watches the ends. */
static void quantize_unaligned(void **state)
{
	const u32 cpu = cpu_or_skip(state);
	size_t blocks, at, b;

	for (blocks = 0; blocks < 40; blocks++) {
		for (at = 0; at < 9; at++) {
			void *src_base, *dst_base, *back_base;
			u8 *src = exact_alloc(blocks * 64, at, &src_base);
			u8 *dst = exact_alloc(blocks * 33, 9 - at, &dst_base);
			u8 *back = exact_alloc(blocks * 64, at * 3, &back_base);

			rnd_bytes(src, blocks * 64);
			fx_mxfp8_quantize(dst, src, blocks, cpu);
			fx_mxfp8_dequantize(back, dst, blocks, cpu);
			for (b = 0; b < blocks; b++) {
				u16 in[32], out[32];
				u8 want[33];
				int i;

				memcpy(in, src + 64 * b, 64);
				ref_quantize(want, in);
				assert_memory_equal(dst + 33 * b, want, 33);
				memcpy(out, back + 64 * b, 64);
				for (i = 0; i < 32; i++)
					assert_int_equal(out[i], ref_decode(want[0], want[1 + i]));
			}
			free(src_base);
			free(dst_base);
			free(back_base);
		}
	}
}

/* All 256 scales times all 256 elements: every block that can be read. */
static void dequantize_exhaustive(void **state)
{
	const u32 cpu = cpu_or_skip(state);
	u32 scale, first, i;

	for (scale = 0; scale < 256; scale++) {
		for (first = 0; first < 256; first += 8) {
			u8 in[33];
			u16 out[32];

			/* overlapping runs, so that NaN is in some blocks only */
			in[0] = (u8)scale;
			for (i = 0; i < 32; i++)
				in[1 + i] = (u8)(first + i);
			fx_mxfp8_dequantize(out, in, 1, cpu);
			for (i = 0; i < 32; i++)
				assert_int_equal(out[i], ref_decode(in[0], in[1 + i]));
		}
	}
}

static void single_elements(void **state)
{
	u32 scale, i;

	(void)state;
	for (scale = 0; scale < 256; scale++) {
		for (i = 0; i < 256; i++)
			assert_int_equal(fx_mxfp8_decode((u8)scale, (u8)i),
					 ref_decode((u8)scale, (u8)i));
		if (scale == 255)
			break;
		for (i = 0; i < 0x10000; i++)
			assert_int_equal(fx_mxfp8_encode((u8)scale, (u16)i),
					 ref_encode(ref_e8m0((u8)scale), (u16)i));
	}
}

/* The bound of mx.h, in doubles. */
static double bound_of(double x, double scale)
{
	if (x > 464 * scale)
		return x / 8;
	return fmax(x / 16, scale / 1024);
}

/* There and back: within the bound, sign kept, NaN for what is not finite. */
static void round_trip_within_bound(void **state)
{
	double worst = 0;
	u32 e, v;

	(void)state;
	for (e = 0; e < 255; e++) {
		const u16 max = (u16)(e << 7 | 0x7f);
		const u8 s = ref_scale(&max, 1);
		const double scale = ref_e8m0(s);

		for (v = 0; v < 0x10000; v++) {
			const u32 magnitude = v & 0x7fff;
			u16 y;

			if (magnitude > max && magnitude < 0x7f80)
				continue;
			y = fx_mxfp8_decode(s, fx_mxfp8_encode(s, (u16)v));
			assert_int_equal((y ^ v) & 0x8000, 0);
			assert_true(fx_mxfp8_within((u16)v, y, s));
			if (magnitude >= 0x7f80) {
				assert_true(isnan(ref_bf16(y)));
			} else {
				double x = ref_bf16((u16)v);
				double error = fabs(x - ref_bf16(y));

				assert_true(error <= bound_of(fabs(x), scale));
				/* nothing is lost at either end of the scale */
				assert_true(ref_bf16(y) ==
					    ref_e4m3(fx_mxfp8_encode(s, (u16)v)) * scale);
				worst = fmax(worst, error / ref_bf16(max));
			}
		}
	}
	/* the bound in terms of the maximum, and that it is no idle one */
	assert_true(worst <= 1 / 8.0 && worst > 1 / 8.5);
}

static void within_refuses(void **state)
{
	u32 round, near = 0, yes = 0, no = 0;

	(void)state;
	/* one of ones, with the scale of a block of ones */
	assert_true(fx_mxfp8_within(0x3f80, 0x3f80, 119));
	assert_true(fx_mxfp8_within(0x3f80, 0x3f88, 119));	/* 1.0625 */
	assert_false(fx_mxfp8_within(0x3f80, 0x3f89, 119));
	assert_false(fx_mxfp8_within(0x3f80, 0xbf80, 119));
	assert_false(fx_mxfp8_within(0x3f80, 0x7fc0, 119));
	assert_false(fx_mxfp8_within(0x3f80, 0x7f80, 119));
	assert_false(fx_mxfp8_within(0x7fc0, 0x3f80, 119));
	assert_false(fx_mxfp8_within(0x7f80, 0x7f80, 119));	/* is to be NaN */
	assert_true(fx_mxfp8_within(0xff80, 0xffc0, 119));
	assert_false(fx_mxfp8_within(0x0000, 0x8000, 119));
	assert_false(fx_mxfp8_within(0x3f80, 0x3f80, 0xff));
	/* 2^30 in a block whose largest is below 2: no such block */
	assert_false(fx_mxfp8_within(0x4e80, 0x4e80, 119));

	for (round = 0; round < 3000000; round++) {
		const u8 s = (u8)rnd_below(247);
		const double scale = ref_e8m0(s);
		const u16 x = (u16)rnd_below(((u32)s + 8) << 7 | 0x7f);
		const u16 y = (u16)(x + rnd_below(64) - 32) & 0x7fff;
		double dx = ref_bf16(x), dy = ref_bf16(y), margin;
		bool want;

		if (y >= 0x7f80 || dy > 512 * scale || (rnd() & 7 && dx < scale / 4096))
			continue;
		margin = bound_of(dx, scale) - fabs(dx - dy);
		want = margin >= 0;
		/* mx.h: what lies below X * 2^-40 is not compared */
		if (margin != 0 && fabs(margin) < ldexp(scale, -38)) {
			near++;
			continue;
		}
		assert_int_equal(fx_mxfp8_within(x, y, s), want);
		*(want ? &yes : &no) += 1;
	}
	assert_true(yes > 100000 && no > 100000 && near < 10000);
}

static void sizes(void **state)
{
	const u64 most = ~0ull / 33 * 32;	/* elements whose bytes still fit */
	u64 n = 42;

	(void)state;
	assert_int_equal(fx_mx_bytes(0, &n), FX_PURE_OK);
	assert_int_equal(n, 0);
	assert_int_equal(fx_mx_bytes(32, &n), FX_PURE_OK);
	assert_int_equal(n, 33);
	assert_int_equal(fx_mx_bytes(most, &n), FX_PURE_OK);
	assert_true(n == ~0ull / 33 * 33);
	n = 42;
	assert_int_equal(fx_mx_bytes(most + 32, &n), FX_PURE_RANGE);
	assert_int_equal(fx_mx_bytes(~0ull - 31, &n), FX_PURE_RANGE);
	assert_int_equal(fx_mx_bytes(~0ull, &n), FX_PURE_RAGGED);
	assert_int_equal(fx_mx_bytes(1, &n), FX_PURE_RAGGED);
	assert_int_equal(fx_mx_bytes(33, &n), FX_PURE_RAGGED);
	assert_int_equal(fx_mx_elems(32, &n), FX_PURE_RAGGED);
	assert_int_equal(fx_mx_elems(34, &n), FX_PURE_RAGGED);
	assert_int_equal(n, 42);
	assert_int_equal(fx_mx_elems(66, &n), FX_PURE_OK);
	assert_int_equal(n, 64);
	assert_int_equal(fx_mx_elems(~0ull / 33 * 33, &n), FX_PURE_OK);
	assert_true(n == most);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST_ON(quantize_exhaustive, cpu_plain),
		TEST_ON(quantize_exhaustive, cpu_avx2),
		TEST_ON(quantize_maximum_anywhere, cpu_plain),
		TEST_ON(quantize_maximum_anywhere, cpu_avx2),
		TEST_ON(quantize_random, cpu_plain),
		TEST_ON(quantize_random, cpu_avx2),
		TEST_ON(quantize_edges, cpu_plain),
		TEST_ON(quantize_edges, cpu_avx2),
		TEST_ON(quantize_unaligned, cpu_plain),
		TEST_ON(quantize_unaligned, cpu_avx2),
		TEST_ON(dequantize_exhaustive, cpu_plain),
		TEST_ON(dequantize_exhaustive, cpu_avx2),
		cmocka_unit_test(single_elements),
		cmocka_unit_test(round_trip_within_bound),
		cmocka_unit_test(within_refuses),
		cmocka_unit_test(sizes),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("pure/mx", tests, NULL, NULL) ? 1 : 0;
}
