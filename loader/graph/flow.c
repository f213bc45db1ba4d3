// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Flows: which edges a network device looks for, and whether it can tell them
 * apart. A flow is a key and a mask; a device has few masks and many keys.
 */
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "codes.h"
#include "elaborate.h"

static void want(void *key, void *mask, const void *value, size_t size)
{
	memcpy(key, value, size);
	memset(mask, 0xff, size);
}

/* A number of the class, where it was given; it fits, as its range was checked. */
static void want_u16(const struct fx_class *c, enum fx_field_id id, u16 *key, u16 *mask)
{
	const u16 value = c->field[id].value;

	if (c->field[id].expr)
		want(key, mask, &value, sizeof(value));
}

/* fx_elaborate_flow() - the flow of an instance whose fields were evaluated */
void fx_elaborate_flow(struct fx_graph *g, const struct fx_class *c, u32 edge)
{
	const struct fx_flow_decl *d = &c->flow;
	struct fx_flow f = { .edge = edge };
	u8 family = d->src_family ? d->src_family : d->dst_family;
	u8 proto = c->field[FX_F_UDP].expr ? IPPROTO_UDP : d->proto;
	u8 dscp = c->field[FX_F_DSCP].value;
	u32 qp = d->tagged ? 0 : c->field[FX_F_QP].value;

	/* more than a device takes: told of once, by the check */
	if (g->n_flow > FX_NIC_MAX_FLOWS)
		return;
	if (d->src_family)
		want(f.key.src, f.mask.src, d->src, sizeof(d->src));
	if (d->dst_family)
		want(f.key.dst, f.mask.dst, d->dst, sizeof(d->dst));
	if (family)
		want(&f.key.family, &f.mask.family, &family, sizeof(family));
	if (d->has_proto || c->field[FX_F_UDP].expr)
		want(&f.key.proto, &f.mask.proto, &proto, sizeof(proto));
	want_u16(c, FX_F_UDP, &f.key.dport, &f.mask.dport);
	want_u16(c, FX_F_DPORT, &f.key.dport, &f.mask.dport);
	want_u16(c, FX_F_SPORT, &f.key.sport, &f.mask.sport);
	want_u16(c, FX_F_VLAN, &f.key.vlan, &f.mask.vlan);
	if (c->field[FX_F_DSCP].expr)
		want(&f.key.dscp, &f.mask.dscp, &dscp, sizeof(dscp));
	if (d->roce)
		want(&f.key.qp, &f.mask.qp, &qp, sizeof(qp));
	fx_grow(g->flow, g->n_flow, g->cap_flow);
	g->flow[g->n_flow++] = f;
}

/* ---- per device ------------------------------------------------------- */

static bool goes_to(const struct fx_class *c, u32 place)
{
	for (u32 i = 0; i < c->n_to; i++)
		if (c->to[i].place == place)
			return true;
	return false;
}

static void add_row(struct fx_nic_flow **rows, u32 *n, u32 *cap,
		    const struct fx_graph *g, const struct fx_flow *f, u8 dir)
{
	const struct fx_edge_desc *e = &g->edge[f->edge];
	const struct fx_class *c = &g->cls[e->cls];

	fx_grow(*rows, *n, *cap);
	(*rows)[(*n)++] = (struct fx_nic_flow){
		.key = f->key, .mask = f->mask, .edge = f->edge,
		.cls = e->cls, .dir = dir, .bytes = e->bytes,
		.priority = c->field[FX_F_PRIORITY].value,
		.redirect = dir == FX_DIR_IN ? c->flow.redirect : 0,
	};
}

struct fx_nic_flow *fx_nic_flows(const struct fx_graph *g, u32 place, u32 *n)
{
	struct fx_nic_flow *rows = NULL;
	u32 cap = 0;

	*n = 0;
	for (u32 i = 0; i < g->n_flow; i++) {
		const struct fx_class *c = &g->cls[g->edge[g->flow[i].edge].cls];

		if (c->from.place == place)
			add_row(&rows, n, &cap, g, &g->flow[i], FX_DIR_IN);
		if (goes_to(c, place))
			add_row(&rows, n, &cap, g, &g->flow[i], FX_DIR_OUT);
	}
	return rows;
}

u32 fx_next_place(const struct fx_graph *g, enum fx_place_kind kind, u32 i)
{
	while (i < g->n_place && g->place[i].kind != kind)
		i++;
	return i;
}

