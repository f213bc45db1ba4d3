/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * pure: C that calls neither a kernel nor a libc function and does no floating
 * point arithmetic, so that one text serves the module, the command line and
 * the unit tests. This header is all it knows of where it runs.
 *
 * Nothing in pure/ allocates, sleeps, locks or keeps state outside its
 * arguments: every function may be called in any context, and concurrently as
 * long as no two callers share an argument that is written.
 */
#ifndef FABRIC_EXT_PURE_H
#define FABRIC_EXT_PURE_H

#include <linux/types.h>

#ifdef __KERNEL__
#include <linux/build_bug.h>
#include <linux/compiler.h>
#include <linux/stddef.h>
#else
#include <assert.h>
#include <stdbool.h>
#include <stddef.h>

typedef __u8 u8;
typedef __u16 u16;
typedef __u32 u32;
typedef __u64 u64;
typedef __s16 s16;
typedef __s32 s32;
#endif

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "pure/ takes bf16 elements and words as little-endian: it is not for this CPU"
#endif

/*
 * The vector code needs compiler support (not with -mgeneral-regs-only) and a
 * context that may touch vector registers (not the kernel).
 */
#if defined(__x86_64__) && defined(__SSE2__) && !defined(__KERNEL__)
#define FX_PURE_HAS_AVX2 1
#endif

/**
 * enum fx_pure_status - what a function of pure/ answers
 * @FX_PURE_OK: done
 * @FX_PURE_INVALID: an argument is no member of its enum, or a plan was not
 *	made by fx_chain_check()
 * @FX_PURE_RAGGED: a length is no whole number of blocks
 * @FX_PURE_RANGE: a length does not fit into 64 bits after the transform
 * @FX_PURE_NOSPACE: the destination is too small; nothing was written
 * @FX_PURE_OVERLAP: source and destination overlap; nothing was written
 * @FX_PURE_EXCESS: more source bytes were offered than announced
 * @FX_PURE_SHORT: the stream was ended before all of it was read and written
 *
 * Zero is success and failures are negative, but these are no errnos: the
 * caller maps them, because only it knows which argument to name.
 */
enum fx_pure_status {
	FX_PURE_OK = 0,
	FX_PURE_INVALID = -1,
	FX_PURE_RAGGED = -2,
	FX_PURE_RANGE = -3,
	FX_PURE_NOSPACE = -4,
	FX_PURE_OVERLAP = -5,
	FX_PURE_EXCESS = -6,
	FX_PURE_SHORT = -7,
};

/**
 * enum fx_cpu - instructions that the caller allows, from fx_cpu_detect()
 * @FX_CPU_CRC32: SSE4.2's crc32, which works on general registers
 * @FX_CPU_AVX2: vector registers; never reported in the kernel
 *
 * All of pure/ gives the same bytes with any subset, zero included.
 */
enum fx_cpu {
	FX_CPU_CRC32 = 1 << 0,
	FX_CPU_AVX2 = 1 << 1,
};

u32 fx_cpu_detect(void);

/*
 * A source may be written by its owner while it is read. What these give is
 * one read: the compiler does not know the value and so cannot fetch it again,
 * and the copy and the checksum are of the same bits.
 */
static inline u64 fx_load64(const void *p)
{
	u64 v;

	__builtin_memcpy(&v, p, sizeof(v));
	__asm__("" : "+r" (v));
	return v;
}

static inline u8 fx_load8(const void *p)
{
	u32 v = *(const u8 *)p;

	__asm__("" : "+r" (v));
	return (u8)v;
}

static inline void fx_store64(void *p, u64 v)
{
	__builtin_memcpy(p, &v, sizeof(v));
}

/* Fetch cache lines early; a hint that no address can make fail. */
static inline void fx_prefetch(const void *p, size_t len)
{
	size_t i;

	for (i = 0; i < len; i += 64)
		__builtin_prefetch((const u8 *)p + i, 0);
}

static inline void fx_prefetchw(const void *p, size_t len)
{
	size_t i;

	for (i = 0; i < len; i += 64)
		__builtin_prefetch((const u8 *)p + i, 1);
}

void fx_copy(void *dst, const void *src, size_t len);

#endif /* FABRIC_EXT_PURE_H */
