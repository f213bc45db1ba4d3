// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * What an object declares by FX_MAP(), read from its BTF: the types of
 * <fabric_ext/maps.bpf.h> say all of it, and it goes into the manifest.
 */
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bpflog.h"
#include "diag.h"
#include "graph/codes.h"
#include "json.h"
#include "lower/map_class.h"
#include "maps.h"
#include "util.h"

static const char *const class_name[] = {
	[FX_MAP_LOCAL] = "local", [FX_MAP_COUNTER] = "counter",
	[FX_MAP_SNAPSHOT] = "snapshot", [FX_MAP_BOUNDED] = "bounded",
	[FX_MAP_COHERENT] = "coherent",
};

const struct fx_names fx_map_classes = {
	"map class", class_name, ARRAY_SIZE(class_name)
};

u64 fx_monotonic_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ULL + t.tv_nsec;
}

void fx_map_list_free(struct fx_map_list *l)
{
	free(l->map);
	memset(l, 0, sizeof(*l));
}

const struct fx_map_desc *fx_map_find(const struct fx_map_list *l, const char *name)
{
	for (u32 i = 0; i < l->n; i++)
		if (!strcmp(l->map[i].name, name))
			return &l->map[i];
	return NULL;
}

bool fx_map_same(const struct fx_map_desc *a, const struct fx_map_desc *b)
{
	return a->cls == b->cls && a->entries == b->entries &&
	       a->value_size == b->value_size && a->ms == b->ms;
}

/* ---- BTF --------------------------------------------------------------- */

/* A type without typedefs and qualifiers, or NULL. */
static const struct btf_type *plain(const struct btf *btf, u32 id)
{
	int real = btf__resolve_type(btf, id);

	return real > 0 ? btf__type_by_id(btf, real) : NULL;
}

/* A member of a structure by name, with its offset and size in bytes. */
static const struct btf_type *member(const struct btf *btf, const struct btf_type *t,
				     const char *want, u32 *at, s64 *size)
{
	if (!t || !btf_is_struct(t))
		return NULL;
	for (u32 i = 0; i < btf_vlen(t); i++) {
		const struct btf_member *m = &btf_members(t)[i];
		const char *name = btf__name_by_offset(btf, m->name_off);

		if (!name || strcmp(name, want))
			continue;
		*at = btf_member_bit_offset(t, i) / 8;
		*size = btf__resolve_size(btf, m->type);
		return plain(btf, m->type);
	}
	return NULL;
}

/* The table: behind the epoch's number, an array of values. */
static const char *describe_table(const struct btf *btf, const struct btf_type *t,
				  struct fx_map_desc *d)
{
	const struct btf_type *inside, *value;
	s64 size = 0;
	u32 at = 0;

	inside = member(btf, t, "table", &at, &size);
	value = member(btf, inside ? inside : t, "value", &at, &size);
	if (!value || !btf_is_array(value) || size < 0)
		return "its table has no values";
	d->entries = btf_array(value)->nelems;
	d->value_size = d->entries ? size / d->entries : 0;
	d->value_at = at;
	return NULL;
}

static const char *describe_row(const struct btf *btf, const struct btf_type *t,
				struct fx_map_desc *d)
{
	const struct btf_type *bound, *lock;
	s64 size = 0, stamp = 0;
	u32 at;

	if (!member(btf, t, "value", &d->value_at, &size) || size < 0 ||
	    !member(btf, t, "stamp", &d->stamp_at, &stamp) || stamp != sizeof(u64))
		return "its rows have no value and stamp";
	d->value_size = size;
	/* elsewhere there is room for it, and nobody who takes it */
	lock = member(btf, t, "lock", &at, &size);
	d->locked = lock && btf_is_struct(lock);
	bound = member(btf, t, "fx_ms", &at, &size);
	bound = bound && btf_is_array(bound) ? plain(btf, btf_array(bound)->type) : NULL;
	if (!bound || !btf_is_array(bound))
		return "it states no bound";
	d->ms = btf_array(bound)->nelems;
	if (d->raw_entries % 2 == 0)
		return "it has no row for the synchroniser";
	d->entries = d->raw_entries / 2;
	return NULL;
}

/* NULL, or what is out of range: the same for an object and a manifest. */
static const char *out_of_range(const struct fx_map_desc *d)
{
	if (!d->entries || d->entries > FX_MAP_ENTRIES_MAX || !d->value_size ||
	    d->value_size > FX_MAP_VALUE_MAX)
		return "its size is out of range";
	if ((d->cls == FX_MAP_COUNTER || d->cls == FX_MAP_COHERENT) &&
	    d->value_size != sizeof(u64))
		return "its values are no __u64";
	if (d->cls == FX_MAP_SNAPSHOT &&
	    (u64)d->entries * d->value_size > FX_MAP_TABLE_MAX)
		return "its table is too large";
	if (d->cls == FX_MAP_BOUNDED &&
	    (d->value_size > FX_MAP_BOUNDED_MAX || d->ms < FX_MAP_MS_MIN ||
	     d->ms > FX_MAP_MS_MAX))
		return "its value or its bound is out of range";
	return NULL;
}

static const char *describe(struct bpf_object *obj, const struct bpf_map *map,
			    struct fx_map_desc *d)
{
	const struct bpf_map *home = map;
	const struct btf *btf = bpf_object__btf(obj);

