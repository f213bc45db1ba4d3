/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What a policy has that `attach` holds in the foreground: the pins of a pinned
 * one without its links, so that list, show, stat, events, bypass and the agent
 * know it as any other. The process holds @owner among them. However it ends, its
 * links and what DPUs loaded over its connection end with it, and the pins are
 * removed: by itself, or when it was killed by the agent or the next fabricctl.
 */
#ifndef FX_OWNER_H
#define FX_OWNER_H

#include "pins.h"

enum fx_holder {
	FX_HOLDER_NONE,		/* nothing is pinned, or it is nobody's */
	FX_HOLDER_LIVES,
	FX_HOLDER_DIED,
};

/* Who holds a graph's pins? */
enum fx_holder fx_owner_of(const char *graph);

/**
 * fx_owner_take() - let the graph's pins be this process'
 * @p: the graph's, locked
 * @fd: set to a descriptor that holds them until it is closed
 *
 * Return: FX_RC_OK; FX_RC_SYSTEM after one sentence.
 */
enum fx_rc fx_owner_take(const struct fx_pins *p, int *fd);

/* Are the graph's pins, locked, still those that @fd holds? */
bool fx_owner_counts(const struct fx_pins *p, int fd);

/* Remove what is pinned for a graph, or for all, if the owner died. */
void fx_owner_sweep(const char *graph);
void fx_owner_sweep_all(void);

#endif /* FX_OWNER_H */
