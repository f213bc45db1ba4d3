// SPDX-License-Identifier: GPL-2.0-only
/*
 * The generic netlink family: what each command takes, who may send it, and
 * the events that it multicasts.
 *
 * Every command needs CAP_NET_ADMIN in the initial user namespace, reading
 * too: a dump holds its graph and the module, shows physical addresses and
 * what a policy wrote about itself. The family exists in the initial network
 * namespace only.
 *
 * Commands run in parallel (parallel_ops): a commit checks millions of records
 * and must not hold up every other generic netlink user of the machine.
 */
#include <linux/module.h>
#include <net/genetlink.h>
#include <linux/fabric_ext.h>

#include "genl.h"
#include "graph.h"
#include "observe.h"
#include "ops.h"

/* Events in one message: fits a page with the rest of it. */
#define FX_EVENTS_PER_MSG	48

enum { FX_GENL_GROUP_EVENTS };

/* What an error calls an attribute; the names are those of the YAML spec. */
static const char * const fx_attr_name[] = {
	[FX_A_NAME]	= "name",
	[FX_A_DIGEST]	= "digest",
	[FX_A_GOVERNS]	= "governs",
	[FX_A_COUNTS]	= "counts",
	[FX_A_SECTION]	= "section",
	[FX_A_FIRST]	= "first",
	[FX_A_DATA]	= "data",
};

#define FX_NAME_POLICY	{ .type = NLA_NUL_STRING, .len = FX_NAME_LEN - 1 }

static const struct nla_policy fx_begin_policy[] = {
	[FX_A_NAME]	= FX_NAME_POLICY,
	[FX_A_DIGEST]	= NLA_POLICY_EXACT_LEN(FX_DIGEST_LEN),
	[FX_A_GOVERNS]	= NLA_POLICY_MASK(NLA_U32, FX_GOVERNS_ALL),
	[FX_A_COUNTS]	= NLA_POLICY_EXACT_LEN(FX_SECTS * sizeof(__u32)),
};

static const struct nla_policy fx_chunk_policy[] = {
	[FX_A_SECTION]	= NLA_POLICY_MAX(NLA_U32, FX_SECTS - 1),
	[FX_A_FIRST]	= { .type = NLA_U32 },
	[FX_A_DATA]	= NLA_POLICY_RANGE(NLA_BINARY, 1, FX_GENL_CHUNK_MAX),
};

static const struct nla_policy fx_name_policy[] = {
	[FX_A_NAME]	= FX_NAME_POLICY,
};

/* Without a policy 6.12 takes anything from who has nothing to say. */
static const struct nla_policy fx_bare_policy[] = {
	[FX_A_NAME]	= { .type = NLA_REJECT,
			    .reject_message = "this command takes no attribute" },
};

/**
 * fx_genl_need() - check that a request has the attributes it must have
 * @info: request
 * @attrs: FX_A_* that it needs
 * @n: how many
 *
 * The refusal names the attribute twice: in words, and by number for programs
 * (NLMSGERR_ATTR_MISS_TYPE).
 *
 * Return: 0 or -EINVAL.
 */
int fx_genl_need(const struct genl_info *info, const u16 *attrs, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++) {
		if (!GENL_REQ_ATTR_CHECK(info, attrs[i]))
			continue;
		GENL_SET_ERR_MSG_FMT(info, "attribute %s is missing",
				     fx_attr_name[attrs[i]]);
		return -EINVAL;
	}
	return 0;
}

/**
 * fx_genl_graph() - the graph that a request names
 * @info: request
 *
 * Return: the graph, with a reference; ERR_PTR(-EINVAL) without a name,
 * ERR_PTR(-ENOENT) when no graph is loaded under it.
 */
struct fx_graph *fx_genl_graph(const struct genl_info *info)
{
	static const u16 need[] = { FX_A_NAME };
	struct fx_graph *g;
	int err;

	err = fx_genl_need(info, need, ARRAY_SIZE(need));
	if (err)
		return ERR_PTR(err);
	g = fx_graph_find(nla_data(info->attrs[FX_A_NAME]));
	if (!g) {
		NL_SET_ERR_MSG_ATTR(info->extack, info->attrs[FX_A_NAME],
				    "no graph of this name is loaded");
		return ERR_PTR(-ENOENT);
	}
	return g;
}

