// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * What must hold of a run. Every check looks at the thing itself: the bytes
 * that are there, the frames that they are in, the counters that others keep.
 */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "data.h"
#include "party.h"
#include "pure/crc32c.h"
#include "run.h"
#include "../diag.h"
#include "../names.h"

#define EVENTS_WAIT_MS	5000

static const struct fx_class_desc *class_out(const struct fx_run *r)
{
	return &r->before.cls[r->cls].desc;
}

/* Are the pages where the completion says? Not by its word. */
static enum fx_rc check_frames(struct fx_run *r, const void *map, u64 bytes, u16 at)
{
	u64 stray = 0;
	int ok;

	if (!r->where_known[at]) {
		int err = fx_where_is(&r->before.place[at].desc, &r->where[at]);

		if (err) {
			fx_err("place '%s' is not in sysfs: %s", fx_run_place(r, at),
			       strerror(-err));
			return FX_RC_SYSTEM;
		}
		r->where_known[at] = true;
	}
	ok = fx_frames_within(map, bytes, &r->where[at], &stray);
	if (ok < 0)
		fx_err("/proc/self/pagemap does not tell where pages are: %s",
		       strerror(-ok));
	else if (!ok)
		fx_err("a page that should be at place '%s' is at %#llx, which is not there",
		       fx_run_place(r, at), stray);
	return ok == 1 ? FX_RC_OK : FX_RC_SYSTEM;
}

static enum fx_rc check_crc(const struct fx_run *r, const void *map,
			    const struct fx_completion *c, const char *where)
{
	u32 crc = fx_crc32c(0, map, c->bytes_out, fx_cpu_detect());

	if (crc == c->csum)
		return FX_RC_OK;
	fx_err("edge %u of graph '%s': the checksum of what is %s is %08x, and %08x was written",
	       c->edge, r->opt->graph, where, crc, c->csum);
	return FX_RC_SYSTEM;
}

/* The bytes of an instance at its place, against the data it was made of. */
static enum fx_rc check_content(struct fx_run *r, u32 instance, const void *map)
{
	struct fx_kept *k = &r->kept[instance];
	u64 bytes = r->edges[class_out(r)->first + instance].bytes;
	struct fx_quant_error e;
	size_t at;

	switch (k->element) {
	case FX_ELEM_BF16:
		if (k->bytes != bytes || !fx_data_same(map, bytes, instance, &at)) {
			fx_err("%s[%u] is not what was sent", class_out(r)->name, instance);
			return FX_RC_SYSTEM;
		}
		k->back_crc = fx_crc32c(0, map, bytes, fx_cpu_detect());
		return FX_RC_OK;
	case FX_ELEM_MXFP8:
		if (k->bytes != bytes / 64 * 33) {
			fx_err("%s[%u] has %llu bytes of mxfp8, not %llu",
			       class_out(r)->name, instance, k->bytes, bytes / 64 * 33);
			return FX_RC_SYSTEM;
		}
		if (!fx_data_mxfp8(map, bytes / 2, instance, r->scratch, &e)) {
			fx_err("%s[%u]: element %zu is off by %.3f of what mxfp8 may be",
			       class_out(r)->name, instance, e.at, e.worst);
			return FX_RC_SYSTEM;
		}
		if (e.worst > r->worst)
			r->worst = e.worst;
		k->back_crc = fx_crc32c(0, r->scratch, bytes, fx_cpu_detect());
		return FX_RC_OK;
	}
	fx_err("%s[%u] arrived as %s, which run cannot check", class_out(r)->name, instance,
	       fx_name(&fx_elements, k->element));
	return FX_RC_SYSTEM;
}

/* A destination, exported and mapped for the time of its checks. */
struct view {
	const void *map;
	u64 bytes;
	int fd;
};

static void look_away(const struct view *v)
{
	fx_unmap(v->fd, (void *)v->map, v->bytes, false);
	close(v->fd);
}

