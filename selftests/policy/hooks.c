// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Hooks come with a policy that wants them and leave with it, and get along
 * with others who are interested in the same functions.
 *
 * That no hooked function is ever called by its address, which IBT hardware
 * would punish for the sealed ones, holds by construction and is not tested: a
 * hook decides at the function's entry and lets it run or redirects its caller
 * (kmod/hook.c); the address goes to ftrace_set_filter_ip() and nowhere else,
 * and what the module calls by name the kernel exports.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <kselftest_harness.h>
#include "fxt.h"

#define GRAPH		"hooks"
#define HOOKS_MS	5000	/* idle hooks leave after a second, one by one */
#define FTRACE		"/proc/sys/kernel/ftrace_enabled"

FIXTURE(hooks) {
	struct fxt_policy p;
	struct fxt_show show;
	int fd;
};

FIXTURE_SETUP(hooks)
{
	ASSERT_EQ(0, fxt_modules());
	ASSERT_EQ(true, fxt_hooked_becomes(0, HOOKS_MS));
	ASSERT_EQ(0, fxt_small_graph(GRAPH));
	self->fd = fxt_export_plain();
	ASSERT_LE(0, self->fd);
	ASSERT_EQ(0, fxt_policy_open(&self->p, "answer", GRAPH));
	EXPECT_EQ(0, fxt_hooked());
}

FIXTURE_TEARDOWN(hooks)
{
	close(self->fd);
	fxt_policy_close(&self->p);
	EXPECT_EQ(0, fxgraph_unload(GRAPH));
}

TEST_F(hooks, hooks_are_in_with_a_policy_only)
{
	__u64 began;

	self->p.ops->hooks = FX_OP_BIT(FX_OP_DMABUF_ATTACH) | FX_OP_BIT(FX_OP_DMABUF_MAP);
	ASSERT_EQ(0, fxt_policy_load(&self->p));
	EXPECT_EQ(0, fxt_hooked());
	ASSERT_EQ(0, fxt_policy_attach(&self->p));
	EXPECT_EQ(2, fxt_hooked());
	fxt_policy_detach(&self->p);
	/* kept for a second, in case it comes back */
	EXPECT_EQ(2, fxt_hooked());
	ASSERT_EQ(0, fxt_policy_attach(&self->p));
	began = fxt_now_ms();
	fxt_policy_detach(&self->p);
	EXPECT_EQ(true, fxt_hooked_becomes(0, HOOKS_MS));
	TH_LOG("hooks left after %llu ms", fxt_now_ms() - began);
	EXPECT_LE(900, fxt_now_ms() - began);
}

TEST_F(hooks, only_what_was_asked_for_is_hooked)
{
	self->p.ops->hooks = FX_OP_BIT(FX_OP_DMABUF_MAP);
	ASSERT_EQ(0, fxt_policy_run(&self->p));
	self->p.state->answer[FX_OP_DMABUF_ATTACH] = -EACCES;
	EXPECT_EQ(1, fxt_hooked());
	EXPECT_EQ(0, fxt_attach(self->fd, 0, true));
	EXPECT_EQ(0, self->p.state->asked[FX_OP_DMABUF_ATTACH]);
	EXPECT_EQ(1, self->p.state->asked[FX_OP_DMABUF_MAP]);
}

/* Tracing of the same function, before or after, sees the call as it was made. */
TEST_F(hooks, fentry_beside_a_hook_sees_the_arguments)
{
	struct seen {
		__u64 calls, dmabuf, dev;
	} before;
	struct bpf_object *obj = bpf_object__open_file("fentry.o", NULL);
	struct bpf_program *prog;
	volatile struct seen *seen;
	struct bpf_link *link;
	struct bpf_map *bss;
	size_t size;

	ASSERT_NE(NULL, obj);
	ASSERT_EQ(0, bpf_object__load(obj));
	prog = bpf_object__next_program(obj, NULL);
	bss = bpf_object__next_map(obj, NULL);
	seen = bpf_map__initial_value(bss, &size);
	ASSERT_NE(NULL, seen);
	link = bpf_program__attach(prog);
	ASSERT_NE(NULL, link);

	ASSERT_EQ(0, fxt_attach(self->fd, 0, false));
	before = *(struct seen *)seen;
	ASSERT_EQ(1, before.calls);
	ASSERT_EQ(0, fxt_policy_run(&self->p));
	EXPECT_EQ(0, fxt_attach(self->fd, 0, false));
	EXPECT_EQ(2, seen->calls);
	self->p.state->answer[FX_OP_DMABUF_ATTACH] = -EACCES;
	EXPECT_EQ(-EACCES, fxt_attach(self->fd, 0, false));
	EXPECT_EQ(before.dmabuf, seen->dmabuf);
	EXPECT_EQ(before.dev, seen->dev);

	/* the other way round: it comes while the hook is in */
	bpf_link__destroy(link);
	EXPECT_EQ(-EACCES, fxt_attach(self->fd, 0, false));
	link = bpf_program__attach(prog);
	ASSERT_NE(NULL, link);
	EXPECT_EQ(-EACCES, fxt_attach(self->fd, 0, false));
	EXPECT_EQ(before.dmabuf, seen->dmabuf);
	EXPECT_EQ(before.dev, seen->dev);
	self->p.state->answer[FX_OP_DMABUF_ATTACH] = 0;
	EXPECT_EQ(0, fxt_attach(self->fd, 0, false));
	bpf_link__destroy(link);
	bpf_object__close(obj);
}

