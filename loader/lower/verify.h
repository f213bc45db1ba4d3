/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What was compiled, put before the verifier of the kernel that runs here. */
#ifndef FX_LOWER_VERIFY_H
#define FX_LOWER_VERIFY_H

#include <linux/bpf.h>
#include <stddef.h>

#include "../diag.h"

/**
 * fx_verify() - load an object's programs, and let go of them
 * @object: an ELF file's bytes
 * @size: how many
 * @type: enum bpf_prog_type that all of them must be of, or -1
 * @why: one sentence, to free(), unless 0 is returned
 *
 * Return: 0; -EPERM when this process may not load programs, so that nothing
 * is known; -EOPNOTSUPP when they were not loaded, and not for what the verifier
 * says; another -errno when it refuses them.
 */
int fx_verify(const void *object, size_t size, int type, char **why);

/**
 * fx_verify_as() - the same, for who runs a program elsewhere than in the kernel
 * @object: an ELF file's bytes
 * @size: how many
 * @type: enum bpf_prog_type that all of them must be of, or -1
 * @as: the instructions that each of them has in the file, or NULL
 * @n: how many
 * @why: as above
 *
 * Return: as above; -EINVAL also when the verifier saw other instructions than
 * these, apart from the maps that they name.
 */
int fx_verify_as(const void *object, size_t size, int type, const struct bpf_insn *as, size_t n,
		 char **why);

/**
 * fx_verify_pos() - the line that a verifier's reason begins with
 * @why: as fx_verify() made it; without the line afterwards, if it had one
 * @source: the policy
 *
 * Return: the line, or zero where the reason is about another file, or has none.
 */
struct fx_pos fx_verify_pos(char **why, const char *source);

#endif /* FX_LOWER_VERIFY_H */
