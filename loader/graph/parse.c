// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The tree of a file into declarations: everything but the edges. */
#include <stdlib.h>
#include <string.h>

#include "codes.h"
#include "keys.h"
#include "parse.h"

#define MAX_NODE_ID	1023

static void take_version(struct fx_graph *g, const struct fx_key *k,
			 struct fx_node *v, void *obj)
{
	const char *word = fx_want_word(g, v, k->name, "the language version, 1");

	(void)obj;
	if (word && strcmp(word, "1"))
		fx_diag(g->diags, FX_E_VERSION, v->pos,
			"this file wants version '%s' of the language; this fabricctl knows 1",
			word);
}

static void take_graph_name(struct fx_graph *g, const struct fx_key *k,
			    struct fx_node *v, void *obj)
{
	const char *word = fx_want_word(g, v, k->name, "the graph's name");

	(void)obj;
	if (word && fx_check_graph_name(g, v->pos, word)) {
		g->name = word;
		g->name_pos = v->pos;
	}
}

bool fx_check_graph_name(struct fx_graph *g, struct fx_pos pos, const char *name)
{
	size_t len = strlen(name);
	bool ok = len && fx_is_word(name[0]);

	for (size_t i = 0; i < len; i++)
		ok = ok && (fx_is_word(name[i]) || name[i] == '.' ||
			    name[i] == '-');
	if (!ok)
		fx_diag(g->diags, FX_E_IDENT, pos,
			"'%s' cannot name a graph: letters, digits, _ . and - only, no . or - first",
			name);
	else if (len >= FX_NAME_LEN)
		fx_diag(g->diags, FX_E_IDENT, pos,
			"the graph's name has %zu characters; at most %d fit",
			len, FX_NAME_LEN - 1);
	return ok && len < FX_NAME_LEN;
}

static void take_governs(struct fx_graph *g, const struct fx_key *k,
			 struct fx_node *v, void *obj)
{
	int bit;

	(void)obj;
	if (!fx_want_kind(g, v, k->name, FX_NODE_LIST))
		return;
	for (u32 i = 0; i < v->n; i++) {
		bit = fx_want_value(g, v->item[i], k->name, &fx_governs);
		if (bit < 0)
			continue;
		if (g->governs & 1U << bit)
			fx_diag(g->diags, FX_E_TWICE, v->item[i]->pos,
				"'%s' stands twice in 'governs'",
				v->item[i]->text);
		g->governs |= 1U << bit;
	}
}

/* A mapping of names that the user chooses; false above the limit. */
static bool want_names(struct fx_graph *g, const struct fx_key *k,
		       const struct fx_node *v, u32 max)
{
	if (!fx_want_kind(g, v, k->name, FX_NODE_MAP))
		return false;
	if (v->n <= max)
		return true;
	fx_diag(g->diags, FX_E_LIMIT, v->pos,
		"'%s' has %u entries; at most %u fit", k->name, v->n, max);
	return false;
}

static void take_params(struct fx_graph *g, const struct fx_key *k,
			struct fx_node *v, void *obj)
{
	static const struct fx_key value = {
		"params", .at = offsetof(struct fx_param, value),
	};
	struct fx_param *p;

	(void)obj;
	if (!want_names(g, k, v, FX_MAX_PARAMS))
		return;
	for (u32 i = 0; i < v->n; i++) {
		if (!fx_check_name(g, v->key[i]->pos, v->key[i]->text,
				   "a parameter"))
			continue;
		if (fx_field_named(v->key[i]->text)) {
			fx_diag(g->diags, FX_E_SHADOW, v->key[i]->pos,
				"a parameter cannot be called '%s', as a field of edges is",
				v->key[i]->text);
			continue;
		}
		fx_grow(g->param, g->n_param, g->cap_param);
		p = &g->param[g->n_param++];
		*p = (struct fx_param){ .name = v->key[i]->text,
					.pos = v->key[i]->pos };
		fx_take_field(g, &value, v->item[i], p);
	}
}

/* ---- places ----------------------------------------------------------- */

static void check_node(struct fx_graph *g, struct fx_place *p)
{
	bool decimal = strspn(p->match, "0123456789") == strlen(p->match);
	u64 node;

	/* as the kernel reads it, which knows no 0x here */
	if (!decimal || fx_parse_u64(p->match, &node) || node > MAX_NODE_ID)
		fx_diag(g->diags, FX_E_MATCH, p->match_pos,
			"'%s' is no memory node: 0 to %d", p->match,
			MAX_NODE_ID);
}

