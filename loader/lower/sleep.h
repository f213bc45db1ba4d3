/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Which functions of the kernel may sleep, and where an object calls them. */
#ifndef FX_LOWER_SLEEP_H
#define FX_LOWER_SLEEP_H

#include "insn.h"

/**
 * fx_may_sleep() - does an instruction call what may sleep?
 * @p: the program
 * @at: the instruction
 *
 * Return: the function's name, as policies write it; NULL when it is no such
 * call, or of a function that is not known.
 */
const char *fx_may_sleep(const struct fx_code_prog *p, u32 at);

#endif /* FX_LOWER_SLEEP_H */
