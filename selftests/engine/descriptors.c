// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Every field of a descriptor, and what a bad one does to its batch: those
 * before it are accepted, it and those after it have no effect.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>
#include <sys/ioctl.h>

#include "../kselftest_harness.h"
#include "util.h"

#define GRAPH	"engine-descriptors"
#define BYTES	65536u

FIXTURE(desc)
{
	int dev, log, dmabuf;
	__u32 src, own;
};

FIXTURE_SETUP(desc)
{
	struct fx_completion c;

	self->dev = open_fresh(GRAPH);
	ASSERT_LE(0, self->dev);
	self->dmabuf = make_source(self->dev, BYTES, 0, &self->src, NULL);
	ASSERT_LE(0, self->dmabuf);
	ASSERT_EQ(0, fx_move(self->dev,
			     desc_of(EDGE(C_MOVE), self->src, BYTES), &c));
	ASSERT_EQ(0, c.error);
	self->own = c.dst;
	self->log = log_open();
	ASSERT_LE(0, self->log);
}

FIXTURE_TEARDOWN(desc)
{
	__u32 n;
	struct fx_completion c;

	/* nothing that was refused left anything in flight */
	EXPECT_EQ(-EAGAIN, fx_wait(self->dev, &c, 1, 0, &n));
	close(self->dmabuf);
	close(self->dev);
	close(self->log);
	EXPECT_EQ(0, fxgraph_unload(GRAPH));
}

/* Good by default: all of the source over the plain edge. */
#define DESC(...)							\
({									\
	struct fx_desc _d = desc_of(EDGE(C_MOVE), self->src, BYTES);	\
	struct fx_desc *d = &_d;					\
									\
	(void)d;							\
	__VA_ARGS__;							\
	_d;								\
})

/* Alone, and as the second of three: one is accepted, and is undisturbed. */
static void refused(struct __test_metadata *_metadata,
		    struct _test_data_desc *self, int error, const char *text,
		    struct fx_desc bad)
{
	struct fx_desc b[3] = { DESC(d->cookie = 1), bad, DESC() };
	struct fx_completion done[3];
	char line[128];
	__u32 n;

	EXPECT_EQ(error, -fx_submit(self->dev, &bad, 1, &n));
	EXPECT_EQ(0, n);
	snprintf(line, sizeof(line), "submit: desc 0: %s", text);
	EXPECT_TRUE(log_says(self->log, line));

	EXPECT_EQ(0, fx_submit(self->dev, b, 3, &n));
	EXPECT_EQ(1, n);
	snprintf(line, sizeof(line), "submit: desc 1: %s", text);
	EXPECT_TRUE(log_says(self->log, line));
	EXPECT_EQ(0, fx_wait(self->dev, done, 3, WAIT_NS, &n));
	EXPECT_EQ(1, n);
	EXPECT_EQ(0, done[0].error);
	EXPECT_EQ(1, done[0].cookie);
	EXPECT_EQ(0, fx_free(self->dev, done[0].dst));
}

#define REFUSED(error, text, ...)					\
	refused(_metadata, self, error, text, DESC(__VA_ARGS__))

TEST_F(desc, size)
{
	REFUSED(EINVAL, "size 0", d->size = 0);
	REFUSED(EINVAL, "size 63", d->size = 63);
	REFUSED(EINVAL, "size 65", d->size = 65);
}

TEST_F(desc, version)
{
	REFUSED(EINVAL, "version 0", d->version = 0);
	REFUSED(EINVAL, "version 2", d->version = FX_UAPI_VERSION + 1);
}

TEST_F(desc, flags)
{
	REFUSED(EINVAL, "flags 0x2", d->flags = 2);
	REFUSED(EINVAL, "flags 0x80000001", d->flags = 0x80000001);
}

TEST_F(desc, reserved)
{
	REFUSED(EINVAL, "reserved", d->reserved = 1);
	REFUSED(EINVAL, "reserved", d->reserved = 1ULL << 63);
}

TEST_F(desc, cookie_is_free)
{
	struct fx_completion c;

	EXPECT_EQ(0, fx_move(self->dev, DESC(d->cookie = ~0ULL), &c));
	EXPECT_EQ(0, c.error);
	EXPECT_EQ(~0ULL, c.cookie);
}

