/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Mappings of the language as tables: which keys, and who takes the value. */
#ifndef FX_GRAPH_KEYS_H
#define FX_GRAPH_KEYS_H

#include "graph.h"

struct fx_key {
	const char *name;
	/* Take the value @v into @obj; report what is wrong with it. */
	void (*take)(struct fx_graph *g, const struct fx_key *k,
		     struct fx_node *v, void *obj);
	size_t at;		/* offsetof() in @obj, for the takers below */
	const struct fx_names *names;	/* fx_take_word */
	bool required;
};

/*
 * fx_take_map() - give each value of a mapping to its key's taker
 * @what: what the mapping is, for messages: "a place"
 * @keys: ends with an entry without a name
 *
 * Reports unknown keys with the nearest known one, and missing ones.
 */
void fx_take_map(struct fx_graph *g, const struct fx_node *map, const char *what,
		 const struct fx_key *keys, void *obj);

/* Takers: const char * identifier; any word; u8 of @names; bool; expression. */
void fx_take_name(struct fx_graph *g, const struct fx_key *k,
		  struct fx_node *v, void *obj);
void fx_take_word(struct fx_graph *g, const struct fx_key *k,
		  struct fx_node *v, void *obj);
void fx_take_bool(struct fx_graph *g, const struct fx_key *k,
		  struct fx_node *v, void *obj);
void fx_take_field(struct fx_graph *g, const struct fx_key *k,
		   struct fx_node *v, void *obj);
void fx_take_end(struct fx_graph *g, const struct fx_key *k,
		 struct fx_node *v, void *obj);

/* A scalar that is not null, or an error that says what is wanted. */
const char *fx_want_word(struct fx_graph *g, const struct fx_node *v,
			 const char *name, const char *want);
/* A list or mapping, or an error. */
bool fx_want_kind(struct fx_graph *g, const struct fx_node *v, const char *name,
		  enum fx_node_kind kind);
/* The value of a word, or -1 after an error with the nearest known one. */
int fx_want_value(struct fx_graph *g, const struct fx_node *v, const char *key,
		  const struct fx_names *names);
/* The word is an identifier that fits a name, or an error. */
bool fx_check_name(struct fx_graph *g, struct fx_pos pos, const char *name,
		   const char *what);

#endif /* FX_GRAPH_KEYS_H */
