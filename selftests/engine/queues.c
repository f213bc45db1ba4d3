// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Queues: waiting and polling, limits, what overtakes what, files that are
 * closed with work in flight, threads that do their worst.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <sys/wait.h>

#include "../kselftest_harness.h"
#include "util.h"

#define GRAPH	"engine-queues"
#define BYTES	(1u << 20)

FIXTURE(queues)
{
	int dev, dmabuf, dmabufs;
	__u32 src, dst;
};

FIXTURE_SETUP(queues)
{
	struct fx_completion c;

	self->dev = open_fresh(GRAPH);
	ASSERT_LE(0, self->dev);
	self->dmabufs = count_dmabufs();
	self->dmabuf = make_source(self->dev, BYTES, 0, &self->src, NULL);
	ASSERT_LE(0, self->dmabuf);
	ASSERT_EQ(0, fx_move(self->dev,
			     desc_of(EDGE(C_MOVE), self->src, BYTES), &c));
	ASSERT_EQ(0, c.error);
	self->dst = c.dst;
}

/* Whatever a test did: all memory and all dma-bufs are back. */
FIXTURE_TEARDOWN(queues)
{
	struct fx_completion c;
	__u32 src;

	close(self->dev);
	self->dev = open_bound(GRAPH);
	EXPECT_EQ(0, fx_import(self->dev, self->dmabuf, P_SRC, FX_EDGE_NONE,
			       &src));
	EXPECT_EQ(0, fx_move(self->dev,
			     desc_of(EDGE(C_SMALL), src, SMALL_BYTES), &c));
	EXPECT_EQ(0, c.error);
	close(self->dmabuf);
	close(self->dev);
	EXPECT_TRUE(dmabufs_are(self->dmabufs));
	EXPECT_EQ(0, fxgraph_unload(GRAPH));
}

static __u64 now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ULL + t.tv_nsec;
}

/* Into the buffer that is there: nothing to allocate. */
static struct fx_desc in_place(__u32 src, __u32 dst, __u64 bytes)
{
	struct fx_desc d = desc_of(EDGE(C_MOVE), src, bytes);

	d.dst = dst;
	return d;
}

/* Waits for exactly @n; returns how many came. */
static __u32 wait_all(int dev, struct fx_completion *c, __u32 n)
{
	__u32 got = 0, some;

	while (got < n && !fx_wait(dev, c + got, n - got, WAIT_NS, &some))
		got += some;
	return got;
}

/* ---- wait ---- */

TEST_F(queues, wait_times_out)
{
	struct fx_completion c;
	__u64 begin = now_ns(), took;
	__u32 n;

	EXPECT_EQ(-ETIMEDOUT, fx_wait(self->dev, &c, 1, 100000000, &n));
	took = now_ns() - begin;
	EXPECT_EQ(0, n);
	EXPECT_LE(100000000, took);
	EXPECT_GT(10000000000ULL, took);
}

TEST_F(queues, wait_without_waiting)
{
	struct fx_completion c;
	__u32 n;

	EXPECT_EQ(-EAGAIN, fx_wait(self->dev, &c, 1, 0, &n));
	EXPECT_EQ(0, n);
	ASSERT_EQ(0, fcntl(self->dev, F_SETFL, O_RDWR | O_NONBLOCK));
	EXPECT_EQ(-EAGAIN, fx_wait(self->dev, &c, 1, WAIT_NS, &n));
}

static void on_alarm(int signal)
{
	(void)signal;
}

TEST_F(queues, wait_ends_with_a_signal)
{
	struct sigaction act = { .sa_handler = on_alarm, .sa_flags = SA_RESTART };
	struct fx_completion c;
	__u64 begin = now_ns();
	__u32 n;

	ASSERT_EQ(0, sigaction(SIGALRM, &act, NULL));
	alarm(1);
	EXPECT_EQ(-EINTR, fx_wait(self->dev, &c, 1, 60000000000ULL, &n));
	EXPECT_GT(20000000000ULL, now_ns() - begin);
}

/* ---- poll ---- */

TEST_F(queues, poll)
{
	struct pollfd p = { .fd = self->dev, .events = POLLIN | POLLOUT };
	struct fx_desc d = in_place(self->src, self->dst, BYTES);
	struct fx_completion c;
	__u32 n;

	EXPECT_EQ(1, poll(&p, 1, 0));
	EXPECT_EQ(POLLOUT, p.revents);
	p.events = POLLIN;
	EXPECT_EQ(0, poll(&p, 1, 50));
	ASSERT_EQ(0, fx_submit(self->dev, &d, 1, &n));
	EXPECT_EQ(1, poll(&p, 1, 20000));
	EXPECT_EQ(POLLIN, p.revents);
	EXPECT_EQ(1, wait_all(self->dev, &c, 1));
	EXPECT_EQ(0, poll(&p, 1, 0));

	p.fd = open(DEVICE, O_RDWR);
	EXPECT_EQ(1, poll(&p, 1, 0));
	EXPECT_EQ(POLLERR, p.revents);
	close(p.fd);
}

