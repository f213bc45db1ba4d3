// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Which devices a graph's edges cross, and the policy's object for them. What
 * is in the object is decided by <fabric_ext/glue_nic.bpf.h>; here it is
 * looked at whether it is all there, and whether its maps have a class.
 */
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../bpflog.h"
#include "../diag.h"
#include "../graph/codes.h"
#include "../graph/graph.h"
#include "../json.h"
#include "../maps.h"
#include "../util.h"
#include "clang.h"
#include "gpu_rules.h"
#include "insn.h"
#include "map_class.h"
#include "nic.h"
#include "sleep.h"
#include "verify.h"

static const struct fx_pos whole;

bool fx_crosses_nic(const struct fx_graph *g)
{
	return fx_flows_cross(g, FX_PLACE_NIC);
}

/* One device: a place of kind nic that an edge with a flow crosses. */
static void add_device(const struct fx_graph *g, u32 place, const char *object,
		       size_t size, struct fx_lowered *out)
{
	const char *netdev = g->place[place].match;
	struct json_object *o;
	char *copy, *text;
	void *flows;
	u32 n;

	flows = fx_nic_flows(g, place, &n);
	if (!flows)
		return;
	copy = fx_alloc(size);
	memcpy(copy, object, size);
	fx_lowered_add(out, fx_asprintf("nic/%s/policy.bpf.o", netdev), copy, size);
	fx_lowered_add(out, fx_asprintf("nic/%s/flows.bin", netdev), flows,
		       n * sizeof(struct fx_nic_flow));
	o = fx_json_object();
	fx_json_str(o, "netdev", netdev);
	fx_json_str(o, "place", g->place[place].name);
	fx_json_u64(o, "flows", n);
	fx_json_add(out->about, o);
	text = fx_asprintf("%s%snic %s (%u flows)", out->text ? out->text : "",
			   out->text ? ", " : "", netdev, n);
	free(out->text);
	out->text = text;
}

/* ---- the object ------------------------------------------------------- */

/* Maps of the glue, which know what they are. */
static bool is_glue(const char *map)
{
	static const char *const names[] = {
		"fx_conf", "fx_masks", "fx_flows", "fx_rows", "fx_counts",
		"fx_totals", "fx_qps", "fx_swept", "fx_heads", "fx_cpus",
		"fx_sockets",
	};

	for (u32 i = 0; i < ARRAY_SIZE(names); i++)
		if (!strcmp(names[i], map))
			return true;
	return false;
}

/* A map that is neither the glue's nor has a class is an error. */
static void check_map(struct fx_diags *d, const struct bpf_map *map,
		      struct bpf_object *obj, struct json_object *classes)
{
	const char *name = bpf_map__name(map), *why;
	struct fx_map_desc desc;

	if (fx_map_class_of(bpf_object__btf(obj), bpf_map__name(map))) {
		why = fx_map_describe(obj, map, &desc);
		if (why)
			fx_diag_help(fx_diag(d, FX_E_POLICY_CLASS, whole,
					     "the map '%s' cannot be shared: %s",
					     name, why),
				     "declare it by FX_MAP() of <fabric_ext/portable.bpf.h>");
		else
			fx_map_json_add(classes, &desc);
	} else if (bpf_map__is_internal(map)) {
		if (!strstr(name, ".rodata"))
			fx_diag_help(fx_diag(d, FX_E_POLICY_CLASS, whole,
					     "the policy has variables (%s), and nothing says what devices see of each other's",
					     name),
				     "put them into a map: FX_MAP(local, ...), or FX_MAP() of another class; a constant is const or a macro");
	} else if (!is_glue(name)) {
		fx_diag_help(fx_diag(d, FX_E_POLICY_CLASS, whole,
				     "the map '%s' has no consistency class", name),
			     "declare it by FX_MAP(CLASS, %s, ...): local, counter, snapshot, bounded or coherent",
			     name);
	}
}

static bool take_about(struct bpf_object *obj, struct fx_nic_policy *about)
{
	struct bpf_map *map = bpf_object__find_map_by_name(obj, FX_NIC_ABOUT);
	const void *value;
	size_t size = 0;

	value = map ? bpf_map__initial_value(map, &size) : NULL;
	if (!value || size != sizeof(*about))
		return false;
	memcpy(about, value, size);
	return about->version == FX_NIC_VERSION && about->malformed <= 1 &&
	       memchr(about->name, 0, sizeof(about->name));
}

