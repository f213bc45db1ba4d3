// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* fabricctl compile: check a graph, compile a policy, write the bundle. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bundle.h"
#include "bundle_files.h"
#include "cmd.h"
#include "devices.h"
#include "diag.h"
#include "graph/codes.h"
#include "graph/graph.h"
#include "json.h"
#include "lower/clang.h"
#include "report.h"
#include "util.h"

struct config {
	const char *graph, *policy, *output, *include, *device;
};

/* What a bundle is made for, and of: per row of fx_devices. */
struct build {
	bool chosen[FX_MAX_DEVICES];
	struct fx_lowered lowered[FX_MAX_DEVICES];
};

static const char *const proof_name[] = {
	[FX_PROVED] = "proved", [FX_RUN_TIME] = "run-time",
	[FX_ASSUMED] = "assumed",
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

/* The classes of the policy's maps, which every device was compiled from. */
static struct json_object *classes_json(const struct build *b)
{
	for (u32 i = 0; i < fx_n_devices; i++)
		if (b->lowered[i].classes)
			return json_object_get(b->lowered[i].classes);
	return NULL;
}

/* What each device has to say, in the order of the table; to free(). */
static char *devices_text(const struct build *b, bool names)
{
	char *text = fx_strdup(""), *more;

	for (u32 i = 0; i < fx_n_devices; i++) {
		if (!b->chosen[i])
			continue;
		more = fx_asprintf("%s%s%s", text, *text ? ", " : "",
				   names ? fx_devices[i].name : b->lowered[i].text);
		free(text);
		text = more;
	}
	return text;
}

static struct json_object *manifest_json(const struct fx_image_hdr *hdr,
					 const struct build *b)
{
	struct json_object *o = fx_json_object(), *counts, *built, *classes;
	char *devices = devices_text(b, true);

	fx_json_u64(o, "fabric_ext_bundle", FX_BUNDLE_FORMAT);
	fx_json_str(o, "graph", hdr->name);
	fx_json_hex(o, "digest", hdr->digest, sizeof(hdr->digest));
	counts = fx_json_object();
	for (u32 i = 0; i < FX_SECTS; i++)
		fx_json_u64(counts, fx_bundle_sections[i], hdr->count[i]);
	fx_json_put(o, "counts", counts);
	for (u32 i = 0; i < fx_n_devices; i++)
		if (b->lowered[i].about)
			fx_json_put(o, fx_devices[i].key,
				    json_object_get(b->lowered[i].about));
	classes = classes_json(b);
	if (classes)
		fx_json_put(o, "classes", classes);

	built = fx_json_object();
	fx_json_str(built, "device", devices);
	fx_json_u64(built, "interface", FX_UAPI_VERSION);
	fx_json_str(built, "bpf_cpu", FX_BPF_CPU);
	fx_json_put(o, "built_for", built);
	free(devices);
	return o;
}

static void summary(const struct fx_graph *g, const struct fx_image_hdr *hdr,
		    const char *output, const char *devices)
{
	u32 n[ARRAY_SIZE(proof_name)] = { 0 };
	struct json_object *o, *counts, *warnings;

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
		fx_json_u64(o, fx_bundle_sections[i], hdr->count[i]);
	counts = fx_json_object();
	for (u32 i = 0; i < ARRAY_SIZE(proof_name); i++)
		fx_json_u64(counts, proof_name[i], n[i]);
	fx_json_put(o, "obligations", counts);
	fx_json_str(o, "bundle", output);
	fx_json_str(o, "devices", devices);
	warnings = fx_report_take_diagnostics();
	if (warnings)
		fx_json_put(o, "warnings", warnings);
	fx_json_print(o);
}

static enum fx_rc not_crossed(const struct config *c, const struct fx_graph *g,
			      const struct fx_device *dev)
{
	static const struct fx_pos whole;
	struct fx_diags *d = fx_diags_new(c->graph, NULL, 0);

	fx_diag_help(fx_diag(d, FX_E_POLICY_DEVICE, whole,
			     "no edge of '%s' crosses the device '%s'", g->name, dev->name),
		     "%s", dev->crossed);
	fx_diags_print(d);
	fx_diags_free(d);
	return FX_RC_INPUT;
}

/* Which devices: the one that was named, or all that the edges cross. */
static enum fx_rc choose(const struct config *c, const struct fx_graph *g,
			 struct build *b)
{
	const struct fx_device *d;
	char *names;

	for (u32 i = 0; i < fx_n_devices && !c->device; i++)
		b->chosen[i] = fx_devices[i].crosses(g);
	if (!c->device)
		return FX_RC_OK;
	d = fx_device(c->device);
	if (!d) {
		names = fx_device_names();
		fx_err("--device: there is no device '%s'; there are %s", c->device, names);
		free(names);
		return FX_RC_INPUT;
	}
	b->chosen[d - fx_devices] = true;
	/* the module takes any graph */
	return d == &fx_devices[0] || d->crosses(g) ? FX_RC_OK : not_crossed(c, g, d);
}

static enum fx_rc lower(const struct config *c, const struct fx_graph *g,
			struct build *b)
{
	const struct fx_lower_in in = { .g = g, .policy = c->policy,
					.include = c->include };
	enum fx_rc rc = FX_RC_OK;

	for (u32 i = 0; i < fx_n_devices && rc == FX_RC_OK; i++)
		if (b->chosen[i])
			rc = fx_devices[i].lower(&in, &b->lowered[i]);
	return rc;
}

/* All devices' files; what they hold is still the devices'. To free(). */
static struct fx_part *all_parts(const struct build *b, u32 *n)
{
	struct fx_part *part = NULL;
	u32 cap = 0;

	*n = 0;
	for (u32 i = 0; i < fx_n_devices; i++)
		for (u32 j = 0; j < b->lowered[i].n; j++) {
			fx_grow(part, *n, cap);
			part[(*n)++] = b->lowered[i].part[j];
		}
	return part;
}

/* What only a part checks that the bundle does not have is nobody's to check. */
static void leave_out(struct fx_graph *g, const struct build *b)
{
	bool by_flow = false;

	for (u32 i = 0; i < fx_n_devices; i++)
		by_flow = by_flow || (b->chosen[i] && fx_devices[i].flows);
	for (u32 i = 0; i < g->n_obligation; i++) {
		struct fx_obligation *ob = &g->obligation[i];
		bool flow = !strcmp(ob->code, FX_OBLIGE_FLOW);

		if (ob->status != FX_RUN_TIME || (flow ? by_flow : b->chosen[0]))
			continue;
		ob->status = FX_ASSUMED;
		ob->by = flow ? "the bundle has no part for network devices" :
				"the bundle has no part for the kernel";
	}
}

static enum fx_rc write_bundle(const struct config *c, struct fx_graph *g,
			       const void *image, size_t size, char **devices)
{
	struct fx_bundle_parts parts = { .image = image, .image_size = size };
	struct fx_part *part = NULL;
	struct build b = { 0 };
	enum fx_rc rc;

	rc = choose(c, g, &b);
	if (rc == FX_RC_OK)
		rc = lower(c, g, &b);
	if (rc != FX_RC_OK)
		goto out;
	leave_out(g, &b);
	*devices = devices_text(&b, false);
	part = all_parts(&b, &parts.n_part);
	parts.part = part;
	parts.manifest = manifest_json(image, &b);
	parts.obligations = obligations_json(g);
	rc = fx_bundle_write(c->output, &parts);
	json_object_put(parts.manifest);
	json_object_put(parts.obligations);
out:
	free(part);
	for (u32 i = 0; i < fx_n_devices; i++)
		fx_lowered_free(&b.lowered[i]);
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
	  .help = "compile for this one alone, such as kernel or nic",
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
