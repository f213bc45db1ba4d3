// SPDX-License-Identifier: GPL-2.0-only
/*
 * A dma-buf exporter and two importing devices for tests. See fx_exerciser.h.
 * Not part of fabric_ext: it plays the driver whose calls are hooked.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/atomic.h>
#include <linux/delay.h>
#include <linux/dma-buf.h>
#include <linux/dma-fence.h>
#include <linux/dma-mapping.h>
#include <linux/dma-resv.h>
#include <linux/fcntl.h>
#include <linux/iosys-map.h>
#include <linux/miscdevice.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/platform_device.h>
#include <linux/scatterlist.h>
#include <linux/slab.h>
#include <linux/timex.h>
#include <linux/uaccess.h>
#include <linux/version.h>
#include "fx_exerciser.h"

#define FX_EX_BYTES_MAX		(1U << 20)
#define FX_EX_TIMES_MAX		1000000

static struct platform_device *fx_ex_dev[FX_EX_DEVICES];

static struct {
	atomic64_t attach, detach, map, unmap, cpu, release;
} fx_ex_calls;

struct fx_ex_buf {
	struct fx_ex_export how;
	struct page *pages;
	unsigned int order;
	struct fx_ex_fence *fence;
};

/* It outlives its dma-buf with whoever waits for it. */
struct fx_ex_fence {
	struct dma_fence base;	/* first: freed as this */
	spinlock_t lock;	/* for base */
};

static const char *fx_ex_fence_name(struct dma_fence *fence)
{
	return KBUILD_MODNAME;
}

static const struct dma_fence_ops fx_ex_fence_ops = {
	.get_driver_name = fx_ex_fence_name,
	.get_timeline_name = fx_ex_fence_name,
};

/* As if a device had begun to write to the dma-buf. */
static int fx_ex_fence_add(struct dma_buf *dmabuf)
{
	struct fx_ex_buf *b = dmabuf->priv;
	struct fx_ex_fence *f;
	int err;

	f = kzalloc(sizeof(*f), GFP_KERNEL);
	if (!f)
		return -ENOMEM;
	spin_lock_init(&f->lock);
	dma_fence_init(&f->base, &fx_ex_fence_ops, &f->lock, dma_fence_context_alloc(1), 1);
	dma_resv_lock(dmabuf->resv, NULL);
	err = dma_resv_reserve_fences(dmabuf->resv, 1);
	if (!err)
		dma_resv_add_fence(dmabuf->resv, &f->base, DMA_RESV_USAGE_WRITE);
	dma_resv_unlock(dmabuf->resv);
	if (err)
		dma_fence_put(&f->base);
	else
		b->fence = f;
	return err;
}

static int fx_ex_attach_op(struct dma_buf *dmabuf, struct dma_buf_attachment *attach)
{
	struct fx_ex_buf *b = dmabuf->priv;

	atomic64_inc(&fx_ex_calls.attach);
	if (b->how.attach_ms)
		msleep(b->how.attach_ms);
	return b->how.attach_err;
}

static void fx_ex_detach_op(struct dma_buf *dmabuf, struct dma_buf_attachment *attach)
{
	atomic64_inc(&fx_ex_calls.detach);
}

static int fx_ex_cpu_op(struct dma_buf *dmabuf, enum dma_data_direction dir)
{
	struct fx_ex_buf *b = dmabuf->priv;

	atomic64_inc(&fx_ex_calls.cpu);
	return b->how.cpu_err;
}

static struct sg_table *fx_ex_map_op(struct dma_buf_attachment *attach,
				     enum dma_data_direction dir)
{
	struct fx_ex_buf *b = attach->dmabuf->priv;
	struct sg_table *sgt;
	int err;

	atomic64_inc(&fx_ex_calls.map);
	if (b->how.map_err)
		return ERR_PTR(b->how.map_err);
	sgt = kzalloc(sizeof(*sgt), GFP_KERNEL);
	if (!sgt)
		return ERR_PTR(-ENOMEM);
	err = sg_alloc_table(sgt, 1, GFP_KERNEL);
	if (err)
		goto free;
	sg_set_page(sgt->sgl, b->pages, PAGE_SIZE << b->order, 0);
	err = dma_map_sgtable(attach->dev, sgt, dir, 0);
	if (!err)
		return sgt;
	sg_free_table(sgt);
free:
	kfree(sgt);
	return ERR_PTR(err);
}

static void fx_ex_unmap_op(struct dma_buf_attachment *attach, struct sg_table *sgt,
			   enum dma_data_direction dir)
{
	atomic64_inc(&fx_ex_calls.unmap);
	dma_unmap_sgtable(attach->dev, sgt, dir, 0);
	sg_free_table(sgt);
	kfree(sgt);
}

