// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Litmus tests of the map classes across programs of three kinds that share
 * their maps as attach wires them: 100,000 rounds of each question, and once
 * more the plain way, which has to be found out.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "litmus_run.h"

#define ROUNDS		100000
#define EPOCHS		64	/* at least, while the readers read */
#define TRIES		20	/* of what has to fail, where CPUs are rarely free */

/* ---- running ----------------------------------------------------------- */

struct job {
	u32 executor;
	u32 op;
	u32 rounds;
	struct litmus at_end;
	u64 back;			/* how often what was seen went back */
	int err;
};

static void *run(void *arg)
{
	struct job *j = arg;
	struct litmus l = { .op = j->op };
	u64 before;

	for (u32 i = 0; i < j->rounds && !j->err; i++) {
		before = l.seen;
		l.arg = i + 1;
		j->err = litmus_ask(j->executor, &l);
		j->back += l.seen < before;
	}
	j->at_end = l;
	return NULL;
}

/* All at once; then none may have failed. */
static void run_all(struct job *job, u32 n)
{
	pthread_t thread[8];

	for (u32 i = 0; i < n; i++)
		assert_int_equal(pthread_create(&thread[i], NULL, run, &job[i]), 0);
	for (u32 i = 0; i < n; i++)
		pthread_join(thread[i], NULL);
	for (u32 i = 0; i < n; i++)
		assert_int_equal(job[i].err, 0);
}

static u64 word(const char *map, u32 i)
{
	u64 value[8] = { 0 };

	assert_int_equal(bpf_map_lookup_elem(litmus_fd(map), &i, value), 0);
	return value[0];
}

static void ready(void)
{
	if (!*litmus_why)
		return;
	print_message("# SKIP %s\n", litmus_why);
	skip();
}

/* ---- coherent ---------------------------------------------------------- */

static u64 add_everywhere(u32 op)
{
	struct job job[EXECUTORS] = { 0 };

	for (u32 i = 0; i < EXECUTORS; i++)
		job[i] = (struct job){ .executor = i, .op = op, .rounds = ROUNDS };
	run_all(job, EXECUTORS);
	return (u64)EXECUTORS * ROUNDS;
}

static void lost_update(void **state)
{
	u64 all;

	(void)state;
	ready();
	all = add_everywhere(LITMUS_ADD);
	assert_int_equal(word("words", 0), all);
	all = 0;
	for (u32 i = 0; i < TRIES && word("plain", 0) == all; i++)
		all += add_everywhere(LITMUS_ADD_PLAIN);
	print_message("# plain: %llu of %llu are lost\n", all - word("plain", 0), all);
	assert_true(word("plain", 0) < all);
}

static u64 pass_messages(u32 op)
{
	struct job job[EXECUTORS] = {
		{ .executor = SYSCALL, .op = op, .rounds = ROUNDS },
		{ .executor = XDP, .op = LITMUS_RECEIVE, .rounds = ROUNDS },
		{ .executor = TC, .op = LITMUS_RECEIVE, .rounds = ROUNDS },
	};
	const struct { u64 word; } zero = { 0 };

	for (u32 i = 1; i < 3; i++)
		assert_int_equal(bpf_map_update_elem(litmus_fd("words"), &i, &zero, BPF_ANY), 0);
	run_all(job, EXECUTORS);
	/* they met: the receivers saw more than the last */
	assert_true(job[1].at_end.seen || job[2].at_end.seen);
	return job[1].at_end.bad + job[2].at_end.bad;
}

static void message_passing(void **state)
{
	u64 bad = 0;

	(void)state;
	ready();
	assert_int_equal(pass_messages(LITMUS_SEND), 0);
	for (u32 i = 0; i < TRIES && !bad; i++)
		bad = pass_messages(LITMUS_SEND_PLAIN);
	print_message("# the flag first: %llu flags came before their data\n", bad);
	assert_true(bad);
}

/* ---- counter ----------------------------------------------------------- */

static u64 sum(void)
{
	int cpus = libbpf_num_possible_cpus();
	u64 *each = calloc(cpus, sizeof(*each)), all = 0;
	const u32 zero = 0;

	for (u32 i = 0; i < EXECUTORS; i++) {
		char file[32];

		snprintf(file, sizeof(file), "counts@%s", executor_name[i]);
		assert_int_equal(bpf_map_lookup_elem(litmus_fd(file), &zero, each), 0);
		for (int j = 0; j < cpus; j++)
			all += each[j];
	}
	free(each);
	return all;
}

