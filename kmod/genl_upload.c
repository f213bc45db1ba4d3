// SPDX-License-Identifier: GPL-2.0-only
/*
 * Loading a graph: one transaction per socket, from BEGIN to COMMIT or ABORT
 * or the socket's end.
 *
 *	none -- BEGIN --------------------------------------> open
 *	open -- CHUNK, COMMIT that is refused --------------> open
 *	open -- COMMIT, ABORT, socket closed, module exit --> none
 *
 * A transaction belongs to the socket itself, not to its port number, which
 * another socket may bear before we hear that the first one closed. While a
 * command works on a transaction it is marked busy and taken out of everybody
 * else's hands, so that no lock is held while records are copied and checked:
 * two threads that share a socket get -EBUSY, not each other's memory.
 */
#include <linux/list.h>
#include <linux/module.h>
#include <linux/netlink.h>
#include <linux/notifier.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <net/genetlink.h>
#include <net/sock.h>
#include <linux/fabric_ext.h>

#include "genl.h"
#include "graph.h"

/**
 * struct fx_upload - an open transaction
 * @link: in fx_uploads; under fx_uploads_lock
 * @sk: the socket, referenced so that its address stays its own
 * @portid: its port, by which its end is announced
 * @graph: what is being loaded, one reference
 * @busy: a command works on it; under fx_uploads_lock
 */
struct fx_upload {
	struct list_head link;
	struct sock *sk;
	u32 portid;
	struct fx_graph *graph;
	bool busy;
};

static LIST_HEAD(fx_uploads);
static DEFINE_SPINLOCK(fx_uploads_lock);
static unsigned int fx_uploads_n;

static unsigned int uploads_refused;
module_param(uploads_refused, uint, 0444);
MODULE_PARM_DESC(uploads_refused, "graph uploads turned away because too many were open");

static struct fx_upload *fx_upload_find(const struct sock *sk)
{
	struct fx_upload *up;

	lockdep_assert_held(&fx_uploads_lock);
	list_for_each_entry(up, &fx_uploads, link)
		if (up->sk == sk)
			return up;
	return NULL;
}

static void fx_upload_free(struct fx_upload *up)
{
	fx_graph_put(up->graph);
	sock_put(up->sk);
	kfree(up);
}

/* Take the sender's transaction in hand, or an ERR_PTR. */
static struct fx_upload *fx_upload_take(const struct sk_buff *skb,
					struct netlink_ext_ack *extack)
{
	struct fx_upload *up;

	spin_lock(&fx_uploads_lock);
	up = fx_upload_find(NETLINK_CB(skb).sk);
	if (!up) {
		NL_SET_ERR_MSG(extack, "this socket has no upload open, begin one first");
		up = ERR_PTR(-ENOENT);
	} else if (up->busy) {
		NL_SET_ERR_MSG(extack, "another command of this socket's upload is running");
		up = ERR_PTR(-EBUSY);
	} else {
		up->busy = true;
	}
	spin_unlock(&fx_uploads_lock);
	return up;
}

/* Let go of it: @open leaves it for the next command, else it ends here. */
static void fx_upload_give(struct fx_upload *up, bool open)
{
	spin_lock(&fx_uploads_lock);
	/* the socket may have closed meanwhile, then nobody will ask again */
	open = open && !sock_flag(up->sk, SOCK_DEAD);
	up->busy = false;
	if (!open) {
		list_del(&up->link);
		fx_uploads_n--;
	}
	spin_unlock(&fx_uploads_lock);

	if (!open)
		fx_upload_free(up);
}

/* A new transaction in hand, without its graph, or an ERR_PTR. */
static struct fx_upload *fx_upload_new(const struct sk_buff *skb,
				       struct netlink_ext_ack *extack)
{
	struct fx_upload *up;
	int err = 0;

	up = kzalloc(sizeof(*up), GFP_KERNEL_ACCOUNT);
	if (!up)
		return ERR_PTR(-ENOMEM);
	up->busy = true;
	up->sk = NETLINK_CB(skb).sk;
	up->portid = NETLINK_CB(skb).portid;

	spin_lock(&fx_uploads_lock);
	if (fx_upload_find(up->sk)) {
		NL_SET_ERR_MSG(extack, "this socket has an upload open, commit or abort it first");
		err = -EBUSY;
	} else if (fx_uploads_n >= FX_UPLOADS_MAX) {
		NL_SET_ERR_MSG(extack, "too many uploads are open, try again later");
		uploads_refused++;
		err = -EBUSY;
	} else {
		sock_hold(up->sk);
		list_add(&up->link, &fx_uploads);
		fx_uploads_n++;
	}
	spin_unlock(&fx_uploads_lock);

	if (err) {
		kfree(up);
		return ERR_PTR(err);
	}
	return up;
}

/**
 * fx_upload_begin() - FX_CMD_GRAPH_BEGIN
 * @skb: request
 * @info: request
 *
 * Allocates the whole graph, charged to the sender's memory cgroup.
 *
 * Context: process context of the sender.
 * Return: 0; -EBUSY when the socket has a transaction open or too many are;
 * what fx_graph_new() refuses.
 */
