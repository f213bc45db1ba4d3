/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The agent of a graph: it copies between the kernel's maps and the memories
 * that share none with it. What it knows lies in pinned maps and in those
 * memories: one that is killed takes nothing with it, and until another runs,
 * readers are promised nothing.
 */
#ifndef FX_AGENT_H
#define FX_AGENT_H

#include "maps.h"

/**
 * fx_agent_run() - be a graph's agent until a signal, or the graph's end
 * @graph: name
 *
 * Return: FX_RC_OK; FX_RC_INPUT or FX_RC_SYSTEM after one sentence.
 */
enum fx_rc fx_agent_run(const char *graph);

/**
 * fx_agent_start() - see that a graph's agent runs, if it needs one
 * @graph: name, whose maps are pinned
 *
 * Return: FX_RC_OK when it does or nothing is to be copied; FX_RC_SYSTEM after
 * one sentence.
 */
enum fx_rc fx_agent_start(const char *graph);

/* Does one run? */
bool fx_agent_runs(const struct fx_shared *s);
/* Is there anything for it to do? */
bool fx_agent_needed(const struct fx_shared *s);

/* agent_sync.c: what is copied */
struct fx_sync;

/* Open all maps; NULL and *err set to -errno. @s is borrowed. */
struct fx_sync *fx_sync_new(const char *graph, const struct fx_shared *s, int *err);
void fx_sync_free(struct fx_sync *y);
/* Copy once what is due. */
void fx_sync_round(struct fx_sync *y);
/* How long to wait between rounds. */
u32 fx_sync_interval_ms(const struct fx_sync *y);

#endif /* FX_AGENT_H */