/* ---- limits ---- */

TEST_F(queues, inflight_limit)
{
	static struct fx_desc b[FX_SUBMIT_MAX];
	static struct fx_completion c[FX_INFLIGHT_MAX];
	struct pollfd p = { .fd = self->dev, .events = POLLOUT };
	long refused = module_count("inflight_refused");
	__u32 i, n;

	for (i = 0; i < FX_SUBMIT_MAX; i++)
		b[i] = in_place(self->src, self->dst, 64);
	for (i = 0; i < FX_INFLIGHT_MAX / FX_SUBMIT_MAX; i++) {
		ASSERT_EQ(0, fx_submit(self->dev, b, FX_SUBMIT_MAX, &n));
		ASSERT_EQ(FX_SUBMIT_MAX, n);
	}
	/* read or not yet done, all of them count */
	EXPECT_EQ(-EAGAIN, fx_submit(self->dev, b, 1, &n));
	EXPECT_EQ(0, n);
	EXPECT_EQ(refused + 1, module_count("inflight_refused"));
	EXPECT_EQ(0, poll(&p, 1, 0));
	EXPECT_EQ(10, wait_all(self->dev, c, 10));
	EXPECT_EQ(1, poll(&p, 1, 0));
	EXPECT_EQ(0, fx_submit(self->dev, b, 100, &n));
	EXPECT_EQ(10, n);
	EXPECT_EQ(FX_INFLIGHT_MAX, wait_all(self->dev, c, FX_INFLIGHT_MAX));
	for (i = 0; i < FX_INFLIGHT_MAX; i++)
		ASSERT_EQ(0, c[i].error);
	EXPECT_EQ(-EAGAIN, fx_wait(self->dev, c, 1, 0, &n));
}

TEST_F(queues, handle_limit)
{
	__u32 handle, n = 2;
	long refused = module_count("handles_refused");
	int err, log = log_open();

	/* two are there: the source and the destination */
	while (!(err = fx_import(self->dev, self->dmabuf, P_SRC, FX_EDGE_NONE,
				 &handle)))
		n++;
	EXPECT_EQ(-ENOSPC, err);
	EXPECT_EQ(65536, n);
	EXPECT_EQ(refused + 1, module_count("handles_refused"));
	EXPECT_TRUE(log_has(log, "all 65536 handles"));
	EXPECT_EQ(0, fx_free(self->dev, 4711));
	EXPECT_EQ(0, fx_import(self->dev, self->dmabuf, P_SRC, FX_EDGE_NONE,
			       &handle));
	EXPECT_EQ(4711, handle);
	close(log);
}

/* ---- order ---- */

#define LOW	24

/* Position at which the last of a batch was done; the others are of C_MOVE. */
static int position_of_last(int dev, __u32 src, __u32 dst,
			    struct fx_desc last)
{
	struct fx_desc b[LOW + 1];
	struct fx_completion c[LOW + 1];
	__u32 i, n;

	for (i = 0; i < LOW; i++) {
		b[i] = in_place(src, dst, BYTES);
		b[i].cookie = i;
	}
	b[LOW] = last;
	b[LOW].cookie = LOW;
	if (fx_submit(dev, b, LOW + 1, &n) || n != LOW + 1 ||
	    wait_all(dev, c, LOW + 1) != LOW + 1)
		return -1;
	for (i = 0; i <= LOW; i++) {
		if (c[i].error)
			return -1;
		if (c[i].cookie == LOW)
			return i;
	}
	return -1;
}

TEST_F(queues, same_priority_is_in_order)
{
	struct fx_desc d = desc_of(EDGE(C_MOVE), self->src, 4096);

	EXPECT_EQ(LOW, position_of_last(self->dev, self->src, self->dst, d));
}

TEST_F(queues, urgent_overtakes)
{
	int at = LOW, i;

	/* the worker may be done with all others before the last is queued */
	for (i = 0; i < 10 && at == LOW; i++)
		at = position_of_last(self->dev, self->src, self->dst,
				      desc_of(EDGE(C_URGENT), self->src, 4096));
	EXPECT_LE(0, at);
	EXPECT_GT(LOW, at);
}

TEST_F(queues, ordered_does_not_overtake)
{
	struct fx_desc d = desc_of(EDGE(C_URGENT_ORDERED), self->src, 4096);

	EXPECT_EQ(LOW, position_of_last(self->dev, self->src, self->dst, d));
}

