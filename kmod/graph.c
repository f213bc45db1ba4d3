// SPDX-License-Identifier: GPL-2.0-only
/*
 * Loaded graphs: the upload, its checks, the registry.
 *
 * A graph is built by one upload transaction, checked as a whole and then
 * published; after that its tables never change. Hooks find graphs under RCU,
 * everybody else holds a reference.
 */
#include <linux/cleanup.h>
#include <linux/ctype.h>
#include <linux/mm.h>
#include <linux/netlink.h>
#include <linux/overflow.h>
#include <linux/percpu.h>
#include <linux/rculist.h>
#include <linux/slab.h>
#include "graph.h"
#include "observe.h"
#include "place.h"
#include "tag.h"

static DEFINE_MUTEX(fx_graphs_lock);
LIST_HEAD(fx_graphs);
static unsigned int fx_graphs_n;
static u64 fx_graphs_serial;

/* What a section's records are, and how many a graph may have. */
static const struct {
	const char *name;
	size_t size;
	u32 max;
} fx_sections[FX_SECTS] = {
	[FX_SECT_PLACE] = { "place", sizeof(struct fx_place_desc), FX_MAX_PLACES },
	[FX_SECT_ALIAS] = { "alias", sizeof(struct fx_alias_desc), FX_MAX_ALIASES },
	[FX_SECT_CLASS] = { "class", sizeof(struct fx_class_desc), FX_MAX_CLASSES },
	[FX_SECT_EDGE] = { "edge", sizeof(struct fx_edge_desc), FX_MAX_EDGES },
	[FX_SECT_AFTER] = { "after", sizeof(u32), FX_MAX_AFTER },
};

/**
 * fx_name_ok() - whether a name can be a graph's or a policy's
 * @name: FX_NAME_LEN bytes; unchecked
 *
 * It is also a file name: printable ASCII without space and '/', not empty,
 * not hidden, NUL terminated.
 */
bool fx_name_ok(const char *name)
{
	size_t i;

	for (i = 0; i < FX_NAME_LEN && name[i]; i++)
		if (!isascii(name[i]) || !isgraph(name[i]) || name[i] == '/')
			return false;
	return i > 0 && i < FX_NAME_LEN && name[0] != '.';
}

static void fx_graph_free(struct fx_graph *g)
{
	kvfree(g->places);
	kvfree(g->aliases);
	kvfree(g->classes);
	kvfree(g->edges);
	kvfree(g->after);
	free_percpu(g->counts);
	if (g->ring)
		fx_ring_free(g->ring);
	kfree(g);
}

static void fx_graph_release(struct kref *ref)
{
	fx_graph_free(container_of(ref, struct fx_graph, ref));
}

/**
 * fx_graph_put() - give a reference back
 * @g: graph, or NULL
 *
 * Context: process; the last reference frees tables with kvfree(). A graph
 * leaves the registry and waits for RCU before its registry reference goes,
 * so the last reference is never one that a hook still looks at.
 */
void fx_graph_put(struct fx_graph *g)
{
	if (g)
		kref_put(&g->ref, fx_graph_release);
}

/**
 * fx_graph_new() - begin an upload
 * @hdr: name, digest, governs and table sizes; unchecked
 * @extack: gets the reason of a refusal
 *
 * The tables are charged to the caller's memory cgroup.
 *
 * Return: a graph with one reference, or an ERR_PTR: -EINVAL, -E2BIG, -ENOMEM.
 */
struct fx_graph *fx_graph_new(const struct fx_image_hdr *hdr,
			      struct netlink_ext_ack *extack)
{
	/* too large for its memory cgroup is an error, not a reason to kill */
	const gfp_t gfp = GFP_KERNEL_ACCOUNT | __GFP_ZERO | __GFP_RETRY_MAYFAIL |
			  __GFP_NOWARN;
	struct fx_graph *g;
	int i;

	if (!fx_name_ok(hdr->name)) {
		NL_SET_ERR_MSG(extack, "name: not a graph name");
		return ERR_PTR(-EINVAL);
	}
	if (hdr->governs & ~FX_GOVERNS_ALL) {
		NL_SET_ERR_MSG(extack, "governs: unknown bits");
		return ERR_PTR(-EINVAL);
	}
	for (i = 0; i < FX_SECTS; i++) {
		if (hdr->count[i] > fx_sections[i].max) {
			NL_SET_ERR_MSG_FMT(extack, "counts: more than %u %s records",
					   fx_sections[i].max, fx_sections[i].name);
			return ERR_PTR(-E2BIG);
		}
	}
	if (!hdr->count[FX_SECT_PLACE] || !hdr->count[FX_SECT_CLASS] ||
	    !hdr->count[FX_SECT_EDGE]) {
		NL_SET_ERR_MSG(extack, "counts: a graph has places, classes and edges");
		return ERR_PTR(-EINVAL);
	}