TEST_F(hooks, another_owner_of_a_function_is_told_and_the_rest_enforced)
{
	ASSERT_EQ(0, fxt_insmod(fxt_test_module("fx_owner")));
	ASSERT_EQ(0, fxt_policy_load(&self->p));
	EXPECT_EQ(0, fxt_policy_attach(&self->p));
	self->p.state->answer[FX_OP_DMABUF_ATTACH] = -EACCES;
	self->p.state->answer[FX_OP_DMABUF_MAP] = -EBUSY;
	EXPECT_EQ(0, fxt_attach(self->fd, 0, false));
	EXPECT_EQ(-EBUSY, fxt_attach(self->fd, 0, true));
	EXPECT_EQ(0, fxt_show(GRAPH, &self->show));
	EXPECT_EQ(FX_OP_BIT(FX_OP_DMABUF_ATTACH), self->show.missing);

	/* it leaves: the next attach of a policy gets the hook */
	EXPECT_EQ(0, fxt_rmmod_within("fx_owner", 5000));
	fxt_policy_detach(&self->p);
	ASSERT_EQ(0, fxt_policy_attach(&self->p));
	EXPECT_EQ(-EACCES, fxt_attach(self->fd, 0, false));
	EXPECT_EQ(0, fxt_show(GRAPH, &self->show));
	EXPECT_EQ(0, self->show.missing);
	/* and cannot come back meanwhile */
	EXPECT_EQ(-EBUSY, fxt_insmod(fxt_test_module("fx_owner")));
}

/* With ftrace off no hook works: say so, and do not let it be turned off unseen. */
TEST_F(hooks, ftrace_is_not_turned_off_under_a_policy)
{
	/* newer kernels do not let anybody turn it off */
	if (write_text(FTRACE, "0") == -EOPNOTSUPP)
		SKIP(return, "kernel.ftrace_enabled cannot be 0 on this kernel");
	ASSERT_EQ(0, write_text(FTRACE, "1"));
	ASSERT_EQ(0, fxt_policy_load(&self->p));
	self->p.state->answer[FX_OP_DMABUF_ATTACH] = -EACCES;
	ASSERT_EQ(0, fxt_policy_attach(&self->p));
	EXPECT_EQ(-EBUSY, write_text(FTRACE, "0"));
	EXPECT_EQ(-EACCES, fxt_attach(self->fd, 0, false));
	fxt_policy_detach(&self->p);
	ASSERT_EQ(true, fxt_hooked_becomes(0, HOOKS_MS));

	ASSERT_EQ(0, write_text(FTRACE, "0"));
	EXPECT_EQ(0, fxt_policy_attach(&self->p));
	EXPECT_EQ(0, fxt_attach(self->fd, 0, false));
	EXPECT_EQ(0, fxt_show(GRAPH, &self->show));
	EXPECT_EQ(self->p.ops->hooks, self->show.missing);
	EXPECT_EQ(0, write_text(FTRACE, "1"));
	fxt_policy_detach(&self->p);
	ASSERT_EQ(0, fxt_policy_attach(&self->p));
	EXPECT_EQ(-EACCES, fxt_attach(self->fd, 0, false));
}

/* A kernel without a function that a policy wants to be asked about. */
TEST_F(hooks, what_this_kernel_cannot_hook_is_told)
{
	int p2p = !system("grep -qw pci_p2pdma_map_type /proc/kallsyms");

	self->p.ops->hooks = FX_OP_BIT(FX_OP_DMABUF_MAP) | FX_OP_BIT(FX_OP_P2P_MMAP) |
			     FX_OP_BIT(FX_OP_MEM_ONLINE);
	ASSERT_EQ(0, fxt_policy_run(&self->p));
	EXPECT_EQ(0, fxt_show(GRAPH, &self->show));
	EXPECT_EQ(p2p ? 0 : FX_OP_BIT(FX_OP_P2P_MMAP), self->show.missing);
}

TEST_HARNESS_MAIN
