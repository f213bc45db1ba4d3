// SPDX-License-Identifier: GPL-2.0-only
/*
 * /dev/fabric_ext: descriptors in, completions out.
 *
 * Mode 0600: the permission of the file is the gate, as for a disk. There is no
 * further capability check, so that a descriptor that was opened with privilege
 * can be handed to a process without. One graph per open file.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/dma-buf.h>
#include <linux/fcntl.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/ktime.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/poll.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "chrdev.h"
#include "engine.h"
#include "tag.h"

/* Room for the structures of later versions; more than that is no structure. */
#define FX_IOC_SIZE_MAX	PAGE_SIZE

/* The largest structure of this version. */
union fx_ioc_arg {
	u32 size;
	struct fx_ioc_graph graph;
	struct fx_ioc_import import;
	struct fx_ioc_export export;
	struct fx_ioc_free free;
	struct fx_ioc_tag tag;
	struct fx_ioc_submit submit;
	struct fx_ioc_wait wait;
};

static struct fx_queue *fx_file_queue(struct file *file)
{
	/* private_data: the queue once fx_ioc_graph() made it */
	return smp_load_acquire((struct fx_queue **)&file->private_data);
}

static long fx_ioc_graph(struct file *file, void *arg, void __user *user)
{
	struct fx_ioc_graph *a = arg;
	struct fx_graph *g;
	struct fx_queue *q;

	if (a->flags)
		return fx_bad(-EINVAL, "graph: flags 0x%x is not 0", a->flags);
	if (!a->name[0] || strnlen(a->name, sizeof(a->name)) ==
			   sizeof(a->name))
		return fx_bad(-EINVAL,
			      "graph: name is empty or has no NUL in its %zu bytes",
			      sizeof(a->name));
	g = fx_graph_find(a->name);
	if (!g)
		return fx_bad(-ENOENT, "graph: name: no graph %s is loaded",
			      a->name);
	q = fx_queue_new(g);
	fx_graph_put(g);
	if (!q)
		return -ENOMEM;
	if (cmpxchg_release((struct fx_queue **)&file->private_data, NULL, q)) {
		fx_queue_close(q);
		return fx_bad(-EBUSY,
			      "graph: the file is bound to a graph already");
	}
	return 0;
}

/* Where dma-bufs of a place come from, as far as the graph says it. */
static bool fx_place_takes(const struct fx_place *p, const struct dma_buf *d)
{
	switch (p->desc.match_kind) {
	case FX_MATCH_EXPORTER:
	case FX_MATCH_HEAP:
		return !strcmp(p->desc.match, d->exp_name);
	default:
		return true;
	}
}

static int fx_import_check(const struct fx_queue *q,
			   const struct fx_ioc_import *a)
{
	const struct fx_graph *g = q->graph;
	const struct fx_edge *e;

	if (a->flags)
		return fx_bad(-EINVAL, "import: flags 0x%x is not 0", a->flags);
	if (a->reserved)
		return fx_bad(-EINVAL, "import: reserved 0x%x is not 0",
			      a->reserved);
	if (!fx_place_at(g, a->place))
		return fx_bad(-ENOENT, "import: place %u: the graph has %u",
			      a->place, g->image.count[FX_SECT_PLACE]);
	if (a->edge == FX_EDGE_NONE)
		return 0;
	e = fx_edge_at(g, a->edge);
	if (!e)
		return fx_bad(-ENOENT, "import: edge %u: the graph has %u",
			      a->edge, g->image.count[FX_SECT_EDGE]);
	if (fx_class_of(g, e)->desc.from != a->place)
		return fx_bad(-EINVAL,
			      "import: place %u: edge %u moves from place %u",
			      a->place, a->edge, fx_class_of(g, e)->desc.from);
	return 0;
}

/* The engine knows where its own memory lies. */
static int fx_import_check_place(const struct fx_queue *q,
				 const struct fx_ioc_import *a,
				 const struct dma_buf *dmabuf)
{
	const struct fx_place *p = fx_place_at(q->graph, a->place);
	const struct fx_mem *mem;

	if (!fx_dmabuf_is_ours(dmabuf)) {
		if (fx_place_takes(p, dmabuf))
			return 0;
		return fx_bad(-EINVAL,
			      "import: place %u: %s has dma-bufs of %s, fd %d is one of %s",
			      a->place, p->desc.name, p->desc.match, a->fd,
			      dmabuf->exp_name);
	}
	mem = fx_dmabuf_mem(dmabuf);
	if (mem->graph != q->graph)
		return fx_bad(-EINVAL,
			      "import: fd %d: a buffer of the graph %s",
			      a->fd, mem->graph->image.name);
	if (mem->place_index != a->place)
		return fx_bad(-EINVAL,
			      "import: place %u: fd %d lies at place %u",
			      a->place, a->fd, mem->place_index);
	return 0;
}

