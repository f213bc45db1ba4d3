// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <bpf/bpf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bpflog.h"
#include "diag.h"
#include "dpu.h"
#include "dpus.h"
#include "dpus_int.h"
#include "lower/dpu_object.h"
#include "lower/verify.h"
#include "util.h"

const char *fx_dpus_graph(const struct fx_dpus *d)
{
	return d->bundle->image.hdr->name;
}

const char *fx_dpus_policy(const struct fx_dpus *d)
{
	return d->one[0].part->artifact->policy;
}

enum fx_rc fx_dpus_failed(const struct fx_dpus_one *o, int err)
{
	fx_err("%s", fx_dpu_why(o->dpu));
	return err == -EINVAL || err == -EBUSY || err == -EOPNOTSUPP ? FX_RC_INPUT : FX_RC_SYSTEM;
}

/* ---- attach ----------------------------------------------------------- */

static enum fx_rc verify(const struct fx_dpus *d, const struct fx_bundle_dpu *part)
{
	enum fx_rc rc = FX_RC_INPUT;
	struct fx_dpu_object o;
	char *why = NULL;
	int err;

	if (!(part->artifact->flags & FX_DPU_F_VERIFIED)) {
		fx_err("%s/dpu/%s/artifact.bin: the kernel's verifier has not seen the program, as it was compiled without CAP_BPF; compile the bundle again as root",
		       d->bundle->dir, part->artifact->dpu);
		return rc;
	}
	fx_bpflog_start(false);
	if (fx_dpu_object_read(part->object, part->object_size, &o)) {
		fx_err("there is no memory to look into the object for dpu '%s'",
		       part->artifact->dpu);
		return FX_RC_SYSTEM;
	}
	if (o.n_fault) {
		fx_err("%s/dpu/%s/policy.bpf.o: the program %s; compile the bundle again",
		       d->bundle->dir, part->artifact->dpu, o.fault[0].what);
		goto out;
	}
	err = fx_verify_as(part->object, part->object_size, BPF_PROG_TYPE_SYSCALL, o.insn, o.n_insn,
			   &why);
	if (err)
		fx_err("dpu '%s': %s", part->artifact->dpu, why);
	rc = !err ? FX_RC_OK : err == -EINVAL ? FX_RC_INPUT : FX_RC_SYSTEM;
out:
	fx_dpu_object_free(&o);
	free(why);
	return rc;
}

static void read_pinned(const struct fx_dpus *d, struct fx_dpus_one *o, struct fx_nic_conf *conf)
{
	char *dir = fx_pins_dir(fx_dpus_graph(d));
	char *sub = fx_asprintf("%s/" FX_PINS_DPU "%s", dir, o->part->artifact->dpu);

	/* a replace that was killed, or failed, may have left what it was to replace */
	o->pinned = !fx_dpus_read_conf(sub, conf) &&
		    (!d->opt->repair || !memcmp(conf->object, o->part->artifact->object,
						sizeof(conf->object)));
	free(sub);
	free(dir);
}

/* A repair does not make what records enforce, nor the other way round. */
static u32 flags_of(const struct fx_dpus *d, const struct fx_dpus_one *o,
		    const struct fx_nic_conf *conf, const struct fx_dpu_info *info)
{
	u32 audit = d->opt->audit ? FX_NIC_F_AUDIT : 0;

	if (d->opt->repair && (o->pinned || !strcmp(info->graph, fx_dpus_graph(d))))
		audit = (o->pinned ? conf->flags : info->flags) & FX_NIC_F_AUDIT;
	return audit | (d->bundle->object ? 0 : FX_NIC_F_ALONE);
}

/* What one sees by-passed it may end; a bypass that comes later holds. */
static u32 replace_of(bool same, const struct fx_dpu_info *info)
{
	if (!same)
		return FX_DPU_REPLACE_NONE;
	/* an older fabric-dpu does not know the difference */
	if (info->flags & FX_NIC_F_BYPASS || !(info->can & FX_DPU_CAN_DECIDING))
		return FX_DPU_REPLACE_ANY;
	return FX_DPU_REPLACE_DECIDING;
}

