/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What programs on network devices counted, read from their pinned maps. */
#ifndef FX_NIC_ROWS_H
#define FX_NIC_ROWS_H

#include <linux/fabric_ext_nic.h>

#include "agent.h"
#include "types.h"

struct json_object;

/* One device of a graph. */
struct fx_nic_view {
	struct fx_nic_conf conf;
	bool attached;			/* its links still hold a device */
	bool linked;			/* a link is pinned, even if it holds none any more */
	bool dpu;			/* conf.netdev is the name of a DPU */
	const char *gone;		/* why that has nothing to tell, or NULL */
	const char *amiss;		/* it is in force, and not as it should, or NULL */
	struct fx_nic_row *row;		/* conf.rows of them */
	struct fx_nic_count *count;	/* summed over the CPUs */
	struct fx_nic_total total[FX_DIRS];
};

struct fx_nic_views {
	struct fx_nic_view *view;
	u32 n, cap;
	struct fx_agent_view agent;	/* which copies between them, if one has to */
};

/**
 * fx_nic_views_read() - read what is pinned for a graph's devices
 * @graph: name
 * @v: filled, empty when nothing is pinned; to fx_nic_views_free()
 *
 * Return: 0 or -errno, after one sentence through fx_err().
 */
int fx_nic_views_read(const char *graph, struct fx_nic_views *v);
void fx_nic_views_free(struct fx_nic_views *v);

/* Is all that there is of the graph on network devices? */
bool fx_nic_views_alone(const struct fx_nic_views *v);

/* Turn @old into what happened from then to @now; both are of one attach. */
void fx_nic_views_diff(struct fx_nic_views *old, const struct fx_nic_views *now);

/* "attached", "audit", "by-passed", "its device is gone", or what is amiss. */
const char *fx_nic_state(const struct fx_nic_view *v);

/* The graph, where the module does not tell of it. */
struct json_object *fx_nic_graph_json(const struct fx_nic_views *v);
/* Put the devices with their edges and counters into @o: "nic", "dpu"; and "agent". */
void fx_nic_views_put(struct json_object *o, const struct fx_nic_views *v);
void fx_nic_views_print(const struct fx_nic_views *v);
/* The counters of an edge, by their names. */
void fx_nic_count_put(struct json_object *o, const struct fx_nic_count *c);

#endif /* FX_NIC_ROWS_H */
