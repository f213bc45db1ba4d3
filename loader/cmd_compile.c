// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* fabricctl compile: check a graph, compile a policy, write the bundle. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bundle.h"
#include "cmd.h"
#include "diag.h"
#include "graph/codes.h"
#include "graph/graph.h"
#include "json.h"
#include "lower/clang.h"
#include "lower/kernel.h"
#include "lower/nic.h"
#include "names.h"
#include "util.h"

struct config {
	const char *graph, *policy, *output, *include, *device;
};

/* What a bundle is made for, and of. */
struct build {
	bool for_kernel, for_nic;
	struct fx_kernel_policy kernel;
	struct fx_nic_policy_object nic;
};

static const char *const proof_name[] = {
	[FX_PROVED] = "proved", [FX_RUN_TIME] = "run-time",
	[FX_ASSUMED] = "assumed",
};

static const char *const section_key[FX_SECTS] = {
	"places", "alias_sets", "edges", "instances", "after",
};

/* The first obligation of each code and status speaks for all of them. */
static bool speaks(const struct fx_graph *g, u32 i)
{
	const struct fx_obligation *ob = &g->obligation[i];

	for (u32 j = 0; j < i; j++)
		if (!strcmp(g->obligation[j].code, ob->code) &&
		    g->obligation[j].status == ob->status)
			return false;
	return true;
}

static struct json_object *edges_of(const struct fx_graph *g, u32 i)
{
	struct json_object *edges = fx_json_array();
	bool *about = fx_calloc(g->n_cls, sizeof(*about));

	for (u32 j = i; j < g->n_obligation; j++) {
		const struct fx_obligation *ob = &g->obligation[j];

		if (strcmp(g->obligation[i].code, ob->code) ||
		    g->obligation[i].status != ob->status)
			continue;
		for (u32 k = 0; k < g->n_cls; k++)
			about[k] = about[k] || ob->cls == FX_CLASS_NONE ||
				   ob->cls == k;
	}
	for (u32 k = 0; k < g->n_cls; k++)
		if (about[k])
			fx_json_add_str(edges, g->cls[k].name);
	free(about);
	return edges;
}

static struct json_object *obligations_json(const struct fx_graph *g)
{
	struct json_object *all = fx_json_array(), *o;
	struct json_object *top = fx_json_object();

	for (u32 i = 0; i < g->n_obligation; i++) {
		const struct fx_obligation *ob = &g->obligation[i];

		if (!speaks(g, i))
			continue;
		o = fx_json_object();
		fx_json_str(o, "code", ob->code);
		fx_json_str(o, "status", proof_name[ob->status]);
		fx_json_put(o, "edges", edges_of(g, i));
		fx_json_str(o, "holds", ob->text);
		fx_json_str(o, "by", ob->by);
		fx_json_add(all, o);
	}
	fx_json_put(top, "obligations", all);
	return top;
}

static struct json_object *kernel_json(const struct config *c,
				       const struct fx_kernel_policy *p)
{
	struct json_object *o = fx_json_object(), *ops = fx_json_array();
	const char *slash = strrchr(c->policy, '/');

	fx_json_str(o, "source", slash ? slash + 1 : c->policy);
	fx_json_str(o, "object", "kernel/policy.bpf.o");
	fx_json_str(o, "ops_map", p->ops_map);
	for (u32 i = 0; i < fx_policy_ops.n; i++)
		if (p->ops & 1ULL << i)
			fx_json_add_str(ops, fx_policy_ops.name[i]);
	fx_json_put(o, "ops", ops);
	return o;
}

static struct json_object *nics_json(const struct fx_graph *g,
				     const struct fx_nic_policy_object *p)
{
	struct json_object *list = fx_json_array(), *o;

	for (u32 i = 0; i < p->n_device; i++) {
		o = fx_json_object();
		fx_json_str(o, "netdev", p->device[i].netdev);
		fx_json_str(o, "place", g->place[p->device[i].place].name);
		fx_json_u64(o, "flows", p->device[i].n_flow);
		fx_json_add(list, o);
	}
	return list;
}

static struct json_object *manifest_json(const struct config *c,
					 const struct fx_graph *g,
					 const struct fx_image_hdr *hdr,
					 const struct build *b)
{
	struct json_object *o = fx_json_object(), *counts, *built;

	fx_json_u64(o, "fabric_ext_bundle", FX_BUNDLE_FORMAT);
	fx_json_str(o, "graph", hdr->name);
	fx_json_hex(o, "digest", hdr->digest, sizeof(hdr->digest));
	counts = fx_json_object();
	for (u32 i = 0; i < FX_SECTS; i++)
		fx_json_u64(counts, section_key[i], hdr->count[i]);
	fx_json_put(o, "counts", counts);
	if (b->for_kernel)
		fx_json_put(o, "policy", kernel_json(c, &b->kernel));
	if (b->for_nic) {
		fx_json_put(o, "nic", nics_json(g, &b->nic));
		fx_json_put(o, "classes", json_object_get(b->nic.classes));
	}

	built = fx_json_object();
	fx_json_str(built, "device", b->for_kernel && b->for_nic ? "kernel, nic" :
		    b->for_kernel ? "kernel" : "nic");
	fx_json_u64(built, "interface", FX_UAPI_VERSION);
	fx_json_str(built, "bpf_cpu", FX_BPF_CPU);
	fx_json_put(o, "built_for", built);
	return o;
}

