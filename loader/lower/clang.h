/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* clang, as every device's object is made. */
#ifndef FX_LOWER_CLANG_H
#define FX_LOWER_CLANG_H

#include "../cmd.h"

/* Passed to clang; a policy that needs more is for a newer kernel. */
#define FX_BPF_CPU	"v3"

/**
 * fx_clang() - compile a policy
 * @source: a C file
 * @include: a directory to search first, or NULL
 * @define: one more argument, such as "-DFX_FOR_NIC", or NULL
 * @object: the object's bytes, to free(); NULL after an error
 * @size: how many
 *
 * clang's messages go to standard error. Return: FX_RC_OK, FX_RC_INPUT after
 * a diagnostic, FX_RC_SYSTEM after a sentence.
 */
enum fx_rc fx_clang(const char *source, const char *include, const char *define,
		    char **object, size_t *size);
/* The same for a device with arguments of its own, its -mcpu= among them. */
struct fx_clang_target {
	const char *device;		/* for messages, or NULL: the kernel */
	const char *args[4];		/* up to NULL */
};

enum fx_rc fx_clang_for(const char *source, const char *include,
			const struct fx_clang_target *to, char **object, size_t *size);

#endif /* FX_LOWER_CLANG_H */