/* What must hold wherever it lies: its pages and its checksum. */
static enum fx_rc look(struct fx_run *r, const struct fx_completion *c,
		       const char *where, struct view *v)
{
	enum fx_rc rc;

	v->bytes = c->bytes_out;
	v->fd = fx_dev_export(r->dev, c->dst);
	if (v->fd < 0) {
		fx_err("the destination of edge %u cannot be exported: %s", c->edge,
		       strerror(-v->fd));
		return FX_RC_SYSTEM;
	}
	v->map = fx_map(v->fd, v->bytes, false);
	if (!v->map) {
		fx_err("the destination of edge %u cannot be mapped: %s", c->edge,
		       strerror(errno));
		close(v->fd);
		return FX_RC_SYSTEM;
	}
	rc = check_frames(r, v->map, v->bytes, c->place);
	if (rc == FX_RC_OK)
		rc = check_crc(r, v->map, c, where);
	if (rc != FX_RC_OK)
		look_away(v);
	return rc;
}

/**
 * fx_check_out() - an instance arrived where the policy wanted it
 * @r: run, r->kept[instance] is set
 * @instance: of the class that moves out
 * @c: its completion
 *
 * Return: FX_RC_OK if its pages, checksum and content are right.
 */
enum fx_rc fx_check_out(struct fx_run *r, u32 instance, const struct fx_completion *c)
{
	struct view v;
	enum fx_rc rc = look(r, c, "at the destination", &v);

	if (rc != FX_RC_OK)
		return rc;
	rc = check_content(r, instance, v.map);
	look_away(&v);
	r->checked_out += rc == FX_RC_OK;
	return rc;
}

/**
 * fx_check_back() - an instance came back as it was, or as it was quantized
 * @r: run
 * @instance: of the class that moved out
 * @c: completion of the edge that brought it back; its buffer is given up here
 *
 * Return: FX_RC_OK if every byte is right.
 */
enum fx_rc fx_check_back(struct fx_run *r, u32 instance, const struct fx_completion *c)
{
	u64 bytes = r->edges[class_out(r)->first + instance].bytes;
	u32 crc = r->kept[instance].back_crc;
	struct view v;
	enum fx_rc rc = look(r, c, "back", &v);

	if (rc != FX_RC_OK)
		return rc;
	look_away(&v);
	fx_dev_free(r->dev, c->dst);
	if (c->bytes_out != bytes || c->csum != crc) {
		fx_err("%s[%u] did not come back as it was: %llu bytes of %llu, checksum %08x of %08x",
		       class_out(r)->name, instance, c->bytes_out, bytes, c->csum,
		       crc);
		return FX_RC_SYSTEM;
	}
	r->checked_back++;
	return FX_RC_OK;
}

/**
 * fx_check_stranger() - a device that is no place may not attach
 * @r: run, with a stranger
 * @dmabuf: tagged buffer
 * @bytes: its size
 *
 * In an audit it attaches all the same.
 *
 * Return: FX_RC_OK if it was refused with EACCES and left no attachment.
 */
enum fx_rc fx_check_stranger(struct fx_run *r, int dmabuf, u64 bytes)
{
	int before = fx_attachments(), after, err;

	err = fx_v4l2_import(r->opt->stranger, dmabuf, bytes);
	after = fx_attachments();
	if (before < 0 || after < 0) {
		fx_err("/sys/kernel/debug/dma_buf/bufinfo cannot be read: %s; mount debugfs",
		       strerror(before < 0 ? -before : -after));
		return FX_RC_SYSTEM;
	}
	if (!err && fx_run_audits(r))
		return FX_RC_OK;
	if (!err)
		fx_err("%s is no place of graph '%s' and was not refused with EACCES, but let in",
		       r->opt->stranger, r->opt->graph);
	else if (err != -EACCES)
		fx_err("%s is no place of graph '%s' and was not refused with EACCES: %s",
		       r->opt->stranger, r->opt->graph, strerror(-err));
	else if (before != after)
		fx_err("%s was refused and left %d attachments behind", r->opt->stranger,
		       after - before);
	else
		r->refused_checked++;
	return err == -EACCES && before == after ? FX_RC_OK : FX_RC_SYSTEM;
}

