/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The guard of a portable policy as a kernel of a GPU: one lane per move, over
 * an array of moves. Launched with one lane it takes them in their order. With
 * FX_FOR_LANES it is eBPF instead, of which fabricctl checks what holds for the
 * kernel as well. Only portable.bpf.h includes this.
 */
#ifndef FABRIC_EXT_GLUE_PTX_BPF_H
#define FABRIC_EXT_GLUE_PTX_BPF_H

#ifdef FX_FOR_PTX

/* the position of the lane, and how many there are, in one dimension */
#define fx_ptx_read(name, reg)						\
static __always_inline __u32 name(void)					\
{									\
	__u32 v;							\
									\
	asm("mov.u32 %0, %%" reg ".x;" : "=r"(v));			\
	return v;							\
}

fx_ptx_read(fx_ptx_tid, "tid")
fx_ptx_read(fx_ptx_ntid, "ntid")
fx_ptx_read(fx_ptx_ctaid, "ctaid")
fx_ptx_read(fx_ptx_nctaid, "nctaid")

/* The verdicts of @n moves; how many that are is the caller's to bound. */
#define FX_PORTABLE(policy, drops, ...)					\
__attribute__((nvptx_kernel)) void					\
fx_guard_moves(const struct fx_move *moves, struct fx_verdict *verdicts, __u64 n) \
{									\
	__u64 i = (__u64)fx_ptx_ctaid() * fx_ptx_ntid() + fx_ptx_tid();	\
	__u64 all = (__u64)fx_ptx_nctaid() * fx_ptx_ntid();		\
									\
	for (; i < n; i += all)						\
		verdicts[i] = fx_guard(&moves[i]);			\
}

#else

struct fx_lane {
	struct fx_move move;
	struct fx_verdict verdict;
};

#define FX_PORTABLE(policy, drops, ...)					\
SEC("syscall") int fx_guard_lane(struct fx_lane *lane)			\
{									\
	lane->verdict = fx_guard(&lane->move);				\
	return 0;							\
}

#endif

#endif
