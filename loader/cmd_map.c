// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* fabricctl map: read a graph's maps with the guarantee of their class. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent.h"
#include "cmd.h"
#include "diag.h"
#include "json.h"
#include "map_rows.h"
#include "maps.h"
#include "pins.h"
#include "system.h"
#include "util.h"

struct config {
	const char *graph, *map;
	bool all;
};

/* What is read of one map; what its class does not have is empty. */
struct reading {
	const struct fx_map_desc *d;
	struct fx_words device;		/* local, counter: who has a part */
	u8 **part;			/* the values of each */
	u8 *value;			/* counter: sums; snapshot, coherent */
	u64 epoch;			/* snapshot; 0: nothing was published */
	struct fx_bounded *bounded;
	u64 synced, now;
};

static void reading_free(struct reading *r)
{
	for (u32 i = 0; i < r->device.n; i++)
		free(r->part[i]);
	free(r->part);
	fx_words_free(&r->device);
	free(r->value);
	free(r->bounded);
}

static size_t bytes_of(const struct fx_map_desc *d)
{
	return (size_t)d->entries * d->value_size;
}

/* ---- reading, by class ------------------------------------------------- */

static int read_array(const struct fx_shared *s, const struct fx_map_desc *d,
		      const char *file, u8 *to)
{
	int fd = fx_shared_get(s, file), err = 0;

	if (fd < 0)
		return fd;
	if (!fx_map_sized(fd, d->value_size, d->entries))
		err = -EPROTO;
	for (u32 i = 0; i < d->entries && !err; i++)
		err = fx_map_rows(fd, d, i, 1, to + (size_t)i * d->value_size);
	close(fd);
	return err;
}

/* Each device's own lies with its programs. */
static int read_local(const struct fx_shared *s, const char *graph, struct reading *r)
{
	struct fx_words subs = { 0 };
	int err = 0;

	fx_words_add(&subs, "");
	fx_pins_list_nics(graph, &subs);
	r->part = fx_calloc(subs.n, sizeof(*r->part));
	for (u32 i = 0; i < subs.n && !err; i++) {
		char *file = fx_asprintf("../%s/maps/%s", subs.word[i], r->d->name);
		u8 *values = fx_calloc(r->d->entries, r->d->value_size);

		err = read_array(s, r->d, file, values);
		if (!err) {
			r->part[r->device.n] = values;
			fx_words_add(&r->device, i ? subs.word[i] : "kernel");
		} else {
			free(values);
		}
		/* not every device has a program with it */
		err = err == -ENOENT ? 0 : err;
		free(file);
	}
	fx_words_free(&subs);
	return err;
}

static int read_counter(const struct fx_shared *s, const char *graph, struct reading *r)
{
	u64 *sum = fx_calloc(r->d->entries, sizeof(*sum));
	int err = 0;

	(void)graph;
	r->value = (u8 *)sum;
	fx_shared_shards(s, r->d, &r->device);
	r->part = fx_calloc(r->device.n, sizeof(*r->part));
	for (u32 i = 0; i < r->device.n && !err; i++) {
		u64 *part = fx_calloc(r->d->entries, sizeof(*part));

		r->part[i] = (u8 *)part;
		err = fx_shared_add_shard(s, r->d, r->device.word[i], part);
		for (u32 j = 0; j < r->d->entries; j++)
			sum[j] += part[j];
	}
	return err;
}

static int read_snapshot(const struct fx_shared *s, const char *graph, struct reading *r)
{
	void *table;
	int err = fx_shared_snapshot(s, r->d, &table);

	(void)graph;
	if (err || !table)
		return err;
	memcpy(&r->epoch, table, sizeof(r->epoch));
	r->value = fx_alloc(bytes_of(r->d));
	memcpy(r->value, (u8 *)table + r->d->value_at, bytes_of(r->d));
	free(table);
	return 0;
}

static int read_bounded(const struct fx_shared *s, const char *graph, struct reading *r)
{
	int err;

	(void)graph;
	r->bounded = fx_calloc(r->d->entries, sizeof(*r->bounded));
	err = fx_shared_bounded(s, r->d, r->bounded, &r->synced);
	r->now = fx_monotonic_ns();
	return err;
}

