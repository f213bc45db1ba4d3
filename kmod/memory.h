/* SPDX-License-Identifier: GPL-2.0-only */
/* Memory of CXL regions going online, its tier. */
#ifndef FX_MEMORY_H
#define FX_MEMORY_H

int fx_memory_init(void);
void fx_memory_exit(void);

#endif
