// SPDX-License-Identifier: GPL-2.0-only
/*
 * Hooks on PCI peer-to-peer DMA: how a mapping is typed, and who may map the
 * provider's memory into user space (p2pmem/allocate in sysfs, which does not
 * go through pci_alloc_p2pmem()).
 */
#include <linux/pci.h>
#include <linux/pci-p2pdma.h>
#include <linux/rculist.h>
#include "ask.h"
#include "compat.h"
#include "graph.h"
#include "hook.h"
#include "place.h"

#ifdef FX_HAVE_P2P_MAP_TYPE

/*
 * Would this be a bus address? It may be one when a PCI switch is above both
 * and below the host bridge, or where a device reaches itself. That a switch
 * with ACS redirect sends it through the host bridge after all is not looked
 * at: `host bridge only` then denies more than it had to, never less.
 */
static bool fx_p2p_same_switch(struct device *provider, struct device *client)
{
	struct pci_dev *a, *b;

	if (!dev_is_pci(provider) || !dev_is_pci(client))
		return false;
	for (a = to_pci_dev(provider); a; a = pci_upstream_bridge(a))
		for (b = to_pci_dev(client); b; b = pci_upstream_bridge(b))
			if (a == b)
				return true;
	return false;
}

static noinline notrace unsigned long fx_not_supported(void)
{
	return PCI_P2PDMA_MAP_NOT_SUPPORTED;
}

/* Whether a device is a place of any graph. Under rcu_read_lock(). */
static bool notrace fx_is_place(const struct device *dev)
{
	struct fx_graph *g;

	fx_for_each_graph_rcu(g)
		if (fx_place_of_dev(g, dev) != FX_PLACE_NONE)
			return true;
	return false;
}

/*
 * A graph is asked when one of the two is its place; one that governs P2P also
 * when one of the two is no place of any graph.
 */
static void notrace fx_thunk_map_type(unsigned long ip, unsigned long parent_ip,
				      struct ftrace_ops *ops, struct ftrace_regs *fregs)
{
	struct p2pdma_provider *provider = (void *)fx_arg0(fregs);
	struct fabric_ext_p2p_args args = {
		.call = { .edge = FX_EDGE_NONE },
		.client = (void *)fx_arg1(fregs),
	};
	bool strangers, deny = false;
	struct fx_graph *g;

	if (!provider || !args.client)
		return;
	args.provider = provider->owner;
	rcu_read_lock();
	strangers = !fx_is_place(args.provider) || !fx_is_place(args.client);
	fx_for_each_graph_rcu(g) {
		int rc;

		if (!fx_policy_for(g, FX_OP_P2P_MAP))
			continue;
		args.provider_place = fx_place_of_dev(g, args.provider);
		args.client_place = fx_place_of_dev(g, args.client);
		if (!(strangers && g->image.governs & FX_GOVERNS_P2P) &&
		    args.provider_place == FX_PLACE_NONE &&
		    args.client_place == FX_PLACE_NONE)
			continue;
		rc = fx_ask_p2p(g, &args);
		deny = rc < 0 || (rc == FX_P2P_HOST_BRIDGE &&
				  fx_p2p_same_switch(args.provider, args.client) &&
				  fx_refuse_p2p(&args));
		if (deny)
			break;
	}
	rcu_read_unlock();
	if (deny)
		fx_redirect(fregs, fx_not_supported);
}

/* int mmap(struct file *, struct kobject *, const struct bin_attribute *, vma) */
static void notrace fx_thunk_alloc_mmap(unsigned long ip, unsigned long parent_ip,
					struct ftrace_ops *ops, struct ftrace_regs *fregs)
{
	struct device *dev = kobj_to_dev((struct kobject *)fx_arg1(fregs));
	struct fabric_ext_admit_args args = {
		.call = { .op = FX_OP_P2P_MMAP, .edge = FX_EDGE_NONE },
		.dev = dev,
	};
	struct fx_graph *g;
	bool stranger;
	int rc = 0;

	rcu_read_lock();
	stranger = !fx_is_place(dev);
	fx_for_each_graph_rcu(g) {
		struct fx_policy *p = fx_policy_for(g, FX_OP_P2P_MMAP);

		if (!p)
			continue;
		args.place = fx_place_of_dev(g, dev);
		if (args.place == FX_PLACE_NONE &&
		    !(stranger && g->image.governs & FX_GOVERNS_P2P))
			continue;
		rc = fx_ask_admit_rcu(p, &args);
		if (rc)
			break;
	}
	rcu_read_unlock();
	if (unlikely(rc))
		fx_refuse(fregs, rc);
}

struct fx_hook fx_hooks_p2p[] = {
	{ "pci_p2pdma_map_type", FX_OP_BIT(FX_OP_P2P_MAP), { .func = fx_thunk_map_type } },
	{ "p2pmem_alloc_mmap", FX_OP_BIT(FX_OP_P2P_MMAP), { .func = fx_thunk_alloc_mmap } },
	{}
};

#else /* before 7.0 a stub on distribution kernels: nothing to hook */

struct fx_hook fx_hooks_p2p[] = { {} };

#endif
