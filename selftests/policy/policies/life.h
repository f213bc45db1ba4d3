/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What a test policy and its test share: a variable in the policy's .bss. */
#ifndef LIFE_H
#define LIFE_H

#include <linux/fabric_ext.h>

/* What the misbehaving policy does when it is asked. */
enum fxt_mischief {
	FXT_NONE,
	FXT_BAD_EDGE,		/* looks up an edge that the graph does not have */
	FXT_BAD_CLASS,
	FXT_BAD_PLACE,
	FXT_SMALL_TAG,		/* room for less than a tag */
	FXT_GIVE_UP,		/* fx_bpf_error() */
	FXT_SPIN,		/* for spin_ns */
};

/**
 * struct fxt_state - orders to a policy and what it saw
 * @answer: what admit returns, by operation
 * @init_answer: what init returns
 * @mischief: enum fxt_mischief
 * @init_gives_up: init calls fx_bpf_error()
 * @spin_ns: nanoseconds
 * @asked: calls of admit, by operation
 * @edge: of the last call
 * @bytes: of the last call
 * @inits: calls of the op
 * @dumps: calls of the op
 * @exits: calls of the op
 * @exit_kind: told to the last one
 */
struct fxt_state {
	__s32 answer[FX_OPS];
	__s32 init_answer;
	__u32 mischief;
	__u32 init_gives_up;
	__u64 spin_ns;
	__u64 asked[FX_OPS];
	__u32 edge;
	__u64 bytes;
	__u64 inits;
	__u64 dumps;
	__u64 exits;
	__u32 exit_kind;
};

#endif
