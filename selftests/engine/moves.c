// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * What movements write, held against references that were written from the
 * definitions: bytes, checksums, blocks, pieces, figures of the completion.
 */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <string.h>
#include <unistd.h>
#include <sys/mman.h>

#include "../kselftest_harness.h"
#include "util.h"

#define GRAPH	"engine-moves"
#define BYTES	(160u << 10)

FIXTURE(moves)
{
	int dev, dmabuf;
	__u32 src;
	__u8 *in;
};

FIXTURE_SETUP(moves)
{
	self->dev = open_fresh(GRAPH);
	ASSERT_LE(0, self->dev);
	self->dmabuf = make_source(self->dev, BYTES, 1, &self->src, &self->in);
	ASSERT_LE(0, self->dmabuf);
}

FIXTURE_TEARDOWN(moves)
{
	munmap(self->in, BYTES);
	close(self->dmabuf);
	close(self->dev);
	EXPECT_EQ(0, fxgraph_unload(GRAPH));
}

/* bf16 of all sizes, none of them infinite or NaN. */
static void fill_bf16(__u8 *p, size_t bytes)
{
	size_t i;

	fill(p, bytes, 7);
	for (i = 1; i < bytes; i += 2) {
		/* a block's elements lie within 2^8 of each other */
		p[i] = (p[i] & 0x80) | (0x38 + (p[i] & 7));
	}
}

TEST_F(moves, bytes)
{
	struct fx_completion c;
	size_t size;
	__u8 *out;

	ASSERT_EQ(0, fx_move(self->dev, desc_of(EDGE(C_MOVE), self->src, BYTES),
			     &c));
	ASSERT_EQ(0, c.error);
	EXPECT_EQ(0xc00c1e, c.cookie);
	EXPECT_EQ(EDGE(C_MOVE), c.edge);
	EXPECT_EQ(FX_BYPASS_NO_POLICY, c.reason);
	EXPECT_EQ(P_HOST, c.place);
	EXPECT_EQ(FX_ELEM_NONE, c.element);
	EXPECT_EQ(BYTES, c.bytes_in);
	EXPECT_EQ(BYTES, c.bytes_out);
	EXPECT_LT(0, c.ns);
	EXPECT_EQ(0, c.verify_ns);
	out = see(self->dev, c.dst, &size);
	ASSERT_NE(NULL, out);
	ASSERT_EQ(BYTES, size);
	EXPECT_EQ(0, memcmp(out, self->in, BYTES));
}

/* A part of the source, and no old data behind what was written. */
TEST_F(moves, odd_part)
{
	struct fx_desc d = desc_of(EDGE(C_MOVE), self->src, 12345);
	struct fx_completion c;
	size_t size, i, other = 0;
	__u8 *out;

	d.src_off = 4097;
	ASSERT_EQ(0, fx_move(self->dev, d, &c));
	ASSERT_EQ(0, c.error);
	EXPECT_EQ(12345, c.bytes_out);
	out = see(self->dev, c.dst, &size);
	ASSERT_NE(NULL, out);
	ASSERT_EQ(16384, size);
	EXPECT_EQ(0, memcmp(out, self->in + 4097, 12345));
	for (i = 12345; i < size; i++)
		other += out[i];
	EXPECT_EQ(0, other);
}

TEST_F(moves, checksum)
{
	const size_t lengths[] = { 1, 7, 64, 4095, 65537, BYTES };
	struct fx_completion c;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(lengths); i++) {
		ASSERT_EQ(0, fx_move(self->dev,
				     desc_of(EDGE(C_SUM), self->src,
					     lengths[i]), &c));
		ASSERT_EQ(0, c.error);
		EXPECT_EQ(crc32c(self->in, lengths[i]), c.csum);
		EXPECT_EQ(0, c.verify_ns);
	}
}

TEST_F(moves, checksum_left_out)
{
	struct fx_desc d = desc_of(EDGE(C_SUM), self->src, BYTES);
	struct fx_completion c;

	d.xforms = 0;
	ASSERT_EQ(0, fx_move(self->dev, d, &c));
	EXPECT_EQ(0, c.error);
	EXPECT_EQ(0, c.csum);
}

TEST_F(moves, verify_by_edge)
{
	struct fx_completion c;

	ASSERT_EQ(0, fx_move(self->dev,
			     desc_of(EDGE(C_VERIFY), self->src, BYTES), &c));
	EXPECT_EQ(0, c.error);
	EXPECT_EQ(crc32c(self->in, BYTES), c.csum);
	EXPECT_LT(0, c.verify_ns);
}

TEST_F(moves, verify_by_descriptor)
{
	struct fx_desc d = desc_of(EDGE(C_MOVE), self->src, BYTES);
	struct fx_completion c;

	d.flags = FX_DESC_F_VERIFY;
	ASSERT_EQ(0, fx_move(self->dev, d, &c));
	EXPECT_EQ(0, c.error);
	EXPECT_EQ(crc32c(self->in, BYTES), c.csum);
	EXPECT_LT(0, c.verify_ns);
}

