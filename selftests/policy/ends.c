// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* How a policy ends: by what it did, by an operator, by its link; each once. */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <kselftest_harness.h>
#include "fxt.h"

#define GRAPH	"ends"
#define BYPASS	"/sys/module/fabric_ext/parameters/bypass"

FIXTURE(ends) {
	struct fxt_policy p;
	struct fxt_show show;
	int fd;
};

FIXTURE_SETUP(ends)
{
	memset(&self->p, 0, sizeof(self->p));
	ASSERT_EQ(0, fxt_modules());
	ASSERT_EQ(0, fxt_small_graph(GRAPH));
	self->fd = fxt_export_plain();
	ASSERT_LE(0, self->fd);
}

FIXTURE_TEARDOWN(ends)
{
	close(self->fd);
	fxt_policy_close(&self->p);
	EXPECT_EQ(0, fxgraph_unload(GRAPH));
}

/* By-passed for @kind with @says in its message; dump and exit came once. */
static void expect_ended(struct __test_metadata *_metadata, struct _test_data_ends *self,
			 const char *kind, __u32 number, const char *says)
{
	ASSERT_EQ(0, fxt_show_ended(GRAPH, &self->show));
	EXPECT_EQ(true, self->show.attached);
	EXPECT_EQ(true, self->show.bypassed);
	EXPECT_STREQ(kind, self->show.exit);
	EXPECT_NE(NULL, strstr(self->show.message, says)) {
		TH_LOG("message: %s", self->show.message);
	}
	EXPECT_EQ(1, self->p.state->dumps);
	EXPECT_EQ(1, self->p.state->exits);
	EXPECT_EQ(number, self->p.state->exit_kind);
	fxt_policy_detach(&self->p);
	EXPECT_EQ(1, self->p.state->dumps);
	EXPECT_EQ(1, self->p.state->exits);
}

TEST_F(ends, garbage_is_no_answer_and_beyond_the_budget_the_end)
{
	static const int garbage[] = {
		1, 7, -1000, -22 /* EINVAL */, -14 /* EFAULT */, -4096, INT32_MAX, INT32_MIN,
	};
	size_t i;

	ASSERT_EQ(0, fxt_policy_open(&self->p, "answer", GRAPH));
	self->p.ops->invalid_budget = ARRAY_SIZE(garbage);
	ASSERT_EQ(0, fxt_policy_run(&self->p));
	for (i = 0; i < ARRAY_SIZE(garbage); i++) {
		self->p.state->answer[FX_OP_DMABUF_ATTACH] = garbage[i];
		EXPECT_EQ(0, fxt_attach(self->fd, 0, true));
	}
	ASSERT_EQ(0, fxt_show(GRAPH, &self->show));
	EXPECT_EQ(false, self->show.bypassed);
	EXPECT_EQ(ARRAY_SIZE(garbage), self->show.op[FX_OP_DMABUF_ATTACH].invalid);
	EXPECT_EQ(0, self->show.op[FX_OP_DMABUF_ATTACH].refused);

	/* one more is one too many, and from then on the default holds */
	EXPECT_EQ(0, fxt_attach(self->fd, 0, true));
	self->p.state->answer[FX_OP_DMABUF_ATTACH] = -EACCES;
	EXPECT_EQ(0, fxt_attach(self->fd, 0, true));
	expect_ended(_metadata, self, "verdict", FX_EXIT_VERDICT, "9 invalid verdicts");
	EXPECT_EQ(ARRAY_SIZE(garbage) + 1, self->show.op[FX_OP_DMABUF_ATTACH].invalid);
}

TEST_F(ends, an_answer_to_what_is_told_is_invalid)
{
	static const int told[] = {
		FX_OP_DMABUF_UNMAP, FX_OP_DMABUF_DETACH, FX_OP_DMABUF_RELEASE,
	};
	size_t i;
	int fd;

	ASSERT_EQ(0, fxt_policy_open(&self->p, "answer", GRAPH));
	self->p.ops->invalid_budget = 2;
	ASSERT_EQ(0, fxt_policy_run(&self->p));
	for (i = 0; i < ARRAY_SIZE(told); i++) {
		self->p.state->answer[told[i]] = -EPERM;
		fd = fxt_export_plain();
		ASSERT_LE(0, fd);
		EXPECT_EQ(0, fxt_attach(fd, 0, true));
		close(fd);
		self->p.state->answer[told[i]] = 0;
	}
	expect_ended(_metadata, self, "verdict", FX_EXIT_VERDICT, "3 invalid verdicts");
	for (i = 0; i < ARRAY_SIZE(told); i++)
		EXPECT_EQ(1, self->show.op[told[i]].invalid);
}

