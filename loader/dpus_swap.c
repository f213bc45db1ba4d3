// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Other policies on DPUs in the place of what they have: replace, and repair. */
#include <stdlib.h>
#include <string.h>

#include "diag.h"
#include "dpus.h"
#include "dpus_int.h"
#include "system.h"
#include "util.h"

static const struct fx_dpu_artifact *of_bundle(const struct fx_bundle *b, const char *dpu)
{
	for (u32 i = 0; i < b->n_dpu; i++)
		if (!strcmp(b->dpu[i].artifact->dpu, dpu))
			return b->dpu[i].artifact;
	return NULL;
}

/* Has the DPU this policy of the graph, whatever is written down? */
static bool runs(const struct fx_dpu_artifact *a, const char *graph)
{
	struct fx_dpu_info info;
	struct fx_dpu *d;
	bool same;

	same = !fx_dpu_open(a->dpu, &d) && !fx_dpu_info(d, &info) &&
	       !strcmp(info.graph, graph) &&
	       !memcmp(info.object, a->object, sizeof(info.object));
	fx_dpu_close(d);
	return same;
}

/* All pinned DPUs are the bundle's, of its graph, and with @same_policy of its policy. */
static enum fx_rc check_pinned(const struct fx_bundle *b, bool same_policy, u32 *n)
{
	const struct fx_image_hdr *hdr = b->image.hdr;
	char *dir = fx_pins_dir(hdr->name);
	struct fx_words subs = { 0 };
	enum fx_rc rc = FX_RC_OK;

	fx_pins_list_dpus(hdr->name, &subs);
	for (u32 i = 0; i < subs.n && rc == FX_RC_OK; i++) {
		char *sub = fx_asprintf("%s/%s", dir, subs.word[i]);
		const char *dpu = subs.word[i] + strlen(FX_PINS_DPU);
		const struct fx_dpu_artifact *a = of_bundle(b, dpu);
		struct fx_nic_conf conf = { 0 };
		int err = fx_dpus_read_conf(sub, &conf);

		if (!a || (!err && memcmp(conf.digest, hdr->digest, sizeof(conf.digest)))) {
			fx_err("the bundle is not for the graph and DPUs that '%s' is attached with; `fabricctl detach %s`, then attach",
			       hdr->name, hdr->name);
			rc = FX_RC_INPUT;
		} else if (!err && same_policy &&
			   memcmp(conf.object, a->object, sizeof(conf.object)) &&
			   !runs(a, hdr->name)) {
			fx_err("the policy '%s' on dpu '%s' is not the bundle's; repair with the bundle that was attached, or attach --replace",
			       conf.policy, dpu);
			rc = FX_RC_INPUT;
		}
		free(sub);
	}
	*n = subs.n;
	fx_words_free(&subs);
	free(dir);
	return rc;
}

enum fx_rc fx_dpus_check_repair(const struct fx_bundle *b)
{
	u32 n;

	return check_pinned(b, true, &n);
}

enum fx_rc fx_dpus_check_replace(const struct fx_bundle *b)
{
	enum fx_rc rc;
	u32 n;

	rc = check_pinned(b, false, &n);
	if (rc != FX_RC_OK || n == b->n_dpu)
		return rc;
	fx_err("graph '%s' is pinned on %u DPUs, and the bundle is for %u; attach without --replace, after `fabricctl detach %s` when there are any",
	       b->image.hdr->name, n, b->n_dpu, b->image.hdr->name);
	return FX_RC_INPUT;
}

enum fx_rc fx_dpus_replace(struct fx_dpus *d)
{
	enum fx_rc rc = FX_RC_OK;

	for (u32 i = 0; i < d->n && rc == FX_RC_OK; i++)
		rc = fx_dpus_load_one(d, &d->one[i]);
	return rc;
}

enum fx_rc fx_dpus_settle(struct fx_dpus *d, bool undo, struct fx_pins *pins)
{
	enum fx_rc rc = FX_RC_OK;

	/*
	 * What they are to have comes first, though one may have ended: of a command
	 * that is killed here, a repair makes them have it.
	 */
	for (u32 i = 0; i < d->n && !undo; i++)
		if (d->one[i].swapped && fx_dpus_write_down(d, &d->one[i], pins) != FX_RC_OK)
			rc = FX_RC_SYSTEM;
	for (u32 i = 0; i < d->n; i++) {
		struct fx_dpus_one *o = &d->one[i];
		int err = o->swapped ? fx_dpu_settle(o->dpu, fx_dpus_graph(d), undo) : 0;

		if (err && rc == FX_RC_OK)
			rc = fx_dpus_failed(o, err);
		else if (err)
			fx_dpus_failed(o, err);
	}
	return rc;
}

enum fx_rc fx_dpus_repair(struct fx_dpus *d, struct fx_pins *pins)
{
	enum fx_rc rc = FX_RC_OK;

	for (u32 i = 0; i < d->n; i++) {
		struct fx_dpus_one *o = &d->one[i];
		enum fx_rc one = o->failed ? FX_RC_SYSTEM : FX_RC_OK;

		/* its pins may have gone, and without them nothing ends it */
		if (o->well && !o->pinned) {
			one = fx_dpus_write_down(d, o, pins);
			o->failed = one != FX_RC_OK;
			o->noted = !o->failed;
		} else if (!o->failed && !o->well) {
			one = fx_dpus_load_one(d, o);
			if (one == FX_RC_OK)
				one = fx_dpus_write_down(d, o, pins);
			if (one == FX_RC_OK)
				one = fx_dpus_keep_one(d, o);
			/* what is mended stays, whatever comes of the others */
			o->failed = one != FX_RC_OK;
			o->loaded = o->loaded && o->failed;
		}
		rc = rc == FX_RC_OK ? one : rc;
	}
	return rc;
}

void fx_dpus_repaired(const struct fx_dpus *d, struct fx_words *names)
{
	for (u32 i = 0; i < d->n; i++) {
		char *name = fx_asprintf("dpu %s", d->one[i].part->artifact->dpu);

		if ((!d->one[i].well || d->one[i].noted) && !d->one[i].failed)
			fx_words_add(names, name);
		free(name);
	}
}
