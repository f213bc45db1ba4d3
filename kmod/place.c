// SPDX-License-Identifier: GPL-2.0-only
/*
 * Places of loaded graphs: which memory node and which physical range each is
 * bound to, which objects match it, how full it is.
 */
#include <linux/cleanup.h>
#include <linux/device.h>
#include <linux/mmzone.h>
#include <linux/mutex.h>
#include <linux/nodemask.h>
#include <linux/numa.h>
#include <linux/pci.h>
#include "graph.h"
#include "observe.h"
#include "place.h"

/* Serialises changes of place->node, res_start and res_size. */
static DEFINE_MUTEX(fx_bind_lock);

static int fx_node_with_memory(int node)
{
	return node >= 0 && node < MAX_NUMNODES && node_state(node, N_MEMORY) ?
		node : FX_NODE_NONE;
}

/* The node a place should be bound to now; fills in its region's range. */
static int fx_place_node_now(struct fx_place *p)
{
	struct fx_region region = {};

	switch (p->desc.match_kind) {
	case FX_MATCH_NODE:
		return fx_node_with_memory(p->node_id);
	case FX_MATCH_REGION:
		/* not known is no news */
		if (fx_cxl_region_by_name(p->desc.match, &region) < 0)
			return p->node;
		WRITE_ONCE(p->res_start, region.start);
		WRITE_ONCE(p->res_size, region.size);
		return region.size ?
			fx_node_with_memory(phys_to_target_node(region.start)) :
			FX_NODE_NONE;
	default:
		return FX_NODE_NONE;
	}
}

/**
 * fx_places_bind() - bind a graph's places to what the system has now
 * @g: graph
 *
 * A change is told by an FX_EV_PLACE event: bytes is the region's size, arg0
 * the node (FX_NODE_NONE as all ones), arg1 the region's address.
 *
 * Context: process, may sleep; takes fx_bind_lock and, inside, the CXL
 * subsystem's region lock for reading.
 */
void fx_places_bind(struct fx_graph *g)
{
	u32 i;

	guard(mutex)(&fx_bind_lock);
	for (i = 0; i < g->image.count[FX_SECT_PLACE]; i++) {
		struct fx_place *p = &g->places[i];
		int node = fx_place_node_now(p);
		struct fx_event ev = {
			.type = FX_EV_PLACE,
			.edge = FX_EDGE_NONE,
			.op = FX_OP_MEM_ONLINE,
			.place = i,
			.bytes = p->res_size,
			.arg0 = (u64)(s64)node,
			.arg1 = p->res_start,
		};

		if (node == p->node)
			continue;
		WRITE_ONCE(p->node, node);
		fx_emit(g, &ev);
	}
}

/**
 * fx_places_rebind() - bind the places of all graphs again
 *
 * Context: as fx_places_bind(); called when memory came or went.
 */
void fx_places_rebind(void)
{
	struct fx_graph *g = NULL;

	while ((g = fx_graph_next(g)))
		fx_places_bind(g);
}

/**
 * fx_place_of_node() - the place that a memory node is
 * @g: graph
 * @node: memory node
 *
 * A node whose memory is not there yet is found by its region's address.
 *
 * Return: place index or FX_PLACE_NONE.
 */
u32 fx_place_of_node(const struct fx_graph *g, int node)
{
	u32 i;

	for (i = 0; i < g->image.count[FX_SECT_PLACE]; i++) {
		const struct fx_place *p = &g->places[i];
		u64 start = READ_ONCE(p->res_start);

		if (p->node_id == node && node != FX_NODE_NONE)
			return i;
		if (READ_ONCE(p->res_size) && phys_to_target_node(start) == node)
			return i;
	}
	return FX_PLACE_NONE;
}

/**
 * fx_place_of_phys() - the place whose region covers an address
 * @g: graph
 * @phys: physical address
 *
 * Return: place index or FX_PLACE_NONE.
 */
