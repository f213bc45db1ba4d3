// SPDX-License-Identifier: GPL-2.0-only
/* fabric_ext: the order in which its parts come and go, nothing else. */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/init.h>
#include <linux/module.h>
#include "chrdev.h"
#include "compat.h"
#include "engine.h"
#include "genl.h"
#include "graph.h"
#include "hook.h"
#include "inject.h"
#include "memory.h"
#include "node.h"
#include "observe.h"
#include "ops.h"
#include "tag.h"

/*
 * Each part is undone in reverse; a part without @exit leaves with the module.
 * The registrations with BPF come before the control plane: a policy needs a
 * graph, and graphs come through it. Hooks leave before what they look at.
 */
static const struct {
	const char *name;
	int (*init)(void);
	void (*exit)(void);
} fx_parts[] = {
	{ "fault injection", fx_inject_init, fx_inject_exit },
	{ "events", fx_observe_init, fx_observe_exit },
	{ "policies", fx_policy_init, fx_policy_exit },
	{ "graphs", NULL, fx_graph_exit },
	{ "tags", fx_tag_init, fx_tag_exit },
	{ "hooks", NULL, fx_hooks_exit },
	{ "memory notifiers", fx_memory_init, fx_memory_exit },
	{ "held memory", fx_node_init, fx_node_exit },
	{ "engine", fx_engine_init, fx_engine_exit },
	{ "kfuncs", fx_kfuncs_register, NULL },
	{ "struct_ops", fx_struct_ops_register, NULL },
	{ "control plane", fx_genl_init, fx_genl_exit },
	{ "data plane", fx_chrdev_register, fx_chrdev_unregister },
	{ "parameter bypass", fx_bypass_init, fx_bypass_exit },
};

static void fx_parts_exit(size_t n)
{
	while (n--)
		if (fx_parts[n].exit)
			fx_parts[n].exit();
}

static int __init fx_init(void)
{
	size_t i;
	int err;

	for (i = 0; i < ARRAY_SIZE(fx_parts); i++) {
		err = fx_parts[i].init ? fx_parts[i].init() : 0;
		if (err) {
			pr_err("cannot start %s: %pe\n", fx_parts[i].name, ERR_PTR(err));
			fx_parts_exit(i);
			return err;
		}
	}
	return 0;
}
module_init(fx_init);

static void __exit fx_exit(void)
{
	fx_parts_exit(ARRAY_SIZE(fx_parts));
}
module_exit(fx_exit);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("one policy over a semantic movement graph");
FX_IMPORT_NS(DMA_BUF);
