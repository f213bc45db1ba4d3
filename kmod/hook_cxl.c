// SPDX-License-Identifier: GPL-2.0-only
/*
 * Hooks on the making of CXL regions: the sysfs stores of drivers/cxl/core.
 * They are static and reached through function pointers, so they are refused
 * at their entry and never called from here.
 */
#include <linux/device.h>
#include <linux/kstrtox.h>
#include <linux/rculist.h>
#include <linux/string.h>
#include "ask.h"
#include "compat.h"
#include "graph.h"
#include "hook.h"
#include "place.h"

#ifdef FX_HAVE_CXL

/*
 * A region that is a place of graphs is their business; one that is no place
 * of any goes to every graph that governs CXL. One refusal wins.
 */
static int fx_ask_region(u32 op, struct device *dev, const char *name, size_t len)
{
	struct fabric_ext_admit_args args = {
		.call = { .op = op, .edge = FX_EDGE_NONE },
		.dev = dev,
	};
	struct fx_policy *p;
	struct fx_graph *g;
	bool mine = false;
	int rc = 0;

	rcu_read_lock();
	fx_for_each_graph_rcu(g) {
		args.place = fx_place_of_region(g, name, len);
		if (args.place == FX_PLACE_NONE)
			continue;
		mine = true;
		p = fx_policy_for(g, op);
		if (p)
			rc = fx_ask_admit_rcu(p, &args);
		if (rc)
			goto out;
	}
	if (mine)
		goto out;
	args.place = FX_PLACE_NONE;
	fx_for_each_graph_rcu(g) {
		p = fx_policy_for(g, op);
		if (!p || !(g->image.governs & FX_GOVERNS_CXL))
			continue;
		rc = fx_ask_admit_rcu(p, &args);
		if (rc)
			break;
	}
out:
	rcu_read_unlock();
	return rc;
}

/* ssize_t store(struct device *, struct device_attribute *, const char *, size_t) */
static void notrace fx_thunk_create(unsigned long ip, unsigned long parent_ip,
				    struct ftrace_ops *ops, struct ftrace_regs *fregs)
{
	char name[sizeof("region-2147483648")];
	int id, rc;

	/* read as the store reads it, which knows "region00" for region0 too */
	if (sscanf((const char *)fx_arg2(fregs), "region%d\n", &id) != 1)
		return;
	rc = fx_ask_region(FX_OP_CXL_CREATE, (void *)fx_arg0(fregs), name,
			   scnprintf(name, sizeof(name), "region%d", id));
	if (unlikely(rc))
		fx_refuse(fregs, rc);
}

static void notrace fx_thunk_commit(unsigned long ip, unsigned long parent_ip,
				    struct ftrace_ops *ops, struct ftrace_regs *fregs)
{
	struct device *dev = (void *)fx_arg0(fregs);
	const char *name = dev_name(dev);
	bool commit;
	int rc;

	/* taking a region apart is not asked about, and nonsense not ours */
	if (kstrtobool((void *)fx_arg2(fregs), &commit) || !commit)
		return;
	rc = fx_ask_region(FX_OP_CXL_COMMIT, dev, name, strlen(name));
	if (unlikely(rc))
		fx_refuse(fregs, rc);
}

/* A static function of this name elsewhere in the kernel must not be meant. */
#if IS_MODULE(CONFIG_CXL_BUS)
#define FX_CXL(symbol) "cxl_core:" symbol
#else
#define FX_CXL(symbol) symbol
#endif

struct fx_hook fx_hooks_cxl[] = {
	{ FX_CXL("create_ram_region_store"), FX_OP_BIT(FX_OP_CXL_CREATE),
	  { .func = fx_thunk_create } },
	{ FX_CXL("create_pmem_region_store"), FX_OP_BIT(FX_OP_CXL_CREATE),
	  { .func = fx_thunk_create } },
	{ FX_CXL("commit_store"), FX_OP_BIT(FX_OP_CXL_COMMIT), { .func = fx_thunk_commit } },
	{}
};

#else

struct fx_hook fx_hooks_cxl[] = { {} };

#endif
