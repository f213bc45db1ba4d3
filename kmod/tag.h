/* SPDX-License-Identifier: GPL-2.0-only */
/* Tags: which edge of which graph a dma-buf serves. */
#ifndef FX_TAG_H
#define FX_TAG_H

#include <linux/atomic.h>
#include <linux/list.h>
#include <linux/workqueue.h>

#include "graph.h"

struct dma_buf;

#define FX_TAGS_MAX	32768	/* in the whole system; -ENOSPC above */

/**
 * struct fx_tag - what is known of a tagged dma-buf
 * @dmabuf: key; not counted, a tag does not keep its dma-buf
 * @graph: counted
 * @edge: edge instance
 * @place: where the buffer lies, as its importer or the engine said
 * @alias: alias set of the edge or FX_ALIAS_NONE
 * @hooked: it holds the hook on dma_buf_release()
 * @offset: of the buffer in that set, bytes
 * @link: in the table
 * @free: after a grace period, in a worker because a graph may go with it
 *
 * Never changes once it can be found; a new edge is a new tag.
 */
struct fx_tag {
	struct dma_buf *dmabuf;
	struct fx_graph *graph;
	u32 edge;
	u16 place;
	u16 alias;
	bool hooked;
	u64 offset;
	struct hlist_node link;
	struct rcu_work free;
};

int fx_tag_init(void);
void fx_tag_exit(void);

int fx_tag_set(struct dma_buf *dmabuf, struct fx_graph *g, u32 edge, u16 place);
int fx_tag_clear(struct dma_buf *dmabuf, struct fx_graph *g);
void fx_tag_drop(struct dma_buf *dmabuf);
void fx_tag_drop_graph(struct fx_graph *g);

/* Tags that are there or being set. */
extern atomic_t fx_tag_count;
/* Tags turned away because the table was full. */
extern atomic64_t fx_tags_refused;

/* Is any dma-buf tagged? */
static inline bool fx_tags_any(void)
{
	return atomic_read(&fx_tag_count);
}

const struct fx_tag *fx_tag_find_slow(const struct dma_buf *dmabuf);

/**
 * fx_tag_find() - look the tag of a dma-buf up
 * @dmabuf: held by the caller
 *
 * Context: under rcu_read_lock() or with preemption disabled, for as long as
 *	the tag is used.
 * Return: the tag or NULL.
 */
static inline const struct fx_tag *fx_tag_find(const struct dma_buf *dmabuf)
{
	return fx_tags_any() ? fx_tag_find_slow(dmabuf) : NULL;
}

#endif