static long fx_ioc_import(struct file *file, void *arg, void __user *user)
{
	struct fx_ioc_import __user *to = user;
	struct fx_queue *q = fx_file_queue(file);
	struct fx_ioc_import *a = arg;
	struct dma_buf *dmabuf;
	struct fx_buf *buf;
	u32 handle;
	int err;

	err = fx_import_check(q, a);
	if (err)
		return err;
	dmabuf = dma_buf_get(a->fd);
	if (IS_ERR(dmabuf))
		return fx_bad(PTR_ERR(dmabuf), "import: fd %d is no dma-buf",
			      a->fd);
	err = fx_import_check_place(q, a, dmabuf);
	if (err)
		goto out;
	buf = fx_buf_import(dmabuf, a->place);
	if (!buf) {
		err = -ENOMEM;
		goto out;
	}
	err = fx_handle_add(q, buf, &handle);
	if (err) {
		fx_buf_put(buf);
		goto out;
	}
	if (a->edge != FX_EDGE_NONE)
		err = fx_tag_set(dmabuf, q->graph, a->edge, a->place);
	if (err)
		goto out_handle;
	if (!put_user(handle, &to->handle) &&
	    !put_user((u64)dmabuf->size, &to->bytes))
		goto out;
	err = -EFAULT;
	if (a->edge != FX_EDGE_NONE)
		fx_tag_clear(dmabuf, q->graph);
out_handle:
	fx_handle_free(q, handle);
out:
	dma_buf_put(dmabuf);
	return err;
}

static long fx_ioc_export(struct file *file, void *arg, void __user *user)
{
	struct fx_ioc_export __user *to = user;
	struct fx_queue *q = fx_file_queue(file);
	struct fx_ioc_export *a = arg;
	struct dma_buf *dmabuf;
	struct fx_buf *buf;
	int fd, err;

	if (a->flags & ~O_CLOEXEC)
		return fx_bad(-EINVAL, "export: flags 0x%x: only O_CLOEXEC",
			      a->flags);
	buf = fx_handle_get(q, a->handle);
	if (!buf)
		return fx_bad(-ENOENT, "export: handle %u: no such buffer",
			      a->handle);
	dmabuf = fx_dmabuf_of(buf);
	fx_buf_put(buf);
	if (IS_ERR(dmabuf))
		return PTR_ERR(dmabuf);

	fd = get_unused_fd_flags(a->flags);
	if (fd < 0) {
		err = fd;
		goto err_dmabuf;
	}
	err = put_user(fd, &to->fd);
	if (err)
		goto err_fd;
	fd_install(fd, dmabuf->file);
	return 0;

err_fd:
	put_unused_fd(fd);
err_dmabuf:
	dma_buf_put(dmabuf);
	return err;
}

static long fx_ioc_free(struct file *file, void *arg, void __user *user)
{
	struct fx_ioc_free *a = arg;
	int err;

	if (a->flags)
		return fx_bad(-EINVAL, "free: flags 0x%x is not 0", a->flags);
	if (a->reserved)
		return fx_bad(-EINVAL, "free: reserved 0x%x is not 0",
			      a->reserved);
	err = fx_handle_free(fx_file_queue(file), a->handle);
	return err ? fx_bad(err, "free: handle %u: no such buffer",
			    a->handle) : 0;
}

static int fx_tag_apply(struct fx_graph *g, const struct fx_ioc_tag *a,
			struct dma_buf *dmabuf)
{
	const struct fx_edge *e = fx_edge_at(g, a->edge);
	int err;

