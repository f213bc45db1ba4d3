/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A session while it is worked on: between the session*.c. */
#ifndef FX_SESSION_INT_H
#define FX_SESSION_INT_H

#include "pins.h"
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
	bool was_bypassed;		/* the module's policy, when this began */
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

/* ---- session_pinned.c: what is pinned of the module's part, and what runs ---- */

/* A map beside the policy's own, so that what lies there says whose it is. */
struct fx_kernel_conf {
	u32 flags;			/* FX_POLICY_F_AUDIT */
	u32 ops;			/* ID of its struct_ops map */
	u8 object[FX_DIGEST_LEN];	/* SHA-256 of the ELF file */
	char policy[FX_NAME_LEN];
};

/* flags of struct fabric_ext_ops: record verdicts, do not enforce them */
#define FX_POLICY_F_AUDIT	(1ULL << 0)

#define FX_KERNEL_NEXT	"next"	/* a replacement's, until its maps and programs count */

/* Write it below @sub, when the object is pinned there: FX_RC_OK, FX_RC_SYSTEM. */
enum fx_rc fx_session_write_conf(const struct fx_session *s, const char *sub);
/* Is it the bundle's that lies below @sub, "" or FX_KERNEL_NEXT? */
bool fx_session_is_bundles(const struct fx_session *s, const char *sub,
			   struct fx_kernel_conf *conf);
/*
 * Where the policy that the pinned link runs is pinned: "", FX_KERNEL_NEXT when a
 * replacement was killed in between; NULL when neither is it, or there is no link.
 */
const char *fx_session_running(const struct fx_session *s);
/* What a repair is to mend is the bundle's: FX_RC_OK; FX_RC_INPUT after one sentence. */
enum fx_rc fx_session_check_pinned(const struct fx_session *s);

#endif /* FX_SESSION_INT_H */
