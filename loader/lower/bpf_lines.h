/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Which line of which file an instruction of an object was made of. */
#ifndef FX_LOWER_BPF_LINES_H
#define FX_LOWER_BPF_LINES_H

#include "../diag.h"
#include "../types.h"

/**
 * fx_bpf_line() - the line of the policy that an instruction is of
 * @object: ELF file with .BTF and .BTF.ext
 * @size: its bytes
 * @section: of the program
 * @insn: index of the instruction in it
 * @source: the policy, as it was given to clang; NULL: the file in which the
 *	    section's first function stands, as FX_PORTABLE() makes it
 *
 * What was inlined from a header counts as the policy's last line before it.
 *
 * Return: line and column; zero when the object does not tell.
 */
struct fx_pos fx_bpf_line(const void *object, size_t size, const char *section,
			  u32 insn, const char *source);

#endif /* FX_LOWER_BPF_LINES_H */
