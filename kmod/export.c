// SPDX-License-Identifier: GPL-2.0-only
/*
 * The exporter: memory of the engine as a dma-buf.
 *
 * Processes that map it get special page table entries without a reference to
 * the page: nobody can pin the pages longer than the mapping lives, and that
 * holds the dma-buf and so the memory. VM_MIXEDMAP rather than VM_PFNMAP, as
 * pagemap does not look into the latter: where the pages lie can be checked
 * from outside.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/dma-buf.h>
#include <linux/dma-mapping.h>
#include <linux/dma-resv.h>
#include <linux/mm.h>
#include <linux/scatterlist.h>
#include <linux/slab.h>

#include "buffer.h"
#include "compat.h"
#include "tag.h"

/* pages that one fault maps, from the one that was touched on */
#define FX_FAULT_AROUND	16

/**
 * struct fx_device_map - a mapping of the memory by a device
 * @link: in fx_mem.devices
 * @dev: importing device
 * @sgt: what it was given
 */
struct fx_device_map {
	struct list_head link;
	struct device *dev;
	struct sg_table sgt;
};

static struct sg_table *fx_dmabuf_map(struct dma_buf_attachment *attach,
				      enum dma_data_direction dir)
{
	struct fx_mem *mem = attach->dmabuf->priv;
	struct fx_device_map *m;
	int err;

	dma_resv_assert_held(attach->dmabuf->resv);
	m = kzalloc(sizeof(*m), GFP_KERNEL);
	if (!m)
		return ERR_PTR(-ENOMEM);
	m->dev = attach->dev;
	err = sg_alloc_table_from_pages_segment(&m->sgt, mem->pages,
						mem->n_pages, 0,
						attach->dmabuf->size,
						dma_get_max_seg_size(m->dev),
						GFP_KERNEL);
	if (err)
		goto err_map;
	err = dma_map_sgtable(m->dev, &m->sgt, dir, 0);
	if (err)
		goto err_table;
	list_add(&m->link, &mem->devices);
	return &m->sgt;

err_table:
	sg_free_table(&m->sgt);
err_map:
	kfree(m);
	return ERR_PTR(err);
}

static void fx_dmabuf_unmap(struct dma_buf_attachment *attach,
			    struct sg_table *sgt, enum dma_data_direction dir)
{
	struct fx_device_map *m = container_of(sgt, struct fx_device_map, sgt);

	dma_resv_assert_held(attach->dmabuf->resv);
	list_del(&m->link);
	dma_unmap_sgtable(m->dev, &m->sgt, dir, 0);
	sg_free_table(&m->sgt);
	kfree(m);
}

/* The CPU begins or ends an access: what each device has mapped follows. */
static int fx_sync_devices(struct dma_buf *dmabuf, enum dma_data_direction dir,
			   void (*sync)(struct device *dev, struct sg_table *sgt,
					enum dma_data_direction dir))
{
	struct fx_mem *mem = dmabuf->priv;
	struct fx_device_map *m;
	int err;

	err = dma_resv_lock_interruptible(dmabuf->resv, NULL);
	if (err)
		return err;
	list_for_each_entry(m, &mem->devices, link)
		sync(m->dev, &m->sgt, dir);
	dma_resv_unlock(dmabuf->resv);
	return 0;
}

static int fx_dmabuf_begin_cpu(struct dma_buf *dmabuf, enum dma_data_direction dir)
{
	return fx_sync_devices(dmabuf, dir, dma_sync_sgtable_for_cpu);
}

static int fx_dmabuf_end_cpu(struct dma_buf *dmabuf, enum dma_data_direction dir)
{
	return fx_sync_devices(dmabuf, dir, dma_sync_sgtable_for_device);
}

static vm_fault_t fx_vma_fault(struct vm_fault *vmf)
{
	struct vm_area_struct *vma = vmf->vma;
	struct fx_mem *mem = vma->vm_private_data;
	pgoff_t first = vmf->pgoff, end, i;
	unsigned long addr = vmf->address;
	vm_fault_t ret;

	if (first >= mem->n_pages)
		return VM_FAULT_SIGBUS;
	ret = fx_insert_mixed(vma, addr, page_to_pfn(mem->pages[first]));
	if (ret != VM_FAULT_NOPAGE)
		return ret;

	end = min3(mem->n_pages, first + FX_FAULT_AROUND,
		   first + ((vma->vm_end - addr) >> PAGE_SHIFT));
	for (i = first + 1; i < end; i++) {
		addr += PAGE_SIZE;
		if (fx_insert_mixed(vma, addr, page_to_pfn(mem->pages[i])) !=
		    VM_FAULT_NOPAGE)
			break;
	}
	return VM_FAULT_NOPAGE;
}

