// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "pure_test.h"

#include "pure/crc32c.h"
#include "pure/crc32c_tables.h"

/* A register advanced by @n zero bytes, bit by bit. */
static u32 advance(u32 reg, unsigned int n)
{
	for (n *= 8; n; n--)
		reg = reg >> 1 ^ (reg & 1 ? 0x82f63b78 : 0);
	return reg;
}

static void tables(void **state)
{
	u32 k, i;

	(void)state;
	for (i = 0; i < 256; i++) {
		for (k = 0; k < 8; k++)
			assert_int_equal(fx_crc_slice[k].at[i], advance(i, k + 1));
		for (k = 0; k < 4; k++)
			assert_int_equal(fx_crc_shift[k].at[i],
					 advance(i << 8 * k, FX_CRC_STREAM));
	}
}

/* RFC 3720, B.4, and the check value of the catalogues. */
static void known_vectors(void **state)
{
	static const u8 read_pdu[48] = {
		0x01, 0xc0, [16] = 0x14, [22] = 0x04, [27] = 0x14,
		[31] = 0x18, [32] = 0x28, [40] = 0x02,
	};
	const u32 cpu = cpu_or_skip(state);
	u8 zeros[32], ones[32], up[32], down[32];
	u8 i;

	for (i = 0; i < 32; i++) {
		zeros[i] = 0;
		ones[i] = 0xff;
		up[i] = i;
		down[i] = 31 - i;
	}
	assert_int_equal(fx_crc32c(0, zeros, 32, cpu), 0x8a9136aa);
	assert_int_equal(fx_crc32c(0, ones, 32, cpu), 0x62a8ab43);
	assert_int_equal(fx_crc32c(0, up, 32, cpu), 0x46dd794e);
	assert_int_equal(fx_crc32c(0, down, 32, cpu), 0x113fdb5c);
	assert_int_equal(fx_crc32c(0, read_pdu, 48, cpu), 0xd9963a56);
	assert_int_equal(fx_crc32c(0, "123456789", 9, cpu), 0xe3069283);
	assert_int_equal(fx_crc32c(0, NULL, 0, cpu), 0);
	/* the reference must stand up to them, too */
	assert_int_equal(ref_crc32c(read_pdu, 48), 0xd9963a56);
	assert_int_equal(ref_crc32c("123456789", 9), 0xe3069283);
}

static void check_one(size_t len, size_t src_at, size_t dst_at, u32 cpu)
{
	void *src_base, *dst_base;
	u8 *src = exact_alloc(len, src_at, &src_base);
	u8 *dst = exact_alloc(len, dst_at, &dst_base);
	u32 ref;

	rnd_bytes(src, len);
	ref = ref_crc32c(src, len);
	assert_int_equal(fx_crc32c(0, src, len, cpu), ref);
	assert_int_equal(fx_crc32c_copy(0, dst, src, len, cpu), ref);
	assert_memory_equal(dst, src, len);
	memset(dst, 0, len);
	fx_copy(dst, src, len);
	assert_memory_equal(dst, src, len);
	free(src_base);
	free(dst_base);
}

/* ASan watches that not a byte before or behind is touched. */
static void every_alignment_and_length(void **state)
{
	const u32 cpu = cpu_or_skip(state);
	size_t len, at;

	for (len = 0; len <= 300; len++)
		for (at = 0; at < 16; at++)
			check_one(len, at, (at * 7 + len) % 16, cpu);
}

/* Around the lengths where the three streams start, and fetching ahead. */
static void long_lengths(void **state)
{
	const u32 cpu = cpu_or_skip(state);
	static const size_t around[] = {
		3 * FX_CRC_STREAM, 6 * FX_CRC_STREAM, 4096, 16384, 65536,
	};
	size_t i, len;

	for (i = 0; i < ARRAY_SIZE(around); i++)
		for (len = around[i] - 9; len <= around[i] + 9; len++)
			check_one(len, len % 8, len % 3, cpu);
}

static void continues_at_every_split(void **state)
{
	const u32 cpu = cpu_or_skip(state);
	u8 buf[2000], out[2000];
	size_t at;
	u32 ref, crc;

	rnd_bytes(buf, sizeof(buf));
	ref = ref_crc32c(buf, sizeof(buf));
	for (at = 0; at <= sizeof(buf); at++) {
		crc = fx_crc32c(0, buf, at, cpu);
		assert_int_equal(fx_crc32c(crc, buf + at, sizeof(buf) - at, cpu), ref);
		memset(out, 0, sizeof(out));
		crc = fx_crc32c_copy(0, out, buf, at, cpu);
		crc = fx_crc32c_copy(crc, out + at, buf + at, sizeof(buf) - at, cpu);
		assert_int_equal(crc, ref);
		assert_memory_equal(out, buf, sizeof(buf));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tables),
		TEST_ON(known_vectors, cpu_plain),
		TEST_ON(known_vectors, cpu_crc32),
		TEST_ON(known_vectors, cpu_avx2),
		TEST_ON(every_alignment_and_length, cpu_plain),
		TEST_ON(every_alignment_and_length, cpu_crc32),
		TEST_ON(every_alignment_and_length, cpu_avx2),
		TEST_ON(long_lengths, cpu_plain),
		TEST_ON(long_lengths, cpu_crc32),
		TEST_ON(long_lengths, cpu_avx2),
		TEST_ON(continues_at_every_split, cpu_plain),
		TEST_ON(continues_at_every_split, cpu_crc32),
		TEST_ON(continues_at_every_split, cpu_avx2),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("pure/crc32c", tests, NULL, NULL) ? 1 : 0;
}
