// SPDX-License-Identifier: GPL-2.0-only
/*
 * A tag is found by the address of its dma-buf, and that address may be used
 * again: a tag must be gone before its dma-buf is. For a dma-buf of the engine
 * its own release sees to it, for all others the hook on dma_buf_release(),
 * which has to be in before a tag is set and stays in while one is there.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/dma-buf.h>
#include <linux/hashtable.h>
#include <linux/printk.h>
#include <linux/rculist.h>
#include <linux/slab.h>
#include <linux/spinlock.h>

#include "buffer.h"
#include "hook.h"
#include "tag.h"

#define FX_TAG_BITS	13	/* four tags a bucket when the table is full */
#define FX_TAG_HOOK	FX_OP_BIT(FX_OP_DMABUF_RELEASE)

static DEFINE_HASHTABLE(fx_tags, FX_TAG_BITS);
/* Taken in a hook, where preemption may be disabled: never sleep under it. */
static DEFINE_SPINLOCK(fx_tag_lock);
static struct workqueue_struct *fx_tag_wq;

atomic_t fx_tag_count = ATOMIC_INIT(0);
atomic64_t fx_tags_refused = ATOMIC64_INIT(0);

/**
 * fx_tag_find_slow() - fx_tag_find() once some dma-buf is tagged
 * @dmabuf: held by the caller
 *
 * Context: under rcu_read_lock() or with preemption disabled.
 * Return: the tag or NULL.
 */
const struct fx_tag *fx_tag_find_slow(const struct dma_buf *dmabuf)
{
	struct fx_tag *tag;

	hash_for_each_possible_rcu(fx_tags, tag, link, (unsigned long)dmabuf) {
		if (tag->dmabuf == dmabuf)
			return tag;
	}
	return NULL;
}

static struct fx_tag *fx_tag_locked(const struct dma_buf *dmabuf)
{
	struct fx_tag *tag;

	lockdep_assert_held(&fx_tag_lock);
	hash_for_each_possible(fx_tags, tag, link, (unsigned long)dmabuf) {
		if (tag->dmabuf == dmabuf)
			return tag;
	}
	return NULL;
}

static void fx_tag_free(struct work_struct *work)
{
	struct fx_tag *tag = container_of(to_rcu_work(work), struct fx_tag,
					  free);

	fx_graph_put(tag->graph);
	kfree(tag);
}

static void fx_tag_unlink(struct fx_tag *tag)
{
	lockdep_assert_held(&fx_tag_lock);
	hash_del_rcu(&tag->link);
	queue_rcu_work(fx_tag_wq, &tag->free);
}

static int fx_tag_reserve(bool hooked)
{
	if (!atomic_add_unless(&fx_tag_count, 1, FX_TAGS_MAX)) {
		atomic64_inc(&fx_tags_refused);
		pr_notice_ratelimited("tag: all %u tags are in use; close tagged dma-bufs or take tags away\n",
				      FX_TAGS_MAX);
		return -ENOSPC;
	}
	if (!hooked)
		return 0;
	fx_hooks_get(FX_TAG_HOOK);
	if (!fx_hooks_missing(FX_TAG_HOOK))
		return 0;
	pr_notice_ratelimited("tag: dma_buf_release() cannot be hooked here, so tags of dma-bufs of others would outlive them\n");
	atomic_dec(&fx_tag_count);
	fx_hooks_put(FX_TAG_HOOK);
	return -EOPNOTSUPP;
}

static void fx_tag_unreserve(bool hooked)
{
	atomic_dec(&fx_tag_count);
	if (hooked)
		fx_hooks_put(FX_TAG_HOOK);
}

/**
 * fx_tag_set() - say which edge a dma-buf serves
 * @dmabuf: held by the caller
 * @g: graph
 * @edge: instance in @g, checked by the caller
 * @place: where the buffer lies, checked by the caller
 *
 * Replaces a tag of the same graph.
 *
 * Context: may sleep.
 * Return: 0; -EBUSY if another graph tagged it, -ENODEV if @g was removed,
 *	-ENOSPC if the table is full, -EOPNOTSUPP if the hook is not in, -ENOMEM.
 */
