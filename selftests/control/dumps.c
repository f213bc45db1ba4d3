// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Reading back: whole, in any size, while graphs come and go; events. */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../kselftest_harness.h"
#include "nl.h"

#define NAME		"dumps"
#define MILLION		1000000U
#define MANY		300000U

FIXTURE(dumps)
{
	struct nl nl;
	struct graph g;
	struct req r;
};

FIXTURE_SETUP(dumps)
{
	ASSERT_EQ(0, module_load());
	ASSERT_EQ(0, nl_open(&self->nl));
	graph_make(&self->g, NAME, 9);
}

FIXTURE_TEARDOWN(dumps)
{
	nl_name(&self->nl, FX_CMD_GRAPH_DEL, NAME);
	nl_close(&self->nl);
	graph_free(&self->g);
}

/* Rows of a table must be the records that were uploaded, in their order. */
struct seen {
	struct graph *g;
	__u32 section;
	__u16 attr;
	__u32 rows;
	__u32 wrong;
};

static void check_row(struct nlattr *attrs, size_t len, void *arg)
{
	struct seen *s = arg;
	struct nlattr *a = nl_find(attrs, len, s->attr);
	size_t size;
	void *record = graph_record(s->g, s->section, s->rows, &size);

	s->wrong += nl_u32(attrs, len, FX_A_INDEX) != s->rows || !a ||
		    nl_len(a) != size || memcmp(nl_data(a), record, size);
	s->rows++;
}

static void request(struct req *r, __u8 cmd, const char *graph)
{
	req_init(r, cmd);
	r->h.nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
	if (graph)
		req_str(r, FX_A_NAME, graph);
}

TEST_F(dumps, tables_are_what_was_uploaded)
{
	static const struct {
		__u8 cmd;
		__u32 section;
		__u16 attr;
	} rows[] = {
		{ FX_CMD_PLACE_GET, FX_SECT_PLACE, FX_A_PLACE },
		{ FX_CMD_CLASS_GET, FX_SECT_CLASS, FX_A_CLASS },
		{ FX_CMD_EDGE_GET, FX_SECT_EDGE, FX_A_EDGE },
	};

	ASSERT_EQ(0, nl_load(&self->nl, &self->g));
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct seen s = { &self->g, rows[i].section, rows[i].attr, 0, 0 };

		request(&self->r, rows[i].cmd, NAME);
		EXPECT_EQ(0, nl_dump(&self->nl, &self->r, check_row, &s));
		EXPECT_EQ(self->g.hdr.count[rows[i].section], s.rows);
		EXPECT_EQ(0U, s.wrong);

		request(&self->r, rows[i].cmd, "no-such-graph");
		EXPECT_EQ(-ENOENT, nl_dump(&self->nl, &self->r, NULL, NULL));
		EXPECT_EQ(FX_A_NAME, self->nl.bad_attr);
		EXPECT_NE(0, self->nl.msg[0]);
	}
}

static void count_row(struct nlattr *attrs, size_t len, void *arg)
{
	__u32 *rows = arg;

	/* counters begin at zero, and every row has its index */
	if (nl_u32(attrs, len, FX_A_INDEX) == *rows &&
	    !nl_u64(attrs, len, FX_A_ASKED) && !nl_u64(attrs, len, FX_A_REFUSED) &&
	    !nl_u64(attrs, len, FX_A_INVALID))
		++*rows;
}

TEST_F(dumps, counters_have_a_row_per_op)
{
	__u32 rows = 0;

	ASSERT_EQ(0, nl_load(&self->nl, &self->g));
	request(&self->r, FX_CMD_COUNTER_GET, NAME);
	EXPECT_EQ(0, nl_dump(&self->nl, &self->r, count_row, &rows));
	EXPECT_EQ((__u32)FX_OPS, rows);
}

struct graph_row {
	__u32 rows;
	__u32 mine;
	__u32 wrong;
	const struct graph *g;
	__u64 kmem;
	__u64 emitted;
};

static void graph_row(struct nlattr *attrs, size_t len, void *arg)
{
	struct nlattr *name = nl_find(attrs, len, FX_A_NAME);
	struct nlattr *digest = nl_find(attrs, len, FX_A_DIGEST);
	struct nlattr *counts = nl_find(attrs, len, FX_A_COUNTS);
	struct graph_row *s = arg;

	s->rows++;
	if (!name || strcmp(nl_data(name), s->g->hdr.name))
		return;
	s->mine++;
	s->wrong += !digest || memcmp(nl_data(digest), s->g->hdr.digest, FX_DIGEST_LEN) ||
		    !counts || memcmp(nl_data(counts), s->g->hdr.count, sizeof(s->g->hdr.count)) ||
		    nl_u32(attrs, len, FX_A_FLAGS) || nl_u32(attrs, len, FX_A_EXIT_KIND) ||
		    nl_find(attrs, len, FX_A_POLICY);
	s->kmem = nl_u64(attrs, len, FX_A_KMEM);
	s->emitted = nl_u64(attrs, len, FX_A_EMITTED);
}

