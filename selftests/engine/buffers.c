// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Buffers: where they are allocated and where not, what becomes of their memory
 * as a dma-buf, and that it goes with the last who has it.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <linux/dma-buf.h>

#include "../kselftest_harness.h"
#include "util.h"

#define GRAPH	"engine-buffers"
#define BYTES	65536u

FIXTURE(buffers)
{
	int dev, dmabuf;
	__u32 src;
	__u8 *in;
};

FIXTURE_SETUP(buffers)
{
	self->dev = open_fresh(GRAPH);
	ASSERT_LE(0, self->dev);
	self->dmabuf = make_source(self->dev, BYTES, 3, &self->src, &self->in);
	ASSERT_LE(0, self->dmabuf);
}

FIXTURE_TEARDOWN(buffers)
{
	munmap(self->in, BYTES);
	close(self->dmabuf);
	close(self->dev);
	EXPECT_EQ(0, fxgraph_unload(GRAPH));
}

static __u32 move_one(int dev, __u32 src, __u32 cls)
{
	struct fx_completion c;

	if (fx_move(dev, desc_of(EDGE(cls), src, BYTES), &c) || c.error)
		return 0;
	return c.dst;
}

/* ---- allocation ---- */

TEST_F(buffers, place_without_a_node)
{
	struct fx_completion c;

	ASSERT_EQ(0, fx_move(self->dev, desc_of(EDGE(C_FAR), self->src, BYTES),
			     &c));
	EXPECT_EQ(-ENODEV, c.error);
	EXPECT_EQ(FX_REFUSED_PLACE, c.reason);
	EXPECT_EQ(P_FAR, c.place);
	EXPECT_EQ(0, c.dst);
	EXPECT_EQ(0, c.bytes_out);
}

/* `small` takes one buffer; its room comes back with the last user. */
TEST_F(buffers, capacity)
{
	struct fx_completion c;
	__u32 first = move_one(self->dev, self->src, C_SMALL);
	int fd;

	ASSERT_NE(0, first);
	ASSERT_EQ(0, fx_move(self->dev, desc_of(EDGE(C_SMALL), self->src, 1),
			     &c));
	EXPECT_EQ(-ENOSPC, c.error);
	EXPECT_EQ(FX_REFUSED_CAPACITY, c.reason);
	EXPECT_EQ(0, c.dst);

	/* the handle is gone, the dma-buf is not */
	fd = fx_export(self->dev, first);
	ASSERT_LE(0, fd);
	ASSERT_EQ(0, fx_free(self->dev, first));
	ASSERT_EQ(0, fx_move(self->dev, desc_of(EDGE(C_SMALL), self->src, 1),
			     &c));
	EXPECT_EQ(-ENOSPC, c.error);

	close(fd);
	EXPECT_NE(0, move_one(self->dev, self->src, C_SMALL));
}

/* ---- memory cgroups ---- */

#define CGROUP	"/sys/fs/cgroup/engine-buffers"

static bool put(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY);
	bool ok = fd >= 0 && write(fd, text, strlen(text)) > 0;

	close(fd);
	return ok;
}

/* In a cgroup of 16 MiB: how the first movement that failed did. */
static int move_until_full(int dmabuf)
{
	struct fx_completion c;
	__u32 src;
	int i, dev;

	dev = open_bound(GRAPH);
	if (!put(CGROUP "/cgroup.procs", "0") || dev < 0 ||
	    fx_import(dev, dmabuf, P_SRC, FX_EDGE_NONE, &src))
		return 1;
	/* 64 MiB */
	for (i = 0; i < 1024; i++) {
		if (fx_move(dev, desc_of(EDGE(C_MOVE), src, BYTES), &c))
			return 2;
		if (c.error)
			return i && c.error == -ENOMEM && !c.dst &&
			       c.reason == FX_FAILED_MEMORY ? 0 : 3;
	}
	return 4;
}

/* Who submits pays, and gets an error rather than the OOM killer. */
TEST_F(buffers, charged_to_the_submitter)
{
	pid_t child;
	int status;

	put("/sys/fs/cgroup/cgroup.subtree_control", "+memory");
	if (mkdir(CGROUP, 0700) && errno != EEXIST)
		SKIP(return, "no cgroup2 at /sys/fs/cgroup");
	if (!put(CGROUP "/memory.max", "16777216"))
		SKIP(return, "no memory controller in cgroup2");
	child = fork();
	ASSERT_LE(0, child);
	if (!child)
		_exit(move_until_full(self->dmabuf));
	ASSERT_EQ(child, waitpid(child, &status, 0));
	EXPECT_TRUE(WIFEXITED(status));
	EXPECT_EQ(0, WEXITSTATUS(status));
	EXPECT_EQ(0, rmdir(CGROUP));
}

TEST_F(buffers, capacity_comes_back_with_the_file)
{
	int dev = open_bound(GRAPH), i;
	__u32 src;

	for (i = 0; i < 3; i++) {
		ASSERT_LE(0, dev);
		ASSERT_EQ(0, fx_import(dev, self->dmabuf, P_SRC, FX_EDGE_NONE,
				       &src));
		ASSERT_NE(0, move_one(dev, src, C_SMALL));
		close(dev);
		dev = open_bound(GRAPH);
	}
	close(dev);
}

