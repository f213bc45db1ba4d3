// SPDX-License-Identifier: GPL-2.0-only
/*
 * Whether an uploaded graph is one: every field of every record.
 *
 * The compiler checked the same and more; nothing here relies on that. What
 * is not checked again (cycles of `after`, races within an alias set) cannot
 * hurt the kernel and stands as an assumption in the bundle's obligations.
 */
#include <linux/kstrtox.h>
#include <linux/limits.h>
#include <linux/netlink.h>
#include <linux/nodemask.h>
#include <linux/overflow.h>
#include <linux/string.h>
#include "graph.h"
#include "place.h"

#define FX_BAD(extack, what, i, field)						\
	({									\
		NL_SET_ERR_MSG_FMT(extack, what " %u: " field, i);		\
		-EINVAL;							\
	})

static bool fx_str_ok(const char *s, size_t size, bool may_be_empty)
{
	return strnlen(s, size) < size && (may_be_empty || *s);
}

static int fx_check_place(struct fx_graph *g, u32 i, struct netlink_ext_ack *extack)
{
	struct fx_place *p = &g->places[i];
	const struct fx_place_desc *d = &p->desc;
	bool none = d->match_kind == FX_MATCH_NONE;

	p->node = FX_NODE_NONE;
	p->node_id = FX_NODE_NONE;
	if (!fx_str_ok(d->name, sizeof(d->name), false))
		return FX_BAD(extack, "place", i, "name");
	if (d->kind >= FX_PLACE_KINDS)
		return FX_BAD(extack, "place", i, "kind");
	if (d->match_kind >= FX_MATCH_KINDS)
		return FX_BAD(extack, "place", i, "match_kind");
	if (!fx_str_ok(d->match, sizeof(d->match), none) || (none && *d->match))
		return FX_BAD(extack, "place", i, "match");
	if (d->flags & ~FX_PLACE_F_ALL)
		return FX_BAD(extack, "place", i, "flags");
	if (d->capacity > S64_MAX)
		return FX_BAD(extack, "place", i, "capacity");
	if (d->reserved)
		return FX_BAD(extack, "place", i, "reserved");
	if (d->match_kind == FX_MATCH_NODE &&
	    (kstrtoint(d->match, 10, &p->node_id) || p->node_id < 0 ||
	     p->node_id >= MAX_NUMNODES))
		return FX_BAD(extack, "place", i, "match: not a memory node");
	if (d->match_kind == FX_MATCH_EXPORTER || d->match_kind == FX_MATCH_HEAP)
		g->by_exporter = true;
	return 0;
}

static int fx_check_alias(struct fx_graph *g, u32 i, struct netlink_ext_ack *extack)
{
	if (!fx_str_ok(g->aliases[i].name, sizeof(g->aliases[i].name), false))
		return FX_BAD(extack, "alias", i, "name");
	if (!g->aliases[i].bytes || g->aliases[i].bytes > S64_MAX)
		return FX_BAD(extack, "alias", i, "bytes");
	return 0;
}

/* transform arguments: an element or a checksum, and nothing where neither */
static bool fx_xform_ok(const struct fx_xform_desc *x)
{
	if (x->kind == FX_XFORM_MOVE || x->kind >= FX_XFORMS ||
	    x->flags & ~FX_XFORM_F_ALL || x->from >= FX_ELEMS)
		return false;
	switch (x->kind) {
	case FX_XFORM_QUANTIZE:
	case FX_XFORM_DEQUANTIZE:
		return x->arg != FX_ELEM_NONE && x->arg < FX_ELEMS && !x->flags;
	case FX_XFORM_CHECKSUM:
		return x->arg != FX_CSUM_NONE && x->arg < FX_CSUMS;
	default:
		return !x->flags;
	}
}

static int fx_check_class(struct fx_graph *g, u32 i, u32 *next,
			  struct netlink_ext_ack *extack)
{
	const struct fx_class_desc *d = &g->classes[i].desc;
	const u32 *n = g->image.count;
	u32 j, product = 1;

