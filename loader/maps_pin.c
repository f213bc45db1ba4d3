// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The maps of a graph as they outlive the command: pinned, with the list of
 * what they are, and those that only the agent writes.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bpflog.h"
#include "diag.h"
#include "lower/map_class.h"
#include "maps.h"
#include "maps_wire.h"
#include "pins.h"
#include "system.h"
#include "util.h"

#define MAPS	"@maps"
#define REMOTES	"@remotes"

/* ---- other memories ---------------------------------------------------- */

/* The shard that the agent keeps: an entry is replaced whole, or not at all. */
static int make_shard(const struct fx_map_desc *d)
{
	LIBBPF_OPTS(bpf_map_create_opts, opts, .map_flags = BPF_F_NO_PREALLOC);

	return bpf_map_create(BPF_MAP_TYPE_HASH, "fx_shard", sizeof(u32),
			      sizeof(struct fx_remote_count), d->entries, &opts);
}

static int make_table_holder(const struct fx_map_desc *d)
{
	LIBBPF_OPTS(bpf_map_create_opts, inside, .map_flags = BPF_F_RDONLY_PROG);
	LIBBPF_OPTS(bpf_map_create_opts, opts);
	int inner, fd;

	inner = bpf_map_create(BPF_MAP_TYPE_ARRAY, "fx_epoch", sizeof(u32), d->raw_size, 1,
			       &inside);
	if (inner < 0)
		return inner;
	opts.inner_map_fd = inner;
	fd = bpf_map_create(BPF_MAP_TYPE_ARRAY_OF_MAPS, "fx_table", sizeof(u32),
			    sizeof(u32), 1, &opts);
	close(inner);
	return fd;
}

/* Where no program of the kernel has the map, it is the agent's alone. */
static int make_home(const struct fx_map_desc *d)
{
	if (d->cls == FX_MAP_COUNTER)
		return make_shard(d);
	if (d->cls == FX_MAP_SNAPSHOT)
		return make_table_holder(d);
	return bpf_map_create(BPF_MAP_TYPE_ARRAY, "fx_bounded", sizeof(u32), d->raw_size,
			      d->raw_entries, NULL);
}

/* What is pinned under a name, if it is this one; a shard has no other user. */
static int find_home(const struct fx_maps *m, const char *file, const struct fx_map_desc *d)
{
	const struct fx_map_desc *old;
	struct fx_shared s;
	int fd = -ENOENT;

	if (m->how == FX_MAPS_NEW || fx_shared_open(m->graph, &s))
		return fd;
	old = fx_map_find(&s.maps, d->name);
	if (old && fx_map_same(old, d))
		fd = fx_shared_get(&s, file);
	fx_shared_close(&s);
	return fd;
}

static enum fx_rc add_home(struct fx_maps *m, const struct fx_map_desc *d,
			   const char *device)
{
	char *file = fx_maps_file(d, device);
	int fd;

	if (fx_maps_find(m, file)) {
		free(file);
		return FX_RC_OK;
	}
	fd = find_home(m, file, d);
	if (fd >= 0) {
		fx_maps_add(m, file, d, fd, true);
	} else {
		fd = make_home(d);
		if (fd >= 0)
			fx_maps_add(m, file, d, fd, false);
	}
	free(file);
	if (fd >= 0)
		return FX_RC_OK;
	fx_err("the map '%s' of graph '%s' cannot be made for %s: %s", d->name, m->graph,
	       device, strerror(errno));
	return FX_RC_SYSTEM;
}

/* The maps that a memory's object has, where the kernel has none of them. */
static enum fx_rc add_homes(struct fx_maps *m, const struct fx_maps_remote *r)
{
	const char *device = r->name.device;
	enum fx_rc rc = FX_RC_OK;
	struct bpf_object *obj;
	struct fx_map_desc d;
	struct bpf_map *map;

	fx_bpflog_start(false);
	obj = bpf_object__open_mem(r->object, r->size, NULL);
	if (!obj) {
		fx_err("the policy of graph '%s' for %s cannot be read: %s", m->graph,
		       device, strerror(errno));
		return FX_RC_INPUT;
	}
	bpf_object__for_each_map(map, obj) {
		if (rc != FX_RC_OK || !fx_map_class_of(bpf_object__btf(obj), bpf_map__name(map)))
			continue;
		rc = fx_maps_describe(m, obj, map, device, &d);
		if (rc == FX_RC_OK && fx_map_outlives(&d))
			rc = add_home(m, &d, device);
	}
	bpf_object__close(obj);
	return rc;
}

/* ---- pins -------------------------------------------------------------- */

/* An array of @n records of @size bytes, pinned; an empty one is none. */
static enum fx_rc pin_table(struct fx_pins *pins, const char *file, const void *rows,
			    u32 n, u32 size)
{
	LIBBPF_OPTS(bpf_map_create_opts, opts);
	enum fx_rc rc = FX_RC_SYSTEM;
	int fd;

	if (!n)
		return FX_RC_OK;
	fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "fx_table", sizeof(u32), size, n, &opts);
	for (u32 i = 0; fd >= 0 && i < n; i++)
		if (bpf_map_update_elem(fd, &i, (const char *)rows + (size_t)i * size,
					BPF_ANY))
			goto fail;
	if (fd >= 0)
		rc = fx_pins_write_at(pins, "shared", file, fd);
	if (rc == FX_RC_OK)
		goto out;