/* Does the DPU have what the way of attaching asks for? */
static enum fx_rc check_loaded(const struct fx_dpus *d, struct fx_dpus_one *o,
			       const struct fx_dpu_info *info)
{
	const char *dpu = o->part->artifact->dpu, *has = info->graph;
	bool same = !strcmp(has, fx_dpus_graph(d)), alike;

	if (*has && (!same || (!d->opt->replace && !d->opt->repair))) {
		fx_err("dpu '%s' has the policy of graph '%s'; `fabricctl detach %s` takes it off",
		       dpu, has, has);
		return FX_RC_INPUT;
	}
	if (!*has && d->opt->replace) {
		fx_err("dpu '%s' has no policy to replace, it was started anew; attach --repair mends that",
		       dpu);
		return FX_RC_INPUT;
	}
	alike = same && !memcmp(info->object, o->part->artifact->object, sizeof(info->object));
	/* what is pinned is the bundle's: a replace that was killed was taken back by the DPU */
	if (same && d->opt->repair && !alike && !o->pinned) {
		fx_err("dpu '%s' has another policy than the bundle's; repair with the bundle that was attached, or attach --replace",
		       dpu);
		return FX_RC_INPUT;
	}
	o->replace = replace_of(same, info);
	o->well = alike && d->opt->repair && !(info->flags & FX_NIC_F_BYPASS);
	return FX_RC_OK;
}

static bool asks_for_qp(const struct fx_bundle_dpu *part)
{
	for (u32 i = 0; i < part->n_flow; i++)
		if (part->flow[i].mask.qp)
			return true;
	return false;
}

static enum fx_rc open_one(const struct fx_dpus *d, struct fx_dpus_one *o)
{
	struct fx_nic_conf conf = { 0 };
	struct fx_dpu_info info;
	enum fx_rc rc;
	int err;

	read_pinned(d, o, &conf);
	err = fx_dpu_open(o->part->artifact->dpu, &o->dpu);
	if (!err)
		err = fx_dpu_info(o->dpu, &info);
	if (!err && asks_for_qp(o->part))
		err = fx_dpu_can_qp(o->dpu, &info);
	if (err)
		return fx_dpus_failed(o, err);
	o->flags = flags_of(d, o, &conf, &info);
	rc = check_loaded(d, o, &info);
	return rc == FX_RC_OK && !o->well ? verify(d, o->part) : rc;
}

enum fx_rc fx_dpus_open(const struct fx_bundle *bundle,
			const struct fx_session_options *opt, struct fx_dpus **out)
{
	struct fx_dpus *d = fx_calloc(1, sizeof(*d));
	enum fx_rc rc = FX_RC_OK;

	*out = NULL;
	d->bundle = bundle;
	d->opt = opt;
	d->n = bundle->n_dpu;
	d->one = fx_calloc(d->n, sizeof(*d->one));
	for (u32 i = 0; i < d->n; i++)
		d->one[i].part = &bundle->dpu[i];
	for (u32 i = 0; i < d->n && rc == FX_RC_OK; i++) {
		rc = open_one(d, &d->one[i]);
		/* the others are mended all the same */
		d->one[i].failed = rc != FX_RC_OK;
		if (opt->repair)
			rc = FX_RC_OK;
	}
	if (rc == FX_RC_OK)
		*out = d;
	else
		fx_dpus_close(d);
	return rc;
}

enum fx_rc fx_dpus_load_one(const struct fx_dpus *d, struct fx_dpus_one *o)
{
	const struct fx_bundle_dpu *p = o->part;
	char (*names)[FX_NAME_LEN] = fx_calloc(p->n_flow, sizeof(*names));
	struct fx_dpu_parts parts = {
		.artifact = p->artifact, .artifact_size = p->artifact_size,
		.object = p->object, .object_size = p->object_size,
		.flows = p->flow, .flows_size = p->n_flow * sizeof(*p->flow),
		.names = (const char (*)[FX_NAME_LEN])names, .n_flow = p->n_flow,
		.flags = o->flags, .replace = o->replace,
	};
	int err;

