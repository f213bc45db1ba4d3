// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * What a policy answers for a movement, and that it hears of each one's end.
 */
#include <errno.h>
#include <libgen.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>
#include <sys/ioctl.h>
#include <linux/dma-buf.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "../kselftest_harness.h"
#include "route.h"
#include "util.h"

#define BYTES	65536u

FIXTURE(route)
{
	struct bpf_object *obj;
	struct bpf_link *link;
	struct route_control *control;
	int dev, dmabuf;
	__u32 src;
	__u8 *in;
};

/* The policy lies beside the program. */
static struct bpf_object *open_policy(void)
{
	char self[PATH_MAX] = "", path[PATH_MAX + 16];

	if (readlink("/proc/self/exe", self, sizeof(self) - 1) < 0)
		return NULL;
	snprintf(path, sizeof(path), "%s/route.bpf.o", dirname(self));
	return bpf_object__open_file(path, NULL);
}

FIXTURE_SETUP(route)
{
	struct bpf_map *map;
	size_t size;

	fxgraph_unload(ROUTE_GRAPH);
	ASSERT_EQ(0, load_graph(ROUTE_GRAPH));
	self->obj = open_policy();
	ASSERT_NE(NULL, self->obj);
	ASSERT_EQ(0, bpf_object__load(self->obj));
	map = bpf_object__find_map_by_name(self->obj, ".bss");
	ASSERT_NE(NULL, map);
	self->control = bpf_map__initial_value(map, &size);
	ASSERT_NE(NULL, self->control);
	ASSERT_LE(sizeof(*self->control), size);
	self->control->place = KEEP;
	self->control->xforms = KEEP;
	self->control->priority = KEEP;
	self->control->chunk = KEEP;
	map = bpf_object__find_map_by_name(self->obj, "engine_route");
	ASSERT_NE(NULL, map);
	self->link = bpf_map__attach_struct_ops(map);
	ASSERT_NE(NULL, self->link);

	self->dev = open_bound(ROUTE_GRAPH);
	ASSERT_LE(0, self->dev);
	self->dmabuf = make_source(self->dev, BYTES, 9, &self->src, &self->in);
	ASSERT_LE(0, self->dmabuf);
}

FIXTURE_TEARDOWN(route)
{
	close(self->dmabuf);
	close(self->dev);
	EXPECT_EQ(0, bpf_link__destroy(self->link));
	bpf_object__close(self->obj);
	EXPECT_EQ(0, fxgraph_unload(ROUTE_GRAPH));
}

TEST_F(route, question)
{
	struct fx_completion c;

	ASSERT_EQ(0, fx_move(self->dev,
			     desc_of(EDGE(C_QUANTIZE), self->src, BYTES), &c));
	EXPECT_EQ(0, c.error);
	EXPECT_EQ(FX_APPLIED, c.reason);
	EXPECT_EQ(1, self->control->routed);
	EXPECT_EQ(P_HOST, self->control->asked_place);
	EXPECT_EQ(3, self->control->asked_xforms);
	EXPECT_EQ(BYTES, self->control->asked_bytes);
	EXPECT_EQ(P_SRC, self->control->src_place);
}

TEST_F(route, place)
{
	struct fx_completion c;
	__u32 again;
	int fd;

	self->control->place = P_SMALL;
	ASSERT_EQ(0, fx_move(self->dev,
			     desc_of(EDGE(C_EITHER), self->src, BYTES), &c));
	ASSERT_EQ(0, c.error);
	EXPECT_EQ(P_SMALL, c.place);
	fd = fx_export(self->dev, c.dst);
	ASSERT_LE(0, fd);
	EXPECT_EQ(-EINVAL, fx_import(self->dev, fd, P_HOST, FX_EDGE_NONE,
				     &again));
	EXPECT_EQ(0, fx_import(self->dev, fd, P_SMALL, FX_EDGE_NONE, &again));
	close(fd);
	/* it is full now, and nothing goes elsewhere instead */
	ASSERT_EQ(0, fx_move(self->dev,
			     desc_of(EDGE(C_EITHER), self->src, BYTES), &c));
	EXPECT_EQ(-ENOSPC, c.error);
	EXPECT_EQ(FX_REFUSED_CAPACITY, c.reason);
}

