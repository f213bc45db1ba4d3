/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A YAML (or JSON) file as a tree whose every node knows its place. Data only:
 * anchors, aliases, tags and second documents are refused, keys are words and
 * stand once in a mapping.
 */
#ifndef FX_GRAPH_YAML_H
#define FX_GRAPH_YAML_H

#include "../diag.h"
#include "../types.h"
#include "../util.h"

#define FX_YAML_MAX_BYTES	(16U << 20)
#define FX_YAML_MAX_DEPTH	32
#define FX_YAML_MAX_NODES	(1U << 20)

enum fx_node_kind {
	FX_NODE_SCALAR,
	FX_NODE_LIST,
	FX_NODE_MAP,
};

struct fx_node {
	enum fx_node_kind kind;
	struct fx_pos pos;
	bool quoted;
	bool verbatim;		/* the text stands in the file as it is here */
	const char *text;	/* scalar */
	u32 n;			/* items or entries */
	struct fx_node **item;	/* list: items; map: values */
	struct fx_node **key;	/* map: the keys */
};

/**
 * fx_yaml_parse() - read a text into a tree
 * @arena: where the tree lives
 * @diags: errors go here
 * @text: the text
 * @len: its bytes
 * @language: "YAML", or "JSON" for a file that is to be that; for messages
 *
 * Return: the root, or NULL after an error.
 */
struct fx_node *fx_yaml_parse(struct fx_arena *arena, struct fx_diags *diags,
			      const char *text, size_t len,
			      const char *language);

/* The value of a key in a map; NULL when there is none. */
struct fx_node *fx_node_get(const struct fx_node *map, const char *key);
/* Nothing was written, or null or ~. */
bool fx_node_null(const struct fx_node *n);
/* The place of a byte of a scalar's text. */
struct fx_pos fx_node_at(const struct fx_node *n, size_t offset);
/* "a mapping", "a list", "a word" for messages. */
const char *fx_node_what(const struct fx_node *n);

#endif /* FX_GRAPH_YAML_H */
