/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The words of the graph language and the CLI for the numbers of
 * linux/fabric_ext.h: one table per enum.
 */
#ifndef FX_NAMES_H
#define FX_NAMES_H

#include <linux/fabric_ext.h>

#include "types.h"

struct fx_names {
	const char *what;		/* "place kind" */
	const char *const *name;	/* by value */
	u32 n;
};

extern const struct fx_names fx_place_kinds;
extern const struct fx_names fx_match_kinds;
extern const struct fx_names fx_elements;
extern const struct fx_names fx_orders;
extern const struct fx_names fx_owners;
extern const struct fx_names fx_queue_kinds;
extern const struct fx_names fx_xforms;
extern const struct fx_names fx_checksums;
extern const struct fx_names fx_ops;
extern const struct fx_names fx_reasons;
extern const struct fx_names fx_exits;
extern const struct fx_names fx_events;
extern const struct fx_names fx_governs;		/* by bit number */
extern const struct fx_names fx_policy_ops;	/* members of fabric_ext_ops */
#define FX_POLICY_OPS	8

/* The word for @value, "?" when there is none. */
const char *fx_name(const struct fx_names *names, u64 value);
/* The value of a word, or -1. */
int fx_value(const struct fx_names *names, const char *word);

#endif /* FX_NAMES_H */
