// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Two graphs, each with a policy: who is asked about which dma-buf. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/ioctl.h>
#include <kselftest_harness.h>
#include "fxt.h"

#define EDGES	4

/* The graphs a and b, both asked about dma-bufs of fx_exerciser. */
FIXTURE(graphs) {
	struct fxt_policy a, b;
	struct fxt_show show;
	int fd;
};

FIXTURE_VARIANT(graphs) {
	__u32 governs;
	const char *exporter;
};

FIXTURE_VARIANT_ADD(graphs, both_govern) {
	.governs = FX_GOVERNS_DMABUF,
	.exporter = "nobody",
};

FIXTURE_VARIANT_ADD(graphs, both_have_the_exporter) {
	.governs = 0,
	.exporter = "fx_exerciser",
};

FIXTURE_SETUP(graphs)
{
	ASSERT_EQ(0, fxt_modules());
	ASSERT_EQ(0, fxt_graph("a", variant->governs, variant->exporter, EDGES));
	ASSERT_EQ(0, fxt_graph("b", variant->governs, variant->exporter, EDGES));
	self->fd = fxt_export_plain();
	ASSERT_LE(0, self->fd);
	ASSERT_EQ(0, fxt_policy_start(&self->a, "answer", "a"));
	ASSERT_EQ(0, fxt_policy_start(&self->b, "answer", "b"));
}

FIXTURE_TEARDOWN(graphs)
{
	close(self->fd);
	fxt_policy_close(&self->a);
	fxt_policy_close(&self->b);
	EXPECT_EQ(0, fxgraph_unload("a"));
	EXPECT_EQ(0, fxgraph_unload("b"));
}

#define ATTACHES(p)	((p).state->asked[FX_OP_DMABUF_ATTACH])
#define ANSWER(p)	((p).state->answer[FX_OP_DMABUF_ATTACH])

TEST_F(graphs, one_refusal_wins)
{
	EXPECT_EQ(0, fxt_attach(self->fd, 0, true));
	EXPECT_EQ(1, ATTACHES(self->a));
	EXPECT_EQ(1, ATTACHES(self->b));
	ANSWER(self->a) = -EACCES;
	EXPECT_EQ(-EACCES, fxt_attach(self->fd, 0, true));
	ANSWER(self->a) = 0;
	ANSWER(self->b) = -EBUSY;
	EXPECT_EQ(-EBUSY, fxt_attach(self->fd, 0, true));
	ANSWER(self->a) = -EPERM;
	EXPECT_NE(0, fxt_attach(self->fd, 0, true));
	ANSWER(self->a) = 0;
	ANSWER(self->b) = 0;
	EXPECT_EQ(0, fxt_attach(self->fd, 0, true));
}

TEST_F(graphs, the_end_of_one_is_not_the_others)
{
	ANSWER(self->a) = 12345;		/* garbage */
	ANSWER(self->b) = -EACCES;
	EXPECT_EQ(-EACCES, fxt_attach(self->fd, 0, true));
	ASSERT_EQ(0, fxt_show_ended("a", &self->show));
	EXPECT_EQ(true, self->show.bypassed);
	ASSERT_EQ(0, fxt_show("b", &self->show));
	EXPECT_EQ(true, self->show.attached);
	EXPECT_EQ(false, self->show.bypassed);
	EXPECT_EQ(1, self->show.op[FX_OP_DMABUF_ATTACH].refused);
	EXPECT_EQ(-EACCES, fxt_attach(self->fd, 0, true));
	EXPECT_EQ(0, self->b.state->exits);

	fxt_policy_detach(&self->b);
	EXPECT_EQ(0, fxt_attach(self->fd, 0, true));
	EXPECT_EQ(1, self->b.state->exits);
}

TEST_F(graphs, bypass_of_one_is_not_the_others)
{
	ANSWER(self->a) = -EACCES;
	ANSWER(self->b) = -EBUSY;
	EXPECT_EQ(0, system("fabricctl bypass a"));
	EXPECT_EQ(-EBUSY, fxt_attach(self->fd, 0, true));
	EXPECT_EQ(0, system("fabricctl bypass b"));
	EXPECT_EQ(0, fxt_attach(self->fd, 0, true));
}

/* Counters and events are each graph's own. */
TEST_F(graphs, each_counts_for_itself)
{
	struct fxt_show b;

	ANSWER(self->b) = -EACCES;
	EXPECT_EQ(-EACCES, fxt_attach(self->fd, 0, true));
	EXPECT_EQ(-EACCES, fxt_attach(self->fd, 1, true));
	ASSERT_EQ(0, fxt_show("a", &self->show));
	ASSERT_EQ(0, fxt_show("b", &b));
	EXPECT_EQ(2, self->show.op[FX_OP_DMABUF_ATTACH].asked);
	EXPECT_EQ(0, self->show.op[FX_OP_DMABUF_ATTACH].refused);
	EXPECT_EQ(2, b.op[FX_OP_DMABUF_ATTACH].asked);
	EXPECT_EQ(2, b.op[FX_OP_DMABUF_ATTACH].refused);
	EXPECT_EQ(self->show.emitted + 2, b.emitted);
}

