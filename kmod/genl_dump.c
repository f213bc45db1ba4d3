// SPDX-License-Identifier: GPL-2.0-only
/*
 * Reading back: graphs, and the tables of one graph.
 *
 * A dump holds references from its first message to its last, and no lock in
 * between: it shows a graph whole even when the graph is removed meanwhile.
 * Counters are read as they are when their message is made.
 */
#include <linux/cpumask.h>
#include <linux/mutex.h>
#include <linux/percpu.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>
#include <net/genetlink.h>
#include <linux/fabric_ext.h>

#include "genl.h"
#include "graph.h"
#include "observe.h"
#include "ops.h"

/* Room for one graph's message: its strings and about 20 small attributes. */
#define FX_GRAPH_MSG	(NLMSG_GOODSIZE)

/* ---- what a message says ---- */

static int fx_put_policy(struct sk_buff *skb, const struct fx_policy_info *p)
{
	if (p->name[0] &&
	    (nla_put_string(skb, FX_A_POLICY, p->name) ||
	     nla_put_u64_64bit(skb, FX_A_MISSING, p->missing, FX_A_PAD)))
		return -EMSGSIZE;
	if (nla_put_u32(skb, FX_A_FLAGS, p->flags) ||
	    nla_put_u32(skb, FX_A_EXIT_KIND, p->exit_kind))
		return -EMSGSIZE;
	if (p->exit_msg[0] && nla_put_string(skb, FX_A_EXIT_MSG, p->exit_msg))
		return -EMSGSIZE;
	if (p->exit_dump[0] && nla_put_string(skb, FX_A_EXIT_DUMP, p->exit_dump))
		return -EMSGSIZE;
	return 0;
}

/* @policy: room for what is asked of the graph's policy */
static int fx_put_graph(struct sk_buff *skb, struct fx_graph *g,
			struct fx_policy_info *policy)
{
	const struct fx_image_hdr *image = &g->image;
	u64 emitted, lost;

	fx_ring_totals(g->ring, &emitted, &lost);
	if (nla_put_string(skb, FX_A_NAME, image->name) ||
	    nla_put(skb, FX_A_DIGEST, sizeof(image->digest), image->digest) ||
	    nla_put_u32(skb, FX_A_GOVERNS, image->governs) ||
	    nla_put(skb, FX_A_COUNTS, sizeof(image->count), image->count) ||
	    nla_put_u64_64bit(skb, FX_A_EMITTED, emitted, FX_A_PAD) ||
	    nla_put_u64_64bit(skb, FX_A_LOST, lost, FX_A_PAD) ||
	    nla_put_u64_64bit(skb, FX_A_KMEM, fx_graph_kmem(g), FX_A_PAD))
		return -EMSGSIZE;

	memset(policy, 0, sizeof(*policy));
	fx_policy_info(g, policy);
	return fx_put_policy(skb, policy);
}

static int fx_put_place(struct sk_buff *skb, struct fx_graph *g, u32 i)
{
	struct fx_place *p = &g->places[i];
	int node = READ_ONCE(p->node);

	if (nla_put_u32(skb, FX_A_INDEX, i) ||
	    nla_put(skb, FX_A_PLACE, sizeof(p->desc), &p->desc) ||
	    nla_put_s32(skb, FX_A_NODE, node) ||
	    nla_put_u8(skb, FX_A_BOUND, node != FX_NODE_NONE) ||
	    nla_put_u64_64bit(skb, FX_A_USED, atomic64_read(&p->used), FX_A_PAD))
		return -EMSGSIZE;
	if (!READ_ONCE(p->res_size))
		return 0;
	if (nla_put_u64_64bit(skb, FX_A_RES_START, READ_ONCE(p->res_start),
			      FX_A_PAD) ||
	    nla_put_u64_64bit(skb, FX_A_RES_SIZE, READ_ONCE(p->res_size),
			      FX_A_PAD))
		return -EMSGSIZE;
	return 0;
}

static int fx_put_class(struct sk_buff *skb, struct fx_graph *g, u32 i)
{
	struct fx_class *c = &g->classes[i];
	const struct {
		u16 attr;
		const atomic64_t *v;
	} counters[] = {
		{ FX_A_ASKED,		&c->moves },
		{ FX_A_REFUSED,		&c->refused },
		{ FX_A_FAILED,		&c->failed },
		{ FX_A_BYTES_IN,	&c->bytes_in },
		{ FX_A_BYTES_OUT,	&c->bytes_out },
		{ FX_A_NS,		&c->ns },
		{ FX_A_VERIFY_NS,	&c->verify_ns },
	};
	size_t k;

	if (nla_put_u32(skb, FX_A_INDEX, i) ||
	    nla_put(skb, FX_A_CLASS, sizeof(c->desc), &c->desc))
		return -EMSGSIZE;
	for (k = 0; k < ARRAY_SIZE(counters); k++)
		if (nla_put_u64_64bit(skb, counters[k].attr,
				      atomic64_read(counters[k].v), FX_A_PAD))
			return -EMSGSIZE;
	return 0;
}