/* The edge that a policy is told of the CPU's access to a dma-buf. */
static __u32 edge_of_access(FIXTURE_DATA(route) *self, int dmabuf)
{
	struct dma_buf_sync sync = { .flags = DMA_BUF_SYNC_START | DMA_BUF_SYNC_READ };

	self->control->cpu_edge = FX_EDGE_NONE;
	if (ioctl(dmabuf, DMA_BUF_IOCTL_SYNC, &sync))
		return FX_EDGE_NONE;
	sync.flags = DMA_BUF_SYNC_END | DMA_BUF_SYNC_READ;
	ioctl(dmabuf, DMA_BUF_IOCTL_SYNC, &sync);
	return self->control->cpu_edge;
}

/* What is exported serves the edge whose data lie there now. */
TEST_F(route, exported_and_written_again)
{
	struct fx_desc d = desc_of(EDGE(C_MOVE), self->src, BYTES);
	struct fx_completion c;
	int fd;

	ASSERT_EQ(0, fx_move(self->dev, d, &c));
	ASSERT_EQ(0, c.error);
	fd = fx_export(self->dev, c.dst);
	ASSERT_LE(0, fd);
	EXPECT_EQ(EDGE(C_MOVE), edge_of_access(self, fd));
	d.edge = EDGE(C_MOVE) + 1;
	d.dst = c.dst;
	ASSERT_EQ(0, fx_move(self->dev, d, &c));
	ASSERT_EQ(0, c.error);
	EXPECT_EQ(EDGE(C_MOVE) + 1, edge_of_access(self, fd));
	close(fd);
}

TEST_F(route, place_of_another_edge)
{
	struct fx_completion c;

	/* an invalid verdict: the default is taken */
	self->control->place = P_SMALL;
	ASSERT_EQ(0, fx_move(self->dev,
			     desc_of(EDGE(C_MOVE), self->src, BYTES), &c));
	EXPECT_EQ(0, c.error);
	EXPECT_EQ(P_HOST, c.place);
}

TEST_F(route, refusal)
{
	struct fx_desc b[2] = {
		desc_of(EDGE(C_MOVE), self->src, BYTES),
		desc_of(EDGE(C_MOVE), self->src, BYTES),
	};
	struct fx_completion c[2];
	__u32 n, got = 0, i;

	self->control->verdict = -EACCES;
	/* each has its completion; a refusal is no fault of the batch */
	ASSERT_EQ(0, fx_submit(self->dev, b, 2, &n));
	EXPECT_EQ(2, n);
	while (got < 2) {
		ASSERT_EQ(0, fx_wait(self->dev, c + got, 2 - got, WAIT_NS, &n));
		got += n;
	}
	for (i = 0; i < 2; i++) {
		EXPECT_EQ(-EACCES, c[i].error);
		EXPECT_EQ(FX_REFUSED_POLICY, c[i].reason);
		EXPECT_EQ(0, c[i].dst);
		EXPECT_EQ(0, c[i].bytes_out);
	}
	EXPECT_EQ(2, self->control->completed);
	EXPECT_EQ(-EACCES, self->control->last_error);
	EXPECT_EQ(FX_REFUSED_POLICY, self->control->last_reason);
	EXPECT_EQ(0, self->control->bytes_out);
}

TEST_F(route, fewer_transforms)
{
	struct fx_completion c;

	self->control->xforms = 2;	/* the checksum alone */
	ASSERT_EQ(0, fx_move(self->dev,
			     desc_of(EDGE(C_QUANTIZE), self->src, BYTES), &c));
	ASSERT_EQ(0, c.error);
	EXPECT_EQ(BYTES, c.bytes_out);
	EXPECT_EQ(FX_ELEM_BF16, c.element);
	EXPECT_EQ(crc32c(self->in, BYTES), c.csum);
}

