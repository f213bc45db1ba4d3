// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <string.h>

#include "codes.h"
#include "keys.h"

static const char *key_at(const void *list, u32 i)
{
	const struct fx_key *k = list;

	return k[i].name;
}

static void unknown_key(struct fx_graph *g, const struct fx_node *key,
			const char *what, const struct fx_key *keys)
{
	const char *near = fx_nearest(key->text, key_at, keys);
	struct fx_diag *d;
	char all[256] = "";

	d = fx_diag(g->diags, FX_E_KEY, key->pos, "%s has no key '%s'", what,
		    key->text);
	if (near) {
		fx_diag_help(d, "did you mean '%s'?", near);
		return;
	}
	for (u32 i = 0; keys[i].name; i++) {
		size_t n = strlen(all);

		snprintf(all + n, sizeof(all) - n, "%s%s", i ? ", " : "",
			 keys[i].name);
	}
	fx_diag_help(d, "it has: %s", all);
}

/* "a, b, c" of a table. */
static const char *all_words(const struct fx_names *names)
{
	static char all[256];
	size_t n = 0;

	all[0] = '\0';
	for (u32 i = 0; i < names->n && n < sizeof(all); i++)
		n += snprintf(all + n, sizeof(all) - n, "%s%s", i ? ", " : "",
			      names->name[i]);
	return all;
}

static void missing_key(struct fx_graph *g, const struct fx_node *map,
			const char *what, const struct fx_key *k)
{
	struct fx_diag *d = fx_diag(g->diags, FX_E_MISSING, map->pos,
				    "%s needs the key '%s'", what, k->name);

	if (k->names)
		fx_diag_help(d, "'%s' is one of: %s", k->name,
			     all_words(k->names));
}

void fx_take_map(struct fx_graph *g, const struct fx_node *map, const char *what,
		 const struct fx_key *keys, void *obj)
{
	const struct fx_key *k;

	if (map->kind != FX_NODE_MAP) {
		fx_diag(g->diags, FX_E_KIND, map->pos,
			"%s is a mapping of keys to values, not %s", what,
			fx_node_what(map));
		return;
	}
	for (u32 i = 0; i < map->n; i++) {
		for (k = keys; k->name; k++)
			if (!strcmp(k->name, map->key[i]->text))
				break;
		if (k->name)
			k->take(g, k, map->item[i], obj);
		else
			unknown_key(g, map->key[i], what, keys);
	}
	for (k = keys; k->name; k++)
		if (k->required && !fx_node_get(map, k->name))
			missing_key(g, map, what, k);
}

const char *fx_want_word(struct fx_graph *g, const struct fx_node *v,
			 const char *name, const char *want)
{
	if (v->kind == FX_NODE_SCALAR && !fx_node_null(v) && *v->text)
		return v->text;
	fx_diag(g->diags, FX_E_KIND, v->pos, "'%s' takes %s, not %s", name, want,
		v->kind == FX_NODE_SCALAR ? "nothing" : fx_node_what(v));
	return NULL;
}

bool fx_want_kind(struct fx_graph *g, const struct fx_node *v, const char *name,
		  enum fx_node_kind kind)
{
	if (v->kind == kind)
		return true;
	fx_diag(g->diags, FX_E_KIND, v->pos, "'%s' takes %s, not %s", name,
		kind == FX_NODE_LIST ? "a list" : "a mapping",
		fx_node_what(v));
	return false;
}

int fx_want_value(struct fx_graph *g, const struct fx_node *v, const char *key,
		  const struct fx_names *names)
{
	const char *word = fx_want_word(g, v, key, "a word");
	const char *near;
	struct fx_diag *d;
	int value;

	if (!word)
		return -1;
	value = fx_value(names, word);
	if (value >= 0)
		return value;
	d = fx_diag(g->diags, FX_E_WORD, v->pos, "there is no %s '%s'",
		    names->what, word);
	near = fx_nearest_name(word, names->name, names->n);
	if (near)
		fx_diag_help(d, "did you mean '%s'?", near);
	else
		fx_diag_help(d, "known: %s", all_words(names));
	return -1;
}

bool fx_check_name(struct fx_graph *g, struct fx_pos pos, const char *name,
		   const char *what)
{
	size_t len = strlen(name);
	bool ok = len && (name[0] < '0' || name[0] > '9');

	for (size_t i = 0; i < len; i++)
		ok = ok && fx_is_word(name[i]);
	if (!ok)
		fx_diag(g->diags, FX_E_IDENT, pos,
			"'%s' cannot name %s: letters, digits and _ only, no digit first",
			name, what);
	else if (len >= FX_NAME_LEN)
		fx_diag(g->diags, FX_E_IDENT, pos,
			"the name of %s has %zu characters; at most %d fit",
			what, len, FX_NAME_LEN - 1);
	return ok && len < FX_NAME_LEN;
}

void fx_take_name(struct fx_graph *g, const struct fx_key *k,
		  struct fx_node *v, void *obj)
{
	const char *word = fx_want_word(g, v, k->name, "a name");

	if (word && fx_check_name(g, v->pos, word, k->name))
		*(const char **)((char *)obj + k->at) = word;
}

void fx_take_word(struct fx_graph *g, const struct fx_key *k,
		  struct fx_node *v, void *obj)
{
	int value = fx_want_value(g, v, k->name, k->names);

	if (value >= 0)
		*((u8 *)obj + k->at) = value;
}

void fx_take_bool(struct fx_graph *g, const struct fx_key *k,
		  struct fx_node *v, void *obj)
{
	const char *word = fx_want_word(g, v, k->name, "true or false");
	bool *at = (bool *)((char *)obj + k->at);

	if (!word)
		return;
	if (!strcmp(word, "true"))
		*at = true;
	else if (!strcmp(word, "false"))
		*at = false;
	else
		fx_diag(g->diags, FX_E_WORD, v->pos,
			"'%s' takes true or false, not '%s'", k->name, word);
}

void fx_take_field(struct fx_graph *g, const struct fx_key *k,
		   struct fx_node *v, void *obj)
{
	struct fx_field *f = (struct fx_field *)((char *)obj + k->at);
	const char *word = fx_want_word(g, v, k->name, "an expression");

	f->pos = v->pos;
	if (word)
		f->expr = fx_expr_parse(&g->arena, g->diags, v, 0, strlen(word));
}

void fx_take_end(struct fx_graph *g, const struct fx_key *k,
		 struct fx_node *v, void *obj)
{
	struct fx_link_end *e = (struct fx_link_end *)((char *)obj + k->at);

	e->name = fx_want_word(g, v, k->name, "a name");
	e->pos = v->pos;
	e->place = FX_PLACE_NONE;
}