static int fx_genl_del(struct sk_buff *skb, struct genl_info *info)
{
	static const u16 need[] = { FX_A_NAME };
	int err;

	err = fx_genl_need(info, need, ARRAY_SIZE(need));
	if (err)
		return err;
	NL_SET_BAD_ATTR(info->extack, info->attrs[FX_A_NAME]);
	return fx_graph_remove(nla_data(info->attrs[FX_A_NAME]), info->extack);
}

static int fx_genl_bypass(struct sk_buff *skb, struct genl_info *info)
{
	struct nlattr *name = info->attrs[FX_A_NAME];
	int err;

	err = fx_bypass(name ? nla_data(name) : NULL);
	if (err == -ENOENT && name)
		NL_SET_ERR_MSG_ATTR(info->extack, name,
				    "no graph of this name is loaded");
	else if (err)
		GENL_SET_ERR_MSG(info, "the policy cannot be by-passed");
	return err;
}

/* Refuse what a later version of the protocol would mean differently. */
static int fx_genl_pre_doit(const struct genl_split_ops *ops,
			    struct sk_buff *skb, struct genl_info *info)
{
	if (info->genlhdr->version == FX_GENL_VERSION)
		return 0;
	GENL_SET_ERR_MSG_FMT(info, "version %u is not known, this is version %u",
			     info->genlhdr->version, FX_GENL_VERSION);
	return -EPROTONOSUPPORT;
}

#define FX_DO(_cmd, _doit, _policy, _maxattr)				\
	{								\
		.cmd		= _cmd,					\
		.flags		= GENL_ADMIN_PERM | GENL_CMD_CAP_DO,	\
		.pre_doit	= fx_genl_pre_doit,			\
		.doit		= _doit,				\
		.policy		= _policy,				\
		.maxattr	= _maxattr,				\
	}

#define FX_DUMP(_cmd, _dump, _policy, _maxattr)				\
	{								\
		.cmd		= _cmd,					\
		.flags		= GENL_ADMIN_PERM | GENL_CMD_CAP_DUMP,	\
		.start		= _dump##_start,			\
		.dumpit		= _dump,				\
		.done		= _dump##_done,				\
		.policy		= _policy,				\
		.maxattr	= _maxattr,				\
	}

#define FX_DO_NAME(_cmd, _doit)						\
	FX_DO(_cmd, _doit, fx_name_policy, FX_A_NAME)

#define FX_DO_BARE(_cmd, _doit)						\
	FX_DO(_cmd, _doit, fx_bare_policy, FX_A_NAME)

#define FX_DUMP_TABLE(_cmd)						\
	FX_DUMP(_cmd, fx_dump_table, fx_name_policy, FX_A_NAME)

/* In the order of the numbers, do before dump: the core insists. */
static const struct genl_split_ops fx_genl_ops[] = {
	FX_DO(FX_CMD_GRAPH_BEGIN, fx_upload_begin, fx_begin_policy,
	      FX_A_COUNTS),
	FX_DO(FX_CMD_GRAPH_CHUNK, fx_upload_chunk, fx_chunk_policy,
	      FX_A_DATA),
	FX_DO_BARE(FX_CMD_GRAPH_COMMIT, fx_upload_commit),
	FX_DO_BARE(FX_CMD_GRAPH_ABORT, fx_upload_abort),
	FX_DO_NAME(FX_CMD_GRAPH_DEL, fx_genl_del),
	FX_DO_NAME(FX_CMD_GRAPH_GET, fx_genl_get_graph),
	FX_DUMP(FX_CMD_GRAPH_GET, fx_dump_graphs, fx_bare_policy, FX_A_NAME),
	FX_DUMP_TABLE(FX_CMD_PLACE_GET),
	FX_DUMP_TABLE(FX_CMD_CLASS_GET),
	FX_DUMP_TABLE(FX_CMD_EDGE_GET),
	FX_DUMP_TABLE(FX_CMD_COUNTER_GET),
	FX_DO_NAME(FX_CMD_BYPASS, fx_genl_bypass),
};

