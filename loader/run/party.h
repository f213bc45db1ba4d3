/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Who else has to do with a dma-buf: the heap it comes from, its importers. */
#ifndef FX_RUN_PARTY_H
#define FX_RUN_PARTY_H

#include <stddef.h>

#include "../types.h"

int fx_heap_open(const char *heap);
int fx_heap_alloc(int heap, size_t bytes);

int fx_drm_open(const char *driver);
int fx_drm_import(int drm, int dmabuf, u32 *handle);
void fx_drm_forget(int drm, u32 handle);

int fx_v4l2_import(const char *node, int dmabuf, size_t bytes);

int fx_attachments(void);

#endif /* FX_RUN_PARTY_H */
