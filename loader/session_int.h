/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A session while it is worked on: between the session*.c. */
#ifndef FX_SESSION_INT_H
#define FX_SESSION_INT_H

#include "session.h"

struct bpf_link;
struct bpf_map;
struct bpf_object;
struct fx_dpus;
struct fx_maps;
struct fx_nics;

struct fx_session {
	const struct fx_bundle *bundle;
	struct fx_session_options opt;
	struct fx_nl *nl;
	struct fx_pins *pins;
	struct bpf_object *obj;
	struct bpf_map *map;		/* the ops */
	struct bpf_link *link;		/* NULL when another process' was updated */
	struct fx_nics *nics;		/* NULL without network devices */
	struct fx_maps *maps;		/* that devices share */
	struct fx_dpus *dpus;		/* NULL without DPUs */
	char *policy;			/* the ops' name */
	bool loaded;			/* the graph is there for us to remove */
	enum fx_rc unsettled;		/* of a DPU that took the new policy, and then failed */
	bool kernel_repaired;
	bool agent_started;
	bool ours;			/* the pins are this attach's to remove */
	bool owns;			/* on devices, and not to outlive this process */
	int owner;			/* holds the pins then, or -1 */
};

static inline const char *fx_session_graph(const struct fx_session *s)
{
	return s->bundle->image.hdr->name;
}

/* All below return FX_RC_OK; FX_RC_INPUT or FX_RC_SYSTEM after one sentence. */

/* session_check.c: may this process attach, @module: also to the module? */
enum fx_rc fx_session_check_system(bool module);
/* Does what is there of the graph, pinned or not, let it be attached this way? */
enum fx_rc fx_session_check_graph(struct fx_session *s);

/* session_kernel.c: all of the part for the module, if there is one. */
enum fx_rc fx_session_attach_kernel(struct fx_session *s);
/* Attach it again when its policy ended or is not there. */
enum fx_rc fx_session_repair_kernel(struct fx_session *s);

#endif /* FX_SESSION_INT_H */
