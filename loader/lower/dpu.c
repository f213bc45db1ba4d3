// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/fabric_ext_dpu.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "../bpflog.h"
#include "../bundle.h"
#include "../diag.h"
#include "../digest.h"
#include "../graph/codes.h"
#include "../graph/graph.h"
#include "../json.h"
#include "../maps.h"
#include "../util.h"
#include "bpf_lines.h"
#include "clang.h"
#include "dpu.h"
#include "dpu_object.h"
#include "verify.h"

static const struct fx_pos whole;

static const u32 rule_code[FX_DPU_RULES] = {
	[FX_DPU_RULE_FORM] = FX_E_DPU_FORM,
	[FX_DPU_RULE_LOOP] = FX_E_DPU_LOOP,
	[FX_DPU_RULE_CALL] = FX_E_DPU_CALL,
	[FX_DPU_RULE_ATOMIC] = FX_E_DPU_ATOMIC,
	[FX_DPU_RULE_CONSTANT] = FX_E_DPU_CONSTANT,
	[FX_DPU_RULE_VARIABLE] = FX_E_DPU_VARIABLE,
	[FX_DPU_RULE_STACK] = FX_E_DPU_STACK,
	[FX_DPU_RULE_HELPER] = FX_E_DPU_HELPER,
	[FX_DPU_RULE_MAP] = FX_E_DPU_MAP,
	[FX_DPU_RULE_INSN] = FX_E_DPU_INSN,
	[FX_DPU_RULE_SIZE] = FX_E_DPU_SIZE,
	[FX_DPU_RULE_DIVIDE] = FX_E_DPU_DIVIDE,
	[FX_DPU_RULE_KERNEL] = FX_E_DPU_KERNEL,
};

bool fx_crosses_dpu(const struct fx_graph *g)
{
	return fx_flows_cross(g, FX_PLACE_DPU);
}

/* ---- the object ------------------------------------------------------- */

/* What is compiled once, for all DPUs of the graph. */
struct program {
	char *bytes;
	size_t size;
	struct fx_dpu_object o;
	bool verified;
};

static void tell_faults(const char *source, const struct program *p, struct fx_diags *d)
{
	for (u32 i = 0; i < p->o.n_fault; i++) {
		const struct fx_dpu_fault *f = &p->o.fault[i];
		struct fx_pos pos = whole;

		if (f->insn != FX_DPU_NO_INSN)
			pos = fx_bpf_line(p->bytes, p->size, FX_DPU_SECTION, f->insn, source);
		fx_diag_help(fx_diag(d, rule_code[f->rule], pos,
				     "the guard %s, which the device 'dpu' does not run", f->what),
			     "%s", fx_dpu_rule_help(f->rule));
	}
}

static void verify(struct program *p, struct fx_diags *d)
{
	char *why;
	int err = fx_verify_as(p->bytes, p->size, BPF_PROG_TYPE_SYSCALL, p->o.insn, p->o.n_insn,
			       &why);

	p->verified = !err;
	if (err == -EPERM)
		fx_info("the program for the device 'dpu' is not verified, and cannot be attached: %s; compile it again as root",
			why);
	else if (err)
		fx_diag_help(fx_diag(d, FX_E_DPU_VERIFIER, whole,
				     "the kernel's verifier refuses the program for the device 'dpu': %s",
				     why),
			     "librte_bpf would run it unchecked, so what the kernel says has to be mended");
	free(why);
}

static enum fx_rc inspect(const char *source, struct program *p)
{
	struct fx_diags *d;
	enum fx_rc rc;

	fx_bpflog_start(false);
	if (fx_dpu_object_read(p->bytes, p->size, &p->o)) {
		fx_err("there is no memory to look into the object of %s", source);
		return FX_RC_SYSTEM;
	}
	d = fx_diags_new(source, NULL, 0);
	tell_faults(source, p, d);
	if (!p->o.n_fault)
		verify(p, d);
	rc = fx_diags_print(d) ? FX_RC_INPUT : FX_RC_OK;
	fx_diags_free(d);
	return rc;
}

/* ---- the artifact ----------------------------------------------------- */

/* The names' lengths were checked where they were read. */
static void put_name(char *to, size_t size, const char *name)
{
	memcpy(to, name, strnlen(name, size - 1));
}

