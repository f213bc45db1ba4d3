/* SPDX-License-Identifier: GPL-2.0-only */
/* Which memory blocks hold pages of the engine: those stay online. */
#ifndef FX_NODE_H
#define FX_NODE_H

#include <linux/mm_types.h>
#include <linux/types.h>

int fx_node_init(void);
void fx_node_exit(void);

bool fx_node_usable(int node);
int fx_node_hold(struct folio *folio);
void fx_node_drop(struct folio *folio);

#endif
