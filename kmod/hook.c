// SPDX-License-Identifier: GPL-2.0-only
/*
 * The function-redirect mechanism.
 *
 * A hook is an ftrace callback (IPMODIFY, without SAVE_REGS) at the entry of
 * a kernel function. It decides there and lets the function run, or sends the
 * caller to a stub that returns the error as if the function had. That
 * differs from a replacement that calls the original in three ways that
 * matter: one pass through ftrace and not two, nothing is ever called by
 * address that the kernel may have sealed against indirect calls (IBT), and
 * no frame of this module is on the stack while the original sleeps, so that
 * unloading waits for RCU-tasks and for nothing else.
 *
 * The hooks are PERMANENT as live patches are: with kernel.ftrace_enabled=0
 * they cannot be registered, which is told, and while one is in that switch
 * is refused. Otherwise they would be there and do nothing.
 *
 * A hook is in while somebody holds one of its operations, and for a second
 * after, because patching out waits for RCU-tasks.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/cleanup.h>
#include <linux/kprobes.h>
#include <linux/mutex.h>
#include <linux/workqueue.h>
#include "compat.h"
#include "hook.h"

#define FX_HOOK_IDLE_MS	1000
#define FX_HOOK_TRIES	100

/* What is asked from notifiers and the engine needs no hook. */
#define FX_OPS_UNHOOKED							\
	(FX_OP_BIT(FX_OP_MEM_ONLINE) | FX_OP_BIT(FX_OP_TIER) | FX_OP_BIT(FX_OP_MOVE))

static struct fx_hook * const fx_hook_tables[] = {
	fx_hooks_dmabuf,
	fx_hooks_cxl,
	fx_hooks_p2p,
};

static DEFINE_MUTEX(fx_hook_lock);		/* patching, ->active, ->error */
static atomic_t fx_hook_users[FX_OPS];		/* by operation */

/* Is any operation of this hook held? */
static bool fx_hook_held(const struct fx_hook *h)
{
	u32 op;

	for (op = 0; op < FX_OPS; op++)
		if (h->ops & FX_OP_BIT(op) && atomic_read(&fx_hook_users[op]) > 0)
			return true;
	return false;
}

/*
 * kallsyms_lookup_name() is not exported; a kprobe resolves its symbol, and
 * one that never runs costs nothing. Its address is behind an ENDBR, which
 * ftrace knows about.
 */
static unsigned long fx_hook_resolve(const char *symbol)
{
	struct kprobe kp = { .symbol_name = symbol, .flags = KPROBE_FLAG_DISABLED };
	unsigned long addr;

	if (register_kprobe(&kp))
		return 0;
	addr = (unsigned long)kp.addr;
	unregister_kprobe(&kp);
	return addr;
}

/*
 * -EAGAIN: a BPF trampoline on the same function was just being changed; ftrace
 * has slept a millisecond before it said so.
 */
static int fx_hook_register(struct fx_hook *h)
{
	int err, tries = 0;

	do {
		err = register_ftrace_function(&h->fops);
	} while (err == -EAGAIN && ++tries < FX_HOOK_TRIES);
	return err;
}

static void fx_hook_in(struct fx_hook *h)
{
	int err;

	lockdep_assert_held(&fx_hook_lock);
	if (h->active)
		return;
	if (!h->addr)
		h->addr = fx_hook_resolve(h->symbol);
	if (!h->addr) {
		h->error = -ENOENT;
		return;
	}
	h->fops.flags = FTRACE_OPS_FL_IPMODIFY | FTRACE_OPS_FL_PERMANENT;
	err = ftrace_set_filter_ip(&h->fops, h->addr, 0, 0);
	if (!err) {
		err = fx_hook_register(h);
		if (err)
			ftrace_set_filter_ip(&h->fops, h->addr, 1, 0);
	}
	if (err && err != h->error)
		pr_warn("hook %s: %pe%s\n", h->symbol, ERR_PTR(err),
			err != -EBUSY ? "" :
			", another module or a live patch has it, or kernel.ftrace_enabled is 0");
	h->error = err;
	h->active = !err;
}

static void fx_hook_out(struct fx_hook *h)
{
	int err;

	lockdep_assert_held(&fx_hook_lock);
	if (!h->active)
		return;
	/* waits until no task is in the callback */
	err = unregister_ftrace_function(&h->fops);
	if (WARN_ON_ONCE(err))
		return;
	ftrace_set_filter_ip(&h->fops, h->addr, 1, 0);
	h->active = false;
}

/* All hooks, with an argument for what is done to each. */
static void fx_each_hook(void (*fn)(struct fx_hook *h, u64 *ops), u64 *ops)
{
	struct fx_hook *h;
	size_t i;

	guard(mutex)(&fx_hook_lock);
	for (i = 0; i < ARRAY_SIZE(fx_hook_tables); i++)
		for (h = fx_hook_tables[i]; h->symbol; h++)
			fn(h, ops);
}