/* ---- handles ---- */

TEST_F(buffers, handles_are_per_file)
{
	int dev = open_bound(GRAPH);
	__u32 n;
	struct fx_desc d = desc_of(EDGE(C_MOVE), self->src, BYTES);

	ASSERT_LE(0, dev);
	EXPECT_EQ(-ENOENT, fx_submit(dev, &d, 1, &n));
	EXPECT_EQ(-ENOENT, fx_free(dev, self->src));
	EXPECT_EQ(-ENOENT, fx_export(dev, self->src));
	close(dev);
}

/* The handle of a destination is good from its completion on, not before. */
TEST_F(buffers, handle_before_its_completion)
{
	struct fx_desc b[2] = {
		desc_of(EDGE(C_MOVE), self->src, BYTES),
		desc_of(EDGE(C_AGAIN), self->src + 1, BYTES),
	};
	struct fx_completion c;
	__u32 n;

	ASSERT_EQ(0, fx_submit(self->dev, b, 2, &n));
	EXPECT_EQ(1, n);
	ASSERT_EQ(0, fx_wait(self->dev, &c, 1, WAIT_NS, &n));
	EXPECT_EQ(0, c.error);
	EXPECT_EQ(self->src + 1, c.dst);
}

TEST_F(buffers, import_of_an_export)
{
	__u32 dst = move_one(self->dev, self->src, C_MOVE), again, n;
	int fd = fx_export(self->dev, dst), dev = open_bound(GRAPH);
	struct fx_desc d;
	struct fx_completion c;

	ASSERT_LE(0, fd);
	ASSERT_LE(0, dev);
	/* the engine knows where it lies */
	EXPECT_EQ(-EINVAL, fx_import(dev, fd, P_SRC, FX_EDGE_NONE, &again));
	ASSERT_EQ(0, fx_import(dev, fd, P_HOST, FX_EDGE_NONE, &again));
	d = desc_of(EDGE(C_AGAIN), again, BYTES);
	d.flags = FX_DESC_F_VERIFY;
	ASSERT_EQ(0, fx_move(dev, d, &c));
	EXPECT_EQ(0, c.error);
	EXPECT_EQ(crc32c(self->in, BYTES), c.csum);

	/* the same bytes under two handles are still the same bytes */
	ASSERT_EQ(0, fx_import(self->dev, fd, P_HOST, FX_EDGE_NONE, &again));
	EXPECT_NE(dst, again);
	d = desc_of(EDGE(C_AGAIN), dst, BYTES);
	d.dst = again;
	EXPECT_EQ(-EINVAL, fx_submit(self->dev, &d, 1, &n));
	close(dev);
	close(fd);
}

TEST_F(buffers, export_twice_is_one_dmabuf)
{
	__u32 dst = move_one(self->dev, self->src, C_MOVE);
	int a = fx_export(self->dev, dst), b = fx_export(self->dev, dst);
	struct stat sa, sb;

	ASSERT_LE(0, a);
	ASSERT_LE(0, b);
	EXPECT_NE(a, b);
	ASSERT_EQ(0, fstat(a, &sa));
	ASSERT_EQ(0, fstat(b, &sb));
	EXPECT_EQ(sa.st_ino, sb.st_ino);
	EXPECT_EQ(FD_CLOEXEC, fcntl(a, F_GETFD));
	close(a);
	close(b);
}

TEST_F(buffers, imported_dmabuf_closed)
{
	struct fx_completion c;

	close(self->dmabuf);
	/* the handle holds it */
	ASSERT_EQ(0, fx_move(self->dev, desc_of(EDGE(C_SUM), self->src, BYTES),
			     &c));
	EXPECT_EQ(0, c.error);
	EXPECT_EQ(crc32c(self->in, BYTES), c.csum);
	self->dmabuf = heap_alloc(4096);
}

/* ---- mappings ---- */

TEST_F(buffers, mapping_outlives_all_else)
{
	__u32 dst = move_one(self->dev, self->src, C_MOVE);
	int fd = fx_export(self->dev, dst);
	__u8 *p = map_buf(fd, BYTES);

	ASSERT_NE(NULL, p);
	close(fd);
	close(self->dev);
	EXPECT_EQ(0, memcmp(p, self->in, BYTES));
	p[BYTES - 1] ^= 0xff;
	EXPECT_NE(0, memcmp(p, self->in, BYTES));
	munmap(p, BYTES);
	self->dev = open_bound(GRAPH);
}