TEST_F(desc, edge)
{
	REFUSED(ENOENT, "edge 32", d->edge = NO_SUCH_EDGE);
	REFUSED(ENOENT, "edge 4294967295", d->edge = FX_EDGE_NONE);
}

TEST_F(desc, src)
{
	REFUSED(EINVAL, "src is 0", d->src = 0);
	REFUSED(ENOENT, "src 12345", d->src = 12345);
	REFUSED(ENOENT, "src 4294967295", d->src = ~0u);
}

TEST_F(desc, src_at_another_place)
{
	REFUSED(EINVAL, "src 2 lies at host", d->src = self->own);
}

TEST_F(desc, src_off)
{
	REFUSED(ERANGE, "src_off 0x1 +", d->src_off = 1);
	REFUSED(ERANGE, "src_off 0x10000 +",
		d->src_off = BYTES; d->bytes = 1);
	REFUSED(ERANGE, "src_off 0xffffffffffff0000 +",
		d->src_off = -(__u64)BYTES);
	REFUSED(ERANGE, "src_off 0xffffffffffffffff +", d->src_off = ~0ULL);
	REFUSED(EINVAL, "src_off 0x1 is no multiple",
		d->edge = EDGE(C_QUANTIZE); d->src_off = 1; d->bytes = 64);
}

TEST_F(desc, bytes)
{
	REFUSED(EINVAL, "bytes is 0", d->bytes = 0);
	REFUSED(ERANGE, "src_off 0x0 + bytes 0x10001", d->bytes = BYTES + 1);
	REFUSED(ERANGE, "bytes 0x100001: edge", d->bytes = EDGE_BYTES + 1);
	REFUSED(ERANGE, "bytes 0xffffffffffffffff", d->bytes = ~0ULL);
	REFUSED(EINVAL, "bytes 0x3e: no whole number of blocks",
		d->edge = EDGE(C_QUANTIZE); d->bytes = 62);
}

TEST_F(desc, bytes_of_a_gather)
{
	/* of eight pieces, the last begins at the 15th page */
	REFUSED(ERANGE, "src_off 0x1000 + bytes 0x8001",
		d->edge = EDGE(C_GATHER); d->src_off = PIECE;
		d->bytes = 8 * PIECE + 1);
	struct fx_completion c;

	EXPECT_EQ(0, fx_move(self->dev,
			     DESC(d->edge = EDGE(C_GATHER); d->src_off = PIECE;
				  d->bytes = 8 * PIECE), &c));
	EXPECT_EQ(0, c.error);
	EXPECT_EQ(8 * PIECE, c.bytes_out);
}

TEST_F(desc, dst)
{
	REFUSED(ENOENT, "dst 12345", d->dst = 12345);
	REFUSED(EINVAL, "dst 1: a dma-buf of another exporter",
		d->dst = self->src);
}

TEST_F(desc, dst_at_another_place)
{
	REFUSED(EINVAL, "dst 2 lies at host", d->edge = EDGE(C_SMALL);
		d->dst = self->own);
}

TEST_F(desc, dst_off)
{
	REFUSED(EINVAL, "dst_off 0x40 without a dst", d->dst_off = 64);
	REFUSED(ERANGE, "dst_off 0x1:", d->dst = self->own; d->dst_off = 1);
	REFUSED(ERANGE, "dst_off 0xffffffffffffffff:", d->dst = self->own;
		d->dst_off = ~0ULL; d->bytes = 1);
	REFUSED(ERANGE, "dst_off 0xffffffffffff0000:", d->dst = self->own;
		d->dst_off = -(__u64)BYTES);
}

TEST_F(desc, dst_off_alignment)
{
	struct fx_completion c;
	__u32 half;

	/* quantized data and room for its bf16 */
	ASSERT_EQ(0, fx_move(self->dev, DESC(d->edge = EDGE(C_QUANTIZE)), &c));
	half = c.dst;
	REFUSED(EINVAL, "dst_off 0x1 is no multiple of 2",
		d->edge = EDGE(C_DEQUANTIZE); d->src = half; d->bytes = 33;
		d->dst = self->own; d->dst_off = 1);
}

