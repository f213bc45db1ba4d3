/* SPDX-License-Identifier: GPL-2.0-only */
/* The short way from a hook to the policy. */
#ifndef FX_ASK_H
#define FX_ASK_H

#include "ops.h"

/**
 * fx_policy_of() - the policy of a graph
 * @g: graph
 * @kind: out: enum fx_exit_kind, FX_EXIT_NONE while it runs; not set without one
 *
 * A policy that was replaced has a successor, published before its end was
 * marked: whoever sees the mark finds that one, and no question meets none.
 *
 * Context: under rcu_read_lock(), which also covers the use of the answer.
 * Return: a policy, which may have ended, or NULL.
 */
static __always_inline struct fx_policy *fx_policy_of(const struct fx_graph *g, int *kind)
{
	struct fx_policy *p;

	do {
		p = rcu_dereference(g->policy);
		if (!p)
			return NULL;
		/* after the mark, the pointer: fx_policy_replace() has it the other way */
		*kind = smp_load_acquire(&p->exit_kind);
	} while (unlikely(*kind == FX_EXIT_REPLACED));
	return p;
}

/**
 * fx_policy_for() - the policy that answers for an operation on a graph
 * @g: graph
 * @op: enum fx_op
 *
 * Context: under rcu_read_lock(), which also covers the use of the answer.
 * Return: a policy that runs and implements the operation, or NULL.
 */
static __always_inline struct fx_policy *fx_policy_for(const struct fx_graph *g, u32 op)
{
	int kind;
	struct fx_policy *p = fx_policy_of(g, &kind);

	return p && !kind && p->wants & FX_OP_BIT(op) ? p : NULL;
}

int fx_ask_admit_rcu(struct fx_policy *p, struct fabric_ext_admit_args *args);

#endif
