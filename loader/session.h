/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A policy in force: from a bundle to an attached, perhaps pinned, link. */
#ifndef FX_SESSION_H
#define FX_SESSION_H

#include "bundle.h"
#include "cmd.h"
#include "netlink.h"
#include "types.h"

struct fx_session_options {
	bool pin;		/* outlive this process */
	bool replace;		/* swap the pinned policy of the graph */
	bool repair;		/* mend what is pinned and no longer in force */
	bool audit;		/* record verdicts without enforcing them */
	bool verbose;		/* print libbpf's and the verifier's log */
};

struct fx_pins;
struct fx_session;

/**
 * fx_session_attach() - put a bundle's policy in force
 * @bundle: opened; borrowed until fx_session_close()
 * @opt: how
 * @out: the session; NULL unless FX_RC_OK is returned
 *
 * Whatever fails, everything that was done is undone first.
 *
 * Return: FX_RC_OK; FX_RC_INPUT or FX_RC_SYSTEM after one sentence.
 */
enum fx_rc fx_session_attach(const struct fx_bundle *bundle,
			     const struct fx_session_options *opt,
			     struct fx_session **out);

/**
 * fx_session_close() - let go of it
 * @s: session, or NULL
 *
 * Ends the policy and removes the graph, unless they are pinned.
 */
void fx_session_close(struct fx_session *s);

struct fx_nl *fx_session_nl(struct fx_session *s);
/* The policy's name; NULL after a repair that had nothing to do. */
const char *fx_session_policy(const struct fx_session *s);
/* After a repair: what was mended, "kernel", "nic NETDEV", "dpu NAME" or "agent". */
struct fx_words;
void fx_session_repaired(const struct fx_session *s, struct fx_words *names);

/**
 * fx_session_detach() - end the pinned policy of a graph, remove the graph
 * @graph: its name
 */
enum fx_rc fx_session_detach(const char *graph);

/**
 * fx_session_unpin() - remove all that is pinned for a graph
 * @graph: its name
 * @pins: the graph's, locked
 *
 * Its agent ends with it: one that does not is killed, as it would keep the maps.
 * Return: FX_RC_OK; FX_RC_SYSTEM after one sentence.
 */
enum fx_rc fx_session_unpin(const char *graph, struct fx_pins *pins);

/* What a request about a graph the user named comes to: 0 or -errno. */
enum fx_rc fx_session_rc(int err);

/* The one sentence about a graph that is not there, or what else went wrong. */
void fx_session_no_graph(struct fx_nl *nl, const char *graph, int err);

#endif /* FX_SESSION_H */
