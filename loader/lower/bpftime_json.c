// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * What `bpftimetool import` reads (bpftime's runtime/src/bpftime_shm_json.cpp;
 * Documentation/bpftime-import.schema.json here): maps, programs and the
 * functions that they are on, by number, as file descriptors would be. A
 * function is an offset in a file, so that its library has to be here.
 */
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

#include "../graph/copies.h"
#include "../graph/graph.h"
#include "../json.h"
#include "../util.h"
#include "gpu.h"
#include "insn.h"
#include "library.h"

/* bpftime's own numbers of the events, and the first that it gives to a map. */
#define EVENT_ENTRY	6
#define EVENT_RETURN	7
#define FIRST_ID	3

static void put(struct json_object *top, u32 id, struct json_object *o)
{
	char *key = fx_asprintf("%u", id);

	fx_json_put(top, key, o);
	free(key);
}

static struct json_object *map_json(const struct fx_code_map *m)
{
	static const char *const zero[] = {
		"btf_id", "btf_key_type_id", "btf_value_type_id",
		"btf_vmlinux_value_type_id", "flags", "ifindex", "kernel_bpf_map_id",
		"map_extra",
	};
	struct json_object *o = fx_json_object(), *attr = fx_json_object();

	for (u32 i = 0; i < ARRAY_SIZE(zero); i++)
		fx_json_u64(attr, zero[i], 0);
	fx_json_u64(attr, "map_type", m->type);
	fx_json_u64(attr, "key_size", m->key_size);
	fx_json_u64(attr, "value_size", m->value_size);
	fx_json_u64(attr, "max_entries", m->max_entries);
	fx_json_str(o, "type", "bpf_map_handler");
	fx_json_str(o, "name", m->name);
	fx_json_put(o, "attr", attr);
	return o;
}

/* The instructions in hexadecimal, maps by their ids. */
static struct json_object *prog_json(const struct fx_code_prog *p, u32 event)
{
	struct json_object *o = fx_json_object(), *attr = fx_json_object(), *fds = fx_json_array();
	struct bpf_insn *insn = fx_calloc(p->n, sizeof(*insn));

	memcpy(insn, p->insn, p->n * sizeof(*insn));
	for (u32 i = 0; i < p->n; i++) {
		if (p->ref[i] < 0)
			continue;
		insn[i].src_reg = BPF_PSEUDO_MAP_FD;
		insn[i].imm = FIRST_ID + p->ref[i];
	}
	json_object_array_add(fds, json_object_new_int(event));
	fx_json_put(attr, "attach_fds", fds);
	fx_json_u64(attr, "cnt", p->n);
	fx_json_hex(attr, "insns", (const u8 *)insn, p->n * sizeof(*insn));
	fx_json_u64(attr, "type", BPF_PROG_TYPE_KPROBE);
	fx_json_str(o, "type", "bpf_prog_handler");
	fx_json_str(o, "name", p->name);
	fx_json_put(o, "attr", attr);
	free(insn);
	return o;
}

static struct json_object *event_json(const char *path, u64 offset, bool ret)
{
	struct json_object *o = fx_json_object(), *attr = fx_json_object();

	fx_json_u64(attr, "type", ret ? EVENT_RETURN : EVENT_ENTRY);
	fx_json_u64(attr, "offset", offset);
	json_object_object_add(attr, "pid", json_object_new_int(-1));
	json_object_object_add(attr, "tracepoint_id", json_object_new_int(-1));
	fx_json_u64(attr, "ref_ctr_off", 0);
	fx_json_str(attr, "_module_name", path);
	fx_json_str(o, "type", "bpf_perf_event_handler");
	fx_json_put(o, "attr", attr);
	json_object_object_add(o, "enabled", json_object_new_boolean(true));
	return o;
}

/* Of a program of ours, the number of its function, as the glue names it. */
static bool function_of(const char *prog, const struct fx_copies *c, u64 *i)
{
	static const char *const ours[] = { "fx_copy_", "fx_copied_" };

	for (u32 j = 0; j < ARRAY_SIZE(ours); j++)
		if (!strncmp(prog, ours[j], strlen(ours[j])))
			return !fx_parse_u64(prog + strlen(ours[j]), i) && *i < c->n_fn;
	return false;
}

/* The program's event: its function is the one that its name ends in. */
static struct json_object *event_of(const struct fx_code_prog *p, const struct fx_copies *c,
				    char **why)
{
	const struct fx_copy_fn *fn;
	struct json_object *o = NULL;
	char *path;
	u64 at, i;

	if (!function_of(p->name, c, &i)) {
		*why = fx_asprintf("the program '%s' is on no function of the graph", p->name);
		return NULL;
	}
	fn = &c->fn[i];
	path = fx_library_find(fn->library);
	if (!path)
		*why = fx_asprintf("the library %s is not here, and the form has offsets of functions",
				   fn->library);
	else if (fx_library_function(path, fn->name, &at) != FX_FUNCTION_PLAIN)
		*why = fx_asprintf("%s has no function '%s'", path, fn->name);
	else
		o = event_json(path, at, !strncmp(p->section, "uretprobe/", 10));
	free(path);
	return o;
}

char *fx_bpftime_json(const struct fx_bytecode *c, const struct fx_graph *g, char **why)
{
	const struct fx_copies *copies = &fx_copy_place(g)->copies;
	struct json_object *top = fx_json_object();
	u32 id = FIRST_ID + c->n_map;
	char *text = NULL;

	*why = NULL;
	for (u32 i = 0; i < c->n_map; i++)
		put(top, FIRST_ID + i, map_json(&c->map[i]));
	for (u32 i = 0; i < c->n_prog && !*why; i++) {
		const struct fx_code_prog *p = &c->prog[i];
		struct json_object *event;

		for (u32 j = 0; j < p->n && !*why; j++)
			if (p->ref[j] == FX_REF_DATA || p->ref[j] == FX_REF_FUNCTION)
				*why = fx_strdup("the policy has constants in memory, for which the form has no place");
		event = *why ? NULL : event_of(p, copies, why);
		if (!event)
			break;
		put(top, id, prog_json(p, id + 1));
		put(top, id + 1, event);
		id += 2;
	}
	if (!*why)
		text = fx_asprintf("%s\n", json_object_to_json_string_ext(top, JSON_C_TO_STRING_PRETTY |
							JSON_C_TO_STRING_NOSLASHESCAPE));
	json_object_put(top);
	return text;
}
