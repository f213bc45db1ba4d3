/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Rows of the control plane as JSON objects and as lines of a table. */
#ifndef FX_ROWS_H
#define FX_ROWS_H

#include "netlink.h"
#include "types.h"

struct json_object;

/* Everything that the kernel tells of one graph, to fx_tables_free(). */
struct fx_tables {
	struct fx_nl_graph graph;
	struct fx_nl_place *place;
	u32 n_place, cap_place;
	struct fx_nl_class *cls;
	u32 n_class, cap_class;
	struct fx_nl_counter *counter;
	u32 n_counter, cap_counter;
};

/**
 * fx_tables_read() - read a graph's places, classes and counters
 * @nl: connection
 * @graph: name
 * @t: filled; the classes' and ops' counters only when @places is false
 *
 * Return: 0 or -errno, after one sentence through fx_err().
 */
int fx_tables_read(struct fx_nl *nl, const char *graph, bool places,
		   struct fx_tables *t);
/* Places and classes alone, silently: without them there are numbers. */
void fx_tables_read_names(struct fx_nl *nl, const char *graph, struct fx_tables *t);
void fx_tables_free(struct fx_tables *t);

/* "kv_out[0,3]" for an edge instance, to free(); NULL: no class has it. */
char *fx_edge_name(const struct fx_tables *t, u32 edge);
/* "64 KiB", "1.5 GiB": at most 10 characters; of static memory, for two calls. */
const char *fx_bytes_text(u64 bytes);

/* "p2p_map, tier": operations by their FX_OP_BIT(), to free(). */
char *fx_ops_text(u64 ops);
/* The same as an array. */
struct json_object *fx_ops_json(u64 ops);
/* "attached", "audit", "by-passed: MESSAGE", "no policy", ...; to free(). */
char *fx_graph_state(const struct fx_nl_graph *g);

struct json_object *fx_graph_json(const struct fx_nl_graph *g);
struct json_object *fx_place_json(const struct fx_nl_place *p);
struct json_object *fx_class_json(const struct fx_nl_class *c,
				  const struct fx_tables *t);
struct json_object *fx_counter_json(const struct fx_nl_counter *c);
/* @t: of the event's graph, as far as they could be read */
struct json_object *fx_event_json(const struct fx_event *ev, const char *graph,
				  const struct fx_tables *t);

void fx_places_print(const struct fx_tables *t);
/* Rows that counted nothing are left out, and how many, unless @all. */
void fx_classes_print(const struct fx_tables *t, bool all);
void fx_counters_print(const struct fx_tables *t, bool all);
void fx_event_print(const struct fx_event *ev, const char *graph,
		    const struct fx_tables *t);

#endif /* FX_ROWS_H */
