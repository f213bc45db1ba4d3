// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* A bundle's policy on all of its devices, or on none. */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent.h"
#include "bpflog.h"
#include "diag.h"
#include "dpus.h"
#include "maps.h"
#include "nic.h"
#include "owner.h"
#include "pins.h"
#include "session_int.h"
#include "system.h"
#include "util.h"

struct fx_nl *fx_session_nl(struct fx_session *s)
{
	return s->nl;
}

const char *fx_session_policy(const struct fx_session *s)
{
	return s->policy;
}

enum fx_rc fx_session_rc(int err)
{
	return !err ? FX_RC_OK : err == -ENOENT ? FX_RC_INPUT : FX_RC_SYSTEM;
}

void fx_session_no_graph(struct fx_nl *nl, const char *graph, int err)
{
	if (err == -ENOENT)
		fx_err("no graph '%s' is loaded; `fabricctl list` shows which are",
		       graph);
	else
		fx_err("graph '%s': %s", graph, fx_nl_why(nl));
}

/* ---- repair ----------------------------------------------------------- */

static enum fx_rc repair(struct fx_session *s)
{
	enum fx_rc rc = s->bundle->object ? fx_session_repair_kernel(s) : FX_RC_OK;
	enum fx_rc nic = s->nics ? fx_nics_repair(s->nics, s->pins) : FX_RC_OK;
	enum fx_rc dpu = s->dpus ? fx_dpus_repair(s->dpus, s->pins) : FX_RC_OK;

	return rc != FX_RC_OK ? rc : nic != FX_RC_OK ? nic : dpu;
}

void fx_session_repaired(const struct fx_session *s, struct fx_words *names)
{
	if (s->kernel_repaired)
		fx_words_add(names, "kernel");
	if (s->nics)
		fx_nics_repaired(s->nics, names);
	if (s->dpus)
		fx_dpus_repaired(s->dpus, names);
	if (s->agent_started)
		fx_words_add(names, "agent");
}

/* ---- all of it -------------------------------------------------------- */

/* The devices first: what they do can be taken back. */
static enum fx_rc replace_all(struct fx_session *s)
{
	enum fx_rc rc = FX_RC_OK;

	if (s->nics)
		rc = fx_nics_replace(s->nics, s->pins);
	if (rc != FX_RC_OK)
		return rc;
	if (s->dpus)
		rc = fx_dpus_replace(s->dpus);
	if (rc == FX_RC_OK)
		rc = fx_session_attach_kernel(s);
	if (s->dpus)
		s->unsettled = fx_dpus_settle(s->dpus, rc != FX_RC_OK, s->pins);
	if (rc == FX_RC_OK && s->nics)
		rc = fx_nics_replace_done(s->nics, s->pins);
	else if (s->nics)
		fx_nics_replace_undo(s->nics, s->pins);
	return rc;
}

static enum fx_rc attach_all(struct fx_session *s)
{
	enum fx_rc rc = fx_session_attach_kernel(s);

	if (rc == FX_RC_OK && s->nics)
		rc = fx_nics_attach(s->nics, s->pins);
	if (rc == FX_RC_OK && s->dpus)
		rc = fx_dpus_attach(s->dpus, s->pins);
	return rc;
}

static void add_dpu(struct fx_session *s, const struct fx_bundle_dpu *d)
{
	char *device = fx_asprintf(FX_PINS_DPU "%s", d->artifact->dpu);

	fx_maps_add_remote(s->maps, device, d->object, d->object_size);
	free(device);
}

/* What a repair mended stays, though it did not mend everything. */
static enum fx_rc pin_maps(struct fx_session *s, enum fx_rc rc)
{
	enum fx_rc pinned = fx_maps_pin(s->maps, s->pins);

	if (pinned == FX_RC_OK)
		pinned = fx_agent_start(fx_session_graph(s), &s->agent_started);
	return rc == FX_RC_OK ? pinned : rc;
}

static enum fx_rc put_in_force(struct fx_session *s)
{
	enum fx_rc rc = s->opt.repair ? repair(s) : s->opt.replace ? replace_all(s) :
								   attach_all(s);

	if (!s->pins || (rc != FX_RC_OK && !s->opt.repair))
		return rc;
	if (rc == FX_RC_OK && s->opt.replace && pin_maps(s, rc) != FX_RC_OK) {
		fx_err("the new policy of graph '%s' is in force all the same, and its maps cannot be read from outside; `fabricctl detach %s`, then attach",
		       fx_session_graph(s), fx_session_graph(s));
		return FX_RC_SYSTEM;
	}
	if (rc == FX_RC_OK && s->opt.replace && s->unsettled != FX_RC_OK) {
		fx_err("the new policy of graph '%s' is in force on all other devices; attach --repair with its bundle, when the DPU is there again",
		       fx_session_graph(s));
		return s->unsettled;
	}
	return s->opt.replace ? rc : pin_maps(s, rc);
}