static void fx_ex_release_op(struct dma_buf *dmabuf)
{
	struct fx_ex_buf *b = dmabuf->priv;

	atomic64_inc(&fx_ex_calls.release);
	if (b->fence) {
		dma_fence_signal(&b->fence->base);
		dma_fence_put(&b->fence->base);
	}
	__free_pages(b->pages, b->order);
	kfree(b);
}

static int fx_ex_vmap_op(struct dma_buf *dmabuf, struct iosys_map *map)
{
	struct fx_ex_buf *b = dmabuf->priv;
	void *at = page_address(b->pages);

	if (b->how.flags & FX_EX_F_IOMEM)
		iosys_map_set_vaddr_iomem(map, (void __iomem __force *)at);
	else
		iosys_map_set_vaddr(map, at);
	return 0;
}

static int fx_ex_mmap_op(struct dma_buf *dmabuf, struct vm_area_struct *vma)
{
	struct fx_ex_buf *b = dmabuf->priv;

	/* dma_buf_mmap() has compared the range with the size */
	return remap_pfn_range(vma, vma->vm_start,
			       page_to_pfn(b->pages) + vma->vm_pgoff,
			       vma->vm_end - vma->vm_start, vma->vm_page_prot);
}

#define FX_EX_OPS					\
	.attach = fx_ex_attach_op,			\
	.detach = fx_ex_detach_op,			\
	.begin_cpu_access = fx_ex_cpu_op,		\
	.map_dma_buf = fx_ex_map_op,			\
	.unmap_dma_buf = fx_ex_unmap_op,		\
	.mmap = fx_ex_mmap_op,				\
	.release = fx_ex_release_op

/* With a vmap and without one: the kernel warns of a vmap that fails. */
static const struct dma_buf_ops fx_ex_ops[] = {
	{ FX_EX_OPS },
	{ FX_EX_OPS, .vmap = fx_ex_vmap_op },
};

static bool fx_ex_err_ok(int err)
{
	return err <= 0 && err >= -MAX_ERRNO;
}

static long fx_ex_export(struct fx_ex_export __user *arg)
{
	DEFINE_DMA_BUF_EXPORT_INFO(info);
	struct fx_ex_buf *b;
	struct dma_buf *dmabuf;
	int fd, err = -ENOMEM;

	b = kzalloc(sizeof(*b), GFP_KERNEL);
	if (!b)
		return -ENOMEM;
	if (copy_from_user(&b->how, arg, sizeof(b->how))) {
		err = -EFAULT;
		goto free;
	}
	if (!b->how.bytes || b->how.bytes > FX_EX_BYTES_MAX || b->how.attach_ms > 10000 ||
	    !fx_ex_err_ok(b->how.attach_err) || !fx_ex_err_ok(b->how.map_err) ||
	    !fx_ex_err_ok(b->how.cpu_err) || b->how.flags & ~FX_EX_F_ALL) {
		err = -EINVAL;
		goto free;
	}
	b->order = get_order(b->how.bytes);
	b->pages = alloc_pages(GFP_KERNEL | __GFP_ZERO, b->order);
	if (!b->pages)
		goto free;
	info.ops = &fx_ex_ops[!!(b->how.flags & (FX_EX_F_VMAP | FX_EX_F_IOMEM))];
	info.size = PAGE_SIZE << b->order;
	info.flags = O_RDWR;
	info.priv = b;
	dmabuf = dma_buf_export(&info);
	if (IS_ERR(dmabuf)) {
		__free_pages(b->pages, b->order);
		err = PTR_ERR(dmabuf);
		goto free;
	}
	if (b->how.flags & FX_EX_F_FENCE) {
		err = fx_ex_fence_add(dmabuf);
		if (err) {
			dma_buf_put(dmabuf);
			return err;
		}
	}
	fd = dma_buf_fd(dmabuf, O_CLOEXEC);
	if (fd < 0) {
		dma_buf_put(dmabuf);
		return fd;
	}
	return put_user(fd, &arg->fd);
free:
	kfree(b);
	return err;
}

/* One attach and detach, as an importing driver does it. */
static int fx_ex_pair(struct dma_buf *dmabuf, struct device *dev, bool map)
{
	struct dma_buf_attachment *attach = dma_buf_attach(dmabuf, dev);
	struct sg_table *sgt;
	int err = 0;

	if (IS_ERR(attach))
		return PTR_ERR(attach);
	if (map) {
		sgt = dma_buf_map_attachment_unlocked(attach, DMA_BIDIRECTIONAL);
		err = PTR_ERR_OR_ZERO(sgt);
		if (!err)
			dma_buf_unmap_attachment_unlocked(attach, sgt, DMA_BIDIRECTIONAL);
	}
	dma_buf_detach(dmabuf, attach);
	return err;
}

