// SPDX-License-Identifier: GPL-2.0-only
/* Memory at a place, and the handles of an open file. */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/dma-buf.h>
#include <linux/dma-resv.h>
#include <linux/gfp.h>
#include <linux/highmem.h>
#include <linux/mm.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "buffer.h"
#include "inject.h"
#include "node.h"

/* 2 MiB: as far as a folio saves work for IOMMUs and for kernel mappings */
#define FX_FOLIO_ORDER_MAX	9

/*
 * Memory that was onlined movable gives pages only to movable requests, and
 * never does the engine take pages of another node than the place's. A large
 * folio is taken only where one lies ready; the order 0 request reclaims, but
 * leaves the OOM killer alone: the submitter gets an error instead.
 */
static struct folio *fx_folio_alloc(int node, unsigned int order, bool zero)
{
	gfp_t gfp = GFP_HIGHUSER_MOVABLE | __GFP_THISNODE | __GFP_ACCOUNT |
		    __GFP_NOWARN;

	if (zero)
		gfp |= __GFP_ZERO;
	if (order)
		gfp = (gfp | __GFP_NORETRY | __GFP_NOMEMALLOC) &
		      ~__GFP_DIRECT_RECLAIM;
	else
		gfp |= __GFP_RETRY_MAYFAIL;
	return __folio_alloc_node(gfp, order, node);
}

/* A folio on the node, of at most that many pages, counted as held. */
static struct folio *fx_folio_get(int node, unsigned long pages, bool zero)
{
	unsigned int order = min(ilog2(pages), FX_FOLIO_ORDER_MAX);
	struct folio *folio;
	int err;

	for (;;) {
		if (fatal_signal_pending(current))
			return ERR_PTR(-EINTR);
		cond_resched();

		folio = fx_folio_alloc(node, order, zero);
		if (!folio && !order)
			return ERR_PTR(-ENOMEM);
		if (!folio) {
			order--;
			continue;
		}
		if (folio_nid(folio) != node) {
			/* what __GFP_THISNODE promises is checked all the same */
			folio_put(folio);
			return ERR_PTR(-ENOMEM);
		}
		err = fx_node_hold(folio);
		if (!err)
			return folio;
		folio_put(folio);
		/* -EBUSY: its block is going offline, the next lies elsewhere */
		if (err != -EBUSY)
			return ERR_PTR(err);
	}
}

static void fx_mem_free_pages(struct fx_mem *mem)
{
	unsigned long i = 0;

	while (i < mem->n_pages) {
		struct folio *folio = page_folio(mem->pages[i]);

		i += folio_nr_pages(folio);
		fx_node_drop(folio);
		folio_put(folio);
		cond_resched();
	}
	fx_place_uncharge(mem->place, (u64)mem->n_pages << PAGE_SHIFT);
	mem->n_pages = 0;
}

static int fx_mem_fill(struct fx_mem *mem, int node, unsigned long pages,
		       bool zero)
{
	while (mem->n_pages < pages) {
		struct folio *folio;
		unsigned long i, n;

		folio = fx_folio_get(node, pages - mem->n_pages, zero);
		if (IS_ERR(folio))
			return PTR_ERR(folio);
		n = folio_nr_pages(folio);
		for (i = 0; i < n; i++)
			mem->pages[mem->n_pages++] = folio_page(folio, i);
	}
	return 0;
}

static void fx_mem_release(struct kref *ref)
{
	struct fx_mem *mem = container_of(ref, struct fx_mem, ref);

	WARN_ON_ONCE(mem->n_maps || !list_empty(&mem->devices));
	fx_mem_free_pages(mem);
	fx_graph_put(mem->graph);
	mutex_destroy(&mem->lock);
	kvfree(mem->pages);
	kfree(mem);
}

/**
 * fx_mem_get() - take a reference
 * @mem: held by the caller
 *
 * Return: @mem.
 */
struct fx_mem *fx_mem_get(struct fx_mem *mem)
{
	kref_get(&mem->ref);
	return mem;
}

/**
 * fx_mem_put() - drop a reference; the last frees the pages
 * @mem: or NULL
 *
 * Context: may sleep.
 */
void fx_mem_put(struct fx_mem *mem)
{
	if (mem)
		kref_put(&mem->ref, fx_mem_release);
}

