// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Policies and the module come and go while others work. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <kselftest_harness.h>
#include "fxt.h"

#define GRAPH	"lifetime"
#define BYPASS	"/sys/module/fabric_ext/parameters/bypass"

FIXTURE(lifetime) {
	struct fxt_policy p, next;
	int fd;
};

FIXTURE_SETUP(lifetime)
{
	memset(&self->p, 0, sizeof(self->p));
	memset(&self->next, 0, sizeof(self->next));
	ASSERT_EQ(0, fxt_modules());
	ASSERT_EQ(0, fxt_small_graph(GRAPH));
	self->fd = fxt_export_plain();
	ASSERT_LE(0, self->fd);
}

FIXTURE_TEARDOWN(lifetime)
{
	close(self->fd);
	fxt_policy_close(&self->next);
	fxt_policy_close(&self->p);
	if (fxt_refcount("fabric_ext") >= 0)
		EXPECT_EQ(0, fxgraph_unload(GRAPH));
}

#define CYCLES	500

/* Every eighth time the policy ends by itself, so that eject meets detach. */
static int cycles(struct fxt_policy *p, int n)
{
	int i, err;

	for (i = 0; i < n; i++) {
		p->state->answer[FX_OP_DMABUF_ATTACH] = i % 8 ? -EACCES : 1;
		err = fxt_policy_attach(p);
		if (err) {
			printf("# cycle %d: %s\n", i, strerror(-err));
			return err;
		}
		if (i % 3 == 0)
			sched_yield();
		fxt_policy_detach(p);
	}
	return 0;
}

/*
 * The first half brings caches to their working size. What the second half
 * adds is a leak: one object a cycle would be CYCLES.
 */
TEST_F_TIMEOUT(lifetime, a_thousand_attaches_under_load_leave_nothing, 110)
{
	struct fxt_census *was = malloc(sizeof(*was)), *is = malloc(sizeof(*is));
	struct fxt_load *load;
	__u64 began;
	__u64 admitted;

	ASSERT_NE(NULL, was);
	ASSERT_NE(NULL, is);
	ASSERT_EQ(0, fxt_policy_open(&self->p, "answer", GRAPH));
	ASSERT_EQ(0, fxt_policy_load(&self->p));
	load = fxt_load_start(self->fd, true);
	ASSERT_NE(NULL, load);
	began = fxt_now_ms();
	EXPECT_EQ(0, cycles(&self->p, CYCLES));
	ASSERT_EQ(0, fxt_census(was));
	EXPECT_EQ(0, cycles(&self->p, CYCLES));
	TH_LOG("%llu ms a cycle", (fxt_now_ms() - began) / (2 * CYCLES));
	ASSERT_EQ(0, fxt_census(is));
	EXPECT_EQ(2 * CYCLES, self->p.state->inits);
	EXPECT_EQ(2 * CYCLES, self->p.state->exits);
	EXPECT_EQ(2 * CYCLES, self->p.state->dumps);

	admitted = fxt_load_admitted(load);
	EXPECT_LT(0, admitted);
	EXPECT_LT(0, fxt_load_refused(load));
	EXPECT_EQ(true, fxt_load_progress(load, 10));
	fxt_load_stop(load);
	EXPECT_EQ(0, fxt_load_other(load));
	EXPECT_LT(admitted, fxt_load_admitted(load));

	EXPECT_EQ(was->refcount, is->refcount);
	EXPECT_EQ(was->dmabufs, is->dmabufs);
	EXPECT_EQ(was->bpf, is->bpf);
	EXPECT_LE(is->vmallocs, was->vmallocs + 20);
	EXPECT_EQ(0, fxt_census_grown(was, is, CYCLES / 2));
	fxt_policy_close(&self->p);
	free(was);
	free(is);
}

/* Hooks themselves are patched in and out, not only policies exchanged. */
TEST_F_TIMEOUT(lifetime, hooks_come_and_go_under_load, 60)
{
	struct fxt_load *load = fxt_load_start(self->fd, true);
	int i;

	ASSERT_NE(NULL, load);
	ASSERT_EQ(0, fxt_policy_open(&self->p, "answer", GRAPH));
	ASSERT_EQ(0, fxt_policy_load(&self->p));
	self->p.state->answer[FX_OP_DMABUF_ATTACH] = -EACCES;
	for (i = 0; i < 3; i++) {
		ASSERT_EQ(0, fxt_policy_attach(&self->p));
		EXPECT_EQ(-EACCES, fxt_attach(self->fd, 0, false));
		fxt_policy_detach(&self->p);
		EXPECT_EQ(0, fxt_attach(self->fd, 0, false));
		EXPECT_EQ(true, fxt_hooked_becomes(0, 8000));
	}
	EXPECT_EQ(true, fxt_load_progress(load, 10));
	fxt_load_stop(load);
	EXPECT_EQ(0, fxt_load_other(load));
}

