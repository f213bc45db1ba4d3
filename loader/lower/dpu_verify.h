/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The kernel's verifier on an object for a DPU, whose own runtime misses
 * pointers that may be NULL, stack that was not written and pointers that leak.
 */
#ifndef FX_LOWER_DPU_VERIFY_H
#define FX_LOWER_DPU_VERIFY_H

#include "../types.h"

/**
 * fx_dpu_verify() - load the object as a syscall program, and let go of it
 * @object: the ELF file
 * @size: its bytes
 * @why: out: what the verifier said, or what is missing, to free(); NULL when
 *	it took it
 *
 * Return: 0; -EPERM when this process may not load programs; -EINVAL when the
 * verifier refuses it; another -errno.
 */
int fx_dpu_verify(const void *object, size_t size, char **why);

#endif /* FX_LOWER_DPU_VERIFY_H */