fail:
	fx_err("the list of maps of a graph cannot be written: %s", strerror(errno));
out:
	if (fd >= 0)
		close(fd);
	return rc;
}

/* Whatever has the name and is not it was another policy's. */
static enum fx_rc pin_map(struct fx_pins *pins, struct fx_wired *w)
{
	char *path = fx_asprintf("shared/%s", w->file);
	enum fx_rc rc = FX_RC_OK;

	if (!w->pinned) {
		unlinkat(pins->fd, path, 0);
		rc = fx_pins_write_at(pins, "shared", w->file, w->fd);
		w->pinned = rc == FX_RC_OK;
	}
	free(path);
	return rc;
}

/* Is a pinned map another policy's, which had the same name or does not matter? */
static bool is_old(const struct fx_maps *m, int fd, const char *file)
{
	char *name = fx_strndup(file, strcspn(file, "@"));
	const struct fx_map_desc *d = fx_map_find(m->known, name);
	struct bpf_map_info info = { 0 };
	u32 len = sizeof(info);
	bool old;

	free(name);
	old = !d || bpf_map_get_info_by_fd(fd, &info, &len);
	/* all others were pinned just now; of shards, those of devices stay */
	if (!old && strchr(file, '@'))
		old = d->cls != FX_MAP_COUNTER || info.max_entries != d->entries;
	return old;
}

static void sweep(const struct fx_maps *m, struct fx_pins *pins)
{
	struct fx_shared s = { .dir = fx_asprintf("%s/shared", pins->dir) };
	struct fx_words files = { 0 };

	fx_sys_list(s.dir, "", &files);
	for (u32 i = 0; i < files.n; i++) {
		char *path = fx_asprintf("shared/%s", files.word[i]);
		int fd = files.word[i][0] == '@' ? -1 : fx_shared_get(&s, files.word[i]);

		if (fd >= 0 && is_old(m, fd, files.word[i]))
			unlinkat(pins->fd, path, 0);
		if (fd >= 0)
			close(fd);
		free(path);
	}
	fx_words_free(&files);
	fx_shared_close(&s);
}

/*
 * One record per map, not per shard: as it was wired now, or before, when this
 * is a repair of other devices than those that have it.
 */
static u32 list_maps(const struct fx_maps *m, struct fx_map_desc *list)
{
	const struct fx_map_desc *old;
	struct fx_shared s;

	fx_shared_open(m->graph, &s);
	for (u32 i = 0; i < m->known->n; i++) {
		list[i] = m->known->map[i];
		list[i].raw_size = list[i].cls == FX_MAP_LOCAL ? list[i].value_size : 0;
		old = fx_map_find(&s.maps, list[i].name);
		if (old && m->how != FX_MAPS_NEW && fx_map_same(old, &list[i]))
			list[i] = *old;
		for (u32 j = 0; j < m->n; j++)
			if (!strcmp(m->map[j].desc.name, list[i].name))
				list[i] = m->map[j].desc;
	}
	fx_shared_close(&s);
	return m->known->n;
}

bool fx_maps_listed(const struct fx_maps *m)
{
	const struct fx_map_desc *old;
	struct fx_shared s;
	bool same;

	if (!m->known->n)
		return true;
	same = !fx_shared_open(m->graph, &s) && s.maps.n == m->known->n &&
	       s.n_remote == m->n_remote;
	for (u32 i = 0; same && i < m->known->n; i++) {
		old = fx_map_find(&s.maps, m->known->map[i].name);
		same = old && fx_map_same(old, &m->known->map[i]);
	}
	fx_shared_close(&s);
	return same;
}

enum fx_rc fx_maps_pin(struct fx_maps *m, struct fx_pins *pins)
{
	struct fx_remote_name *remotes;
	struct fx_map_desc *list;
	enum fx_rc rc = FX_RC_OK;
	u32 n;

	if (!m->known->n)
		return FX_RC_OK;
	for (u32 i = 0; i < m->n_remote && rc == FX_RC_OK; i++)
		rc = add_homes(m, &m->remote[i]);
	if (rc != FX_RC_OK)
		return rc;
	if (mkdirat(pins->fd, "shared", 0700) && errno != EEXIST) {
		fx_err("%s/shared cannot be made: %s", pins->dir, strerror(errno));
		return FX_RC_SYSTEM;
	}
	for (u32 i = 0; i < m->n && rc == FX_RC_OK; i++)
		rc = pin_map(pins, &m->map[i]);
	/* a repair leaves the list as it is, unless a replace was killed over it */
	if (rc != FX_RC_OK || (m->how == FX_MAPS_REPAIR && fx_maps_listed(m)))
		return rc;
	sweep(m, pins);
	/* last, as it says what the other names are */
	list = fx_calloc(m->known->n, sizeof(*list));
	n = list_maps(m, list);
	/* what is half done is without it, and cannot be taken for a list without DPUs */
	unlinkat(pins->fd, "shared/" MAPS, 0);
	unlinkat(pins->fd, "shared/" REMOTES, 0);
	remotes = fx_calloc(m->n_remote + 1, sizeof(*remotes));
	for (u32 i = 0; i < m->n_remote; i++)
		remotes[i] = m->remote[i].name;
	rc = pin_table(pins, REMOTES, remotes, m->n_remote, sizeof(*remotes));
	free(remotes);
	if (rc == FX_RC_OK)
		rc = pin_table(pins, MAPS, list, n, sizeof(*list));
	free(list);
	return rc;
}