TEST_F(desc, xforms)
{
	REFUSED(EINVAL, "xforms 0x1", d->xforms = 1);
	REFUSED(EINVAL, "xforms 0x4", d->edge = EDGE(C_QUANTIZE);
		d->xforms = 4);
	REFUSED(EINVAL, "xforms 0xfffffffe", d->xforms = 0xfffffffe);
	REFUSED(EOPNOTSUPP, "xforms 0x1: transform 0 of compress",
		d->edge = EDGE(C_COMPRESS));
}

TEST_F(desc, ranges_in_one_buffer)
{
	struct fx_completion c;

	REFUSED(EINVAL, "src_off 0x0 and dst_off 0x7fff",
		d->edge = EDGE(C_AGAIN); d->src = self->own; d->bytes = 0x8000;
		d->dst = self->own; d->dst_off = 0x7fff);
	REFUSED(EINVAL, "src_off 0x4000 and dst_off 0x0",
		d->edge = EDGE(C_AGAIN); d->src = self->own;
		d->src_off = 0x4000; d->bytes = 0x8000; d->dst = self->own);
	EXPECT_EQ(0, fx_move(self->dev,
			     DESC(d->edge = EDGE(C_AGAIN); d->src = self->own;
				  d->bytes = 0x8000; d->dst = self->own;
				  d->dst_off = 0x8000), &c));
	EXPECT_EQ(0, c.error);
}

/* ---- batches ---- */

TEST_F(desc, all_of_a_batch)
{
	struct fx_desc b[FX_SUBMIT_MAX];
	struct fx_completion c[FX_SUBMIT_MAX];
	__u32 i, n, got = 0;

	for (i = 0; i < FX_SUBMIT_MAX; i++) {
		b[i] = DESC(d->bytes = 64; d->dst = self->own);
		b[i].dst_off = 64 * i;
		b[i].cookie = i;
	}
	ASSERT_EQ(0, fx_submit(self->dev, b, FX_SUBMIT_MAX, &n));
	ASSERT_EQ(FX_SUBMIT_MAX, n);
	while (got < FX_SUBMIT_MAX) {
		ASSERT_EQ(0, fx_wait(self->dev, c + got, FX_SUBMIT_MAX - got,
				     WAIT_NS, &n));
		ASSERT_NE(0, n);
		got += n;
	}
	for (i = 0; i < FX_SUBMIT_MAX; i++) {
		ASSERT_EQ(0, c[i].error);
		ASSERT_EQ(i, c[i].cookie);
	}
}

/* What comes after the first bad one is not even looked at. */
TEST_F(desc, first_bad_one_ends_a_batch)
{
	struct fx_desc b[4] = {
		DESC(d->cookie = 10), DESC(d->cookie = 11),
		DESC(d->reserved = 1), DESC(d->version = 9),
	};
	struct fx_completion c[4];
	__u32 n, got = 0, i;

	ASSERT_EQ(0, fx_submit(self->dev, b, 4, &n));
	EXPECT_EQ(2, n);
	EXPECT_TRUE(log_has(self->log, "desc 2: reserved"));
	EXPECT_FALSE(log_has(self->log, "desc 3"));
	while (got < 2) {
		ASSERT_EQ(0, fx_wait(self->dev, c + got, 4, WAIT_NS, &n));
		got += n;
	}
	for (i = 0; i < 2; i++) {
		EXPECT_EQ(0, c[i].error);
		EXPECT_EQ(10 + i, c[i].cookie);
	}
}

/* The same pages, given to the kernel twice: it reads them once. */
TEST_F(desc, buffer_freed_after_submit)
{
	struct fx_desc b = DESC();
	struct fx_completion c;
	__u32 n;

	ASSERT_EQ(0, fx_submit(self->dev, &b, 1, &n));
	EXPECT_EQ(0, fx_free(self->dev, self->src));
	memset(&b, 0xff, sizeof(b));
	ASSERT_EQ(0, fx_wait(self->dev, &c, 1, WAIT_NS, &n));
	EXPECT_EQ(0, c.error);
	EXPECT_EQ(BYTES, c.bytes_out);
}

TEST_HARNESS_MAIN
