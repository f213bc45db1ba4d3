// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* A file through all passes; a pass runs only when those before found nothing. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "graph.h"

static void (*const passes[])(struct fx_graph *g) = {
	fx_graph_parse,
	fx_graph_elaborate,
	fx_graph_check,
};

enum fx_rc fx_graph_load(const char *path, struct fx_graph **out)
{
	struct fx_graph *g = fx_calloc(1, sizeof(*g));
	int err;

	*out = g;
	err = fx_read_file(path, FX_YAML_MAX_BYTES, &g->text, &g->text_len);
	if (err == -EFBIG || err == -EISDIR || err == -EINVAL || err == -ENOENT) {
		fx_err("%s: %s", path, err == -EFBIG ?
		       "the file is larger than 16 MiB" :
		       err == -EISDIR ? "this is a directory, not a graph" :
		       err == -ENOENT ? "there is no such file" :
		       "this is no regular file");
		return FX_RC_INPUT;
	}
	if (err) {
		fx_err("%s cannot be read: %s", path, strerror(-err));
		return FX_RC_SYSTEM;
	}
	g->diags = fx_diags_new(path, g->text, g->text_len);
	for (u32 i = 0; i < ARRAY_SIZE(passes); i++) {
		passes[i](g);
		if (fx_diags_print(g->diags))
			return FX_RC_INPUT;
	}
	return FX_RC_OK;
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
	free(g->obligation);
	fx_scope_free(&g->params);
	fx_diags_free(g->diags);
	fx_arena_free(&g->arena);
	free(g->text);
	free(g);
}
