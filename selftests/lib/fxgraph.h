/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * For tests in C that need a loaded graph: build one from structures and load
 * it over netlink, without fabricctl.
 */
#ifndef FXGRAPH_H
#define FXGRAPH_H

#include <stddef.h>
#include <linux/fabric_ext.h>

#define FXG_PLACES	16
#define FXG_ALIASES	8
#define FXG_CLASSES	64
#define FXG_EDGES	256
#define FXG_AFTER	256

/**
 * struct fxgraph - a graph under construction
 * @hdr: name, governs and the counts; the digest stays zero
 * @places: from here on the tables, as they are uploaded
 */
struct fxgraph {
	struct fx_image_hdr hdr;
	struct fx_place_desc places[FXG_PLACES];
	struct fx_alias_desc aliases[FXG_ALIASES];
	struct fx_class_desc classes[FXG_CLASSES];
	struct fx_edge_desc edges[FXG_EDGES];
	__u32 after[FXG_AFTER];
};

/* They abort with a message where the tables are full. */
void fxgraph_init(struct fxgraph *g, const char *name);
__u16 fxgraph_place(struct fxgraph *g, const char *name, __u16 kind,
		    __u16 match_kind, const char *match, __u64 capacity);
__u16 fxgraph_alias(struct fxgraph *g, const char *name, __u64 bytes);
/* Adds a class of @count edges of @bytes each; returns the first edge. */
__u32 fxgraph_class(struct fxgraph *g, const struct fx_class_desc *cls,
		    __u32 count, __u64 bytes);
void fxgraph_after(struct fxgraph *g, __u32 edge, __u32 on);

/* 0 or -errno; what the kernel said goes to stderr, but for -ENOENT. */
int fxgraph_load(const struct fxgraph *g);
int fxgraph_unload(const char *name);

#endif
