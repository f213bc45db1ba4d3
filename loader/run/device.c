// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <errno.h>
#include <fcntl.h>
#include <linux/dma-buf.h>
#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "device.h"

/**
 * fx_dev_open() - open the data plane for a graph
 * @graph: loaded graph
 *
 * Return: a file descriptor or -errno; -ENOENT for a graph that is not there
 * or a module that is not loaded.
 */
int fx_dev_open(const char *graph)
{
	struct fx_ioc_graph a = { .size = sizeof(a) };
	int fd = open("/dev/fabric_ext", O_RDWR | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	if (strlen(graph) >= sizeof(a.name)) {
		close(fd);
		return -ENAMETOOLONG;
	}
	strcpy(a.name, graph);
	if (ioctl(fd, FX_IOC_GRAPH, &a)) {
		int err = -errno;

		close(fd);
		return err;
	}
	return fd;
}

int fx_dev_import(int dev, int dmabuf, u16 place, u32 edge, u32 *handle)
{
	struct fx_ioc_import a = {
		.size = sizeof(a), .fd = dmabuf, .place = place, .edge = edge,
	};

	if (ioctl(dev, FX_IOC_IMPORT, &a))
		return -errno;
	*handle = a.handle;
	return 0;
}

/* A buffer as a dma-buf: its file descriptor. */
int fx_dev_export(int dev, u32 handle)
{
	struct fx_ioc_export a = {
		.size = sizeof(a), .flags = O_CLOEXEC, .handle = handle,
	};

	return ioctl(dev, FX_IOC_EXPORT, &a) ? -errno : a.fd;
}

int fx_dev_free(int dev, u32 handle)
{
	struct fx_ioc_free a = { .size = sizeof(a), .handle = handle };

	return ioctl(dev, FX_IOC_FREE, &a) ? -errno : 0;
}

/* Submit all, or say why the first that was refused was. */
int fx_dev_submit(int dev, const struct fx_desc *desc, u32 n)
{
	while (n) {
		struct fx_ioc_submit a = {
			.size = sizeof(a), .descs = (u64)(uintptr_t)desc,
			.n = n < FX_SUBMIT_MAX ? n : FX_SUBMIT_MAX,
		};

		if (ioctl(dev, FX_IOC_SUBMIT, &a))
			return -errno;
		if (!a.accepted || a.accepted > a.n)
			return -EPROTO;
		desc += a.accepted;
		n -= a.accepted;
	}
	return 0;
}

/* Wait for all @n completions, each wait no longer than the device takes. */
int fx_dev_wait(int dev, struct fx_completion *done, u32 n)
{
	while (n) {
		struct fx_ioc_wait a = {
			.size = sizeof(a), .completions = (u64)(uintptr_t)done,
			.n = n, .timeout_ns = FX_WAIT_MAX_NS,
		};

		if (ioctl(dev, FX_IOC_WAIT, &a)) {
			if (errno == EINTR)
				continue;
			return -errno;
		}
		if (!a.got)
			return -ETIMEDOUT;
		if (a.got > n)
			return -EPROTO;
		done += a.got;
		n -= a.got;
	}
	return 0;
}

static int sync_cpu(int dmabuf, u64 flags)
{
	struct dma_buf_sync s = { .flags = flags };

	return ioctl(dmabuf, DMA_BUF_IOCTL_SYNC, &s) ? -errno : 0;
}

/**
 * fx_map() - map a dma-buf and begin CPU access
 * @dmabuf: file descriptor
 * @bytes: from its beginning
 * @write: to write it, else to read it
 *
 * Return: the mapping, or NULL with errno.
 */
void *fx_map(int dmabuf, size_t bytes, bool write)
{
	u64 dir = write ? DMA_BUF_SYNC_WRITE : DMA_BUF_SYNC_READ;
	void *p = mmap(NULL, bytes, write ? PROT_READ | PROT_WRITE : PROT_READ,
		       MAP_SHARED, dmabuf, 0);
	int err;

	if (p == MAP_FAILED)
		return NULL;
	err = sync_cpu(dmabuf, DMA_BUF_SYNC_START | dir);
	if (!err)
		return p;
	munmap(p, bytes);
	errno = -err;
	return NULL;
}

/* The opposite of fx_map(). */
void fx_unmap(int dmabuf, void *map, size_t bytes, bool write)
{
	sync_cpu(dmabuf, DMA_BUF_SYNC_END |
		 (write ? DMA_BUF_SYNC_WRITE : DMA_BUF_SYNC_READ));
	munmap(map, bytes);
}
