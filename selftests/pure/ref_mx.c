// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * bf16, E4M3, E8M0 and MXFP8 as their definitions read: OCP 8-bit Floating
 * Point Specification (OFP8) v1.0 for E4M3, OCP Microscaling Formats (MX)
 * Specification v1.0, sections 5 and 6.3, for the rest. Values are doubles,
 * which hold all of them and their quotients by powers of two exactly; nearest
 * values are searched for, not computed. Where the specification leaves a
 * choice, the one that kmod/pure/mx.h states.
 */
#include <math.h>

#include "pure_test.h"

double ref_bf16(u16 bits)
{
	const double sign = bits & 0x8000 ? -1 : 1;
	const int e = bits >> 7 & 0xff, m = bits & 0x7f;

	if (e == 255)
		return m ? copysign(NAN, sign) : sign * INFINITY;
	if (e == 0)
		return sign * ldexp(m / 128.0, -126);
	return sign * ldexp(1 + m / 128.0, e - 127);
}

double ref_e4m3(u8 code)
{
	const double sign = code & 0x80 ? -1 : 1;
	const int e = code >> 3 & 0xf, m = code & 7;

	if (e == 15 && m == 7)
		return copysign(NAN, sign);
	if (e == 0)
		return sign * ldexp(m / 8.0, -6);
	return sign * ldexp(1 + m / 8.0, e - 7);
}

double ref_e8m0(u8 code)
{
	return code == 0xff ? NAN : ldexp(1, code - 127);
}

/*
 * The nearest of @n ascending non-negative values, ties to the even index; in
 * all formats here the lowest bit of a code is that of its significand.
 */
static unsigned int nearest(const double *value, unsigned int n, double v)
{
	unsigned int low = 0, high = n - 1;

	if (v >= value[high])
		return high;
	while (high - low > 1) {
		unsigned int mid = (low + high) / 2;

		if (value[mid] <= v)
			low = mid;
		else
			high = mid;
	}
	if (v - value[low] != value[high] - v)
		return v - value[low] < value[high] - v ? low : high;
	return low % 2 ? high : low;
}

u16 ref_to_bf16(double v)
{
	/* one beyond the largest: IEEE 754 rounds as if there were no end */
	static double value[0x7f81];
	const u16 sign = signbit(v) ? 0x8000 : 0;
	unsigned int i;

	if (isnan(v))
		return sign | 0x7fc0;
	if (value[1] == 0) {
		for (i = 0; i < 0x7f80; i++)
			value[i] = ref_bf16((u16)i);
		value[0x7f80] = ldexp(1, 128);
	}
	return sign | (u16)nearest(value, 0x7f81, fabs(v));
}

/* X = 2^(floor(log2(max |v|)) - emax), emax of E4M3 being 8 */
u8 ref_scale(const u16 *v, size_t n)
{
	double max = 0;
	size_t i;
	int e;

	for (i = 0; i < n; i++) {
		double a = fabs(ref_bf16(v[i]));

		if (isfinite(a) && a > max)
			max = a;
	}
	if (max == 0)
		return 0;
	e = ilogb(max) - 8;
	return (u8)((e < -127 ? -127 : e) + 127);
}

u8 ref_encode(double x, u16 v)
{
	static double value[0x7f];
	const u8 sign = v & 0x8000 ? 0x80 : 0;
	const double a = fabs(ref_bf16(v));
	unsigned int i;

	if (!isfinite(a))
		return sign | 0x7f;
	if (value[1] == 0) {
		for (i = 0; i < 0x7f; i++)
			value[i] = ref_e4m3((u8)i);
	}
	/* beyond the last is the last: clamped */
	return sign | (u8)nearest(value, 0x7f, a / x);
}

u16 ref_decode(u8 scale, u8 code)
{
	const double p = ref_e4m3(code);

	if (scale == 0xff)
		return (code & 0x80 ? 0x8000 : 0) | 0x7fc0;
	return ref_to_bf16(p * ref_e8m0(scale));
}

void ref_quantize(u8 dst[33], const u16 src[32])
{
	double x;
	int i;

	dst[0] = ref_scale(src, 32);
	x = ref_e8m0(dst[0]);
	for (i = 0; i < 32; i++)
		dst[1 + i] = ref_encode(x, src[i]);
}