bool fx_flows_cross(const struct fx_graph *g, enum fx_place_kind kind)
{
	bool crosses = false;
	u32 i, n;

	for (i = fx_next_place(g, kind, 0); i < g->n_place && !crosses;
	     i = fx_next_place(g, kind, i + 1)) {
		free(fx_nic_flows(g, i, &n));
		crosses = n;
	}
	return crosses;
}

/* ---- checks ----------------------------------------------------------- */

/* The kinds of places whose devices look for flows, and how each is matched. */
static const struct {
	u8 kind, match;
	const char *otherwise;
} wires[] = {
	{ FX_PLACE_NIC, FX_MATCH_NETDEV, "is matched by something else than netdev" },
	{ FX_PLACE_DPU, FX_MATCH_DPU, "is matched by something else than dpu" },
};

/* The index in wires[] of a place, or -1. */
static int wire_of(const struct fx_graph *g, u32 place)
{
	for (u32 i = 0; i < ARRAY_SIZE(wires) && place < g->n_place; i++)
		if (g->place[place].kind == wires[i].kind)
			return i;
	return -1;
}

/* Does a device at @place look for this class? What is not built is an error. */
static bool looked_for(struct fx_graph *g, const struct fx_class *c, u32 place)
{
	const struct fx_place *p = &g->place[place];
	int wire = wire_of(g, place);
	const char *nyet = NULL;

	if (wire < 0)
		return false;
	if (p->match_kind != wires[wire].match)
		nyet = wires[wire].otherwise;
	else if (p->later)
		nyet = "appears later";
	if (nyet)
		fx_diag_note(fx_diag(g->diags, FX_E_NYET_FLOW, c->flow.pos,
				     "not supported yet: a flow at '%s', which %s",
				     p->name, nyet),
			     p->pos, "the place is here");
	return true;
}

/* What a network device receives can be redirected, and nothing else. */
static void check_redirect(struct fx_graph *g, const struct fx_class *c)
{
	const u32 from = c->from.place;
	const char *why = NULL;

	if (!c->flow.redirect_pos.line)
		return;
	if (!c->flow.given)
		why = "has no flow";
	else if (from >= g->n_place || g->place[from].kind != FX_PLACE_NIC)
		why = "is not from a place of kind nic";
	if (why)
		fx_diag_help(fx_diag(g->diags, FX_E_FLOW, c->flow.redirect_pos,
				     "'redirect' says where a network device puts what it receives, and '%s' %s",
				     c->name, why),
			     "leave 'redirect' out, or say by 'from' and 'flow' which packets they are");
}

static void check_places(struct fx_graph *g)
{
	for (u32 i = 0; i < g->n_cls; i++) {
		const struct fx_class *c = &g->cls[i];
		bool found;

		check_redirect(g, c);
		if (!c->flow.given)
			continue;
		found = looked_for(g, c, c->from.place);
		for (u32 j = 0; j < c->n_to; j++)
			if (c->to[j].place != c->from.place)
				found = looked_for(g, c, c->to[j].place) || found;
		if (!found)
			fx_diag_help(fx_diag(g->diags, FX_E_FLOW_PLACE, c->flow.pos,
					     "'%s' has a flow, and none of its places is a nic or a dpu",
					     c->name),
				     "places: { nic0: { kind: nic, match: { netdev: eth0 } } }");
	}
}

/* One device is one place, or its flows would be looked for by two programs. */
static void check_same(struct fx_graph *g, u32 place)
{
	const struct fx_place *p = &g->place[place];

	for (u32 i = 0; i < place; i++)
		if (g->place[i].kind == p->kind &&
		    g->place[i].match_kind == p->match_kind &&
		    !strcmp(g->place[i].match, p->match))
			fx_diag_note(fx_diag(g->diags, FX_E_TWICE, p->match_pos,
					     "'%s' and '%s' are one %s, '%s'",
					     g->place[i].name, p->name,
					     fx_name(&fx_match_kinds, p->match_kind), p->match),
				     g->place[i].match_pos, "the first is here");
}

static int by_key(const void *a, const void *b)
{
	const struct fx_nic_flow *x = a, *y = b;
	int n = (int)x->dir - y->dir;

	n = n ? n : memcmp(&x->mask, &y->mask, sizeof(x->mask));
	n = n ? n : memcmp(&x->key, &y->key, sizeof(x->key));
	return n ? n : (x->edge > y->edge) - (x->edge < y->edge);
}

