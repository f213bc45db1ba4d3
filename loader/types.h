/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The kernel's integer names and the few macros that every file here uses. */
#ifndef FX_TYPES_H
#define FX_TYPES_H

#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>

typedef __u8 u8;
typedef __u16 u16;
typedef __u32 u32;
typedef __u64 u64;
typedef __s32 s32;
typedef __s64 s64;

#define U32_MAX			0xffffffffU
#define U64_MAX			0xffffffffffffffffULL

#define ARRAY_SIZE(a)		(sizeof(a) / sizeof((a)[0]))
#define fx_printf(fmt, args)	__attribute__((format(printf, fmt, args)))

#endif /* FX_TYPES_H */
