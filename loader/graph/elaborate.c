// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Declarations into values and edge instances. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "codes.h"
#include "elaborate.h"

void fx_instance_loops(const struct fx_class *c, u32 k, u32 *index)
{
	for (u32 i = c->n_loop; i-- > 0;) {
		index[i] = k % c->dim[i];
		k /= c->dim[i];
	}
}

void fx_note_instance(struct fx_diag *d, const struct fx_class *c, u32 k)
{
	u32 index[FX_MAX_DIMS];
	char text[512] = "with";

	if (!c->n_loop)
		return;
	fx_instance_loops(c, k, index);
	for (u32 i = 0; i < c->n_loop; i++) {
		size_t n = strlen(text);

		snprintf(text + n, sizeof(text) - n, "%s %s = %u",
			 i ? "," : "", c->loop[i].name, index[i]);
	}
	fx_diag_note(d, c->loop[0].pos, "%s", text);
}

const char *fx_instance_name(const struct fx_graph *g, u32 edge)
{
	static char name[FX_NAME_LEN + FX_MAX_DIMS * 12 + 4];
	const struct fx_class *c = &g->cls[g->edge[edge].cls];
	u32 index[FX_MAX_DIMS];
	int n;

	fx_instance_loops(c, edge - c->first, index);
	n = snprintf(name, sizeof(name), "%s", c->name);
	for (u32 i = 0; i < c->n_loop; i++)
		n += snprintf(name + n, sizeof(name) - n, "%s%u%s",
			      i ? ", " : "[", index[i],
			      i + 1 == c->n_loop ? "]" : "");
	return name;
}

/* ---- values ----------------------------------------------------------- */

static const char *const unit_wanted[] = {
	[FX_UNIT_NONE] = "a plain number",
	[FX_UNIT_BYTES] = "a size in bytes",
	[FX_UNIT_RATE] = "a rate such as 18GB/s",
	[FX_UNIT_TIME] = "a time such as 250ns",
};

/* An error about an evaluated expression; NULL when there is none. */
static struct fx_diag *check_value(struct fx_graph *g, const struct fx_expr *e,
				   const struct fx_field_info *info,
				   const struct fx_value *v)
{
	bool plain = info->unit == FX_UNIT_BYTES && v->unit == FX_UNIT_NONE;

	if (v->unit != info->unit && !plain)
		return fx_diag(g->diags, FX_E_UNIT_PLACE, fx_expr_pos(e),
			       "'%s' takes %s, and this is %s", info->key,
			       unit_wanted[info->unit],
			       v->unit == FX_UNIT_NONE ? "a number without unit" :
			       unit_wanted[v->unit]);
	if (v->v < 0)
		return fx_diag(g->diags, FX_E_RANGE, fx_expr_pos(e),
			       "'%s' cannot be %lld", info->key, v->v);
	if ((u64)v->v < info->min)
		return fx_diag(g->diags, FX_E_RANGE, fx_expr_pos(e),
			       "'%s' is %lld and must be at least %llu",
			       info->key, v->v, info->min);
	if ((u64)v->v > info->max)
		return fx_diag(g->diags, FX_E_RANGE, fx_expr_pos(e),
			       "'%s' is %lld and can be at most %llu",
			       info->key, v->v, info->max);
	return NULL;
}

static struct fx_diag *evaluate(struct fx_graph *g, const struct fx_expr *e,
				const struct fx_field_info *info,
				const struct fx_value *slots,
				struct fx_value *out)
{
	struct fx_expr_err err;

	if (!fx_expr_eval(e, slots, out, &err))
		return fx_diag(g->diags, err.code, err.pos, "%s", err.text);
	return info ? check_value(g, e, info, out) : NULL;
}

/* A field that only uses params. */
static void constant(struct fx_graph *g, struct fx_field *f, const char *key,
		     enum fx_unit_kind unit, u64 min, u64 max)
{
	struct fx_field_info info = { .key = key, .unit = unit, .min = min,
				      .max = max };
	struct fx_value v;

	if (!f->expr || !fx_expr_bind(f->expr, &g->params, g->diags))
		return;
	if (!evaluate(g, f->expr, &info, g->param_value, &v))
		f->value = v.v;
}

