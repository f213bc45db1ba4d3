/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A movement graph in memory. The parser fills in what the file declares, with
 * the place of every part; elaboration evaluates it and makes the instances;
 * the checks read both.
 */
#ifndef FX_GRAPH_GRAPH_H
#define FX_GRAPH_GRAPH_H

#include <linux/fabric_ext.h>
#include <linux/fabric_ext_nic.h>

#include "../diag.h"
#include "../names.h"
#include "../util.h"
#include "expr.h"
#include "yaml.h"

#define FX_MAX_PARAMS	1024
#define FX_MAX_LINKS	4096
#define FX_MAX_REFS	64	/* `after` of one class, as written */

/* An expression with what its value must be. */
struct fx_field {
	struct fx_expr *expr;	/* NULL: not given */
	struct fx_pos pos;
	u64 value;		/* elaborated, where it is the same everywhere */
};

/* A name that stands for something declared elsewhere in the file. */
struct fx_link_end {
	const char *name;
	struct fx_pos pos;
	u16 place;		/* FX_PLACE_NONE until resolved */
};

struct fx_param {
	const char *name;
	struct fx_pos pos;
	struct fx_field value;
};

/* A function that copies; its way as enum fx_copy_way. */
struct fx_copy_fn {
	const char *name, *library;
	struct fx_pos pos;
	u8 way;
	bool status;
};

/* A kernel of a GPU that carries out an edge. */
struct fx_copy_kernel {
	const char *name;
	struct fx_pos pos;
	struct fx_link_end edge;	/* .place is the index of the class */
};

/* `copies:` of a place; copies.h */
struct fx_copies {
	bool given;
	struct fx_pos pos, library_pos;
	const char *library;
	struct fx_copy_fn *fn;
	u32 n_fn;
	struct fx_copy_kernel *kernel;
	u32 n_kernel;
	const char *ptx;		/* sm_90, or NULL */
};

struct fx_place {
	const char *name;
	struct fx_pos pos;
	u8 kind;
	u8 match_kind;
	struct fx_pos match_pos;
	const char *match;
	struct fx_field capacity;
	const char *island;
	u32 island_id;
	bool later;
	struct fx_copies copies;
};

struct fx_link {
	struct fx_pos pos;
	struct fx_link_end end[2];
	struct fx_field bandwidth;	/* bytes per second */
	struct fx_field latency;	/* ns */
};

struct fx_alias {
	const char *name;
	struct fx_pos pos;
	struct fx_field bytes;
};

struct fx_loop {
	const char *name;
	struct fx_pos pos;
	struct fx_field count;
};

/* name[i, *]?; an index without an expression is a star */
struct fx_ref {
	const char *name;
	struct fx_pos pos;
	u16 cls;
	bool optional;
	bool indexed;
	u32 n_index;
	struct fx_expr *index[FX_MAX_DIMS];
};

/* Everything a transform may say; which of it is decided by its kind. */
struct fx_xform_decl {
	u8 kind;
	struct fx_pos pos;
	u8 to, from;		/* enum fx_element, FX_ELEM_NONE: not said */
	u8 algo;		/* enum fx_checksum */
	u8 verify_algo;		/* FX_CSUM_NONE: not said */
	bool verify;
	u8 codec;		/* compress: 1 lz4, 2 zstd; 0 not said */
	struct fx_pos to_pos, from_pos, verify_pos;
	u8 in;			/* checked: the element it takes */
	u8 out;			/* and the one it leaves */
};

/* Fields of an edge class whose values are numbers. */
enum fx_field_id {
	FX_F_BYTES,
	FX_F_CHUNK,
	FX_F_STRIDE,
	FX_F_TO_STRIDE,
	FX_F_REUSE,
	FX_F_DEADLINE,
	FX_F_PRIORITY,
	FX_F_AT,
	FX_F_ALIAS_BYTES,
	FX_F_UDP,
	FX_F_SPORT,
	FX_F_DPORT,
	FX_F_VLAN,
	FX_F_DSCP,
	FX_F_QP,
	FX_FIELDS,
};

/* What of a flow is no number; the others are fields. */
struct fx_flow_decl {
	bool given;
	struct fx_pos pos, src_pos, dst_pos, proto_pos;
	u8 src_family, dst_family;	/* 4, 6; 0: not said */
	u8 src[16], dst[16];
	bool has_proto;
	u8 proto;
	bool roce, tagged;		/* by a queue pair; which is bound later */
	struct fx_pos roce_pos;
	u8 redirect;			/* enum fx_queue_kind; a key of the edge */
	struct fx_pos redirect_pos;
};

