// SPDX-License-Identifier: GPL-2.0-only
/*
 * Asking a policy. The policy proposes, the kernel disposes: an answer is
 * checked before it takes effect, one that makes no sense counts as none.
 *
 * The admit path runs at the entry of hooked functions; it is kept short, and
 * what is rare is out of line.
 */
#include <linux/jiffies.h>
#include <linux/percpu.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include "ask.h"
#include "graph.h"
#include "hook.h"
#include "inject.h"
#include "observe.h"
#include "ops.h"
#include "trace.h"

/* An answer that makes no sense: as if there was none; too many end it. */
static noinline void fx_invalid(struct fx_policy *p, u32 op, int answer)
{
	int n = atomic_inc_return(&p->invalid);

	this_cpu_inc(p->graph->counts->invalid[op]);
	trace_fabric_ext_verdict(p->graph->image.name, op, FX_EDGE_NONE, answer,
				 FX_NOOP_DEFAULT);
	if (n > 0 && (u32)n > p->ops->invalid_budget)
		fx_eject(p, FX_EXIT_VERDICT,
			 "%d invalid verdicts, the last one %d for operation %u", n,
			 answer, op);
}

/* How long an op has run, as cheap as it can be had. */
struct fx_watch {
	unsigned long start;	/* jiffies */
	unsigned long switches;	/* times that the task had left the CPU */
	u64 ran;		/* ns on the CPU; lags by a tick while it is on it */
};

static unsigned long fx_switches(void)
{
	return current->nvcsw + current->nivcsw;
}

static __always_inline void fx_watch_start(struct fx_watch *w)
{
	w->start = jiffies;
	w->switches = fx_switches();
	w->ran = current->se.sum_exec_runtime;
}

/*
 * The op took too long by the clock. A policy is not to blame for others that
 * ran in its place: when the task was preempted, its own time counts.
 */
static noinline void fx_overtime(struct fx_policy *p, u32 op, const struct fx_watch *w)
{
	unsigned long ran = jiffies - w->start;

	if (fx_switches() != w->switches) {
		ran = nsecs_to_jiffies(current->se.sum_exec_runtime - w->ran);
		if (ran <= p->timeout)
			return;
	}
	fx_eject(p, FX_EXIT_TIMEOUT, "operation %u took %u ms, timeout_ms is %u", op,
		 jiffies_to_msecs(ran), jiffies_to_msecs(p->timeout));
}

/* After an op, once its answer is there. */
static __always_inline void fx_watch_stop(const struct fx_watch *w, struct fx_policy *p,
					  u32 op)
{
	if (unlikely(jiffies - w->start > p->timeout))
		fx_overtime(p, op, w);
}

/* A policy said no: count it, tell it, and say whether it is enforced. */
static noinline int fx_refused(struct fx_policy *p, const struct fx_call *call, int rc,
			       u64 bytes, u32 place)
{
	struct fx_event ev = {
		.type = FX_EV_VERDICT,
		.op = call->op,
		.edge = call->edge,
		.reason = p->audit ? FX_AUDIT_REFUSED : FX_REFUSED_POLICY,
		.error = rc,
		.place = place,
		.bytes = bytes,
	};

	this_cpu_inc(p->graph->counts->refused[call->op]);
	trace_fabric_ext_verdict(p->graph->image.name, call->op, call->edge, rc,
				 ev.reason);
	fx_emit(p->graph, &ev);
	if (p->audit || fx_injected(FX_INJECT_ADMIT))
		return 0;
	return rc;
}

#define FX_OPS_CAN_REFUSE							\
	(~(FX_OP_BIT(FX_OP_DMABUF_UNMAP) | FX_OP_BIT(FX_OP_DMABUF_DETACH) |	\
	   FX_OP_BIT(FX_OP_DMABUF_RELEASE)))

static noinline int fx_admit_verdict(struct fx_policy *p,
				     struct fabric_ext_admit_args *args, int rc)
{
	if (!fx_can_refuse_with(rc) || !(FX_OPS_CAN_REFUSE & FX_OP_BIT(args->call.op))) {
		fx_invalid(p, args->call.op, rc);
		return 0;
	}
	return fx_refused(p, &args->call, rc, args->bytes, args->place);
}

