// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Entries of published tables, by indices that the move brings: below the end
 * of each and beyond it, of tables that have a power of two of entries and of
 * others, with entries that are and are not a power of two large.
 */
#include <fabric_ext/portable.bpf.h>

struct row {
	__u64 limit;
	__u32 mark, weight;
	__u64 salt;
};

struct found {
	__u64 sum;
	__u32 there, moves;
};

FX_MAP(snapshot, even, __u64, 32);
FX_MAP(snapshot, odd, struct row, 33);
FX_MAP(snapshot, single, __u32, 1);
FX_MAP(local, found, struct found, 256);
FX_MAP(counter, picked, __u64, 8);

FX_GUARD(move)
{
	const struct fx_epoch_even *even_now = fx_snap(&even);
	const struct fx_epoch_odd *odd_now = fx_snap(&odd);
	const struct fx_epoch_single *single_now = fx_snap(&single);
	struct found *f = fx_at(&found, move->edge);
	__u64 limit = 0, sum = 0;
	const struct row *row;
	const __u64 *word;
	const __u32 *one;
	__u32 there = 0;

	word = even_now ? fx_snap_at(even_now, move->edge) : 0;
	if (word) {
		limit = *word;
		there |= 1;
	}
	row = odd_now ? fx_snap_at(odd_now, move->bytes) : 0;
	if (row) {
		sum += row->limit * row->weight ^ row->salt;
		there |= 2;
	}
	/* what is negative is far beyond the end */
	one = single_now ? fx_snap_at(single_now, (__s32)move->edge - 7) : 0;
	if (one) {
		sum ^= *one;
		there |= 16;
	}
	if (f) {
		f->sum = f->sum * 31 + (sum ^ limit);
		f->there |= there;
		f->moves++;
	}
	fx_count(&picked, there & 7, 1);
	if (there == 1 && limit & 1)
		return fx_drop(ENOSPC);
	if (sum & 1)
		return fx_mark((__u32)sum, there & 7);
	return fx_pass();
}

FX_PORTABLE(picks, FX_MALFORMED_PASS);

char LICENSE[] SEC("license") = "Dual BSD/GPL";
