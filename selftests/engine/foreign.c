// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * dma-bufs of other drivers (fx_exerciser plays one): the engine waits for what
 * their devices still write, for so long, and reads I/O memory as such.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/utsname.h>

#include "../kselftest_harness.h"
#include "../modules/fx_exerciser.h"
#include "util.h"

#define GRAPH	"engine-foreign"
#define BYTES	65536u

FIXTURE(foreign)
{
	int dev, exerciser, dmabuf;
	__u32 src;
	__u8 *in;
};

static int insert_exerciser(void)
{
	const char *top = getenv("FX_TOP");
	struct utsname u;
	char path[4096];
	int fd, err = 0;

	if (!top || uname(&u))
		return -ENOENT;
	snprintf(path, sizeof(path), "%s/build/kmod-test-%s/fx_exerciser.ko", top,
		 u.release);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (syscall(SYS_finit_module, fd, "", 0) && errno != EEXIST)
		err = -errno;
	close(fd);
	return err;
}

/* A dma-buf of the exerciser, imported at P_SRC. */
static int set_up(FIXTURE_DATA(foreign) *self, __u32 flags)
{
	struct fx_ex_export how = { .bytes = BYTES, .flags = flags };

	if (ioctl(self->exerciser, FX_EX_EXPORT, &how))
		return -errno;
	self->dmabuf = how.fd;
	self->in = map_buf(self->dmabuf, BYTES);
	if (!self->in)
		return -ENOMEM;
	fill(self->in, BYTES, 7);
	return fx_import(self->dev, self->dmabuf, P_SRC, FX_EDGE_NONE, &self->src);
}

FIXTURE_SETUP(foreign)
{
	self->dmabuf = -1;
	ASSERT_EQ(0, insert_exerciser());
	self->exerciser = open("/dev/fx_exerciser", O_RDWR | O_CLOEXEC);
	ASSERT_LE(0, self->exerciser);
	self->dev = open_fresh(GRAPH);
	ASSERT_LE(0, self->dev);
}

FIXTURE_TEARDOWN(foreign)
{
	if (self->in)
		munmap(self->in, BYTES);
	close(self->dmabuf);
	close(self->dev);
	close(self->exerciser);
	EXPECT_EQ(0, fxgraph_unload(GRAPH));
}

TEST_F(foreign, io_memory_is_read)
{
	struct fx_completion c;
	size_t size;
	__u8 *out;

	ASSERT_EQ(0, set_up(self, FX_EX_F_IOMEM));
	ASSERT_EQ(0, fx_move(self->dev, desc_of(EDGE(C_VERIFY), self->src, BYTES), &c));
	EXPECT_EQ(0, c.error);
	EXPECT_EQ(BYTES, c.bytes_in);
	EXPECT_EQ(crc32c(self->in, BYTES), c.csum);
	out = see(self->dev, c.dst, &size);
	ASSERT_NE(NULL, out);
	EXPECT_EQ(0, memcmp(self->in, out, BYTES));
	munmap(out, size);
}

/* The same blocks from I/O memory as from the exporter's plain mapping. */
TEST_F(foreign, io_memory_is_quantized)
{
	struct fx_completion io, plain;
	size_t size;
	__u8 *a, *b;

	ASSERT_EQ(0, set_up(self, FX_EX_F_IOMEM));
	/* bf16 below 2^-63: finite */
	for (unsigned int i = 1; i < BYTES; i += 2)
		self->in[i] &= 0x3f;
	ASSERT_EQ(0, fx_move(self->dev, desc_of(EDGE(C_QUANTIZE), self->src, BYTES), &io));
	ASSERT_EQ(0, io.error);
	a = see(self->dev, io.dst, &size);
	ASSERT_NE(NULL, a);
	munmap(self->in, BYTES);
	close(self->dmabuf);

	ASSERT_EQ(0, set_up(self, FX_EX_F_VMAP));
	for (unsigned int i = 1; i < BYTES; i += 2)
		self->in[i] &= 0x3f;
	ASSERT_EQ(0, fx_move(self->dev, desc_of(EDGE(C_QUANTIZE), self->src, BYTES), &plain));
	ASSERT_EQ(0, plain.error);
	b = see(self->dev, plain.dst, &size);
	ASSERT_NE(NULL, b);
	EXPECT_EQ(BYTES / 64 * 33, io.bytes_out);
	EXPECT_EQ(plain.csum, io.csum);
	EXPECT_EQ(0, memcmp(a, b, io.bytes_out));
	munmap(a, size);
	munmap(b, size);
}