	if (a->edge == FX_EDGE_NONE) {
		err = fx_tag_clear(dmabuf, g);
		return err ? fx_bad(err, "tag: fd %d has no tag of this graph",
				    a->fd) : 0;
	}
	if (!e)
		return fx_bad(-ENOENT, "tag: edge %u: the graph has %u",
			      a->edge, g->image.count[FX_SECT_EDGE]);
	err = fx_tag_set(dmabuf, g, a->edge, fx_class_of(g, e)->desc.from);
	if (err == -EBUSY)
		return fx_bad(err, "tag: fd %d has a tag of another graph",
			      a->fd);
	return err;
}

static long fx_ioc_tag(struct file *file, void *arg, void __user *user)
{
	struct fx_queue *q = fx_file_queue(file);
	struct fx_ioc_tag *a = arg;
	struct dma_buf *dmabuf;
	int err;

	if (a->flags)
		return fx_bad(-EINVAL, "tag: flags 0x%x is not 0", a->flags);
	dmabuf = dma_buf_get(a->fd);
	if (IS_ERR(dmabuf))
		return fx_bad(PTR_ERR(dmabuf), "tag: fd %d is no dma-buf",
			      a->fd);
	err = fx_tag_apply(q->graph, a, dmabuf);
	dma_buf_put(dmabuf);
	return err;
}

static long fx_ioc_submit(struct file *file, void *arg, void __user *user)
{
	struct fx_ioc_submit __user *to = user;
	struct fx_ioc_submit *a = arg;
	struct fx_desc *descs;
	u32 accepted = 0;
	long err;

	if (a->flags)
		return fx_bad(-EINVAL, "submit: flags 0x%x is not 0", a->flags);
	if (!a->n)
		return fx_bad(-EINVAL, "submit: n is 0");
	if (a->n > FX_SUBMIT_MAX)
		return fx_bad(-ERANGE, "submit: n %u is above %u", a->n,
			      FX_SUBMIT_MAX);
	/* once: what is checked is what is done */
	descs = vmemdup_array_user(u64_to_user_ptr(a->descs), a->n,
				   sizeof(*descs));
	if (IS_ERR(descs))
		return PTR_ERR(descs);
	err = fx_queue_submit(fx_file_queue(file), descs, a->n, &accepted);
	kvfree(descs);
	if (put_user(accepted, &to->accepted))
		return -EFAULT;
	return accepted ? 0 : err;
}

static int fx_wait_check(const struct fx_ioc_wait *a)
{
	if (a->flags)
		return fx_bad(-EINVAL, "wait: flags 0x%x is not 0", a->flags);
	if (!a->n)
		return fx_bad(-EINVAL, "wait: n is 0");
	if (a->n > FX_INFLIGHT_MAX)
		return fx_bad(-ERANGE, "wait: n %u is above %u", a->n,
			      FX_INFLIGHT_MAX);
	if (a->timeout_ns > FX_WAIT_MAX_NS)
		return fx_bad(-ERANGE, "wait: timeout_ns %llu is above %llu",
			      a->timeout_ns, FX_WAIT_MAX_NS);
	return 0;
}

/* Waits for one completion, takes what there is; others may be faster. */
static long fx_ioc_wait(struct file *file, void *arg, void __user *user)
{
	struct fx_queue *q = fx_file_queue(file);
	struct fx_ioc_wait __user *to = user;
	struct fx_ioc_wait *a = arg;
	ktime_t end, left;
	u32 got = 0;
	long err;

	err = fx_wait_check(a);
	if (err)
		return err;
	end = ktime_add_ns(ktime_get(), a->timeout_ns);
	for (;;) {
		err = fx_queue_reap(q, u64_to_user_ptr(a->completions), a->n,
				    &got);
		if (err || got)
			break;
		left = ktime_sub(end, ktime_get());
		if (!a->timeout_ns || file->f_flags & O_NONBLOCK) {
			err = -EAGAIN;
			break;
		}
		if (left <= 0) {
			err = -ETIMEDOUT;
			break;
		}
		err = wait_event_interruptible_hrtimeout(q->wait,
							 fx_queue_has_done(q),
							 left);
		if (err == -ERESTARTSYS) {
			/* no restart: it would wait all over again */
			err = -EINTR;
			break;
		}
	}
	if (put_user(got, &to->got))
		return -EFAULT;
	return got ? 0 : err;
}

