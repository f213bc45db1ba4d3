// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What a policy refuses is refused before anything happened, and counted. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <linux/capability.h>
#include <sys/syscall.h>
#include <kselftest_harness.h>
#include "fxt.h"

#define GRAPH	"verdicts"

static const int refusals[] = { -EPERM, -EACCES, -EBUSY, -ENOSPC };

FIXTURE(verdicts) {
	struct fxt_policy p;
	struct fxt_show before, after;
	int fd;
};

FIXTURE_SETUP(verdicts)
{
	ASSERT_EQ(0, fxt_modules());
	ASSERT_EQ(0, fxt_small_graph(GRAPH));
	self->fd = fxt_export_plain();
	ASSERT_LE(0, self->fd);
	ASSERT_EQ(0, fxt_policy_open(&self->p, "answer", GRAPH));
}

FIXTURE_TEARDOWN(verdicts)
{
	close(self->fd);
	fxt_policy_close(&self->p);
	EXPECT_EQ(0, fxgraph_unload(GRAPH));
}

TEST_F(verdicts, attach_is_refused_before_the_exporter_hears)
{
	struct fx_ex_counts before, after;
	size_t i;

	ASSERT_EQ(0, fxt_policy_run(&self->p));
	before = fxt_counts();
	for (i = 0; i < ARRAY_SIZE(refusals); i++) {
		self->p.state->answer[FX_OP_DMABUF_ATTACH] = refusals[i];
		EXPECT_EQ(refusals[i], fxt_attach(self->fd, 0, true));
		EXPECT_EQ(refusals[i], fxt_attach(self->fd, 1, false));
	}
	after = fxt_counts();
	EXPECT_EQ(0, memcmp(&before, &after, sizeof(before)));
	/* and the other operations go on, as does attach once it may */
	EXPECT_EQ(0, fxt_sync(self->fd));
	self->p.state->answer[FX_OP_DMABUF_ATTACH] = 0;
	EXPECT_EQ(0, fxt_attach(self->fd, 0, true));
	EXPECT_EQ(before.attach + 1, fxt_counts().attach);
}

TEST_F(verdicts, map_is_refused_and_the_attachment_is_whole)
{
	struct fx_ex_counts before, after;
	size_t i;

	ASSERT_EQ(0, fxt_policy_run(&self->p));
	before = fxt_counts();
	for (i = 0; i < ARRAY_SIZE(refusals); i++) {
		self->p.state->answer[FX_OP_DMABUF_MAP] = refusals[i];
		EXPECT_EQ(refusals[i], fxt_attach(self->fd, 0, true));
		EXPECT_EQ(0, fxt_attach(self->fd, 0, false));
	}
	after = fxt_counts();
	EXPECT_EQ(before.map, after.map);
	EXPECT_EQ(before.unmap, after.unmap);
	EXPECT_EQ(before.attach + 2 * ARRAY_SIZE(refusals), after.attach);
	EXPECT_EQ(before.detach + 2 * ARRAY_SIZE(refusals), after.detach);
}

TEST_F(verdicts, cpu_access_is_refused_to_the_sync_ioctl)
{
	struct fx_ex_counts before, after;
	size_t i;

	ASSERT_EQ(0, fxt_policy_run(&self->p));
	before = fxt_counts();
	for (i = 0; i < ARRAY_SIZE(refusals); i++) {
		self->p.state->answer[FX_OP_DMABUF_CPU] = refusals[i];
		EXPECT_EQ(refusals[i], fxt_sync(self->fd));
	}
	after = fxt_counts();
	EXPECT_EQ(before.cpu, after.cpu);
	self->p.state->answer[FX_OP_DMABUF_CPU] = 0;
	EXPECT_EQ(0, fxt_sync(self->fd));
	EXPECT_EQ(before.cpu + 1, fxt_counts().cpu);
}

/* Refused exports leave no dma-buf and nothing of the exporter's behind. */
TEST_F(verdicts, export_is_refused_to_driver_and_heap)
{
	long before, after;
	size_t i;

	ASSERT_EQ(0, fxt_policy_run(&self->p));
	before = fxt_dmabufs();
	for (i = 0; i < ARRAY_SIZE(refusals); i++) {
		self->p.state->answer[FX_OP_DMABUF_EXPORT] = refusals[i];
		EXPECT_EQ(refusals[i], fxt_export_plain());
		EXPECT_EQ(refusals[i], fxt_heap_alloc(8192));
	}
	EXPECT_EQ(8192, self->p.state->bytes);
	after = fxt_dmabufs();
	EXPECT_LT(0, before);
	EXPECT_EQ(before, after);
	/* what was exported before is not concerned */
	EXPECT_EQ(0, fxt_attach(self->fd, 0, true));
}