static int read_coherent(const struct fx_shared *s, const char *graph, struct reading *r)
{
	(void)graph;
	r->value = fx_calloc(r->d->entries, r->d->value_size);
	return read_array(s, r->d, r->d->name, r->value);
}

static int (*const readers[FX_MAP_CLASSES])(const struct fx_shared *s, const char *graph,
					    struct reading *r) = {
	[FX_MAP_LOCAL] = read_local, [FX_MAP_COUNTER] = read_counter,
	[FX_MAP_SNAPSHOT] = read_snapshot, [FX_MAP_BOUNDED] = read_bounded,
	[FX_MAP_COHERENT] = read_coherent,
};

/* ---- telling ----------------------------------------------------------- */

static struct json_object *values_json(const struct fx_map_desc *d, const u8 *values)
{
	struct json_object *list = fx_json_array();

	for (u32 i = 0; i < d->entries; i++)
		fx_json_add(list, fx_map_value_json(values + (size_t)i * d->value_size,
						    d->value_size));
	return list;
}

static bool holds(const struct reading *r)
{
	return fx_bound_holds(r->synced, r->now, r->d->ms);
}

/* Without the promise there is no value: that is what the class says. */
static struct json_object *bounded_json(const struct reading *r)
{
	struct json_object *list = fx_json_array(), *o;

	for (u32 i = 0; i < r->d->entries; i++) {
		const struct fx_bounded *b = &r->bounded[i];

		if (!holds(r)) {
			fx_json_add(list, NULL);
			continue;
		}
		o = fx_json_object();
		fx_json_put(o, "value", fx_map_value_json(b->value, r->d->value_size));
		if (b->stamp)
			fx_json_double(o, "age_ms", (r->now - b->stamp) / 1e6);
		fx_json_add(list, o);
	}
	return list;
}

static struct json_object *json(const struct reading *r)
{
	const struct fx_map_desc *d = r->d;
	struct json_object *o = fx_json_object(), *parts;

	fx_json_str(o, "map", d->name);
	fx_json_str(o, "class", fx_name(&fx_map_classes, d->cls));
	fx_json_u64(o, "entries", d->entries);
	fx_json_u64(o, "value_size", d->value_size);
	if (d->cls == FX_MAP_BOUNDED) {
		fx_json_u64(o, "bound_ms", d->ms);
		fx_json_bool(o, "promised", holds(r));
		fx_json_put(o, "values", bounded_json(r));
	}
	if (d->cls == FX_MAP_SNAPSHOT)
		fx_json_u64(o, "epoch", r->epoch);
	if (r->value)
		fx_json_put(o, d->cls == FX_MAP_COUNTER ? "sum" : "values",
			    values_json(d, r->value));
	if (r->part) {
		parts = fx_json_object();
		for (u32 i = 0; i < r->device.n; i++)
			fx_json_put(parts, r->device.word[i],
				    values_json(d, r->part[i]));
		fx_json_put(o, "devices", parts);
	}
	return o;
}

static void print_value(const struct fx_map_desc *d, const char *who, u32 i,
			const u8 *value, const char *more)
{
	char *text = fx_map_value_text(value, d->value_size);

	printf("%-24s %-16s %8u  %s%s\n", d->name, who, i, text, more);
	free(text);
}

static bool is_zero(const u8 *value, u32 size)
{
	for (u32 i = 0; i < size; i++)
		if (value[i])
			return false;
	return true;
}

static void print_values(const struct fx_map_desc *d, const char *who, const u8 *values,
			 bool all)
{
	for (u32 i = 0; i < d->entries; i++) {
		const u8 *value = values + (size_t)i * d->value_size;

		if (all || !is_zero(value, d->value_size))
			print_value(d, who, i, value, "");
	}
}

static void print_bounded(const struct reading *r, bool all)
{
	for (u32 i = 0; i < r->d->entries; i++) {
		const struct fx_bounded *b = &r->bounded[i];
		char *age;

		if (!holds(r) || (!b->stamp && !all))
			continue;
		age = b->stamp ? fx_asprintf("  %.1f ms old", (r->now - b->stamp) / 1e6) :
				 fx_strdup("  never written");
		print_value(r->d, "all", i, b->value, age);
		free(age);
	}
}

