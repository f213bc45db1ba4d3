// SPDX-License-Identifier: GPL-2.0-only
/*
 * Memory of CXL regions: whether it may go online, which tier it is, and the
 * binding of places as it appears. Notifiers, no redirects.
 */
#include <linux/memory.h>
#include <linux/memory-tiers.h>
#include <linux/notifier.h>
#include <linux/pfn.h>
#include <linux/rculist.h>
#include "ask.h"
#include "compat.h"
#include "graph.h"
#include "memory.h"
#include "place.h"

/* Above CXL's own (100): the policy is asked first. */
#define FX_ADISTANCE_PRIO	200

/*
 * Memory that a question is about. When it is not known whether it is a CXL
 * region's (@region is negative), who has a place there is asked all the same.
 */
struct fx_memory {
	u64 phys;	/* U64_MAX: see @node */
	int node;
	int region;	/* what the look-up of its region returned, not 0 */
};

typedef int (*fx_ask_fn)(struct fx_graph *g, u32 place, void *data);

/*
 * Ask a question of every graph that memory concerns: those with a place there,
 * by its address or its node, else those that govern CXL. The walk sleeps in no
 * question, but needs references because binding places may sleep.
 */
static int fx_for_each_concerned(const struct fx_memory *m, fx_ask_fn ask, void *data)
{
	struct fx_graph *g = NULL;
	bool mine = false;
	int rc = 0;

	fx_places_rebind();
	while ((g = fx_graph_next(g))) {
		u32 place = fx_place_of_phys(g, m->phys);

		if (place == FX_PLACE_NONE)
			place = fx_place_of_node(g, m->node);
		if (place == FX_PLACE_NONE)
			continue;
		mine = true;
		rc = ask(g, place, data);
		if (rc)
			goto out;
	}
	if (mine || m->region < 0)
		return 0;
	while ((g = fx_graph_next(g))) {
		if (!(g->image.governs & FX_GOVERNS_CXL))
			continue;
		rc = ask(g, FX_PLACE_NONE, data);
		if (rc)
			goto out;
	}
	return 0;
out:
	fx_graph_put(g);
	return rc;
}

static int fx_ask_online(struct fx_graph *g, u32 place, void *data)
{
	struct memory_notify *mn = data;
	struct fabric_ext_admit_args args = {
		.call = { .op = FX_OP_MEM_ONLINE, .edge = FX_EDGE_NONE },
		.bytes = PFN_PHYS(mn->nr_pages),
		.phys = PFN_PHYS(mn->start_pfn),
		.place = place,
	};

	return fx_ask_admit(g, &args);
}

static int fx_memory_event(struct notifier_block *nb, unsigned long action, void *data)
{
	struct memory_notify *mn = data;
	struct fx_memory m = {};
	struct fx_region region;

	switch (action) {
	case MEM_GOING_ONLINE:
		m.phys = PFN_PHYS(mn->start_pfn);
		m.node = phys_to_target_node(m.phys);
		m.region = fx_cxl_region_by_phys(m.phys, &region);
		/* other memory than that of CXL regions is nobody's business */
		if (!m.region)
			return NOTIFY_DONE;
		/* NOTIFY_BAD is EPERM to who asked; the policy has said which error */
		return notifier_from_errno(fx_for_each_concerned(&m, fx_ask_online, mn));
	case MEM_ONLINE:
	case MEM_OFFLINE:
		fx_places_rebind();
		return NOTIFY_OK;
	}
	return NOTIFY_DONE;
}

struct fx_tier_search {
	int node;
	int adist;
};

static int fx_ask_node(struct fx_graph *g, u32 place, void *data)
{
	struct fx_tier_search *s = data;
	struct fabric_ext_tier_args args = {
		.call = { .edge = FX_EDGE_NONE },
		.node = s->node,
		.place = place,
	};

	s->adist = fx_ask_tier(g, &args);
	return s->adist;
}

static int fx_adistance_event(struct notifier_block *nb, unsigned long node, void *data)
{
	struct fx_tier_search s = { .node = node };
	struct fx_memory m = { .phys = U64_MAX, .node = node };
	struct fx_region region;
	int *adist = data;

	m.region = fx_cxl_region_by_node(node, &region);
	if (!m.region)
		return NOTIFY_OK;
	if (m.region > 0)
		m.phys = region.start;
	if (!fx_for_each_concerned(&m, fx_ask_node, &s))
		return NOTIFY_OK;
	*adist = s.adist;
	return NOTIFY_STOP;
}

static struct notifier_block fx_memory_nb = { .notifier_call = fx_memory_event };
static struct notifier_block fx_adistance_nb = {
	.notifier_call = fx_adistance_event,
	.priority = FX_ADISTANCE_PRIO,
};

/**
 * fx_memory_init() - hear of memory
 *
 * Return: 0 or -errno.
 */
int fx_memory_init(void)
{
	int err = register_memory_notifier(&fx_memory_nb);

	if (err)
		return err;
	err = register_mt_adistance_algorithm(&fx_adistance_nb);
	if (err)
		unregister_memory_notifier(&fx_memory_nb);
	return err;
}

/**
 * fx_memory_exit() - the opposite of fx_memory_init()
 *
 * Context: may sleep; waits for notifiers that run.
 */
void fx_memory_exit(void)
{
	unregister_mt_adistance_algorithm(&fx_adistance_nb);
	unregister_memory_notifier(&fx_memory_nb);
}
