// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Upload transactions: whose they are, when they end, who pays, who may. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../kselftest_harness.h"
#include "files.h"
#include "nl.h"

#define NAME		"uploads"
#define MANY		(1U << 20)	/* edges: 40 MiB of tables */
#define UPLOADS_MAX	16

FIXTURE(uploads)
{
	struct nl nl;
	struct graph g;
};

FIXTURE_SETUP(uploads)
{
	ASSERT_EQ(0, module_load());
	ASSERT_EQ(0, nl_open(&self->nl));
	graph_make(&self->g, NAME, 9);
}

FIXTURE_TEARDOWN(uploads)
{
	nl_close(&self->nl);
	graph_free(&self->g);
}

TEST_F(uploads, one_transaction_per_socket)
{
	struct nl other;

	EXPECT_EQ(-ENOENT, nl_chunk(&self->nl, FX_SECT_PLACE, 0, self->g.place,
				    sizeof(self->g.place)));
	EXPECT_NE(NULL, strstr(self->nl.msg, "begin"));
	EXPECT_EQ(-ENOENT, nl_bare(&self->nl, FX_CMD_GRAPH_COMMIT));
	EXPECT_EQ(-ENOENT, nl_bare(&self->nl, FX_CMD_GRAPH_ABORT));

	ASSERT_EQ(0, nl_begin(&self->nl, &self->g));
	EXPECT_EQ(-EBUSY, nl_begin(&self->nl, &self->g));
	EXPECT_NE(NULL, strstr(self->nl.msg, "upload open"));

	/* another socket has none, and may have its own */
	ASSERT_EQ(0, nl_open(&other));
	EXPECT_EQ(-ENOENT, nl_bare(&other, FX_CMD_GRAPH_COMMIT));
	EXPECT_EQ(-ENOENT, nl_chunk(&other, FX_SECT_PLACE, 0, self->g.place,
				    sizeof(self->g.place)));
	EXPECT_EQ(0, nl_begin(&other, &self->g));
	EXPECT_EQ(0, nl_sections(&other, &self->g));
	EXPECT_EQ(0, nl_bare(&other, FX_CMD_GRAPH_COMMIT));

	/* the first to commit has the name */
	EXPECT_EQ(0, nl_sections(&self->nl, &self->g));
	EXPECT_EQ(-EEXIST, nl_bare(&self->nl, FX_CMD_GRAPH_COMMIT));
	EXPECT_NE(NULL, strstr(self->nl.msg, "name"));
	EXPECT_EQ(0, nl_name(&other, FX_CMD_GRAPH_DEL, NAME));
	EXPECT_EQ(0, nl_bare(&self->nl, FX_CMD_GRAPH_COMMIT));
	EXPECT_EQ(0, nl_name(&other, FX_CMD_GRAPH_DEL, NAME));

	/* what is committed is no transaction any more */
	EXPECT_EQ(-ENOENT, nl_bare(&self->nl, FX_CMD_GRAPH_COMMIT));
	EXPECT_EQ(0, nl_begin(&self->nl, &self->g));
	EXPECT_EQ(0, nl_bare(&self->nl, FX_CMD_GRAPH_ABORT));
	EXPECT_EQ(-ENOENT, nl_bare(&self->nl, FX_CMD_GRAPH_ABORT));
	nl_close(&other);
}

TEST_F(uploads, there_is_a_limit_and_a_counter)
{
	struct nl nl[UPLOADS_MAX + 1];
	long before = module_count("uploads_refused");
	int i;

	for (i = 0; i <= UPLOADS_MAX; i++)
		ASSERT_EQ(0, nl_open(&nl[i]));
	for (i = 0; i < UPLOADS_MAX; i++)
		EXPECT_EQ(0, nl_begin(&nl[i], &self->g));
	EXPECT_EQ(-EBUSY, nl_begin(&nl[i], &self->g));
	EXPECT_NE(NULL, strstr(nl[i].msg, "too many"));
	EXPECT_EQ(before + 1, module_count("uploads_refused"));
	/* room is made by one that ends, however it ends */
	nl_close(&nl[0]);
	EXPECT_EQ(0, nl_begin(&nl[i], &self->g));
	for (i = 1; i <= UPLOADS_MAX; i++)
		nl_close(&nl[i]);
}

/* Pages of vmalloc within a MiB of @want, which others may disturb a while. */
static bool vmalloc_is(long want)
{
	for (int i = 0; i < 50; i++) {
		if (labs(meminfo("VmallocUsed") - want) < 1 << 20)
			return true;
		usleep(100000);
	}
	return false;
}

TEST_F(uploads, memory_returns_with_the_socket)
{
	struct graph big;
	long before;

	graph_make(&big, "uploads-big", MANY);
	before = meminfo("VmallocUsed");
	ASSERT_EQ(0, nl_begin(&self->nl, &big));
	EXPECT_GE(meminfo("VmallocUsed") - before, 40L << 20);
	nl_close(&self->nl);
	EXPECT_TRUE(vmalloc_is(before));
	graph_free(&big);
	ASSERT_EQ(0, nl_open(&self->nl));
	EXPECT_EQ(-ENOENT, nl_name(&self->nl, FX_CMD_GRAPH_GET, "uploads-big"));
}