/**
 * fx_ask_admit_rcu() - may this happen?
 * @p: policy of the object's graph, from fx_policy_for()
 * @args: the operation; call.op and call.edge are set
 *
 * Context: under rcu_read_lock(); any but NMI.
 * Return: 0 or the errno to refuse with.
 */
int fx_ask_admit_rcu(struct fx_policy *p, struct fabric_ext_admit_args *args)
{
	struct fx_watch watch;
	int rc;

	args->call.policy = p;
	this_cpu_inc(p->graph->counts->asked[args->call.op]);
	fx_watch_start(&watch);
	rc = p->ops->admit(args);
	fx_watch_stop(&watch, p, args->call.op);
	return likely(!rc) ? 0 : fx_admit_verdict(p, args, rc);
}

/**
 * fx_ask_admit() - may this happen? From where RCU is not held yet.
 * @g: graph
 * @args: the operation; call.op and call.edge are set
 *
 * Return: 0 or the errno to refuse with.
 */
int fx_ask_admit(struct fx_graph *g, struct fabric_ext_admit_args *args)
{
	struct fx_policy *p;
	int rc = 0;

	rcu_read_lock();
	p = fx_policy_for(g, args->call.op);
	if (p)
		rc = fx_ask_admit_rcu(p, args);
	rcu_read_unlock();
	return rc;
}

/**
 * fx_ask_p2p() - how may this P2P mapping go?
 * @g: graph
 * @args: provider and client
 *
 * Context: any but NMI.
 * Return: enum fx_p2p_verdict or -errno. The caller knows what becomes of
 * FX_P2P_HOST_BRIDGE; where it means no, it calls fx_refuse_p2p().
 */
int fx_ask_p2p(struct fx_graph *g, struct fabric_ext_p2p_args *args)
{
	struct fx_watch watch;
	struct fx_policy *p;
	int rc = FX_P2P_ALLOW;

	args->call.op = FX_OP_P2P_MAP;
	rcu_read_lock();
	p = fx_policy_for(g, FX_OP_P2P_MAP);
	if (!p)
		goto out;
	args->call.policy = p;
	this_cpu_inc(g->counts->asked[FX_OP_P2P_MAP]);
	fx_watch_start(&watch);
	rc = p->ops->p2p_map(args);
	fx_watch_stop(&watch, p, FX_OP_P2P_MAP);
	if (rc == FX_P2P_ALLOW)
		goto out;
	if (rc != FX_P2P_HOST_BRIDGE && !fx_can_refuse_with(rc)) {
		fx_invalid(p, FX_OP_P2P_MAP, rc);
		rc = FX_P2P_ALLOW;
	} else if (rc < 0) {
		rc = fx_refused(p, &args->call, rc, 0, args->client_place);
	}
out:
	rcu_read_unlock();
	return rc;
}

/**
 * fx_refuse_p2p() - "host bridge only" meets a mapping that would go past it
 * @args: what fx_ask_p2p() was asked with, under the same rcu_read_lock()
 *
 * Return: whether to deny the mapping; not so in an audit.
 */
bool fx_refuse_p2p(const struct fabric_ext_p2p_args *args)
{
	return fx_refused(args->call.policy, &args->call, -EPERM, 0, args->client_place);
}

/**
 * fx_ask_tier() - which tier is this memory node?
 * @g: graph
 * @args: the node
 *
 * Context: process.
 * Return: an abstract distance, or 0 for the kernel's own.
 */