/* What an exporter does not let the kernel map is an error, not a fault. */
TEST_F(foreign, no_mapping)
{
	struct fx_completion c;

	ASSERT_EQ(0, set_up(self, 0));
	ASSERT_EQ(0, fx_move(self->dev, desc_of(EDGE(C_MOVE), self->src, BYTES), &c));
	EXPECT_EQ(-EINVAL, c.error);
	EXPECT_EQ(FX_FAILED_IO, c.reason);
	EXPECT_EQ(0, c.dst);
}

/* A device still writes: what it wrote last is what is moved. */
TEST_F(foreign, waits_for_a_device_that_writes)
{
	struct fx_desc d;
	struct fx_completion c;
	__u32 accepted, got;
	int err;

	ASSERT_EQ(0, set_up(self, FX_EX_F_VMAP | FX_EX_F_FENCE));
	d = desc_of(EDGE(C_SUM), self->src, BYTES);
	ASSERT_EQ(0, fx_submit(self->dev, &d, 1, &accepted));
	ASSERT_EQ(1, accepted);
	err = fx_wait(self->dev, &c, 1, 300000000, &got);
	EXPECT_TRUE(err || !got);
	fill(self->in, BYTES, 8);
	ASSERT_EQ(0, ioctl(self->exerciser, FX_EX_SIGNAL, &self->dmabuf));
	ASSERT_EQ(0, fx_wait(self->dev, &c, 1, WAIT_NS, &got));
	ASSERT_EQ(1, got);
	EXPECT_EQ(0, c.error);
	EXPECT_EQ(crc32c(self->in, BYTES), c.csum);
}

/* One that never ends is not waited for without end. */
TEST_F_TIMEOUT(foreign, a_device_that_never_ends, 60)
{
	struct fx_completion c;

	ASSERT_EQ(0, set_up(self, FX_EX_F_VMAP | FX_EX_F_FENCE));
	ASSERT_EQ(0, fx_move(self->dev, desc_of(EDGE(C_MOVE), self->src, BYTES), &c));
	EXPECT_EQ(-ETIMEDOUT, c.error);
	EXPECT_EQ(FX_FAILED_TIMEOUT, c.reason);
	EXPECT_EQ(0, c.dst);
	/* and nothing of it is left in the way of the next */
	ASSERT_EQ(0, ioctl(self->exerciser, FX_EX_SIGNAL, &self->dmabuf));
	ASSERT_EQ(0, fx_move(self->dev, desc_of(EDGE(C_SUM), self->src, BYTES), &c));
	EXPECT_EQ(0, c.error);
	EXPECT_EQ(crc32c(self->in, BYTES), c.csum);
}

/* Nor by who has gone: the dma-buf is let go of long before that time. */
TEST_F(foreign, closing_ends_the_wait)
{
	struct fx_ex_counts before, after;
	struct fx_desc d;
	__u32 accepted;
	int i;

	ASSERT_EQ(0, set_up(self, FX_EX_F_VMAP | FX_EX_F_FENCE));
	d = desc_of(EDGE(C_MOVE), self->src, BYTES);
	ASSERT_EQ(0, fx_submit(self->dev, &d, 1, &accepted));
	ASSERT_EQ(1, accepted);
	ASSERT_EQ(0, ioctl(self->exerciser, FX_EX_COUNTS, &before));
	munmap(self->in, BYTES);
	self->in = NULL;
	close(self->dmabuf);
	self->dmabuf = -1;
	close(self->dev);
	self->dev = -1;
	for (i = 0; i < 100; i++) {
		ASSERT_EQ(0, ioctl(self->exerciser, FX_EX_COUNTS, &after));
		if (after.release != before.release)
			break;
		usleep(50000);
	}
	EXPECT_EQ(before.release + 1, after.release);
}

TEST_HARNESS_MAIN