u32 fx_place_of_phys(const struct fx_graph *g, u64 phys)
{
	u32 i;

	for (i = 0; i < g->image.count[FX_SECT_PLACE]; i++) {
		u64 start = READ_ONCE(g->places[i].res_start);
		u64 size = READ_ONCE(g->places[i].res_size);

		if (phys >= start && phys - start < size)
			return i;
	}
	return FX_PLACE_NONE;
}

/**
 * fx_place_of_dev() - the place that an importing device is
 * @g: graph
 * @dev: device, or NULL
 *
 * `driver` matches the name of the device's driver, and the device's own
 * name: vgem's has no driver on 6.12 and a generic one ("faux_driver") on
 * 7.3. `pci` matches the address of the PCI device.
 *
 * Return: place index or FX_PLACE_NONE.
 */
u32 fx_place_of_dev(const struct fx_graph *g, const struct device *dev)
{
	const struct device_driver *drv;
	u32 i;

	if (!dev)
		return FX_PLACE_NONE;
	drv = READ_ONCE(dev->driver);
	for (i = 0; i < g->image.count[FX_SECT_PLACE]; i++) {
		const struct fx_place_desc *d = &g->places[i].desc;

		switch (d->match_kind) {
		case FX_MATCH_DRIVER:
			if ((drv && !strcmp(drv->name, d->match)) ||
			    !strcmp(dev_name(dev), d->match))
				return i;
			break;
		case FX_MATCH_PCI:
			if (dev_is_pci(dev) && !strcmp(dev_name(dev), d->match))
				return i;
			break;
		}
	}
	return FX_PLACE_NONE;
}

/**
 * fx_place_of_exporter() - the place where an exporter's buffers live
 * @g: graph
 * @exp_name: the dma-buf's exporter, which for a heap is the heap's name
 *
 * Return: place index or FX_PLACE_NONE.
 */
u32 fx_place_of_exporter(const struct fx_graph *g, const char *exp_name)
{
	u32 i;

	if (!exp_name)
		return FX_PLACE_NONE;
	for (i = 0; i < g->image.count[FX_SECT_PLACE]; i++) {
		const struct fx_place_desc *d = &g->places[i].desc;

		if ((d->match_kind == FX_MATCH_EXPORTER ||
		     d->match_kind == FX_MATCH_HEAP) &&
		    !strcmp(exp_name, d->match))
			return i;
	}
	return FX_PLACE_NONE;
}

/**
 * fx_place_of_region() - the place that names a CXL region
 * @g: graph
 * @name: region name, as in sysfs; a trailing newline does not count
 * @len: its length
 *
 * Return: place index or FX_PLACE_NONE.
 */
u32 fx_place_of_region(const struct fx_graph *g, const char *name, size_t len)
{
	u32 i;

	while (len && name[len - 1] == '\n')
		len--;
	for (i = 0; i < g->image.count[FX_SECT_PLACE]; i++) {
		const struct fx_place_desc *d = &g->places[i].desc;

		if (d->match_kind == FX_MATCH_REGION && strlen(d->match) == len &&
		    !memcmp(d->match, name, len))
			return i;
	}
	return FX_PLACE_NONE;
}

/**
 * fx_place_charge() - take room at a place
 * @p: place
 * @bytes: how much
 *
 * Return: whether it fits the place's capacity; if not, nothing was taken.
 */
bool fx_place_charge(struct fx_place *p, u64 bytes)
{
	s64 old = atomic64_read(&p->used);

	if (bytes > S64_MAX)
		return false;
	do {
		if (bytes > (u64)S64_MAX - old ||
		    (p->desc.capacity && old + bytes > p->desc.capacity))
			return false;
	} while (!atomic64_try_cmpxchg(&p->used, &old, old + bytes));
	return true;
}

/**
 * fx_place_uncharge() - give room back
 * @p: place
 * @bytes: as charged
 */
void fx_place_uncharge(struct fx_place *p, u64 bytes)
{
	atomic64_sub(bytes, &p->used);
}
