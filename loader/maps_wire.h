/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The maps of one graph while it is attached: between maps_wire.c and maps_pin.c. */
#ifndef FX_MAPS_WIRE_H
#define FX_MAPS_WIRE_H

#include "maps.h"

/* A map of ours: open, and perhaps pinned already. */
struct fx_wired {
	char *file;			/* below shared/ */
	struct fx_map_desc desc;
	int fd;				/* -1: until its object is loaded */
	bool pinned;
};

/* A memory that is not the kernel's, and the policy's object for it. */
struct fx_maps_remote {
	struct fx_remote_name name;
	const void *object;		/* the bundle's */
	size_t size;
};

struct fx_maps {
	char *graph;
	const struct fx_map_list *known;
	enum fx_maps_how how;
	struct fx_wired *map;
	u32 n, cap;
	struct fx_maps_remote *remote;
	u32 n_remote, cap_remote;
};

/* The file of a device's map, to free(). */
char *fx_maps_file(const struct fx_map_desc *d, const char *device);
struct fx_wired *fx_maps_find(struct fx_maps *m, const char *file);
struct fx_wired *fx_maps_add(struct fx_maps *m, const char *file,
			     const struct fx_map_desc *d, int fd, bool pinned);

/* What an object declares, as the manifest has it; else after one sentence. */
enum fx_rc fx_maps_describe(const struct fx_maps *m, struct bpf_object *obj,
			    const struct bpf_map *map, const char *device,
			    struct fx_map_desc *d);

#endif /* FX_MAPS_WIRE_H */

