// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Pinned maps, read from outside with the guarantee of their class: a counter
 * as the sum of its shards, a snapshot as one epoch, a bounded entry with when
 * it was written.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "diag.h"
#include "maps.h"
#include "pins.h"
#include "system.h"
#include "util.h"

/* ---- the list ---------------------------------------------------------- */

int fx_shared_get(const struct fx_shared *s, const char *file)
{
	char *path = fx_asprintf("%s/%s", s->dir, file);
	int fd = bpf_obj_get(path);

	fd = fd < 0 ? -errno : fd;
	free(path);
	return fd;
}

/* All records of a pinned array: NULL and *@n 0 when it is not there. */
static int read_table(const struct fx_shared *s, const char *file, u32 size,
		      void **rows, u32 *n)
{
	struct bpf_map_info info = { 0 };
	u32 len = sizeof(info);
	int fd = fx_shared_get(s, file), err = 0;

	*rows = NULL;
	*n = 0;
	if (fd < 0)
		return fd;
	if (bpf_map_get_info_by_fd(fd, &info, &len))
		err = -errno;
	else if (info.type != BPF_MAP_TYPE_ARRAY || info.value_size != size ||
		 info.key_size != sizeof(u32) || info.max_entries > FX_MAPS_MAX)
		err = -EPROTO;
	if (!err) {
		*n = info.max_entries;
		*rows = fx_calloc(*n, size);
	}
	for (u32 i = 0; i < *n && !err; i++)
		if (bpf_map_lookup_elem(fd, &i, (char *)*rows + (size_t)i * size))
			err = -errno;
	close(fd);
	return err;
}

/* Whoever may write the pins may do worse; still, sizes are bounds. */
static bool sound(const struct fx_map_desc *d)
{
	u64 table = (u64)d->entries * d->value_size;

	if (!memchr(d->name, 0, sizeof(d->name)) || d->cls >= FX_MAP_CLASSES ||
	    !d->entries || d->entries > FX_MAP_ENTRIES_MAX ||
	    d->value_size > FX_MAP_VALUE_MAX)
		return false;
	if (d->cls == FX_MAP_SNAPSHOT && d->raw_size)
		return table <= FX_MAP_TABLE_MAX && d->value_at >= sizeof(u64) &&
		       (u64)d->value_at + table <= d->raw_size;
	if (d->cls == FX_MAP_BOUNDED && d->raw_size)
		return d->value_size <= FX_MAP_BOUNDED_MAX && d->raw_size <= 4096 &&
		       (u64)d->value_at + d->value_size <= d->raw_size &&
		       (u64)d->stamp_at + sizeof(u64) <= d->raw_size &&
		       d->raw_entries == 2 * d->entries + 1;
	return true;
}

int fx_shared_open(const char *graph, struct fx_shared *out)
{
	void *rows;
	int err;
	u32 n;

	memset(out, 0, sizeof(*out));
	out->dir = fx_pins_shared(graph);
	if (!out->dir)
		return -ENOENT;
	err = read_table(out, "@maps", sizeof(struct fx_map_desc), &rows, &n);
	out->maps = (struct fx_map_list){ .map = rows, .n = n, .cap = n };
	if (err)
		return err;
	for (u32 i = 0; i < n; i++)
		if (!sound(&out->maps.map[i]))
			return -EPROTO;
	err = read_table(out, "@remotes", sizeof(*out->remote), &rows, &out->n_remote);
	out->remote = rows;
	for (u32 i = 0; i < out->n_remote; i++)
		out->remote[i].device[FX_NAME_LEN - 1] = '\0';
	return err == -ENOENT ? 0 : err;
}

void fx_shared_close(struct fx_shared *s)
{
	fx_map_list_free(&s->maps);
	free(s->remote);
	free(s->dir);
	memset(s, 0, sizeof(*s));
}

static const char *near_map(const void *list, u32 i)
{
	const struct fx_map_list *l = list;

	return i < l->n ? l->map[i].name : NULL;
}