static struct fx_mem *fx_mem_new(struct fx_graph *g, u16 place,
				 unsigned long pages)
{
	struct fx_mem *mem = kzalloc(sizeof(*mem), GFP_KERNEL_ACCOUNT);

	if (!mem)
		return NULL;
	mem->pages = kvmalloc_array(pages, sizeof(*mem->pages),
				    GFP_KERNEL_ACCOUNT | __GFP_NOWARN |
				    __GFP_RETRY_MAYFAIL);
	if (!mem->pages) {
		kfree(mem);
		return NULL;
	}
	kref_init(&mem->ref);
	mem->graph = fx_graph_get(g);
	mem->place = fx_place_at(g, place);
	mem->place_index = place;
	mem->edge = FX_EDGE_NONE;
	mutex_init(&mem->lock);
	INIT_LIST_HEAD(&mem->devices);
	return mem;
}

/**
 * fx_mem_alloc() - allocate memory at a place
 * @g: graph, of which the caller holds a reference
 * @place: place index, checked by the caller
 * @bytes: wanted, more than 0; whole pages are charged to the place
 * @zero: the caller does not write all of it: hand it out zeroed. Otherwise
 *	only the rest of the last page is.
 * @reason: out: enum fx_reason of an error
 *
 * The pages are charged to the memory cgroup of the current task.
 *
 * Context: process context of who wants it; may sleep and reclaim.
 * Return: the memory; ERR_PTR(-ENODEV) if the place has no memory node now,
 *	-ENOSPC if its capacity is used up, -ENOMEM, -EINTR when killed.
 */
struct fx_mem *fx_mem_alloc(struct fx_graph *g, u16 place, u64 bytes, bool zero,
			    u32 *reason)
{
	unsigned long pages = bytes >> PAGE_SHIFT;
	struct fx_place *p = fx_place_at(g, place);
	int node = READ_ONCE(p->node);
	struct fx_mem *mem;
	unsigned int rest = bytes & ~PAGE_MASK;
	u64 uncharged;
	int err;

	*reason = FX_REFUSED_PLACE;
	if (fx_injected(FX_INJECT_NODE))
		node = 0;
	if (!fx_node_usable(node))
		return ERR_PTR(-ENODEV);

	*reason = FX_REFUSED_CAPACITY;
	if (rest)
		pages++;
	if (pages > totalram_pages())
		return ERR_PTR(-ENOSPC);
	if (!fx_place_charge(p, (u64)pages << PAGE_SHIFT))
		return ERR_PTR(-ENOSPC);

	*reason = FX_FAILED_MEMORY;
	mem = fx_mem_new(g, place, pages);
	if (!mem) {
		fx_place_uncharge(p, (u64)pages << PAGE_SHIFT);
		return ERR_PTR(-ENOMEM);
	}
	err = fx_mem_fill(mem, node, pages, zero);
	if (err) {
		if (err == -EINTR)
			*reason = FX_FAILED_CANCELLED;
		/* what is there is uncharged with it, the rest here */
		uncharged = (u64)(pages - mem->n_pages) << PAGE_SHIFT;
		fx_place_uncharge(p, uncharged);
		fx_mem_put(mem);
		return ERR_PTR(err);
	}
	if (rest && !zero)
		memzero_page(mem->pages[pages - 1], rest, PAGE_SIZE - rest);
	*reason = FX_APPLIED;
	return mem;
}

/**
 * fx_mem_map() - map memory into the kernel
 * @mem: memory
 * @map: out: where
 *
 * Context: may sleep.
 * Return: 0 or -ENOMEM.
 */
int fx_mem_map(struct fx_mem *mem, struct iosys_map *map)
{
	int err = 0;

	mutex_lock(&mem->lock);
	if (!mem->n_maps)
		mem->vaddr = vmap(mem->pages, mem->n_pages, VM_MAP,
				  PAGE_KERNEL);
	if (mem->vaddr) {
		mem->n_maps++;
		iosys_map_set_vaddr(map, mem->vaddr);
	} else {
		err = -ENOMEM;
	}
	mutex_unlock(&mem->lock);
	return err;
}

/**
 * fx_mem_unmap() - undo one fx_mem_map()
 * @mem: memory
 *
 * Context: may sleep.
 */
void fx_mem_unmap(struct fx_mem *mem)
{
	mutex_lock(&mem->lock);
	if (!--mem->n_maps) {
		vunmap(mem->vaddr);
		mem->vaddr = NULL;
	}
	mutex_unlock(&mem->lock);
}

