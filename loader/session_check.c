// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What must be there, and what must not, before anything is put in force. */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "diag.h"
#include "dpus.h"
#include "nic.h"
#include "owner.h"
#include "pins.h"
#include "session_int.h"
#include "system.h"
#include "util.h"

#define MODULE_BTF	"/sys/kernel/btf/fabric_ext"

enum fx_rc fx_session_check_system(bool module)
{
	struct fx_words missing = { 0 };
	enum fx_rc rc = FX_RC_SYSTEM;
	char *text;
	u64 caps;

	if (module && !fx_sys_exists(MODULE_BTF)) {
		fx_err("the module has no BTF (" MODULE_BTF "), so no policy can be attached; build it where the kernel's headers have vmlinux and resolve_btfids, with pahole installed");
		return FX_RC_SYSTEM;
	}
	if (!fx_sys_caps(&caps)) {
		fx_err("/proc/self/status does not tell this process' capabilities; mount /proc");
		return FX_RC_SYSTEM;
	}
	for (u32 i = 0; i < fx_n_caps_needed; i++)
		if (!(caps >> fx_caps_needed[i].bit & 1))
			fx_words_add(&missing, fx_caps_needed[i].name);
	text = fx_words_text(&missing, fx_n_caps_needed);
	if (missing.n)
		fx_err("attaching needs %s, which this process lacks; run it as root",
		       text);
	else if (!fx_sys_initial_userns())
		fx_err("attaching needs its capabilities in the initial user namespace; run it outside the container");
	else
		rc = FX_RC_OK;
	free(text);
	fx_words_free(&missing);
	return rc;
}

/* What another process holds ends with that, and can be neither swapped nor mended. */
static enum fx_rc check_owner(const struct fx_session *s)
{
	if (fx_owner_of(fx_session_graph(s)) == FX_HOLDER_NONE)
		return FX_RC_OK;
	fx_err("the policy of graph '%s' is not pinned, it ends with the process that attached it; end that, then attach%s",
	       fx_session_graph(s), s->opt.replace ? " without --replace" :
	       s->opt.repair ? " without --repair" : "");
	return FX_RC_INPUT;
}

/* What is on devices already is there to be replaced or mended, or in the way. */
static enum fx_rc check_nics(struct fx_session *s)
{
	bool pinned = fx_nics_pinned(fx_session_graph(s));

	if (s->opt.repair)
		return fx_nics_check_repair(s->bundle);
	if (s->opt.replace && s->bundle->n_nic && !pinned) {
		fx_err("graph '%s' has no pinned programs on network devices to replace; attach without --replace",
		       fx_session_graph(s));
		return FX_RC_INPUT;
	}
	if (s->opt.replace)
		return fx_nics_check_replace(s->bundle);
	if (!pinned)
		return FX_RC_OK;
	fx_err("graph '%s' already has programs on network devices; attach --replace swaps them, --repair mends what ended, `fabricctl detach %s` takes them off",
	       fx_session_graph(s), fx_session_graph(s));
	return FX_RC_INPUT;
}

/* The same on DPUs. */
static enum fx_rc check_dpus(struct fx_session *s)
{
	bool pinned = fx_dpus_pinned(fx_session_graph(s));

	if (s->opt.repair)
		return fx_dpus_check_repair(s->bundle);
	if (s->opt.replace)
		return fx_dpus_check_replace(s->bundle);
	if (!pinned)
		return FX_RC_OK;
	fx_err("graph '%s' already has a policy on DPUs; attach --replace swaps it, `fabricctl detach %s` takes it off",
	       fx_session_graph(s), fx_session_graph(s));
	return FX_RC_INPUT;
}

/*
 * What is pinned for the graph before a plain attach: nothing, what a policy that
 * ended has left, or one that is in force. Only get_graph() tells the last two
 * apart, and without a part for the module it is not asked.
 */
static enum fx_rc check_pins(struct fx_session *s)
{
	int link;

	if (s->opt.repair || s->opt.replace || !s->pins)
		return FX_RC_OK;
	if (fx_pins_empty(s->pins)) {
		s->ours = true;
		return FX_RC_OK;
	}
	/* nor may what is pinned end with this process */
	if (s->bundle->object && !s->owns)
		return FX_RC_OK;
	link = fx_pins_link(s->pins);
	if (link >= 0)
		close(link);
	if (link != -ENOENT) {
		fx_err("graph '%s' has a pinned policy in the module%s; `fabricctl detach %s`, then attach",
		       fx_session_graph(s), s->bundle->object ? "" :
		       ", and the bundle has no part for that", fx_session_graph(s));
		return FX_RC_INPUT;
	}
	s->ours = true;
	return FX_RC_OK;
}

enum fx_rc fx_session_check_graph(struct fx_session *s)
{
	enum fx_rc rc = check_owner(s);

	if (rc == FX_RC_OK)
		rc = check_nics(s);
	if (rc == FX_RC_OK)
		rc = check_dpus(s);
	if (rc == FX_RC_OK && s->opt.repair && s->pins)
		rc = fx_session_check_pinned(s);
	return rc == FX_RC_OK ? check_pins(s) : rc;
}
