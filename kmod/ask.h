/* SPDX-License-Identifier: GPL-2.0-only */
/* The short way from a hook to the policy. */
#ifndef FX_ASK_H
#define FX_ASK_H

#include "ops.h"

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
	struct fx_policy *p = rcu_dereference(g->policy);

	if (!p || !(p->wants & FX_OP_BIT(op)) || READ_ONCE(p->exit_kind))
		return NULL;
	return p;
}

int fx_ask_admit_rcu(struct fx_policy *p, struct fabric_ext_admit_args *args);

#endif
