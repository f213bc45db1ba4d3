// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* `edges:` into declarations of classes. */
#include <string.h>

#include "codes.h"
#include "fields.h"
#include "image.h"
#include "parse.h"

#define MAX_BYTES	(~0ULL >> 1)

const struct fx_field_info fx_field_info[FX_FIELDS] = {
	[FX_F_BYTES] = { "bytes", "bytes", FX_UNIT_BYTES, 1, MAX_BYTES },
	[FX_F_CHUNK] = { "chunk", "chunk", FX_UNIT_BYTES, 1, MAX_BYTES, true },
	[FX_F_STRIDE] = { "stride", "stride", FX_UNIT_BYTES, 1, MAX_BYTES,
			  true },
	[FX_F_TO_STRIDE] = { "to_stride", "to_stride", FX_UNIT_BYTES, 1,
			     MAX_BYTES, true },
	[FX_F_REUSE] = { "reuse", "reuse", FX_UNIT_BYTES, 0, MAX_BYTES },
	[FX_F_DEADLINE] = { "deadline", "deadline", FX_UNIT_TIME, 1, MAX_BYTES,
			    true },
	[FX_F_PRIORITY] = { "priority", "priority", FX_UNIT_NONE, 0,
			    FX_MAX_PRIORITY, true },
	[FX_F_AT] = { "at", "at", FX_UNIT_BYTES, 0, MAX_BYTES },
	[FX_F_ALIAS_BYTES] = { "bytes", NULL, FX_UNIT_BYTES, 1, MAX_BYTES },
	[FX_F_UDP] = { "udp", NULL, FX_UNIT_NONE, 1, 65535 },
	[FX_F_SPORT] = { "sport", NULL, FX_UNIT_NONE, 1, 65535 },
	[FX_F_DPORT] = { "dport", NULL, FX_UNIT_NONE, 1, 65535 },
	[FX_F_VLAN] = { "vlan", NULL, FX_UNIT_NONE, 0, 4094 },
	[FX_F_DSCP] = { "dscp", NULL, FX_UNIT_NONE, 0, 63 },
	[FX_F_QP] = { "qp", NULL, FX_UNIT_NONE, FX_QP_MIN, FX_QP_MAX },
};

bool fx_field_named(const char *name)
{
	for (u32 i = 0; i < FX_FIELDS; i++)
		if (fx_field_info[i].name && !strcmp(fx_field_info[i].name, name))
			return true;
	return false;
}

void fx_take_number(struct fx_graph *g, const struct fx_key *k,
		    struct fx_node *v, void *obj)
{
	struct fx_class *c = obj;
	struct fx_key at = { k->name, .at = 0 };

	c->order_of[c->n_fields++] = k->at;
	fx_take_field(g, &at, v, &c->field[k->at]);
}

static void take_reuse(struct fx_graph *g, const struct fx_key *k,
		       struct fx_node *v, void *obj)
{
	struct fx_class *c = obj;

	if (v->kind == FX_NODE_SCALAR && !strcmp(v->text, "never"))
		c->reuse_never = true;
	else
		fx_take_number(g, k, v, obj);
}

/* ---- for: v in N ------------------------------------------------------ */

static void take_loop(struct fx_graph *g, const struct fx_node *v,
		      struct fx_class *c)
{
	const char *word = fx_want_word(g, v, "for",
					"a loop such as 'layer in layers'");
	struct fx_loop *l = &c->loop[c->n_loop];
	size_t name_len, at;

	if (!word)
		return;
	name_len = strcspn(word, " \t\n");
	at = name_len + strspn(word + name_len, " \t\n");
	if (strncmp(word + at, "in", 2) || fx_is_word(word[at + 2]) ||
	    !word[at + 2]) {
		fx_diag_help(fx_diag(g->diags, FX_E_LOOP, v->pos,
				     "'%s' is no loop", word),
			     "such as 'layer in layers' or 'block in tokens / 128'");
		return;
	}
	l->name = fx_arena_strndup(&g->arena, word, name_len);
	l->pos = v->pos;
	if (!fx_check_name(g, v->pos, l->name, "a loop variable"))
		return;
	if (fx_field_named(l->name)) {
		fx_diag(g->diags, FX_E_SHADOW, v->pos,
			"a loop variable cannot be called '%s', as a field of edges is",
			l->name);
		return;
	}
	l->count.pos = v->pos;
	l->count.expr = fx_expr_parse(&g->arena, g->diags, v, at + 2,
				      strlen(word));
	c->n_loop++;
}

