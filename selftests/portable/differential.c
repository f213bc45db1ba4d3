// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The same moves through the same body on every executor: the verdicts are the
 * same bytes, and so is what the maps hold afterwards.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "moves.h"

#define LEAST	100	/* each kind of verdict is one of so many at least */

/* A table that is published before the moves: bytes, of which 8 are the epoch. */
struct table {
	const char *name;
	size_t size;
};

#define TABLE_MAX	1024

static const struct table picked_from[] = {
	{ "even", 8 + 32 * 8 }, { "odd", 8 + 33 * 24 }, { "single", 16 }, { NULL },
};

static const struct policy {
	const char *name, *local;
	size_t size;
	u32 entries;
	const char *counter;
	u32 counters;
	u32 errors;		/* that it drops with, one kind each */
	const struct table *table;	/* up to one without a name, or NULL */
} policies[] = {
	{ "kv_guard", "windows", 16, 16384, "kv_bytes", 2, 1 },
	{ "verdicts", "tally", 16, 256, "chosen", 8, 4 },
	{ "picks", "found", 16, 256, "picked", 8, 1, picked_from },
};

/* Kinds of verdicts: the actions, and drops by their error. */
enum { KIND_PASS, KIND_MARK, KIND_ENOSPC, KIND_EPERM, KIND_EACCES, KIND_EBUSY, KINDS };

static const char *const kind_name[KINDS] = {
	"pass", "mark", "drop (ENOSPC)", "drop (EPERM)", "drop (EACCES)", "drop (EBUSY)",
};

static u32 number;
static bool failed;

static void result(bool ok, const char *policy, const char *what)
{
	printf("%sok %u %s: %s\n", ok ? "" : "not ", ++number, policy, what);
	failed = failed || !ok;
}

static int kind_of(const struct fx_verdict *v)
{
	static const int errors[] = { -ENOSPC, -EPERM, -EACCES, -EBUSY };

	if (v->action == FX_PASS)
		return KIND_PASS;
	if (v->action == FX_MARK)
		return KIND_MARK;
	for (int i = 0; v->action == FX_DROP && i < 4; i++)
		if (v->error == errors[i])
			return KIND_ENOSPC + i;
	return -1;
}

static void tell(const char *policy, u32 i, const struct test_move *m, const char *executor,
		 const struct fx_verdict *have, const struct fx_verdict *want)
{
	printf("# %s, move %u (edge %u, op %u, %llu of %llu bytes): %s says action %u error %d mark %#x priority %u, native says %u %d %#x %u\n",
	       policy, i, m->move.edge, m->move.op, m->move.bytes, m->move.stated, executor,
	       have->action, have->error, have->mark, have->priority, want->action, want->error,
	       want->mark, want->priority);
}

/* Each move on each executor; whether each said the same. */
static void compare(const struct policy *p, const struct moves *moves, struct executor **e,
		    u32 *differ, u32 *packets, u32 kinds[KINDS])
{
	for (u32 i = 0; i < moves->n; i++) {
		const struct test_move *m = &moves->move[i];
		struct fx_verdict want, have;
		int kind;

		if (executor_run(e[HOST], m, &want)) {
			differ[HOST]++;
			continue;
		}
		kind = kind_of(&want);
		if (kind < 0)
			differ[HOST]++;
		else
			kinds[kind]++;
		*packets += m->packet;
		for (int x = 0; x < EXECUTORS; x++) {
			if (x == HOST || (x == XDP && !m->packet))
				continue;
			if (executor_run(e[x], m, &have)) {
				if (!differ[x]++)
					printf("# %s, move %u: %s: %s\n", p->name, i,
					       executor_name[x], executor_why);
			} else if (memcmp(&have, &want, sizeof(want)) && !differ[x]++) {
				tell(p->name, i, m, executor_name[x], &have, &want);
			}
		}
	}
}