/* No packet waits for what sleeps, in whatever function it is called. */
static void check_sleep(const char *source, const char *object, size_t size,
			struct fx_diags *d)
{
	struct fx_told told = { 0 };
	struct fx_bytecode code;

	/* what cannot be read is the verifier's to refuse */
	if (fx_bytecode_open(object, size, &code))
		goto out;
	for (u32 i = 0; i < code.n_prog; i++) {
		const struct fx_code_prog *p = &code.prog[i];

		for (u32 at = 0; at < p->n; at += fx_insn_len(&p->insn[at])) {
			const char *name = fx_may_sleep(p, at);
			struct fx_pos pos;
			char *aside;

			if (!name || fx_told(&told, &p->line[at], 0))
				continue;
			pos = fx_code_pos(&p->line[at], source, &aside);
			fx_diag_help(fx_diag(d, FX_E_POLICY_VERIFIER, pos,
					     "the guard calls %s(), which may sleep, and on the device 'nic' nothing sleeps%s",
					     name, aside ? aside : ""),
				     "let it find what it needs in a map: user space fills FX_MAP(snapshot, ...) by `fabricctl publish`");
			free(aside);
		}
	}
out:
	fx_bytecode_close(&code);
	free(told.place);
}

/*
 * What this kernel would refuse at attach is refused now. Who may not load
 * programs, or has a kernel without tcx, learns of it then.
 */
static void verify(const char *source, const char *object, size_t size, struct fx_diags *d)
{
	char *why;
	int err = fx_verify(object, size, -1, &why);
	struct fx_pos pos;

	if (err && err != -EPERM && err != -EOPNOTSUPP) {
		pos = fx_verify_pos(&why, source);
		fx_diag_help(fx_diag(d, FX_E_POLICY_VERIFIER, pos,
				     "the policy is no program for the device 'nic': %s", why),
			     "loops need a bound that the verifier sees, pointers a check against NULL, and packets' programs have bpf_map_*, bpf_ktime_get_ns() and what else bpf-helpers(7) lists for XDP; nothing in them sleeps");
	}
	free(why);
}

static enum fx_rc inspect(const char *source, const char *object, size_t size,
			  struct json_object **classes)
{
	LIBBPF_OPTS(bpf_object_open_opts, opts, .object_name = "policy");
	struct fx_diags *d = fx_diags_new(source, NULL, 0);
	struct fx_nic_policy about;
	struct bpf_object *obj;
	struct bpf_map *map;
	enum fx_rc rc;

	fx_bpflog_start(false);
	obj = bpf_object__open_mem(object, size, &opts);
	if (!obj || !bpf_object__find_program_by_name(obj, FX_NIC_PROG_IN) ||
	    !bpf_object__find_program_by_name(obj, FX_NIC_PROG_MARK) ||
	    !bpf_object__find_program_by_name(obj, FX_NIC_PROG_OUT) ||
	    !take_about(obj, &about)) {
		fx_diag_help(fx_diag(d, FX_E_POLICY_PORTABLE, whole,
				     "the policy is no program for the device 'nic', which edges of the graph cross"),
			     "write its body as FX_GUARD(move) of <fabric_ext/portable.bpf.h> and end with FX_PORTABLE(), or compile it for the kernel alone: --device kernel");
		goto out;
	}
	*classes = fx_json_object();
	bpf_object__for_each_map(map, obj)
		check_map(d, map, obj, *classes);
	if (!fx_diags_count(d))
		check_sleep(source, object, size, d);
	if (!fx_diags_count(d))
		verify(source, object, size, d);
out:
	rc = fx_diags_print(d) ? FX_RC_INPUT : FX_RC_OK;
	fx_diags_free(d);
	bpf_object__close(obj);
	return rc;
}

enum fx_rc fx_lower_nic(const struct fx_lower_in *in, struct fx_lowered *out)
{
	char *object = NULL;
	enum fx_rc rc;
	size_t size;

	rc = fx_clang(in->policy, in->include, "-DFX_FOR_NIC", &object, &size);
	if (rc == FX_RC_OK)
		rc = inspect(in->policy, object, size, &out->classes);
	if (rc == FX_RC_OK) {
		out->about = fx_json_array();
		for (u32 i = fx_next_place(in->g, FX_PLACE_NIC, 0); i < in->g->n_place;
		     i = fx_next_place(in->g, FX_PLACE_NIC, i + 1))
			add_device(in->g, i, object, size, out);
	}
	free(object);
	return rc;
}
