// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * What the other files of pure/ share: the CPU's features and a plain copy.
 */
#include "pure.h"

#ifdef __x86_64__
struct cpuid_regs {
	u32 eax, ebx, ecx, edx;
};

static struct cpuid_regs cpuid(u32 leaf, u32 sub)
{
	struct cpuid_regs r;

	__asm__ volatile("cpuid"
		     : "=a" (r.eax), "=b" (r.ebx), "=c" (r.ecx), "=d" (r.edx)
		     : "0" (leaf), "2" (sub));
	return r;
}

#ifdef FX_PURE_HAS_AVX2
/* A CPU may have AVX2 under a kernel that does not save its registers. */
static bool avx2_usable(u32 leaf1_ecx)
{
	const u32 ymm_state = 0x6, osxsave = 1u << 27, avx2 = 1u << 5;
	u32 lo, hi;

	if (!(leaf1_ecx & osxsave) || cpuid(0, 0).eax < 7)
		return false;
	__asm__ volatile("xgetbv" : "=a" (lo), "=d" (hi) : "c" (0));
	return (lo & ymm_state) == ymm_state && (cpuid(7, 0).ebx & avx2);
}
#else
static bool avx2_usable(u32 leaf1_ecx)
{
	(void)leaf1_ecx;
	return false;
}
#endif

/**
 * fx_cpu_detect - what this CPU can do for the functions of pure/
 *
 * Executes cpuid, which traps to the hypervisor in a virtual machine: call it
 * once and keep the answer.
 *
 * Context: any. Return: a set of enum fx_cpu.
 */
u32 fx_cpu_detect(void)
{
	const u32 sse42 = 1u << 20;
	u32 ecx = cpuid(1, 0).ecx;

	return (ecx & sse42 ? FX_CPU_CRC32 : 0) |
	       (avx2_usable(ecx) ? FX_CPU_AVX2 : 0);
}
#else
u32 fx_cpu_detect(void)
{
	return 0;
}
#endif

/**
 * fx_copy - copy in words, each source byte read once, each destination byte
 *	written once, in ascending order
 * @dst: destination, must not overlap @src
 * @src: source
 * @len: bytes
 *
 * Not memcpy(): a string instruction moves single bytes where the memory is
 * dispatched access by access (an emulated CXL device), at an eighth of the
 * speed; and the compiler may not read the source twice, which its owner may
 * be changing.
 *
 * Context: any.
 */
void fx_copy(void *dst, const void *src, size_t len)
{
	const u8 *s = src;
	u8 *d = dst;

	for (; len >= 32; s += 32, d += 32, len -= 32) {
		u64 a = fx_load64(s), b = fx_load64(s + 8);
		u64 c = fx_load64(s + 16), e = fx_load64(s + 24);

		fx_store64(d, a);
		fx_store64(d + 8, b);
		fx_store64(d + 16, c);
		fx_store64(d + 24, e);
	}
	for (; len >= 8; s += 8, d += 8, len -= 8)
		fx_store64(d, fx_load64(s));
	for (; len; s++, d++, len--)
		*d = fx_load8(s);
}