static void misbehave(struct __test_metadata *_metadata, struct _test_data_ends *self,
		      __u32 mischief, const char *kind, __u32 number, const char *says)
{
	ASSERT_EQ(0, fxt_policy_open(&self->p, "misbehave", GRAPH));
	self->p.ops->timeout_ms = mischief == FXT_SPIN ? 20 : 10000;
	ASSERT_EQ(0, fxt_policy_run(&self->p));
	EXPECT_EQ(0, fxt_attach(self->fd, 0, true));
	self->p.state->spin_ns = 200000000;
	self->p.state->mischief = mischief;
	EXPECT_EQ(0, fxt_attach(self->fd, 0, true));
	EXPECT_EQ(2, self->p.state->asked[FX_OP_DMABUF_ATTACH]);
	/* it is not asked any more */
	EXPECT_EQ(0, fxt_attach(self->fd, 0, true));
	EXPECT_EQ(2, self->p.state->asked[FX_OP_DMABUF_ATTACH]);
	expect_ended(_metadata, self, kind, number, says);
	EXPECT_STREQ("attaches=2\nexits_before=0\n", self->show.dump);
}

TEST_F(ends, an_edge_that_is_not_there)
{
	misbehave(_metadata, self, FXT_BAD_EDGE, "kfunc", FX_EXIT_KFUNC,
		  "fx_bpf_edge(): no edge 1000");
}

TEST_F(ends, the_class_of_an_edge_that_is_not_there)
{
	misbehave(_metadata, self, FXT_BAD_CLASS, "kfunc", FX_EXIT_KFUNC,
		  "fx_bpf_class(): no edge 1000");
}

TEST_F(ends, a_place_that_is_not_there)
{
	misbehave(_metadata, self, FXT_BAD_PLACE, "kfunc", FX_EXIT_KFUNC,
		  "fx_bpf_place(): no place 1000");
}

TEST_F(ends, too_little_room_for_a_tag)
{
	misbehave(_metadata, self, FXT_SMALL_TAG, "kfunc", FX_EXIT_KFUNC,
		  "fx_bpf_buf_tag(): tag__sz 4");
}

TEST_F(ends, a_policy_gives_up)
{
	misbehave(_metadata, self, FXT_GIVE_UP, "error", FX_EXIT_ERROR, "that is enough");
}

TEST_F(ends, an_op_takes_too_long)
{
	misbehave(_metadata, self, FXT_SPIN, "timeout", FX_EXIT_TIMEOUT, "timeout_ms is 20");
}

/* What an op answers that also ended its policy is still checked and enforced. */
TEST_F(ends, a_refusal_counts_that_comes_with_the_end)
{
	ASSERT_EQ(0, fxt_policy_start(&self->p, "misbehave", GRAPH));
	self->p.state->mischief = FXT_GIVE_UP;
	self->p.state->answer[FX_OP_DMABUF_ATTACH] = -EACCES;
	EXPECT_EQ(-EACCES, fxt_attach(self->fd, 0, true));
	EXPECT_EQ(0, fxt_attach(self->fd, 0, true));
	expect_ended(_metadata, self, "error", FX_EXIT_ERROR, "that is enough");
	EXPECT_EQ(1, self->show.op[FX_OP_DMABUF_ATTACH].refused);
}

/* Two processors at once: still one end. */
TEST_F(ends, two_find_the_fault_and_it_ends_once)
{
	struct fxt_load *load;
	int i;

	for (i = 0; i < 10; i++) {
		ASSERT_EQ(0, fxt_policy_start(&self->p, "answer", GRAPH));
		load = fxt_load_start(self->fd, true);
		ASSERT_NE(NULL, load);
		EXPECT_EQ(true, fxt_load_progress(load, 1));
		self->p.state->answer[FX_OP_DMABUF_ATTACH] = 1;
		self->p.state->answer[FX_OP_DMABUF_MAP] = 1;
		EXPECT_EQ(true, fxt_load_progress(load, 20));
		fxt_load_stop(load);
		EXPECT_EQ(0, fxt_load_refused(load));
		EXPECT_EQ(0, fxt_load_other(load));
		fxt_policy_detach(&self->p);
		EXPECT_EQ(1, self->p.state->exits);
		EXPECT_EQ(1, self->p.state->dumps);
		EXPECT_EQ(FX_EXIT_VERDICT, self->p.state->exit_kind);
		fxt_policy_close(&self->p);
	}
}