TEST_F(buffers, mapping_is_shared)
{
	__u32 dst = move_one(self->dev, self->src, C_MOVE), csum;
	int fd = fx_export(self->dev, dst);
	struct fx_desc d = desc_of(EDGE(C_AGAIN), dst, BYTES);
	struct fx_completion c;
	__u8 *p;
	pid_t child;
	int status;

	EXPECT_EQ(MAP_FAILED, mmap(NULL, BYTES, PROT_READ, MAP_PRIVATE, fd, 0));
	EXPECT_EQ(MAP_FAILED, mmap(NULL, 2 * BYTES, PROT_READ, MAP_SHARED, fd,
				   0));
	p = map_buf(fd, BYTES);
	ASSERT_NE(NULL, p);
	child = fork();
	if (!child) {
		p[100] ^= 0x55;
		_exit(0);
	}
	ASSERT_LT(0, child);
	ASSERT_EQ(child, waitpid(child, &status, 0));
	EXPECT_EQ(self->in[100] ^ 0x55, p[100]);
	csum = crc32c(p, BYTES);
	d.flags = FX_DESC_F_VERIFY;
	ASSERT_EQ(0, fx_move(self->dev, d, &c));
	EXPECT_EQ(0, c.error);
	EXPECT_EQ(csum, c.csum);
	munmap(p, BYTES);
	close(fd);
}

#define PAGEMAP_PRESENT	0x8000000000000000ULL
#define PAGEMAP_FRAME	0x007fffffffffffffULL

/* The frames are visible from outside, and lie on the place's node. */
TEST_F(buffers, frames_by_pagemap)
{
	int fd = fx_export(self->dev, move_one(self->dev, self->src, C_MOVE));
	long page = sysconf(_SC_PAGESIZE);
	__u8 *p = map_buf(fd, BYTES);
	int map = open("/proc/self/pagemap", O_RDONLY);
	__u64 frame[BYTES / 4096], sum = 0;
	size_t i, j;

	ASSERT_NE(NULL, p);
	ASSERT_LE(0, map);
	for (i = 0; i < BYTES; i += page)
		sum += p[i];
	EXPECT_LT(0, sum);
	ASSERT_EQ(sizeof(frame), pread(map, frame, sizeof(frame),
				       (uintptr_t)p / page * 8));
	for (i = 0; i < BYTES / page; i++) {
		EXPECT_TRUE(frame[i] & PAGEMAP_PRESENT);
		EXPECT_NE(0, frame[i] & PAGEMAP_FRAME);
		for (j = 0; j < i; j++)
			EXPECT_NE(frame[j], frame[i]);
	}
	close(map);
	close(fd);
}

/* Nobody can hold the pages longer than the mapping lives. */
TEST_F(buffers, pages_cannot_be_pinned)
{
	int fd = fx_export(self->dev, move_one(self->dev, self->src, C_MOVE));
	__u8 *p = map_buf(fd, BYTES);
	struct iovec v = { .iov_base = p, .iov_len = 4096 };
	int ends[2], file;
	__u8 copy[4096];

	ASSERT_NE(NULL, p);
	ASSERT_EQ(0, pipe(ends));
	copy[0] = p[0];
	EXPECT_EQ(-1, vmsplice(ends[1], &v, 1, 0));
	EXPECT_EQ(EFAULT, errno);
	/* a copy is fine */
	file = memfd_create("copy", 0);
	ASSERT_LE(0, file);
	EXPECT_EQ(4096, write(file, p, 4096));
	EXPECT_EQ(4096, pread(file, copy, 4096, 0));
	EXPECT_EQ(0, memcmp(copy, self->in, 4096));
	close(file);
	close(ends[0]);
	close(ends[1]);
	close(fd);
}

TEST_F(buffers, cpu_access)
{
	int fd = fx_export(self->dev, move_one(self->dev, self->src, C_MOVE));
	struct dma_buf_sync sync = {
		.flags = DMA_BUF_SYNC_START | DMA_BUF_SYNC_RW,
	};

	ASSERT_LE(0, fd);
	EXPECT_EQ(0, ioctl(fd, DMA_BUF_IOCTL_SYNC, &sync));
	sync.flags = DMA_BUF_SYNC_END | DMA_BUF_SYNC_RW;
	EXPECT_EQ(0, ioctl(fd, DMA_BUF_IOCTL_SYNC, &sync));
	close(fd);
}

/* ---- the graph goes first ---- */

TEST_F(buffers, graph_removed_meanwhile)
{
	__u32 dst = move_one(self->dev, self->src, C_MOVE);
	struct fx_completion c;
	int fd;

	ASSERT_NE(0, dst);
	ASSERT_EQ(0, fxgraph_unload(GRAPH));
	/* what was moved can be had, nothing more is moved */
	fd = fx_export(self->dev, dst);
	EXPECT_LE(0, fd);
	close(fd);
	ASSERT_EQ(0, fx_move(self->dev, desc_of(EDGE(C_MOVE), self->src, BYTES),
			     &c));
	EXPECT_EQ(-ENODEV, c.error);
	EXPECT_EQ(FX_REFUSED_GENERATION, c.reason);
	/* and another graph of that name is another graph */
	ASSERT_EQ(0, load_graph(GRAPH));
	ASSERT_EQ(0, fx_move(self->dev, desc_of(EDGE(C_MOVE), self->src, BYTES),
			     &c));
	EXPECT_EQ(FX_REFUSED_GENERATION, c.reason);
}

TEST_HARNESS_MAIN