#define INJECT "/sys/kernel/debug/fabric_ext/inject"

static bool inject(const char *faults)
{
	int fd = open(INJECT, O_WRONLY);
	bool ok = fd >= 0 && write(fd, faults, strlen(faults)) > 0;

	close(fd);
	return ok;
}

/* verify must see a byte that changed after it was written. */
TEST_F(moves, verify_fails)
{
	struct fx_completion c;
	size_t size, i, other = 0;
	__u8 *out;

	if (access(INJECT, W_OK))
		SKIP(return, "no " INJECT ": built without fault injection");
	ASSERT_TRUE(inject("1"));
	ASSERT_EQ(0, fx_move(self->dev,
			     desc_of(EDGE(C_VERIFY), self->src, BYTES), &c));
	EXPECT_TRUE(inject("0"));
	EXPECT_EQ(-EILSEQ, c.error);
	EXPECT_EQ(FX_FAILED_CHECKSUM, c.reason);
	/* the destination is there to be looked at */
	ASSERT_NE(0, c.dst);
	out = see(self->dev, c.dst, &size);
	ASSERT_NE(NULL, out);
	for (i = 0; i < BYTES; i++)
		other += out[i] != self->in[i];
	EXPECT_EQ(1, other);

	ASSERT_EQ(0, fx_move(self->dev,
			     desc_of(EDGE(C_VERIFY), self->src, BYTES), &c));
	EXPECT_EQ(0, c.error);
}

/* ---- quantize ---- */

TEST_F(moves, quantize)
{
	const __u32 blocks = BYTES / 64;
	__u8 *ref = malloc(blocks * 33);
	struct fx_completion c;
	__u32 i;
	size_t size;
	__u8 *out;

	fill_bf16(self->in, BYTES);
	for (i = 0; i < blocks; i++)
		mxfp8_block((__u16 *)self->in + 32 * i, ref + 33 * i);

	ASSERT_EQ(0, fx_move(self->dev,
			     desc_of(EDGE(C_QUANTIZE), self->src, BYTES), &c));
	ASSERT_EQ(0, c.error);
	EXPECT_EQ(FX_ELEM_MXFP8, c.element);
	EXPECT_EQ(BYTES, c.bytes_in);
	ASSERT_EQ(blocks * 33, c.bytes_out);
	EXPECT_EQ(crc32c(ref, blocks * 33), c.csum);
	out = see(self->dev, c.dst, &size);
	ASSERT_NE(NULL, out);
	for (i = 0; i < blocks; i++)
		ASSERT_EQ(0, memcmp(ref + 33 * i, out + 33 * i, 33))
			TH_LOG("block %u differs", i);
	free(ref);
}

TEST_F(moves, dequantize)
{
	const __u32 elems = BYTES / 2;
	struct fx_completion q, c;
	const __u16 *in = (__u16 *)self->in, *out;
	const __u8 *mid;
	size_t size;
	__u32 i;

	fill_bf16(self->in, BYTES);
	ASSERT_EQ(0, fx_move(self->dev,
			     desc_of(EDGE(C_QUANTIZE), self->src, BYTES), &q));
	ASSERT_EQ(0, q.error);
	ASSERT_EQ(0, fx_move(self->dev, desc_of(EDGE(C_DEQUANTIZE), q.dst,
						q.bytes_out), &c));
	ASSERT_EQ(0, c.error);
	EXPECT_EQ(FX_ELEM_BF16, c.element);
	ASSERT_EQ(BYTES, c.bytes_out);
	mid = see(self->dev, q.dst, &size);
	out = (__u16 *)see(self->dev, c.dst, &size);
	ASSERT_NE(NULL, mid);
	ASSERT_NE(NULL, out);
	EXPECT_EQ(crc32c((__u8 *)out, BYTES), c.csum);
	for (i = 0; i < elems; i++) {
		const __u8 *block = mid + i / 32 * 33;
		double x = bf16_value(in[i]), y = bf16_value(out[i]);
		double step = ldexp(1, block[0] - 127 - 9);

		/* what the block says, and near to what it was made from */
		ASSERT_EQ(mxfp8_value(block[0], block[1 + i % 32]), y);
		ASSERT_LE(fabs(x - y), fmax(fabs(x) / 8, step / 2))
			TH_LOG("element %u", i);
	}
}

/* One policy's quantized data is no other edge's bf16. */
TEST_F(moves, element_of_the_source)
{
	struct fx_completion q, c;

	fill_bf16(self->in, BYTES);
	ASSERT_EQ(0, fx_move(self->dev,
			     desc_of(EDGE(C_QUANTIZE), self->src, BYTES), &q));
	ASSERT_EQ(0, q.error);
	ASSERT_EQ(0, fx_move(self->dev, desc_of(EDGE(C_BACK), q.dst, 64), &c));
	EXPECT_EQ(-EINVAL, c.error);
	EXPECT_EQ(FX_REFUSED_TRANSFORM, c.reason);
	EXPECT_EQ(0, c.dst);
	/* moved as it is, it stays what it is */
	ASSERT_EQ(0, fx_move(self->dev,
			     desc_of(EDGE(C_AGAIN), q.dst, q.bytes_out), &c));
	EXPECT_EQ(0, c.error);
	EXPECT_EQ(FX_ELEM_MXFP8, c.element);
}

