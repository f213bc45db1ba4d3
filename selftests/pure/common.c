// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "pure_test.h"

struct cpu_set_case cpu_plain = { "no special instructions", 0 };
struct cpu_set_case cpu_crc32 = { "the crc32 instruction (SSE4.2)", FX_CPU_CRC32 };
struct cpu_set_case cpu_avx2 = { "AVX2", FX_CPU_CRC32 | FX_CPU_AVX2 };

u32 cpu_or_skip(void **state)
{
	const struct cpu_set_case *c = *state;

	if (c->cpu & ~fx_cpu_detect()) {
		print_message("# skipped: this CPU, or this build, does not have %s\n",
			      c->name);
		skip();
	}
	return c->cpu;
}

static u64 rnd_state = 0x9e3779b97f4a7c15ull;

u64 rnd(void)
{
	rnd_state ^= rnd_state << 13;
	rnd_state ^= rnd_state >> 7;
	rnd_state ^= rnd_state << 17;
	return rnd_state * 0x2545f4914f6cdd1dull;
}

u64 rnd_below(u64 limit)
{
	return rnd() % limit;
}

void rnd_bytes(void *p, size_t len)
{
	u8 *b = p;

	for (; len; len--)
		*b++ = (u8)(rnd() >> 32);
}

u8 *exact_alloc(size_t len, size_t misalign, void **base)
{
	*base = malloc(len + misalign);
	assert_non_null(*base);
	return (u8 *)*base + misalign;
}

/*
 * RFC 3720, 12.1: the bits of the message are the coefficients of a polynomial,
 * each byte lowest bit first, the first 32 complemented; that times x^32 modulo
 * 0x11EDC6F41 is the remainder, complemented; its coefficient of x^31 is the
 * lowest bit of the answer. Here as long division, not in reflected form.
 */
u32 ref_crc32c(const void *p, size_t len)
{
	const u8 *b = p;
	u32 rem = 0xffffffff, answer = 0;
	size_t i;
	int bit;

	for (i = 0; i < len; i++) {
		for (bit = 0; bit < 8; bit++) {
			u32 in = b[i] >> bit & 1, out = rem >> 31;

			rem <<= 1;
			if (in != out)
				rem ^= 0x1edc6f41;
		}
	}
	for (bit = 0; bit < 32; bit++)
		answer |= (~rem >> (31 - bit) & 1) << bit;
	return answer;
}