static const struct vm_operations_struct fx_vm_ops = {
	.fault = fx_vma_fault,
};

static int fx_dmabuf_mmap(struct dma_buf *dmabuf, struct vm_area_struct *vma)
{
	if (!(vma->vm_flags & (VM_SHARED | VM_MAYSHARE)))
		return -EINVAL;
	vma->vm_ops = &fx_vm_ops;
	vma->vm_private_data = dmabuf->priv;
	/* VM_IO: not for get_user_pages() */
	vm_flags_set(vma, VM_MIXEDMAP | VM_IO | VM_DONTEXPAND | VM_DONTDUMP);
	return 0;
}

static int fx_dmabuf_vmap(struct dma_buf *dmabuf, struct iosys_map *map)
{
	return fx_mem_map(dmabuf->priv, map);
}

static void fx_dmabuf_vunmap(struct dma_buf *dmabuf, struct iosys_map *map)
{
	fx_mem_unmap(dmabuf->priv);
	iosys_map_clear(map);
}

static void fx_dmabuf_release(struct dma_buf *dmabuf)
{
	fx_tag_drop(dmabuf);
	fx_mem_put(dmabuf->priv);
}

static const struct dma_buf_ops fx_dmabuf_ops = {
	.map_dma_buf		= fx_dmabuf_map,
	.unmap_dma_buf		= fx_dmabuf_unmap,
	.begin_cpu_access	= fx_dmabuf_begin_cpu,
	.end_cpu_access		= fx_dmabuf_end_cpu,
	.mmap			= fx_dmabuf_mmap,
	.vmap			= fx_dmabuf_vmap,
	.vunmap			= fx_dmabuf_vunmap,
	.release		= fx_dmabuf_release,
};

/**
 * fx_dmabuf_is_ours() - did the engine export this dma-buf?
 * @dmabuf: held by the caller
 *
 * Return: true if it did.
 */
bool fx_dmabuf_is_ours(const struct dma_buf *dmabuf)
{
	return dmabuf->ops == &fx_dmabuf_ops;
}

/**
 * fx_dmabuf_mem() - the memory behind a dma-buf of the engine
 * @dmabuf: one that fx_dmabuf_is_ours()
 *
 * Return: the memory, held by the dma-buf.
 */
struct fx_mem *fx_dmabuf_mem(const struct dma_buf *dmabuf)
{
	return dmabuf->priv;
}

static struct dma_buf *fx_dmabuf_make(struct fx_mem *mem)
{
	DEFINE_DMA_BUF_EXPORT_INFO(info);
	u32 edge = READ_ONCE(mem->edge);
	struct dma_buf *dmabuf;
	int err;

	info.ops = &fx_dmabuf_ops;
	info.size = (size_t)mem->n_pages << PAGE_SHIFT;
	info.flags = O_RDWR;
	info.priv = mem;
	dmabuf = dma_buf_export(&info);
	if (IS_ERR(dmabuf))
		return dmabuf;
	fx_mem_get(mem);
	if (edge == FX_EDGE_NONE)
		return dmabuf;
	/*
	 * Untagged, policies would not know it: rather no dma-buf at all. A
	 * graph that was removed has no policy any more.
	 */
	err = fx_tag_set(dmabuf, mem->graph, edge, mem->place_index);
	if (err && err != -ENODEV) {
		dma_buf_put(dmabuf);
		return ERR_PTR(err);
	}
	return dmabuf;
}

/**
 * fx_dmabuf_of() - the dma-buf of a buffer
 * @buf: buffer
 *
 * Memory of the engine gets one when it is first asked for and keeps it, so
 * that all who have it know it by the same identity. It bears the tag of the
 * edge that brought the data.
 *
 * Context: may sleep.
 * Return: the dma-buf with a reference for the caller; ERR_PTR(-ENOMEM) or
 *	what fx_tag_set() answers.
 */
struct dma_buf *fx_dmabuf_of(struct fx_buf *buf)
{
	struct dma_buf *dmabuf;

	mutex_lock(&buf->lock);
	dmabuf = buf->dmabuf;
	if (!dmabuf) {
		dmabuf = fx_dmabuf_make(buf->mem);
		if (!IS_ERR(dmabuf))
			/* for the worker, which takes no lock: fx_cpu_run() */
			smp_store_release(&buf->dmabuf, dmabuf);
	}
	if (!IS_ERR(dmabuf))
		get_dma_buf(dmabuf);
	mutex_unlock(&buf->lock);
	return dmabuf;
}