static void params(struct fx_graph *g)
{
	struct fx_value v = { 0 };

	g->param_value = fx_calloc(g->n_param, sizeof(*g->param_value));
	for (u32 i = 0; i < g->n_param; i++) {
		struct fx_param *p = &g->param[i];

		/* a parameter sees those above it; one in error counts as 0 */
		if (p->value.expr &&
		    fx_expr_bind(p->value.expr, &g->params, g->diags) &&
		    !evaluate(g, p->value.expr, NULL, g->param_value, &v))
			g->param_value[i] = v;
		fx_scope_add(&g->params, p->name, p->pos);
	}
}

/* ---- classes ---------------------------------------------------------- */

/* What one class needs while its instances are made. */
struct work {
	struct fx_graph *g;
	struct fx_class *c;
	struct fx_scope scope;
	struct fx_value *slot;		/* params, loops, fields */
	u32 loop_slot, field_slot;
	u32 slot_of[FX_FIELDS];
	bool varies[FX_FIELDS];
	bool bad[FX_FIELDS];		/* reported once */
};

static bool loops(struct work *w)
{
	struct fx_graph *g = w->g;
	struct fx_class *c = w->c;
	struct fx_pos pos;
	u64 count = 1;
	bool ok = true;

	for (u32 i = 0; i < c->n_loop; i++) {
		struct fx_loop *l = &c->loop[i];
		u32 errors = fx_diags_count(g->diags);

		if (fx_scope_find(&w->scope, l->name, &pos) >= 0) {
			fx_diag_note(fx_diag(g->diags, FX_E_SHADOW, l->pos,
					     "loop variable '%s' hides another name",
					     l->name),
				     pos, "which is declared here");
			ok = false;
		}
		constant(g, &l->count, "for", FX_UNIT_NONE, 1, FX_MAX_EDGES);
		if (!l->count.expr || fx_diags_count(g->diags) != errors) {
			ok = false;
			continue;
		}
		c->dim[i] = l->count.value;
		/* each factor is at most 2^22 and there are four */
		count = count > FX_MAX_EDGES ? count : count * c->dim[i];
	}
	for (u32 i = 0; i < c->n_loop; i++)
		fx_scope_add(&w->scope, c->loop[i].name, c->loop[i].pos);
	if (ok && count + g->n_edge > FX_MAX_EDGES) {
		fx_diag(g->diags, FX_E_LIMIT, c->pos,
			"with '%s' the graph has more than %u edge instances",
			c->name, FX_MAX_EDGES);
		ok = false;
	}
	c->first = g->n_edge;
	c->count = ok ? count : 0;
	return ok;
}

static bool bind_fields(struct work *w)
{
	struct fx_class *c = w->c;
	bool ok = true;

	for (u32 i = 0; i < c->n_fields; i++) {
		enum fx_field_id id = c->order_of[i];
		const struct fx_field_info *info = &fx_field_info[id];
		struct fx_field *f = &c->field[id];

		if (!f->expr || !fx_expr_bind(f->expr, &w->scope, w->g->diags)) {
			ok = false;
			continue;
		}
		w->varies[id] = c->n_loop &&
				fx_expr_uses(f->expr, w->loop_slot);
		if (w->varies[id] && info->per_class) {
			/* through a field such as bytes, too */
			fx_diag(w->g->diags, FX_E_VARIES, fx_expr_pos(f->expr),
				"'%s' is one for all instances and cannot depend on a loop variable",
				info->key);
			ok = false;
		}
		if (info->name)
			w->slot_of[id] = fx_scope_add(&w->scope, info->name,
						      f->pos);
	}
	return ok;
}

/* Evaluate the fields of instance @k; those that vary, or all with k == 0. */
static void fields(struct work *w, u32 k)
{
	struct fx_class *c = w->c;
	struct fx_value v;
	struct fx_diag *d;

	for (u32 i = 0; i < c->n_fields; i++) {
		enum fx_field_id id = c->order_of[i];
		struct fx_field *f = &c->field[id];

		if (w->bad[id] || (k && !w->varies[id]))
			continue;
		d = evaluate(w->g, f->expr, &fx_field_info[id], w->slot, &v);
		if (d) {
			if (w->varies[id])
				fx_note_instance(d, c, k);
			w->bad[id] = true;
			v = (struct fx_value){ .v = 0 };
		}
		f->value = v.v;
		if (fx_field_info[id].name)
			w->slot[w->slot_of[id]] = v;
	}
}

