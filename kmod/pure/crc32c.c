// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * CRC-32C as of RFC 3720 (Castagnoli): polynomial 0x1EDC6F41, reflected
 * 0x82F63B78; register preset to all ones; input and output reflected; output
 * complemented. "123456789" gives 0xE3069283.
 *
 * The copying form is the fused one: a word is read once, and the very register
 * that is stored goes into the checksum, so the checksum is of the bytes
 * written even while someone changes the source, and slow memory is touched no
 * more than a plain copy touches it.
 */
#include "crc32c.h"
#include "crc32c_tables.h"

#define STREAM	FX_CRC_STREAM

/*
 * Where a stream of stores misses the caches, a core keeps too few of them in
 * flight to run at the speed of memory, so lines are fetched this far ahead.
 * From LONG on, what follows in memory is likely to be wanted next: fetching
 * runs past the end, where it costs time at worst.
 */
#define AHEAD	4096
#define LONG	(4 * AHEAD)

static inline u32 step8(u32 reg, u8 byte)
{
	return fx_crc_slice[0].at[(u8)reg ^ byte] ^ reg >> 8;
}

/* Slice-by-8: the eight bytes of a word are advanced side by side. */
static inline u32 step64_table(u32 reg, u64 v)
{
	v ^= reg;
	return fx_crc_slice[7].at[(u8)v] ^
	       fx_crc_slice[6].at[(u8)(v >> 8)] ^
	       fx_crc_slice[5].at[(u8)(v >> 16)] ^
	       fx_crc_slice[4].at[(u8)(v >> 24)] ^
	       fx_crc_slice[3].at[(u8)(v >> 32)] ^
	       fx_crc_slice[2].at[(u8)(v >> 40)] ^
	       fx_crc_slice[1].at[(u8)(v >> 48)] ^
	       fx_crc_slice[0].at[v >> 56];
}

#ifdef __x86_64__
/* crc32 reads and writes general registers only: no FPU section needed. */
static inline u64 step64_insn(u64 reg, u64 v)
{
	__asm__("crc32q %1, %0" : "+r" (reg) : "r" (v));
	return reg;
}

static inline u32 advance_stream(u32 reg)
{
	return fx_crc_shift[0].at[(u8)reg] ^
	       fx_crc_shift[1].at[(u8)(reg >> 8)] ^
	       fx_crc_shift[2].at[(u8)(reg >> 16)] ^
	       fx_crc_shift[3].at[reg >> 24];
}

/*
 * The instruction takes three cycles and a new one can start every cycle, hence
 * three independent streams. All start from zero; the register so far is
 * advanced over them afterwards, off the critical path.
 */
static inline u32 streams(u32 reg, u8 *d, const u8 *s, bool copy, bool ahead)
{
	u64 a = 0, b = 0, c = 0;
	u32 line, i;

	for (line = 0; line < STREAM; line += 64) {
		if (ahead) {
			fx_prefetch(s + AHEAD + 3 * line, 3 * 64);
			if (copy)
				fx_prefetchw(d + AHEAD + 3 * line, 3 * 64);
		}
		for (i = line; i < line + 64; i += 8) {
			u64 x = fx_load64(s + i);
			u64 y = fx_load64(s + STREAM + i);
			u64 z = fx_load64(s + 2 * STREAM + i);

			a = step64_insn(a, x);
			b = step64_insn(b, y);
			c = step64_insn(c, z);
			if (copy) {
				fx_store64(d + i, x);
				fx_store64(d + STREAM + i, y);
				fx_store64(d + 2 * STREAM + i, z);
			}
		}
	}
	reg = advance_stream(reg) ^ (u32)a;
	reg = advance_stream(reg) ^ (u32)b;
	return advance_stream(reg) ^ (u32)c;
}
#else
static inline u64 step64_insn(u64 reg, u64 v)
{
	return step64_table(reg, v);
}

static inline u32 streams(u32 reg, u8 *d, const u8 *s, bool copy, bool ahead)
{
	u32 i;

	for (i = 0; i < 3 * STREAM; i += 8) {
		u64 v = fx_load64(s + i);

		reg = step64_table(reg, v);
		if (copy)
			fx_store64(d + i, v);
	}
	return reg;
}
#endif

static inline u32 run(u32 reg, u8 *d, const u8 *s, size_t len, bool copy, u32 cpu)
{
	const bool insn = cpu & FX_CPU_CRC32, ahead = len >= LONG;

	if (insn) {
		for (; len >= 3 * STREAM; s += 3 * STREAM, len -= 3 * STREAM) {
			reg = streams(reg, d, s, copy, ahead);
			if (copy)
				d += 3 * STREAM;
		}
	}
	for (; len >= 8; s += 8, len -= 8) {
		u64 v = fx_load64(s);

		reg = insn ? step64_insn(reg, v) : step64_table(reg, v);
		if (copy) {
			fx_store64(d, v);
			d += 8;
		}
	}
	for (; len; s++, len--) {
		u8 v = fx_load8(s);

		reg = step8(reg, v);
		if (copy)
			*d++ = v;
	}
	return reg;
}

/**
 * fx_crc32c - checksum of a buffer
 * @crc: 0 to begin, or the answer for the bytes right before @buf
 * @buf: the bytes, at any alignment
 * @len: their number
 * @cpu: set of enum fx_cpu that may be used
 *
 * Context: any.
 * Return: the finished checksum of everything so far.
 */
u32 fx_crc32c(u32 crc, const void *buf, size_t len, u32 cpu)
{
	return ~run(~crc, NULL, buf, len, false, cpu);
}

/**
 * fx_crc32c_copy - copy a buffer and checksum the bytes as they are written
 * @crc: 0 to begin, or the answer for the bytes right before @dst
 * @dst: destination, must not overlap @src; never read
 * @src: source, each byte is read once
 * @len: bytes
 * @cpu: set of enum fx_cpu that may be used
 *
 * Context: any.
 * Return: the finished checksum of everything so far.
 */
u32 fx_crc32c_copy(u32 crc, void *dst, const void *src, size_t len, u32 cpu)
{
	return ~run(~crc, dst, src, len, true, cpu);
}