static void counter_sum(void **state)
{
	u64 all;

	(void)state;
	ready();
	all = add_everywhere(LITMUS_COUNT);
	assert_int_equal(sum(), all);
	/* the twin is the one of lost_update: nobody's shard */
}

/* ---- snapshot ---------------------------------------------------------- */

struct publisher {
	volatile bool stop;
	bool plain;
	u64 epochs;
	int err;
};

static int publish(const struct publisher *p, u64 *table, u64 epoch)
{
	const u32 zero = 0;

	if (!p->plain)
		return litmus_publish(table, epoch);
	for (u32 i = 0; i < LITMUS_TABLE; i++)
		table[i] = epoch;
	return bpf_map_update_elem(litmus_fd("plain_table"), &zero, table, BPF_ANY) ? -errno : 0;
}

static void *publish_on(void *arg)
{
	struct publisher *p = arg;
	u64 *table = calloc(LITMUS_TABLE + 1, sizeof(*table));

	while (!p->err && (!p->stop || p->epochs < EPOCHS))
		p->err = publish(p, table, ++p->epochs);
	free(table);
	return NULL;
}

static u64 read_tables(bool plain)
{
	struct publisher p = { .plain = plain };
	struct job job[EXECUTORS] = { 0 };
	u64 bad = 0, back = 0;
	pthread_t thread;

	for (u32 i = 0; i < EXECUTORS; i++)
		job[i] = (struct job){ .executor = i, .rounds = ROUNDS,
				       .op = plain ? LITMUS_TABLE_READ_PLAIN : LITMUS_TABLE_READ };
	assert_int_equal(pthread_create(&thread, NULL, publish_on, &p), 0);
	run_all(job, EXECUTORS);
	p.stop = true;
	pthread_join(thread, NULL);
	assert_int_equal(p.err, 0);
	for (u32 i = 0; i < EXECUTORS; i++) {
		bad += job[i].at_end.bad;
		back += job[i].back;
		assert_true(plain || job[i].at_end.seen);
	}
	print_message("# %s: %llu epochs, %llu torn, %llu went back\n",
		      plain ? "plain" : "snapshot", p.epochs, bad, back);
	return bad + back;
}

static void torn_snapshot(void **state)
{
	u64 bad = 0;

	(void)state;
	ready();
	assert_int_equal(read_tables(false), 0);
	for (u32 i = 0; i < TRIES && !bad; i++)
		bad = read_tables(true);
	assert_true(bad);
}

/* ---- bounded, in one memory -------------------------------------------- */

static u64 put_and_get(u32 put, u32 get)
{
	struct job job[2 * EXECUTORS - 1] = { 0 };
	u64 bad = 0;

	for (u32 i = 0; i < ARRAY_SIZE(job); i++)
		job[i] = (struct job){ .executor = i % EXECUTORS, .rounds = ROUNDS,
				       .op = i < EXECUTORS - 1 ? put : get };
	run_all(job, ARRAY_SIZE(job));
	for (u32 i = 0; i < ARRAY_SIZE(job); i++)
		bad += job[i].at_end.bad;
	return bad;
}

static void last_writer_whole(void **state)
{
	u64 bad = 0;

	(void)state;
	ready();
	assert_int_equal(put_and_get(LITMUS_PUT, LITMUS_GET), 0);
	for (u32 i = 0; i < TRIES && !bad; i++)
		bad = put_and_get(LITMUS_PUT_PLAIN, LITMUS_GET_PLAIN);
	print_message("# plain: %llu values are of two writers\n", bad);
	assert_true(bad);
}

static int setup(void **state)
{
	(void)state;
	return litmus_open() < 0 ? -1 : 0;
}

static int teardown(void **state)
{
	(void)state;
	litmus_close();
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lost_update),
		cmocka_unit_test(message_passing),
		cmocka_unit_test(counter_sum),
		cmocka_unit_test(torn_snapshot),
		cmocka_unit_test(last_writer_whole),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("litmus", tests, setup, teardown);
}
