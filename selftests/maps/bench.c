// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * What publishing a snapshot costs: until a syscall program, XDP and tc have
 * seen the new epoch, and until the call returns, next to a bare update of as
 * many bytes in an array.
 */
#include <bpf/bpf.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "litmus_run.h"
#include "util.h"

#define RUNS	101

static volatile bool stop;
static volatile u64 seen_at[EXECUTORS][RUNS + 1];

/* Ask each in turn which epoch it is; one thread, as CPUs are few. */
static void *watch(void *arg)
{
	u64 last[EXECUTORS] = { 0 };

	(void)arg;
	while (!stop) {
		for (u32 i = 0; i < EXECUTORS; i++) {
			struct litmus l = { .op = LITMUS_TABLE_READ };

			if (litmus_ask(i, &l))
				return NULL;
			for (; last[i] < l.seen && last[i] < RUNS; last[i]++)
				seen_at[i][last[i] + 1] = fx_monotonic_ns();
		}
	}
	return NULL;
}

static int by_size(const void *a, const void *b)
{
	const u64 *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static u64 median(u64 *ns)
{
	qsort(ns, RUNS, sizeof(*ns), by_size);
	return ns[RUNS / 2];
}

static u64 bare(u64 *table)
{
	static u64 ns[RUNS];
	const u32 zero = 0;

	for (u32 i = 0; i < RUNS; i++) {
		u64 from = fx_monotonic_ns();

		if (bpf_map_update_elem(litmus_fd("plain_table"), &zero, table, BPF_ANY))
			return 0;
		ns[i] = fx_monotonic_ns() - from;
	}
	return median(ns);
}

static u64 latest(u32 epoch)
{
	u64 last = 0;

	for (u32 i = 0; i < EXECUTORS; i++) {
		/* it does come: the call has returned */
		while (!seen_at[i][epoch])
			sched_yield();
		last = seen_at[i][epoch] > last ? seen_at[i][epoch] : last;
	}
	return last;
}

static int measure(u64 *table, u64 *visible, u64 *returned)
{
	static u64 see[RUNS], end[RUNS];

	for (u32 i = 0; i < RUNS; i++) {
		u64 from = fx_monotonic_ns();
		int err = litmus_publish(table, i + 1);

		if (err)
			return err;
		end[i] = fx_monotonic_ns() - from;
		see[i] = latest(i + 1) - from;
	}
	*visible = median(see);
	*returned = median(end);
	return 0;
}

int main(void)
{
	u64 *table = calloc(LITMUS_TABLE + 1, sizeof(*table));
	u64 base, visible = 0, returned = 0;
	pthread_t thread;
	int err = table ? litmus_open() : -ENOMEM;

	if (err) {
		fprintf(stderr, "bench: %s\n", err > 0 ? litmus_why : strerror(-err));
		return err > 0 ? 0 : 1;
	}
	base = bare(table);
	if (pthread_create(&thread, NULL, watch, NULL))
		return 1;
	err = measure(table, &visible, &returned);
	stop = true;
	pthread_join(thread, NULL);
	if (!err && base)
		printf("a snapshot of %zu bytes, median of %d, of a bare update (%llu ns):\n"
		       "  visible to all three  %7.1f  (%llu ns)\n"
		       "  the call returns      %7.1f  (%llu ns)\n",
		       LITMUS_TABLE * sizeof(*table), RUNS, base, (double)visible / base,
		       visible, (double)returned / base, returned);
	litmus_close();
	free(table);
	return err || !base;
}
