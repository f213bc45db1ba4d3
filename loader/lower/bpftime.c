// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A policy on functions that copy to a GPU and from it, for bpftime or for the
 * kernel's uprobes. <fabric_ext/glue_bpftime.bpf.h> has the programs; it is
 * told here what the graph says.
 */
#include <stdlib.h>
#include <string.h>

#include "../diag.h"
#include "../graph/codes.h"
#include "../graph/copies.h"
#include "../graph/graph.h"
#include "../json.h"
#include "../maps.h"
#include "../util.h"
#include "gpu.h"
#include "gpu_rules.h"
#include "insn.h"
#include "library.h"

static const char *const way_name[] = {
	[FX_COPY_ANY] = "any", [FX_COPY_IN] = "in", [FX_COPY_OUT] = "out",
	[FX_COPY_KIND] = "kind",
};

/* Is it the only one that goes its way? */
static bool alone(const struct fx_copy_row *row, u32 n, u32 i)
{
	for (u32 j = 0; j < n; j++)
		if (j != i && row[j].dir == row[i].dir)
			return false;
	return true;
}

/* What <fabric_ext/glue_bpftime.bpf.h> wants to know, as C; to free(). */
static char *header(const struct fx_graph *g, const struct fx_place *p,
		    const struct fx_copy_row *row, u32 n)
{
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	if (!f)
		return fx_strdup("#error no memory\n");
	fprintf(f, "#define FX_FOR_BPFTIME 1\n#define FX_COPY_PLACE %u\n#define FX_COPY_N_ROWS %u\n",
		(u32)(p - g->place), n);
	fputs("#define FX_COPY_ROWS(X)", f);
	for (u32 i = 0; i < n; i++)
		fprintf(f, " X(%u, %u, %lluULL, %u, %u, %u, %u, %u)", i, row[i].dir,
			(unsigned long long)row[i].bytes, row[i].first, row[i].count,
			row[i].cls, row[i].priority, alone(row, n, i));
	fputs("\n#define FX_COPY_FUNCTIONS(X)", f);
	for (u32 i = 0; i < p->copies.n_fn; i++) {
		const struct fx_copy_fn *fn = &p->copies.fn[i];

		fprintf(f, " X(%u, \"uprobe/%s:%s\", \"uretprobe/%s:%s\", %u, %u)", i,
			fn->library, fn->name, fn->library, fn->name, fn->way, fn->status);
	}
	fputc('\n', f);
	fclose(f);
	return text;
}

static struct json_object *about(const struct fx_graph *g, const struct fx_place *p,
				 const struct fx_copy_row *row, u32 n)
{
	struct json_object *o = fx_json_object(), *list = fx_json_array(), *e;

	fx_json_str(o, "place", p->name);
	for (u32 i = 0; i < p->copies.n_fn; i++) {
		e = fx_json_object();
		fx_json_str(e, "library", p->copies.fn[i].library);
		fx_json_str(e, "name", p->copies.fn[i].name);
		fx_json_str(e, "way", way_name[p->copies.fn[i].way]);
		fx_json_add(list, e);
	}
	fx_json_put(o, "functions", list);
	list = fx_json_array();
	for (u32 i = 0; i < n; i++) {
		e = fx_json_object();
		fx_json_str(e, "edge", g->cls[row[i].cls].name);
		fx_json_str(e, "way", row[i].dir == FX_DIR_IN ? "in" : "out");
		fx_json_u64(e, "bytes", row[i].bytes);
		fx_json_u64(e, "first", row[i].first);
		fx_json_u64(e, "count", row[i].count);
		fx_json_add(list, e);
	}
	fx_json_put(o, "rows", list);
	return o;
}

/*
 * Which code an IFUNC stands for is chosen where the library is loaded, and a
 * probe on its name is on none of it, or on what nobody calls. A library that is
 * not here is not looked into.
 */
static enum fx_rc check_functions(const struct fx_graph *g, const struct fx_copies *c)
{
	u64 at;

	for (u32 i = 0; i < c->n_fn; i++) {
		char *path = fx_library_find(c->fn[i].library);

		if (path && fx_library_function(path, c->fn[i].name, &at) == FX_FUNCTION_CHOSEN)
			fx_diag_help(fx_diag(g->diags, FX_E_COPIES, c->fn[i].pos,
					     "'%s' of %s is an IFUNC: what is called in its place is chosen when the library is loaded, and a probe on the name sees none of it",
					     c->fn[i].name, path),
				     "name functions of the program's own that copy: copies: { library: libkv.so, functions: [kv_put] }");
		free(path);
	}
	return fx_diags_print(g->diags) ? FX_RC_INPUT : FX_RC_OK;
}

enum fx_rc fx_lower_bpftime(const struct fx_lower_in *in, struct fx_lowered *out)
{
	const struct fx_place *p = fx_copy_place(in->g);
	char *object = NULL, *text = NULL, *json, *why = NULL;
	struct fx_bytecode code = { 0 };
	struct fx_copy_row *row;
	enum fx_rc rc;
	size_t size;
	u32 n;

	rc = check_functions(in->g, &p->copies);
	if (rc != FX_RC_OK)
		return rc;
	row = fx_copy_rows(in->g, p - in->g->place, &n);
	text = header(in->g, p, row, n);
	rc = fx_gpu_compile(in, "bpftime", text, NULL, &object, &size);
	if (rc == FX_RC_OK)
		rc = fx_gpu_inspect(in, &fx_bpftime_rules, object, size, "fx_copy_0",
				    FX_LANES_NONE, &code);
	if (rc == FX_RC_OK)
		rc = fx_gpu_verify(in, "bpftime", object, size, BPF_PROG_TYPE_KPROBE);
	if (rc == FX_RC_OK)
		rc = fx_map_classes_json(in->policy, object, size, &out->classes);
	if (rc != FX_RC_OK)
		goto out;
	out->about = about(in->g, p, row, n);
	out->text = fx_asprintf("bpftime (%u functions)", p->copies.n_fn);
	json = fx_bpftime_json(&code, in->g, &why);
	if (json)
		fx_lowered_add(out, fx_strdup("bpftime/import.json"), json, strlen(json));
	else
		fx_info("bpftime/import.json is left out: %s", why);
	fx_lowered_add(out, fx_strdup("bpftime/policy.bpf.o"), object, size);
out:
	/* the code looks into the object, which the part has from here on */
	fx_bytecode_close(&code);
	if (rc != FX_RC_OK)
		free(object);
	free(row);
	free(text);
	free(why);
	return rc;
}
