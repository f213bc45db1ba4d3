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

struct json_object;

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
 * @started: set to whether it had to be started, or NULL
 *
 * One that hangs is ended first. Return: FX_RC_OK when it does or nothing is to
 * be copied; FX_RC_SYSTEM after one sentence.
 */
enum fx_rc fx_agent_start(const char *graph, bool *started);

/* Is there anything for it to do? */
bool fx_agent_needed(const struct fx_shared *s);

/* ---- agent_life.c: whether one lives ----------------------------------- */

enum fx_agent_state {
	FX_AGENT_NONE,		/* nothing is to be copied */
	FX_AGENT_UNKNOWN,	/* the list of maps is being replaced */
	FX_AGENT_RUNS,
	FX_AGENT_HANGS,		/* it gave no sign of life for FX_AGENT_HANGS_MS */
	FX_AGENT_GONE,
};

/*
 * It gives one between any two requests to a memory, each of which is answered
 * or given up within FX_DPU_WAIT_MS; to begin takes two.
 */
#define FX_AGENT_HANGS_MS	15000

struct fx_agent_view {
	enum fx_agent_state state;
	u32 pid;		/* of the last one, 0: there was none */
	u64 born;		/* ns, CLOCK_MONOTONIC: the same number is the same agent */
};

void fx_agent_look(const char *graph, struct fx_agent_view *v);
/* "runs", or what is wrong and what mends it; "" without an agent. */
const char *fx_agent_text(const struct fx_agent_view *v);
/* Put "agent" into @o, if there is one to tell of. */
void fx_agent_put(struct json_object *o, const struct fx_agent_view *v);

/* Does one have the lock? */
bool fx_agent_runs(const struct fx_shared *s);

/* The agent's own: its lock and its sign of life. */
struct fx_agent_life;

/* Begin to live: 0, -EBUSY when another does, or another -errno. */
int fx_agent_life_begin(const struct fx_shared *s, struct fx_agent_life **out);
void fx_agent_life_end(struct fx_agent_life *l);
void fx_agent_life_beat(struct fx_agent_life *l);
/* Is the graph still the one that it was begun for? */
bool fx_agent_life_counts(const struct fx_agent_life *l, const struct fx_shared *s);

/**
 * fx_agent_grab() - the process of a graph's agent
 * @graph: name
 *
 * Return: a pidfd to fx_agent_finish(); -ESRCH when there is none, or none that
 * this process may name.
 */
int fx_agent_grab(const char *graph);
/* Give it @ms to end by itself, then kill it; @pidfd may be negative. 0 or -errno. */
int fx_agent_finish(int pidfd, u32 ms);

/* ---- agent_sync.c: what is copied -------------------------------------- */

struct fx_sync;

/* Open all maps; NULL and *err set to -errno. @s and @life are borrowed. */
struct fx_sync *fx_sync_new(const char *graph, const struct fx_shared *s,
			    struct fx_agent_life *life, int *err);
void fx_sync_free(struct fx_sync *y);
/* Copy once what is due. */
void fx_sync_round(struct fx_sync *y);
/* How long to wait between rounds. */
u32 fx_sync_interval_ms(const struct fx_sync *y);

#endif /* FX_AGENT_H */