TEST_F(ends, its_link_closes)
{
	ASSERT_EQ(0, fxt_policy_start(&self->p, "answer", GRAPH));
	EXPECT_EQ(0, fxt_attach(self->fd, 0, true));
	fxt_policy_detach(&self->p);
	EXPECT_EQ(1, self->p.state->inits);
	EXPECT_EQ(1, self->p.state->dumps);
	EXPECT_EQ(1, self->p.state->exits);
	EXPECT_EQ(FX_EXIT_UNREG, self->p.state->exit_kind);
	ASSERT_EQ(0, fxt_show(GRAPH, &self->show));
	EXPECT_EQ(false, self->show.attached);
	EXPECT_STREQ("unreg", self->show.exit);
	EXPECT_STREQ("attaches=1\nexits_before=0\n", self->show.dump);
}

TEST_F(ends, it_is_replaced)
{
	struct fxt_policy next;

	ASSERT_EQ(0, fxt_policy_start(&self->p, "answer", GRAPH));
	ASSERT_EQ(0, fxt_policy_open(&next, "answer", GRAPH));
	ASSERT_EQ(0, fxt_policy_load(&next));
	next.state->answer[FX_OP_DMABUF_ATTACH] = -EBUSY;
	ASSERT_EQ(0, fxt_policy_replace(&self->p, &next));
	EXPECT_EQ(-EBUSY, fxt_attach(self->fd, 0, true));
	EXPECT_EQ(1, self->p.state->exits);
	EXPECT_EQ(FX_EXIT_REPLACED, self->p.state->exit_kind);
	EXPECT_EQ(0, next.state->exits);
	EXPECT_EQ(1, next.state->inits);
	ASSERT_EQ(0, fxt_show(GRAPH, &self->show));
	EXPECT_EQ(true, self->show.attached);
	EXPECT_EQ(false, self->show.bypassed);
	EXPECT_STREQ("", self->show.exit);
	fxt_policy_close(&next);
	EXPECT_EQ(0, fxt_attach(self->fd, 0, true));
}

TEST_F(ends, not_by_one_of_another_graph)
{
	struct fxt_policy next;

	ASSERT_EQ(0, fxt_graph("other", 0, "nobody", 1));
	ASSERT_EQ(0, fxt_policy_start(&self->p, "answer", GRAPH));
	self->p.state->answer[FX_OP_DMABUF_ATTACH] = -EACCES;
	ASSERT_EQ(0, fxt_policy_open(&next, "answer", "other"));
	ASSERT_EQ(0, fxt_policy_load(&next));
	EXPECT_EQ(-EINVAL, fxt_policy_replace(&self->p, &next));
	EXPECT_EQ(0, next.state->inits);
	fxt_policy_close(&next);
	EXPECT_EQ(-EACCES, fxt_attach(self->fd, 0, true));
	EXPECT_EQ(0, self->p.state->exits);
	EXPECT_EQ(0, fxgraph_unload("other"));
}

/* What its init refuses does not take the old one's place. */
TEST_F(ends, not_by_one_whose_init_fails)
{
	struct fxt_policy next;

	ASSERT_EQ(0, fxt_policy_start(&self->p, "answer", GRAPH));
	self->p.state->answer[FX_OP_DMABUF_ATTACH] = -EACCES;
	ASSERT_EQ(0, fxt_policy_open(&next, "answer", GRAPH));
	ASSERT_EQ(0, fxt_policy_load(&next));
	next.state->init_answer = -ENOSPC;
	EXPECT_EQ(-ENOSPC, fxt_policy_replace(&self->p, &next));
	EXPECT_EQ(1, next.state->inits);
	EXPECT_EQ(0, next.state->exits);
	fxt_policy_close(&next);
	EXPECT_EQ(-EACCES, fxt_attach(self->fd, 0, true));
	EXPECT_EQ(0, self->p.state->exits);
}

