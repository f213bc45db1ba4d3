// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A policy as it is (POLICY), with a clock that the test sets, and what its
 * body was asked and said where the test can read it: a network device tells
 * nobody the error of a drop.
 */
#define fx_now fx_clock_of_the_device
#include <fabric_ext/portable.bpf.h>
#undef fx_now
#undef FX_GUARD
#define FX_GUARD(move) static __always_inline struct fx_verdict fx_body(const struct fx_move *move)

struct test_answer {
	struct fx_move move;
	struct fx_verdict verdict;
	__u64 asked;
};

FX_MAP(local, test_clock, __u64, 1);
FX_MAP(local, test_answer, struct test_answer, 1);

static __always_inline __u64 fx_now(void)
{
	__u64 *now = fx_at(&test_clock, 0);

	return now ? *now : 0;
}

static __always_inline struct fx_verdict fx_guard(const struct fx_move *move);

#include POLICY

static __always_inline struct fx_verdict fx_guard(const struct fx_move *move)
{
	struct test_answer *a = fx_at(&test_answer, 0);
	struct fx_verdict v = fx_body(move);

	if (a) {
		a->move = *move;
		a->verdict = v;
		a->asked++;
	}
	return v;
}
