/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Buffers: memory that the engine allocated at a place, dma-bufs that others
 * export, and the handles under which an open file knows both.
 */
#ifndef FX_BUFFER_H
#define FX_BUFFER_H

#include <linux/iosys-map.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/mutex.h>

#include "graph.h"

struct dma_buf;
struct page;

/**
 * struct fx_mem - pages that the engine allocated
 * @ref: held by handles, by the exported dma-buf
 * @graph: counted
 * @place: where the pages lie; they are charged to it
 * @place_index: of @place in @graph
 * @element: enum fx_element of what lies there now; READ_ONCE(), WRITE_ONCE()
 * @edge: that brought it there, or FX_EDGE_NONE; likewise
 * @n_pages: allocated so far, of @pages
 * @pages: in order
 * @lock: of @vaddr and @n_maps
 * @vaddr: kernel mapping while @n_maps is not 0
 * @n_maps: who uses it
 * @devices: mappings by devices; under the reservation lock of the dma-buf,
 *	of which there is at most one
 */
struct fx_mem {
	struct kref ref;
	struct fx_graph *graph;
	struct fx_place *place;
	u16 place_index;
	u8 element;
	u32 edge;
	unsigned long n_pages;
	struct page **pages;
	struct mutex lock;		/* of the two below */
	void *vaddr;
	unsigned int n_maps;
	struct list_head devices;
};

/**
 * struct fx_buf - what a handle stands for
 * @ref: held by the handle and by every movement that uses it
 * @mem: counted; NULL for a dma-buf of others
 * @dmabuf: counted; of others, or of @mem once it was exported
 * @bytes: that can be addressed
 * @place: place index
 * @lock: makes @dmabuf of @mem once
 * @map: kernel mapping, kept while movements are queued; only for the worker
 *	of the file
 * @mapped: @map is valid
 * @pending: movements that use it and did not end; under the queue's lock
 */
struct fx_buf {
	struct kref ref;
	struct fx_mem *mem;
	struct dma_buf *dmabuf;
	u64 bytes;
	u16 place;
	struct mutex lock;		/* makes dmabuf once */
	struct iosys_map map;
	bool mapped;
	unsigned int pending;
};

/* The longest wait for the fences of a dma-buf, of others by its nature. */
#define FX_FENCE_WAIT_MS	10000
/* and how often meanwhile it is looked whether who wants it is still there */
#define FX_FENCE_LOOK_MS	100

struct fx_mem *fx_mem_alloc(struct fx_graph *g, u16 place, u64 bytes, bool zero,
			    u32 *reason);
struct fx_mem *fx_mem_get(struct fx_mem *mem);
void fx_mem_put(struct fx_mem *mem);
int fx_mem_map(struct fx_mem *mem, struct iosys_map *map);
void fx_mem_unmap(struct fx_mem *mem);

struct fx_buf *fx_buf_new(struct fx_mem *mem, u64 bytes);
struct fx_buf *fx_buf_import(struct dma_buf *dmabuf, u16 place);
void fx_buf_put(struct fx_buf *buf);
u8 fx_buf_element(const struct fx_buf *buf);
bool fx_buf_same(const struct fx_buf *a, const struct fx_buf *b);
const void *fx_buf_key(const struct fx_buf *buf);
int fx_buf_map(struct fx_buf *buf);
void fx_buf_unmap(struct fx_buf *buf);

static inline struct fx_buf *fx_buf_get(struct fx_buf *buf)
{
	kref_get(&buf->ref);
	return buf;
}

/* export.c: the dma-bufs of the engine */
struct dma_buf *fx_dmabuf_of(struct fx_buf *buf);
bool fx_dmabuf_is_ours(const struct dma_buf *dmabuf);
struct fx_mem *fx_dmabuf_mem(const struct dma_buf *dmabuf);

#endif
