// SPDX-License-Identifier: GPL-2.0-only
/* The debugfs side of fault injection. */
#include <linux/debugfs.h>
#include "inject.h"

u32 fx_inject;

static struct dentry *fx_debugfs;

/**
 * fx_inject_init() - make debugfs' fabric_ext/inject
 *
 * Without debugfs there is no injection, and nothing else is amiss.
 *
 * Return: 0.
 */
int fx_inject_init(void)
{
	fx_debugfs = debugfs_create_dir("fabric_ext", NULL);
	debugfs_create_x32("inject", 0600, fx_debugfs, &fx_inject);
	return 0;
}

/**
 * fx_inject_exit() - the opposite of fx_inject_init()
 */
void fx_inject_exit(void)
{
	debugfs_remove_recursive(fx_debugfs);
}