/*
 * Who governs is asked about what is nobody's: not while a loaded graph has a
 * place for it, whether that one has a policy or not.
 */
TEST(governing_is_for_strangers)
{
	struct fxt_policy a, b;
	int fd;

	ASSERT_EQ(0, fxt_modules());
	ASSERT_EQ(0, fxt_graph("a", FX_GOVERNS_DMABUF, "nobody", EDGES));
	ASSERT_EQ(0, fxt_policy_start(&a, "answer", "a"));
	fd = fxt_export_plain();
	ASSERT_LE(0, fd);
	ANSWER(a) = -EACCES;
	EXPECT_EQ(-EACCES, fxt_attach(fd, 0, true));

	ASSERT_EQ(0, fxt_graph("b", 0, "fx_exerciser", EDGES));
	EXPECT_EQ(0, fxt_attach(fd, 0, true));
	ASSERT_EQ(0, fxt_policy_start(&b, "answer", "b"));
	EXPECT_EQ(0, fxt_attach(fd, 0, true));
	EXPECT_EQ(1, ATTACHES(a));
	EXPECT_EQ(1, ATTACHES(b));

	fxt_policy_close(&b);
	EXPECT_EQ(0, fxgraph_unload("b"));
	EXPECT_EQ(-EACCES, fxt_attach(fd, 0, true));
	EXPECT_EQ(2, ATTACHES(a));
	close(fd);
	fxt_policy_close(&a);
	EXPECT_EQ(0, fxgraph_unload("a"));
}

static int bind_to(const char *graph)
{
	struct fx_ioc_graph arg = { .size = sizeof(arg) };
	int err, fd = open("/dev/fabric_ext", O_RDWR | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	snprintf(arg.name, sizeof(arg.name), "%s", graph);
	if (!ioctl(fd, FX_IOC_GRAPH, &arg))
		return fd;
	err = -errno;
	close(fd);
	return err;
}

static int tag(int graph, int dmabuf, __u32 edge)
{
	struct fx_ioc_tag arg = { .size = sizeof(arg), .fd = dmabuf, .edge = edge };

	return ioctl(graph, FX_IOC_TAG, &arg) ? -errno : 0;
}

/* A tagged dma-buf is the business of its tag's graph alone. */
TEST_F(graphs, a_tag_decides)
{
	int a = bind_to("a"), b = bind_to("b");

	ASSERT_LE(0, a);
	ASSERT_LE(0, b);
	ASSERT_EQ(0, tag(a, self->fd, 2));
	EXPECT_EQ(-EBUSY, tag(b, self->fd, 1));
	ANSWER(self->b) = -EBUSY;
	EXPECT_EQ(0, fxt_attach(self->fd, 0, true));
	EXPECT_EQ(1, ATTACHES(self->a));
	EXPECT_EQ(0, ATTACHES(self->b));
	EXPECT_EQ(2, self->a.state->edge);
	ANSWER(self->a) = -EACCES;
	EXPECT_EQ(-EACCES, fxt_attach(self->fd, 0, true));

	/* without it, both again, and they see no edge */
	ASSERT_EQ(0, tag(a, self->fd, FX_EDGE_NONE));
	ANSWER(self->a) = 0;
	EXPECT_EQ(-EBUSY, fxt_attach(self->fd, 0, true));
	EXPECT_EQ(FX_EDGE_NONE, self->a.state->edge);
	EXPECT_EQ(FX_EDGE_NONE, self->b.state->edge);

	ASSERT_EQ(0, tag(b, self->fd, 1));
	ANSWER(self->b) = 0;
	EXPECT_EQ(0, fxt_attach(self->fd, 0, true));
	EXPECT_EQ(1, self->b.state->edge);
	EXPECT_EQ(3, ATTACHES(self->a));
	close(a);
	close(b);
}

/* The tag's graph has no policy any more: then nobody is asked. */
TEST_F(graphs, a_tag_of_a_graph_without_a_policy)
{
	int a = bind_to("a");

	ASSERT_LE(0, a);
	ASSERT_EQ(0, tag(a, self->fd, 0));
	fxt_policy_detach(&self->a);
	ANSWER(self->b) = -EACCES;
	EXPECT_EQ(0, fxt_attach(self->fd, 0, true));
	EXPECT_EQ(0, ATTACHES(self->b));
	close(a);
}

/* Memory is used again at once, and a tag must not be inherited with it. */
TEST_F(graphs, a_tag_ends_with_its_dma_buf)
{
	int a = bind_to("a");
	int i, fd;

	ASSERT_LE(0, a);
	for (i = 0; i < 200; i++) {
		fd = fxt_export_plain();
		ASSERT_LE(0, fd);
		ASSERT_EQ(0, fxt_attach(fd, 0, true));
		EXPECT_EQ(FX_EDGE_NONE, self->a.state->edge);
		EXPECT_EQ(i + 1, ATTACHES(self->b));
		ASSERT_EQ(0, tag(a, fd, i % EDGES));
		close(fd);
	}
	close(a);
}

TEST_HARNESS_MAIN