static void fx_hook_want(struct fx_hook *h, u64 *ops)
{
	if (h->ops & *ops)
		fx_hook_in(h);
}

static void fx_hook_drop_idle(struct fx_hook *h, u64 *ops)
{
	if (!fx_hook_held(h))
		fx_hook_out(h);
}

/* The operations of a hook that is in or does not have to be. */
static void fx_hook_add_there(struct fx_hook *h, u64 *ops)
{
	if (h->active || !fx_hook_held(h))
		*ops |= h->ops;
}

/* The operations of a hook that should be in and is not. */
static void fx_hook_add_absent(struct fx_hook *h, u64 *ops)
{
	if (!h->active && fx_hook_held(h))
		*ops |= h->ops;
}

static void fx_hooks_idle(struct work_struct *work)
{
	fx_each_hook(fx_hook_drop_idle, NULL);
}

static DECLARE_DELAYED_WORK(fx_hooks_idle_work, fx_hooks_idle);

/**
 * fx_hooks_get() - have operations hooked
 * @ops: FX_OP_BIT() of each
 *
 * A function that this kernel does not have, or that somebody else redirects,
 * is reported and left out: fx_hooks_missing() tells.
 *
 * Context: may sleep (text patching).
 */
void fx_hooks_get(u64 ops)
{
	u32 op;

	for (op = 0; op < FX_OPS; op++)
		if (ops & FX_OP_BIT(op))
			atomic_inc(&fx_hook_users[op]);
	fx_each_hook(fx_hook_want, &ops);
}

/**
 * fx_hooks_put() - the opposite of fx_hooks_get()
 * @ops: as there
 *
 * Context: any; patching out is left to a work item.
 */
void fx_hooks_put(u64 ops)
{
	u32 op;

	for (op = 0; op < FX_OPS; op++)
		if (ops & FX_OP_BIT(op))
			atomic_dec(&fx_hook_users[op]);
	mod_delayed_work(fx_unbound_wq, &fx_hooks_idle_work,
			 msecs_to_jiffies(FX_HOOK_IDLE_MS));
}

/**
 * fx_hooks_missing() - which operations are held and not hooked everywhere
 * @ops: FX_OP_BIT() of those that matter
 *
 * Also those that are hooked nowhere because this kernel has no such function.
 *
 * Context: may sleep.
 * Return: a subset of @ops.
 */
u64 fx_hooks_missing(u64 ops)
{
	u64 there = FX_OPS_UNHOOKED, absent = 0;

	fx_each_hook(fx_hook_add_there, &there);
	fx_each_hook(fx_hook_add_absent, &absent);
	return ops & (absent | ~there);
}

static void fx_hook_drop(struct fx_hook *h, u64 *ops)
{
	fx_hook_out(h);
}

/**
 * fx_hooks_exit() - take all hooks out
 *
 * Also those that are held: a tag may be there yet, and a policy be ending.
 *
 * Context: module exit; nobody asks for a hook any more. When it returns, no
 * task runs code of this module because of a hook.
 */
void fx_hooks_exit(void)
{
	fx_each_hook(fx_hook_drop, NULL);
	/* a callback may have let go of one; who lets go later does it in vain */
	disable_delayed_work_sync(&fx_hooks_idle_work);
	/* a task may have been preempted in a stub */
	synchronize_rcu_tasks();
}

/* What a refused caller gets instead of the function. */
#define FX_STUB(name, rc)						\
static noinline notrace unsigned long fx_stub_##name(void)		\
{									\
	return (unsigned long)(long)(rc);				\
}

FX_STUB(eperm, -EPERM)
FX_STUB(eacces, -EACCES)
FX_STUB(ebusy, -EBUSY)
FX_STUB(enospc, -ENOSPC)

/* Errors that every caller of a hooked function handles. */
static const struct {
	int rc;
	unsigned long (*stub)(void);
} fx_refusals[] = {
	{ -EPERM, fx_stub_eperm },
	{ -EACCES, fx_stub_eacces },
	{ -EBUSY, fx_stub_ebusy },
	{ -ENOSPC, fx_stub_enospc },
};

/**
 * fx_can_refuse_with() - whether a policy's answer is an error to refuse with
 * @rc: answer
 *
 * Context: any.
 */
bool fx_can_refuse_with(int rc)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(fx_refusals); i++)
		if (fx_refusals[i].rc == rc)
			return true;
	return false;
}

/**
 * fx_refuse() - have the traced function's caller get an error
 * @fregs: registers at the function's entry
 * @rc: fx_can_refuse_with() says yes; where a pointer is returned, it is the
 *	ERR_PTR() of it
 *
 * Context: a hook's callback.
 */
void notrace fx_refuse(struct ftrace_regs *fregs, int rc)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(fx_refusals); i++)
		if (fx_refusals[i].rc == rc)
			fx_redirect(fregs, fx_refusals[i].stub);
}
