// SPDX-License-Identifier: GPL-2.0-only
/* How often something was turned away because a limit was reached. */
#include <linux/atomic.h>
#include <linux/moduleparam.h>
#include <linux/sysfs.h>
#include "engine.h"
#include "tag.h"

static int fx_limit_get(char *buf, const struct kernel_param *kp)
{
	return sysfs_emit(buf, "%lld\n", atomic64_read(kp->arg));
}

static const struct kernel_param_ops fx_limit_ops = { .get = fx_limit_get };

module_param_cb(tags_refused, &fx_limit_ops, &fx_tags_refused, 0444);
MODULE_PARM_DESC(tags_refused, "tags turned away because the table was full");
module_param_cb(handles_refused, &fx_limit_ops, &fx_handles_refused, 0444);
MODULE_PARM_DESC(handles_refused, "buffers turned away because their file had all handles");
module_param_cb(inflight_refused, &fx_limit_ops, &fx_inflight_refused, 0444);
MODULE_PARM_DESC(inflight_refused, "movements turned away because too many of their file were under way");