/* Both deny: an attach that is admitted met no policy at all. */
TEST_F_TIMEOUT(lifetime, replace_leaves_no_gap, 60)
{
	struct fxt_load *load;
	int i;

	ASSERT_EQ(0, fxt_policy_open(&self->p, "answer", GRAPH));
	ASSERT_EQ(0, fxt_policy_load(&self->p));
	ASSERT_EQ(0, fxt_policy_open(&self->next, "answer", GRAPH));
	ASSERT_EQ(0, fxt_policy_load(&self->next));
	self->p.state->answer[FX_OP_DMABUF_ATTACH] = -EACCES;
	self->next.state->answer[FX_OP_DMABUF_ATTACH] = -EACCES;
	ASSERT_EQ(0, fxt_policy_attach(&self->p));
	load = fxt_load_start(self->fd, true);
	ASSERT_NE(NULL, load);
	EXPECT_EQ(true, fxt_load_progress(load, 10));
	for (i = 0; i < 100; i++) {
		ASSERT_EQ(0, fxt_policy_replace(&self->p, &self->next));
		ASSERT_EQ(0, fxt_policy_replace(&self->next, &self->p));
	}
	EXPECT_EQ(true, fxt_load_progress(load, 10));
	fxt_load_stop(load);
	EXPECT_EQ(0, fxt_load_admitted(load));
	EXPECT_EQ(0, fxt_load_other(load));
	EXPECT_LT(200, fxt_load_refused(load));
	EXPECT_EQ(101, self->p.state->inits);
	EXPECT_EQ(100, self->p.state->exits);
	EXPECT_EQ(100, self->next.state->exits);
	EXPECT_EQ(FX_EXIT_REPLACED, self->next.state->exit_kind);
}

/* An operator's way out must win against whoever attaches meanwhile. */
TEST_F_TIMEOUT(lifetime, bypass_wins_against_attaching, 60)
{
	struct fxt_show show;
	pid_t pid = fork();
	int i, attached = 0;

	ASSERT_LE(0, pid);
	if (!pid) {
		struct fxt_policy p;
		int n = 0;

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (fxt_policy_open(&p, "answer", GRAPH) || fxt_policy_load(&p))
			_exit(1);
		p.state->answer[FX_OP_DMABUF_ATTACH] = -EACCES;
		for (;;) {
			if (fxt_policy_attach(&p))
				continue;
			fxt_sleep_ms(n++ % 8 * 2);
			fxt_policy_detach(&p);
		}
	}
	for (i = 0; i < 50; i++) {
		attached += fxt_attach(self->fd, 0, false) == -EACCES;
		ASSERT_EQ(0, write_text(BYPASS, "1"));
		EXPECT_EQ(0, fxt_attach(self->fd, 0, false));
		EXPECT_EQ(0, fxt_attach(self->fd, 1, true));
		ASSERT_EQ(0, write_text(BYPASS, "0"));
		fxt_sleep_ms(i % 10 * 3);
	}
	EXPECT_LT(0, attached);
	kill(pid, SIGKILL);
	EXPECT_EQ(pid, waitpid(pid, NULL, 0));
	/* its link closed with it */
	for (i = 0; i < 100 && !fxt_show(GRAPH, &show) && show.attached; i++)
		;
	EXPECT_EQ(false, show.attached);
}

TEST_F(lifetime, rmmod_is_refused_while_pinned)
{
	const char *pin = "/sys/fs/bpf/fxt_lifetime";

	ASSERT_EQ(0, fxt_policy_start(&self->p, "answer", GRAPH));
	ASSERT_EQ(0, bpf_link__pin(self->p.link, pin));
	fxt_policy_close(&self->p);
	EXPECT_EQ(-EWOULDBLOCK, fxt_rmmod("fabric_ext"));
	EXPECT_LT(0, fxt_hooked());
	ASSERT_EQ(0, unlink(pin));
	EXPECT_EQ(0, fxt_rmmod_within("fabric_ext", 5000));
	EXPECT_EQ(0, fxt_hooked());
}

