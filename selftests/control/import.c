// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * import [SECONDS]: let vgem import a buffer of the system heap, once or for
 * that long, as a driver does. Prints how often it was admitted and refused;
 * the exit status is the errno of the last refusal, 0 when there was none.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/dma-heap.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

/* of <drm/drm.h>, which is not among the kernel's headers on every system */
struct prime_handle {
	__u32 handle;
	__u32 flags;
	__s32 fd;
};

struct gem_close {
	__u32 handle;
	__u32 pad;
};

struct version {
	int major, minor, patch;
	size_t name_len;
	char *name;
	size_t date_len;
	char *date;
	size_t desc_len;
	char *desc;
};

#define IOCTL_VERSION		_IOWR('d', 0x00, struct version)
#define IOCTL_GEM_CLOSE		_IOW('d', 0x09, struct gem_close)
#define IOCTL_FD_TO_HANDLE	_IOWR('d', 0x2e, struct prime_handle)

static int open_vgem(void)
{
	DIR *d = opendir("/dev/dri");
	struct dirent *e;
	char path[300], name[32];
	int fd;

	while (d && (e = readdir(d))) {
		struct version v = { .name = name, .name_len = sizeof(name) - 1 };

		if (strncmp(e->d_name, "card", 4))
			continue;
		snprintf(path, sizeof(path), "/dev/dri/%s", e->d_name);
		fd = open(path, O_RDWR | O_CLOEXEC);
		memset(name, 0, sizeof(name));
		if (fd >= 0 && !ioctl(fd, IOCTL_VERSION, &v) && !strcmp(name, "vgem")) {
			closedir(d);
			return fd;
		}
		if (fd >= 0)
			close(fd);
	}
	if (d)
		closedir(d);
	return -1;
}

static int heap_buffer(void)
{
	struct dma_heap_allocation_data a = {
		.len = 4096, .fd_flags = O_RDWR | O_CLOEXEC,
	};
	int heap = open("/dev/dma_heap/system", O_RDONLY | O_CLOEXEC);
	int err = heap < 0 ? -1 : ioctl(heap, DMA_HEAP_IOCTL_ALLOC, &a);

	if (heap >= 0)
		close(heap);
	return err ? -1 : (int)a.fd;
}

int main(int argc, char **argv)
{
	time_t end = time(NULL) + (argc > 1 ? atoi(argv[1]) : 0);
	unsigned long admitted = 0, refused = 0;
	int vgem = open_vgem(), last = 0;

	if (vgem < 0) {
		fprintf(stderr, "import: no vgem in /dev/dri\n");
		return 255;
	}
	do {
		/* a new buffer each time: an attachment is kept with its handle */
		struct prime_handle h = { .fd = heap_buffer() };
		struct gem_close c = { 0 };

		if (h.fd < 0) {
			fprintf(stderr, "import: no buffer of the system heap: %s\n",
				strerror(errno));
			return 255;
		}
		if (!ioctl(vgem, IOCTL_FD_TO_HANDLE, &h)) {
			admitted++;
			c.handle = h.handle;
			ioctl(vgem, IOCTL_GEM_CLOSE, &c);
		} else {
			refused++;
			last = errno;
		}
		close(h.fd);
	} while (time(NULL) < end);
	printf("admitted %lu refused %lu\n", admitted, refused);
	return last;
}