/* ---- pieces ---- */

TEST_F(moves, gather)
{
	const __u64 bytes = 9 * PIECE + 100;
	struct fx_completion c;
	__u64 i, other = 0;
	size_t size;
	__u8 *out;

	ASSERT_EQ(0, fx_move(self->dev,
			     desc_of(EDGE(C_GATHER), self->src, bytes), &c));
	ASSERT_EQ(0, c.error);
	ASSERT_EQ(bytes, c.bytes_out);
	out = see(self->dev, c.dst, &size);
	ASSERT_NE(NULL, out);
	for (i = 0; i < bytes; i++)
		other += out[i] != self->in[i / PIECE * 2 * PIECE + i % PIECE];
	EXPECT_EQ(0, other);
}

TEST_F(moves, scatter)
{
	const __u64 bytes = 5 * PIECE + 100;
	struct fx_completion c;
	__u64 i, other = 0;
	size_t size;
	__u8 *out;

	ASSERT_EQ(0, fx_move(self->dev,
			     desc_of(EDGE(C_SCATTER), self->src, bytes), &c));
	ASSERT_EQ(0, c.error);
	EXPECT_EQ(bytes, c.bytes_out);
	EXPECT_EQ(crc32c(self->in, bytes), c.csum);
	out = see(self->dev, c.dst, &size);
	ASSERT_NE(NULL, out);
	ASSERT_EQ(11 * PIECE, size);
	/* between the pieces there is nothing, not what lay there before */
	for (i = 0; i < size; i++) {
		__u64 at = i / (2 * PIECE) * PIECE + i % PIECE;
		bool piece = i / PIECE % 2 == 0 && at < bytes;

		other += out[i] != (piece ? self->in[at] : 0);
	}
	EXPECT_EQ(0, other);
}

/* ---- into a buffer that is there ---- */

TEST_F(moves, into_a_buffer)
{
	struct fx_desc d = desc_of(EDGE(C_SUM), self->src, 1000);
	struct fx_completion c;
	__u32 dst;
	size_t size;
	__u8 *out;

	ASSERT_EQ(0, fx_move(self->dev, desc_of(EDGE(C_MOVE), self->src, BYTES),
			     &c));
	dst = c.dst;
	d.dst = dst;
	d.dst_off = 5000;
	d.src_off = 33;
	ASSERT_EQ(0, fx_move(self->dev, d, &c));
	EXPECT_EQ(0, c.error);
	EXPECT_EQ(dst, c.dst);
	EXPECT_EQ(P_HOST, c.place);
	EXPECT_EQ(crc32c(self->in + 33, 1000), c.csum);
	out = see(self->dev, dst, &size);
	ASSERT_NE(NULL, out);
	EXPECT_EQ(0, memcmp(out, self->in, 5000));
	EXPECT_EQ(0, memcmp(out + 5000, self->in + 33, 1000));
	EXPECT_EQ(0, memcmp(out + 6000, self->in + 6000, BYTES - 6000));
}

/* Movements through one buffer happen in the order of submission. */
TEST_F(moves, chain_through_one_buffer)
{
	struct fx_desc b[3];
	struct fx_completion c[3], first;
	__u32 n, got = 0, to;
	size_t size;
	__u8 *out;

	ASSERT_EQ(0, fx_move(self->dev, desc_of(EDGE(C_MOVE), self->src, BYTES),
			     &first));
	ASSERT_EQ(0, fx_move(self->dev, desc_of(EDGE(C_MOVE), self->src, 4096),
			     &c[0]));
	to = c[0].dst;
	b[0] = desc_of(EDGE(C_MOVE), self->src, 4096);
	b[0].src_off = 8192;
	b[0].dst = first.dst;
	b[1] = desc_of(EDGE(C_AGAIN), first.dst, 4096);
	b[1].dst = to;
	b[2] = desc_of(EDGE(C_MOVE), self->src, 4096);
	b[2].src_off = 65536;
	b[2].dst = first.dst;
	ASSERT_EQ(0, fx_submit(self->dev, b, 3, &n));
	ASSERT_EQ(3, n);
	while (got < 3) {
		ASSERT_EQ(0, fx_wait(self->dev, c + got, 3 - got, WAIT_NS, &n));
		got += n;
	}
	out = see(self->dev, to, &size);
	ASSERT_NE(NULL, out);
	EXPECT_EQ(0, memcmp(out, self->in + 8192, 4096));
	out = see(self->dev, first.dst, &size);
	ASSERT_NE(NULL, out);
	EXPECT_EQ(0, memcmp(out, self->in + 65536, 4096));
}

TEST_HARNESS_MAIN
