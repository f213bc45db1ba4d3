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

/* What is made, and for whom. */
struct fx_clang_target {
	const char *device;		/* for messages, or NULL: the kernel */
	const char *const *args;	/* FX_CLANG_BPF and a -mcpu=, or others; up to NULL */
	const char *define;		/* one more argument, or NULL */
	const char *header;		/* C before all else, or NULL */
	const char *text;		/* C in place of the source's, which it is of, or NULL */
};

#define FX_CLANG_ARGS	16		/* of a target, at most */
#define FX_CLANG_BPF	"-target", "bpf", "-g", "-c"

/* The same for a target of its own. */
enum fx_rc fx_clang_for(const char *source, const char *include,
			const struct fx_clang_target *to, char **object, size_t *size);

/* Is the file in one of the directories that are searched for headers of ours? */
bool fx_clang_is_header(const char *include, const char *path);

#endif /* FX_LOWER_CLANG_H */