int fx_upload_begin(struct sk_buff *skb, struct genl_info *info)
{
	static const u16 need[] = {
		FX_A_NAME, FX_A_DIGEST, FX_A_GOVERNS, FX_A_COUNTS,
	};
	struct fx_image_hdr hdr = {
		.magic		= FX_IMAGE_MAGIC,
		.version	= FX_UAPI_VERSION,
		.size		= sizeof(hdr),
	};
	struct fx_upload *up;
	struct fx_graph *g;
	int err;

	err = fx_genl_need(info, need, ARRAY_SIZE(need));
	if (err)
		return err;
	nla_strscpy(hdr.name, info->attrs[FX_A_NAME], sizeof(hdr.name));
	nla_memcpy(hdr.digest, info->attrs[FX_A_DIGEST], sizeof(hdr.digest));
	nla_memcpy(hdr.count, info->attrs[FX_A_COUNTS], sizeof(hdr.count));
	hdr.governs = nla_get_u32(info->attrs[FX_A_GOVERNS]);

	up = fx_upload_new(skb, info->extack);
	if (IS_ERR(up))
		return PTR_ERR(up);
	g = fx_graph_new(&hdr, info->extack);
	if (IS_ERR(g)) {
		fx_upload_give(up, false);
		return PTR_ERR(g);
	}
	up->graph = g;
	fx_upload_give(up, true);
	return 0;
}

/**
 * fx_upload_chunk() - FX_CMD_GRAPH_CHUNK: some whole records of a section
 * @skb: request
 * @info: request
 *
 * Context: process context of the sender.
 * Return: 0, -ENOENT without a transaction, what fx_graph_load() refuses; the
 * transaction stays open.
 */
int fx_upload_chunk(struct sk_buff *skb, struct genl_info *info)
{
	static const u16 need[] = { FX_A_SECTION, FX_A_FIRST, FX_A_DATA };
	struct nlattr *data = info->attrs[FX_A_DATA];
	struct fx_upload *up;
	int err;

	err = fx_genl_need(info, need, ARRAY_SIZE(need));
	if (err)
		return err;
	up = fx_upload_take(skb, info->extack);
	if (IS_ERR(up))
		return PTR_ERR(up);
	err = fx_graph_load(up->graph, nla_get_u32(info->attrs[FX_A_SECTION]),
			    nla_get_u32(info->attrs[FX_A_FIRST]),
			    nla_data(data), nla_len(data), info->extack);
	if (err)
		NL_SET_BAD_ATTR(info->extack,
				info->attrs[err == -ERANGE ? FX_A_FIRST : FX_A_DATA]);
	fx_upload_give(up, true);
	return err;
}

/**
 * fx_upload_commit() - FX_CMD_GRAPH_COMMIT: check the graph and publish it
 * @skb: request
 * @info: request
 *
 * Context: process context of the sender.
 * Return: 0, -ENOENT without a transaction, what fx_graph_publish() refuses;
 * then the transaction stays open so that records can be sent again.
 */
int fx_upload_commit(struct sk_buff *skb, struct genl_info *info)
{
	struct fx_upload *up;
	int err;

	up = fx_upload_take(skb, info->extack);
	if (IS_ERR(up))
		return PTR_ERR(up);
	err = fx_graph_publish(up->graph, info->extack);
	fx_upload_give(up, err);
	return err;
}

/**
 * fx_upload_abort() - FX_CMD_GRAPH_ABORT: forget the transaction
 * @skb: request
 * @info: request
 *
 * Context: process context of the sender.
 * Return: 0, -ENOENT without a transaction.
 */
int fx_upload_abort(struct sk_buff *skb, struct genl_info *info)
{
	struct fx_upload *up;

	up = fx_upload_take(skb, info->extack);
	if (IS_ERR(up))
		return PTR_ERR(up);
	fx_upload_give(up, false);
	return 0;
}

/*
 * End the transactions of closed sockets with this port, or all with 0. The
 * socket that closes is orphaned before its end is announced; one that was
 * given the same port since is alive and keeps its own.
 */
static void fx_uploads_drop(u32 portid)
{
	struct fx_upload *up, *next;
	LIST_HEAD(dropped);

	spin_lock(&fx_uploads_lock);
	list_for_each_entry_safe(up, next, &fx_uploads, link) {
		if (up->busy)
			continue;
		if (portid && (up->portid != portid ||
			       !sock_flag(up->sk, SOCK_DEAD)))
			continue;
		list_move(&up->link, &dropped);
		fx_uploads_n--;
	}
	spin_unlock(&fx_uploads_lock);

	list_for_each_entry_safe(up, next, &dropped, link)
		fx_upload_free(up);
}

static int fx_uploads_event(struct notifier_block *nb, unsigned long event,
			    void *data)
{
	const struct netlink_notify *notify = data;

	if (event == NETLINK_URELEASE && notify->protocol == NETLINK_GENERIC)
		fx_uploads_drop(notify->portid);
	return NOTIFY_DONE;
}

static struct notifier_block fx_uploads_nb = {
	.notifier_call	= fx_uploads_event,
};

/**
 * fx_uploads_init() - begin to hear of sockets that close
 *
 * The family's own per-socket memory would do, but is not exported to modules.
 *
 * Return: 0 or -errno.
 */
int fx_uploads_init(void)
{
	return netlink_register_notifier(&fx_uploads_nb);
}

/**
 * fx_uploads_exit() - end every transaction
 *
 * Context: the family is unregistered, so no command runs.
 */
void fx_uploads_exit(void)
{
	netlink_unregister_notifier(&fx_uploads_nb);
	fx_uploads_drop(0);
}
