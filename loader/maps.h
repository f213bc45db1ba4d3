/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Maps with a consistency class: what an object declares, how attach makes
 * real maps of it that devices share, and what is pinned of them:
 *
 *	/sys/fs/bpf/fabric_ext/GRAPH/shared/
 *		@maps			array of struct fx_map_desc
 *		@remotes		array of struct fx_remote_name, if there are any
 *		@agent/			locked by the agent that runs
 *		NAME			snapshot, bounded, coherent: one for all
 *		NAME@kernel, NAME@nic-NETDEV	counter: the shard of a device
 *		NAME@dpu-DPU		the same as the agent last read it, in a hash
 *					of struct fx_remote_count
 *
 * They outlive the programs: a device that is taken off and put back, and a
 * policy that is replaced by one with the same maps, finds its shard there.
 */
#ifndef FX_MAPS_H
#define FX_MAPS_H

#include <linux/fabric_ext_map.h>

#include "cmd.h"
#include "names.h"
#include "types.h"

struct bpf_map;
struct bpf_object;
struct fx_pins;
struct fx_words;
struct json_object;

#define FX_MAPS_MAX		64		/* with a class, in a policy */
#define FX_MAP_ENTRIES_MAX	(1U << 24)
#define FX_MAP_VALUE_MAX	(1U << 20)	/* bytes */
#define FX_MAP_TABLE_MAX	(64U << 20)	/* bytes, of a whole snapshot */

enum fx_map_class {
	FX_MAP_LOCAL,
	FX_MAP_COUNTER,
	FX_MAP_SNAPSHOT,
	FX_MAP_BOUNDED,
	FX_MAP_COHERENT,
	FX_MAP_CLASSES,
};

extern const struct fx_names fx_map_classes;

struct fx_map_desc {
	char name[FX_NAME_LEN];
	u32 cls;		/* enum fx_map_class */
	u32 entries;		/* as the policy states them */
	u32 value_size;		/* the same, bytes */
	u32 ms;			/* bounded: the bound */
	/* how they lie in memory */
	u32 raw_size;		/* of a row; of a snapshot's table */
	u32 raw_entries;	/* rows */
	u32 value_at;		/* in a row or table */
	u32 stamp_at;		/* bounded: in a row */
	u32 locked;		/* bounded: rows have a lock, which the kernel knows */
	u32 reserved;
};

struct fx_map_list {
	struct fx_map_desc *map;
	u32 n, cap;
};

void fx_map_list_free(struct fx_map_list *l);
const struct fx_map_desc *fx_map_find(const struct fx_map_list *l, const char *name);

/* Is it the same to a policy, wherever it lies? */
bool fx_map_same(const struct fx_map_desc *a, const struct fx_map_desc *b);

/* Can devices share it, or find it again: anything but class local. */
static inline bool fx_map_outlives(const struct fx_map_desc *d)
{
	return d->cls != FX_MAP_LOCAL;
}

/**
 * fx_map_describe() - what an object declares
 * @obj: opened
 * @map: one of its maps that fx_map_class_of() knows
 * @out: filled in
 *
 * Return: NULL, or why it is none that FX_MAP() declares.
 */
const char *fx_map_describe(struct bpf_object *obj, const struct bpf_map *map,
			    struct fx_map_desc *out);

/**
 * fx_map_classes_json() - the maps of an object that have a class
 * @source: what it was compiled from
 * @object: ELF file
 * @size: its bytes
 * @classes: set to what goes into the manifest; NULL when there are none
 *
 * A policy for the kernel alone may have maps without a class, which are its
 * own. Return: FX_RC_OK, FX_RC_INPUT after a diagnostic, FX_RC_SYSTEM.
 */
enum fx_rc fx_map_classes_json(const char *source, const void *object, size_t size,
			       struct json_object **classes);

/* The manifest's {NAME: {class, entries, value_size, bound_ms}}. */
void fx_map_json_add(struct json_object *classes, const struct fx_map_desc *d);
/* The opposite; NULL or what is wrong with it. @o may be NULL: no maps. */
const char *fx_map_list_parse(struct json_object *o, struct fx_map_list *out);

/* ---- attach ------------------------------------------------------------ */

struct fx_maps;

enum fx_maps_how {
	FX_MAPS_NEW,		/* nothing is pinned that counts */
	FX_MAPS_REPLACE,	/* what is pinned and fits goes on */
	FX_MAPS_REPAIR,		/* the same, and what does not fit is an error */
};

/**
 * fx_maps_new() - begin to wire the maps of one graph's devices
 * @graph: name
 * @known: what the bundle's manifest lists; borrowed until fx_maps_free()
 * @how: what becomes of maps that are pinned
 */
struct fx_maps *fx_maps_new(const char *graph, const struct fx_map_list *known,
			    enum fx_maps_how how);
void fx_maps_free(struct fx_maps *m);

/**
 * fx_maps_before_load() - give an object the maps that are there already
 * @m: of the graph
 * @obj: opened and not loaded
 * @device: "kernel", or as fx_pins_nic() says
 *
 * Return: FX_RC_OK; FX_RC_INPUT or FX_RC_SYSTEM after one sentence.
 */
