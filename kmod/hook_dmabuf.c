// SPDX-License-Identifier: GPL-2.0-only
/*
 * Hooks on dma-buf. dma_buf_attach() and the *_unlocked() variants funnel into
 * the functions hooked here; exports are hooked at dma_buf_export() because
 * heaps and PRIME install file descriptors in their own ways.
 */
#include <linux/dcache.h>
#include <linux/dma-buf.h>
#include <linux/rculist.h>
#include "ask.h"
#include "compat.h"
#include "graph.h"
#include "hook.h"
#include "place.h"
#include "tag.h"

/*
 * Without a tag: the graphs that have a place where this exporter's buffers
 * live, else every graph that governs dma-bufs. One refusal wins.
 */
static __always_inline int fx_ask_governing(u32 op, struct fabric_ext_admit_args *args,
					    const char *exporter)
{
	struct fx_policy *p;
	struct fx_graph *g;
	bool mine = false;
	int rc = 0;

	fx_for_each_graph_rcu(g) {
		if (!g->by_exporter || fx_place_of_exporter(g, exporter) == FX_PLACE_NONE)
			continue;
		mine = true;
		p = fx_policy_for(g, op);
		if (p)
			rc = fx_ask_admit_rcu(p, args);
		if (rc)
			return rc;
	}
	if (mine)
		return 0;
	fx_for_each_graph_rcu(g) {
		p = fx_policy_for(g, op);
		if (!p || !(g->image.governs & FX_GOVERNS_DMABUF))
			continue;
		rc = fx_ask_admit_rcu(p, args);
		if (rc)
			break;
	}
	return rc;
}

/* The question about a dma-buf: to its tag's graph, else to who governs it. */
static __always_inline int fx_ask_dmabuf(u32 op, struct dma_buf *dmabuf,
					 struct device *dev, u32 dir)
{
	struct fabric_ext_admit_args args = {
		.call = { .op = op, .edge = FX_EDGE_NONE },
		.bytes = dmabuf->size,
		.dmabuf = dmabuf,
		.dev = dev,
		.place = FX_PLACE_NONE,
		.dir = dir,
	};
	const struct fx_tag *tag;
	struct fx_policy *p;
	int rc = 0;

	rcu_read_lock();
	tag = fx_tag_find(dmabuf);
	if (tag) {
		args.call.edge = tag->edge;
		p = fx_policy_for(tag->graph, op);
		if (p)
			rc = fx_ask_admit_rcu(p, &args);
	} else {
		rc = fx_ask_governing(op, &args, dmabuf->exp_name);
	}
	rcu_read_unlock();
	return rc;
}

static void notrace fx_thunk_export(unsigned long ip, unsigned long parent_ip,
				    struct ftrace_ops *ops, struct ftrace_regs *fregs)
{
	const struct dma_buf_export_info *info = (void *)fx_arg0(fregs);
	struct fabric_ext_admit_args args = {
		.call = { .op = FX_OP_DMABUF_EXPORT, .edge = FX_EDGE_NONE },
		.place = FX_PLACE_NONE,
	};
	int rc;

	/* what the module exports was decided by route */
	if (!info || within_module(parent_ip, THIS_MODULE))
		return;
	args.bytes = info->size;
	rcu_read_lock();
	rc = fx_ask_governing(FX_OP_DMABUF_EXPORT, &args, info->exp_name);
	rcu_read_unlock();
	if (unlikely(rc))
		fx_refuse(fregs, rc);
}

static void notrace fx_thunk_attach(unsigned long ip, unsigned long parent_ip,
				    struct ftrace_ops *ops, struct ftrace_regs *fregs)
{
	struct dma_buf *dmabuf = (void *)fx_arg0(fregs);
	struct device *dev = (void *)fx_arg1(fregs);
	int rc;