static const struct genl_multicast_group fx_genl_groups[] = {
	[FX_GENL_GROUP_EVENTS] = {
		.name	= FX_GENL_MCGRP_EVENTS,
		.flags	= GENL_MCAST_CAP_NET_ADMIN,
	},
};

struct genl_family fx_genl_family = {
	.name		= FX_GENL_NAME,
	.version	= FX_GENL_VERSION,
	.module		= THIS_MODULE,
	.parallel_ops	= true,
	.split_ops	= fx_genl_ops,
	.n_split_ops	= ARRAY_SIZE(fx_genl_ops),
	.mcgrps		= fx_genl_groups,
	.n_mcgrps	= ARRAY_SIZE(fx_genl_groups),
};

/* Send @n events of a graph, and its totals, to whoever listens. */
static void fx_genl_send_events(struct fx_graph *g, const struct fx_event *ev,
				u32 n)
{
	u64 emitted, lost;
	struct sk_buff *msg;
	void *hdr;
	u32 i;

	msg = genlmsg_new(NLMSG_GOODSIZE, GFP_KERNEL);
	if (!msg)
		goto lost;
	hdr = genlmsg_put(msg, 0, 0, &fx_genl_family, 0, FX_CMD_EVENT);
	if (!hdr)
		goto lost;
	fx_ring_totals(g->ring, &emitted, &lost);
	if (nla_put_string(msg, FX_A_NAME, g->image.name) ||
	    nla_put_u64_64bit(msg, FX_A_EMITTED, emitted, FX_A_PAD) ||
	    nla_put_u64_64bit(msg, FX_A_LOST, lost, FX_A_PAD))
		goto lost;
	for (i = 0; i < n; i++)
		if (nla_put(msg, FX_A_EVENT, sizeof(ev[i]), &ev[i]))
			goto lost;
	genlmsg_end(msg, hdr);
	/*
	 * -ESRCH: nobody listens. -ENOBUFS: a listener has no room; its socket
	 * tells it so, and the sequence numbers tell it how many it missed.
	 */
	genlmsg_multicast(&fx_genl_family, msg, 0, FX_GENL_GROUP_EVENTS,
			  GFP_KERNEL);
	return;
lost:
	nlmsg_free(msg);
	genl_set_err(&fx_genl_family, &init_net, 0, FX_GENL_GROUP_EVENTS,
		     -ENOBUFS);
}

/**
 * fx_genl_deliver() - multicast what a graph's ring has
 * @g: graph
 *
 * Without listeners the ring is read all the same: who subscribes later is
 * told what happens from then on. What is emitted meanwhile waits for the next
 * call, which it has caused, so that a busy graph does not hold up the others.
 *
 * Context: the work item of observe.c; one at a time for a graph.
 */
void fx_genl_deliver(struct fx_graph *g)
{
	u64 emitted, lost, seq = 0;
	struct fx_event *ev;
	u32 n;

	ev = kmalloc_array(FX_EVENTS_PER_MSG, sizeof(*ev), GFP_KERNEL);
	if (!ev)
		return;
	fx_ring_totals(g->ring, &emitted, &lost);
	while (seq < emitted) {
		n = fx_ring_read(g->ring, NULL, ev, FX_EVENTS_PER_MSG);
		if (!n)
			break;
		seq = ev[n - 1].seq + 1;
		if (genl_has_listeners(&fx_genl_family, &init_net,
				       FX_GENL_GROUP_EVENTS))
			fx_genl_send_events(g, ev, n);
	}
	kfree(ev);
}

/**
 * fx_genl_init() - register the family
 *
 * Context: module init, after everything that a command calls is there.
 * Return: 0 or -errno.
 */
int fx_genl_init(void)
{
	int err;

	err = fx_uploads_init();
	if (err)
		return err;
	err = genl_register_family(&fx_genl_family);
	if (err)
		fx_uploads_exit();
	else
		fx_observe_to(fx_genl_deliver);
	return err;
}

/**
 * fx_genl_exit() - unregister the family and forget open uploads
 *
 * Context: module exit. Dumps that are under way hold the module, so none is.
 */
void fx_genl_exit(void)
{
	fx_observe_to(NULL);
	genl_unregister_family(&fx_genl_family);
	fx_uploads_exit();
}
