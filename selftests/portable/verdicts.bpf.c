// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Every verdict, by arithmetic that is easily done wrong: wrapping sums and
 * products, shifts, division, signed and unsigned comparisons, bytes of the
 * flow, and what the edge's moves before have left.
 */
#include <fabric_ext/portable.bpf.h>

#define EDGES	256

struct tally {
	__u64 sum;
	__u32 moves;
	__s32 balance;
};

FX_MAP(local, tally, struct tally, EDGES);
FX_MAP(counter, chosen, __u64, 8);

FX_GUARD(move)
{
	struct tally *t = fx_at(&tally, move->edge);
	__u32 pick;
	__u64 h;

	if (!t)
		return move->op == FX_OP_MOVE ? fx_drop(EACCES) : fx_pass();
	h = (t->sum ^ move->bytes) * 0x9e3779b97f4a7c15ULL;
	h ^= (__u64)move->flow.dport << 40 | move->flow.src[3] << 8 | move->flow.dscp;
	h ^= h >> 29;
	t->sum = h + move->stated / 999 * (move->bytes % 1000);
	t->moves++;
	t->balance -= (__s32)(move->bytes & 0xffff) - 0x4000;
	pick = (h >> 17) % 11;
	if (t->balance < -0x10000) {
		t->balance = 0;
		pick = 2;
	}
	fx_count(&chosen, pick & 7, move->bytes >> 3);
	if (pick == 0)
		return fx_drop(EPERM);
	if (pick == 1)
		return fx_drop(EACCES);
	if (pick == 2)
		return fx_drop(EBUSY);
	if (pick == 3)
		return fx_drop(ENOSPC);
	if (pick < 7)
		return fx_mark((__u32)(h >> 7) | t->moves, move->priority & 7);
	return fx_pass();
}

FX_PORTABLE(verdicts, FX_MALFORMED_DROP);

char LICENSE[] SEC("license") = "Dual BSD/GPL";
