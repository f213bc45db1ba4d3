// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A policy at the entry of kernels of a GPU, as bpftime puts it there. Every
 * lane of a kernel runs it, so it has to pass the SIMT check.
 */
#include <stdlib.h>
#include <string.h>

#include "../graph/copies.h"
#include "../graph/graph.h"
#include "../json.h"
#include "../util.h"
#include "gpu.h"
#include "gpu_rules.h"
#include "insn.h"

/* The first row of a kernel's edge: a kernel is of the edge, not of one instance. */
static const struct fx_copy_row *row_of(const struct fx_copy_row *row, u32 n, u32 cls)
{
	for (u32 i = 0; i < n; i++)
		if (row[i].cls == cls)
			return &row[i];
	return NULL;
}

/* What <fabric_ext/glue_cuda.bpf.h> wants to know, as C; to free(). */
static char *header(const struct fx_graph *g, const struct fx_place *p,
		    const struct fx_copy_row *row, u32 n)
{
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	if (!f)
		return fx_strdup("#error no memory\n");
	fprintf(f, "#define FX_FOR_GPU 1\n#define FX_FOR_CUDA 1\n#define FX_COPY_PLACE %u\n"
		"#define FX_COPY_N_KERNELS %u\n#define FX_COPY_KERNELS(X)",
		(u32)(p - g->place), p->copies.n_kernel);
	for (u32 i = 0; i < p->copies.n_kernel; i++) {
		const struct fx_copy_kernel *k = &p->copies.kernel[i];
		const struct fx_copy_row *r = row_of(row, n, k->edge.place);

		fprintf(f, " X(%u, \"kprobe/%s\", %u, %lluULL, %u, %u, %u)", i, k->name, r->dir,
			(unsigned long long)r->bytes, r->first, r->cls, r->priority);
	}
	fputc('\n', f);
	fclose(f);
	return text;
}

static struct json_object *about(const struct fx_graph *g, const struct fx_place *p,
				 const struct fx_bytecode *c)
{
	struct json_object *o = fx_json_object(), *list = fx_json_array(), *e;

	fx_json_str(o, "place", p->name);
	for (u32 i = 0; i < p->copies.n_kernel; i++) {
		e = fx_json_object();
		fx_json_str(e, "name", p->copies.kernel[i].name);
		fx_json_str(e, "edge", g->cls[p->copies.kernel[i].edge.place].name);
		fx_json_add(list, e);
	}
	fx_json_put(o, "kernels", list);
	/* these need BPFTIME_MAP_GPU_THREAD_COUNT to be as large as a launch */
	list = fx_json_array();
	for (u32 i = 0; i < c->n_map; i++) {
		const struct fx_map_rule *rule = fx_map_rule(&fx_cuda_rules, c->map[i].type);

		if (rule && rule->per_lane)
			fx_json_add_str(list, c->map[i].name);
	}
	fx_json_put(o, "per_lane", list);
	return o;
}

enum fx_rc fx_lower_cuda(const struct fx_lower_in *in, struct fx_lowered *out)
{
	const struct fx_place *p = fx_copy_place(in->g);
	struct fx_bytecode code = { 0 };
	char *object = NULL, *text;
	struct fx_copy_row *row;
	enum fx_rc rc;
	size_t size;
	u32 n;

	row = fx_copy_rows(in->g, p - in->g->place, &n);
	text = header(in->g, p, row, n);
	rc = fx_gpu_compile(in, "cuda", text, NULL, &object, &size);
	if (rc == FX_RC_OK)
		rc = fx_gpu_inspect(in, &fx_cuda_rules, object, size, "cuda__copy_0",
				    FX_LANES_ALIKE, &code);
	if (rc == FX_RC_OK)
		rc = fx_cuda_verify(in, &code);
	if (rc == FX_RC_OK)
		out->about = about(in->g, p, &code);
	/* it looks into the object */
	fx_bytecode_close(&code);
	if (rc == FX_RC_OK) {
		out->text = fx_asprintf("cuda (%u kernels)", p->copies.n_kernel);
		fx_lowered_add(out, fx_strdup("cuda/policy.bpf.o"), object, size);
	} else {
		free(object);
	}
	free(row);
	free(text);
	return rc;
}
