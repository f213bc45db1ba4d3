// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* fabricctl attach: put a bundle's policy in force. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bundle.h"
#include "cmd.h"
#include "devices.h"
#include "diag.h"
#include "json.h"
#include "names.h"
#include "rows.h"
#include "session.h"
#include "system.h"
#include "util.h"

struct config {
	const char *bundle;
	struct fx_session_options opt;
	char **command;
};

/* What the foreground waits for. */
struct watch {
	const char *graph;
	struct fx_session *session;
	struct fx_nl *events;
	int signals;
	pid_t child;		/* 0: none, or no more */
	int status;		/* of the child, as a shell gives it */
	bool ended;		/* the policy ended on its own */
	bool stop;
};

static void tell_repair(const struct fx_session *s, const char *graph)
{
	struct json_object *o, *list;
	struct fx_words names = { 0 };
	char *text;

	fx_session_repaired(s, &names);
	text = fx_words_text(&names, names.n);
	if (names.n)
		fx_info("graph '%s': the policy is in force again on %s", graph, text);
	else
		fx_info("graph '%s' is well, there is nothing to repair", graph);
	free(text);
	if (fx_json_mode) {
		o = fx_json_object();
		list = fx_json_array();
		for (u32 i = 0; i < names.n; i++)
			fx_json_add_str(list, names.word[i]);
		fx_json_str(o, "graph", graph);
		fx_json_put(o, "repaired", list);
		fx_json_print(o);
	}
	fx_words_free(&names);
}

static void tell(struct fx_session *s, const char *graph, const struct config *c)
{
	struct fx_nl_graph *g = fx_alloc(sizeof(*g));
	struct json_object *o;
	u64 not_hooked = 0;
	char *missing;

	fx_info("policy '%s' %s graph '%s'%s%s", fx_session_policy(s),
		c->opt.replace ? "replaced the one of" : "is attached to", graph,
		c->opt.audit ? ", it records and does not enforce" : "",
		c->opt.pin || c->opt.replace ? "; it is pinned" :
		c->command ? "" : "; it ends with this command (Ctrl-C)");
	if (fx_session_nl(s) && !fx_nl_graph_get(fx_session_nl(s), graph, g))
		not_hooked = g->missing;
	free(g);
	if (not_hooked) {
		missing = fx_ops_text(not_hooked);
		fprintf(stderr, "fabricctl: note: this kernel has no hook for %s, so the policy is not asked about that\n",
			missing);
		free(missing);
	}
	if (!fx_json_mode)
		return;
	o = fx_json_object();
	fx_json_str(o, "graph", graph);
	fx_json_str(o, "policy", fx_session_policy(s));
	fx_json_bool(o, "audit", c->opt.audit);
	fx_json_bool(o, "pinned", c->opt.pin || c->opt.replace);
	fx_json_bool(o, "replaced", c->opt.replace);
	fx_json_put(o, "not_hooked", fx_ops_json(not_hooked));
	fx_json_print(o);
	fflush(stdout);
}

/* ---- in the foreground ------------------------------------------------ */

/* Has the policy ended? Then say why; its descendants cannot. */
static void check_policy(struct watch *w)
{
	struct fx_nl_graph *g = fx_alloc(sizeof(*g));
	int err = fx_nl_graph_get(fx_session_nl(w->session), w->graph, g);

	if (err || (g->flags & FX_GRAPH_F_ATTACHED &&
		    !(g->flags & FX_GRAPH_F_BYPASS)))
		goto out;
	w->ended = true;
	fx_err("policy '%s' of graph '%s' ended: %s%s%s",
	       fx_session_policy(w->session), w->graph,
	       fx_name(&fx_exits, g->exit_kind), g->exit_msg[0] ? ": " : "",
	       g->exit_msg);
	if (g->exit_dump[0])
		fprintf(stderr, "%s%s", g->exit_dump,
			g->exit_dump[strlen(g->exit_dump) - 1] == '\n' ? "" : "\n");
out:
	free(g);
}

static void on_events(const struct fx_nl_events *msg, void *arg)
{
	struct watch *w = arg;

	if (strcmp(msg->graph, w->graph))
		return;
	for (u32 i = 0; i < msg->n && !w->ended; i++)
		if (msg->ev[i].type == FX_EV_EJECT)
			check_policy(w);
}

static void reap(struct watch *w)
{
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
		if (pid != w->child)
			continue;
		w->child = 0;
		w->status = WIFEXITED(status) ? WEXITSTATUS(status) :
						128 + WTERMSIG(status);
		w->stop = true;
	}
}

static void on_signal(struct watch *w)
{
	struct signalfd_siginfo si;

	if (read(w->signals, &si, sizeof(si)) != (ssize_t)sizeof(si))
		return;
	if (si.ssi_signo == SIGCHLD)
		reap(w);
	else if (!w->child)
		w->stop = true;
	else if (si.ssi_signo == SIGTERM || si.ssi_signo == SIGHUP)
		kill(w->child, (int)si.ssi_signo);
	/* Ctrl-C reaches the command itself; we wait for what it makes of it */
}

static enum fx_rc start_command(struct watch *w, char **argv)
{
	pid_t pid = fork();

	if (pid < 0) {
		fx_err("'%s' cannot be started: %s", argv[0], strerror(errno));
		return FX_RC_SYSTEM;
	}
	if (!pid) {
		fx_sys_signals_default();
		execvp(argv[0], argv);
		fprintf(stderr, "fabricctl: '%s' cannot be started: %s\n",
			argv[0], strerror(errno));
		_exit(errno == ENOENT ? 127 : 126);
	}
	w->child = pid;
	return FX_RC_OK;
}