enum fx_rc fx_maps_before_load(struct fx_maps *m, struct bpf_object *obj,
			       const char *device);
/* Keep the maps that loading it made, for the next object. */
enum fx_rc fx_maps_after_load(struct fx_maps *m, struct bpf_object *obj);

/**
 * fx_maps_add_remote() - another memory that has such maps
 * @m: of the graph
 * @device: "dpu-" and its name
 * @object: the policy's object for it; borrowed until fx_maps_free()
 * @size: its bytes
 */
void fx_maps_add_remote(struct fx_maps *m, const char *device, const void *object,
			size_t size);

/* Let readers begin: before programs run. */
enum fx_rc fx_maps_begin(struct fx_maps *m);

/* Are the maps and DPUs that are pinned those of the policy? */
bool fx_maps_listed(const struct fx_maps *m);
/* Pin them all below shared/; after programs were attached. */
enum fx_rc fx_maps_pin(struct fx_maps *m, struct fx_pins *pins);

/* ---- what is pinned ---------------------------------------------------- */

struct fx_remote_name {
	char device[FX_NAME_LEN];
};

/* A graph's pinned maps. */
struct fx_shared {
	char *dir;			/* shared/ */
	struct fx_map_list maps;
	struct fx_remote_name *remote;
	u32 n_remote;
};

/**
 * fx_shared_open() - read which maps of a graph are pinned
 * @graph: name
 * @out: to fx_shared_close(), also after an error
 *
 * Return: 0; -ENOENT when there are none; another -errno. No sentence.
 */
int fx_shared_open(const char *graph, struct fx_shared *out);
void fx_shared_close(struct fx_shared *s);

/**
 * fx_shared_find() - fx_shared_open() for a user who named a graph and a map
 * @graph: name
 * @map: name, or NULL: @d is set to NULL
 * @s: to fx_shared_close(), also after an error
 * @d: set
 *
 * Return: FX_RC_OK; FX_RC_INPUT or FX_RC_SYSTEM after one sentence.
 */
enum fx_rc fx_shared_find(const char *graph, const char *map, struct fx_shared *s,
			  const struct fx_map_desc **d);

/* A pinned map by its file's name below shared/: a descriptor or -errno. */
int fx_shared_get(const struct fx_shared *s, const char *file);

/* The devices that have a shard of a counter, as in the names of files. */
void fx_shared_shards(const struct fx_shared *s, const struct fx_map_desc *d,
		      struct fx_words *devices);

/* 0 or -errno: a shard's @d->entries counts, added to @sums. */
int fx_shared_add_shard(const struct fx_shared *s, const struct fx_map_desc *d,
			const char *device, u64 *sums);

/**
 * fx_shared_snapshot() - the epoch that is published
 * @s: of a graph
 * @d: of class snapshot
 * @table: d->raw_size bytes, to free(); NULL when nothing was published yet
 */
int fx_shared_snapshot(const struct fx_shared *s, const struct fx_map_desc *d,
		       void **table);

/**
 * fx_shared_publish() - publish the next epoch
 * @s: of a graph, whose pins are locked
 * @d: of class snapshot
 * @values: d->entries * d->value_size bytes
 * @epoch: set to its number
 *
 * When this returns 0, no program in this kernel sees an older one any more.
 */
int fx_shared_publish(const struct fx_shared *s, const struct fx_map_desc *d,
		      const void *values, u64 *epoch);

/* A bounded entry. */
struct fx_bounded {
	u64 stamp;		/* ns, CLOCK_MONOTONIC; 0: never written */
	u8 value[FX_MAP_BOUNDED_MAX];
};

/*
 * fx_shared_bounded() - all entries of a bounded map
 * @entry: room for d->entries
 * @synced: set to when the other memories were last read, or
 *	    FX_MAP_SYNCED_ALWAYS
 */
int fx_shared_bounded(const struct fx_shared *s, const struct fx_map_desc *d,
		      struct fx_bounded *entry, u64 *synced);

/* Has an open map keys of four bytes, and these sizes? */
bool fx_map_sized(int fd, u32 value_size, u32 entries);

/* 0 or -errno: rows @first to @first + @n of an array, @d->raw_size bytes each. */
int fx_map_rows(int fd, const struct fx_map_desc *d, u32 first, u32 n, void *rows);

/* A shard as the agent keeps it, in a hash by entry. */
struct fx_remote_count {
	u64 base;		/* of the memory's lives before this one */
	u64 last;		/* read of this one */
	u64 life;		/* which */
};

/* When a bound of @ms is promised at @now, by a sync at @synced. */
static inline bool fx_bound_holds(u64 synced, u64 now, u32 ms)
{
	return synced == FX_MAP_SYNCED_ALWAYS || now - synced <= ms * 1000000ULL;
}

/* Is the map at @fd what an object wants to have for @m? */
bool fx_map_fits(int fd, const struct bpf_map *m);

#endif /* FX_MAPS_H */
