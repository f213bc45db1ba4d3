// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Maps at attach. The first object of a graph that is loaded makes the maps
 * that devices share, the next ones are given its descriptors; a device that
 * was here before is given the shard that is pinned.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "diag.h"
#include "lower/map_class.h"
#include "maps.h"
#include "maps_wire.h"
#include "util.h"

struct fx_maps *fx_maps_new(const char *graph, const struct fx_map_list *known,
			    enum fx_maps_how how)
{
	struct fx_maps *m = fx_calloc(1, sizeof(*m));

	m->graph = fx_strdup(graph);
	m->known = known;
	m->how = how;
	return m;
}

void fx_maps_free(struct fx_maps *m)
{
	if (!m)
		return;
	for (u32 i = 0; i < m->n; i++) {
		free(m->map[i].file);
		if (m->map[i].fd >= 0)
			close(m->map[i].fd);
	}
	free(m->map);
	free(m->remote);
	free(m->graph);
	free(m);
}

/* A shard is a device's, all else is everybody's. */
char *fx_maps_file(const struct fx_map_desc *d, const char *device)
{
	return d->cls == FX_MAP_COUNTER ? fx_asprintf("%s@%s", d->name, device) :
					  fx_strdup(d->name);
}

struct fx_wired *fx_maps_find(struct fx_maps *m, const char *file)
{
	for (u32 i = 0; i < m->n; i++)
		if (!strcmp(m->map[i].file, file))
			return &m->map[i];
	return NULL;
}

struct fx_wired *fx_maps_add(struct fx_maps *m, const char *file,
			     const struct fx_map_desc *d, int fd, bool pinned)
{
	fx_grow(m->map, m->n, m->cap);
	m->map[m->n] = (struct fx_wired){ fx_strdup(file), *d, fd, pinned };
	return &m->map[m->n++];
}

/* ---- before loading ---------------------------------------------------- */

static enum fx_rc unsound(const struct fx_maps *m, const char *device,
			  const char *map, const char *why)
{
	fx_err("the policy of graph '%s' for %s has the map '%s', and %s; compile the bundle again",
	       m->graph, device, map, why);
	return FX_RC_INPUT;
}

/* What the object declares, as the manifest has it. */
enum fx_rc fx_maps_describe(const struct fx_maps *m, struct bpf_object *obj,
			    const struct bpf_map *map, const char *device,
			    struct fx_map_desc *d)
{
	const char *why = fx_map_describe(obj, map, d);
	const struct fx_map_desc *known;

	if (why)
		return unsound(m, device, bpf_map__name(map), why);
	known = fx_map_find(m->known, d->name);
	if (!known)
		return unsound(m, device, d->name, "the bundle's manifest does not list it");
	if (!fx_map_same(known, d))
		return unsound(m, device, d->name,
			       "the bundle's manifest lists another class or size for it");
	return FX_RC_OK;
}

/* Does an open map look as the object wants its own to look? */
static bool fits(int fd, const struct bpf_map *map)
{
	struct bpf_map_info info = { 0 };
	u32 len = sizeof(info);

	return !bpf_map_get_info_by_fd(fd, &info, &len) &&
	       info.type == bpf_map__type(map) &&
	       info.key_size == bpf_map__key_size(map) &&
	       info.value_size == bpf_map__value_size(map) &&
	       info.max_entries == bpf_map__max_entries(map) &&
	       info.map_flags == bpf_map__map_flags(map);
}

/* The map as it is pinned; -ENOENT; -ESTALE when it is not like this one. */
static int pinned(const struct fx_maps *m, const char *file, const struct bpf_map *map)
{
	const char *name = bpf_map__name(map);
	const struct fx_map_desc *old;
	struct fx_shared s;
	int fd = -ENOENT;

	if (m->how != FX_MAPS_NEW && !fx_shared_open(m->graph, &s)) {
		old = fx_map_find(&s.maps, name);
		fd = old ? fx_shared_get(&s, file) : -ENOENT;
		if (fd >= 0 && (!fits(fd, map) ||
				!fx_map_same(old, fx_map_find(m->known, name)))) {
			close(fd);
			fd = -ESTALE;
		}
		fx_shared_close(&s);
	}
	return fd;
}