/* What a class says beside its values. */
static char *state_text(const struct reading *r)
{
	if (r->d->cls == FX_MAP_SNAPSHOT)
		return r->epoch ? fx_asprintf("epoch %llu", r->epoch) :
				  fx_strdup("nothing was published yet");
	if (r->d->cls != FX_MAP_BOUNDED)
		return fx_strdup("");
	return fx_asprintf("at most %u ms behind%s", r->d->ms, holds(r) ? "" :
			   ", which nothing promises now: see `fabricctl agent --help`");
}

static void print_head(const struct reading *r)
{
	char *state = state_text(r);

	printf("%-24s %-9s %8u %10u  %s\n", r->d->name, fx_name(&fx_map_classes, r->d->cls),
	       r->d->entries, r->d->value_size, state);
	free(state);
}

static void print_all(const struct reading *r, bool all)
{
	for (u32 i = 0; i < r->device.n; i++)
		print_values(r->d, r->device.word[i], r->part[i], all);
	if (r->value)
		print_values(r->d, r->d->cls == FX_MAP_COUNTER ? "sum" : "all", r->value, all);
	if (r->bounded)
		print_bounded(r, all);
}

/* ---- the command ------------------------------------------------------- */

static enum fx_rc show(const struct config *c, const struct fx_shared *s,
		       const struct fx_map_desc *d, struct json_object *list)
{
	struct reading r = { .d = d };
	enum fx_rc rc = FX_RC_OK;
	int err = readers[d->cls](s, c->graph, &r);

	if (err) {
		fx_err("the map '%s' of graph '%s' cannot be read: %s", d->name, c->graph,
		       err == -EPROTO ? "it is of another version of fabricctl" :
		       strerror(-err));
		rc = FX_RC_SYSTEM;
	} else if (list) {
		fx_json_add(list, json(&r));
	} else if (c->map) {
		print_all(&r, c->all);
	} else {
		print_head(&r);
	}
	reading_free(&r);
	return rc;
}

static enum fx_rc run(const void *config)
{
	struct json_object *list = fx_json_mode ? fx_json_array() : NULL, *o;
	const struct config *c = config;
	const struct fx_map_desc *only = NULL;
	struct fx_shared s;
	enum fx_rc rc;

	rc = fx_shared_find(c->graph, c->map, &s, &only);
	if (rc == FX_RC_OK && !fx_json_mode)
		printf(c->map ? "%-24s %-16s %8s  %s\n" : "%-24s %-9s %8s %10s  STATE\n",
		       "MAP", c->map ? "DEVICE" : "CLASS", c->map ? "ENTRY" : "ENTRIES",
		       c->map ? "VALUE" : "VALUE SIZE");
	for (u32 i = 0; i < s.maps.n && rc == FX_RC_OK; i++)
		if (!only || only == &s.maps.map[i])
			rc = show(c, &s, &s.maps.map[i], list);
	if (list && rc == FX_RC_OK) {
		o = fx_json_object();
		fx_json_str(o, "graph", c->graph);
		if (fx_agent_needed(&s))
			fx_json_bool(o, "agent", fx_agent_runs(&s));
		fx_json_put(o, "maps", list);
		fx_json_print(o);
	} else {
		json_object_put(list);
	}
	fx_shared_close(&s);
	return rc;
}

static const struct fx_operand operands[] = {
	FX_OPERAND_GRAPH(struct config),
	{ "MAP", "print its values; without it all maps are listed",
	  offsetof(struct config, map), .optional = true },
	{ }
};

static const struct fx_option options[] = {
	{ "all", 'a', FX_OPT_FLAG, .help = "entries that are zero too",
	  .at = offsetof(struct config, all) },
	{ }
};

const struct fx_command fx_cmd_map = {
	.name = "map",
	.summary = "read the maps that the devices of a graph share",
	.details =
	"A counter is the sum over all devices and CPUs; a snapshot is one epoch; an entry\n"
	"of class bounded has its age, and no value while its bound cannot be promised.\n",
	.operands = operands,
	.options = options,
	.config_size = sizeof(struct config),
	.run = run,
};