static bool same_flow(const struct fx_nic_flow *x, const struct fx_nic_flow *y)
{
	/* a queue pair that is bound later is told apart then */
	if (x->mask.qp && !x->key.qp)
		return false;
	return x->dir == y->dir && !memcmp(&x->mask, &y->mask, sizeof(x->mask)) &&
	       !memcmp(&x->key, &y->key, sizeof(x->key));
}

static void told_twice(struct fx_graph *g, const struct fx_nic_flow *a,
		       const struct fx_nic_flow *b)
{
	const struct fx_class *first = &g->cls[a->cls], *c = &g->cls[b->cls];
	char *name = fx_strdup(fx_instance_name(g, a->edge));
	struct fx_diag *d;

	d = fx_diag(g->diags, FX_E_FLOW_TWICE, c->flow.pos,
		    "one flow finds both %s and %s", name,
		    fx_instance_name(g, b->edge));
	if (first != c)
		fx_diag_note(d, first->flow.pos, "the other is here");
	else
		fx_diag_help(d, "let a part of it differ, such as udp: 5000 + %s",
			     c->n_loop ? c->loop[0].name : "i");
	free(name);
}

/* Sorted rows of one device: can it tell all edges apart, by few masks? */
static void check_rows(struct fx_graph *g, u32 place, const struct fx_nic_flow *rows,
		       u32 n)
{
	bool *told = fx_calloc(g->n_cls, sizeof(*told));
	u32 masks[FX_DIRS] = { 0 };

	for (u32 i = 0; i < n; i++) {
		const struct fx_nic_flow *r = &rows[i];

		if (!i || r->dir != r[-1].dir ||
		    memcmp(&r->mask, &r[-1].mask, sizeof(r->mask)))
			masks[r->dir]++;
		if (i && same_flow(&r[-1], r) && !told[r->cls]) {
			told_twice(g, &r[-1], r);
			told[r->cls] = true;	/* once per class */
		}
	}
	for (u32 dir = 0; dir < FX_DIRS; dir++)
		if (masks[dir] > FX_NIC_MAX_MASKS)
			fx_diag(g->diags, FX_E_LIMIT, g->place[place].pos,
				"the flows at '%s' ask for %u different sets of fields; at most %d fit",
				g->place[place].name, masks[dir],
				FX_NIC_MAX_MASKS);
	free(told);
}

static void oblige(struct fx_graph *g)
{
	for (u32 i = 0; i < g->n_cls; i++) {
		const struct fx_class *c = &g->cls[i];
		int wire = wire_of(g, c->from.place);

		for (u32 j = 0; j < c->n_to && wire < 0; j++)
			wire = wire_of(g, c->to[j].place);
		if (c->flow.given)
			fx_oblige(g, FX_OBLIGE_FLOW, FX_RUN_TIME, i,
				  "what crosses the network device is put to the policy",
				  wire >= 0 && wires[wire].kind == FX_PLACE_DPU ?
				  "dpu: each packet that matches the flow" :
				  "nic: each packet that matches the flow");
		else if (wire >= 0)
			fx_oblige(g, FX_OBLIGE_FLOW, FX_ASSUMED, i,
				  "what crosses the network device is put to the policy",
				  "the edge has no flow, so the device cannot find it");
	}
}

void fx_check_flows(struct fx_graph *g)
{
	u32 errors = fx_diags_count(g->diags);

	if (g->n_flow > FX_NIC_MAX_FLOWS) {
		fx_diag(g->diags, FX_E_LIMIT, g->name_pos,
			"the graph has more than %d flows", FX_NIC_MAX_FLOWS);
		return;
	}
	check_places(g);
	if (fx_diags_count(g->diags) != errors)
		return;
	for (u32 i = 0; i < g->n_place; i++) {
		struct fx_nic_flow *rows;
		u32 n;

		if (wire_of(g, i) < 0)
			continue;
		rows = fx_nic_flows(g, i, &n);
		if (rows) {
			check_same(g, i);
			qsort(rows, n, sizeof(*rows), by_key);
			check_rows(g, i, rows, n);
		}
		free(rows);
	}
	oblige(g);
}