	if (!fx_str_ok(d->name, sizeof(d->name), false))
		return FX_BAD(extack, "class", i, "name");
	if (d->from >= n[FX_SECT_PLACE])
		return FX_BAD(extack, "class", i, "from");
	if (!d->n_to || d->n_to > FX_MAX_TO)
		return FX_BAD(extack, "class", i, "n_to");
	for (j = 0; j < FX_MAX_TO; j++)
		if (j < d->n_to ? d->to[j] >= n[FX_SECT_PLACE] : d->to[j] != 0)
			return FX_BAD(extack, "class", i, "to");
	if (d->element >= FX_ELEMS)
		return FX_BAD(extack, "class", i, "element");
	if (d->order >= FX_ORDERS)
		return FX_BAD(extack, "class", i, "order");
	if (d->owner >= FX_OWNERS)
		return FX_BAD(extack, "class", i, "owner");
	if (d->alias != FX_ALIAS_NONE && d->alias >= n[FX_SECT_ALIAS])
		return FX_BAD(extack, "class", i, "alias");
	if (d->priority > 7)
		return FX_BAD(extack, "class", i, "priority");
	if (d->n_xforms > FX_MAX_XFORMS)
		return FX_BAD(extack, "class", i, "n_xforms");
	for (j = 0; j < FX_MAX_XFORMS; j++)
		if (j < d->n_xforms ? !fx_xform_ok(&d->xform[j]) :
		    !!memchr_inv(&d->xform[j], 0, sizeof(d->xform[j])))
			return FX_BAD(extack, "class", i, "xform");
	if (d->flags & ~FX_CLASS_F_ALL)
		return FX_BAD(extack, "class", i, "flags");
	if (d->reserved)
		return FX_BAD(extack, "class", i, "reserved");
	if (d->chunk > S64_MAX || d->stride > S64_MAX || d->to_stride > S64_MAX)
		return FX_BAD(extack, "class", i, "chunk or stride");
	if (!d->chunk && (d->stride || d->to_stride))
		return FX_BAD(extack, "class", i, "stride without chunk");
	/* to_stride counts what transforms leave of a chunk: a movement's to check */
	if (d->stride && d->stride < d->chunk)
		return FX_BAD(extack, "class", i, "stride: pieces overlap");

	/* the classes' instances follow one another and leave none over */
	if (d->first != *next || !d->count || d->count > n[FX_SECT_EDGE] - *next)
		return FX_BAD(extack, "class", i, "first or count");
	for (j = 0; j < FX_MAX_DIMS && d->dim[j]; j++)
		if (check_mul_overflow(product, d->dim[j], &product))
			return FX_BAD(extack, "class", i, "dim");
	if (product != d->count)
		return FX_BAD(extack, "class", i, "dim");
	for (; j < FX_MAX_DIMS; j++)
		if (d->dim[j])
			return FX_BAD(extack, "class", i, "dim");
	*next += d->count;
	return 0;
}

static int fx_check_edge(struct fx_graph *g, u32 i, struct netlink_ext_ack *extack)
{
	const struct fx_edge_desc *d = &g->edges[i].desc;
	const struct fx_class_desc *c;
	u32 after = g->image.count[FX_SECT_AFTER];
	u64 end;

	if (d->cls >= g->image.count[FX_SECT_CLASS])
		return FX_BAD(extack, "edge", i, "cls");
	c = &g->classes[d->cls].desc;
	if (i < c->first || i - c->first >= c->count)
		return FX_BAD(extack, "edge", i, "cls: not in that class's range");
	if (!d->bytes || d->bytes > S64_MAX)
		return FX_BAD(extack, "edge", i, "bytes");
	if (d->after > after || d->n_after > after - d->after)
		return FX_BAD(extack, "edge", i, "after");
	if (c->alias == FX_ALIAS_NONE)
		return d->alias_at ? FX_BAD(extack, "edge", i, "alias_at") : 0;
	if (check_add_overflow(d->alias_at, d->bytes, &end) ||
	    end > g->aliases[c->alias].bytes)
		return FX_BAD(extack, "edge", i, "alias_at: beyond its alias set");
	return 0;
}

/**
 * fx_graph_check() - check every record of an upload
 * @g: upload, not published
 * @extack: gets record and field of the first fault
 *
 * Context: process; linear in the records, gives way to others.
 * Return: 0 or -EINVAL.
 */
int fx_graph_check(struct fx_graph *g, struct netlink_ext_ack *extack)
{
	const u32 *n = g->image.count;
	u32 i, next = 0;
	int err = 0;

	for (i = 0; !err && i < n[FX_SECT_PLACE]; i++)
		err = fx_check_place(g, i, extack);
	for (i = 0; !err && i < n[FX_SECT_ALIAS]; i++)
		err = fx_check_alias(g, i, extack);
	for (i = 0; !err && i < n[FX_SECT_CLASS]; i++)
		err = fx_check_class(g, i, &next, extack);
	if (!err && next != n[FX_SECT_EDGE])
		err = FX_BAD(extack, "class", n[FX_SECT_CLASS] - 1,
			     "count: leaves edges without a class");
	for (i = 0; !err && i < n[FX_SECT_EDGE]; i++) {
		err = fx_check_edge(g, i, extack);
		cond_resched();
	}
	for (i = 0; !err && i < n[FX_SECT_AFTER]; i++) {
		if (g->after[i] >= n[FX_SECT_EDGE])
			err = FX_BAD(extack, "after", i, "no such edge");
		cond_resched();
	}
	return err;
}