enum fx_rc fx_session_attach(const struct fx_bundle *bundle,
			     const struct fx_session_options *opt,
			     struct fx_session **out)
{
	struct fx_session *s = fx_calloc(1, sizeof(*s));
	enum fx_rc rc = FX_RC_SYSTEM;

	*out = NULL;
	s->owner = -1;
	s->bundle = bundle;
	s->opt = *opt;
	s->opt.pin |= opt->replace || opt->repair;

	if (bundle->object && !fx_sys_module()) {
		fx_err("%s has a part for the module, and fabric_ext is not loaded: `insmod fabric_ext.ko`, or compile for other devices alone (--device)",
		       bundle->dir);
		goto fail;
	}
	if (bundle->object) {
		s->nl = fx_nl_open();
		if (!s->nl)
			goto fail;
	}
	s->owns = !s->opt.pin && (bundle->n_nic || bundle->n_dpu);
	rc = fx_session_check_system(bundle->object);
	if (rc == FX_RC_OK && (s->opt.pin || s->owns))
		rc = fx_pins_lock(fx_session_graph(s), !opt->repair, &s->pins);
	if (rc == FX_RC_OK && opt->repair && !s->pins) {
		fx_err("graph '%s' has nothing pinned to repair; attach it without --repair",
		       fx_session_graph(s));
		rc = FX_RC_INPUT;
	}
	if (rc == FX_RC_OK)
		rc = fx_session_check_graph(s);
	if (rc == FX_RC_OK && s->owns)
		rc = fx_owner_take(s->pins, &s->owner);
	/* what libbpf says of an object is told in our own words */
	fx_bpflog_start(opt->verbose);
	s->maps = fx_maps_new(fx_session_graph(s), &bundle->maps,
			      opt->repair ? FX_MAPS_REPAIR :
			      opt->replace ? FX_MAPS_REPLACE : FX_MAPS_NEW);
	for (u32 i = 0; i < bundle->n_dpu; i++)
		add_dpu(s, &bundle->dpu[i]);
	/* what cannot be loaded is found before anything is attached */
	if (rc == FX_RC_OK && bundle->n_nic)
		rc = fx_nics_load(bundle, &s->opt, s->maps, &s->nics);
	if (rc == FX_RC_OK && bundle->n_dpu)
		rc = fx_dpus_open(bundle, &s->opt, &s->dpus);
	if (rc == FX_RC_OK)
		rc = fx_maps_begin(s->maps);
	if (rc == FX_RC_OK)
		rc = put_in_force(s);
	if (rc == FX_RC_OK && s->opt.pin && s->dpus)
		rc = fx_dpus_keep(s->dpus);
	if (rc != FX_RC_OK)
		goto fail;

	if (!s->policy && s->nics && fx_nics_policy(s->nics))
		s->policy = fx_strdup(fx_nics_policy(s->nics));
	if (!s->policy && s->dpus)
		s->policy = fx_strdup(fx_dpus_policy(s->dpus));
	fx_pins_unlock(s->pins);
	s->pins = NULL;
	*out = s;
	return FX_RC_OK;
fail:
	/*
	 * Undo: nothing of what was made stays; what was there does, and so does what
	 * a repair has mended on other devices.
	 */
	if (s->pins && s->ours && s->owner < 0 && !opt->repair)
		fx_session_unpin(fx_session_graph(s), s->pins);
	else if (s->pins && s->owner < 0)
		rmdir(s->pins->dir);	/* only when nothing is in it */
	s->opt.pin = opt->replace || s->kernel_repaired;
	fx_session_close(s);
	return rc;
}

/* The pins of what ended; whoever finds them later removes them as well. */
static void unpin_owned(struct fx_session *s)
{
	if (s->owner < 0)
		return;
	if (!s->pins)
		fx_pins_lock(fx_session_graph(s), false, &s->pins);
	/* what another process has pinned since ours were removed is not ours to end */
	if (s->pins && fx_owner_counts(s->pins, s->owner))
		fx_session_unpin(fx_session_graph(s), s->pins);
	close(s->owner);
}

void fx_session_close(struct fx_session *s)
{
	if (!s)
		return;
	fx_dpus_close(s->dpus);
	fx_nics_close(s->nics);
	unpin_owned(s);
	fx_maps_free(s->maps);
	/* a pinned link outlives its descriptor, another ends with it */
	bpf_link__destroy(s->link);
	bpf_object__close(s->obj);
	if (s->loaded && !s->opt.pin &&
	    fx_nl_remove(s->nl, fx_session_graph(s)))
		fx_err("graph '%s' cannot be removed: %s", fx_session_graph(s),
		       fx_nl_why(s->nl));
	fx_pins_unlock(s->pins);
	fx_nl_close(s->nl);
	free(s->policy);
	free(s);
}