/* The flow of one instance. */
struct fx_flow {
	u32 edge;
	struct fx_flow_key key, mask;
};

struct fx_class {
	const char *name;
	struct fx_pos pos;
	struct fx_loop loop[FX_MAX_DIMS];
	u32 n_loop;
	struct fx_link_end from;
	struct fx_link_end to[FX_MAX_TO];
	u32 n_to;
	struct fx_field field[FX_FIELDS];
	u8 order_of[FX_FIELDS];	/* ids in the order of the file */
	u32 n_fields;
	bool reuse_never;
	u8 element, order, owner;
	struct fx_pos order_pos, element_pos, exact_pos, shape_pos;
	bool exact;
	struct fx_flow_decl flow;
	u16 rw_read, rw_write;
	struct fx_link_end alias;	/* .place is the index of the set */
	struct fx_ref *ref;
	u32 n_ref, cap_ref;
	struct fx_xform_decl xform[FX_MAX_XFORMS];
	u32 n_xform;
	/* elaborated */
	u32 dim[FX_MAX_DIMS];
	u32 first, count;
};

/* What the checks found to hold, or left to others. */
enum fx_proof { FX_PROVED, FX_RUN_TIME, FX_ASSUMED };

struct fx_obligation {
	const char *code;	/* "order.no_cycle": family and what of it */
	enum fx_proof status;
	u16 cls;		/* class, or FX_CLASS_NONE: the whole graph */
	const char *text;	/* what must hold */
	const char *by;		/* who checks it, or why it is assumed */
};

/* What a network device checks, and not the kernel module. */
#define FX_OBLIGE_FLOW	"placement.flow"

struct fx_graph {
	struct fx_arena arena;
	struct fx_diags *diags;
	char *text;
	size_t text_len;

	const char *name;
	struct fx_pos name_pos;
	u32 governs;
	struct fx_param *param;
	u32 n_param, cap_param;
	struct fx_place *place;
	u32 n_place, cap_place;
	struct fx_link *link;
	u32 n_link, cap_link;
	bool has_links;
	struct fx_alias *alias;
	u32 n_alias, cap_alias;
	struct fx_class *cls;
	u32 n_cls, cap_cls;

	/* elaborated */
	struct fx_scope params;
	struct fx_value *param_value;
	struct fx_edge_desc *edge;
	u32 n_edge;
	u32 *after;
	u32 n_after, cap_after;
	struct fx_flow *flow;		/* in the order of the edges */
	u32 n_flow, cap_flow;

	/* checked */
	struct fx_obligation *obligation;
	u32 n_obligation, cap_obligation;
};

/* The passes; each reports what it finds in g->diags. */
void fx_graph_parse(struct fx_graph *g);
void fx_graph_elaborate(struct fx_graph *g);
void fx_graph_check(struct fx_graph *g);

/**
 * fx_graph_load() - read a graph file through all passes
 * @path: the file
 * @out: the graph, or NULL; free with fx_graph_free()
 *
 * Diagnostics are printed. Return: FX_RC_OK, FX_RC_INPUT, FX_RC_SYSTEM.
 */
enum fx_rc fx_graph_load(const char *path, struct fx_graph **out);
void fx_graph_free(struct fx_graph *g);

/* Its steps, for a text that is no file; the graph owns @text. */
struct fx_graph *fx_graph_new(const char *path, char *text, size_t len);
bool fx_graph_run(struct fx_graph *g);

/* The image's bytes, to free(); *size is their number. */
void *fx_graph_image(const struct fx_graph *g, size_t *size);

/**
 * fx_nic_flows() - the flows of the edges that cross a place
 * @g: the graph
 * @place: index of a place of kind nic
 * @n: out: how many
 *
 * Return: records in the order of the edges, to free(); NULL when there are
 * none.
 */
struct fx_nic_flow *fx_nic_flows(const struct fx_graph *g, u32 place, u32 *n);
/* The next place of @kind, from @i on, or the number of places. */
u32 fx_next_place(const struct fx_graph *g, enum fx_place_kind kind, u32 i);
/* Does an edge with a flow cross a place of @kind? */
bool fx_flows_cross(const struct fx_graph *g, enum fx_place_kind kind);

/* "kv_out[3, 1]" of an instance, for messages; valid until the next call. */
const char *fx_instance_name(const struct fx_graph *g, u32 edge);

#endif /* FX_GRAPH_GRAPH_H */
