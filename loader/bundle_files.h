/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The files of a bundle, between its reader and its writer. */
#ifndef FX_BUNDLE_FILES_H
#define FX_BUNDLE_FILES_H

#include "types.h"

#define FX_WORD_CHARS \
	"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"

enum fx_bundle_file_id {
	FX_BUNDLE_MANIFEST,
	FX_BUNDLE_EDGES,
	FX_BUNDLE_OBLIGATIONS,
	FX_BUNDLE_POLICY,
	FX_BUNDLE_FILES,
};

struct fx_bundle_file {
	const char *name;
	u32 max;		/* bytes that are read of it */
};

extern const struct fx_bundle_file fx_bundle_files[FX_BUNDLE_FILES];

char *fx_sha256(const void *data, size_t len);

#endif /* FX_BUNDLE_FILES_H */