static int fx_put_edge(struct sk_buff *skb, struct fx_graph *g, u32 i)
{
	struct fx_edge *e = &g->edges[i];

	if (nla_put_u32(skb, FX_A_INDEX, i) ||
	    nla_put(skb, FX_A_EDGE, sizeof(e->desc), &e->desc) ||
	    nla_put_u64_64bit(skb, FX_A_ASKED, atomic64_read(&e->moves),
			      FX_A_PAD))
		return -EMSGSIZE;
	return 0;
}

static int fx_put_counter(struct sk_buff *skb, struct fx_graph *g, u32 op)
{
	u64 asked = 0, refused = 0, invalid = 0;
	const struct fx_op_counts *c;
	int cpu;

	for_each_possible_cpu(cpu) {
		c = per_cpu_ptr(g->counts, cpu);
		asked += READ_ONCE(c->asked[op]);
		refused += READ_ONCE(c->refused[op]);
		invalid += READ_ONCE(c->invalid[op]);
	}
	if (nla_put_u32(skb, FX_A_INDEX, op) ||
	    nla_put_u64_64bit(skb, FX_A_ASKED, asked, FX_A_PAD) ||
	    nla_put_u64_64bit(skb, FX_A_REFUSED, refused, FX_A_PAD) ||
	    nla_put_u64_64bit(skb, FX_A_INVALID, invalid, FX_A_PAD))
		return -EMSGSIZE;
	return 0;
}

/* ---- graphs ---- */

/**
 * fx_genl_get_graph() - FX_CMD_GRAPH_GET with a name
 * @skb: request
 * @info: request
 *
 * Context: process context of the sender.
 * Return: 0, -EINVAL, -ENOENT, -ENOMEM.
 */
int fx_genl_get_graph(struct sk_buff *skb, struct genl_info *info)
{
	struct fx_policy_info *policy;
	struct sk_buff *msg;
	struct fx_graph *g;
	void *hdr;
	int err;

	g = fx_genl_graph(info);
	if (IS_ERR(g))
		return PTR_ERR(g);

	err = -ENOMEM;
	policy = kmalloc(sizeof(*policy), GFP_KERNEL);
	msg = genlmsg_new(FX_GRAPH_MSG, GFP_KERNEL);
	if (!policy || !msg)
		goto out;
	err = -EMSGSIZE;
	hdr = genlmsg_iput(msg, info);
	if (!hdr)
		goto out;
	err = fx_put_graph(msg, g, policy);
	if (err)
		goto out;
	genlmsg_end(msg, hdr);
	err = genlmsg_reply(msg, info);
	msg = NULL;
out:
	nlmsg_free(msg);
	kfree(policy);
	fx_graph_put(g);
	return err;
}

/* The graphs that there were when the dump began, each with a reference. */
struct fx_graph_list {
	struct fx_policy_info policy;
	u32 n;
	struct fx_graph *g[FX_MAX_GRAPHS];
};

struct fx_dump_graphs_ctx {
	struct fx_graph_list *list;
	u32 at;
};

static void fx_graph_list_empty(struct fx_graph_list *list)
{
	while (list->n)
		fx_graph_put(list->g[--list->n]);
}

/* Those that are loaded; more can come and go meanwhile than there is room. */
static void fx_graph_list_fill(struct fx_graph_list *list)
{
	struct fx_graph *g = NULL;

	while ((g = fx_graph_next(g))) {
		if (list->n == ARRAY_SIZE(list->g)) {
			fx_graph_put(g);
			return;
		}
		list->g[list->n++] = fx_graph_get(g);
	}
}

static int fx_dump_version(struct netlink_callback *cb)
{
	const struct genl_info *info = genl_info_dump(cb);

	if (info->genlhdr->version == FX_GENL_VERSION)
		return 0;
	GENL_SET_ERR_MSG_FMT(info, "version %u is not known, this is version %u",
			     info->genlhdr->version, FX_GENL_VERSION);
	return -EPROTONOSUPPORT;
}

/**
 * fx_dump_graphs_start() - begin to dump all graphs
 * @cb: dump
 *
 * Return: 0, -EPROTONOSUPPORT, -ENOMEM.
 */
int fx_dump_graphs_start(struct netlink_callback *cb)
{
	struct fx_dump_graphs_ctx *ctx = (void *)cb->ctx;
	struct fx_graph_list *list;
	int err;

	BUILD_BUG_ON(sizeof(*ctx) > sizeof(cb->ctx));
	err = fx_dump_version(cb);
	if (err)
		return err;
	list = kzalloc(sizeof(*list), GFP_KERNEL_ACCOUNT);
	if (!list)
		return -ENOMEM;
	fx_graph_list_fill(list);
	ctx->list = list;
	ctx->at = 0;
	return 0;
}