TEST_F(queues, writer_does_not_overtake_a_writer)
{
	struct fx_desc d = desc_of(EDGE(C_URGENT), self->src, 4096);

	d.dst = self->dst;
	EXPECT_EQ(LOW, position_of_last(self->dev, self->src, self->dst, d));
}

/* ---- the end of a file ---- */

static void submit_much(int dev, __u32 src, __u32 dst)
{
	struct fx_desc b[64];
	__u32 i, n;

	for (i = 0; i < 64; i++)
		b[i] = i % 2 ? in_place(src, dst, BYTES) :
			       desc_of(EDGE(C_MOVE), src, BYTES);
	for (i = 0; i < 8; i++)
		fx_submit(dev, b, 64, &n);
}

TEST_F(queues, close_with_work_in_flight)
{
	__u64 begin;

	submit_much(self->dev, self->src, self->dst);
	begin = now_ns();
	close(self->dev);
	EXPECT_GT(9000000000ULL, now_ns() - begin);
	self->dev = open_bound(GRAPH);
	EXPECT_LE(0, self->dev);
}

TEST_F(queues, kill_with_work_in_flight)
{
	int i, status, round;

	for (round = 0; round < 5; round++) {
		pid_t child = fork();

		ASSERT_LE(0, child);
		if (!child) {
			int dev = open_bound(GRAPH);
			struct fx_completion c;
			__u32 src;

			fx_import(dev, self->dmabuf, P_SRC, FX_EDGE_NONE, &src);
			fx_move(dev, desc_of(EDGE(C_MOVE), src, BYTES), &c);
			for (;;)
				submit_much(dev, src, c.dst);
		}
		for (i = 0; i < 3; i++)
			usleep(20000 + 30000 * round);
		kill(child, SIGKILL);
		ASSERT_EQ(child, waitpid(child, &status, 0));
		EXPECT_TRUE(WIFSIGNALED(status));
	}
}

/* ---- hostile threads ---- */

#define THREADS		6
#define SECONDS		5

struct hostile {
	int dev, dmabuf;
	unsigned int seed;
	__u64 submitted, completed;
};

static void hostile_submit(struct hostile *h)
{
	struct fx_desc b[8];
	__u32 i, n = 0;

	for (i = 0; i < 8; i++) {
		b[i] = desc_of(rand_r(&h->seed) % (2 * C_NUM),
			       rand_r(&h->seed) % 64,
			       1 + rand_r(&h->seed) % 8192);
		b[i].dst = rand_r(&h->seed) % 2 ? rand_r(&h->seed) % 64 : 0;
		b[i].flags = rand_r(&h->seed) % 2;
	}
	fx_submit(h->dev, b, 8, &n);
	h->submitted += n;
}

static void *hostile_thread(void *arg)
{
	__u64 end = now_ns() + SECONDS * 1000000000ULL;
	struct hostile *h = arg;
	struct fx_completion c[32];
	__u32 n;
	int fd;

	while (now_ns() < end) {
		switch (rand_r(&h->seed) % 8) {
		case 0:
			fx_free(h->dev, rand_r(&h->seed) % 64);
			break;
		case 1:
			fd = fx_export(h->dev, rand_r(&h->seed) % 64);
			if (fd >= 0)
				close(fd);
			break;
		case 2:
			fx_import(h->dev, h->dmabuf, P_SRC,
				  rand_r(&h->seed) % 2 ? EDGE(C_MOVE) :
							 FX_EDGE_NONE, &n);
			break;
		case 3:
		case 4:
			n = 0;
			fx_wait(h->dev, c, 32, rand_r(&h->seed) % 1000000, &n);
			h->completed += n;
			break;
		default:
			hostile_submit(h);
		}
	}
	return NULL;
}

TEST_F_TIMEOUT(queues, hostile_threads, 120)
{
	struct hostile h[THREADS];
	__u64 submitted = 0, completed = 0;
	pthread_t t[THREADS];
	struct fx_completion c[32];
	__u32 n;
	int i;

	for (i = 0; i < THREADS; i++) {
		h[i] = (struct hostile) {
			.dev = self->dev, .dmabuf = self->dmabuf, .seed = i,
		};
		ASSERT_EQ(0, pthread_create(&t[i], NULL, hostile_thread, &h[i]));
	}
	for (i = 0; i < THREADS; i++) {
		pthread_join(t[i], NULL);
		submitted += h[i].submitted;
		completed += h[i].completed;
	}
	while (completed < submitted &&
	       !fx_wait(self->dev, c, 32, WAIT_NS, &n))
		completed += n;
	TH_LOG("%llu movements", (unsigned long long)submitted);
	EXPECT_LT(0, submitted);
	EXPECT_EQ(submitted, completed);
	EXPECT_EQ(-EAGAIN, fx_wait(self->dev, c, 32, 0, &n));
}

TEST_HARNESS_MAIN