TEST_F(verdicts, a_real_driver_is_refused_its_import)
{
	int heap = fxt_heap_alloc(4096);

	ASSERT_EQ(0, system("modprobe vgem"));
	ASSERT_LE(0, heap);
	ASSERT_EQ(0, fxt_policy_run(&self->p));
	EXPECT_EQ(0, fxt_vgem_import(heap));
	self->p.state->answer[FX_OP_DMABUF_ATTACH] = -EACCES;
	EXPECT_EQ(-EACCES, fxt_vgem_import(heap));
	self->p.state->answer[FX_OP_DMABUF_ATTACH] = 0;
	EXPECT_EQ(0, fxt_vgem_import(heap));
	close(heap);
}

TEST_F(verdicts, what_is_told_is_told_and_counted)
{
	struct fx_ex_counts c0, c1;
	int fd, i;

	ASSERT_EQ(0, fxt_policy_run(&self->p));
	ASSERT_EQ(0, fxt_show(GRAPH, &self->before));
	c0 = fxt_counts();
	for (i = 0; i < 50; i++) {
		fd = fxt_export_plain();
		ASSERT_LE(0, fd);
		ASSERT_EQ(0, fxt_attach(fd, i & 1, true));
		ASSERT_EQ(0, fxt_sync(fd));
		close(fd);
	}
	c1 = fxt_counts();
	ASSERT_EQ(0, fxt_show(GRAPH, &self->after));
#define ASKED(which)	(self->after.op[FX_OP_DMABUF_##which].asked -		\
			 self->before.op[FX_OP_DMABUF_##which].asked)
	EXPECT_EQ(50, ASKED(EXPORT));
	EXPECT_EQ(c1.attach - c0.attach, ASKED(ATTACH));
	EXPECT_EQ(c1.map - c0.map, ASKED(MAP));
	EXPECT_EQ(c1.cpu - c0.cpu, ASKED(CPU));
	EXPECT_EQ(c1.unmap - c0.unmap, ASKED(UNMAP));
	EXPECT_EQ(c1.detach - c0.detach, ASKED(DETACH));
	EXPECT_EQ(c1.release - c0.release, ASKED(RELEASE));
	EXPECT_EQ(50, ASKED(RELEASE));
	for (i = FX_OP_DMABUF_EXPORT; i <= FX_OP_DMABUF_RELEASE; i++) {
		EXPECT_EQ(self->p.state->asked[i], self->after.op[i].asked);
		EXPECT_EQ(0, self->after.op[i].refused);
		EXPECT_EQ(0, self->after.op[i].invalid);
	}
}

TEST_F(verdicts, counters_and_events_equal_the_calls)
{
	int i;

	ASSERT_EQ(0, fxt_policy_run(&self->p));
	ASSERT_EQ(0, fxt_show(GRAPH, &self->before));
	for (i = 0; i < 300; i++) {
		self->p.state->answer[FX_OP_DMABUF_ATTACH] = i % 3 ? 0 : -EPERM;
		EXPECT_EQ(i % 3 ? 0 : -EPERM, fxt_attach(self->fd, 0, false));
	}
	ASSERT_EQ(0, fxt_show(GRAPH, &self->after));
	EXPECT_EQ(300, self->after.op[FX_OP_DMABUF_ATTACH].asked);
	EXPECT_EQ(100, self->after.op[FX_OP_DMABUF_ATTACH].refused);
	EXPECT_EQ(0, self->after.op[FX_OP_DMABUF_ATTACH].invalid);
	EXPECT_EQ(100, self->after.emitted - self->before.emitted);
}

TEST_F(verdicts, audit_records_and_does_not_enforce)
{
	int i;

	self->p.ops->flags = 1;		/* FX_POLICY_F_AUDIT */
	ASSERT_EQ(0, fxt_policy_run(&self->p));
	ASSERT_EQ(0, fxt_show(GRAPH, &self->before));
	EXPECT_EQ(true, self->before.audit);
	for (i = FX_OP_DMABUF_EXPORT; i <= FX_OP_DMABUF_CPU; i++)
		self->p.state->answer[i] = -EACCES;
	for (i = 0; i < 10; i++) {
		int fd = fxt_export_plain();

		EXPECT_LE(0, fd);
		EXPECT_EQ(0, fxt_attach(fd, 0, true));
		EXPECT_EQ(0, fxt_sync(fd));
		close(fd);
	}
	ASSERT_EQ(0, fxt_show(GRAPH, &self->after));
	for (i = FX_OP_DMABUF_EXPORT; i <= FX_OP_DMABUF_CPU; i++) {
		EXPECT_EQ(10, self->after.op[i].asked);
		EXPECT_EQ(10, self->after.op[i].refused);
	}
	EXPECT_EQ(40, self->after.emitted - self->before.emitted);
}

static int drop(__u32 cap)
{
	struct __user_cap_header_struct head = { _LINUX_CAPABILITY_VERSION_3, 0 };
	struct __user_cap_data_struct data[2];

	if (syscall(SYS_capget, &head, data))
		return -errno;
	data[CAP_TO_INDEX(cap)].effective &= ~CAP_TO_MASK(cap);
	return syscall(SYS_capset, &head, data) ? -errno : 0;
}

static int restore(void)
{
	struct __user_cap_header_struct head = { _LINUX_CAPABILITY_VERSION_3, 0 };
	struct __user_cap_data_struct data[2];

	if (syscall(SYS_capget, &head, data))
		return -errno;
	data[0].effective = data[0].permitted;
	data[1].effective = data[1].permitted;
	return syscall(SYS_capset, &head, data) ? -errno : 0;
}

/* The kernel's own refusal; fabricctl would have said so before. */
TEST_F(verdicts, each_capability_is_needed_to_attach)
{
	static const __u32 caps[] = { CAP_BPF, CAP_PERFMON, CAP_NET_ADMIN };
	size_t i;

	ASSERT_EQ(0, fxt_policy_load(&self->p));
	/* CAP_SYS_ADMIN stands in for CAP_BPF and CAP_PERFMON */
	for (i = 0; i < ARRAY_SIZE(caps); i++) {
		ASSERT_EQ(0, drop(CAP_SYS_ADMIN));
		ASSERT_EQ(0, drop(caps[i]));
		EXPECT_EQ(-EPERM, fxt_policy_attach(&self->p));
		ASSERT_EQ(0, restore());
	}
	EXPECT_EQ(0, fxt_policy_attach(&self->p));
}

TEST_F(verdicts, wrong_fields_are_refused)
{
	static const struct {
		__u64 hooks;
		__u64 flags;
		__u32 timeout_ms;
		const char *name, *graph;
		int err;
	} wrong[] = {
		{ 1ULL << FX_OPS, 0, 0, "answer", GRAPH, -EINVAL },
		{ FX_OP_BIT(FX_OP_MOVE), 0, 0, "answer", GRAPH, -EINVAL },
		{ 0, 2, 0, "answer", GRAPH, -EINVAL },
		{ 0, 1ULL << 63, 0, "answer", GRAPH, -EINVAL },
		{ 0, 0, 30001, "answer", GRAPH, -ERANGE },
		{ 0, 0, 0, "", GRAPH, -EINVAL },
		{ 0, 0, 0, "a b", GRAPH, -EINVAL },
		{ 0, 0, 0, "answer", "", -EINVAL },
		{ 0, 0, 0, "answer", "../etc", -EINVAL },
		{ 0, 0, 0, "answer", "elsewhere", -ENOENT },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(wrong); i++) {
		struct fxt_policy p;

		ASSERT_EQ(0, fxt_policy_open(&p, "answer", wrong[i].graph));
		p.ops->hooks = wrong[i].hooks;
		p.ops->flags = wrong[i].flags;
		p.ops->timeout_ms = wrong[i].timeout_ms;
		memset(p.ops->name, 0, sizeof(p.ops->name));
		memcpy(p.ops->name, wrong[i].name, strlen(wrong[i].name));
		ASSERT_EQ(0, fxt_policy_load(&p));
		EXPECT_EQ(wrong[i].err, fxt_policy_attach(&p)) {
			TH_LOG("case %zu", i);
		}
		fxt_policy_close(&p);
	}
	/* a name without an end */
	memset(self->p.ops->name, 'x', sizeof(self->p.ops->name));
	ASSERT_EQ(0, fxt_policy_load(&self->p));
	EXPECT_EQ(-EINVAL, fxt_policy_attach(&self->p));
}

TEST_HARNESS_MAIN
