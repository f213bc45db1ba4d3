/* SPDX-License-Identifier: GPL-2.0-only */
/* Events: a ring per graph that readers can miss but never corrupt. */
#ifndef FX_OBSERVE_H
#define FX_OBSERVE_H

#include "graph.h"

#define FX_RING_SLOTS	4096	/* events kept per graph; power of two */

struct fx_ring *fx_ring_new(void);
void fx_ring_free(struct fx_ring *ring);

void fx_emit(struct fx_graph *g, struct fx_event *ev);
u32 fx_ring_read(struct fx_ring *ring, u64 *pos, struct fx_event *out, u32 n);
void fx_ring_totals(struct fx_ring *ring, u64 *emitted, u64 *lost);

int fx_observe_init(void);
void fx_observe_to(void (*deliver)(struct fx_graph *g));
void fx_observe_flush(void);
void fx_observe_exit(void);

#endif
