// SPDX-License-Identifier: GPL-2.0-only
/*
 * Life of a policy: attach, replace, eject, detach.
 *
 *            attach                 unreg
 *   (none) ---------> running -----------------------------> (none)
 *                      |  ^  replace                            ^
 *          fx_eject()  |  |                                     | unreg
 *                      v  |                                     |
 *                   ejected ---- work: dump, exit, unhook ------+
 *
 * Whoever sets exit_kind first (cmpxchg) decides the reason. From then on
 * every question is answered by its default; the dump and exit ops and the
 * release of hooks follow from a work item, or from unreg if that is sooner,
 * under graph->owner and only once. struct_ops calls reg, unreg and update
 * under one mutex for the whole machine, so nothing here waits for hardware;
 * it waits for the exit op of one policy at most, which the policy's author
 * bounds, and what needs a grace period is left to a work item.
 *
 * Hooks are patched in during reg, not later: when attach returns, the policy
 * is in force. Patching out waits for RCU-tasks and is left to hook.c's work.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/capability.h>
#include <linux/cleanup.h>
#include <linux/module.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>
#include <linux/string.h>
#include "graph.h"
#include "hook.h"
#include "observe.h"
#include "ops.h"

static struct workqueue_struct *fx_policy_wq;

/* What can be refused; UNMAP, DETACH and RELEASE only by wish. */
#define FX_OPS_ADMIT								\
	(FX_OP_BIT(FX_OP_DMABUF_EXPORT) | FX_OP_BIT(FX_OP_DMABUF_ATTACH) |	\
	 FX_OP_BIT(FX_OP_DMABUF_MAP) | FX_OP_BIT(FX_OP_DMABUF_CPU) |		\
	 FX_OP_BIT(FX_OP_CXL_CREATE) | FX_OP_BIT(FX_OP_CXL_COMMIT) |		\
	 FX_OP_BIT(FX_OP_MEM_ONLINE) | FX_OP_BIT(FX_OP_P2P_MMAP))
#define FX_OPS_TOLD								\
	(FX_OP_BIT(FX_OP_DMABUF_UNMAP) | FX_OP_BIT(FX_OP_DMABUF_DETACH) |	\
	 FX_OP_BIT(FX_OP_DMABUF_RELEASE))

static bool fx_bypass_all;

static u64 fx_policy_wants(const struct fabric_ext_ops *ops)
{
	u64 wants = 0;

	if (ops->admit)
		wants |= ops->hooks ?: FX_OPS_ADMIT;
	if (ops->p2p_map)
		wants |= FX_OP_BIT(FX_OP_P2P_MAP);
	if (ops->tier)
		wants |= FX_OP_BIT(FX_OP_TIER);
	if (ops->route || ops->complete)
		wants |= FX_OP_BIT(FX_OP_MOVE);
	return wants;
}

/**
 * fx_policy_check() - check the data fields of a policy
 * @ops: as the map holds it
 *
 * Return: 0, -EINVAL (unknown bits, bad name), -ERANGE (timeout_ms).
 */
int fx_policy_check(const struct fabric_ext_ops *ops)
{
	if (ops->hooks & ~(FX_OPS_ADMIT | FX_OPS_TOLD)) {
		pr_notice("policy: hooks: %#llx has operations that admit is not asked about\n",
			  ops->hooks);
		return -EINVAL;
	}
	if (ops->flags & ~FX_POLICY_F_ALL) {
		pr_notice("policy: flags: unknown bits in %#llx\n", ops->flags);
		return -EINVAL;
	}
	if (ops->timeout_ms > FX_TIMEOUT_MS_MAX) {
		pr_notice("policy: timeout_ms: %u exceeds %u\n", ops->timeout_ms,
			  FX_TIMEOUT_MS_MAX);
		return -ERANGE;
	}
	if (!fx_name_ok(ops->graph)) {
		pr_notice("policy: graph: not a name\n");
		return -EINVAL;
	}
	if (!fx_name_ok(ops->name)) {
		pr_notice("policy: name: not a name\n");
		return -EINVAL;
	}
	return 0;
}

static void fx_emit_policy(struct fx_policy *p, u16 type, u32 kind)
{
	struct fx_event ev = {
		.type = type,
		.edge = FX_EDGE_NONE,
		.place = FX_PLACE_NONE,
		.reason = kind && kind != FX_EXIT_UNREG && kind != FX_EXIT_REPLACED ?
			FX_BYPASS_EJECTED : FX_APPLIED,
		.arg0 = kind,
	};

	fx_emit(p->graph, &ev);
}

/*
 * Say goodbye, once: dump, exit, hooks. Under graph->owner, after exit_kind
 * was set.
 */