static enum fx_rc give(struct fx_maps *m, struct bpf_map *map,
		       const struct fx_map_desc *d, const char *device)
{
	char *file = fx_maps_file(d, device);
	struct fx_wired *w = fx_maps_find(m, file);

	if (!w) {
		int fd = pinned(m, file, map);

		/* the devices that were not away have the other one */
		if (fd == -ESTALE && m->how == FX_MAPS_REPAIR) {
			free(file);
			fx_err("the map '%s' of graph '%s' is attached with another class or size than the bundle's; a repair needs the bundle that was attached, or attach --replace",
			       d->name, m->graph);
			return FX_RC_INPUT;
		}
		w = fx_maps_add(m, file, d, fd < 0 ? -1 : fd, fd >= 0);
	}
	free(file);
	if (w->fd < 0)
		return FX_RC_OK;
	if (!fits(w->fd, map))
		return unsound(m, device, d->name, "another device's is not like it");
	if (!bpf_map__reuse_fd(map, w->fd))
		return FX_RC_OK;
	fx_err("the map '%s' of graph '%s' cannot be shared with %s: %s", d->name,
	       m->graph, device, strerror(errno));
	return FX_RC_SYSTEM;
}

enum fx_rc fx_maps_before_load(struct fx_maps *m, struct bpf_object *obj,
			       const char *device)
{
	enum fx_rc rc = FX_RC_OK;
	struct fx_map_desc d;
	struct bpf_map *map;

	bpf_object__for_each_map(map, obj) {
		if (rc != FX_RC_OK || !fx_map_class_of(bpf_object__btf(obj), bpf_map__name(map)))
			continue;
		rc = fx_maps_describe(m, obj, map, device, &d);
		if (rc == FX_RC_OK && fx_map_outlives(&d))
			rc = give(m, map, &d, device);
	}
	return rc;
}

/* ---- after loading ----------------------------------------------------- */

enum fx_rc fx_maps_after_load(struct fx_maps *m, struct bpf_object *obj)
{
	for (u32 i = 0; i < m->n; i++) {
		struct fx_wired *w = &m->map[i];
		struct bpf_map *map;

		if (w->fd >= 0)
			continue;
		map = bpf_object__find_map_by_name(obj, w->desc.name);
		w->fd = map ? dup(bpf_map__fd(map)) : -1;
		if (w->fd >= 0)
			continue;
		fx_err("the map '%s' of graph '%s' cannot be kept: %s", w->desc.name,
		       m->graph, strerror(errno));
		return FX_RC_SYSTEM;
	}
	return FX_RC_OK;
}

void fx_maps_add_remote(struct fx_maps *m, const char *device, const void *object,
			size_t size)
{
	struct fx_maps_remote *r;

	fx_grow(m->remote, m->n_remote, m->cap_remote);
	r = &m->remote[m->n_remote++];
	*r = (struct fx_maps_remote){ .object = object, .size = size };
	snprintf(r->name.device, sizeof(r->name.device), "%s", device);
}

/*
 * Whether readers are up to date depends on the agent only where there is a
 * memory that it has to read: until it did, they are not.
 */
static int begin(const struct fx_maps *m, const struct fx_wired *w)
{
	const u32 row = 2 * w->desc.entries;
	u8 *raw = fx_calloc(1, w->desc.raw_size);
	u64 stamp;
	int err = 0;

	if (bpf_map_lookup_elem(w->fd, &row, raw))
		err = -errno;
	memcpy(&stamp, raw + w->desc.stamp_at, sizeof(stamp));
	/* an agent that runs goes on where it is */
	if (!m->n_remote)
		stamp = FX_MAP_SYNCED_ALWAYS;
	else if (stamp == FX_MAP_SYNCED_ALWAYS)
		stamp = 0;
	memcpy(raw + w->desc.stamp_at, &stamp, sizeof(stamp));
	if (!err && bpf_map_update_elem(w->fd, &row, raw,
					w->desc.locked ? BPF_F_LOCK : 0))
		err = -errno;
	free(raw);
	return err;
}

enum fx_rc fx_maps_begin(struct fx_maps *m)
{
	for (u32 i = 0; i < m->n; i++) {
		int err = m->map[i].desc.cls == FX_MAP_BOUNDED ?
			  begin(m, &m->map[i]) : 0;

		if (!err)
			continue;
		fx_err("the map '%s' of graph '%s' cannot be written: %s",
		       m->map[i].desc.name, m->graph, strerror(-err));
		return FX_RC_SYSTEM;
	}
	return FX_RC_OK;
}
