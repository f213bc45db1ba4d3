// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* A file through all passes; a pass runs only when those before found nothing. */
#include <errno.h>
#include <stdlib.h>

#include "graph.h"

static void (*const passes[])(struct fx_graph *g) = {
	fx_graph_parse,
	fx_graph_elaborate,
	fx_graph_check,
};

/* fx_graph_new() - a graph out of a text, which it owns from now on */
struct fx_graph *fx_graph_new(const char *path, char *text, size_t len)
{
	struct fx_graph *g = fx_calloc(1, sizeof(*g));

	g->text = text;
	g->text_len = len;
	g->diags = fx_diags_new(path, text, len);
	return g;
}

/* fx_graph_run() - all passes; false after errors, which are in g->diags */
bool fx_graph_run(struct fx_graph *g)
{
	for (u32 i = 0; i < ARRAY_SIZE(passes); i++) {
		passes[i](g);
		if (fx_diags_count(g->diags))
			return false;
	}
	return true;
}

enum fx_rc fx_graph_load(const char *path, struct fx_graph **out)
{
	char *text = NULL;
	size_t len;
	int err;

	*out = NULL;
	err = fx_read_file(path, FX_YAML_MAX_BYTES, &text, &len);
	/* the parser tells of its limit, with a code */
	if (err == -EFBIG)
		len = FX_YAML_MAX_BYTES + 1;
	else if (err)
		return fx_read_failed("the graph", path, err);
	*out = fx_graph_new(path, text, len);
	if (fx_graph_run(*out))
		return FX_RC_OK;
	fx_diags_print((*out)->diags);
	return FX_RC_INPUT;
}

void fx_graph_free(struct fx_graph *g)
{
	if (!g)
		return;
	for (u32 i = 0; i < g->n_cls; i++)
		free(g->cls[i].ref);
	free(g->param);
	free(g->place);
	free(g->link);
	free(g->alias);
	free(g->cls);
	free(g->param_value);
	free(g->edge);
	free(g->after);
	free(g->flow);
	free(g->obligation);
	fx_scope_free(&g->params);
	fx_diags_free(g->diags);
	fx_arena_free(&g->arena);
	free(g->text);
	free(g);
}
