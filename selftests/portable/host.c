// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A policy's body for the host: a library of its own per policy, as all of them
 * call their maps what they like. WRAP is wrap.bpf.c, or the policy alone.
 */
#define FX_FOR_HOST
#define btf_decl_tag(tag)	unused	/* gcc has none */

#include WRAP
#include "host.h"

#define MAP(name)	{ #name, (void **)&name.value, sizeof(*name.value),	\
			  sizeof(*name.max_entries) / sizeof(int) }

static struct host_map maps[] = { MAPS };

static void run(struct fx_dpu_context *ctx)
{
	ctx->verdict = fx_guard(&ctx->move);
}

__attribute__((visibility("default"))) struct host_policy host_policy = {
	.run = run, .map = maps, .n_map = sizeof(maps) / sizeof(maps[0]),
};