	/* wrong arguments are the original's to refuse */
	if (unlikely(!dmabuf || !dev))
		return;
	rc = fx_ask_dmabuf(FX_OP_DMABUF_ATTACH, dmabuf, dev, 0);
	if (unlikely(rc))
		fx_refuse(fregs, rc);
}

static void notrace fx_thunk_map(unsigned long ip, unsigned long parent_ip,
				 struct ftrace_ops *ops, struct ftrace_regs *fregs)
{
	struct dma_buf_attachment *attach = (void *)fx_arg0(fregs);
	int rc;

	if (unlikely(!attach || !attach->dmabuf))
		return;
	rc = fx_ask_dmabuf(FX_OP_DMABUF_MAP, attach->dmabuf, attach->dev, fx_arg1(fregs));
	if (unlikely(rc))
		fx_refuse(fregs, rc);
}

static void notrace fx_thunk_cpu(unsigned long ip, unsigned long parent_ip,
				 struct ftrace_ops *ops, struct ftrace_regs *fregs)
{
	struct dma_buf *dmabuf = (void *)fx_arg0(fregs);
	int rc;

	if (unlikely(!dmabuf))
		return;
	rc = fx_ask_dmabuf(FX_OP_DMABUF_CPU, dmabuf, NULL, fx_arg1(fregs));
	if (unlikely(rc))
		fx_refuse(fregs, rc);
}

static void notrace fx_thunk_unmap(unsigned long ip, unsigned long parent_ip,
				   struct ftrace_ops *ops, struct ftrace_regs *fregs)
{
	struct dma_buf_attachment *attach = (void *)fx_arg0(fregs);

	if (attach && attach->dmabuf)
		fx_ask_dmabuf(FX_OP_DMABUF_UNMAP, attach->dmabuf, attach->dev, fx_arg2(fregs));
}

static void notrace fx_thunk_detach(unsigned long ip, unsigned long parent_ip,
				    struct ftrace_ops *ops, struct ftrace_regs *fregs)
{
	struct dma_buf *dmabuf = (void *)fx_arg0(fregs);
	struct dma_buf_attachment *attach = (void *)fx_arg1(fregs);

	if (dmabuf && attach)
		fx_ask_dmabuf(FX_OP_DMABUF_DETACH, dmabuf, attach->dev, 0);
}

/* A pointer that is used again must not inherit a tag. */
static void notrace fx_thunk_release(unsigned long ip, unsigned long parent_ip,
				     struct ftrace_ops *ops, struct ftrace_regs *fregs)
{
	struct dentry *dentry = (void *)fx_arg0(fregs);
	struct dma_buf *dmabuf = dentry ? dentry->d_fsdata : NULL;

	if (!dmabuf)
		return;
	fx_ask_dmabuf(FX_OP_DMABUF_RELEASE, dmabuf, NULL, 0);
	fx_tag_drop(dmabuf);
}

struct fx_hook fx_hooks_dmabuf[] = {
	{ "dma_buf_export", FX_OP_BIT(FX_OP_DMABUF_EXPORT), { .func = fx_thunk_export } },
	{ "dma_buf_dynamic_attach", FX_OP_BIT(FX_OP_DMABUF_ATTACH),
	  { .func = fx_thunk_attach } },
	{ "dma_buf_map_attachment", FX_OP_BIT(FX_OP_DMABUF_MAP), { .func = fx_thunk_map } },
	{ "dma_buf_begin_cpu_access", FX_OP_BIT(FX_OP_DMABUF_CPU), { .func = fx_thunk_cpu } },
	{ "dma_buf_unmap_attachment", FX_OP_BIT(FX_OP_DMABUF_UNMAP),
	  { .func = fx_thunk_unmap } },
	{ "dma_buf_detach", FX_OP_BIT(FX_OP_DMABUF_DETACH), { .func = fx_thunk_detach } },
	{ "dma_buf_release", FX_OP_BIT(FX_OP_DMABUF_RELEASE), { .func = fx_thunk_release } },
	{}
};