static long fx_ex_attach(struct fx_ex_attach __user *arg)
{
	struct fx_ex_attach a;
	struct dma_buf *dmabuf;
	cycles_t start;

	if (copy_from_user(&a, arg, sizeof(a)))
		return -EFAULT;
	if (a.dev >= FX_EX_DEVICES || a.times > FX_EX_TIMES_MAX)
		return -EINVAL;
	dmabuf = dma_buf_get(a.fd);
	if (IS_ERR(dmabuf))
		return PTR_ERR(dmabuf);
	a.error = 0;
	start = get_cycles();
	for (a.done = 0; a.done < a.times; a.done++) {
		a.error = fx_ex_pair(dmabuf, &fx_ex_dev[a.dev]->dev, a.map);
		if (a.error)
			break;
		if (!(a.done % 1024))
			cond_resched();
	}
	a.cycles = get_cycles() - start;
	dma_buf_put(dmabuf);
	return copy_to_user(arg, &a, sizeof(a)) ? -EFAULT : 0;
}

static long fx_ex_counts(struct fx_ex_counts __user *arg)
{
	struct fx_ex_counts c = {
		.attach = atomic64_read(&fx_ex_calls.attach),
		.detach = atomic64_read(&fx_ex_calls.detach),
		.map = atomic64_read(&fx_ex_calls.map),
		.unmap = atomic64_read(&fx_ex_calls.unmap),
		.cpu = atomic64_read(&fx_ex_calls.cpu),
		.release = atomic64_read(&fx_ex_calls.release),
	};

	return copy_to_user(arg, &c, sizeof(c)) ? -EFAULT : 0;
}

static long fx_ex_signal(const __s32 __user *arg)
{
	struct dma_buf *dmabuf;
	struct fx_ex_buf *b;
	int err = -EINVAL;
	__s32 fd;

	if (get_user(fd, arg))
		return -EFAULT;
	dmabuf = dma_buf_get(fd);
	if (IS_ERR(dmabuf))
		return PTR_ERR(dmabuf);
	b = dmabuf->ops == &fx_ex_ops[0] || dmabuf->ops == &fx_ex_ops[1] ?
		dmabuf->priv : NULL;
	if (b && b->fence) {
		dma_fence_signal(&b->fence->base);
		err = 0;
	}
	dma_buf_put(dmabuf);
	return err;
}

static long fx_ex_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	switch (cmd) {
	case FX_EX_EXPORT:
		return fx_ex_export((void __user *)arg);
	case FX_EX_ATTACH:
		return fx_ex_attach((void __user *)arg);
	case FX_EX_COUNTS:
		return fx_ex_counts((void __user *)arg);
	case FX_EX_SIGNAL:
		return fx_ex_signal((void __user *)arg);
	}
	return -ENOTTY;
}

static const struct file_operations fx_ex_fops = {
	.owner = THIS_MODULE,
	.unlocked_ioctl = fx_ex_ioctl,
};

static struct miscdevice fx_ex_misc = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "fx_exerciser",
	.fops = &fx_ex_fops,
	.mode = 0600,
};

static void fx_ex_devices_remove(void)
{
	int i;

	for (i = 0; i < FX_EX_DEVICES; i++)
		if (!IS_ERR_OR_NULL(fx_ex_dev[i]))
			platform_device_unregister(fx_ex_dev[i]);
}

static int __init fx_ex_init(void)
{
	static const char * const names[FX_EX_DEVICES] = { "fx_ex_a", "fx_ex_b" };
	int i, err;

	for (i = 0; i < FX_EX_DEVICES; i++) {
		fx_ex_dev[i] = platform_device_register_simple(names[i], PLATFORM_DEVID_NONE,
							       NULL, 0);
		err = PTR_ERR_OR_ZERO(fx_ex_dev[i]);
		if (!err)
			err = dma_coerce_mask_and_coherent(&fx_ex_dev[i]->dev,
							   DMA_BIT_MASK(64));
		if (err)
			goto out;
	}
	err = misc_register(&fx_ex_misc);
out:
	if (err)
		fx_ex_devices_remove();
	return err;
}
module_init(fx_ex_init);

static void __exit fx_ex_exit(void)
{
	misc_deregister(&fx_ex_misc);
	fx_ex_devices_remove();
}
module_exit(fx_ex_exit);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("dma-buf exporter and importers for the tests of fabric_ext");
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 13, 0)
MODULE_IMPORT_NS(DMA_BUF);
#else
MODULE_IMPORT_NS("DMA_BUF");
#endif
