// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The agent's process: one per graph by a lock, and when it ends. */
#include <bpf/bpf.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent.h"
#include "diag.h"
#include "owner.h"
#include "pins.h"
#include "system.h"
#include "util.h"

#define START_TRIES	500		/* of 10 ms */

/* ---- the process ------------------------------------------------------- */

/* Which list of maps is pinned: another one after another attach; 0: none. */
static u32 generation(const struct fx_shared *s)
{
	struct bpf_map_info info = { 0 };
	u32 len = sizeof(info);
	int fd = fx_shared_get(s, "@maps");

	if (fd < 0)
		return 0;
	if (bpf_map_get_info_by_fd(fd, &info, &len))
		info.id = 0;
	close(fd);
	return info.id;
}

/* With the maps as they are now, until there are others or a signal comes. */
static enum fx_rc serve(const char *graph, struct fx_shared *s,
			struct fx_agent_life *life, int signals, bool *end)
{
	struct pollfd fd = { .fd = signals, .events = POLLIN };
	const u32 born = generation(s);
	struct fx_sync *y;
	int err;

	y = fx_sync_new(graph, s, life, &err);
	if (!y && err != -ENOENT) {
		fx_err("the maps of graph '%s' cannot be opened: %s", graph,
		       strerror(-err));
		return FX_RC_SYSTEM;
	}
	/* half of an attach, or of a detach: look again */
	while (y && born && generation(s) == born && !*end &&
	       fx_owner_of(graph) != FX_HOLDER_DIED) {
		fx_agent_life_beat(life);
		fx_sync_round(y);
		*end = poll(&fd, 1, fx_sync_interval_ms(y)) > 0;
	}
	if (!y)
		*end = poll(&fd, 1, 10) > 0;
	fx_sync_free(y);
	return FX_RC_OK;
}

static enum fx_rc run(const char *graph, struct fx_shared *s, int signals)
{
	struct fx_agent_life *life;
	enum fx_rc rc = FX_RC_OK;
	bool end = false;
	int err;

	err = fx_agent_life_begin(s, &life);
	if (err) {
		fx_err("graph '%s': %s", graph, err == -EBUSY ?
		       "its agent runs already" : strerror(-err));
		return err == -EBUSY ? FX_RC_INPUT : FX_RC_SYSTEM;
	}
	while (rc == FX_RC_OK && !end && !err) {
		/* detached; what is there by now has an agent of its own */
		end = !fx_agent_life_counts(life, s) ||
		      fx_owner_of(graph) == FX_HOLDER_DIED;
		if (!end)
			rc = serve(graph, s, life, signals, &end);
		if (end || rc != FX_RC_OK)
			break;
		fx_shared_close(s);
		err = fx_shared_open(graph, s);
		/* the list is between two names while it is replaced */
		if (err == -ENOENT && s->dir)
			err = 0;
		else if (err == -ENOENT)
			break;
		if (!err && !s->maps.n)
			fx_pause_ms(10);
	}
	fx_agent_life_end(life);
	fx_owner_sweep(graph);
	if (!err || err == -ENOENT)
		return rc;
	fx_err("the maps of graph '%s' cannot be read: %s", graph, strerror(-err));
	return FX_RC_SYSTEM;
}

enum fx_rc fx_agent_run(const char *graph)
{
	const struct fx_map_desc *none;
	struct fx_shared s;
	int signals = -1;
	enum fx_rc rc;

	rc = fx_shared_find(graph, NULL, &s, &none);
	if (rc == FX_RC_OK && !fx_agent_needed(&s)) {
		fx_info("the devices of graph '%s' share one memory: there is nothing to copy",
			graph);
		goto out;
	}
	if (rc == FX_RC_OK) {
		signals = fx_sys_signals(false);
		rc = signals < 0 ? FX_RC_SYSTEM : run(graph, &s, signals);
	}
out:
	if (signals >= 0)
		close(signals);
	fx_shared_close(&s);
	return rc;
}

/* ---- starting one ------------------------------------------------------ */

/* In a session of its own, as a child of nobody. */
static void become_agent(const char *graph)
{
	int null = open("/dev/null", O_RDWR);

	if (setsid() < 0 || null < 0)
		_exit(1);
	switch (fork()) {
	case 0:
		break;
	case -1:
		_exit(1);
	default:
		_exit(0);
	}
	for (int fd = 0; fd < 3; fd++)
		dup2(null, fd);
	if (chdir("/"))
		_exit(1);
	/* what the command has open, it has open; but no lock of it lives on */
	close_range(3, ~0U, 0);
	fx_sys_signals_default();
	execl("/proc/self/exe", "fabricctl", "agent", graph, NULL);
	_exit(1);
}

/* One that gives no sign of life any more makes room. */
static enum fx_rc end_hung(const char *graph)
{
	struct fx_agent_view v;
	int err;

	fx_agent_look(graph, &v);
	if (v.state != FX_AGENT_HANGS)
		return FX_RC_OK;
	err = fx_agent_finish(fx_agent_grab(graph), 0);
	/* it ended, or went on, in this moment */
	fx_agent_look(graph, &v);
	if (v.state != FX_AGENT_HANGS)
		return FX_RC_OK;
	fx_err("the agent of graph '%s', process %u, hangs and cannot be ended: %s",
	       graph, v.pid, err == -ESRCH ? "it is of another PID namespace" :
	       strerror(-err));
	return FX_RC_SYSTEM;
}

enum fx_rc fx_agent_start(const char *graph, bool *started)
{
	bool runs = true, start = false;
	enum fx_rc rc = FX_RC_OK;
	struct fx_shared s;
	int status = 0;
	pid_t pid;

	/* a graph without maps, or the maps of which are no one else's */
	if (fx_shared_open(graph, &s) || !fx_agent_needed(&s))
		goto out;
	rc = end_hung(graph);
	if (rc != FX_RC_OK || fx_agent_runs(&s))
		goto out;
	start = true;
	pid = fork();
	if (!pid)
		become_agent(graph);
	runs = pid > 0 && waitpid(pid, &status, 0) == pid && !status;
	for (u32 i = 0; runs && !fx_agent_runs(&s); i++) {
		fx_pause_ms(10);
		runs = i < START_TRIES;
	}
	if (!runs) {
		fx_err("the agent of graph '%s' does not start; `fabricctl agent %s` says why",
		       graph, graph);
		rc = FX_RC_SYSTEM;
	}
out:
	if (started)
		*started = start && rc == FX_RC_OK;
	fx_shared_close(&s);
	return rc;
}
