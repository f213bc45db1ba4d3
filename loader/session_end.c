// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* fabricctl detach: the end of a pinned policy, wherever it is in force. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent.h"
#include "diag.h"
#include "dpus.h"
#include "nic.h"
#include "owner.h"
#include "pins.h"
#include "session.h"
#include "system.h"
#include "util.h"

#define AGENT_ENDS_MS	2000	/* it looks at its lock more often */

enum fx_rc fx_session_unpin(const char *graph, struct fx_pins *pins)
{
	int agent = fx_agent_grab(graph), err;
	enum fx_rc rc;

	rc = fx_pins_remove(pins);
	err = agent < 0 ? 0 : fx_agent_finish(agent, AGENT_ENDS_MS);
	if (err) {
		fx_err("the agent of graph '%s' does not end: %s", graph, strerror(-err));
		rc = FX_RC_SYSTEM;
	}
	return rc;
}

/* Off the devices, then no more pins. */
static enum fx_rc take_off(const char *graph, struct fx_pins *pins)
{
	enum fx_rc rc = fx_nics_detach(graph, pins);

	if (rc == FX_RC_OK)
		rc = fx_dpus_detach(graph);
	return rc == FX_RC_OK ? fx_session_unpin(graph, pins) : rc;
}

static bool is_held(const char *graph)
{
	if (fx_owner_of(graph) != FX_HOLDER_LIVES)
		return false;
	fx_err("the policy of graph '%s' belongs to the process that attached it: end that process, or `fabricctl bypass %s`",
	       graph, graph);
	return true;
}

static enum fx_rc detach(const char *graph)
{
	struct fx_nl_graph *g = fx_alloc(sizeof(*g));
	struct fx_pins *pins = NULL;
	struct fx_nl *nl = fx_nl_open();
	enum fx_rc rc = FX_RC_SYSTEM;
	int err;

	if (!nl)
		goto out;
	err = fx_nl_graph_get(nl, graph, g);
	if (err && err != -ENOENT) {
		fx_session_no_graph(nl, graph, err);
		goto out;
	}
	if (fx_pins_lock(graph, false, &pins) != FX_RC_OK)
		goto out;
	/* whom we waited for has attached or detached meanwhile */
	if (pins)
		err = fx_nl_graph_get(nl, graph, g);
	if (err && err != -ENOENT) {
		fx_session_no_graph(nl, graph, err);
		goto out;
	}
	if (err && !pins) {
		fx_session_no_graph(nl, graph, err);
		rc = FX_RC_INPUT;
		goto out;
	}
	if (!err && !pins && g->flags & FX_GRAPH_F_ATTACHED) {
		fx_err("policy '%s' of graph '%s' belongs to the process that attached it: end that process, or `fabricctl bypass %s`",
		       g->policy, graph, graph);
		rc = FX_RC_INPUT;
		goto out;
	}
	/* whom we waited for holds what it attached */
	if (pins && is_held(graph)) {
		rc = FX_RC_INPUT;
		goto out;
	}
	if (pins) {
		int lerr = fx_pins_end_link(pins);

		if (lerr) {
			fx_err("the pinned link of graph '%s' cannot be detached: %s",
			       graph, strerror(-lerr));
			goto out;
		}
		rc = take_off(graph, pins);
		if (rc != FX_RC_OK)
			goto out;
	}
	rc = FX_RC_OK;
	if (!err && fx_nl_remove(nl, graph)) {
		fx_err("graph '%s' cannot be removed: %s", graph, fx_nl_why(nl));
		rc = FX_RC_SYSTEM;
	}
out:
	fx_pins_unlock(pins);
	fx_nl_close(nl);
	free(g);
	return rc;
}

/* A graph without a part for the module, where there is none to ask. */
static enum fx_rc detach_alone(const char *graph)
{
	struct fx_pins *pins = NULL;
	enum fx_rc rc;

	rc = fx_pins_lock(graph, false, &pins);
	if (rc != FX_RC_OK)
		return rc;
	if (pins)
		rc = is_held(graph) ? FX_RC_INPUT : take_off(graph, pins);
	fx_pins_unlock(pins);
	return rc;
}

/*
 * Is all that there is of the graph without the module: whatever is pinned, down
 * to the empty directory that an attach or a detach which was killed has left?
 */
static bool is_alone(const char *graph)
{
	char *dir = fx_pins_dir(graph), *link = fx_asprintf("%s/link", dir);
	bool alone = fx_pins_is_ours(dir) && access(link, F_OK) && errno == ENOENT;

	free(link);
	free(dir);
	return alone || fx_nics_pinned(graph) || fx_dpus_pinned(graph);
}

enum fx_rc fx_session_detach(const char *graph)
{
	if (is_held(graph))
		return FX_RC_INPUT;
	if (!fx_sys_module() && is_alone(graph))
		return detach_alone(graph);
	return detach(graph);
}