/* Maps after all of it; of XDP those entries that only packets have changed. */
static void compare_maps(const struct policy *p, struct executor **e)
{
	const size_t local = p->size * p->entries, counters = p->counters * sizeof(u64);
	char *want = calloc(1, local + counters), *have = calloc(1, local + counters);
	char what[128];

	if (!want || !have || executor_map(e[HOST], p->local, want, p->size, p->entries) ||
	    executor_map(e[HOST], p->counter, want + local, sizeof(u64), p->counters)) {
		result(false, p->name, executor_why);
		goto out;
	}
	for (int x = 0; x < EXECUTORS; x++) {
		size_t size = x == XDP ? p->size * PACKET_EDGES : local + counters;
		bool ok;

		if (x == HOST)
			continue;
		ok = !executor_map(e[x], p->local, have, p->size, p->entries) &&
		     !executor_map(e[x], p->counter, have + local, sizeof(u64), p->counters) &&
		     !memcmp(have, want, size);
		snprintf(what, sizeof(what), "%s leaves the same in its maps", executor_name[x]);
		result(ok, p->name, what);
	}
out:
	free(want);
	free(have);
}

static void tell_kinds(const struct policy *p, const struct moves *moves,
		       const u32 kinds[KINDS])
{
	const u32 expected = KIND_ENOSPC + p->errors;
	char what[128];

	for (u32 k = 0; k < KINDS; k++) {
		if (k >= expected && !kinds[k])
			continue;
		snprintf(what, sizeof(what), "%u of %u verdicts are %s, %u at least", kinds[k],
			 moves->n, kind_name[k], moves->n / LEAST);
		result(k < expected && kinds[k] >= moves->n / LEAST, p->name, what);
	}
}

/* The same tables to each; what is in them is no matter, but it is not all the same. */
static int publish(const struct policy *p, struct executor *e)
{
	static u8 bytes[TABLE_MAX];

	for (const struct table *t = p->table; t && t->name; t++) {
		for (size_t i = 0; i < t->size; i++)
			bytes[i] = (i * 2654435761u + t->size) >> 7;
		memset(bytes, 1, 8);
		if (executor_publish(e, t->name, bytes, t->size))
			return -1;
	}
	return 0;
}

static void test(const struct policy *p, const struct moves *moves)
{
	struct executor *e[EXECUTORS] = { 0 };
	u32 differ[EXECUTORS] = { 0 }, kinds[KINDS] = { 0 }, packets = 0;
	char what[128];
	bool all = true;

	for (int x = 0; x < EXECUTORS; x++) {
		e[x] = executor_open(x, p->name, moves->edge);
		if (e[x] && !publish(p, e[x]))
			continue;
		printf("# %s: %s\n", executor_name[x], executor_why);
		result(false, p->name, executor_name[x]);
		all = false;
	}
	if (!all)
		goto out;
	compare(p, moves, e, differ, &packets, kinds);
	for (int x = 0; x < EXECUTORS; x++) {
		snprintf(what, sizeof(what), x == HOST ?
			 "%s has a verdict that there is for each of %u moves" :
			 "%s says the same about %u moves", executor_name[x],
			 x == XDP ? packets : moves->n);
		result(!differ[x], p->name, what);
	}
	compare_maps(p, e);
	tell_kinds(p, moves, kinds);
out:
	for (int x = 0; x < EXECUTORS; x++)
		executor_close(e[x]);
}

int main(void)
{
	struct moves moves;

	setvbuf(stdout, NULL, _IOLBF, 0);
	printf("TAP version 13\n");
	if (moves_make(&moves)) {
		printf("Bail out! there is no memory\n");
		return 1;
	}
	for (u32 i = 0; i < sizeof(policies) / sizeof(*policies); i++)
		test(&policies[i], &moves);
	if (moves.why)
		printf("ok %u recorded moves # SKIP %s\n", ++number, moves.why);
	else
		result(true, "both", "recorded moves are among them");
	printf("1..%u\n", number);
	moves_free(&moves);
	return failed;
}