TEST_F(dumps, graphs)
{
	struct graph_row all = { .g = &self->g }, one = { .g = &self->g };
	char name[FX_NAME_LEN];
	struct graph g;

	ASSERT_EQ(0, nl_load(&self->nl, &self->g));
	for (int i = 0; i < 40; i++) {
		snprintf(name, sizeof(name), "dumps-%d", i);
		graph_make(&g, name, 2);
		ASSERT_EQ(0, nl_load(&self->nl, &g));
		graph_free(&g);
	}
	request(&self->r, FX_CMD_GRAPH_GET, NULL);
	EXPECT_EQ(0, nl_dump(&self->nl, &self->r, graph_row, &all));
	EXPECT_GE(all.rows, 41U);
	EXPECT_EQ(1U, all.mine);
	EXPECT_EQ(0U, all.wrong);

	req_init(&self->r, FX_CMD_GRAPH_GET);
	req_str(&self->r, FX_A_NAME, NAME);
	EXPECT_EQ(0, nl_dump(&self->nl, &self->r, graph_row, &one));
	EXPECT_EQ(1U, one.rows);
	EXPECT_EQ(0U, one.wrong);
	for (int i = 0; i < 40; i++) {
		snprintf(name, sizeof(name), "dumps-%d", i);
		EXPECT_EQ(0, nl_name(&self->nl, FX_CMD_GRAPH_DEL, name));
	}
	EXPECT_EQ(-ENOENT, nl_name(&self->nl, FX_CMD_GRAPH_DEL, "dumps-0"));
	EXPECT_EQ(-ENOENT, nl_name(&self->nl, FX_CMD_BYPASS, "dumps-0"));
	EXPECT_EQ(0, nl_name(&self->nl, FX_CMD_BYPASS, NAME));
	EXPECT_EQ(0, nl_bare(&self->nl, FX_CMD_BYPASS));
}

TEST_F(dumps, at_most_so_many_graphs)
{
	char name[FX_NAME_LEN];
	int n = 0, err = 0;
	struct graph g;

	while (!err && n <= FX_MAX_GRAPHS) {
		snprintf(name, sizeof(name), "dumps-%d", n);
		graph_make(&g, name, 2);
		err = nl_load(&self->nl, &g);
		n += !err;
		graph_free(&g);
	}
	EXPECT_EQ(-ENOSPC, err);
	EXPECT_LE(n, FX_MAX_GRAPHS);
	EXPECT_EQ(0, nl_bare(&self->nl, FX_CMD_GRAPH_ABORT));
	while (n--) {
		snprintf(name, sizeof(name), "dumps-%d", n);
		EXPECT_EQ(0, nl_name(&self->nl, FX_CMD_GRAPH_DEL, name));
	}
}

/* ---- while graphs go --------------------------------------------------- */

TEST_F(dumps, a_dump_outlives_its_graph)
{
	struct seen s;
	struct graph big;
	struct nl other;
	long before = meminfo("VmallocUsed");
	int ret;

	graph_make(&big, "dumps-big", MANY);
	ASSERT_EQ(0, nl_load(&self->nl, &big)) {
		TH_LOG("%s", self->nl.msg);
	}
	s = (struct seen){ &big, FX_SECT_EDGE, FX_A_EDGE, 0, 0 };
	request(&self->r, FX_CMD_EDGE_GET, "dumps-big");
	ASSERT_EQ(0, nl_dump_start(&self->nl, &self->r));
	ASSERT_EQ(1, nl_dump_more(&self->nl, check_row, &s));
	EXPECT_LT(s.rows, MANY);

	ASSERT_EQ(0, nl_open(&other));
	EXPECT_EQ(0, nl_name(&other, FX_CMD_GRAPH_DEL, "dumps-big"));
	EXPECT_EQ(-ENOENT, nl_name(&other, FX_CMD_GRAPH_GET, "dumps-big"));
	do {
		ret = nl_dump_more(&self->nl, check_row, &s);
	} while (ret == 1);
	EXPECT_EQ(0, ret);
	EXPECT_EQ(MANY, s.rows);
	EXPECT_EQ(0U, s.wrong);
	usleep(100000);
	EXPECT_LT(meminfo("VmallocUsed") - before, 4L << 20);
	graph_free(&big);
	nl_close(&other);
}

