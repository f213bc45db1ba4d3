// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* fabricctl publish: give all devices of a graph the next epoch of a table. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "agent.h"
#include "cmd.h"
#include "diag.h"
#include "json.h"
#include "map_rows.h"
#include "maps.h"
#include "memory.h"
#include "pins.h"
#include "system.h"
#include "util.h"

/* A JSON number per byte, and some white space. */
#define MAX_TEXT	(512U << 20)
#define WAIT_MS		5000

struct config {
	const char *graph, *map, *file;
};

static enum fx_rc read_values(const struct config *c, const struct fx_map_desc *d,
			      void *values)
{
	char *text = NULL, *why;
	enum fx_rc rc = FX_RC_OK;
	size_t len;
	int err = fx_read_file(c->file, MAX_TEXT, &text, &len);

	if (err)
		return fx_read_failed("the values", c->file, err);
	why = fx_map_values_parse(text, len, d, values);
	if (why) {
		fx_err("%s: %s", c->file, why);
		rc = FX_RC_INPUT;
	}
	free(why);
	free(text);
	return rc;
}

static enum fx_rc find_map(const struct config *c, struct fx_shared *s,
			   const struct fx_map_desc **d)
{
	enum fx_rc rc = fx_shared_find(c->graph, c->map, s, d);

	if (rc != FX_RC_OK)
		return rc;
	if ((*d)->cls == FX_MAP_SNAPSHOT && (*d)->raw_size)
		return FX_RC_OK;
	fx_err("the map '%s' of graph '%s' is of class '%s', and 'snapshot' alone is published",
	       c->map, c->graph, fx_name(&fx_map_classes, (*d)->cls));
	return FX_RC_INPUT;
}

/* Until a memory has the epoch: 0, -ENOENT when it has no such map, -errno. */
static int wait_for(const char *device, const struct config *c,
		    const struct fx_map_desc *d, u64 epoch)
{
	const struct timespec pause = { .tv_nsec = 2000000 };
	const char *name;
	const struct fx_memory_ops *ops = fx_memory_ops_of(device, &name);
	u64 *table = fx_calloc(1, d->raw_size);
	const u64 end = fx_monotonic_ns() + WAIT_MS * 1000000ULL;
	void *m = NULL;
	int err;

	err = ops ? ops->open(name, c->graph, 0, &m) : -EPROTO;
	/* it was started anew, and nothing is loaded into it yet */
	if (err == -ENOENT)
		err = -ECONNREFUSED;
	if (!err)
		err = ops->has(m, d);
	while (!err) {
		err = ops->read(m, d, table);
		/* the epoch's number stands first */
		if (err || *table >= epoch)
			break;
		if (fx_monotonic_ns() > end)
			err = -ETIMEDOUT;
		else
			nanosleep(&pause, NULL);
	}
	if (m)
		ops->close(m);
	free(table);
	return err;
}

/* The agent hands it on to other memories; a device that is away reads nothing. */
static enum fx_rc wait_for_all(const struct config *c, const struct fx_shared *s,
			       const struct fx_map_desc *d, u64 epoch, struct fx_words *away)
{
	enum fx_rc rc = s->n_remote ? fx_agent_start(c->graph, NULL) : FX_RC_OK;

	for (u32 i = 0; i < s->n_remote && rc == FX_RC_OK; i++) {
		const char *device = s->remote[i].device;
		int err = wait_for(device, c, d, epoch);

		if (err == -ECONNREFUSED || err == -EPIPE) {
			fx_info("%s is away; it gets epoch %llu when it comes back",
				device, epoch);
			fx_words_add(away, device);
		} else if (err && err != -ENOENT) {
			fx_err("epoch %llu of the map '%s' of graph '%s' is published, and %s does not have it: %s",
			       epoch, c->map, c->graph, device, strerror(-err));
			rc = FX_RC_SYSTEM;
		}
	}
	return rc;
}

static void tell(const struct config *c, u64 epoch, const struct fx_words *away)
{
	struct json_object *o, *list;
	char *text = fx_words_text(away, away->n);

	fx_info("map '%s' of graph '%s' has epoch %llu on all devices%s%s", c->map,
		c->graph, epoch, away->n ? " but " : "", away->n ? text : "");
	free(text);
	if (!fx_json_mode)
		return;
	o = fx_json_object();
	fx_json_str(o, "graph", c->graph);
	fx_json_str(o, "map", c->map);
	fx_json_u64(o, "epoch", epoch);
	list = fx_json_array();
	for (u32 i = 0; i < away->n; i++)
		fx_json_add_str(list, away->word[i]);
	fx_json_put(o, "away", list);
	fx_json_print(o);
}

static enum fx_rc run(const void *config)
{
	const struct config *c = config;
	const struct fx_map_desc *d;
	struct fx_pins *pins = NULL;
	struct fx_words away = { 0 };
	struct fx_shared s;
	void *values = NULL;
	u64 epoch = 0;
	enum fx_rc rc;
	int err;

	/* one epoch at a time, and none for a graph that is being detached */
	rc = fx_pins_lock(c->graph, false, &pins);
	if (rc != FX_RC_OK)
		return rc;
	rc = find_map(c, &s, &d);
	if (rc == FX_RC_OK) {
		values = fx_calloc(d->entries, d->value_size);
		rc = read_values(c, d, values);
	}
	if (rc == FX_RC_OK) {
		err = fx_shared_publish(&s, d, values, &epoch);
		if (err) {
			fx_err("the map '%s' of graph '%s' cannot be published: %s",
			       c->map, c->graph, strerror(-err));
			rc = FX_RC_SYSTEM;
		}
	}
	fx_pins_unlock(pins);
	if (rc == FX_RC_OK)
		rc = wait_for_all(c, &s, d, epoch, &away);
	if (rc == FX_RC_OK)
		tell(c, epoch, &away);
	fx_words_free(&away);
	free(values);
	fx_shared_close(&s);
	return rc;
}

static const struct fx_operand operands[] = {
	FX_OPERAND_GRAPH(struct config),
	{ "MAP", "a map of class snapshot, as `fabricctl map` lists them",
	  offsetof(struct config, map) },
	{ "FILE", "all its values: a JSON array, or hexadecimal digits",
	  offsetof(struct config, file) },
	{ }
};

const struct fx_command fx_cmd_publish = {
	.name = "publish",
	.summary = "publish the next epoch of a map of class snapshot",
	.details =
	"FILE has a value for each entry: [1, 2, 3], numbers for values of 1, 2, 4 or 8\n"
	"bytes, strings of hexadecimal digits for others; or the digits of all values\n"
	"one after the other. When the command returns, no device reads an older epoch.\n",
	.operands = operands,
	.config_size = sizeof(struct config),
	.run = run,
};
