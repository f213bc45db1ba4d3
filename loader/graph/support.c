// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What the language has and this version cannot carry out yet, by name. */
#include "check.h"
#include "codes.h"

static const char *const xform_nyet[FX_XFORMS] = {
	[FX_XFORM_COMPRESS] = "nothing here compresses",
	[FX_XFORM_DECOMPRESS] = "nothing here decompresses",
	[FX_XFORM_FILTER] = "no predicate of a policy runs on data",
	[FX_XFORM_REDUCE] = "a movement has one source",
	[FX_XFORM_SCATTER] = "no index travels with a movement",
	[FX_XFORM_GATHER] = "no index travels with a movement",
	[FX_XFORM_REPLICATE] = "a movement has one destination",
	[FX_XFORM_PERSIST] = "no destination is flushed to its medium",
};

void fx_check_support(struct fx_graph *g)
{
	for (u32 i = 0; i < g->n_cls; i++) {
		const struct fx_class *c = &g->cls[i];

		for (u32 j = 0; j < c->n_xform; j++) {
			u8 kind = c->xform[j].kind;

			if (xform_nyet[kind])
				fx_diag(g->diags, FX_E_NYET_TRANSFORM,
					c->xform[j].pos,
					"not supported yet: the transform '%s' (%s)",
					fx_name(&fx_xforms, kind),
					xform_nyet[kind]);
		}
		if (c->order == FX_ORDER_SEQ_CST)
			fx_diag(g->diags, FX_E_NYET_ORDER, c->order_pos,
				"not supported yet: the order 'seq_cst' (there is no order across devices)");
	}
}
