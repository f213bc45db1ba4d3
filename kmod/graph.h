/* SPDX-License-Identifier: GPL-2.0-only */
/* Loaded graphs: places, alias sets, edge classes, edge instances. */
#ifndef FX_GRAPH_H
#define FX_GRAPH_H

#include <linux/atomic.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/rcupdate.h>
#include <linux/fabric_ext.h>

struct fx_policy;
struct fx_ring;
struct netlink_ext_ack;

/**
 * struct fx_place - a place of a loaded graph
 * @desc: as uploaded, validated, never changes
 * @node: memory node that the place is bound to, or FX_NODE_NONE; read with
 *	READ_ONCE(), written by place.c under its lock
 * @res_start: physical address of the region that the place matches, bytes
 * @res_size: its size in bytes; 0 while it is not known
 * @used: bytes of buffers that the engine allocated here
 * @node_id: for FX_MATCH_NODE, the parsed number
 */
struct fx_place {
	struct fx_place_desc desc;
	int node;
	int node_id;
	u64 res_start;
	u64 res_size;
	atomic64_t used;
};

/**
 * struct fx_class - an edge class with its counters
 * @desc: as uploaded, validated, never changes
 * @moves: movements that completed without error
 * @refused: movements refused before any side effect
 * @failed: movements that failed after they began
 * @bytes_in: bytes read from sources by completed movements
 * @bytes_out: bytes written to destinations by completed movements
 * @ns: execution time of completed movements
 * @verify_ns: time spent re-reading destinations
 */
struct fx_class {
	struct fx_class_desc desc;
	atomic64_t moves;
	atomic64_t refused;
	atomic64_t failed;
	atomic64_t bytes_in;
	atomic64_t bytes_out;
	atomic64_t ns;
	atomic64_t verify_ns;
};

/* An edge instance: the uploaded record and what it moved. 40 bytes. */
struct fx_edge {
	struct fx_edge_desc desc;
	atomic64_t moves;
};

/* Per-CPU counters of one graph, by enum fx_op. */
struct fx_op_counts {
	u64 asked[FX_OPS];
	u64 refused[FX_OPS];
	u64 invalid[FX_OPS];
};

#define FX_EXIT_MSG_LEN		128
#define FX_EXIT_DUMP_LEN	1024

/**
 * struct fx_graph - a loaded graph
 *
 * Hooks look graphs up under RCU: whoever takes one out of the registry waits
 * for them before it drops the registry's reference.
 *
 * @ref: held by the registry, by open files, tags, policies and dumps
 * @policy: the attached policy; RCU
 * @counts: per-CPU counters
 * @ring: events
 * @owner: serialises attach, detach and the exit op of this graph's policy
 * @image: name, digest, table sizes; never changes once published
 * @link: in the registry; under fx_graphs_lock, read under RCU
 * @serial: in the order of publishing; under fx_graphs_lock
 * @by_exporter: a place matches dma-bufs by their exporter; never changes
 *	once published
 * @dead: removed from the registry
 */
struct fx_graph {
	struct fx_policy __rcu *policy;
	struct fx_op_counts __percpu *counts;
	struct fx_ring *ring;

	struct fx_image_hdr image;
	struct fx_place *places;
	struct fx_alias_desc *aliases;
	struct fx_class *classes;
	struct fx_edge *edges;
	u32 *after;

	struct mutex owner;	/* attach, detach, exit */
	struct list_head link;
	struct kref ref;
	u64 serial;
	bool by_exporter;
	bool dead;

	/* of the policy that ended last; under @owner */
	int last_exit;
	u32 dump_len;
	char exit_msg[FX_EXIT_MSG_LEN];
	char exit_dump[FX_EXIT_DUMP_LEN];
};

/* ---- lifetime ---- */
bool fx_name_ok(const char *name);
struct fx_graph *fx_graph_new(const struct fx_image_hdr *hdr,
			      struct netlink_ext_ack *extack);
int fx_graph_load(struct fx_graph *g, enum fx_section sect, u32 first,
		  const void *data, size_t len, struct netlink_ext_ack *extack);
int fx_graph_publish(struct fx_graph *g, struct netlink_ext_ack *extack);
int fx_graph_remove(const char *name, struct netlink_ext_ack *extack);
struct fx_graph *fx_graph_find(const char *name);
struct fx_graph *fx_graph_next(struct fx_graph *prev);
void fx_graph_put(struct fx_graph *g);
u64 fx_graph_kmem(const struct fx_graph *g);
void fx_graph_exit(void);

/* Loaded graphs under RCU, newest last; for hooks and notifiers. */
extern struct list_head fx_graphs;
#define fx_for_each_graph_rcu(g) list_for_each_entry_rcu(g, &fx_graphs, link)

static inline struct fx_graph *fx_graph_get(struct fx_graph *g)
{
	kref_get(&g->ref);
	return g;
}

/* ---- look-up, O(1) ---- */

/**
 * fx_edge_at() - an edge instance by its index
 * @g: graph
 * @edge: index, unchecked
 *
 * Return: the edge or NULL for an index that the graph does not have.
 */
static inline struct fx_edge *fx_edge_at(const struct fx_graph *g, u32 edge)
{
	return edge < g->image.count[FX_SECT_EDGE] ? &g->edges[edge] : NULL;
}

/**
 * fx_place_at() - a place by its index
 * @g: graph
 * @place: index, unchecked
 *
 * Return: the place or NULL for an index that the graph does not have.
 */
static inline struct fx_place *fx_place_at(const struct fx_graph *g, u32 place)
{
	return place < g->image.count[FX_SECT_PLACE] ? &g->places[place] : NULL;
}

/* The class of an edge; the index was checked when the graph was loaded. */
static inline struct fx_class *fx_class_of(const struct fx_graph *g,
					   const struct fx_edge *e)
{
	return &g->classes[e->desc.cls];
}

/* ---- occupancy and binding: place.c ---- */
bool fx_place_charge(struct fx_place *p, u64 bytes);
void fx_place_uncharge(struct fx_place *p, u64 bytes);

#endif