static void check_pci(struct fx_graph *g, struct fx_place *p)
{
	static const char form[] = "xxxx:xx:xx.x";
	bool ok = strlen(p->match) == sizeof(form) - 1;

	for (u32 i = 0; ok && form[i]; i++)
		ok = form[i] == 'x' ?
		     !!strchr("0123456789abcdef", p->match[i]) :
		     p->match[i] == form[i];
	if (!ok)
		fx_diag_help(fx_diag(g->diags, FX_E_MATCH, p->match_pos,
				     "'%s' is no PCI address", p->match),
			     "such as 0000:01:00.0, lower case");
}

/* As the kernel takes names of network devices. */
static void check_netdev(struct fx_graph *g, struct fx_place *p)
{
	const char *name = p->match;

	if (strlen(name) < FX_NIC_NAME_LEN && !strpbrk(name, "/: \f\v\r\n\t") &&
	    strcmp(name, ".") && strcmp(name, ".."))
		return;
	fx_diag(g->diags, FX_E_MATCH, p->match_pos,
		"'%s' cannot name a network device: at most %d characters, no / : or space",
		name, FX_NIC_NAME_LEN - 1);
}

/* A word, as it is part of a socket's name. */
static void check_dpu(struct fx_graph *g, struct fx_place *p)
{
	const char *name = p->match;
	size_t len = strlen(name), ok = 0;

	while (ok < len && (fx_is_word(name[ok]) || name[ok] == '-'))
		ok++;
	if (len && len < FX_NIC_NAME_LEN && ok == len)
		return;
	fx_diag(g->diags, FX_E_MATCH, p->match_pos,
		"'%s' cannot name a DPU: at most %d letters, digits, _ and -",
		name, FX_NIC_NAME_LEN - 1);
}

static bool has_control(const char *s)
{
	for (; *s; s++)
		if ((u8)*s < 0x20 || *s == 0x7f)
			return true;
	return false;
}

static void take_match(struct fx_graph *g, const struct fx_key *k,
		       struct fx_node *v, void *obj)
{
	struct fx_place *p = obj;
	const char *word;
	int kind;

	if (!fx_want_kind(g, v, k->name, FX_NODE_MAP))
		return;
	if (v->n != 1) {
		fx_diag(g->diags, FX_E_MATCH, v->pos,
			"'match' takes one key, such as { node: 0 }");
		return;
	}
	kind = fx_value(&fx_match_kinds, v->key[0]->text);
	if (kind <= FX_MATCH_NONE) {
		/* words the user cannot write are no suggestion */
		kind = fx_want_value(g, v->key[0], k->name, &fx_match_kinds);
		if (kind == FX_MATCH_NONE)
			fx_diag(g->diags, FX_E_WORD, v->key[0]->pos,
				"there is no match 'none'; leave 'match' out");
		return;
	}
	word = fx_want_word(g, v->item[0], v->key[0]->text, "a name");
	if (!word)
		return;
	p->match_kind = kind;
	p->match = word;
	p->match_pos = v->item[0]->pos;
	if (strlen(word) >= FX_MATCH_LEN)
		fx_diag(g->diags, FX_E_MATCH, v->item[0]->pos,
			"this name has %zu characters; at most %d fit",
			strlen(word), FX_MATCH_LEN - 1);
	else if (has_control(word))
		fx_diag(g->diags, FX_E_MATCH, v->item[0]->pos,
			"this name has control characters");
	else if (kind == FX_MATCH_NODE)
		check_node(g, p);
	else if (kind == FX_MATCH_PCI)
		check_pci(g, p);
	else if (kind == FX_MATCH_NETDEV)
		check_netdev(g, p);
	else if (kind == FX_MATCH_DPU)
		check_dpu(g, p);
}

static void take_appears(struct fx_graph *g, const struct fx_key *k,
			 struct fx_node *v, void *obj)
{
	const char *word = fx_want_word(g, v, k->name, "the word 'later'");

	if (!word)
		return;
	if (strcmp(word, "later"))
		fx_diag(g->diags, FX_E_WORD, v->pos,
			"'appears' takes the word 'later', not '%s'", word);
	((struct fx_place *)obj)->later = true;
}

static const struct fx_key place_keys[] = {
	{ "kind", fx_take_word, offsetof(struct fx_place, kind),
	  &fx_place_kinds, .required = true },
	{ "match", take_match },
	{ "capacity", fx_take_field, offsetof(struct fx_place, capacity) },
	{ "island", fx_take_name, offsetof(struct fx_place, island) },
	{ "appears", take_appears },
	{ "copies", fx_take_copies },
	{ }
};