	/* a table in the kernel is a map in a map, elsewhere the value */
	if (d->cls == FX_MAP_SNAPSHOT && bpf_map__inner_map((struct bpf_map *)map))
		home = bpf_map__inner_map((struct bpf_map *)map);
	d->raw_size = bpf_map__value_size(home);
	d->raw_entries = bpf_map__max_entries(home);
	d->entries = d->raw_entries;
	d->value_size = d->raw_size;
	if (d->cls == FX_MAP_SNAPSHOT)
		return describe_table(btf, plain(btf, bpf_map__btf_value_type_id(home)), d);
	if (d->cls == FX_MAP_BOUNDED)
		return describe_row(btf, plain(btf, bpf_map__btf_value_type_id(home)), d);
	return NULL;
}

const char *fx_map_describe(struct bpf_object *obj, const struct bpf_map *map,
			    struct fx_map_desc *out)
{
	const char *class = fx_map_class_of(bpf_object__btf(obj), bpf_map__name(map)), *why;
	int cls = class ? fx_value(&fx_map_classes, class) : -1;
	const char *name = bpf_map__name(map);

	memset(out, 0, sizeof(*out));
	if (cls < 0)
		return "its class is none of local, counter, snapshot, bounded, coherent";
	if (strlen(name) >= sizeof(out->name))
		return "its name is longer than 63 letters";
	strcpy(out->name, name);
	out->cls = cls;
	why = describe(obj, map, out);
	return why ? why : out_of_range(out);
}

/* ---- manifest ---------------------------------------------------------- */

void fx_map_json_add(struct json_object *classes, const struct fx_map_desc *d)
{
	struct json_object *o = fx_json_object();

	fx_json_str(o, "class", fx_name(&fx_map_classes, d->cls));
	fx_json_u64(o, "entries", d->entries);
	fx_json_u64(o, "value_size", d->value_size);
	if (d->cls == FX_MAP_BOUNDED)
		fx_json_u64(o, "bound_ms", d->ms);
	fx_json_put(classes, d->name, o);
}

enum fx_rc fx_map_classes_json(const char *source, const void *object, size_t size,
			       struct json_object **classes)
{
	static const struct fx_pos whole;
	struct fx_diags *diags = fx_diags_new(source, NULL, 0);
	struct bpf_object *obj;
	struct fx_map_desc d;
	struct bpf_map *map;
	enum fx_rc rc = FX_RC_SYSTEM;

	fx_bpflog_start(false);
	obj = bpf_object__open_mem(object, size, NULL);
	if (!obj) {
		fx_err("the object that clang made of %s cannot be read: %s", source,
		       fx_bpflog_text());
		goto out;
	}
	bpf_object__for_each_map(map, obj) {
		const char *why;

		if (!fx_map_class_of(bpf_object__btf(obj), bpf_map__name(map)))
			continue;
		why = fx_map_describe(obj, map, &d);
		if (why)
			fx_diag(diags, FX_E_POLICY_CLASS, whole,
				"the map '%s' cannot be shared: %s", bpf_map__name(map),
				why);
		if (!*classes)
			*classes = fx_json_object();
		if (!why)
			fx_map_json_add(*classes, &d);
	}
	rc = fx_diags_print(diags) ? FX_RC_INPUT : FX_RC_OK;
out:
	fx_diags_free(diags);
	bpf_object__close(obj);
	return rc;
}

static bool name_ok(const char *name)
{
	size_t len = strlen(name);

	if (!len || len >= FX_NAME_LEN || isdigit((u8)*name))
		return false;
	for (; *name; name++)
		if (!fx_is_word(*name))
			return false;
	return true;
}

static const char *parse_map(const char *name, struct json_object *o,
			     struct fx_map_desc *d)
{
	u64 entries, value_size, ms = 0;
	const char *class;
	int cls;

	if (!name_ok(name) || !fx_json_get_str(o, "class", &class) ||
	    !fx_json_get_u64(o, "entries", &entries) || entries > U32_MAX ||
	    !fx_json_get_u64(o, "value_size", &value_size) || value_size > U32_MAX)
		return "it lists a map without class, entries and value_size";
	cls = fx_value(&fx_map_classes, class);
	if (cls < 0)
		return "it lists a map of a class that does not exist";
	if (cls == FX_MAP_BOUNDED && (!fx_json_get_u64(o, "bound_ms", &ms) || ms > U32_MAX))
		return "it lists a map of class bounded without its bound";
	*d = (struct fx_map_desc){ .cls = cls, .entries = entries,
				   .value_size = value_size, .ms = ms };
	strcpy(d->name, name);
	return out_of_range(d) ? "it lists a map of a size that is out of range" : NULL;
}

const char *fx_map_list_parse(struct json_object *o, struct fx_map_list *out)
{
	const char *why = NULL;

	memset(out, 0, sizeof(*out));
	if (!o)
		return NULL;
	if (!json_object_is_type(o, json_type_object) ||
	    json_object_object_length(o) > FX_MAPS_MAX)
		return "its classes are no list of maps";
	json_object_object_foreach(o, name, value) {
		fx_grow(out->map, out->n, out->cap);
		why = parse_map(name, value, &out->map[out->n]);
		if (why)
			break;
		out->n++;
	}
	if (why)
		fx_map_list_free(out);
	return why;
}