enum fx_rc fx_shared_find(const char *graph, const char *map, struct fx_shared *s,
			  const struct fx_map_desc **d)
{
	int err = fx_shared_open(graph, s);
	const char *near;

	*d = NULL;
	if (err == -ENOENT) {
		fx_err("graph '%s' has no maps that are pinned; `fabricctl list` shows graphs, attach --pin keeps them",
		       graph);
		return FX_RC_INPUT;
	}
	if (err) {
		fx_err("the maps of graph '%s' cannot be read: %s", graph,
		       err == -EPROTO ? "they are of another version of fabricctl" :
		       strerror(-err));
		return FX_RC_SYSTEM;
	}
	if (!map)
		return FX_RC_OK;
	*d = fx_map_find(&s->maps, map);
	if (*d)
		return FX_RC_OK;
	near = fx_nearest(map, near_map, &s->maps);
	fx_err("graph '%s' has no map '%s'%s%s%s", graph, map,
	       near ? "; did you mean '" : "; `fabricctl map` lists them",
	       near ? near : "", near ? "'?" : "");
	return FX_RC_INPUT;
}

bool fx_map_sized(int fd, u32 value_size, u32 entries)
{
	struct bpf_map_info info = { 0 };
	u32 len = sizeof(info);

	return !bpf_map_get_info_by_fd(fd, &info, &len) &&
	       info.key_size == sizeof(u32) && info.value_size == value_size &&
	       info.max_entries == entries;
}

/* A pinned map of these sizes. */
static int get_sized(const struct fx_shared *s, const char *file, u32 value, u32 entries)
{
	int fd = fx_shared_get(s, file);

	if (fd >= 0 && !fx_map_sized(fd, value, entries)) {
		close(fd);
		fd = -EPROTO;
	}
	return fd;
}

/* ---- counter ----------------------------------------------------------- */

void fx_shared_shards(const struct fx_shared *s, const struct fx_map_desc *d,
		      struct fx_words *devices)
{
	char *prefix = fx_asprintf("%s@", d->name);
	struct fx_words files = { 0 };

	fx_sys_list(s->dir + strlen(fx_sys_root), prefix, &files);
	for (u32 i = 0; i < files.n; i++)
		fx_words_add(devices, files.word[i] + strlen(prefix));
	fx_words_free(&files);
	free(prefix);
}

static int add_cpus(int fd, u32 entries, u64 *sums)
{
	int cpus = libbpf_num_possible_cpus(), err = 0;
	u64 *each;

	if (cpus < 1)
		return -EINVAL;
	each = fx_calloc(cpus, sizeof(*each));
	for (u32 i = 0; i < entries && !err; i++) {
		if (bpf_map_lookup_elem(fd, &i, each))
			err = -errno;
		for (int j = 0; j < cpus && !err; j++)
			sums[i] += each[j];
	}
	free(each);
	return err;
}

static int add_remote(int fd, u32 entries, u64 *sums)
{
	struct fx_remote_count c;

	for (u32 i = 0; i < entries; i++) {
		if (!bpf_map_lookup_elem(fd, &i, &c))
			sums[i] += c.base + c.last;
		else if (errno != ENOENT)
			return -errno;
	}
	return 0;
}

int fx_shared_add_shard(const struct fx_shared *s, const struct fx_map_desc *d,
			const char *device, u64 *sums)
{
	char *file = fx_asprintf("%s@%s", d->name, device);
	struct bpf_map_info info = { 0 };
	u32 len = sizeof(info);
	int fd = fx_shared_get(s, file), err = 0;

	free(file);
	if (fd < 0)
		return fd;
	if (bpf_map_get_info_by_fd(fd, &info, &len))
		err = -errno;
	else if (info.key_size != sizeof(u32) || info.max_entries != d->entries)
		err = -EPROTO;
	else if (info.type == BPF_MAP_TYPE_PERCPU_ARRAY && info.value_size == sizeof(u64))
		err = add_cpus(fd, d->entries, sums);
	else if (info.type == BPF_MAP_TYPE_HASH &&
		 info.value_size == sizeof(struct fx_remote_count))
		err = add_remote(fd, d->entries, sums);
	else
		err = -EPROTO;
	close(fd);
	return err;
}

/* ---- snapshot ---------------------------------------------------------- */

