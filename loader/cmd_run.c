// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* fabricctl run: move an edge class of a loaded graph, there and back. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd.h"
#include "diag.h"
#include "json.h"
#include "run/party.h"
#include "run/run.h"
#include "session.h"
#include "util.h"

void fx_run_count(struct fx_run *r, u32 cls, const struct fx_completion *c)
{
	struct fx_run_row *row = NULL;

	for (u32 i = 0; i < r->n_row && !row; i++)
		if (r->row[i].cls == cls && r->row[i].place == c->place)
			row = &r->row[i];
	if (!row) {
		fx_grow(r->row, r->n_row, r->cap_row);
		row = &r->row[r->n_row++];
		*row = (struct fx_run_row){ .cls = cls, .place = c->place };
	}
	row->moves++;
	row->bytes_in += c->bytes_in;
	row->bytes_out += c->bytes_out;
	row->ns += c->ns;
	row->verify_ns += c->verify_ns;
}

static enum fx_rc read_tables(struct fx_run *r, struct fx_tables *t)
{
	/* it told what failed */
	return fx_session_rc(fx_tables_read(r->nl, r->opt->graph, true, t));
}

static enum fx_rc open_all(struct fx_run *r)
{
	const char *driver;
	enum fx_rc rc;
	int err;

	r->nl = fx_nl_open();
	r->events_nl = r->nl ? fx_nl_open() : NULL;
	if (!r->events_nl)
		return FX_RC_SYSTEM;
	err = fx_nl_subscribe(r->events_nl);
	if (err) {
		fx_err("events cannot be received: %s", fx_nl_why(r->events_nl));
		return FX_RC_SYSTEM;
	}
	rc = read_tables(r, &r->before);
	if (rc == FX_RC_OK)
		rc = fx_run_plan(r);
	if (rc != FX_RC_OK)
		return rc;

	driver = r->before.place[r->before.cls[r->cls].desc.from].desc.match;
	r->drm = fx_drm_open(driver);
	if (r->drm < 0) {
		fx_err("there is no DRM device of driver '%s'; modprobe %s", driver, driver);
		return FX_RC_SYSTEM;
	}
	r->heap = fx_heap_open(r->opt->heap);
	if (r->heap < 0) {
		fx_err("dma-buf heap '%s' cannot be opened: %s; --heap takes a name that is in /dev/dma_heap",
		       r->opt->heap, strerror(-r->heap));
		return FX_RC_SYSTEM;
	}
	r->dev = fx_dev_open(r->opt->graph);
	if (r->dev < 0) {
		fx_err("/dev/fabric_ext cannot be opened for graph '%s': %s", r->opt->graph,
		       strerror(-r->dev));
		return FX_RC_SYSTEM;
	}
	return FX_RC_OK;
}

static void make_room(struct fx_run *r)
{
	const struct fx_class_desc *c = &r->before.cls[r->cls].desc;
	u64 most = 0;

	for (u32 i = 0; i < c->count; i++)
		if (r->edges[c->first + i].bytes > most)
			most = r->edges[c->first + i].bytes;
	r->kept = fx_calloc(c->count, sizeof(*r->kept));
	r->where = fx_calloc(r->before.n_place, sizeof(*r->where));
	r->where_known = fx_calloc(r->before.n_place, sizeof(*r->where_known));
	r->scratch = fx_alloc(most);
}

static void close_all(struct fx_run *r)
{
	if (r->dev >= 0)
		close(r->dev);
	if (r->heap >= 0)
		close(r->heap);
	if (r->drm >= 0)
		close(r->drm);
	fx_tables_free(&r->before);
	fx_tables_free(&r->after);
	fx_nl_close(r->nl);
	fx_nl_close(r->events_nl);
	free(r->edges);
	free(r->kept);
	free(r->where);
	free(r->where_known);
	free(r->scratch);
	free(r->row);
}

static u64 refused(const struct fx_run *r, u32 cls)
{
	return r->after.cls[cls].refused - r->before.cls[cls].refused;
}