static void take_places(struct fx_graph *g, const struct fx_key *k,
			struct fx_node *v, void *obj)
{
	struct fx_place *p;

	(void)obj;
	if (!want_names(g, k, v, FX_MAX_PLACES))
		return;
	for (u32 i = 0; i < v->n; i++) {
		fx_grow(g->place, g->n_place, g->cap_place);
		p = &g->place[g->n_place++];
		*p = (struct fx_place){ .name = v->key[i]->text,
					.pos = v->key[i]->pos };
		fx_check_name(g, p->pos, p->name, "a place");
		fx_take_map(g, v->item[i], "a place", place_keys, p);
		/* a switch or a far machine is only passed through */
		if (!p->match_kind && !fx_node_get(v->item[i], "match") &&
		    p->kind != FX_PLACE_SWITCH && p->kind != FX_PLACE_REMOTE)
			fx_diag_help(fx_diag(g->diags, FX_E_MISSING, p->pos,
					     "place '%s' needs the key 'match'",
					     p->name),
				     "it binds the place to the running system, such as match: { node: 0 }");
	}
}

/* ---- links ------------------------------------------------------------ */

static void take_between(struct fx_graph *g, const struct fx_key *k,
			 struct fx_node *v, void *obj)
{
	static const struct fx_key end = { "between" };
	struct fx_link *l = obj;

	if (!fx_want_kind(g, v, k->name, FX_NODE_LIST))
		return;
	if (v->n != 2) {
		fx_diag(g->diags, FX_E_KIND, v->pos,
			"a link is between two places, not %u", v->n);
		return;
	}
	for (u32 i = 0; i < 2; i++)
		fx_take_end(g, &end, v->item[i], &l->end[i]);
}

static const struct fx_key link_keys[] = {
	{ "between", take_between, .required = true },
	{ "bandwidth", fx_take_field, offsetof(struct fx_link, bandwidth) },
	{ "latency", fx_take_field, offsetof(struct fx_link, latency) },
	{ }
};

static void take_links(struct fx_graph *g, const struct fx_key *k,
		       struct fx_node *v, void *obj)
{
	struct fx_link *l;

	(void)obj;
	if (!fx_want_kind(g, v, k->name, FX_NODE_LIST))
		return;
	if (v->n > FX_MAX_LINKS) {
		fx_diag(g->diags, FX_E_LIMIT, v->pos,
			"there are %u links; at most %u fit", v->n,
			FX_MAX_LINKS);
		return;
	}
	g->has_links = true;
	for (u32 i = 0; i < v->n; i++) {
		fx_grow(g->link, g->n_link, g->cap_link);
		l = &g->link[g->n_link++];
		*l = (struct fx_link){ .pos = v->item[i]->pos };
		fx_take_map(g, v->item[i], "a link", link_keys, l);
	}
}

/* ---- alias sets ------------------------------------------------------- */

static const struct fx_key alias_keys[] = {
	{ "bytes", fx_take_field, offsetof(struct fx_alias, bytes),
	  .required = true },
	{ }
};

static void take_alias(struct fx_graph *g, const struct fx_key *k,
		       struct fx_node *v, void *obj)
{
	struct fx_alias *a;

	(void)obj;
	if (!want_names(g, k, v, FX_MAX_ALIASES))
		return;
	for (u32 i = 0; i < v->n; i++) {
		fx_grow(g->alias, g->n_alias, g->cap_alias);
		a = &g->alias[g->n_alias++];
		*a = (struct fx_alias){ .name = v->key[i]->text,
					.pos = v->key[i]->pos };
		fx_check_name(g, a->pos, a->name, "an alias set");
		fx_take_map(g, v->item[i], "an alias set", alias_keys, a);
	}
}

static const struct fx_key graph_keys[] = {
	{ "fabric_ext", take_version, .required = true },
	{ "graph", take_graph_name, .required = true },
	{ "governs", take_governs },
	{ "params", take_params },
	{ "places", take_places, .required = true },
	{ "links", take_links },
	{ "alias", take_alias },
	{ "edges", fx_take_edges, .required = true },
	{ }
};

/* fx_graph_parse() - the file's text into declarations */
void fx_graph_parse(struct fx_graph *g)
{
	struct fx_node *root = fx_yaml_parse(&g->arena, g->diags, g->text,
					     g->text_len, "YAML");

	if (root)
		fx_take_map(g, root, "a graph", graph_keys, g);
}