static void fx_policy_end(struct fx_policy *p)
{
	struct fx_graph *g = p->graph;
	struct fabric_ext_exit_args args = {
		.call = { .policy = p, .op = FX_OPS, .edge = FX_EDGE_NONE },
		.kind = p->exit_kind,
	};

	lockdep_assert_held(&g->owner);
	if (p->ended)
		return;
	p->ended = true;

	g->dump_len = 0;
	g->exit_dump[0] = '\0';
	if (p->ops->dump)
		p->ops->dump(&args);
	if (p->ops->exit)
		p->ops->exit(&args);
	g->last_exit = p->exit_kind;
	strscpy(g->exit_msg, p->exit_msg, sizeof(g->exit_msg));
	if (p->hooked)
		fx_hooks_put(p->wants);
	p->hooked = false;
	fx_emit_policy(p, FX_EV_EJECT, p->exit_kind);
	if (p->exit_kind != FX_EXIT_UNREG && p->exit_kind != FX_EXIT_REPLACED)
		pr_notice("graph %s: policy %s is by-passed: %s\n", g->image.name,
			  p->ops->name, p->exit_msg);
}

static void fx_policy_work(struct work_struct *work)
{
	struct fx_policy *p = container_of(work, struct fx_policy, work);

	mutex_lock(&p->graph->owner);
	fx_policy_end(p);
	mutex_unlock(&p->graph->owner);
}

/**
 * fx_eject() - end a policy because of what it did
 * @p: policy
 * @kind: why
 * @fmt: one line for people
 *
 * From here on its graph answers every question by the default. Only the
 * first call has an effect.
 *
 * Context: any but NMI; under RCU or with the policy pinned otherwise.
 */
void fx_eject(struct fx_policy *p, enum fx_exit_kind kind, const char *fmt, ...)
{
	va_list ap;

	if (cmpxchg(&p->exit_kind, FX_EXIT_NONE, kind) != FX_EXIT_NONE)
		return;
	va_start(ap, fmt);
	vscnprintf(p->exit_msg, sizeof(p->exit_msg), fmt, ap);
	va_end(ap);
	queue_work(fx_policy_wq, &p->work);
}

static void fx_policy_free_work(struct work_struct *work)
{
	struct fx_policy *p = container_of(to_rcu_work(work), struct fx_policy, free);

	cancel_work_sync(&p->work);
	fx_graph_put(p->graph);
	kfree(p);
}

static struct fx_policy *fx_policy_new(struct fabric_ext_ops *ops, struct fx_graph *g)
{
	struct fx_policy *p = kzalloc(sizeof(*p), GFP_KERNEL_ACCOUNT);

	if (!p)
		return NULL;
	p->ops = ops;
	p->graph = fx_graph_get(g);
	p->wants = fx_policy_wants(ops);
	p->timeout = msecs_to_jiffies(ops->timeout_ms ?: FX_TIMEOUT_MS_DEFAULT);
	p->audit = ops->flags & FX_POLICY_F_AUDIT;
	INIT_WORK(&p->work, fx_policy_work);
	INIT_RCU_WORK(&p->free, fx_policy_free_work);
	return p;
}

/*
 * The opposite of fx_policy_new(), for one that has ended and is not published
 * (any more). A hook that found it before may still use it, and be about to
 * queue its work: it goes after the hook, and after that work. Nobody waits:
 * the caller holds the struct_ops mutex of the whole machine. @p->ops may go
 * before @p does, and is not looked at any more.
 */
static void fx_policy_free(struct fx_policy *p)
{
	queue_rcu_work(fx_policy_wq, &p->free);
}

/*
 * init op and hooks; under graph->owner. Undone by fx_policy_end(). A policy
 * whose init failed was never there: the caller marks it as ended, so that it
 * hears of no end though it may have given up in init and its work be queued.
 */
static int fx_policy_start(struct fx_policy *p)
{
	struct fabric_ext_exit_args args = {
		.call = { .policy = p, .op = FX_OPS, .edge = FX_EDGE_NONE },
	};
	int err = 0;

	lockdep_assert_held(&p->graph->owner);
	fx_hooks_get(p->wants);
	p->hooked = true;
	if (p->ops->init) {
		err = p->ops->init(&args);
		if (err) {
			/* what the init op returns reaches the loader: an errno */
			if (err > 0 || err < -MAX_ERRNO)
				err = -EINVAL;
			fx_hooks_put(p->wants);
			p->hooked = false;
		}
	}
	return err;
}

static bool fx_policy_may_attach(void)
{
	return capable(CAP_BPF) && capable(CAP_PERFMON) && capable(CAP_NET_ADMIN);
}

/* Under graph->owner, which fx_bypass() takes once the parameter is set. */
static int fx_policy_not_bypassed(struct fx_graph *g)
{
	lockdep_assert_held(&g->owner);
	if (READ_ONCE(fx_bypass_all)) {
		pr_notice_ratelimited("policy: none is attached while parameter bypass is set\n");
		return -ECANCELED;
	}
	return 0;
}

