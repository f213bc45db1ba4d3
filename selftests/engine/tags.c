// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Tags of dma-bufs. Whether there is one is seen by taking it away: that fails
 * with ENOENT where there is none of the file's graph.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>
#include <sys/resource.h>

#include "../kselftest_harness.h"
#include "util.h"

#define GRAPH	"engine-tags"
#define OTHER	"engine-tags-other"
#define BYTES	4096u
#define TAGS	32768	/* FX_TAGS_MAX of the module */

FIXTURE(tags)
{
	int dev, other, dmabuf;
};

FIXTURE_SETUP(tags)
{
	self->dev = open_fresh(GRAPH);
	ASSERT_LE(0, self->dev);
	self->other = open_fresh(OTHER);
	ASSERT_LE(0, self->other);
	self->dmabuf = heap_alloc(BYTES);
	ASSERT_LE(0, self->dmabuf);
}

FIXTURE_TEARDOWN(tags)
{
	close(self->dmabuf);
	close(self->dev);
	close(self->other);
	fxgraph_unload(GRAPH);
	EXPECT_EQ(0, fxgraph_unload(OTHER));
}

static bool has_tag(int dev, int dmabuf)
{
	return !fx_tag(dev, dmabuf, FX_EDGE_NONE);
}

TEST_F(tags, set_and_clear)
{
	EXPECT_FALSE(has_tag(self->dev, self->dmabuf));
	ASSERT_EQ(0, fx_tag(self->dev, self->dmabuf, EDGE(C_MOVE)));
	/* another edge of the same graph takes its place */
	ASSERT_EQ(0, fx_tag(self->dev, self->dmabuf, EDGE(C_SUM)));
	EXPECT_TRUE(has_tag(self->dev, self->dmabuf));
	EXPECT_FALSE(has_tag(self->dev, self->dmabuf));
}

TEST_F(tags, one_graph_at_a_time)
{
	ASSERT_EQ(0, fx_tag(self->dev, self->dmabuf, EDGE(C_MOVE)));
	EXPECT_EQ(-EBUSY, fx_tag(self->other, self->dmabuf, EDGE(C_MOVE)));
	EXPECT_EQ(-ENOENT, fx_tag(self->other, self->dmabuf, FX_EDGE_NONE));
	EXPECT_TRUE(has_tag(self->dev, self->dmabuf));
	EXPECT_EQ(0, fx_tag(self->other, self->dmabuf, EDGE(C_MOVE)));
	EXPECT_TRUE(has_tag(self->other, self->dmabuf));
}

TEST_F(tags, by_import)
{
	__u32 handle;

	ASSERT_EQ(0, fx_import(self->dev, self->dmabuf, P_SRC, EDGE(C_MOVE),
			       &handle));
	EXPECT_EQ(-EBUSY, fx_tag(self->other, self->dmabuf, EDGE(C_MOVE)));
	/* an import that is refused for it leaves no handle behind */
	EXPECT_EQ(-EBUSY, fx_import(self->other, self->dmabuf, P_SRC,
				    EDGE(C_MOVE), &handle));
	EXPECT_EQ(-ENOENT, fx_free(self->other, 1));
	EXPECT_TRUE(has_tag(self->dev, self->dmabuf));
}

TEST_F(tags, outlive_their_file)
{
	ASSERT_EQ(0, fx_tag(self->dev, self->dmabuf, EDGE(C_MOVE)));
	close(self->dev);
	self->dev = open_bound(GRAPH);
	EXPECT_TRUE(has_tag(self->dev, self->dmabuf));
}

TEST_F(tags, on_exports)
{
	struct fx_completion c;
	__u32 src;
	int fd;

	ASSERT_EQ(0, fx_import(self->dev, self->dmabuf, P_SRC, FX_EDGE_NONE,
			       &src));
	ASSERT_EQ(0, fx_move(self->dev, desc_of(EDGE(C_MOVE), src, BYTES), &c));
	ASSERT_EQ(0, c.error);
	fd = fx_export(self->dev, c.dst);
	ASSERT_LE(0, fd);
	EXPECT_EQ(-EBUSY, fx_tag(self->other, fd, EDGE(C_MOVE)));
	EXPECT_TRUE(has_tag(self->dev, fd));
	close(fd);
}

TEST_F(tags, go_with_their_graph)
{
	ASSERT_EQ(0, fx_tag(self->dev, self->dmabuf, EDGE(C_MOVE)));
	ASSERT_EQ(0, fxgraph_unload(GRAPH));
	EXPECT_EQ(0, fx_tag(self->other, self->dmabuf, EDGE(C_MOVE)));
	EXPECT_TRUE(has_tag(self->other, self->dmabuf));
	/* and a graph that is gone gives no new ones */
	EXPECT_EQ(-ENODEV, fx_tag(self->dev, self->dmabuf, EDGE(C_MOVE)));
}

/* The address of a dma-buf is used again soon; its tag must not be. */
TEST_F(tags, go_with_their_dmabuf)
{
	int i, fd, inherited = 0;

	for (i = 0; i < 300; i++) {
		fd = heap_alloc(BYTES);
		ASSERT_LE(0, fd);
		inherited += has_tag(self->dev, fd);
		ASSERT_EQ(0, fx_tag(self->dev, fd, EDGE(C_MOVE)));
		close(fd);
	}
	EXPECT_EQ(0, inherited);
}

TEST_F_TIMEOUT(tags, limit, 200)
{
	struct rlimit files = { .rlim_cur = TAGS + 64, .rlim_max = TAGS + 64 };
	int log = log_open(), n = 0, err = 0, fd, first = -1;
	long refused = module_count("tags_refused");

	ASSERT_EQ(0, setrlimit(RLIMIT_NOFILE, &files));
	while (n <= TAGS) {
		fd = heap_alloc(BYTES);
		ASSERT_LE(0, fd);
		err = fx_tag(self->dev, fd, EDGE(C_MOVE));
		if (err)
			break;
		if (first < 0)
			first = fd;
		n++;
	}
	EXPECT_EQ(-ENOSPC, err);
	EXPECT_EQ(TAGS, n);
	EXPECT_EQ(refused + 1, module_count("tags_refused"));
	EXPECT_TRUE(log_has(log, "all 32768 tags"));
	/* there is room again when one goes */
	EXPECT_EQ(-ENOSPC, fx_tag(self->dev, fd, EDGE(C_MOVE)));
	close(first);
	EXPECT_EQ(0, fx_tag(self->dev, fd, EDGE(C_MOVE)));
	EXPECT_TRUE(has_tag(self->dev, fd));
}

TEST_HARNESS_MAIN
