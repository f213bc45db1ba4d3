// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <stdlib.h>
#include <string.h>

#include "../diag.h"
#include "../graph/codes.h"
#include "../graph/graph.h"
#include "../json.h"
#include "../maps.h"
#include "../names.h"
#include "../util.h"
#include "clang.h"
#include "kernel.h"

bool fx_crosses_kernel(const struct fx_graph *g)
{
	/* a graph without edges for others is the module's, if it has none at all */
	if (!g->n_flow || g->governs)
		return true;
	for (u32 i = 0; i < g->n_cls; i++)
		if (!g->cls[i].flow.given)
			return true;
	return false;
}

/* A policy that names a graph is for that one. */
static enum fx_rc check_graph_name(const struct fx_lower_in *in,
				   const struct fx_kernel_policy *p)
{
	static const struct fx_pos whole;
	struct fx_diags *d;

	if (!*p->graph || !strcmp(p->graph, in->g->name))
		return FX_RC_OK;
	d = fx_diags_new(in->policy, NULL, 0);
	fx_diag_help(fx_diag(d, FX_E_POLICY_GRAPH, whole,
			     "the policy is for the graph '%s', and this one is '%s'",
			     p->graph, in->g->name),
		     "leave .graph out, and it serves every graph");
	fx_diags_print(d);
	fx_diags_free(d);
	return FX_RC_INPUT;
}

static struct json_object *about(const struct fx_lower_in *in,
				 const struct fx_kernel_policy *p)
{
	struct json_object *o = fx_json_object(), *ops = fx_json_array();
	const char *slash = strrchr(in->policy, '/');

	fx_json_str(o, "source", slash ? slash + 1 : in->policy);
	fx_json_str(o, "object", "kernel/policy.bpf.o");
	fx_json_str(o, "ops_map", p->ops_map);
	for (u32 i = 0; i < fx_policy_ops.n; i++)
		if (p->ops & 1ULL << i)
			fx_json_add_str(ops, fx_policy_ops.name[i]);
	fx_json_put(o, "ops", ops);
	return o;
}

enum fx_rc fx_lower_kernel(const struct fx_lower_in *in, struct fx_lowered *out)
{
	struct fx_kernel_policy p = { 0 };
	enum fx_rc rc;

	rc = fx_clang(in->policy, in->include, NULL, &p.object, &p.object_size);
	if (rc == FX_RC_OK)
		rc = fx_inspect_object(in->policy, &p);
	if (rc == FX_RC_OK)
		rc = check_graph_name(in, &p);
	if (rc == FX_RC_OK)
		rc = fx_check_calls(in->policy, &p);
	if (rc == FX_RC_OK && p.portable)
		rc = fx_check_body(in);
	if (rc == FX_RC_OK)
		rc = fx_map_classes_json(in->policy, p.object, p.object_size,
					 &out->classes);
	if (rc == FX_RC_OK) {
		out->about = about(in, &p);
		out->text = fx_strdup("kernel");
		fx_lowered_add(out, fx_strdup("kernel/policy.bpf.o"), p.object,
			       p.object_size);
		p.object = NULL;
	}
	for (u32 i = 0; i < FX_POLICY_OPS; i++)
		free(p.prog[i]);
	free(p.object);
	free(p.ops_map);
	free(p.graph);
	return rc;
}