static void summary(const struct fx_graph *g, const struct fx_image_hdr *hdr,
		    const char *output, const char *devices)
{
	u32 n[ARRAY_SIZE(proof_name)] = { 0 };
	struct json_object *o, *counts;

	for (u32 i = 0; i < g->n_obligation; i++)
		n[g->obligation[i].status] += speaks(g, i);
	if (!fx_json_mode) {
		char *digest = fx_hex(hdr->digest, 8);

		printf("graph %s: %u places, %u edges, %u instances; digest %s...\n"
		       "obligations: %u proved, %u checked at run time, %u assumed\n",
		       hdr->name, g->n_place, g->n_cls, g->n_edge, digest,
		       n[FX_PROVED], n[FX_RUN_TIME], n[FX_ASSUMED]);
		if (output)
			printf("bundle: %s, for %s\n", output, devices);
		free(digest);
		return;
	}
	o = fx_json_object();
	fx_json_str(o, "graph", hdr->name);
	fx_json_hex(o, "digest", hdr->digest, sizeof(hdr->digest));
	for (u32 i = 0; i < FX_SECTS; i++)
		fx_json_u64(o, section_key[i], hdr->count[i]);
	counts = fx_json_object();
	for (u32 i = 0; i < ARRAY_SIZE(proof_name); i++)
		fx_json_u64(counts, proof_name[i], n[i]);
	fx_json_put(o, "obligations", counts);
	fx_json_str(o, "bundle", output);
	fx_json_str(o, "devices", devices);
	fx_json_print(o);
}

/* A policy that names a graph is for that one. */
static enum fx_rc check_graph_name(const struct config *c,
				   const struct fx_graph *g,
				   const struct fx_kernel_policy *p)
{
	static const struct fx_pos whole;
	struct fx_diags *d;

	if (!*p->graph || !strcmp(p->graph, g->name))
		return FX_RC_OK;
	d = fx_diags_new(c->policy, NULL, 0);
	fx_diag_help(fx_diag(d, FX_E_POLICY_GRAPH, whole,
			     "the policy is for the graph '%s', and this one is '%s'",
			     p->graph, g->name),
		     "leave .graph out, and it serves every graph");
	fx_diags_print(d);
	fx_diags_free(d);
	return FX_RC_INPUT;
}

/* Which devices: the one that was named, or all that the edges cross. */
static enum fx_rc choose(const struct config *c, const struct fx_graph *g,
			 struct build *b)
{
	static const struct fx_pos whole;
	struct fx_diags *d;

	if (!c->device) {
		b->for_nic = fx_crosses_nic(g);
		b->for_kernel = !b->for_nic || fx_crosses_kernel(g);
		return FX_RC_OK;
	}
	b->for_kernel = !strcmp(c->device, "kernel");
	b->for_nic = !strcmp(c->device, "nic");
	if (!b->for_kernel && !b->for_nic) {
		bool nyet = !strcmp(c->device, "dpu") || !strcmp(c->device, "gpu");

		fx_err("--device: %s '%s'; kernel and nic are built",
		       nyet ? "not supported yet:" : "there is no device", c->device);
		return FX_RC_INPUT;
	}
	if (b->for_kernel || fx_crosses_nic(g))
		return FX_RC_OK;
	d = fx_diags_new(c->graph, NULL, 0);
	fx_diag_help(fx_diag(d, FX_E_POLICY_DEVICE, whole,
			     "no edge of '%s' crosses the device 'nic'", g->name),
		     "an edge crosses it with a flow, from or to a place of kind nic");
	fx_diags_print(d);
	fx_diags_free(d);
	return FX_RC_INPUT;
}

static enum fx_rc lower(const struct config *c, const struct fx_graph *g,
			struct build *b)
{
	enum fx_rc rc = FX_RC_OK;

	if (b->for_kernel)
		rc = fx_lower_kernel(c->policy, c->include, &b->kernel);
	if (rc == FX_RC_OK && b->for_kernel)
		rc = check_graph_name(c, g, &b->kernel);
	if (rc == FX_RC_OK && b->for_nic)
		rc = fx_lower_nic(g, c->policy, c->include, &b->nic);
	return rc;
}

/* The devices as the bundle's writer takes them, to free(). */
static struct fx_bundle_nic *nic_parts(const struct fx_nic_policy_object *p)
{
	struct fx_bundle_nic *n = fx_calloc(p->n_device, sizeof(*n));

