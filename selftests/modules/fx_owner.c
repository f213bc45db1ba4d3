// SPDX-License-Identifier: GPL-2.0-only
/*
 * Redirects dma_buf_dynamic_attach() for itself, as a live patch or another
 * module would, and changes nothing: while it is loaded nobody else can.
 */
#include <linux/ftrace.h>
#include <linux/module.h>

static void notrace fx_owner_thunk(unsigned long ip, unsigned long parent_ip,
				   struct ftrace_ops *ops, struct ftrace_regs *fregs)
{
}

static struct ftrace_ops fx_owner_ops = {
	.func = fx_owner_thunk,
	.flags = FTRACE_OPS_FL_IPMODIFY | FTRACE_OPS_FL_SAVE_REGS,
};

static int __init fx_owner_init(void)
{
	char name[] = "dma_buf_dynamic_attach";
	int err;

	err = ftrace_set_filter(&fx_owner_ops, name, sizeof(name) - 1, 1);
	return err ?: register_ftrace_function(&fx_owner_ops);
}
module_init(fx_owner_init);

static void __exit fx_owner_exit(void)
{
	unregister_ftrace_function(&fx_owner_ops);
	ftrace_free_filter(&fx_owner_ops);
}
module_exit(fx_owner_exit);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("another owner of a function that fabric_ext hooks, for its tests");
