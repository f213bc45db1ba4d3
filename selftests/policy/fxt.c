// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <linux/dma-buf.h>
#include <linux/dma-heap.h>
#include <libdrm/drm.h>

#include "fxt.h"

bool fxt_keep_modules;
static pid_t loader;	/* who unloads the modules at its end */

/* ---- modules ---------------------------------------------------------- */

int fxt_insmod(const char *path)
{
	int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	int err = 0;

	if (fd < 0)
		return path ? -errno : -ENOENT;
	if (syscall(SYS_finit_module, fd, "", 0) && errno != EEXIST)
		err = -errno;
	close(fd);
	return err;
}

int fxt_rmmod(const char *name)
{
	if (syscall(SYS_delete_module, name, O_NONBLOCK) && errno != ENOENT)
		return -errno;
	return 0;
}

int fxt_rmmod_within(const char *name, unsigned int ms)
{
	__u64 end = fxt_now_ms() + ms;
	int err;

	while ((err = fxt_rmmod(name)) == -EAGAIN && fxt_now_ms() < end)
		fxt_sleep_ms(10);
	return err;
}

const char *fxt_test_module(const char *name)
{
	static char path[512];
	struct utsname u;
	const char *top = getenv("FX_TOP");

	if (!top || uname(&u))
		return NULL;
	snprintf(path, sizeof(path), "%s/build/kmod-test-%s/%s.ko", top, u.release,
		 name);
	return path;
}

static void unload(void)
{
	if (getpid() != loader || fxt_keep_modules)
		return;
	fxt_rmmod_within("fabric_ext", 10000);
	fxt_rmmod_within("fx_exerciser", 10000);
}

int fxt_modules(void)
{
	int err;

	err = fxt_insmod(fxt_test_module("fx_exerciser"));
	return err ?: fxt_insmod(getenv("FX_KMOD"));
}

int fxt_graph(const char *name, __u32 governs, const char *exporter, __u32 edges)
{
	struct fx_class_desc cls = { .name = "e", .n_to = 1, .alias = FX_ALIAS_NONE };
	struct fxgraph *g = malloc(sizeof(*g));
	int err;

	if (!g)
		return -ENOMEM;
	fxgraph_init(g, name);
	g->hdr.governs = governs;
	cls.from = fxgraph_place(g, "from", FX_PLACE_GPU, FX_MATCH_EXPORTER, exporter, 0);
	cls.to[0] = fxgraph_place(g, "host", FX_PLACE_DRAM, FX_MATCH_NODE, "0", 0);
	fxgraph_class(g, &cls, edges, 4096);
	err = fxgraph_load(g);
	if (err == -EEXIST)
		err = fxgraph_unload(name) ?: fxgraph_load(g);
	free(g);
	return err;
}

/* The program that runs the tests, not the processes that it forks for them. */
static void __attribute__((constructor)) remember_loader(void)
{
	loader = getpid();
	atexit(unload);
}

long fxt_refcount(const char *module)
{
	char path[128];
	long n = -ENOENT;
	FILE *f;

	snprintf(path, sizeof(path), "/sys/module/%s/refcnt", module);
	f = fopen(path, "r");
	if (f && fscanf(f, "%ld", &n) != 1)
		n = -EIO;
	if (f)
		fclose(f);
	return n;
}

/* ---- the exerciser ---------------------------------------------------- */

static int exerciser(void)
{
	static int fd = -1;
	static pid_t opened_by;

	/* a descriptor would hold the module while another process unloads it */
	if (fd < 0 || opened_by != getpid()) {
		fd = open("/dev/fx_exerciser", O_RDWR | O_CLOEXEC);
		opened_by = getpid();
	}
	return fd;
}

int fxt_export(const struct fx_ex_export *how)
{
	struct fx_ex_export ex = *how;

	return ioctl(exerciser(), FX_EX_EXPORT, &ex) ? -errno : ex.fd;
}

int fxt_export_plain(void)
{
	const struct fx_ex_export how = { .bytes = 4096 };

	return fxt_export(&how);
}

int fxt_attach(int fd, __u32 dev, bool map)
{
	struct fx_ex_attach at = { .fd = fd, .dev = dev, .map = map, .times = 1 };

	return ioctl(exerciser(), FX_EX_ATTACH, &at) ? -errno : at.error;
}

struct fx_ex_counts fxt_counts(void)
{
	struct fx_ex_counts c;

	memset(&c, 0xff, sizeof(c));
	if (ioctl(exerciser(), FX_EX_COUNTS, &c))
		perror("# FX_EX_COUNTS");
	return c;
}

/* ---- other parties ---------------------------------------------------- */

int fxt_sync(int fd)
{
	struct dma_buf_sync sync = { DMA_BUF_SYNC_START | DMA_BUF_SYNC_READ };

	if (ioctl(fd, DMA_BUF_IOCTL_SYNC, &sync))
		return -errno;
	sync.flags = DMA_BUF_SYNC_END | DMA_BUF_SYNC_READ;
	return ioctl(fd, DMA_BUF_IOCTL_SYNC, &sync) ? -errno : 0;
}

int fxt_heap_alloc(size_t bytes)
{
	static int heap = -1;
	struct dma_heap_allocation_data a = {
		.len = bytes, .fd_flags = O_RDWR | O_CLOEXEC,
	};

	if (heap < 0)
		heap = open("/dev/dma_heap/system", O_RDWR | O_CLOEXEC);
	return ioctl(heap, DMA_HEAP_IOCTL_ALLOC, &a) ? -errno : (int)a.fd;
}

/* The card that vgem is, or -1. */
static int vgem(void)
{
	char name[16] = "", path[32];
	struct drm_version v = { .name_len = sizeof(name) - 1, .name = name };
	int i, fd;

	for (i = 0; i < 8; i++) {
		snprintf(path, sizeof(path), "/dev/dri/card%d", i);
		fd = open(path, O_RDWR | O_CLOEXEC);
		if (fd < 0)
			continue;
		if (!ioctl(fd, DRM_IOCTL_VERSION, &v) && !strcmp(name, "vgem"))
			return fd;
		close(fd);
	}
	return -1;
}

int fxt_vgem_import(int fd)
{
	static int card = -1;
	struct drm_prime_handle prime = { .fd = fd };
	struct drm_gem_close gem = { 0 };

	if (card < 0)
		card = vgem();
	if (card < 0)
		return -ENODEV;
	if (ioctl(card, DRM_IOCTL_PRIME_FD_TO_HANDLE, &prime))
		return -errno;
	gem.handle = prime.handle;
	return ioctl(card, DRM_IOCTL_GEM_CLOSE, &gem) ? -errno : 0;
}

long fxt_dmabufs(void)
{
	FILE *f = fopen("/sys/kernel/debug/dma_buf/bufinfo", "r");
	char line[512];
	long n = -EIO;

	if (!f)
		return -errno;
	while (fgets(line, sizeof(line), f))
		if (strstr(line, " objects, "))
			sscanf(line, "Total %ld", &n);
	fclose(f);
	return n;
}

/* ---- the rest --------------------------------------------------------- */

__u64 fxt_now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (__u64)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

void fxt_sleep_ms(unsigned int ms)
{
	const struct timespec t = { ms / 1000, ms % 1000 * 1000000L };

	nanosleep(&t, NULL);
}