int fx_tag_set(struct dma_buf *dmabuf, struct fx_graph *g, u32 edge, u16 place)
{
	bool hooked = !fx_dmabuf_is_ours(dmabuf);
	struct fx_edge *e = fx_edge_at(g, edge);
	struct fx_tag *tag, *old;
	int err;

	tag = kzalloc(sizeof(*tag), GFP_KERNEL_ACCOUNT);
	if (!tag)
		return -ENOMEM;
	err = fx_tag_reserve(hooked);
	if (err) {
		kfree(tag);
		return err;
	}
	tag->dmabuf = dmabuf;
	tag->graph = fx_graph_get(g);
	tag->edge = edge;
	tag->place = place;
	tag->alias = fx_class_of(g, e)->desc.alias;
	tag->hooked = hooked;
	tag->offset = e->desc.alias_at;
	INIT_RCU_WORK(&tag->free, fx_tag_free);

	spin_lock(&fx_tag_lock);
	old = fx_tag_locked(dmabuf);
	/* fx_tag_drop_graph() comes after the graph was marked dead */
	if (READ_ONCE(g->dead))
		err = -ENODEV;
	else if (old && old->graph != g)
		err = -EBUSY;
	if (!err) {
		/* who looks meanwhile finds the one or the other */
		if (old) {
			hlist_replace_rcu(&old->link, &tag->link);
			queue_rcu_work(fx_tag_wq, &old->free);
		} else {
			hash_add_rcu(fx_tags, &tag->link, (unsigned long)dmabuf);
		}
	}
	spin_unlock(&fx_tag_lock);

	if (err) {
		fx_graph_put(g);
		kfree(tag);
	}
	/* of the tag that was not added, or of the one that it replaces */
	if (err || old)
		fx_tag_unreserve(hooked);
	return err;
}

/* Takes the tag out, one of @g only unless that is NULL. */
static bool fx_tag_remove(struct dma_buf *dmabuf, const struct fx_graph *g)
{
	struct fx_tag *tag;
	bool hooked;

	spin_lock(&fx_tag_lock);
	tag = fx_tag_locked(dmabuf);
	if (tag && g && tag->graph != g)
		tag = NULL;
	if (tag) {
		hooked = tag->hooked;
		fx_tag_unlink(tag);
	}
	spin_unlock(&fx_tag_lock);
	if (tag)
		fx_tag_unreserve(hooked);
	return tag;
}

/**
 * fx_tag_clear() - take a tag away
 * @dmabuf: held by the caller
 * @g: graph whose tag it is
 *
 * Context: process context.
 * Return: 0; -ENOENT if the dma-buf has no tag of this graph.
 */
int fx_tag_clear(struct dma_buf *dmabuf, struct fx_graph *g)
{
	return fx_tag_remove(dmabuf, g) ? 0 : -ENOENT;
}

/**
 * fx_tag_drop() - a dma-buf is being released
 * @dmabuf: about to be freed
 *
 * Context: any but interrupts; called from the hook on dma_buf_release() and
 *	from the engine's own release.
 */
void fx_tag_drop(struct dma_buf *dmabuf)
{
	if (fx_tags_any())
		fx_tag_remove(dmabuf, NULL);
}

/**
 * fx_tag_drop_graph() - drop all tags of a graph
 * @g: marked dead by the caller, so that no new one comes
 *
 * Context: process context.
 */
void fx_tag_drop_graph(struct fx_graph *g)
{
	unsigned int own = 0, hooked = 0;
	struct hlist_node *next;
	struct fx_tag *tag;
	int bucket;

	spin_lock(&fx_tag_lock);
	hash_for_each_safe(fx_tags, bucket, next, tag, link) {
		if (tag->graph != g)
			continue;
		if (tag->hooked)
			hooked++;
		else
			own++;
		fx_tag_unlink(tag);
	}
	spin_unlock(&fx_tag_lock);
	while (own--)
		fx_tag_unreserve(false);
	while (hooked--)
		fx_tag_unreserve(true);
}

/**
 * fx_tag_init() - make the table
 *
 * Context: module init; may sleep.
 * Return: 0 or -ENOMEM.
 */
int fx_tag_init(void)
{
	fx_tag_wq = alloc_workqueue("fabric_ext_tag", WQ_UNBOUND, 1);
	return fx_tag_wq ? 0 : -ENOMEM;
}

/**
 * fx_tag_exit() - drop what is left and wait until it is freed
 *
 * A dma-buf of others may outlive the module; its tag does not.
 *
 * Context: module exit, after fx_hooks_exit() and with no file open; may sleep.
 */
void fx_tag_exit(void)
{
	struct hlist_node *next;
	struct fx_tag *tag;
	int bucket;

	spin_lock(&fx_tag_lock);
	hash_for_each_safe(fx_tags, bucket, next, tag, link)
		fx_tag_unlink(tag);
	atomic_set(&fx_tag_count, 0);
	spin_unlock(&fx_tag_lock);
	/* the grace periods, then the works that they queue */
	rcu_barrier();
	destroy_workqueue(fx_tag_wq);
}