static void alias_range(struct work *w, const struct fx_edge_desc *e, u32 k)
{
	const struct fx_class *c = w->c;
	const struct fx_alias *a;
	struct fx_pos pos = c->alias.pos;
	struct fx_diag *d;

	if (c->alias.place == FX_ALIAS_NONE || w->bad[FX_F_AT])
		return;
	a = &w->g->alias[c->alias.place];
	if (c->field[FX_F_AT].expr)
		pos = fx_expr_pos(c->field[FX_F_AT].expr);
	if (c->field[FX_F_ALIAS_BYTES].expr &&
	    c->field[FX_F_ALIAS_BYTES].value != e->bytes) {
		d = fx_diag(w->g->diags, FX_E_NYET_ALIAS_BYTES,
			    c->field[FX_F_ALIAS_BYTES].pos,
			    "not supported yet: a range of another size than the edge's bytes");
		fx_note_instance(d, c, k);
		w->bad[FX_F_AT] = true;
	}
	if (e->alias_at <= a->bytes.value &&
	    e->bytes <= a->bytes.value - e->alias_at)
		return;
	/* a set in error has been told of already */
	if (a->bytes.value) {
		d = fx_diag(w->g->diags, FX_E_ALIAS_RANGE, pos,
			    "%llu bytes at %llu reach beyond set '%s' of %llu bytes",
			    e->bytes, e->alias_at, a->name, a->bytes.value);
		fx_note_instance(d, c, k);
		fx_diag_note(d, a->pos, "the set is declared here");
	}
	w->bad[FX_F_AT] = true;
}

static void instances(struct work *w)
{
	struct fx_graph *g = w->g;
	struct fx_class *c = w->c;
	u32 index[FX_MAX_DIMS] = { 0 };

	for (u32 k = 0; k < c->count; k++) {
		struct fx_edge_desc *e = &g->edge[c->first + k];

		for (u32 i = 0; i < c->n_loop; i++)
			w->slot[w->loop_slot + i].v = index[i];
		fields(w, k);
		e->bytes = c->field[FX_F_BYTES].value;
		e->alias_at = c->field[FX_F_AT].value;
		e->reuse = c->reuse_never ? FX_REUSE_NEVER :
			   c->field[FX_F_REUSE].expr ?
			   c->field[FX_F_REUSE].value : FX_REUSE_UNKNOWN;
		e->cls = c - g->cls;
		if (c->flow.given)
			fx_elaborate_flow(g, c, c->first + k);
		if (!w->bad[FX_F_BYTES])
			alias_range(w, e, k);
		for (u32 i = c->n_loop; i-- > 0;) {
			if (++index[i] < c->dim[i])
				break;
			index[i] = 0;
		}
	}
}

static void elaborate_class(struct fx_graph *g, struct fx_class *c)
{
	struct work w = { .g = g, .c = c, .scope.outer = &g->params };
	bool ok;

	w.loop_slot = fx_scope_size(&g->params);
	ok = loops(&w);
	w.field_slot = w.loop_slot + c->n_loop;
	ok = bind_fields(&w) && ok;
	if (ok) {
		w.slot = fx_calloc(fx_scope_size(&w.scope), sizeof(*w.slot));
		memcpy(w.slot, g->param_value, g->n_param * sizeof(*w.slot));
		g->edge = fx_realloc(g->edge, g->n_edge + c->count,
				     sizeof(*g->edge));
		memset(g->edge + g->n_edge, 0, c->count * sizeof(*g->edge));
		g->n_edge += c->count;
		instances(&w);
		free(w.slot);
	}
	fx_scope_free(&w.scope);
}

/* fx_graph_elaborate() - evaluate everything and make the instances */
void fx_graph_elaborate(struct fx_graph *g)
{
	const u64 max = ~0ULL >> 1;

	params(g);
	fx_resolve(g);
	for (u32 i = 0; i < g->n_place; i++)
		constant(g, &g->place[i].capacity, "capacity", FX_UNIT_BYTES, 1,
			 max);
	for (u32 i = 0; i < g->n_link; i++) {
		constant(g, &g->link[i].bandwidth, "bandwidth", FX_UNIT_RATE, 1,
			 max);
		constant(g, &g->link[i].latency, "latency", FX_UNIT_TIME, 0,
			 max);
	}
	for (u32 i = 0; i < g->n_alias; i++)
		constant(g, &g->alias[i].bytes, "bytes", FX_UNIT_BYTES, 1, max);
	for (u32 i = 0; i < g->n_cls; i++)
		elaborate_class(g, &g->cls[i]);
	if (!fx_diags_count(g->diags))
		fx_elaborate_after(g);
}