static struct fx_buf *fx_buf_alloc(u64 bytes, u16 place)
{
	struct fx_buf *buf = kzalloc(sizeof(*buf), GFP_KERNEL_ACCOUNT);

	if (!buf)
		return NULL;
	kref_init(&buf->ref);
	mutex_init(&buf->lock);
	buf->bytes = bytes;
	buf->place = place;
	return buf;
}

/**
 * fx_buf_new() - what a handle of the engine's memory stands for
 * @mem: the caller's reference goes into it
 * @bytes: that were asked for
 *
 * Context: may sleep.
 * Return: the buffer with one reference or NULL without memory; the caller
 *	then keeps its reference of @mem.
 */
struct fx_buf *fx_buf_new(struct fx_mem *mem, u64 bytes)
{
	struct fx_buf *buf = fx_buf_alloc(bytes, mem->place_index);

	if (buf)
		buf->mem = mem;
	return buf;
}

/**
 * fx_buf_import() - what a handle of a dma-buf stands for
 * @dmabuf: may be one of the engine's; the buffer takes a reference
 * @place: place index
 *
 * Context: may sleep.
 * Return: the buffer with one reference or NULL without memory.
 */
struct fx_buf *fx_buf_import(struct dma_buf *dmabuf, u16 place)
{
	struct fx_buf *buf = fx_buf_alloc(dmabuf->size, place);

	if (!buf)
		return NULL;
	get_dma_buf(dmabuf);
	buf->dmabuf = dmabuf;
	if (fx_dmabuf_is_ours(dmabuf))
		buf->mem = fx_mem_get(fx_dmabuf_mem(dmabuf));
	return buf;
}

static void fx_buf_release(struct kref *ref)
{
	struct fx_buf *buf = container_of(ref, struct fx_buf, ref);

	fx_buf_unmap(buf);
	if (buf->dmabuf)
		dma_buf_put(buf->dmabuf);
	fx_mem_put(buf->mem);
	mutex_destroy(&buf->lock);
	kfree(buf);
}

/**
 * fx_buf_put() - drop a reference
 * @buf: or NULL
 *
 * Context: may sleep.
 */
void fx_buf_put(struct fx_buf *buf)
{
	if (buf)
		kref_put(&buf->ref, fx_buf_release);
}

/**
 * fx_buf_element() - what lies in a buffer
 * @buf: buffer
 *
 * Return: enum fx_element; FX_ELEM_NONE where only its exporter could know.
 */
u8 fx_buf_element(const struct fx_buf *buf)
{
	return buf->mem ? READ_ONCE(buf->mem->element) : FX_ELEM_NONE;
}

/**
 * fx_buf_key() - the identity of the bytes behind a handle
 * @buf: buffer
 *
 * Return: an address that all handles of the same memory share; to compare,
 *	not to follow.
 */
const void *fx_buf_key(const struct fx_buf *buf)
{
	return buf->mem ? (void *)buf->mem : (void *)buf->dmabuf;
}

/**
 * fx_buf_same() - do two handles stand for the same bytes?
 * @a: buffer
 * @b: buffer
 *
 * Return: true if they do.
 */
bool fx_buf_same(const struct fx_buf *a, const struct fx_buf *b)
{
	return fx_buf_key(a) == fx_buf_key(b);
}

/**
 * fx_buf_map() - map a buffer into the kernel unless it is
 * @buf: buffer; @buf->map says where it is
 *
 * Context: the worker of the file; may sleep.
 * Return: 0, -ENOMEM, or what the exporter answers.
 */
int fx_buf_map(struct fx_buf *buf)
{
	int err;

	if (buf->mapped)
		return 0;
	err = buf->mem ? fx_mem_map(buf->mem, &buf->map) :
			 dma_buf_vmap_unlocked(buf->dmabuf, &buf->map);
	buf->mapped = !err;
	return err;
}

/**
 * fx_buf_unmap() - undo fx_buf_map()
 * @buf: buffer, mapped or not
 *
 * Context: the worker of the file, or who has the last reference; may sleep.
 */
void fx_buf_unmap(struct fx_buf *buf)
{
	if (!buf->mapped)
		return;
	if (buf->mem)
		fx_mem_unmap(buf->mem);
	else
		dma_buf_vunmap_unlocked(buf->dmabuf, &buf->map);
	buf->mapped = false;
}
