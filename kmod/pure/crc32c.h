/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef FABRIC_EXT_CRC32C_H
#define FABRIC_EXT_CRC32C_H

#include "pure.h"

u32 fx_crc32c(u32 crc, const void *buf, size_t len, u32 cpu);
u32 fx_crc32c_copy(u32 crc, void *dst, const void *src, size_t len, u32 cpu);

#endif /* FABRIC_EXT_CRC32C_H */