/**
 * fx_policy_attach() - put a policy in force
 * @ops: checked by fx_policy_check()
 *
 * Context: process of the attaching owner, struct_ops mutex held.
 * Return: 0; -EPERM without CAP_BPF, CAP_PERFMON and CAP_NET_ADMIN in the
 * initial user namespace; -ENOENT if the graph is not loaded; -EBUSY if it has
 * a policy; -ECANCELED while parameter bypass is set; what the init op
 * returned; -ENOMEM.
 */
int fx_policy_attach(struct fabric_ext_ops *ops)
{
	struct fx_policy *p;
	struct fx_graph *g;
	int err;

	if (!fx_policy_may_attach())
		return -EPERM;
	g = fx_graph_find(ops->graph);
	if (!g)
		return -ENOENT;
	p = fx_policy_new(ops, g);
	if (!p) {
		err = -ENOMEM;
		goto out;
	}

	mutex_lock(&g->owner);
	if (g->dead)
		err = -ENOENT;
	else if (rcu_access_pointer(g->policy))
		err = -EBUSY;
	else
		err = fx_policy_not_bypassed(g) ?: fx_policy_start(p);
	if (!err) {
		g->last_exit = FX_EXIT_NONE;
		g->exit_msg[0] = '\0';
		rcu_assign_pointer(g->policy, p);
		fx_emit_policy(p, FX_EV_ATTACH, 0);
	}
	if (err)
		p->ended = true;
	mutex_unlock(&g->owner);
	if (err)
		fx_policy_free(p);
out:
	fx_graph_put(g);
	return err;
}

/* Take @old out of service for @kind, its exit included; under graph->owner. */
static void fx_policy_retire(struct fx_policy *old, enum fx_exit_kind kind,
			     const char *msg)
{
	if (cmpxchg(&old->exit_kind, FX_EXIT_NONE, kind) == FX_EXIT_NONE)
		strscpy(old->exit_msg, msg, sizeof(old->exit_msg));
	else if (!old->ended)
		synchronize_rcu();	/* a hook may still be writing the message */
	fx_policy_end(old);
}

/**
 * fx_policy_replace() - swap the policy of a graph
 * @ops: new one, checked
 * @old_ops: the one it replaces
 *
 * No question goes unasked in between: the new policy is published before the
 * old one ends.
 *
 * Context: as fx_policy_attach().
 * Return: as fx_policy_attach(); -EINVAL for a policy of another graph.
 */
int fx_policy_replace(struct fabric_ext_ops *ops, struct fabric_ext_ops *old_ops)
{
	struct fx_policy *p, *old;
	struct fx_graph *g;
	int err;

	if (!fx_policy_may_attach())
		return -EPERM;
	if (strcmp(ops->graph, old_ops->graph))
		return -EINVAL;
	g = fx_graph_find(ops->graph);
	if (!g)
		return -ENOENT;
	p = fx_policy_new(ops, g);
	if (!p) {
		err = -ENOMEM;
		goto out;
	}

	mutex_lock(&g->owner);
	old = rcu_dereference_protected(g->policy, lockdep_is_held(&g->owner));
	if (!old || old->ops != old_ops)
		err = -ENOENT;
	else
		err = fx_policy_not_bypassed(g) ?: fx_policy_start(p);
	if (!err) {
		rcu_assign_pointer(g->policy, p);
		fx_policy_retire(old, FX_EXIT_REPLACED, "replaced");
		g->last_exit = FX_EXIT_NONE;
		g->exit_msg[0] = '\0';
		fx_emit_policy(p, FX_EV_ATTACH, 0);
	}
	if (err)
		p->ended = true;
	mutex_unlock(&g->owner);
	fx_policy_free(err ? p : old);
out:
	fx_graph_put(g);
	return err;
}

/**
 * fx_policy_detach() - the link of a policy went away
 * @ops: the policy
 *
 * Context: may sleep, struct_ops mutex perhaps held. Readers that still use
 * @ops do so under RCU; its map waits for RCU and RCU-tasks before it goes.
 */
void fx_policy_detach(struct fabric_ext_ops *ops)
{
	struct fx_graph *g = fx_graph_find(ops->graph);
	struct fx_policy *p;

	if (!g)
		return;
	mutex_lock(&g->owner);
	p = rcu_dereference_protected(g->policy, lockdep_is_held(&g->owner));
	if (p && p->ops == ops) {
		RCU_INIT_POINTER(g->policy, NULL);
		fx_policy_retire(p, FX_EXIT_UNREG, "detached");
	} else {
		p = NULL;
	}
	mutex_unlock(&g->owner);
	if (p)
		fx_policy_free(p);
	fx_graph_put(g);
}

