/* SPDX-License-Identifier: GPL-2.0-only */
/* Places: what they match, what they are bound to, how full they are. */
#ifndef FX_PLACE_H
#define FX_PLACE_H

#include "graph.h"

struct device;
struct dma_buf;

int fx_graph_check(struct fx_graph *g, struct netlink_ext_ack *extack);

/* binding to memory nodes */
void fx_places_bind(struct fx_graph *g);
void fx_places_rebind(void);
u32 fx_place_of_node(const struct fx_graph *g, int node);
u32 fx_place_of_phys(const struct fx_graph *g, u64 phys);

/* matching objects, under RCU; FX_PLACE_NONE when nothing matches */
u32 fx_place_of_dev(const struct fx_graph *g, const struct device *dev);
u32 fx_place_of_exporter(const struct fx_graph *g, const char *exp_name);
u32 fx_place_of_region(const struct fx_graph *g, const char *name, size_t len);

/* cxl_region.c: what a CXL region tells of itself in sysfs */
struct fx_region {
	char name[32];
	u64 start;	/* physical address */
	u64 size;	/* bytes */
};

int fx_cxl_region_by_name(const char *name, struct fx_region *out);
int fx_cxl_region_by_phys(u64 phys, struct fx_region *out);
int fx_cxl_region_by_node(int node, struct fx_region *out);

#endif