/* Hear of the policy's end; one on network devices alone does not end itself. */
static enum fx_rc listen_events(struct watch *w)
{
	if (!fx_session_nl(w->session))
		return FX_RC_OK;
	w->events = fx_nl_open();
	if (!w->events)
		return FX_RC_SYSTEM;
	if (fx_nl_subscribe(w->events)) {
		fx_err("events cannot be received: %s", fx_nl_why(w->events));
		return FX_RC_SYSTEM;
	}
	/* what happened before we listened */
	check_policy(w);
	return w->ended ? FX_RC_SYSTEM : FX_RC_OK;
}

/* Until a signal, the end of the command, or the end of the policy. */
static enum fx_rc foreground(struct watch *w, char **argv)
{
	struct pollfd fds[2];
	enum fx_rc rc;
	int err;

	rc = listen_events(w);
	if (rc != FX_RC_OK)
		return rc;
	fds[0] = (struct pollfd){ .fd = w->signals, .events = POLLIN };
	/* poll() passes over a descriptor below 0 */
	fds[1] = (struct pollfd){ .fd = w->events ? fx_nl_fd(w->events) : -1,
				  .events = POLLIN };
	while (argv && !w->stop && poll(fds, 1, 0) > 0)
		on_signal(w);
	if (argv && w->stop) {
		fx_err("'%s' was not started: a signal came before it", argv[0]);
		return FX_RC_SYSTEM;
	}
	rc = argv ? start_command(w, argv) : FX_RC_OK;
	if (rc != FX_RC_OK)
		return rc;

	while (!w->stop) {
		if (poll(fds, 2, -1) < 0 && errno != EINTR) {
			fx_err("waiting failed: %s", strerror(errno));
			return FX_RC_SYSTEM;
		}
		if (fds[0].revents)
			on_signal(w);
		if (!fds[1].revents)
			continue;
		err = fx_nl_events_read(w->events, on_events, w);
		if (err == -ENOBUFS && !w->ended)
			check_policy(w);
		/* nothing is left to wait for without a command */
		if (w->ended && !w->child)
			w->stop = true;
	}
	if (w->status)
		return (enum fx_rc)w->status;
	return w->ended ? FX_RC_SYSTEM : FX_RC_OK;
}

static enum fx_rc run(const void *config)
{
	const struct config *c = config;
	struct fx_session *s = NULL;
	struct fx_bundle bundle;
	struct watch w = { .signals = -1 };
	enum fx_rc rc;

	const bool pinned = c->opt.pin || c->opt.replace || c->opt.repair;

	if (c->command && pinned) {
		fx_err("a pinned policy does not end with a command: leave out --pin, --replace and --repair, or -- %s",
		       c->command[0]);
		return FX_RC_INPUT;
	}
	if (c->opt.replace && c->opt.repair) {
		fx_err("--replace puts another policy in place and --repair mends the one that is there; give one of them");
		return FX_RC_INPUT;
	}
	rc = fx_bundle_open(c->bundle, &bundle);
	if (rc != FX_RC_OK)
		return rc;
	if (!fx_devices_attach(&bundle)) {
		fx_bundle_close(&bundle);
		return FX_RC_INPUT;
	}
	/* from here on they wait: no graph or half of the pins stays behind */
	rc = FX_RC_SYSTEM;
	w.signals = fx_sys_signals(c->command);
	if (w.signals < 0)
		goto out;
	rc = fx_session_attach(&bundle, &c->opt, &s);
	if (rc != FX_RC_OK)
		goto out;
	if (c->opt.repair)
		tell_repair(s, bundle.image.hdr->name);
	else
		tell(s, bundle.image.hdr->name, c);
	if (!pinned) {
		w.graph = bundle.image.hdr->name;
		w.session = s;
		rc = foreground(&w, c->command);
		fx_nl_close(w.events);
	}
out:
	if (w.signals >= 0)
		close(w.signals);
	fx_session_close(s);
	fx_bundle_close(&bundle);
	return rc;
}

static const struct fx_operand operands[] = {
	{ "BUNDLE", "directory that `fabricctl compile` wrote",
	  offsetof(struct config, bundle) },
	{ }
};

static const struct fx_option options[] = {
	{ "pin", 'p', FX_OPT_FLAG, .help = "keep the policy when this command ends",
	  .at = offsetof(struct config, opt.pin) },
	{ "replace", 'r', FX_OPT_FLAG, .help = "swap the pinned policy of the graph",
	  .at = offsetof(struct config, opt.replace) },
	{ "repair", 'R', FX_OPT_FLAG,
	  .help = "put the pinned policy in force again where it no longer is",
	  .at = offsetof(struct config, opt.repair) },
	{ "audit", 'a', FX_OPT_FLAG,
	  .help = "record what would be refused, refuse nothing",
	  .at = offsetof(struct config, opt.audit) },
	{ "verbose", 'v', FX_OPT_FLAG, .help = "print the verifier's whole log",
	  .at = offsetof(struct config, opt.verbose) },
	{ }
};

const struct fx_command fx_cmd_attach = {
	.name = "attach",
	.summary = "load a bundle's graph and put its policy in force",
	.details =
	"Without --pin the policy is in force until this command ends: on SIGINT,\n"
	"SIGTERM or SIGHUP, or when CMD ends, whose exit status it returns. With --pin\n"
	"it stays until `fabricctl detach GRAPH`. One graph has one policy at a time.\n",
	.operands = operands,
	.options = options,
	.rest = "run it under the policy, which ends with it",
	.rest_at = offsetof(struct config, command),
	.config_size = sizeof(struct config),
	.run = run,
};
