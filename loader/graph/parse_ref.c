// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * References to edges: `name`, `name[*]`, `name[layer, block - 1]`. With a
 * question mark behind, an index out of range names nothing instead of being
 * an error: `ffn[layer - 1]?` of the first layer.
 */
#include <string.h>

#include "codes.h"
#include "parse.h"

static size_t skip_space(const char *s, size_t at)
{
	return at + strspn(s + at, " \t");
}

static bool bad(struct fx_graph *g, const struct fx_node *v, size_t at,
		const char *what)
{
	fx_diag_help(fx_diag(g->diags, FX_E_REF, fx_node_at(v, at), "%s", what),
		     "such as kv_out, kv_out[*] or kv_out[layer]");
	return false;
}

/* The end of one index: a comma or bracket outside of parentheses. */
static size_t index_end(const char *s, size_t at)
{
	u32 nest = 0;

	for (; s[at]; at++) {
		if (s[at] == '(')
			nest++;
		else if (s[at] == ')' && nest)
			nest--;
		else if (!nest && (s[at] == ',' || s[at] == ']'))
			break;
	}
	return at;
}

bool fx_ref_parse(struct fx_graph *g, const struct fx_node *v, struct fx_ref *ref)
{
	const char *s = fx_want_word(g, v, "after", "a reference to an edge");
	size_t at = 0, end;

	if (!s)
		return false;
	*ref = (struct fx_ref){ .pos = v->pos, .cls = FX_CLASS_NONE };
	while (fx_is_word(s[at]))
		at++;
	if (!at)
		return bad(g, v, 0, "this is no reference to an edge");
	ref->name = fx_arena_strndup(&g->arena, s, at);
	at = skip_space(s, at);
	ref->indexed = s[at] == '[';
	while (s[at] == '[' || (ref->n_index && s[at] == ',')) {
		if (ref->n_index == FX_MAX_DIMS)
			return bad(g, v, at, "this has more than four indices");
		at = skip_space(s, at + 1);
		end = index_end(s, at);
		if (!s[end])
			return bad(g, v, end, "']' is missing here");
		if (s[at] == '*' && skip_space(s, at + 1) == end) {
			ref->index[ref->n_index++] = NULL;
		} else {
			struct fx_expr *e = fx_expr_parse(&g->arena, g->diags,
							  v, at, end);

			if (!e)
				return false;
			ref->index[ref->n_index++] = e;
		}
		at = end;
		if (s[at] == ']') {
			at = skip_space(s, at + 1);
			break;
		}
	}
	if (s[at] == '?') {
		ref->optional = true;
		at = skip_space(s, at + 1);
	}
	if (s[at])
		return bad(g, v, at, "this does not belong in a reference");
	return true;
}