/* Right after the end of the policy, with hooks still in and calls under way. */
TEST_F_TIMEOUT(lifetime, rmmod_right_after_detach_under_load, 60)
{
	struct fxt_load *load = fxt_load_start(self->fd, true);
	int i;

	ASSERT_NE(NULL, load);
	for (i = 0; i < 4; i++) {
		ASSERT_EQ(0, fxt_modules());
		if (i)
			ASSERT_EQ(0, fxt_small_graph(GRAPH));
		ASSERT_EQ(0, fxt_policy_start(&self->p, "answer", GRAPH));
		self->p.state->answer[FX_OP_DMABUF_ATTACH] = i & 1 ? -EACCES : 0;
		EXPECT_EQ(true, fxt_load_progress(load, 10));
		fxt_policy_close(&self->p);
		ASSERT_EQ(0, fxt_rmmod_within("fabric_ext", 10000));
		EXPECT_EQ(0, fxt_hooked());
	}
	EXPECT_EQ(true, fxt_load_progress(load, 10));
	fxt_load_stop(load);
	EXPECT_EQ(0, fxt_load_other(load));
}

/*
 * A tag of a dma-buf that outlives the module: its hook, which is in for the
 * tag's sake, leaves with the module and not after it.
 */
TEST_F(lifetime, rmmod_with_a_tag)
{
	struct fx_ioc_graph bind = { .size = sizeof(bind), .name = GRAPH };
	struct fx_ioc_tag tag = { .size = sizeof(tag), .fd = self->fd };
	int dev = open("/dev/fabric_ext", O_RDWR | O_CLOEXEC);

	ASSERT_LE(0, dev);
	ASSERT_EQ(0, ioctl(dev, FX_IOC_GRAPH, &bind));
	ASSERT_EQ(0, ioctl(dev, FX_IOC_TAG, &tag));
	close(dev);
	EXPECT_EQ(1, fxt_hooked());
	ASSERT_EQ(0, fxt_rmmod_within("fabric_ext", 5000));
	EXPECT_EQ(0, fxt_hooked());
	close(self->fd);
	self->fd = fxt_export_plain();
	EXPECT_EQ(0, fxt_attach(self->fd, 0, true));
}

struct sleeper {
	int fd;
	int result;
	volatile int done;
};

static void *attach_slowly(void *arg)
{
	struct sleeper *s = arg;

	s->result = fxt_attach(s->fd, 0, true);
	s->done = 1;
	return NULL;
}

/* No frame of ours is on the stack of the sleeping call. */
TEST_F(lifetime, rmmod_while_a_hooked_call_sleeps)
{
	const struct fx_ex_export slow = { .bytes = 4096, .attach_ms = 6000 };
	struct sleeper s = { .fd = fxt_export(&slow) };
	struct fx_ex_counts before;
	pthread_t thread;
	__u64 began;

	ASSERT_LE(0, s.fd);
	ASSERT_EQ(0, fxt_policy_start(&self->p, "answer", GRAPH));
	before = fxt_counts();
	ASSERT_EQ(0, pthread_create(&thread, NULL, attach_slowly, &s));
	while (fxt_counts().attach == before.attach)
		fxt_sleep_ms(5);
	EXPECT_EQ(1, self->p.state->asked[FX_OP_DMABUF_ATTACH]);
	began = fxt_now_ms();
	fxt_policy_close(&self->p);
	EXPECT_EQ(0, fxt_rmmod_within("fabric_ext", 5000));
	TH_LOG("gone after %llu ms", fxt_now_ms() - began);
	EXPECT_EQ(0, s.done);
	ASSERT_EQ(0, pthread_join(thread, NULL));
	EXPECT_EQ(0, s.result);
	EXPECT_EQ(before.attach + 1, fxt_counts().attach);
	close(s.fd);
}

/* Writing the parameter does not hold the module: it must not meet its end. */
TEST_F_TIMEOUT(lifetime, bypass_is_written_while_the_module_goes, 60)
{
	pid_t pid = fork();
	int i;

	ASSERT_LE(0, pid);
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (i = 0;; i++)
			write_text(BYPASS, i & 1 ? "1" : "0");
	}
	for (i = 0; i < 12; i++) {
		ASSERT_EQ(0, fxt_modules());
		if (i)
			ASSERT_EQ(0, fxt_small_graph(GRAPH));
		ASSERT_EQ(0, fxt_rmmod_within("fabric_ext", 5000));
	}
	kill(pid, SIGKILL);
	EXPECT_EQ(pid, waitpid(pid, NULL, 0));
}

TEST_HARNESS_MAIN