	g = kzalloc(sizeof(*g), GFP_KERNEL_ACCOUNT);
	if (!g)
		return ERR_PTR(-ENOMEM);
	kref_init(&g->ref);
	mutex_init(&g->owner);
	INIT_LIST_HEAD(&g->link);
	g->image = *hdr;
	g->places = kvcalloc(hdr->count[FX_SECT_PLACE], sizeof(*g->places), gfp);
	/* one more of what may be empty, so that NULL always means no memory */
	g->aliases = kvcalloc(hdr->count[FX_SECT_ALIAS] + 1, sizeof(*g->aliases), gfp);
	g->classes = kvcalloc(hdr->count[FX_SECT_CLASS], sizeof(*g->classes), gfp);
	g->edges = kvcalloc(hdr->count[FX_SECT_EDGE], sizeof(*g->edges), gfp);
	g->after = kvcalloc(hdr->count[FX_SECT_AFTER] + 1, sizeof(*g->after), gfp);
	g->counts = alloc_percpu_gfp(struct fx_op_counts, gfp);
	g->ring = fx_ring_new();
	if (!g->places || !g->aliases || !g->classes || !g->edges || !g->after ||
	    !g->counts || !g->ring) {
		fx_graph_free(g);
		NL_SET_ERR_MSG(extack, "counts: no memory for the tables");
		return ERR_PTR(-ENOMEM);
	}
	return g;
}

/**
 * fx_graph_load() - put records of an upload where they belong
 * @g: graph that is not published yet
 * @sect: section; unchecked
 * @first: index of the first record; unchecked
 * @data: records
 * @len: their size in bytes; unchecked
 * @extack: gets the reason of a refusal
 *
 * Records may come in any order and more than once; what they say is checked
 * by fx_graph_publish().
 *
 * Return: 0, -EINVAL or -ERANGE.
 */
int fx_graph_load(struct fx_graph *g, enum fx_section sect, u32 first,
		  const void *data, size_t len, struct netlink_ext_ack *extack)
{
	size_t n, i;

	if ((u32)sect >= FX_SECTS) {
		NL_SET_ERR_MSG(extack, "section: unknown");
		return -EINVAL;
	}
	if (!len || len % fx_sections[sect].size) {
		NL_SET_ERR_MSG_FMT(extack, "data: not whole %s records of %zu bytes",
				   fx_sections[sect].name, fx_sections[sect].size);
		return -EINVAL;
	}
	n = len / fx_sections[sect].size;
	if (first > g->image.count[sect] || n > g->image.count[sect] - first) {
		NL_SET_ERR_MSG_FMT(extack, "first: %s records beyond the announced %u",
				   fx_sections[sect].name, g->image.count[sect]);
		return -ERANGE;
	}

	switch (sect) {
	case FX_SECT_PLACE:
		for (i = 0; i < n; i++)
			g->places[first + i].desc =
				((const struct fx_place_desc *)data)[i];
		break;
	case FX_SECT_ALIAS:
		memcpy(&g->aliases[first], data, len);
		break;
	case FX_SECT_CLASS:
		for (i = 0; i < n; i++)
			g->classes[first + i].desc =
				((const struct fx_class_desc *)data)[i];
		break;
	case FX_SECT_EDGE:
		for (i = 0; i < n; i++)
			g->edges[first + i].desc =
				((const struct fx_edge_desc *)data)[i];
		break;
	default:
		memcpy(&g->after[first], data, len);
	}
	return 0;
}

/**
 * fx_graph_publish() - check an upload and make it a graph
 * @g: upload; on success the registry takes a reference of its own
 * @extack: gets the reason of a refusal
 *
 * Return: 0; -EINVAL or -ERANGE for a record that is wrong, -EEXIST for a
 * name that is taken, -ENOSPC for one graph too many.
 */