static void print(const struct fx_run *r)
{
	u64 moves = 0, bytes = 0;

	printf("%-16s %-8s %8s %14s %14s %12s %10s %8s\n", "CLASS", "PLACE", "MOVES",
	       "BYTES IN", "BYTES OUT", "NS/MOVE", "VERIFY NS", "REFUSED");
	for (u32 i = 0; i < r->n_row; i++) {
		const struct fx_run_row *w = &r->row[i];

		printf("%-16s %-8s %8llu %14llu %14llu %12llu %10llu %8llu\n",
		       r->before.cls[w->cls].desc.name, fx_run_place(r, w->place), w->moves,
		       w->bytes_in, w->bytes_out, w->ns / w->moves, w->verify_ns / w->moves,
		       refused(r, w->cls));
		moves += w->moves;
		bytes += w->bytes_in;
	}
	printf("\nchecked: %llu destinations (frames, checksum, content), %llu back, %llu strangers refused; worst quantization error %.3f of the bound; %llu events, 0 lost\n",
	       r->checked_out, r->checked_back, r->refused_checked, r->worst, r->received);
	if (r->stayed)
		printf("stayed: %llu, for the policy is in an audit, so that they went where it would not have sent them, and the graph has no edge back from there\n",
		       r->stayed);
	printf("run: %llu moves, %llu bytes, all verified\n", moves, bytes);
}

static void print_json(const struct fx_run *r)
{
	struct json_object *o = fx_json_object(), *rows = fx_json_array();
	u64 moves = 0, bytes = 0;

	for (u32 i = 0; i < r->n_row; i++) {
		const struct fx_run_row *w = &r->row[i];
		struct json_object *row = fx_json_object();

		fx_json_str(row, "class", r->before.cls[w->cls].desc.name);
		fx_json_str(row, "place", fx_run_place(r, w->place));
		fx_json_u64(row, "moves", w->moves);
		fx_json_u64(row, "bytes_in", w->bytes_in);
		fx_json_u64(row, "bytes_out", w->bytes_out);
		fx_json_u64(row, "ns", w->ns);
		fx_json_u64(row, "verify_ns", w->verify_ns);
		fx_json_u64(row, "refused", refused(r, w->cls));
		fx_json_add(rows, row);
		moves += w->moves;
		bytes += w->bytes_in;
	}
	fx_json_str(o, "graph", r->opt->graph);
	fx_json_put(o, "rows", rows);
	fx_json_u64(o, "moves", moves);
	fx_json_u64(o, "bytes", bytes);
	fx_json_u64(o, "checked_out", r->checked_out);
	fx_json_u64(o, "checked_back", r->checked_back);
	fx_json_u64(o, "strangers_refused", r->refused_checked);
	fx_json_u64(o, "stayed", r->stayed);
	fx_json_double(o, "worst_quantization_error", r->worst);
	fx_json_u64(o, "events_received", r->received);
	fx_json_u64(o, "events_lost", 0);
	fx_json_bool(o, "all_verified", true);
	fx_json_print(o);
}

static enum fx_rc run(const void *config)
{
	struct fx_run r = { .opt = config, .dev = -1, .heap = -1, .drm = -1 };
	enum fx_rc rc;

	rc = open_all(&r);
	if (rc != FX_RC_OK)
		goto out;
	make_room(&r);
	rc = fx_run_out(&r);
	if (rc == FX_RC_OK)
		rc = fx_run_back(&r);
	if (rc == FX_RC_OK)
		rc = read_tables(&r, &r.after);
	if (rc == FX_RC_OK)
		rc = fx_check_totals(&r);
	if (rc != FX_RC_OK)
		goto out;
	if (fx_json_mode)
		print_json(&r);
	else
		print(&r);
out:
	close_all(&r);
	return rc;
}

static const struct fx_operand operands[] = {
	FX_OPERAND_GRAPH(struct fx_run_options),
	{ }
};

static const struct fx_option options[] = {
	{ "class", 'c', FX_OPT_STRING, .value = "NAME",
	  .help = "edge class to move out (default: the first that can be)",
	  .at = offsetof(struct fx_run_options, cls) },
	{ "heap", 0, FX_OPT_STRING, .value = "NAME",
	  .help = "dma-buf heap of the sources (default: system)",
	  .at = offsetof(struct fx_run_options, heap) },
	{ "stranger", 0, FX_OPT_STRING, .value = "DEVICE",
	  .help = "V4L2 device that is no place and must not attach",
	  .at = offsetof(struct fx_run_options, stranger) },
	{ }
};

static const struct fx_run_options defaults = { .heap = "system" };

const struct fx_command fx_cmd_run = {
	.name = "run",
	.summary = "move an edge class of a graph there and back, and verify it",
	.details =
	"Each instance of the class begins in a dma-buf of a heap, which the driver of\n"
	"its `from` place attaches. It moves to where the policy wants it, is checked\n"
	"there (frames by pagemap, checksum, content within the format's error), moves\n"
	"back by the edge of the same alias range, and is checked again. Counters and\n"
	"events must agree with what was submitted. Exit 0 only if all of it held.\n",
	.operands = operands,
	.options = options,
	.config_size = sizeof(struct fx_run_options),
	.defaults = &defaults,
	.run = run,
};
