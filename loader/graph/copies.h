/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * `copies:` of a place of kind gpu: the functions and kernels that move data
 * to it and from it, and how a call is found to be of an edge.
 */
#ifndef FX_GRAPH_COPIES_H
#define FX_GRAPH_COPIES_H

#include <linux/fabric_ext_copy.h>

#include "../types.h"

struct fx_graph;

#define FX_COPY_MAX_FUNCTIONS	64
#define FX_COPY_MAX_KERNELS	64
#define FX_COPY_NAME_LEN	128

/* What a function's arguments are: (to, from, bytes[, kind]). */
enum fx_copy_way {
	FX_COPY_ANY	= 0,	/* nobody says which way it goes */
	FX_COPY_IN	= 1,	/* to the place */
	FX_COPY_OUT	= 2,	/* from it */
	FX_COPY_KIND	= 3,	/* the fourth argument is an enum cudaMemcpyKind */
};

/* A function that is known, with its library. */
struct fx_copy_known {
	const char *name, *library;
	u8 way;			/* enum fx_copy_way */
	bool status;		/* returns 0 when the copy was made */
};

extern const struct fx_copy_known fx_copy_known[];
extern const u32 fx_n_copy_known;

const struct fx_copy_known *fx_copy_known_named(const char *name);

/* Instances of an edge, one after the other, that state the same bytes. */
struct fx_copy_row {
	u8 dir;			/* enum fx_dir: in is to the place */
	u8 priority;
	u16 cls;
	u32 first, count;	/* instances */
	u64 bytes;
};

/* The place that has copies, or NULL; a graph has one at most. */
const struct fx_place *fx_copy_place(const struct fx_graph *g);

/**
 * fx_copy_rows() - the edges that a copy at a place may be of
 * @g: a graph
 * @place: index of a place
 * @n: out: how many there are, which may be more than FX_COPY_MAX_ROWS
 *
 * Return: up to FX_COPY_MAX_ROWS of them in the order of the graph, to free().
 */
struct fx_copy_row *fx_copy_rows(const struct fx_graph *g, u32 place, u32 *n);

#endif /* FX_GRAPH_COPIES_H */
