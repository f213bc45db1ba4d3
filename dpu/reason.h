/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Why librte_bpf does not take a program: it tells its log alone. */
#ifndef FX_DPU_REASON_H
#define FX_DPU_REASON_H

#include <stddef.h>

/*
 * Between the two, which one thread calls, what is logged is looked at, and
 * goes on to where the log went before.
 */
void fx_dpu_reason_begin(void);
void fx_dpu_reason_end(void);

/**
 * fx_dpu_reason() - the sentence of a refusal
 * @object: the ELF file that was refused between the two
 * @size: its bytes
 * @why: out, of FX_DPU_WHY_LEN bytes
 */
void fx_dpu_reason(const void *object, size_t size, char *why);

#endif /* FX_DPU_REASON_H */