int fx_ask_tier(struct fx_graph *g, struct fabric_ext_tier_args *args)
{
	struct fx_event ev = {
		.type = FX_EV_VERDICT,
		.op = FX_OP_TIER,
		.edge = FX_EDGE_NONE,
		.reason = FX_APPLIED,
		.place = args->place,
	};
	struct fx_watch watch;
	struct fx_policy *p;
	int adist = 0;

	args->call.op = FX_OP_TIER;
	rcu_read_lock();
	p = fx_policy_for(g, FX_OP_TIER);
	if (!p)
		goto out;
	args->call.policy = p;
	this_cpu_inc(g->counts->asked[FX_OP_TIER]);
	fx_watch_start(&watch);
	adist = p->ops->tier(args);
	fx_watch_stop(&watch, p, FX_OP_TIER);
	if (!adist)
		goto out;
	if (adist < FX_ADISTANCE_MIN || adist > FX_ADISTANCE_MAX) {
		fx_invalid(p, FX_OP_TIER, adist);
		adist = 0;
		goto out;
	}
	ev.arg0 = adist;
	ev.arg1 = args->node;
	if (p->audit)
		ev.reason = FX_AUDIT_APPLIED;
	fx_emit(g, &ev);
	if (p->audit)
		adist = 0;
out:
	rcu_read_unlock();
	return adist;
}

/* Is this destination, with these transforms, one that the edge allows? */
static bool fx_route_ok(const struct fx_class_desc *c,
			const struct fabric_ext_route_args *args)
{
	u32 i;

	if (args->xforms & ~args->xforms_asked || args->priority > 7 ||
	    (args->chunk && args->chunk < PAGE_SIZE))
		return false;
	for (i = 0; i < c->n_to; i++)
		if (c->to[i] == args->place)
			return true;
	return false;
}

/**
 * fx_ask_route() - where does this movement go?
 * @g: graph
 * @args: the movement: edge, bytes, src_place, xforms_asked; the answer
 * @reason: out: enum fx_reason of the answer
 *
 * Context: any but NMI.
 * Return: 0, or the errno to refuse with.
 */
int fx_ask_route(struct fx_graph *g, struct fabric_ext_route_args *args, u32 *reason)
{
	const struct fx_class_desc *c;
	struct fabric_ext_route_args deflt;
	struct fx_watch watch;
	struct fx_policy *p;
	int kind, rc = 0;

	c = &fx_class_of(g, fx_edge_at(g, args->call.edge))->desc;
	args->call.op = FX_OP_MOVE;
	args->place = c->to[0];
	args->xforms = args->xforms_asked;
	args->priority = c->priority;
	args->chunk = 0;
	deflt = *args;

	rcu_read_lock();
	p = fx_policy_of(g, &kind);
	if (!p) {
		*reason = FX_BYPASS_NO_POLICY;
		goto out;
	}
	if (kind) {
		*reason = FX_BYPASS_EJECTED;
		goto out;
	}
	*reason = FX_NOOP_DEFAULT;
	if (!p->ops->route)
		goto out;

	args->call.policy = p;
	this_cpu_inc(g->counts->asked[FX_OP_MOVE]);
	fx_watch_start(&watch);
	rc = p->ops->route(args);
	fx_watch_stop(&watch, p, FX_OP_MOVE);
	if (rc && fx_can_refuse_with(rc)) {
		rc = fx_refused(p, &args->call, rc, args->bytes, FX_PLACE_NONE);
		*reason = rc ? FX_REFUSED_POLICY : FX_AUDIT_REFUSED;
		*args = deflt;
	} else if (rc || !fx_route_ok(c, args)) {
		fx_invalid(p, FX_OP_MOVE, rc ?: (int)args->place);
		*args = deflt;
		rc = 0;
	} else if (p->audit) {
		*args = deflt;
	} else {
		*reason = FX_APPLIED;
	}
out:
	rcu_read_unlock();
	return rc;
}

/**
 * fx_tell_complete() - a movement ended
 * @g: graph
 * @args: how; call.edge is set
 *
 * Context: process.
 */
void fx_tell_complete(struct fx_graph *g, struct fabric_ext_complete_args *args)
{
	struct fx_policy *p;

	args->call.op = FX_OP_MOVE;
	rcu_read_lock();
	p = fx_policy_for(g, FX_OP_MOVE);
	if (p && p->ops->complete) {
		struct fx_watch watch;

		args->call.policy = p;
		fx_watch_start(&watch);
		p->ops->complete(args);
		fx_watch_stop(&watch, p, FX_OP_MOVE);
	}
	rcu_read_unlock();
}
