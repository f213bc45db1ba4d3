/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* /dev/fabric_ext as functions; each returns 0 (or a count) or -errno. */
#ifndef FX_RUN_DEVICE_H
#define FX_RUN_DEVICE_H

#include <linux/fabric_ext.h>
#include <stddef.h>

#include "../types.h"

int fx_dev_open(const char *graph);
int fx_dev_import(int dev, int dmabuf, u16 place, u32 edge, u32 *handle);
int fx_dev_export(int dev, u32 handle);
int fx_dev_free(int dev, u32 handle);
int fx_dev_submit(int dev, const struct fx_desc *desc, u32 n);
int fx_dev_wait(int dev, struct fx_completion *done, u32 n);

void *fx_map(int dmabuf, size_t bytes, bool write);
void fx_unmap(int dmabuf, void *map, size_t bytes, bool write);

#endif /* FX_RUN_DEVICE_H */