/* Header and maps, with all digests; *size is their number. */
static void *artifact(const struct fx_graph *g, const struct program *p, u32 place,
		      const struct fx_nic_flow *flow, u32 n_flow, size_t *size)
{
	const size_t maps = p->o.n_map * sizeof(struct fx_dpu_map);
	struct fx_dpu_artifact *a;
	struct fx_image_hdr *hdr;
	struct utsname u;
	size_t image;

	*size = sizeof(*a) + maps;
	a = fx_calloc(1, *size);
	*a = (struct fx_dpu_artifact){
		.magic = FX_DPU_MAGIC, .version = FX_DPU_VERSION, .size = sizeof(*a),
		.flags = p->verified ? FX_DPU_F_VERIFIED : 0,
		.insns = p->o.n_insn, .stack = p->o.stack, .n_maps = p->o.n_map,
		.n_flows = n_flow, .object_size = p->size, .helpers = p->o.helpers,
		.malformed = p->o.about.malformed, .place = place,
	};
	put_name(a->dpu, sizeof(a->dpu), g->place[place].match);
	put_name(a->graph, sizeof(a->graph), g->name);
	put_name(a->policy, sizeof(a->policy), p->o.about.name);
	if (p->verified && !uname(&u))
		put_name(a->kernel, sizeof(a->kernel), u.release);
	hdr = fx_graph_image(g, &image);
	memcpy(a->count, hdr->count, sizeof(a->count));
	memcpy(a->graph_digest, hdr->digest, sizeof(a->graph_digest));
	free(hdr);
	fx_digest(p->bytes, p->size, a->object);
	fx_digest(flow, n_flow * sizeof(*flow), a->flows);
	memcpy(a + 1, p->o.map, maps);
	fx_digest(a, *size, a->digest);
	return a;
}

static struct json_object *maps_json(const struct fx_dpu_object *o)
{
	struct json_object *maps = fx_json_array(), *m;

	for (u32 i = 0; i < o->n_map; i++) {
		m = fx_json_object();
		fx_json_str(m, "name", o->map[i].name);
		fx_json_str(m, "class", o->map[i].cls);
		fx_json_u64(m, "key_size", o->map[i].key_size);
		fx_json_u64(m, "value_size", o->map[i].value_size);
		fx_json_u64(m, "entries", o->map[i].entries);
		fx_json_add(maps, m);
	}
	return maps;
}

/* What people see of an artifact; the DPU reads the artifact itself. */
static struct json_object *about_json(const struct fx_graph *g, const struct fx_dpu_artifact *a,
				      const struct fx_dpu_object *o)
{
	struct json_object *j = fx_json_object(), *helpers = fx_json_array();

	fx_json_str(j, "dpu", a->dpu);
	fx_json_str(j, "place", g->place[a->place].name);
	fx_json_str(j, "policy", a->policy);
	fx_json_u64(j, "flows", a->n_flows);
	fx_json_u64(j, "instructions", a->insns);
	fx_json_u64(j, "stack", a->stack);
	for (u32 i = 0; i < FX_DPU_HELPERS; i++)
		if (a->helpers & 1ULL << i)
			json_object_array_add(helpers, json_object_new_int(i));
	fx_json_put(j, "helpers", helpers);
	fx_json_put(j, "maps", maps_json(o));
	fx_json_bool(j, "verified", a->flags & FX_DPU_F_VERIFIED);
	fx_json_str(j, "kernel", *a->kernel ? a->kernel : NULL);
	fx_json_hex(j, "object", a->object, sizeof(a->object));
	return j;
}

static void add_dpu(const struct fx_graph *g, u32 place, const struct program *p,
		    struct fx_lowered *out)
{
	const char *dpu = g->place[place].match;
	struct fx_dpu_artifact *a;
	struct fx_nic_flow *flows;
	char *object, *text;
	size_t size;
	u32 n;

	flows = fx_nic_flows(g, place, &n);
	if (!flows)
		return;
	object = fx_alloc(p->size);
	memcpy(object, p->bytes, p->size);
	a = artifact(g, p, place, flows, n, &size);
	fx_json_add(out->about, about_json(g, a, &p->o));
	fx_lowered_add(out, fx_asprintf("dpu/%s/artifact.bin", dpu), a, size);
	fx_lowered_add(out, fx_asprintf("dpu/%s/policy.bpf.o", dpu), object, p->size);
	fx_lowered_add(out, fx_asprintf("dpu/%s/flows.bin", dpu), flows,
		       n * sizeof(*flows));
	text = fx_asprintf("%s%sdpu %s (%u flows, %u instructions%s)", out->text ? out->text : "",
			   out->text ? ", " : "", dpu, n, p->o.n_insn,
			   p->verified ? "" : ", not verified");
	free(out->text);
	out->text = text;
}

enum fx_rc fx_lower_dpu(const struct fx_lower_in *in, struct fx_lowered *out)
{
	/* what librte_bpf runs */
	static const char *const bpf[] = { FX_CLANG_BPF, "-mcpu=v2", NULL };
	static const struct fx_clang_target to = {
		.device = "dpu", .args = bpf, .define = "-DFX_FOR_DPU",
	};
	struct program p = { 0 };
	enum fx_rc rc;

	rc = fx_clang_for(in->policy, in->include, &to, &p.bytes, &p.size);
	if (rc == FX_RC_OK)
		rc = inspect(in->policy, &p);
	if (rc == FX_RC_OK)
		rc = fx_map_classes_json(in->policy, p.bytes, p.size, &out->classes);
	if (rc == FX_RC_OK) {
		out->about = fx_json_array();
		for (u32 i = fx_next_place(in->g, FX_PLACE_DPU, 0); i < in->g->n_place;
		     i = fx_next_place(in->g, FX_PLACE_DPU, i + 1))
			add_dpu(in->g, i, &p, out);
	}
	fx_dpu_object_free(&p.o);
	free(p.bytes);
	return rc;
}
