/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The fields of edges whose values are numbers, in one table. */
#ifndef FX_GRAPH_FIELDS_H
#define FX_GRAPH_FIELDS_H

#include "graph.h"

struct fx_field_info {
	const char *key;		/* as the message names it */
	const char *name;		/* in expressions; NULL: none */
	enum fx_unit_kind unit;
	u64 min, max;
	bool per_class;			/* the same for every instance */
};

extern const struct fx_field_info fx_field_info[FX_FIELDS];

#endif /* FX_GRAPH_FIELDS_H */
