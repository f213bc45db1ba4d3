// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Litmus tests of the map classes across programs of three kinds that share
 * their maps as attach wires them: 100,000 rounds of each question, and once
 * more the plain way, which has to be found out.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/bpf.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "litmus.h"
#include "lower/map_class.h"
#include "maps.h"
#include "maps_wire.h"

#define ROUNDS		100000
#define EPOCHS		64	/* at least, while the readers read */
#define TRIES		20	/* of what has to fail, where CPUs are rarely free */

enum { SYSCALL, XDP, TC, EXECUTORS };

static const char *const executor_name[EXECUTORS] = { "syscall", "xdp", "tc" };

static struct bpf_object *obj[EXECUTORS];
static int prog[EXECUTORS];
static struct fx_map_list known;
static struct fx_maps *maps;
static char why[256];

/* ---- running ----------------------------------------------------------- */

struct job {
	u32 executor;
	u32 op;
	u32 rounds;
	struct litmus at_end;
	u64 back;			/* how often what was seen went back */
	int err;
};

static int ask(u32 executor, struct litmus *l)
{
	u8 packet[LITMUS_AT + sizeof(*l) + 16] = { 0 }, out[sizeof(packet)];
	LIBBPF_OPTS(bpf_test_run_opts, run);

	if (executor == SYSCALL) {
		run.ctx_in = l;
		run.ctx_size_in = sizeof(*l);
	} else {
		memcpy(packet + LITMUS_AT, l, sizeof(*l));
		run.data_in = packet;
		run.data_size_in = sizeof(packet);
		run.data_out = out;
		run.data_size_out = sizeof(out);
	}
	if (bpf_prog_test_run_opts(prog[executor], &run))
		return -errno;
	if (executor != SYSCALL)
		memcpy(l, out + LITMUS_AT, sizeof(*l));
	return 0;
}

static void *run(void *arg)
{
	struct job *j = arg;
	struct litmus l = { .op = j->op };
	u64 before;

	for (u32 i = 0; i < j->rounds && !j->err; i++) {
		before = l.seen;
		l.arg = i + 1;
		j->err = ask(j->executor, &l);
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

static int fd_of(const char *map)
{
	struct fx_wired *w = fx_maps_find(maps, map);

	return w ? w->fd : bpf_map__fd(bpf_object__find_map_by_name(obj[SYSCALL], map));
}

static u64 word(const char *map, u32 i)
{
	u64 value[8] = { 0 };

	assert_int_equal(bpf_map_lookup_elem(fd_of(map), &i, value), 0);
	return value[0];
}

static void ready(void)
{
	if (!*why)
		return;
	print_message("# %s\n", why);
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
		assert_int_equal(bpf_map_update_elem(fd_of("words"), &i, &zero, BPF_ANY), 0);
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
		assert_int_equal(bpf_map_lookup_elem(fd_of(file), &zero, each), 0);
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

static int publish(struct publisher *p, u64 *table, u64 epoch)
{
	LIBBPF_OPTS(bpf_map_create_opts, opts, .map_flags = BPF_F_RDONLY_PROG);
	const u32 zero = 0;
	int fd, err = 0;

	for (u32 i = 0; i <= LITMUS_TABLE; i++)
		table[i] = epoch;
	if (p->plain)
		return bpf_map_update_elem(fd_of("plain_table"), &zero, table + 1, BPF_ANY) ?
		       -errno : 0;
	fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "litmus", sizeof(zero),
			    (LITMUS_TABLE + 1) * sizeof(*table), 1, &opts);
	if (fd < 0)
		return -errno;
	if (bpf_map_update_elem(fd, &zero, table, BPF_ANY) ||
	    bpf_map_update_elem(fd_of("table"), &zero, &fd, BPF_ANY))
		err = -errno;
	close(fd);
	return err;
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

/* ---- the programs ------------------------------------------------------ */

static int list_maps(struct bpf_object *o)
{
	struct fx_map_desc d;
	struct bpf_map *map;

	known.map = calloc(FX_MAPS_MAX, sizeof(*known.map));
	bpf_object__for_each_map(map, o) {
		if (!fx_map_class_of(bpf_object__btf(o), bpf_map__name(map)))
			continue;
		if (fx_map_describe(o, map, &d))
			return -EINVAL;
		known.map[known.n++] = d;
	}
	return 0;
}

/* The plain ones are shared by hand. */
static int share_plain(u32 i)
{
	static const char *const names[] = { "plain", "plain_table" };
	int err = 0;

	for (u32 j = 0; i && j < ARRAY_SIZE(names) && !err; j++)
		err = bpf_map__reuse_fd(bpf_object__find_map_by_name(obj[i], names[j]),
					fd_of(names[j]));
	return err;
}

static int load(u32 i)
{
	char path[512];
	int err;

	snprintf(path, sizeof(path), LITMUS_DIR "/litmus_%s.bpf.o", executor_name[i]);
	obj[i] = bpf_object__open_file(path, NULL);
	if (!obj[i])
		return -errno;
	err = i ? 0 : list_maps(obj[i]);
	if (!i)
		maps = fx_maps_new("litmus", &known, FX_MAPS_NEW);
	if (!err && fx_maps_before_load(maps, obj[i], executor_name[i]) != FX_RC_OK)
		err = -EINVAL;
	if (!err)
		err = share_plain(i);
	if (!err)
		err = bpf_object__load(obj[i]);
	if (!err && fx_maps_after_load(maps, obj[i]) != FX_RC_OK)
		err = -EINVAL;
	prog[i] = err ? -1 : bpf_program__fd(bpf_object__find_program_by_name(obj[i], "litmus_run"));
	return err;
}

static int setup(void **state)
{
	(void)state;
	if (geteuid()) {
		snprintf(why, sizeof(why), "SKIP loading programs needs root");
		return 0;
	}
	for (u32 i = 0; i < EXECUTORS; i++) {
		int err = load(i);

		/* a kernel that cannot is one thing, a program that is wrong another */
		if (err == -EPERM || err == -ENOSYS) {
			snprintf(why, sizeof(why), "SKIP this kernel loads no programs: %s",
				 strerror(-err));
			return 0;
		}
		if (err) {
			print_error("litmus_%s.bpf.o: %s\n", executor_name[i], strerror(-err));
			return -1;
		}
	}
	return fx_maps_begin(maps) == FX_RC_OK ? 0 : -1;
}

static int teardown(void **state)
{
	(void)state;
	for (u32 i = 0; i < EXECUTORS; i++)
		bpf_object__close(obj[i]);
	fx_maps_free(maps);
	fx_map_list_free(&known);
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