#define FX_IOC(nr, cmd, type, fn, unbound)				\
	[nr] = { #type, sizeof(struct fx_ioc_##type), cmd, fn, unbound }

static const struct fx_ioc {
	const char *name;
	size_t size;
	unsigned int cmd;
	long (*fn)(struct file *file, void *arg, void __user *user);
	bool unbound;		/* works before FX_IOC_GRAPH */
} fx_iocs[] = {
	FX_IOC(0, FX_IOC_GRAPH, graph, fx_ioc_graph, true),
	FX_IOC(1, FX_IOC_IMPORT, import, fx_ioc_import, false),
	FX_IOC(2, FX_IOC_EXPORT, export, fx_ioc_export, false),
	FX_IOC(3, FX_IOC_FREE, free, fx_ioc_free, false),
	FX_IOC(4, FX_IOC_TAG, tag, fx_ioc_tag, false),
	FX_IOC(5, FX_IOC_SUBMIT, submit, fx_ioc_submit, false),
	FX_IOC(6, FX_IOC_WAIT, wait, fx_ioc_wait, false),
};

static_assert(_IOC_NR(FX_IOC_WAIT) == ARRAY_SIZE(fx_iocs) - 1);

/* The size within a number may be that of a later version's structure. */
static bool fx_ioc_matches(const struct fx_ioc *ioc, unsigned int cmd)
{
	return !((ioc->cmd ^ cmd) & ~(_IOC_SIZEMASK << _IOC_SIZESHIFT));
}

static long fx_ioctl(struct file *file, unsigned int cmd, unsigned long user)
{
	void __user *from = (void __user *)user;
	unsigned int nr = _IOC_NR(cmd);
	const struct fx_ioc *ioc;
	union fx_ioc_arg arg;
	u32 size;
	int err;

	if (nr >= ARRAY_SIZE(fx_iocs) || !fx_ioc_matches(&fx_iocs[nr], cmd))
		return -ENOTTY;
	ioc = &fx_iocs[nr];
	if (!ioc->unbound && !fx_file_queue(file))
		return -ENOTCONN;

	if (get_user(size, (u32 __user *)from))
		return -EFAULT;
	if (size < ioc->size || size > FX_IOC_SIZE_MAX)
		return fx_bad(-EINVAL, "%s: size %u is not %zu", ioc->name,
			      size, ioc->size);
	err = copy_struct_from_user(&arg, ioc->size, from, size);
	if (err == -E2BIG)
		return fx_bad(-EINVAL,
			      "%s: size %u: the bytes above %zu are not 0",
			      ioc->name, size, ioc->size);
	if (err)
		return err;
	return ioc->fn(file, &arg, from);
}

static __poll_t fx_poll(struct file *file, poll_table *wait)
{
	struct fx_queue *q = fx_file_queue(file);
	__poll_t events = 0;

	if (!q)
		return EPOLLERR;
	poll_wait(file, &q->wait, wait);
	if (fx_queue_has_done(q))
		events |= EPOLLIN | EPOLLRDNORM;
	if (atomic_read(&q->inflight) < FX_INFLIGHT_MAX)
		events |= EPOLLOUT | EPOLLWRNORM;
	return events;
}

static int fx_open(struct inode *inode, struct file *file)
{
	/* misc leaves the device here */
	file->private_data = NULL;
	return nonseekable_open(inode, file);
}

static int fx_release(struct inode *inode, struct file *file)
{
	struct fx_queue *q = file->private_data;

	if (q)
		fx_queue_close(q);
	return 0;
}

static const struct file_operations fx_fops = {
	.owner		= THIS_MODULE,
	.open		= fx_open,
	.release	= fx_release,
	.unlocked_ioctl	= fx_ioctl,
	.compat_ioctl	= compat_ptr_ioctl,
	.poll		= fx_poll,
};

static struct miscdevice fx_misc = {
	.minor	= MISC_DYNAMIC_MINOR,
	.name	= "fabric_ext",
	.fops	= &fx_fops,
	.mode	= 0600,
};

/**
 * fx_chrdev_register() - make /dev/fabric_ext
 *
 * Context: module init, last: it can be used at once.
 * Return: 0 or -errno.
 */
int fx_chrdev_register(void)
{
	return misc_register(&fx_misc);
}

/**
 * fx_chrdev_unregister() - take /dev/fabric_ext away
 *
 * Context: module exit, first; no file is open then.
 */
void fx_chrdev_unregister(void)
{
	misc_deregister(&fx_misc);
}
