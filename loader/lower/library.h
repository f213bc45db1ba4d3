/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Functions of a shared library, as a probe on them finds them. */
#ifndef FX_LOWER_LIBRARY_H
#define FX_LOWER_LIBRARY_H

#include "../types.h"

enum fx_function_kind {
	FX_FUNCTION_NONE,	/* the library has none of the name */
	FX_FUNCTION_PLAIN,
	/* an IFUNC: what is called is chosen when the library is loaded */
	FX_FUNCTION_CHOSEN,
};

/* Where the dynamic linker would find a library, to free(), or NULL. */
char *fx_library_find(const char *name);

/**
 * fx_library_function() - look a function up, as who links against it today does
 * @path: the library's file
 * @name: the function; of several versions, the default one
 * @offset: out: of a plain function: where in the file it begins
 */
enum fx_function_kind fx_library_function(const char *path, const char *name, u64 *offset);

#endif /* FX_LOWER_LIBRARY_H */
