// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * When each executor first sees an epoch: bench_far.py. An edge is an executor,
 * as in litmus_far.bpf.c.
 */
#include <fabric_ext/portable.bpf.h>

#define EXECUTORS	4
#define WORDS		4095	/* with the epoch's number the most that a DPU takes */
#define EPOCHS		128

FX_MAP(snapshot, table, __u64, WORDS);
FX_MAP(local, last, __u64, EXECUTORS);
FX_MAP(local, seen_at, __u64, EXECUTORS * EPOCHS);

FX_GUARD(move)
{
	const struct fx_epoch_table *t = fx_snap(&table);
	__u64 *before = fx_at(&last, move->edge), *at;

	if (!t || !before || t->epoch <= *before || t->epoch >= EPOCHS)
		return fx_pass();
	*before = t->epoch;
	at = fx_at(&seen_at, move->edge * EPOCHS + t->epoch);
	if (at)
		*at = fx_now();
	return fx_pass();
}

#ifdef LITMUS_SYSCALL

SEC("syscall") int litmus_run(__u64 *message)
{
	const struct fx_move move = { .edge = EXECUTORS - 1 };

	(void)message;
	fx_guard(&move);
	return 0;
}

#else

FX_PORTABLE(bench, FX_MALFORMED_PASS);

#endif

char LICENSE[] SEC("license") = "Dual BSD/GPL";