TEST_F(dumps, a_dump_that_nobody_reads_ends_with_its_socket)
{
	long before = meminfo("VmallocUsed");
	struct graph big;

	graph_make(&big, "dumps-big", MANY);
	ASSERT_EQ(0, nl_load(&self->nl, &big)) {
		TH_LOG("%s", self->nl.msg);
	}
	request(&self->r, FX_CMD_EDGE_GET, "dumps-big");
	ASSERT_EQ(0, nl_dump_start(&self->nl, &self->r));
	ASSERT_EQ(1, nl_dump_more(&self->nl, NULL, NULL));
	nl_close(&self->nl);
	ASSERT_EQ(0, nl_open(&self->nl));
	EXPECT_EQ(0, nl_name(&self->nl, FX_CMD_GRAPH_DEL, "dumps-big"));
	usleep(100000);
	EXPECT_LT(meminfo("VmallocUsed") - before, 4L << 20);
	graph_free(&big);
}

static void nothing(struct nlattr *attrs, size_t len, void *arg)
{
	(void)attrs;
	(void)len;
	(void)arg;
}

TEST_F_TIMEOUT(dumps, graphs_come_and_go_under_dumps, 120)
{
	struct graph g;
	int status, ret;
	pid_t pid = fork();

	if (!pid) {
		struct nl nl;

		if (nl_open(&nl))
			_exit(1);
		for (;;) {
			graph_make(&g, "dumps-churn", 2);
			if (nl_load(&nl, &g) ||
			    nl_name(&nl, FX_CMD_GRAPH_DEL, "dumps-churn"))
				_exit(2);
			graph_free(&g);
		}
	}
	ASSERT_GT(pid, 0);
	ASSERT_EQ(0, nl_load(&self->nl, &self->g));
	for (int i = 0; i < 300; i++) {
		struct graph_row all = { .g = &self->g };

		request(&self->r, FX_CMD_GRAPH_GET, NULL);
		ret = nl_dump(&self->nl, &self->r, graph_row, &all);
		ASSERT_TRUE(!ret || ret == -EAGAIN);
		if (!ret)
			ASSERT_EQ(1U, all.mine);
		request(&self->r, FX_CMD_EDGE_GET, "dumps-churn");
		ret = nl_dump(&self->nl, &self->r, nothing, NULL);
		ASSERT_TRUE(!ret || ret == -ENOENT);
	}
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	EXPECT_TRUE(WIFSIGNALED(status));
	nl_name(&self->nl, FX_CMD_GRAPH_DEL, "dumps-churn");
}

/* ---- a million --------------------------------------------------------- */

TEST_F_TIMEOUT(dumps, a_million_edges, 300)
{
	long slab = meminfo("Slab"), vmalloc = meminfo("VmallocUsed"), grown;
	struct graph_row row;
	struct graph big;
	struct seen s;

	graph_make(&big, "dumps-million", MILLION);
	ASSERT_EQ(0, nl_load(&self->nl, &big)) {
		TH_LOG("%s", self->nl.msg);
	}
	grown = meminfo("Slab") - slab + meminfo("VmallocUsed") - vmalloc;

	row = (struct graph_row){ .g = &big };
	req_init(&self->r, FX_CMD_GRAPH_GET);
	req_str(&self->r, FX_A_NAME, "dumps-million");
	EXPECT_EQ(0, nl_dump(&self->nl, &self->r, graph_row, &row));
	TH_LOG("a million edges: %llu bytes each by kmem, %ld by /proc/meminfo",
	       row.kmem / MILLION, grown / MILLION);
	EXPECT_LE(row.kmem, 200ULL * MILLION);
	EXPECT_LE(grown, 200L * MILLION);
	/* kmem is no fiction: the system's count is not larger by a tenth */
	EXPECT_LE(grown, (long)(row.kmem + row.kmem / 10));

	s = (struct seen){ &big, FX_SECT_EDGE, FX_A_EDGE, 0, 0 };
	request(&self->r, FX_CMD_EDGE_GET, "dumps-million");
	EXPECT_EQ(0, nl_dump(&self->nl, &self->r, check_row, &s));
	EXPECT_EQ(MILLION, s.rows);
	EXPECT_EQ(0U, s.wrong);
	EXPECT_EQ(0, nl_name(&self->nl, FX_CMD_GRAPH_DEL, "dumps-million"));
	usleep(100000);
	EXPECT_LT(meminfo("VmallocUsed") - vmalloc, 4L << 20);
	graph_free(&big);
}

/* ---- events ------------------------------------------------------------ */

/* A graph whose every place is node 0: loading it has an event per place. */
#define PLACES	((__u32)FX_MAX_PLACES)