/* ---- counters and events ---------------------------------------------- */

static void on_events(const struct fx_nl_events *m, void *arg)
{
	struct fx_run *r = arg;

	if (strcmp(m->graph, r->opt->graph))
		return;
	for (u32 i = 0; i < m->n; i++) {
		if (m->ev[i].seq < r->before.graph.emitted)
			continue;	/* of before this run */
		r->received++;
		r->moves_seen += m->ev[i].type == FX_EV_MOVE;
	}
}

/* Take what is there, without waiting. */
void fx_run_read_events(struct fx_run *r)
{
	struct pollfd fd = { .fd = fx_nl_fd(r->events_nl), .events = POLLIN };

	while (poll(&fd, 1, 0) > 0)
		if (fx_nl_events_read(r->events_nl, on_events, r))
			break;
}

static enum fx_rc check_events(struct fx_run *r, u64 moves)
{
	u64 emitted = r->after.graph.emitted - r->before.graph.emitted;
	u64 lost = r->after.graph.lost - r->before.graph.lost;

	for (int ms = 0; r->received + lost < emitted && ms < EVENTS_WAIT_MS; ms += 10) {
		nanosleep(&(struct timespec){ .tv_nsec = 10000000 }, NULL);
		fx_run_read_events(r);
	}
	if (!lost && r->received == emitted && r->moves_seen == moves)
		return FX_RC_OK;
	fx_err("events of graph '%s': %llu emitted, %llu received and %llu lost; %llu of %llu moves among them",
	       r->opt->graph, emitted, r->received, lost, r->moves_seen, moves);
	return FX_RC_SYSTEM;
}

/* What the module counted since the run began. */
static enum fx_rc check_class(const struct fx_run *r, u32 cls)
{
	const struct fx_nl_class *b = &r->before.cls[cls], *a = &r->after.cls[cls];
	u64 moves = 0, in = 0, out = 0;

	for (u32 i = 0; i < r->n_row; i++) {
		if (r->row[i].cls != cls)
			continue;
		moves += r->row[i].moves;
		in += r->row[i].bytes_in;
		out += r->row[i].bytes_out;
	}
	if (a->moves - b->moves == moves && a->bytes_in - b->bytes_in == in &&
	    a->bytes_out - b->bytes_out == out && a->failed == b->failed)
		return FX_RC_OK;
	fx_err("class '%s' counted %llu moves, %llu bytes in, %llu out, %llu failed; %llu, %llu, %llu and 0 were submitted",
	       b->desc.name, a->moves - b->moves, a->bytes_in - b->bytes_in,
	       a->bytes_out - b->bytes_out, a->failed - b->failed, moves, in, out);
	return FX_RC_SYSTEM;
}

/**
 * fx_check_totals() - counters and events agree with what was submitted
 * @r: run, with both tables
 *
 * Return: FX_RC_OK if nothing is missing and nothing is too much.
 */
enum fx_rc fx_check_totals(struct fx_run *r)
{
	const struct fx_tables *b = &r->before, *a = &r->after;
	enum fx_rc rc = FX_RC_OK;
	u64 moves = 0;

	if (a->n_class != b->n_class ||
	    memcmp(a->graph.digest, b->graph.digest, sizeof(b->graph.digest))) {
		fx_err("graph '%s' was replaced during the run, so nothing can be said of its counters; run again",
		       r->opt->graph);
		return FX_RC_SYSTEM;
	}
	for (u32 i = 0; i < r->before.n_class && rc == FX_RC_OK; i++)
		rc = check_class(r, i);
	for (u32 i = 0; i < r->n_row; i++)
		moves += r->row[i].moves;
	return rc == FX_RC_OK ? check_events(r, moves) : rc;
}