/* Quantized it fits the destination, as the policy wants it, it does not. */
TEST_F(route, fewer_transforms_and_no_room)
{
	struct fx_desc d = desc_of(EDGE(C_QUANTIZE), self->src, BYTES);
	struct fx_completion c;
	__u32 dst;

	ASSERT_EQ(0, fx_move(self->dev, d, &c));
	ASSERT_EQ(0, c.error);
	dst = c.dst;
	d.dst = dst;
	ASSERT_EQ(0, fx_move(self->dev, d, &c));
	EXPECT_EQ(0, c.error);
	EXPECT_EQ(dst, c.dst);
	self->control->xforms = 0;
	ASSERT_EQ(0, fx_move(self->dev, d, &c));
	EXPECT_EQ(-ERANGE, c.error);
	EXPECT_EQ(FX_REFUSED_RANGE, c.reason);
	EXPECT_EQ(0, c.dst);
}

TEST_F(route, destination_elsewhere)
{
	struct fx_desc d = desc_of(EDGE(C_EITHER), self->src, BYTES);
	struct fx_completion c;

	ASSERT_EQ(0, fx_move(self->dev, d, &c));
	ASSERT_EQ(0, c.error);
	ASSERT_EQ(P_HOST, c.place);
	d.dst = c.dst;
	self->control->place = P_SMALL;
	ASSERT_EQ(0, fx_move(self->dev, d, &c));
	EXPECT_EQ(-EXDEV, c.error);
	EXPECT_EQ(FX_REFUSED_PLACE, c.reason);
	self->control->place = P_HOST;
	ASSERT_EQ(0, fx_move(self->dev, d, &c));
	EXPECT_EQ(0, c.error);
}

TEST_F(route, chunk)
{
	const unsigned int chunks[] = { 0, 1, 4096, 5000, 1u << 20, ~0u - 1 };
	struct fx_completion c;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(chunks); i++) {
		self->control->chunk = chunks[i];
		ASSERT_EQ(0, fx_move(self->dev,
				     desc_of(EDGE(C_VERIFY), self->src, BYTES),
				     &c));
		EXPECT_EQ(0, c.error);
		EXPECT_EQ(crc32c(self->in, BYTES), c.csum);
	}
}

TEST_F(route, priority)
{
	struct fx_completion c;

	self->control->priority = 7;
	ASSERT_EQ(0, fx_move(self->dev,
			     desc_of(EDGE(C_MOVE), self->src, BYTES), &c));
	EXPECT_EQ(FX_APPLIED, c.reason);
	/* out of range: invalid, the default is taken */
	self->control->priority = 8;
	ASSERT_EQ(0, fx_move(self->dev,
			     desc_of(EDGE(C_MOVE), self->src, BYTES), &c));
	EXPECT_EQ(0, c.error);
	EXPECT_NE(FX_APPLIED, c.reason);
}

TEST_F(route, complete_hears_all)
{
	struct fx_completion c;
	int i;

	for (i = 0; i < 20; i++)
		ASSERT_EQ(0, fx_move(self->dev,
				     desc_of(EDGE(i % 2 ? C_QUANTIZE : C_SUM),
					     self->src, BYTES), &c));
	EXPECT_EQ(20, self->control->completed);
	EXPECT_EQ(20, self->control->routed);
	EXPECT_EQ(20 * BYTES, self->control->bytes_in);
	EXPECT_EQ(10 * BYTES + 10 * BYTES / 64 * 33, self->control->bytes_out);
	EXPECT_EQ(c.csum, self->control->last_csum);
	EXPECT_EQ(P_HOST, self->control->last_place);
	EXPECT_EQ(0, self->control->last_error);
}

TEST_HARNESS_MAIN