static void take_for(struct fx_graph *g, const struct fx_key *k,
		     struct fx_node *v, void *obj)
{
	(void)k;
	if (v->kind != FX_NODE_LIST) {
		take_loop(g, v, obj);
		return;
	}
	if (v->n > FX_MAX_DIMS || !v->n) {
		fx_diag(g->diags, FX_E_LOOP, v->pos,
			"an edge has one to %d loops, not %u", FX_MAX_DIMS,
			v->n);
		return;
	}
	for (u32 i = 0; i < v->n; i++)
		take_loop(g, v->item[i], obj);
}

/* ---- the other keys --------------------------------------------------- */

static void take_to(struct fx_graph *g, const struct fx_key *k,
		    struct fx_node *v, void *obj)
{
	static const struct fx_key end = { "to" };
	struct fx_class *c = obj;
	u32 n = v->kind == FX_NODE_LIST ? v->n : 1;

	if (!n || n > FX_MAX_TO) {
		fx_diag(g->diags, FX_E_LIMIT, v->pos,
			"'%s' has %u places; an edge has one to %d", k->name, n,
			FX_MAX_TO);
		return;
	}
	for (u32 i = 0; i < n; i++)
		fx_take_end(g, &end, v->kind == FX_NODE_LIST ? v->item[i] : v,
			    &c->to[i]);
	c->n_to = n;
}

static const struct fx_key shape_keys[] = {
	{ "chunk", fx_take_number, FX_F_CHUNK, .required = true },
	{ "stride", fx_take_number, FX_F_STRIDE },
	{ "to_stride", fx_take_number, FX_F_TO_STRIDE },
	{ }
};

static void take_shape(struct fx_graph *g, const struct fx_key *k,
		       struct fx_node *v, void *obj)
{
	(void)k;
	((struct fx_class *)obj)->shape_pos = v->pos;
	fx_take_map(g, v, "a shape", shape_keys, obj);
}

static const struct fx_key alias_keys[] = {
	{ "set", fx_take_end, offsetof(struct fx_class, alias),
	  .required = true },
	{ "at", fx_take_number, FX_F_AT },
	{ "bytes", fx_take_number, FX_F_ALIAS_BYTES },
	{ }
};

static void take_alias(struct fx_graph *g, const struct fx_key *k,
		       struct fx_node *v, void *obj)
{
	(void)k;
	fx_take_map(g, v, "an edge's alias", alias_keys, obj);
}

static void take_rw(struct fx_graph *g, const struct fx_key *k,
		    struct fx_node *v, void *obj)
{
	const char *word = fx_want_word(g, v, k->name, "a ratio such as 9:1");
	struct fx_class *c = obj;
	struct fx_number r, w;
	const char *at;

	if (!word)
		return;
	if (fx_parse_number(word, &at, &r) || r.unit || *at != ':' ||
	    fx_parse_number(at + 1, &at, &w) || w.unit || *at ||
	    r.value > 0xffff || w.value > 0xffff || (!r.value && !w.value)) {
		fx_diag(g->diags, FX_E_RATIO, v->pos,
			"'%s' is no ratio of reads to writes such as 9:1 (0 to 65535, not both 0)",
			word);
		return;
	}
	c->rw_read = r.value;
	c->rw_write = w.value;
}

static void take_after(struct fx_graph *g, const struct fx_key *k,
		       struct fx_node *v, void *obj)
{
	struct fx_class *c = obj;
	u32 n = v->kind == FX_NODE_LIST ? v->n : 1;
	struct fx_ref ref;