/**
 * fx_policy_info() - what the control plane tells about a graph's policy
 * @g: graph
 * @info: filled in
 *
 * Context: may sleep.
 */
void fx_policy_info(struct fx_graph *g, struct fx_policy_info *info)
{
	struct fx_policy *p;

	memset(info, 0, sizeof(*info));
	guard(mutex)(&g->owner);
	p = rcu_dereference_protected(g->policy, lockdep_is_held(&g->owner));
	info->exit_kind = g->last_exit;
	strscpy(info->exit_msg, g->exit_msg, sizeof(info->exit_msg));
	strscpy(info->exit_dump, g->exit_dump, sizeof(info->exit_dump));
	if (!p)
		return;
	strscpy(info->name, p->ops->name, sizeof(info->name));
	info->flags = FX_GRAPH_F_ATTACHED | (p->audit ? FX_GRAPH_F_AUDIT : 0);
	info->missing = fx_hooks_missing(p->wants);
	if (READ_ONCE(p->exit_kind)) {
		info->flags |= FX_GRAPH_F_BYPASS;
		info->exit_kind = p->exit_kind;
	}
}

/* End the policy of one graph; without @wait the one that is published. */
static void fx_bypass_graph(struct fx_graph *g, bool wait)
{
	struct fx_policy *p;

	if (wait)
		mutex_lock(&g->owner);
	rcu_read_lock();
	p = rcu_dereference(g->policy);
	if (p)
		fx_eject(p, FX_EXIT_BYPASS, "by-passed by an operator");
	rcu_read_unlock();
	if (wait)
		mutex_unlock(&g->owner);
}

static bool fx_bypass_each(const char *name, bool wait)
{
	struct fx_graph *g = NULL;
	bool found = false;

	while ((g = fx_graph_next(g))) {
		if (name && strcmp(g->image.name, name))
			continue;
		found = true;
		fx_bypass_graph(g, wait);
	}
	return found;
}

/**
 * fx_bypass() - an operator ends policies without their links
 * @name: graph, or NULL for all
 *
 * First those that are in force, at once; then those that were just being
 * attached, for which their init op is waited for.
 *
 * Context: may sleep.
 * Return: 0, or -ENOENT for a graph that is not there.
 */
int fx_bypass(const char *name)
{
	if (!fx_bypass_each(name, false) && name)
		return -ENOENT;
	fx_bypass_each(name, true);
	flush_workqueue(fx_policy_wq);
	return 0;
}

/*
 * Parameter bypass=1: end all policies and attach none, until bypass=0. Needs
 * neither netlink nor bpffs. Writing it does not hold the module, so that it
 * may come before there are graphs and after they are gone: then it is set,
 * and that is all.
 */
static bool fx_bypass_ready;		/* under kernel_param_lock() */

static int fx_bypass_set(const char *val, const struct kernel_param *kp)
{
	int err = param_set_bool(val, kp);

	if (!err && fx_bypass_all && fx_bypass_ready)
		fx_bypass(NULL);
	return err;
}

static const struct kernel_param_ops fx_bypass_ops = {
	.set = fx_bypass_set,
	.get = param_get_bool,
};
module_param_cb(bypass, &fx_bypass_ops, &fx_bypass_all, 0600);
MODULE_PARM_DESC(bypass, "end all policies and attach none (bool)");

static void fx_bypass_set_ready(bool ready)
{
	kernel_param_lock(THIS_MODULE);
	fx_bypass_ready = ready;
	kernel_param_unlock(THIS_MODULE);
}

/**
 * fx_bypass_init() - let the parameter act
 *
 * Context: module init, once there may be policies.
 * Return: 0.
 */
int fx_bypass_init(void)
{
	fx_bypass_set_ready(true);
	return 0;
}

/**
 * fx_bypass_exit() - the opposite of fx_bypass_init()
 *
 * Context: module exit, before anything else goes; waits for who writes.
 */
void fx_bypass_exit(void)
{
	fx_bypass_set_ready(false);
}

/**
 * fx_policy_init() - get ready for policies
 *
 * Return: 0 or -ENOMEM.
 */
int fx_policy_init(void)
{
	/* one graph's long exit op must not hold up the end of another's */
	fx_policy_wq = alloc_workqueue("fabric_ext_policy", WQ_UNBOUND, 0);
	return fx_policy_wq ? 0 : -ENOMEM;
}

/**
 * fx_policy_exit() - the opposite of fx_policy_init()
 *
 * Context: may sleep; no policy is attached: each holds the module.
 */
void fx_policy_exit(void)
{
	/* the grace periods after the last ones, then the works they queue */
	rcu_barrier();
	destroy_workqueue(fx_policy_wq);
}
