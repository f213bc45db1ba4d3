/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef FXCOPY_H
#define FXCOPY_H

#include <stddef.h>

int cudaMemcpy(void *to, const void *from, size_t n, int kind);
void *fx_put(void *to, const void *from, size_t n);
void *fx_get(void *to, const void *from, size_t n);
void *fx_any(void *to, const void *from, size_t n);
void *fx_put_all(void *to, const void *from, size_t n);
void *fx_any_all(void *to, const void *from, size_t n);

#endif /* FXCOPY_H */
