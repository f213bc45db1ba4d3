// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * kv_guard: no edge carries more than the graph says that it does.
 *
 * The graph states the bytes of each edge. An edge that carries more than
 * KV_TIMES as much within KV_WINDOW_NS is not what was planned for: what is
 * over is refused (ENOSPC) until the window ends. What has a priority of at
 * least KV_URGENT is marked with it, so that queues can tell it apart.
 *
 * One body for the kernel and for network devices; each has its own budget,
 * as each sees data only where it crosses.
 */
#include <fabric_ext/portable.bpf.h>

#ifndef KV_TIMES
#define KV_TIMES	64
#endif
#ifndef KV_WINDOW_NS
#define KV_WINDOW_NS	1000000000ULL
#endif
#define KV_URGENT	4
#define KV_MARK		0x4b560000U	/* "KV", the priority below it */
#define KV_EDGES	16384

struct kv_window {
	__u64 since;		/* ns */
	__u64 carried;		/* bytes */
};

FX_MAP(local, windows, struct kv_window, KV_EDGES);

enum { KV_CARRIED, KV_REFUSED, KV_COUNTS };

FX_MAP(counter, kv_bytes, __u64, KV_COUNTS);

FX_GUARD(move)
{
	struct kv_window *w;
	__u64 now;

	/* attachments and regions are not data that moves */
	if (move->op != FX_OP_MOVE || move->edge == FX_EDGE_NONE)
		return fx_pass();
	w = fx_at(&windows, move->edge);
	if (!w)
		return fx_pass();
	now = fx_now();
	if (now - w->since >= KV_WINDOW_NS) {
		w->since = now;
		w->carried = 0;
	}
	if (w->carried + move->bytes > move->stated * KV_TIMES) {
		fx_count(&kv_bytes, KV_REFUSED, move->bytes);
		return fx_drop(ENOSPC);
	}
	__sync_fetch_and_add(&w->carried, move->bytes);
	fx_count(&kv_bytes, KV_CARRIED, move->bytes);
	if (move->priority >= KV_URGENT)
		return fx_mark(KV_MARK | move->priority, move->priority);
	return fx_pass();
}

FX_PORTABLE(kv_guard, FX_MALFORMED_PASS,
	    .hooks = FX_OP_BIT(FX_OP_DMABUF_ATTACH));

char LICENSE[] SEC("license") = "Dual BSD/GPL";
