/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The one function-redirect mechanism: an ftrace callback decides at a
 * function's entry and, only to refuse, sends the caller to a stub that
 * returns the error. The original never runs under a frame of ours.
 */
#ifndef FX_HOOK_H
#define FX_HOOK_H

#include <linux/fabric_ext.h>
#include <linux/ftrace.h>
#include <linux/types.h>

/**
 * struct fx_hook - one hooked function
 * @symbol: its name; unique, which selftests/policy looks at
 * @ops: FX_OP_BIT() of the operations that it serves
 * @fops: func is the thunk
 * @addr: where it was found; 0: not there (yet)
 * @error: why it is not in although wanted, 0 or -errno
 * @active: patched in
 */
struct fx_hook {
	const char *symbol;
	u64 ops;
	struct ftrace_ops fops;
	unsigned long addr;
	int error;
	bool active;
};

void fx_hooks_get(u64 ops);
void fx_hooks_put(u64 ops);
u64 fx_hooks_missing(u64 ops);
void fx_hooks_exit(void);

bool fx_can_refuse_with(int rc);
void fx_refuse(struct ftrace_regs *fregs, int rc);

/* each ends with an entry without a symbol */
extern struct fx_hook fx_hooks_dmabuf[];
extern struct fx_hook fx_hooks_cxl[];
extern struct fx_hook fx_hooks_p2p[];

#endif
