// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What the devices around a GPU share: compiling, and looking into the object. */
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../diag.h"
#include "../graph/codes.h"
#include "../graph/copies.h"
#include "../graph/graph.h"
#include "../json.h"
#include "../util.h"
#include "clang.h"
#include "gpu.h"
#include "map_class.h"
#include "gpu_rules.h"
#include "insn.h"
#include "nic.h"
#include "simt.h"
#include "verify.h"

#define MAX_SOURCE	(16U << 20)

static const struct fx_pos whole;

bool fx_crosses_bpftime(const struct fx_graph *g)
{
	const struct fx_place *p = fx_copy_place(g);

	return p && p->copies.n_fn;
}

bool fx_crosses_cuda(const struct fx_graph *g)
{
	const struct fx_place *p = fx_copy_place(g);

	return p && p->copies.n_kernel;
}

bool fx_crosses_ptx(const struct fx_graph *g)
{
	const struct fx_place *p = fx_copy_place(g);

	return p && p->copies.ptx;
}

enum fx_rc fx_gpu_compile(const struct fx_lower_in *in, const char *device,
			  const char *header, const char *const *target,
			  char **object, size_t *size)
{
	static const char *const bpf[] = { FX_CLANG_BPF, "-mcpu=" FX_BPF_CPU, NULL };
	const struct fx_clang_target to = {
		.device = device, .args = target ? target : bpf, .header = header,
		.text = in->text,
	};

	return fx_clang_for(in->policy, in->include, &to, object, size);
}

static bool is_glue(const struct fx_device_rules *r, const char *name)
{
	for (u32 i = 0; r->glue[i]; i++)
		if (!strcmp(name, r->glue[i]))
			return true;
	return false;
}

/* Maps that are neither the glue's nor of a class are errors. */
static void check_classes(struct fx_diags *d, const struct fx_bytecode *c,
			  const struct fx_device_rules *r)
{
	struct btf *btf = bpf_object__btf(c->obj);
	struct bpf_map *map;

	bpf_object__for_each_map(map, c->obj) {
		const char *name = bpf_map__name(map), *class = fx_map_class_of(btf, name);

		if (class && strcmp(class, "local") && strcmp(class, "counter"))
			fx_diag_help(fx_diag(d, FX_E_GPU_MAP, whole,
					     "the map '%s' is of class '%s', which the device '%s' does not have: no agent of ours brings there what others write",
					     name, class, r->device),
				     "the nearest that works is 'local', which who loads the program can write from outside");
		else if (class)
			continue;
		else if (bpf_map__is_internal(map) &&
			 !(bpf_map__map_flags(map) & BPF_F_RDONLY_PROG))
			fx_diag_help(fx_diag(d, FX_E_POLICY_CLASS, whole,
					     "the policy has variables (%s), and nothing says what devices see of each other's",
					     name),
				     "put them into a map: FX_MAP(local, ...) or FX_MAP(counter, ...); a constant is const or a macro");
		else if (!bpf_map__is_internal(map) && !is_glue(r, name))
			fx_diag_help(fx_diag(d, FX_E_POLICY_CLASS, whole,
					     "the map '%s' has no consistency class", name),
				     "declare it by FX_MAP(local, %s, ...) or FX_MAP(counter, %s, ...)",
				     name, name);
	}
}

static bool has_prog(const struct fx_bytecode *c, const char *name)
{
	for (u32 i = 0; i < c->n_prog; i++)
		if (!strcmp(c->prog[i].name, name))
			return true;
	return false;
}

enum fx_rc fx_gpu_inspect(const struct fx_lower_in *in, const struct fx_device_rules *r,
			  const char *object, size_t size, const char *prog,
			  enum fx_lanes lanes, struct fx_bytecode *c)
{
	struct fx_diags *d;
	const char *wrong;
	char *text = NULL;
	enum fx_rc rc;
	size_t len = 0;

	/* for the lines that diagnostics show; without, they show none */
	if (fx_read_file(in->policy, MAX_SOURCE, &text, &len))
		text = NULL;
	d = fx_diags_new(in->policy, text, len);
	wrong = fx_bytecode_open(object, size, c);
	if (wrong) {
		fx_diag(d, FX_E_SIMT_CODE, whole, "the object that clang made for the device '%s' %s",
			r->device, wrong);
	} else if (!has_prog(c, prog)) {
		fx_diag_help(fx_diag(d, FX_E_POLICY_PORTABLE, whole,
				     "the policy is no program for the device '%s', which edges of the graph cross",
				     r->device),
			     "write its body as FX_GUARD(move) of <fabric_ext/portable.bpf.h> and end with FX_PORTABLE(), or compile it for the kernel alone: --device kernel");
	} else {
		check_classes(d, c, r);
		fx_check_rules(c, r, in->policy, lanes != FX_LANES_NONE, d);
		if (lanes != FX_LANES_NONE)
			fx_simt_check(c, r, in->policy, lanes == FX_LANES_APART, d);
	}
	rc = fx_diags_print(d) ? FX_RC_INPUT : FX_RC_OK;
	fx_diags_free(d);
	free(text);
	return rc;
}

enum fx_rc fx_gpu_verify(const struct fx_lower_in *in, const char *device,
			 const char *object, size_t size, int type)
{
	enum fx_rc rc = FX_RC_OK;
	struct fx_diags *d;
	char *why;
	int err;

	err = fx_verify(object, size, type, &why);
	/*
	 * What was not looked at is not sound. Only where nobody may load, or no
	 * such program can be, is it left to other machines.
	 */
	if (err == -EPERM || (err == -EOPNOTSUPP && !libbpf_probe_bpf_prog_type(type, NULL))) {
		fx_info("the guard for the device '%s' is not verified: %s", device, why);
	} else if (err) {
		d = fx_diags_new(in->policy, NULL, 0);
		fx_diag_help(fx_diag(d, FX_E_GPU_VERIFIER, whole,
				     "the kernel's verifier does not pass the guard for the device '%s': %s",
				     device, why),
			     "what runs it there may not look, so what the kernel says has to be mended");
		fx_diags_print(d);
		fx_diags_free(d);
		rc = FX_RC_INPUT;
	}
	free(why);
	return rc;
}

enum fx_rc fx_gpu_body(const struct fx_lower_in *in, const struct fx_device_rules *r)
{
	struct fx_bytecode code = { 0 };
	char *object = NULL;
	enum fx_rc rc;
	size_t size;

	rc = fx_gpu_compile(in, r->device, "#define FX_FOR_GPU 1\n#define FX_FOR_LANES 1\n",
			    NULL, &object, &size);
	if (rc != FX_RC_OK)
		return rc;
	rc = fx_gpu_inspect(in, r, object, size, "fx_guard_lane", FX_LANES_APART, &code);
	if (rc == FX_RC_OK)
		rc = fx_gpu_verify(in, r->device, object, size, BPF_PROG_TYPE_SYSCALL);
	fx_bytecode_close(&code);
	free(object);
	return rc;
}
