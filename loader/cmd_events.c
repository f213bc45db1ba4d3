// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* fabricctl events: what graphs and their policies do, as it happens. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cmd.h"
#include "diag.h"
#include "dpus.h"
#include "json.h"
#include "netlink.h"
#include "nic.h"
#include "nic_events.h"
#include "pins.h"
#include "rows.h"
#include "session.h"
#include "system.h"
#include "util.h"

struct config {
	const char *graph;
	u64 count;		/* 0: no limit */
	u64 timeout;		/* ns; 0: none */
};

/* Where we stand in one graph's sequence. */
struct source {
	char *graph;
	u64 next;		/* sequence number expected next */
	bool named;		/* reading the tables was tried */
	struct fx_tables tables;	/* of names; empty: there are numbers */
};

struct stream {
	const struct config *config;
	struct fx_nl *nl, *ask;		/* NULL: no module has to do with it */
	struct fx_nic_watch *nics;
	struct source *source;
	u32 n, cap;
	u64 received;
	u64 lost;		/* gaps in the sequence numbers */
};

static struct source *source_of(struct stream *s, const char *graph, u64 seq)
{
	for (u32 i = 0; i < s->n; i++)
		if (!strcmp(s->source[i].graph, graph))
			return &s->source[i];
	fx_grow(s->source, s->n, s->cap);
	s->source[s->n] = (struct source){
		.graph = fx_strdup(graph), .next = seq,
	};
	return &s->source[s->n++];
}

/* Begin each graph's sequence where it stands now. */
static void add_source(const void *row, void *arg)
{
	const struct fx_nl_graph *g = row;

	source_of(arg, g->name, g->emitted);
}

/* Once per graph, and when another of its name sends: a lower number tells. */
static void know_names(struct stream *s, struct source *src, bool anew)
{
	if (src->named && !anew)
		return;
	fx_tables_free(&src->tables);
	fx_tables_read_names(s->ask, src->graph, &src->tables);
	src->named = true;
}

static bool enough(const struct stream *s)
{
	return s->config->count && s->received >= s->config->count;
}

static void on_message(const struct fx_nl_events *msg, void *arg)
{
	struct stream *s = arg;
	struct source *src;

	if (s->config->graph && strcmp(s->config->graph, msg->graph))
		return;
	for (u32 i = 0; i < msg->n && !enough(s); i++) {
		const struct fx_event *ev = &msg->ev[i];

		src = source_of(s, msg->graph, ev->seq);
		/* from before we asked, or the graph was loaded anew */
		if (ev->seq > src->next)
			s->lost += ev->seq - src->next;
		know_names(s, src, ev->seq < src->next);
		src->next = ev->seq + 1;
		s->received++;
		if (fx_json_mode)
			fx_json_line(fx_event_json(ev, msg->graph, &src->tables));
		else
			fx_event_print(ev, msg->graph, &src->tables);
	}
	fflush(stdout);
}

static u64 now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (u64)t.tv_sec * 1000000000 + (u64)t.tv_nsec;
}

/* Milliseconds for poll() until the end: -1 never, rounded up. */
static int left_ms(const struct config *c, u64 start)
{
	u64 gone = now_ns() - start;

	if (!c->timeout)
		return -1;
	return gone >= c->timeout ? 0 : (int)((c->timeout - gone + 999999) / 1000000);
}

static void on_nic(const struct fx_nic_event *e, void *arg)
{
	struct stream *s = arg;

	if (enough(s))
		return;
	s->received++;
	fx_nic_event_print(e);
	fflush(stdout);
}

/* Devices are looked at in between: they do not call. */
static int wait_ms(const struct config *c, u64 start)
{
	int left = left_ms(c, start);

	return left < 0 || left > FX_NIC_EVENTS_MS ? FX_NIC_EVENTS_MS : left;
}

static enum fx_rc follow(struct stream *s, int signals)
{
	struct pollfd fds[] = {
		{ .fd = signals, .events = POLLIN },
		{ .fd = s->nl ? fx_nl_fd(s->nl) : -1, .events = POLLIN },
	};
	u64 start = now_ns();
	bool stop = false;
	int err, n;

