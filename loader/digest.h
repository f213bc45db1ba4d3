/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* SHA-256 (FIPS 180-4), as everything that is compared by digest has it. */
#ifndef FX_DIGEST_H
#define FX_DIGEST_H

#include <linux/fabric_ext.h>
#include <sha2.h>

#include "types.h"

static inline void fx_digest(const void *data, size_t size, u8 digest[FX_DIGEST_LEN])
{
	SHA2_CTX sha;

	SHA256Init(&sha);
	SHA256Update(&sha, data, size);
	SHA256Final(digest, &sha);
}

#endif /* FX_DIGEST_H */