int fx_graph_publish(struct fx_graph *g, struct netlink_ext_ack *extack)
{
	struct fx_graph *other;
	int err;

	err = fx_graph_check(g, extack);
	if (err)
		return err;

	guard(mutex)(&fx_graphs_lock);
	list_for_each_entry(other, &fx_graphs, link) {
		if (!strcmp(other->image.name, g->image.name)) {
			NL_SET_ERR_MSG(extack, "name: a graph of this name is loaded");
			return -EEXIST;
		}
	}
	if (fx_graphs_n >= FX_MAX_GRAPHS) {
		NL_SET_ERR_MSG_FMT(extack, "name: %u graphs are loaded already",
				   FX_MAX_GRAPHS);
		return -ENOSPC;
	}
	fx_places_bind(g);
	g->serial = ++fx_graphs_serial;
	list_add_tail_rcu(&fx_graph_get(g)->link, &fx_graphs);
	fx_graphs_n++;
	return 0;
}

/**
 * fx_graph_remove() - forget a graph
 * @name: its name
 * @extack: gets the reason of a refusal
 *
 * Open files keep the tables until they close, but no hook finds them.
 *
 * Context: may sleep (RCU).
 * Return: 0, -ENOENT, or -EBUSY while a policy is attached.
 */
int fx_graph_remove(const char *name, struct netlink_ext_ack *extack)
{
	struct fx_graph *g = fx_graph_find(name);
	int err = 0;

	if (!g) {
		NL_SET_ERR_MSG(extack, "name: no such graph");
		return -ENOENT;
	}

	mutex_lock(&g->owner);
	if (rcu_access_pointer(g->policy)) {
		NL_SET_ERR_MSG(extack, "name: a policy is attached, detach it first");
		err = -EBUSY;
	} else if (g->dead) {
		err = -ENOENT;
	} else {
		g->dead = true;
		fx_tag_drop_graph(g);
	}
	mutex_unlock(&g->owner);

	if (!err) {
		fx_observe_flush();
		mutex_lock(&fx_graphs_lock);
		list_del_rcu(&g->link);
		fx_graphs_n--;
		mutex_unlock(&fx_graphs_lock);
		synchronize_rcu();
		fx_graph_put(g);	/* the registry's */
	}
	fx_graph_put(g);
	return err;
}

/**
 * fx_graph_find() - a loaded graph by its name
 * @name: NUL terminated
 *
 * Return: a reference, or NULL.
 */
struct fx_graph *fx_graph_find(const char *name)
{
	struct fx_graph *g;

	guard(mutex)(&fx_graphs_lock);
	list_for_each_entry(g, &fx_graphs, link)
		if (!g->dead && !strcmp(g->image.name, name))
			return fx_graph_get(g);
	return NULL;
}

/**
 * fx_graph_next() - walk the loaded graphs without holding a lock
 * @prev: a reference, given back here; NULL begins
 *
 * Graphs may come and go meanwhile; each that stays is met once, and one that
 * is being removed is not.
 *
 * Return: a reference to the next graph, or NULL.
 */
struct fx_graph *fx_graph_next(struct fx_graph *prev)
{
	struct fx_graph *g, *next = NULL;

	scoped_guard(mutex, &fx_graphs_lock) {
		list_for_each_entry(g, &fx_graphs, link) {
			if (g->dead || (prev && g->serial <= prev->serial))
				continue;
			next = fx_graph_get(g);
			break;
		}
	}
	fx_graph_put(prev);
	return next;
}

/**
 * fx_graph_kmem() - kernel memory of a graph's tables
 * @g: graph
 *
 * Return: bytes, without per-CPU counters and the event ring, whose size
 * does not depend on the graph.
 */
u64 fx_graph_kmem(const struct fx_graph *g)
{
	const u32 *n = g->image.count;

	return sizeof(*g) +
	       (u64)n[FX_SECT_PLACE] * sizeof(*g->places) +
	       (u64)(n[FX_SECT_ALIAS] + 1) * sizeof(*g->aliases) +
	       (u64)n[FX_SECT_CLASS] * sizeof(*g->classes) +
	       (u64)n[FX_SECT_EDGE] * sizeof(*g->edges) +
	       (u64)(n[FX_SECT_AFTER] + 1) * sizeof(*g->after);
}

/**
 * fx_graph_exit() - forget all graphs
 *
 * Context: module exit; no policy is attached (it would hold the module),
 * no file is open and no hook is in.
 */
void fx_graph_exit(void)
{
	struct fx_graph *g, *next;

	list_for_each_entry_safe(g, next, &fx_graphs, link) {
		list_del(&g->link);
		fx_graph_put(g);
	}
}