	while (!enough(s) && !stop && !ferror(stdout)) {
		n = poll(fds, ARRAY_SIZE(fds), wait_ms(s->config, start));
		if (n < 0 && errno != EINTR) {
			fx_err("waiting failed: %s", strerror(errno));
			return FX_RC_SYSTEM;
		}
		stop = !left_ms(s->config, start) || (n > 0 && fds[0].revents);
		if (n > 0 && fds[1].revents) {
			err = fx_nl_events_read(s->nl, on_message, s);
			/* overflow: what comes next shows how many are missing */
			if (err && err != -ENOBUFS && err != -EINTR) {
				fx_err("events cannot be read: %s", fx_nl_why(s->nl));
				return FX_RC_SYSTEM;
			}
		}
		if (fx_nic_watch_look(s->nics, on_nic, s))
			return FX_RC_SYSTEM;
	}
	return FX_RC_OK;
}

/* Is what was asked for on network devices, whatever the module knows of it? */
static bool on_devices(const struct config *c)
{
	struct fx_words graphs = { 0 };
	bool any;

	if (c->graph)
		return fx_nics_pinned(c->graph) || fx_dpus_pinned(c->graph);
	fx_pins_list_graphs(&graphs);
	any = graphs.n;
	fx_words_free(&graphs);
	return any;
}

/* Begin where the module's graphs stand. */
static enum fx_rc subscribe(struct stream *s)
{
	const struct config *c = s->config;
	struct fx_nl_graph *g;
	int err;

	if (!fx_sys_module() && on_devices(c))
		return FX_RC_OK;
	s->ask = fx_nl_open();
	s->nl = s->ask ? fx_nl_open() : NULL;
	if (!s->nl)
		return FX_RC_SYSTEM;
	err = fx_nl_subscribe(s->nl);
	if (err) {
		fx_err("events cannot be received: %s", fx_nl_why(s->nl));
		return FX_RC_SYSTEM;
	}
	if (!c->graph) {
		if (!fx_nl_dump(s->ask, FX_CMD_GRAPH_GET, NULL, add_source, s))
			return FX_RC_OK;
		fx_err("the loaded graphs cannot be read: %s", fx_nl_why(s->ask));
		return FX_RC_SYSTEM;
	}
	g = fx_alloc(sizeof(*g));
	err = fx_nl_graph_get(s->ask, c->graph, g);
	if (!err)
		add_source(g, s);
	free(g);
	if (!err || (err == -ENOENT && on_devices(c)))
		return FX_RC_OK;
	fx_session_no_graph(s->ask, c->graph, err);
	return fx_session_rc(err);
}

static enum fx_rc run(const void *config)
{
	const struct config *c = config;
	struct stream s = { .config = c };
	enum fx_rc rc = FX_RC_SYSTEM;
	int signals;

	/* before anything waits, so that a signal ends us with the totals */
	signals = fx_sys_signals(false);
	if (signals < 0)
		return rc;
	rc = subscribe(&s);
	if (rc != FX_RC_OK)
		goto out;
	s.nics = fx_nic_watch_new(c->graph);
	for (u32 i = 0; i < s.n; i++)
		know_names(&s, &s.source[i], false);
	rc = follow(&s, signals);
	fprintf(stderr, "events: %llu received, %llu lost\n", s.received, s.lost);
out:
	for (u32 i = 0; i < s.n; i++) {
		free(s.source[i].graph);
		fx_tables_free(&s.source[i].tables);
	}
	free(s.source);
	fx_nic_watch_free(s.nics);
	fx_nl_close(s.nl);
	fx_nl_close(s.ask);
	close(signals);
	return rc;
}

static const struct fx_operand operands[] = {
	{ "GRAPH", "only its events", offsetof(struct config, graph),
	  .optional = true },
	{ }
};

static const struct fx_option options[] = {
	{ "count", 'n', FX_OPT_NUMBER, .value = "N", .help = "end after N events",
	  .at = offsetof(struct config, count), .min = 1 },
	{ "timeout", 't', FX_OPT_TIME, .value = "TIME",
	  .help = "end after this time, such as 10s",
	  .at = offsetof(struct config, timeout), .min = 1000000,
	  .max = 86400ULL * 1000000000 },
	{ }
};

const struct fx_command fx_cmd_events = {
	.name = "events",
	.summary = "follow what graphs and policies do",
	.details =
	"One line per event (-j: one JSON object per line) until a signal, --count or\n"
	"--timeout; then, on standard error, how many were received and lost. What\n"
	"network devices counted within 100 ms is one event per edge and verdict.\n",
	.operands = operands,
	.options = options,
	.config_size = sizeof(struct config),
	.run = run,
};
