// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Litmus tests across memories: one body in a syscall program, XDP, tc and
 * fabric-dpu. A round is one call: it adds and reads the table, and by turns
 * reads what another memory wrote, writes itself and writes down what it saw, or
 * is one of the twins that go about it without the class, which have to be
 * found out. By turns, as librte_bpf's validator follows every path.
 *
 * An edge is an executor: 0 is the DPU, 1 XDP, 2 tc, 3 the syscall program. The
 * source port is a message: the epoch that was published before it was sent.
 */
#include <fabric_ext/portable.bpf.h>

#define EXECUTORS	4
#define WORDS		512
#define SLICES		8
#define TURNS		4
#define ROUNDS		32768	/* of each executor that are written down */
#define BOUND_MS	100

struct said {
	__u64 rounds;
	__u64 torn;		/* tables of two epochs */
	__u64 back;		/* an older epoch after a newer */
	__u64 early;		/* messages that came before their epoch */
	__u64 epoch;		/* the last */
	__u64 plain_sums;	/* added to plain_sum */
	__u64 plain_torn;
	__u64 plain_early;
};

struct round {
	__u64 began;
	__u64 got;		/* when the other wrote, as it says itself */
	__u64 from;		/* which executor; + EXECUTORS: this was promised */
	__u64 put;		/* what was written here */
	__u64 done;		/* when that had been written */
};

FX_MAP(local, said, struct said, EXECUTORS);
FX_MAP(local, history, struct round, EXECUTORS * ROUNDS);

FX_MAP(counter, seen, __u64, EXECUTORS);
FX_MAP(snapshot, table, __u64, WORDS);
FX_MAP(bounded, latest, __u64, EXECUTORS, BOUND_MS);

/* the twins' */
FX_MAP(bounded, plain_sum, __u64, 1, BOUND_MS);
FX_MAP(bounded, plain_table, __u64, SLICES, BOUND_MS);
FX_MAP(bounded, plain_note, __u64, 1, BOUND_MS);

static __always_inline void read_table(struct said *s, __u64 message)
{
	const struct fx_epoch_table *t = fx_snap(&table);
	__u64 epoch = t ? t->epoch : 0;

	if (t && (t->value[0] != epoch || t->value[WORDS / 2] != epoch ||
		  t->value[WORDS - 1] != epoch))
		s->torn += 1;
	if (epoch < s->epoch)
		s->back += 1;
	if (epoch < message)
		s->early += 1;
	s->epoch = epoch;
}

/* Entry by entry, as if that made a table. */
static __always_inline void read_plain_table(struct said *s)
{
	__u64 first = 0, last = 0;

	if (fx_get(&plain_table, 0, &first) && fx_get(&plain_table, SLICES - 1, &last) &&
	    first != last)
		s->plain_torn += 1;
}

/* As if what was written here were there. */
static __always_inline void read_plain_note(struct said *s, __u64 message)
{
	__u64 note = 0;

	if (fx_get(&plain_note, 0, &note) && note < message)
		s->plain_early += 1;
}

static __always_inline void add_plainly(struct said *s)
{
	__u64 sum = 0;

	if (!fx_get(&plain_sum, 0, &sum))
		return;
	sum += 1;
	fx_put(&plain_sum, 0, &sum);
	s->plain_sums += 1;
}

/* Whoever is in the kernel reads what the DPU wrote, and the DPU all the others in turn. */
static __always_inline void read_and_write(__u32 me, struct round *r, __u64 n)
{
	__u32 from = me ? 0 : 1 + n / TURNS % (EXECUTORS - 1);
	__u64 got = 0, put;

	r->began = fx_now();
	r->from = from;
	if (fx_get(&latest, from, &got))
		r->from += EXECUTORS;
	r->got = got;
	put = fx_now();
	r->put = put;
	fx_put(&latest, me, &put);
	r->done = fx_now();
}

FX_GUARD(move)
{
	__u32 me = move->edge;
	__u64 message = move->flow.sport, n;
	struct said *s = fx_at(&said, me);
	struct round *r;

	if (!s)
		return fx_pass();
	n = s->rounds;
	s->rounds = n + 1;
	fx_count(&seen, me, 1);
	read_table(s, message);
	if (n % TURNS == 0) {
		add_plainly(s);
		return fx_pass();
	}
	if (n % TURNS == 1) {
		read_plain_table(s);
		return fx_pass();
	}
	if (n % TURNS == 2) {
		read_plain_note(s, message);
		return fx_pass();
	}
	r = n / TURNS < ROUNDS ? fx_at(&history, me * ROUNDS + n / TURNS) : 0;
	if (r)
		read_and_write(me, r, n);
	return fx_pass();
}

#ifdef LITMUS_SYSCALL

SEC("syscall") int litmus_run(__u64 *message)
{
	const struct fx_move move = { .edge = EXECUTORS - 1, .flow = { .sport = *message } };

	fx_guard(&move);
	return 0;
}

SEC("syscall") int litmus_tell(__u64 *message)
{
	__u64 word = *message;

	fx_put(&plain_note, 0, &word);
	return 0;
}

/* Write the plain table: each entry is the message. */
SEC("syscall") int litmus_write(__u64 *message)
{
	__u64 word = *message;

#pragma unroll
	for (int i = 0; i < SLICES; i++)
		fx_put(&plain_table, i, &word);
	return 0;
}

#else

FX_PORTABLE(litmus, FX_MALFORMED_PASS);

#endif

char LICENSE[] SEC("license") = "Dual BSD/GPL";