static int load_places(struct nl *nl, const char *name)
{
	static struct fx_place_desc place[PLACES];
	struct graph g;
	int err;

	graph_make(&g, name, 2);
	for (__u32 i = 0; i < PLACES; i++) {
		place[i] = g.place[0];
		snprintf(place[i].name, sizeof(place[i].name), "p%u", i);
	}
	g.hdr.count[FX_SECT_PLACE] = PLACES;
	err = nl_begin(nl, &g);
	for (__u32 i = 0; !err && i < PLACES; i += 128)
		err = nl_chunk(nl, FX_SECT_PLACE, i, &place[i], 128 * sizeof(*place));
	for (__u32 s = FX_SECT_ALIAS; !err && s < FX_SECTS; s++) {
		size_t size;
		void *base = graph_record(&g, s, 0, &size);

		err = nl_chunk(nl, s, 0, base, size * g.hdr.count[s]);
	}
	if (!err)
		err = nl_bare(nl, FX_CMD_GRAPH_COMMIT);
	graph_free(&g);
	return err;
}

struct heard {
	const char *graph;
	__u64 next;
	__u64 emitted;
	__u64 lost;
	__u32 events;
	__u32 wrong;
};

static void hear(struct nlattr *attrs, size_t len, void *arg)
{
	struct nlattr *name = nl_find(attrs, len, FX_A_NAME), *a;
	struct heard *s = arg;
	struct fx_event ev;
	size_t at = 0;

	if (!name || strcmp(nl_data(name), s->graph))
		return;
	s->emitted = nl_u64(attrs, len, FX_A_EMITTED);
	s->lost = nl_u64(attrs, len, FX_A_LOST);
	while ((a = (void *)((char *)attrs + at)) && at + NLA_HDRLEN <= len) {
		at += NLA_ALIGN(a->nla_len);
		if (a->nla_type != FX_A_EVENT)
			continue;
		if (nl_len(a) != sizeof(ev)) {
			s->wrong++;
			continue;
		}
		memcpy(&ev, nl_data(a), sizeof(ev));
		s->wrong += ev.seq < s->next || ev.type != FX_EV_PLACE ||
			    ev.place != ev.seq || ev.reserved;
		s->next = ev.seq + 1;
		s->events++;
	}
}

static int wait_events(struct nl *nl, struct heard *s, __u32 n)
{
	struct pollfd fd = { .fd = nl->fd, .events = POLLIN };
	int err = 0;

	while (!err && s->events < n && poll(&fd, 1, 5000) > 0)
		err = nl_events(nl, hear, s);
	return err;
}

TEST_F(dumps, events_arrive_whole_and_in_order)
{
	struct heard s = { .graph = "dumps-events" };
	struct nl listener;
	int size = 1 << 20;

	ASSERT_EQ(0, nl_open(&listener));
	ASSERT_EQ(0, setsockopt(listener.fd, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof(size)));
	ASSERT_EQ(0, nl_join(&listener));
	ASSERT_EQ(0, load_places(&self->nl, "dumps-events"));
	EXPECT_EQ(0, wait_events(&listener, &s, PLACES));
	EXPECT_EQ(PLACES, s.events);
	EXPECT_EQ(0U, s.wrong);
	EXPECT_EQ(PLACES, s.emitted);
	EXPECT_EQ(0U, s.lost);
	EXPECT_EQ(0, nl_name(&self->nl, FX_CMD_GRAPH_DEL, "dumps-events"));
	nl_close(&listener);
}

/* A listener that does not read loses events, hears of it, and nobody else does. */
TEST_F(dumps, a_slow_listener_harms_itself_only)
{
	struct heard s = { .graph = "dumps-events" };
	struct heard slow = { .graph = "dumps-events" };
	struct nl listener, sleeper;
	int big = 1 << 20, small = 1, err;

	ASSERT_EQ(0, nl_open(&listener));
	ASSERT_EQ(0, nl_open(&sleeper));
	ASSERT_EQ(0, setsockopt(listener.fd, SOL_SOCKET, SO_RCVBUFFORCE, &big, sizeof(big)));
	ASSERT_EQ(0, setsockopt(sleeper.fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small)));
	ASSERT_EQ(0, nl_join(&listener));
	ASSERT_EQ(0, nl_join(&sleeper));
	ASSERT_EQ(0, load_places(&self->nl, "dumps-events"));
	EXPECT_EQ(0, wait_events(&listener, &s, PLACES));
	EXPECT_EQ(PLACES, s.events);
	EXPECT_EQ(0U, s.wrong);

	err = wait_events(&sleeper, &slow, PLACES);
	EXPECT_EQ(-ENOBUFS, err);
	EXPECT_LT(slow.events, PLACES);
	EXPECT_EQ(0, nl_name(&self->nl, FX_CMD_GRAPH_DEL, "dumps-events"));
	nl_close(&listener);
	nl_close(&sleeper);
}

TEST_HARNESS_MAIN