	for (u32 i = 0; i < p->n_device; i++) {
		n[i] = (struct fx_bundle_nic){
			.place = p->device[i].place,
			.object = p->object, .object_size = p->object_size,
			.flow = p->device[i].flow, .n_flow = p->device[i].n_flow,
		};
		/* its length was checked where it was read */
		memcpy(n[i].netdev, p->device[i].netdev,
		       strnlen(p->device[i].netdev, sizeof(n[i].netdev) - 1));
	}
	return n;
}

/* What only a part checks that the bundle does not have is nobody's to check. */
static void leave_out(struct fx_graph *g, const struct build *b)
{
	for (u32 i = 0; i < g->n_obligation; i++) {
		struct fx_obligation *ob = &g->obligation[i];
		bool nic = !strcmp(ob->code, FX_OBLIGE_FLOW);

		if (ob->status != FX_RUN_TIME || (nic ? b->for_nic : b->for_kernel))
			continue;
		ob->status = FX_ASSUMED;
		ob->by = nic ? "the bundle has no part for network devices" :
			       "the bundle has no part for the kernel";
	}
}

/* "kernel, nic eth0 (3 flows)", to free(). */
static char *devices_text(const struct build *b)
{
	char *text = fx_strdup(b->for_kernel ? "kernel" : ""), *more;

	for (u32 i = 0; i < b->nic.n_device; i++) {
		more = fx_asprintf("%s%snic %s (%u flows)", text, *text ? ", " : "",
				   b->nic.device[i].netdev, b->nic.device[i].n_flow);
		free(text);
		text = more;
	}
	return text;
}

static enum fx_rc write_bundle(const struct config *c, struct fx_graph *g,
			       const void *image, size_t size, char **devices)
{
	struct fx_bundle_parts parts = { .image = image, .image_size = size };
	struct fx_bundle_nic *nic = NULL;
	struct build b = { 0 };
	enum fx_rc rc;

	rc = choose(c, g, &b);
	if (rc == FX_RC_OK)
		rc = lower(c, g, &b);
	if (rc != FX_RC_OK)
		goto out;
	leave_out(g, &b);
	*devices = devices_text(&b);
	nic = nic_parts(&b.nic);
	parts.object = b.kernel.object;
	parts.object_size = b.kernel.object_size;
	parts.nic = nic;
	parts.n_nic = b.nic.n_device;
	parts.manifest = manifest_json(c, g, image, &b);
	parts.obligations = obligations_json(g);
	rc = fx_bundle_write(c->output, &parts);
	json_object_put(parts.manifest);
	json_object_put(parts.obligations);
out:
	free(nic);
	fx_kernel_policy_free(&b.kernel);
	fx_nic_policy_free(&b.nic);
	return rc;
}

static enum fx_rc run(const void *config)
{
	const struct config *c = config;
	struct fx_graph *g = NULL;
	char *devices = NULL;
	void *image = NULL;
	enum fx_rc rc;
	size_t size;

	if (c->device && !c->output) {
		fx_err("--device says what the bundle is for; give a policy and -o too");
		return FX_RC_INPUT;
	}
	if (!c->policy != !c->output) {
		fx_err(c->policy ? "compile needs -o for the bundle" :
		       "compile needs a policy for the bundle; without -o it only checks the graph");
		return FX_RC_INPUT;
	}
	rc = fx_graph_load(c->graph, &g);
	if (rc != FX_RC_OK)
		goto out;
	image = fx_graph_image(g, &size);
	if (c->output)
		rc = write_bundle(c, g, image, size, &devices);
	if (rc == FX_RC_OK)
		summary(g, image, c->output, devices);
out:
	free(devices);
	free(image);
	fx_graph_free(g);
	return rc;
}

static const struct fx_operand operands[] = {
	{ "GRAPH", "YAML or JSON file", offsetof(struct config, graph) },
	{ "POLICY", "C file; without it the graph is only checked",
	  offsetof(struct config, policy), .optional = true },
	{ }
};

static const struct fx_option options[] = {
	{ "output", 'o', FX_OPT_STRING, .value = "BUNDLE",
	  .help = "directory to write; a bundle there is replaced",
	  .at = offsetof(struct config, output) },
	{ "include", 'I', FX_OPT_STRING, .value = "DIR",
	  .help = "where the policy's headers are searched first",
	  .at = offsetof(struct config, include) },
	{ "device", 'd', FX_OPT_STRING, .value = "DEVICE",
	  .help = "compile for this one alone: kernel or nic",
	  .at = offsetof(struct config, device) },
	{ }
};

const struct fx_command fx_cmd_compile = {
	.name = "compile",
	.summary = "check a graph, compile a policy for it, write a bundle",
	.operands = operands,
	.options = options,
	.config_size = sizeof(struct config),
	.run = run,
};