	if (n > FX_MAX_REFS) {
		fx_diag(g->diags, FX_E_LIMIT, v->pos,
			"'%s' names %u edges; at most %d fit, and name[*] is one",
			k->name, n, FX_MAX_REFS);
		return;
	}
	for (u32 i = 0; i < n; i++) {
		if (!fx_ref_parse(g, v->kind == FX_NODE_LIST ? v->item[i] : v,
				  &ref))
			continue;
		fx_grow(c->ref, c->n_ref, c->cap_ref);
		c->ref[c->n_ref++] = ref;
	}
}

static void take_order(struct fx_graph *g, const struct fx_key *k,
		       struct fx_node *v, void *obj)
{
	((struct fx_class *)obj)->order_pos = v->pos;
	fx_take_word(g, k, v, obj);
}

static void take_element(struct fx_graph *g, const struct fx_key *k,
			 struct fx_node *v, void *obj)
{
	((struct fx_class *)obj)->element_pos = v->pos;
	fx_take_word(g, k, v, obj);
}

static void take_redirect(struct fx_graph *g, const struct fx_key *k,
			  struct fx_node *v, void *obj)
{
	((struct fx_class *)obj)->flow.redirect_pos = v->pos;
	fx_take_word(g, k, v, obj);
}

static void take_exact(struct fx_graph *g, const struct fx_key *k,
		       struct fx_node *v, void *obj)
{
	((struct fx_class *)obj)->exact_pos = v->pos;
	fx_take_bool(g, k, v, obj);
}

#define AT(field)	offsetof(struct fx_class, field)

static const struct fx_key edge_keys[] = {
	{ "edge", fx_take_name, AT(name), .required = true },
	{ "for", take_for },
	{ "from", fx_take_end, AT(from), .required = true },
	{ "to", take_to, .required = true },
	{ "bytes", fx_take_number, FX_F_BYTES, .required = true },
	{ "shape", take_shape },
	{ "element", take_element, AT(element), &fx_elements },
	{ "reuse", take_reuse, FX_F_REUSE },
	{ "rw", take_rw },
	{ "order", take_order, AT(order), &fx_orders },
	{ "after", take_after },
	{ "alias", take_alias },
	{ "owner", fx_take_word, AT(owner), &fx_owners, .required = true },
	{ "flow", fx_take_flow },
	{ "redirect", take_redirect, AT(flow.redirect), &fx_queue_kinds },
	{ "exact", take_exact, AT(exact) },
	{ "deadline", fx_take_number, FX_F_DEADLINE },
	{ "priority", fx_take_number, FX_F_PRIORITY },
	{ "transform", fx_take_transforms },
	{ }
};

static void take_edge(struct fx_graph *g, const struct fx_node *v)
{
	struct fx_node *name = fx_node_get(v, "edge");
	struct fx_class *c;

	fx_grow(g->cls, g->n_cls, g->cap_cls);
	c = &g->cls[g->n_cls++];
	*c = (struct fx_class){ .name = "?", .pos = v->pos,
				.from.place = FX_PLACE_NONE,
				.alias.place = FX_ALIAS_NONE };
	fx_take_map(g, v, "an edge", edge_keys, c);
	if (name)
		c->pos = name->pos;
	for (u32 i = 0; i + 1 < g->n_cls && name; i++) {
		if (strcmp(g->cls[i].name, c->name))
			continue;
		fx_diag_note(fx_diag(g->diags, FX_E_TWICE, c->pos,
				     "there are two edges '%s'", c->name),
			     g->cls[i].pos, "the first is here");
		break;
	}
}

void fx_take_edges(struct fx_graph *g, const struct fx_key *k,
		   struct fx_node *v, void *obj)
{
	(void)obj;
	if (!fx_want_kind(g, v, k->name, FX_NODE_LIST))
		return;
	if (!v->n || v->n > FX_MAX_CLASSES) {
		fx_diag(g->diags, FX_E_LIMIT, v->pos,
			"'edges' has %u entries; a graph has one to %d", v->n,
			FX_MAX_CLASSES);
		return;
	}
	for (u32 i = 0; i < v->n; i++)
		take_edge(g, v->item[i]);
}