int fx_shared_snapshot(const struct fx_shared *s, const struct fx_map_desc *d,
		       void **table)
{
	int outer = get_sized(s, d->name, sizeof(u32), 1), inner, err = 0;
	const u32 zero = 0;
	u32 id;

	*table = NULL;
	if (outer < 0)
		return outer;
	/* the next one may have come between the two calls */
	for (int i = 0; i < 16; i++) {
		err = bpf_map_lookup_elem(outer, &zero, &id) ? -errno : 0;
		if (err)
			break;
		inner = bpf_map_get_fd_by_id(id);
		err = inner < 0 ? -errno : 0;
		if (err == -ENOENT)
			continue;
		if (err)
			break;
		/* nobody writes a table that was published */
		*table = fx_calloc(1, d->raw_size);
		if (bpf_map_lookup_elem(inner, &zero, *table))
			err = -errno;
		close(inner);
		break;
	}
	close(outer);
	if (err) {
		free(*table);
		*table = NULL;
	}
	return err == -ENOENT ? 0 : err;
}

/* A table that is complete before anybody can see it. */
static int make_table(const struct fx_map_desc *d, const void *values, u64 epoch)
{
	LIBBPF_OPTS(bpf_map_create_opts, opts, .map_flags = BPF_F_RDONLY_PROG);
	u8 *raw = fx_calloc(1, d->raw_size);
	const u32 zero = 0;
	int fd, err = 0;

	memcpy(raw, &epoch, sizeof(epoch));
	memcpy(raw + d->value_at, values, (size_t)d->entries * d->value_size);
	fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "fx_epoch", sizeof(zero), d->raw_size, 1,
			    &opts);
	if (fd < 0)
		err = -errno;
	else if (bpf_map_update_elem(fd, &zero, raw, BPF_ANY) || bpf_map_freeze(fd))
		err = -errno;
	free(raw);
	if (err && fd >= 0)
		close(fd);
	return err ? err : fd;
}

int fx_shared_publish(const struct fx_shared *s, const struct fx_map_desc *d,
		      const void *values, u64 *epoch)
{
	int outer, inner, err;
	const u32 zero = 0;
	void *old;

	err = fx_shared_snapshot(s, d, &old);
	if (err)
		return err;
	*epoch = 0;
	if (old)
		memcpy(epoch, old, sizeof(*epoch));
	free(old);
	++*epoch;
	outer = get_sized(s, d->name, sizeof(u32), 1);
	if (outer < 0)
		return outer;
	inner = make_table(d, values, *epoch);
	/* the kernel waits for programs that run before it returns */
	if (inner < 0)
		err = inner;
	else if (bpf_map_update_elem(outer, &zero, &inner, BPF_ANY))
		err = -errno;
	if (inner >= 0)
		close(inner);
	close(outer);
	return err;
}

/* ---- bounded and the rest ---------------------------------------------- */

int fx_map_rows(int fd, const struct fx_map_desc *d, u32 first, u32 n, void *rows)
{
	const u64 flags = d->locked ? BPF_F_LOCK : 0;

	for (u32 i = 0; i < n; i++) {
		u32 key = first + i;

		if (bpf_map_lookup_elem_flags(fd, &key, (u8 *)rows + (size_t)i * d->raw_size,
					      flags))
			return -errno;
	}
	return 0;
}

static void newer(const struct fx_map_desc *d, const u8 *row, struct fx_bounded *e)
{
	u64 stamp;

	memcpy(&stamp, row + d->stamp_at, sizeof(stamp));
	if (stamp <= e->stamp)
		return;
	e->stamp = stamp;
	memcpy(e->value, row + d->value_at, d->value_size);
}

int fx_shared_bounded(const struct fx_shared *s, const struct fx_map_desc *d,
		      struct fx_bounded *entry, u64 *synced)
{
	int fd = get_sized(s, d->name, d->raw_size, d->raw_entries), err;
	u8 *row;

	if (fd < 0)
		return fd;
	row = fx_alloc(d->raw_size);
	/* first: what is read after it is at least as new */
	err = fx_map_rows(fd, d, 2 * d->entries, 1, row);
	memcpy(synced, row + d->stamp_at, sizeof(*synced));
	memset(entry, 0, d->entries * sizeof(*entry));
	for (u32 i = 0; i < 2 * d->entries && !err; i++) {
		err = fx_map_rows(fd, d, i, 1, row);
		if (!err)
			newer(d, row, &entry[i % d->entries]);
	}
	free(row);
	close(fd);
	return err;
}
