/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Events of network devices, DPUs and agents. The programs send none, which would cost more than
 * the decision: what they counted is looked at again and again, and what it grew
 * by is one event per edge and kind of verdict.
 */
#ifndef FX_NIC_EVENTS_H
#define FX_NIC_EVENTS_H

#include <linux/fabric_ext.h>

#include "types.h"

#define FX_NIC_EVENTS_MS	100	/* between two looks */

struct fx_nic_watch;

/* One event; what it is about, beside what @ev says. */
struct fx_nic_event {
	struct fx_event ev;	/* without seq; arg0: packets, or the exit kind */
	const char *graph;
	const char *kind;	/* of the device: "netdev", "dpu", "agent" */
	const char *device;	/* its name; NULL: the agent */
	u32 pid;		/* of the agent */
	const char *cls;	/* of the edge, or "" */
	const char *text;	/* the policy, or why it ended; else NULL */
};

typedef void fx_nic_event_fn(const struct fx_nic_event *e, void *arg);

/**
 * fx_nic_watch_new() - begin with what is counted now
 * @graph: the one to watch, or NULL for all, also those that come later
 */
struct fx_nic_watch *fx_nic_watch_new(const char *graph);
void fx_nic_watch_free(struct fx_nic_watch *w);

/* Look again, and tell what happened since; what cannot be read gets a sentence. */
void fx_nic_watch_look(struct fx_nic_watch *w, fx_nic_event_fn *tell, void *arg);

/* One line of text or JSON. */
void fx_nic_event_print(const struct fx_nic_event *e);

#endif /* FX_NIC_EVENTS_H */
