/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* PTX as LLVM writes it, instruction by instruction. */
#ifndef FX_LOWER_PTX_SCAN_H
#define FX_LOWER_PTX_SCAN_H

#include "../types.h"

/**
 * fx_ptx_scan() - has a module only what a guard is made of?
 * @ptx: its text
 *
 * Return: NULL, or what else there is, for the end of a sentence that begins
 * with the module; to free().
 */
char *fx_ptx_scan(const char *ptx);

#endif /* FX_LOWER_PTX_SCAN_H */