/* One that ended makes room for another by the same way. */
TEST_F(ends, one_that_ended_is_replaced)
{
	struct fxt_policy next;

	ASSERT_EQ(0, fxt_policy_start(&self->p, "misbehave", GRAPH));
	self->p.state->mischief = FXT_GIVE_UP;
	EXPECT_EQ(0, fxt_attach(self->fd, 0, true));
	ASSERT_EQ(0, fxt_policy_open(&next, "answer", GRAPH));
	ASSERT_EQ(0, fxt_policy_load(&next));
	next.state->answer[FX_OP_DMABUF_ATTACH] = -EACCES;
	ASSERT_EQ(0, fxt_policy_replace(&self->p, &next));
	EXPECT_EQ(-EACCES, fxt_attach(self->fd, 0, true));
	EXPECT_EQ(1, self->p.state->exits);
	EXPECT_EQ(FX_EXIT_ERROR, self->p.state->exit_kind);
	fxt_policy_close(&next);
}

TEST_F(ends, init_refuses_and_nothing_was_attached)
{
	ASSERT_EQ(0, fxt_policy_open(&self->p, "answer", GRAPH));
	ASSERT_EQ(0, fxt_policy_load(&self->p));
	self->p.state->init_answer = -ENOSPC;
	EXPECT_EQ(-ENOSPC, fxt_policy_attach(&self->p));
	self->p.state->init_answer = 5;
	EXPECT_EQ(-EINVAL, fxt_policy_attach(&self->p));
	self->p.state->init_answer = -100000;
	EXPECT_EQ(-EINVAL, fxt_policy_attach(&self->p));
	EXPECT_EQ(3, self->p.state->inits);
	EXPECT_EQ(0, self->p.state->exits);
	EXPECT_EQ(0, self->p.state->dumps);
	self->p.state->answer[FX_OP_DMABUF_ATTACH] = -EACCES;
	EXPECT_EQ(0, fxt_attach(self->fd, 0, true));
	self->p.state->init_answer = 0;
	EXPECT_EQ(0, fxt_policy_attach(&self->p));
	EXPECT_EQ(-EACCES, fxt_attach(self->fd, 0, true));
}

/* It gives up in init, and init says whether that is a failure. */
TEST_F(ends, init_gives_up)
{
	ASSERT_EQ(0, fxt_policy_open(&self->p, "answer", GRAPH));
	ASSERT_EQ(0, fxt_policy_load(&self->p));
	self->p.state->init_gives_up = 1;
	self->p.state->init_answer = -EBUSY;
	EXPECT_EQ(-EBUSY, fxt_policy_attach(&self->p));
	fxt_sleep_ms(100);
	EXPECT_EQ(0, self->p.state->exits);
	EXPECT_EQ(0, self->p.state->dumps);
	self->p.state->init_answer = 0;
	EXPECT_EQ(0, fxt_policy_attach(&self->p));
	expect_ended(_metadata, self, "error", FX_EXIT_ERROR, "init gives up");
}

TEST_F(ends, an_operator_bypasses_it)
{
	ASSERT_EQ(0, fxt_policy_start(&self->p, "answer", GRAPH));
	self->p.state->answer[FX_OP_DMABUF_ATTACH] = -EACCES;
	EXPECT_EQ(-EACCES, fxt_attach(self->fd, 0, true));
	EXPECT_EQ(0, system("fabricctl bypass --all"));
	EXPECT_EQ(0, fxt_attach(self->fd, 0, true));
	expect_ended(_metadata, self, "bypass", FX_EXIT_BYPASS, "operator");
}

TEST_F(ends, the_parameter_bypasses_it_and_keeps_others_out)
{
	ASSERT_EQ(0, fxt_policy_start(&self->p, "answer", GRAPH));
	self->p.state->answer[FX_OP_DMABUF_ATTACH] = -EACCES;
	EXPECT_EQ(-EACCES, fxt_attach(self->fd, 0, true));
	EXPECT_EQ(0, write_text(BYPASS, "1"));
	EXPECT_EQ(0, fxt_attach(self->fd, 0, true));
	expect_ended(_metadata, self, "bypass", FX_EXIT_BYPASS, "operator");
	EXPECT_EQ(-ECANCELED, fxt_policy_attach(&self->p));
	EXPECT_EQ(0, write_text(BYPASS, "0"));
	EXPECT_EQ(0, fxt_policy_attach(&self->p));
	EXPECT_EQ(-EACCES, fxt_attach(self->fd, 0, true));
}

TEST_HARNESS_MAIN