TEST_F(uploads, memory_returns_with_the_process)
{
	long before = meminfo("VmallocUsed");
	struct graph big;
	int ready[2], status;
	char c;
	pid_t pid;

	graph_make(&big, "uploads-big", MANY);
	ASSERT_EQ(0, pipe(ready));
	pid = fork();
	ASSERT_GE(pid, 0);
	if (!pid) {
		struct nl nl;

		if (nl_open(&nl) || nl_begin(&nl, &big) || write(ready[1], "x", 1) != 1)
			_exit(1);
		pause();
		_exit(0);
	}
	ASSERT_EQ(1, read(ready[0], &c, 1));
	EXPECT_GE(meminfo("VmallocUsed") - before, 40L << 20);
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	EXPECT_TRUE(WIFSIGNALED(status));
	EXPECT_TRUE(vmalloc_is(before));
	graph_free(&big);
}

/* ---- who pays ---------------------------------------------------------- */

#define CGROUP	"/sys/fs/cgroup/fx-uploads"

TEST_F(uploads, charged_to_the_sender)
{
	struct graph big;
	char path[64], pid[16];
	long used = 0;
	FILE *f;

	if (write_text("/sys/fs/cgroup/cgroup.subtree_control", "+memory"))
		SKIP(return, "no memory controller in /sys/fs/cgroup");
	if (mkdir(CGROUP, 0755) && errno != EEXIST)
		SKIP(return, "no cgroup can be made in /sys/fs/cgroup");
	graph_make(&big, "uploads-big", MANY);
	snprintf(pid, sizeof(pid), "%d", getpid());
	ASSERT_EQ(0, write_text(CGROUP "/cgroup.procs", pid));
	ASSERT_EQ(0, nl_begin(&self->nl, &big));
	snprintf(path, sizeof(path), CGROUP "/memory.current");
	f = fopen(path, "r");
	ASSERT_NE(NULL, f);
	EXPECT_EQ(1, fscanf(f, "%ld", &used));
	fclose(f);
	EXPECT_GE(used, 40L << 20);

	/* who may not use that much gets -ENOMEM, not everybody's memory */
	EXPECT_EQ(0, nl_bare(&self->nl, FX_CMD_GRAPH_ABORT));
	ASSERT_EQ(0, write_text(CGROUP "/memory.max", "33554432"));
	EXPECT_EQ(-ENOMEM, nl_begin(&self->nl, &big));
	EXPECT_NE(NULL, strstr(self->nl.msg, "memory"));

	EXPECT_EQ(0, write_text("/sys/fs/cgroup/cgroup.procs", pid));
	rmdir(CGROUP);
	graph_free(&big);
}

/* ---- who may ----------------------------------------------------------- */

/* Every command from a process without rights; the number that went through. */
static int try_all(struct nl *nl)
{
	static const struct {
		__u8 cmd;
		bool dump;
	} rows[] = {
		{ FX_CMD_GRAPH_BEGIN }, { FX_CMD_GRAPH_CHUNK }, { FX_CMD_GRAPH_COMMIT },
		{ FX_CMD_GRAPH_ABORT }, { FX_CMD_GRAPH_DEL }, { FX_CMD_GRAPH_GET },
		{ FX_CMD_GRAPH_GET, true }, { FX_CMD_PLACE_GET, true },
		{ FX_CMD_CLASS_GET, true }, { FX_CMD_EDGE_GET, true },
		{ FX_CMD_COUNTER_GET, true }, { FX_CMD_BYPASS },
	};
	struct req *r = malloc(sizeof(*r));
	int through = 0;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		req_init(r, rows[i].cmd);
		if (rows[i].dump)
			r->h.nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
		through += nl_do(nl, r) != -EPERM;
	}
	through += nl_join(nl) != -EPERM;
	free(r);
	return through;
}

/* Runs in a child: the result of try_all(), or 100 and more when it fails. */
static int in_child(int (*drop)(void), struct nl *nl)
{
	struct nl own;
	int status;
	pid_t pid = fork();

	if (!pid) {
		if (drop())
			_exit(100);
		if (!nl) {
			if (nl_open(&own))
				_exit(101);
			nl = &own;
		}
		_exit(try_all(nl));
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
		return 102;
	return WEXITSTATUS(status);
}

static int become_nobody(void)
{
	return setgid(65534) || setuid(65534) ? -errno : 0;
}

static int become_root_of_nothing(void)
{
	return unshare(CLONE_NEWUSER) ? -errno : 0;
}

TEST_F(uploads, the_unprivileged_are_refused)
{
	EXPECT_EQ(0, in_child(become_nobody, NULL));
}

/* A socket that root opened does not carry root's rights to who uses it. */
TEST_F(uploads, a_privileged_socket_gives_no_rights)
{
	EXPECT_EQ(0, in_child(become_nobody, &self->nl));
}

TEST_F(uploads, capabilities_of_another_user_namespace_do_not_count)
{
	int got = in_child(become_root_of_nothing, NULL);

	if (got == 100)
		SKIP(return, "user namespaces are switched off");
	EXPECT_EQ(0, got);
}

TEST_F(uploads, other_network_namespaces_have_no_family)
{
	struct nl nl;
	int status;
	pid_t pid = fork();

	if (!pid) {
		if (unshare(CLONE_NEWNET))
			_exit(100);
		_exit(nl_open(&nl) == -ENOENT ? 0 : 1);
	}
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
}

TEST_HARNESS_MAIN