/**
 * fx_dump_graphs() - the next message of the dump
 * @skb: message
 * @cb: dump
 *
 * Return: -EMSGSIZE when there is more, 0 at the end.
 */
int fx_dump_graphs(struct sk_buff *skb, struct netlink_callback *cb)
{
	struct fx_dump_graphs_ctx *ctx = (void *)cb->ctx;
	void *hdr;
	int err;

	for (; ctx->at < ctx->list->n; ctx->at++) {
		hdr = genlmsg_put(skb, NETLINK_CB(cb->skb).portid,
				  cb->nlh->nlmsg_seq, &fx_genl_family,
				  NLM_F_MULTI, FX_CMD_GRAPH_GET);
		err = -EMSGSIZE;
		if (hdr)
			err = fx_put_graph(skb, ctx->list->g[ctx->at],
					   &ctx->list->policy);
		if (err) {
			genlmsg_cancel(skb, hdr);
			return err;
		}
		genlmsg_end(skb, hdr);
	}
	return 0;
}

/**
 * fx_dump_graphs_done() - the dump ended or its socket closed
 * @cb: dump
 *
 * Return: 0.
 */
int fx_dump_graphs_done(struct netlink_callback *cb)
{
	struct fx_dump_graphs_ctx *ctx = (void *)cb->ctx;

	fx_graph_list_empty(ctx->list);
	kfree(ctx->list);
	return 0;
}

/* ---- the tables of one graph ---- */

struct fx_table {
	u8 cmd;
	int section;	/* whose count is the table's, or -1: one row per op */
	int (*put)(struct sk_buff *skb, struct fx_graph *g, u32 i);
};

static const struct fx_table fx_tables[] = {
	{ FX_CMD_PLACE_GET,	FX_SECT_PLACE,	fx_put_place },
	{ FX_CMD_CLASS_GET,	FX_SECT_CLASS,	fx_put_class },
	{ FX_CMD_EDGE_GET,	FX_SECT_EDGE,	fx_put_edge },
	{ FX_CMD_COUNTER_GET,	-1,		fx_put_counter },
};

struct fx_dump_table_ctx {
	struct fx_graph *g;
	const struct fx_table *table;
	u32 at;
};

/**
 * fx_dump_table_start() - begin to dump places, classes, edges or counters
 * @cb: dump; its FX_A_NAME says of which graph
 *
 * Return: 0, -EPROTONOSUPPORT, -EINVAL, -ENOENT.
 */
int fx_dump_table_start(struct netlink_callback *cb)
{
	struct fx_dump_table_ctx *ctx = (void *)cb->ctx;
	const struct genl_info *info = genl_info_dump(cb);
	size_t i;
	int err;

	BUILD_BUG_ON(sizeof(*ctx) > sizeof(cb->ctx));
	err = fx_dump_version(cb);
	if (err)
		return err;
	for (i = 0; i < ARRAY_SIZE(fx_tables); i++)
		if (fx_tables[i].cmd == info->genlhdr->cmd)
			ctx->table = &fx_tables[i];
	if (WARN_ON_ONCE(!ctx->table))
		return -EOPNOTSUPP;
	ctx->g = fx_genl_graph(info);
	if (IS_ERR(ctx->g))
		return PTR_ERR(ctx->g);
	ctx->at = 0;
	return 0;
}

/**
 * fx_dump_table() - the next message of the dump
 * @skb: message
 * @cb: dump
 *
 * Return: -EMSGSIZE when there is more, 0 at the end.
 */
int fx_dump_table(struct sk_buff *skb, struct netlink_callback *cb)
{
	struct fx_dump_table_ctx *ctx = (void *)cb->ctx;
	const struct fx_table *t = ctx->table;
	u32 n = t->section < 0 ? FX_OPS : ctx->g->image.count[t->section];
	void *hdr;
	int err;

	for (; ctx->at < n; ctx->at++) {
		hdr = genlmsg_put(skb, NETLINK_CB(cb->skb).portid,
				  cb->nlh->nlmsg_seq, &fx_genl_family,
				  NLM_F_MULTI, t->cmd);
		err = hdr ? t->put(skb, ctx->g, ctx->at) : -EMSGSIZE;
		if (err) {
			genlmsg_cancel(skb, hdr);
			return err;
		}
		genlmsg_end(skb, hdr);
	}
	return 0;
}

/**
 * fx_dump_table_done() - the dump ended or its socket closed
 * @cb: dump
 *
 * Return: 0.
 */
int fx_dump_table_done(struct netlink_callback *cb)
{
	struct fx_dump_table_ctx *ctx = (void *)cb->ctx;

	fx_graph_put(ctx->g);
	return 0;
}
