// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <errno.h>
#include <fcntl.h>
#include <linux/dma-heap.h>
#include <linux/videodev2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <xf86drm.h>

#include "party.h"
#include "../util.h"

#define DRM_NODES	64	/* /dev/dri/card0..63 */

/**
 * fx_heap_open() - open a dma-buf heap
 * @heap: its name in /dev/dma_heap
 *
 * Return: a file descriptor or -errno.
 */
int fx_heap_open(const char *heap)
{
	char *path = fx_asprintf("/dev/dma_heap/%s", heap);
	int fd = open(path, O_RDWR | O_CLOEXEC);
	int err = -errno;

	free(path);
	return fd < 0 ? err : fd;
}

/* A dma-buf of @bytes from an open heap: a file descriptor or -errno. */
int fx_heap_alloc(int heap, size_t bytes)
{
	struct dma_heap_allocation_data a = {
		.len = bytes,
		.fd_flags = O_RDWR | O_CLOEXEC,
	};

	return ioctl(heap, DMA_HEAP_IOCTL_ALLOC, &a) ? -errno : (int)a.fd;
}

/**
 * fx_drm_open() - open the DRM device of a driver
 * @driver: its name, "vgem"
 *
 * Return: a file descriptor or -ENODEV.
 */
int fx_drm_open(const char *driver)
{
	for (int i = 0; i < DRM_NODES; i++) {
		char *path = fx_asprintf("/dev/dri/card%d", i);
		int fd = open(path, O_RDWR | O_CLOEXEC);
		drmVersionPtr v = fd < 0 ? NULL : drmGetVersion(fd);
		bool same = v && !strcmp(v->name, driver);

		drmFreeVersion(v);
		free(path);
		if (same)
			return fd;
		if (fd >= 0)
			close(fd);
	}
	return -ENODEV;
}

/* Have a DRM driver import a dma-buf, which attaches it: 0 or -errno. */
int fx_drm_import(int drm, int dmabuf, u32 *handle)
{
	return drmPrimeFDToHandle(drm, dmabuf, handle) ? -errno : 0;
}

void fx_drm_forget(int drm, u32 handle)
{
	drmCloseBufferHandle(drm, handle);
}

/**
 * fx_v4l2_import() - have a V4L2 capture device import a dma-buf
 * @node: device, "/dev/video0"; its driver must attach what it imports, as
 *	vivid does with allocators=1
 * @dmabuf: to be queued as a capture buffer, and taken back
 * @bytes: its size
 *
 * Return: 0, -ENOTSUP for a device that does not take dma-bufs, or the errno
 * of the import.
 */
int fx_v4l2_import(const char *node, int dmabuf, size_t bytes)
{
	struct v4l2_format fmt = { .type = V4L2_BUF_TYPE_VIDEO_CAPTURE };
	struct v4l2_requestbuffers req = {
		.count = 2,
		.type = V4L2_BUF_TYPE_VIDEO_CAPTURE,
		.memory = V4L2_MEMORY_DMABUF,
	};
	struct v4l2_buffer buf = {
		.type = V4L2_BUF_TYPE_VIDEO_CAPTURE,
		.memory = V4L2_MEMORY_DMABUF,
		.m.fd = dmabuf,
		.length = (u32)bytes,
	};
	int fd = open(node, O_RDWR | O_CLOEXEC);
	int err = 0;

	if (fd < 0)
		return -errno;
	fmt.fmt.pix.width = 320;
	fmt.fmt.pix.height = 180;
	fmt.fmt.pix.pixelformat = V4L2_PIX_FMT_YUYV;
	if (ioctl(fd, VIDIOC_S_FMT, &fmt) || ioctl(fd, VIDIOC_REQBUFS, &req) ||
	    fmt.fmt.pix.sizeimage > bytes)
		err = -ENOTSUP;
	else if (ioctl(fd, VIDIOC_QBUF, &buf))
		err = -errno;
	close(fd);
	return err;
}

/**
 * fx_attachments() - how many attachments all dma-bufs have
 *
 * Return: their number, from debugfs, or -errno.
 */
int fx_attachments(void)
{
	FILE *f = fopen("/sys/kernel/debug/dma_buf/bufinfo", "re");
	char *line = NULL;
	size_t cap = 0;
	int n, sum = 0;

	if (!f)
		return -errno;
	while (getline(&line, &cap, f) >= 0)
		if (sscanf(line, "Total %d devices attached", &n) == 1)
			sum += n;
	free(line);
	fclose(f);
	return sum;
}