	for (u32 i = 0; i < p->n_flow; i++)
		memcpy(names[i], d->bundle->image.cls[p->flow[i].cls].name, sizeof(*names));
	err = fx_dpu_load(o->dpu, &parts);
	o->loaded = !err && !o->replace;
	o->swapped = !err && o->replace;
	free(names);
	return err ? fx_dpus_failed(o, err) : FX_RC_OK;
}

/* The DPU undoes a load whose connection ends, unless it is told to keep it. */
enum fx_rc fx_dpus_keep_one(const struct fx_dpus *d, struct fx_dpus_one *o)
{
	int err = fx_dpu_settle(o->dpu, fx_dpus_graph(d), false);

	return err ? fx_dpus_failed(o, err) : FX_RC_OK;
}

/* What stays when the DPU's process ends: which one, of which graph. */
enum fx_rc fx_dpus_write_down(const struct fx_dpus *d, const struct fx_dpus_one *o,
			      struct fx_pins *pins)
{
	const struct fx_dpu_artifact *a = o->part->artifact;
	const struct fx_image_hdr *hdr = d->bundle->image.hdr;
	char *sub = fx_asprintf(FX_PINS_DPU "%s", a->dpu);
	struct fx_nic_conf conf = { .flags = o->flags, .place = a->place };
	enum fx_rc rc = FX_RC_OK;
	const u32 zero = 0;
	struct stat st;
	int fd = -1;

	memcpy(conf.count, hdr->count, sizeof(conf.count));
	memcpy(conf.digest, hdr->digest, sizeof(conf.digest));
	memcpy(conf.object, a->object, sizeof(conf.object));
	memcpy(conf.graph, hdr->name, sizeof(conf.graph));
	memcpy(conf.policy, a->policy, sizeof(conf.policy));
	memcpy(conf.netdev, a->dpu, sizeof(conf.netdev));
	if (fstatat(pins->fd, sub, &st, AT_SYMLINK_NOFOLLOW))
		rc = fx_pins_make(pins, sub);
	if (rc == FX_RC_OK) {
		fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, FX_DPUS_CONF, sizeof(zero), sizeof(conf), 1, NULL);
		if (fd < 0 || bpf_map_update_elem(fd, &zero, &conf, BPF_ANY)) {
			fx_err("what dpu '%s' was given cannot be written down: %s", a->dpu,
			       strerror(errno));
			rc = FX_RC_SYSTEM;
		}
	}
	if (rc == FX_RC_OK)
		rc = fx_pins_replace_at(pins, sub, FX_DPUS_CONF, fd);
	if (fd >= 0)
		close(fd);
	free(sub);
	return rc;
}

enum fx_rc fx_dpus_attach(struct fx_dpus *d, struct fx_pins *pins)
{
	enum fx_rc rc = FX_RC_OK;

	for (u32 i = 0; i < d->n && rc == FX_RC_OK; i++)
		rc = fx_dpus_load_one(d, &d->one[i]);
	for (u32 i = 0; i < d->n && pins && rc == FX_RC_OK; i++)
		rc = fx_dpus_write_down(d, &d->one[i], pins);
	return rc;
}

/* ---- the end ---------------------------------------------------------- */

enum fx_rc fx_dpus_keep(struct fx_dpus *d)
{
	enum fx_rc rc = FX_RC_OK;

	for (u32 i = 0; i < d->n && rc == FX_RC_OK; i++)
		if (d->one[i].loaded)
			rc = fx_dpus_keep_one(d, &d->one[i]);
	d->keep = rc == FX_RC_OK;
	return rc;
}

void fx_dpus_close(struct fx_dpus *d)
{
	if (!d)
		return;
	for (u32 i = 0; i < d->n; i++) {
		struct fx_dpus_one *o = &d->one[i];

		/* one that ended has nothing loaded any more */
		if (o->loaded && !d->keep)
			fx_dpu_unload(o->dpu, fx_dpus_graph(d));
		fx_dpu_close(o->dpu);
	}
	free(d->one);
	free(d);
}
