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
#include "lower/dpu_object.h"
#include "lower/verify.h"
#include "nic.h"
#include "system.h"
#include "util.h"

#define CONF	"fx_conf"	/* the map in dpu-NAME/: struct fx_nic_conf */

struct one {
	const struct fx_bundle_dpu *part;
	struct fx_dpu *dpu;
	u32 replace;			/* enum fx_dpu_replace: what it has of the graph */
	bool pinned;			/* what it was given last is known */
	u32 flags;			/* of what it is given now */
	bool loaded;			/* by us, to be taken back */
	bool well;			/* repair: there is nothing to mend */
	bool noted;			/* repair: it was well, and is pinned again */
	bool failed;			/* repair: it cannot be mended */
	bool swapped;
};

struct fx_dpus {
	const struct fx_bundle *bundle;
	const struct fx_session_options *opt;
	struct one *one;
	u32 n;
	bool keep;
};

static const char *graph_of(const struct fx_dpus *d)
{
	return d->bundle->image.hdr->name;
}

const char *fx_dpus_policy(const struct fx_dpus *d)
{
	return d->one[0].part->artifact->policy;
}

static enum fx_rc failed(const struct one *o, int err)
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

static int read_conf(const char *dir, struct fx_nic_conf *conf);

static void read_pinned(const struct fx_dpus *d, struct one *o, struct fx_nic_conf *conf)
{
	char *dir = fx_pins_dir(graph_of(d));
	char *sub = fx_asprintf("%s/" FX_PINS_DPU "%s", dir, o->part->artifact->dpu);

	o->pinned = !read_conf(sub, conf);
	free(sub);
	free(dir);
}

/* A repair does not make what records enforce, nor the other way round. */
static u32 flags_of(const struct fx_dpus *d, const struct one *o, const struct fx_nic_conf *conf,
		    const struct fx_dpu_info *info)
{
	u32 audit = d->opt->audit ? FX_NIC_F_AUDIT : 0;

	if (d->opt->repair && (o->pinned || !strcmp(info->graph, graph_of(d))))
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
static enum fx_rc check_loaded(const struct fx_dpus *d, struct one *o,
			       const struct fx_dpu_info *info)
{
	const char *dpu = o->part->artifact->dpu, *has = info->graph;
	bool same = !strcmp(has, graph_of(d)), alike;

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

static enum fx_rc open_one(const struct fx_dpus *d, struct one *o)
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
		return failed(o, err);
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

static enum fx_rc load_one(const struct fx_dpus *d, struct one *o)
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
	return err ? failed(o, err) : FX_RC_OK;
}

/* The DPU undoes a load whose connection ends, unless it is told to keep it. */
static enum fx_rc keep_one(const struct fx_dpus *d, struct one *o)
{
	int err = fx_dpu_settle(o->dpu, graph_of(d), false);

	return err ? failed(o, err) : FX_RC_OK;
}

/* What stays when the DPU's process ends: which one, of which graph. */
static enum fx_rc write_down(const struct fx_dpus *d, const struct one *o, struct fx_pins *pins)
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
		fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, CONF, sizeof(zero), sizeof(conf), 1, NULL);
		if (fd < 0 || bpf_map_update_elem(fd, &zero, &conf, BPF_ANY)) {
			fx_err("what dpu '%s' was given cannot be written down: %s", a->dpu,
			       strerror(errno));
			rc = FX_RC_SYSTEM;
		}
	}
	if (rc == FX_RC_OK)
		rc = fx_pins_replace_at(pins, sub, CONF, fd);
	if (fd >= 0)
		close(fd);
	free(sub);
	return rc;
}

enum fx_rc fx_dpus_attach(struct fx_dpus *d, struct fx_pins *pins)
{
	enum fx_rc rc = FX_RC_OK;

	for (u32 i = 0; i < d->n && rc == FX_RC_OK; i++)
		rc = load_one(d, &d->one[i]);
	for (u32 i = 0; i < d->n && pins && rc == FX_RC_OK; i++)
		rc = write_down(d, &d->one[i], pins);
	return rc;
}

/* ---- replace and repair ----------------------------------------------- */

static const struct fx_dpu_artifact *of_bundle(const struct fx_bundle *b, const char *dpu)
{
	for (u32 i = 0; i < b->n_dpu; i++)
		if (!strcmp(b->dpu[i].artifact->dpu, dpu))
			return b->dpu[i].artifact;
	return NULL;
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
		int err = read_conf(sub, &conf);

		if (!a || (!err && memcmp(conf.digest, hdr->digest, sizeof(conf.digest)))) {
			fx_err("the bundle is not for the graph and DPUs that '%s' is attached with; `fabricctl detach %s`, then attach",
			       hdr->name, hdr->name);
			rc = FX_RC_INPUT;
		} else if (!err && same_policy &&
			   memcmp(conf.object, a->object, sizeof(conf.object))) {
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
		rc = load_one(d, &d->one[i]);
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
		if (d->one[i].swapped && write_down(d, &d->one[i], pins) != FX_RC_OK)
			rc = FX_RC_SYSTEM;
	for (u32 i = 0; i < d->n; i++) {
		struct one *o = &d->one[i];
		int err = o->swapped ? fx_dpu_settle(o->dpu, graph_of(d), undo) : 0;

		if (err && rc == FX_RC_OK)
			rc = failed(o, err);
		else if (err)
			failed(o, err);
	}
	return rc;
}

enum fx_rc fx_dpus_repair(struct fx_dpus *d, struct fx_pins *pins)
{
	enum fx_rc rc = FX_RC_OK;

	for (u32 i = 0; i < d->n; i++) {
		struct one *o = &d->one[i];
		enum fx_rc one = o->failed ? FX_RC_SYSTEM : FX_RC_OK;

		/* its pins may have gone, and without them nothing ends it */
		if (o->well && !o->pinned) {
			one = write_down(d, o, pins);
			o->failed = one != FX_RC_OK;
			o->noted = !o->failed;
		} else if (!o->failed && !o->well) {
			one = load_one(d, o);
			if (one == FX_RC_OK)
				one = write_down(d, o, pins);
			if (one == FX_RC_OK)
				one = keep_one(d, o);
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

/* ---- the end ---------------------------------------------------------- */

enum fx_rc fx_dpus_keep(struct fx_dpus *d)
{
	enum fx_rc rc = FX_RC_OK;

	for (u32 i = 0; i < d->n && rc == FX_RC_OK; i++)
		if (d->one[i].loaded)
			rc = keep_one(d, &d->one[i]);
	d->keep = rc == FX_RC_OK;
	return rc;
}

void fx_dpus_close(struct fx_dpus *d)
{
	if (!d)
		return;
	for (u32 i = 0; i < d->n; i++) {
		struct one *o = &d->one[i];

		/* one that ended has nothing loaded any more */
		if (o->loaded && !d->keep)
			fx_dpu_unload(o->dpu, graph_of(d));
		fx_dpu_close(o->dpu);
	}
	free(d->one);
	free(d);
}

/* ---- what is pinned --------------------------------------------------- */

bool fx_dpus_pinned(const char *graph)
{
	struct fx_words subs = { 0 };
	bool pinned;

	fx_pins_list_dpus(graph, &subs);
	pinned = subs.n;
	fx_words_free(&subs);
	return pinned;
}

/* One that ended while it was asked may have been started again since. */
static int ask_one(const char *dpu, const char *graph,
		   int (*ask)(struct fx_dpu *d, const char *graph), struct fx_dpu **d)
{
	int err = fx_dpu_open(dpu, d);

	if (!err)
		err = ask(*d, graph);
	if (err != -EPIPE)
		return err;
	fx_dpu_close(*d);
	err = fx_dpu_open(dpu, d);
	return err ? err : ask(*d, graph);
}

/*
 * Ask each that runs; one that does not, or has lost the graph, is done with.
 * @kept is what becomes of the graph where one cannot be asked.
 */
static int each(const char *graph, int (*ask)(struct fx_dpu *d, const char *graph),
		const char *kept)
{
	struct fx_words subs = { 0 };
	int first = 0;

	fx_pins_list_dpus(graph, &subs);
	for (u32 i = 0; i < subs.n; i++) {
		struct fx_dpu *d;
		int err = ask_one(subs.word[i] + strlen(FX_PINS_DPU), graph, ask, &d);

		if (err && err != -ECONNREFUSED && err != -ENOENT) {
			fx_err("%s; the policy of graph '%s' %s", fx_dpu_why(d), graph, kept);
			first = first ? first : err;
		}
		fx_dpu_close(d);
	}
	fx_words_free(&subs);
	return first;
}

enum fx_rc fx_dpus_detach(const char *graph)
{
	return each(graph, fx_dpu_unload,
		    "is off the devices that answer and stays there, and its pins stay: detach again when that is mended, or the fabric-dpu has ended") ? FX_RC_SYSTEM : FX_RC_OK;
}

int fx_dpus_bypass(const char *graph)
{
	return each(graph, fx_dpu_bypass,
		    "is by-passed on the devices that answer, and not there");
}

/* ---- what it counted -------------------------------------------------- */

/* What was written down at attach; 0 or -errno. */
static int read_conf(const char *dir, struct fx_nic_conf *conf)
{
	char *path = fx_asprintf("%s/" CONF, dir);
	const u32 zero = 0;
	int fd = bpf_obj_get(path), err = fd < 0 ? -errno : 0;

	free(path);
	if (!err && !fx_map_is(fd, sizeof(zero), sizeof(*conf)))
		err = -EPROTO;
	if (!err && bpf_map_lookup_elem(fd, &zero, conf))
		err = -errno;
	if (fd >= 0)
		close(fd);
	conf->graph[FX_NAME_LEN - 1] = '\0';
	conf->policy[FX_NAME_LEN - 1] = '\0';
	conf->netdev[FX_NIC_NAME_LEN - 1] = '\0';
	return err;
}

static void take_rows(struct fx_nic_view *v, const struct fx_dpu_stats *head,
		      const struct fx_dpu_row *rows)
{
	v->conf.flags = head->conf.flags;
	v->conf.rows = head->conf.rows;
	memcpy(v->conf.policy, head->conf.policy, sizeof(v->conf.policy));
	v->conf.policy[FX_NAME_LEN - 1] = '\0';
	memcpy(v->total, head->total, sizeof(v->total));
	v->row = fx_calloc(v->conf.rows + 1, sizeof(*v->row));
	v->count = fx_calloc(v->conf.rows + 1, sizeof(*v->count));
	for (u32 i = 0; i < v->conf.rows; i++) {
		v->row[i] = rows[i].row;
		v->row[i].name[FX_NAME_LEN - 1] = '\0';
		if (v->row[i].dir >= FX_DIRS)
			v->row[i].dir = FX_DIR_NONE;
		v->count[i] = rows[i].count;
	}
}

static void read_view(const char *graph, const char *dpu, struct fx_nic_view *v)
{
	struct fx_dpu_stats head;
	struct fx_dpu_row *rows = NULL;
	struct fx_dpu *d;
	int err = fx_dpu_open(dpu, &d);

	v->dpu = true;
	v->conf.rows = 0;
	if (!err)
		err = fx_dpu_stat(d, &head, &rows);
	if (!err && !strncmp(head.conf.graph, graph, FX_NAME_LEN)) {
		v->attached = true;
		take_rows(v, &head, rows);
	} else if (!err || err == -ENOENT) {
		v->gone = "its fabric-dpu was started anew: attach --repair mends that";
		fx_info("dpu '%s' does not have graph '%s' any more, it was started anew; attach --repair mends that",
			dpu, graph);
	} else {
		/* whatever one has, it does not hide the others, nor other graphs */
		v->gone = err == -ECONNREFUSED || err == -EPIPE ? "its fabric-dpu has ended" :
			  err == -ETIMEDOUT || err == -EAGAIN ? "its fabric-dpu does not answer" :
			  "its fabric-dpu cannot be asked";
		fx_info("%s", fx_dpu_why(d));
	}
	free(rows);
	fx_dpu_close(d);
}

int fx_dpu_views_read(const char *graph, struct fx_nic_views *v)
{
	char *dir = fx_pins_dir(graph);
	struct fx_words subs = { 0 };
	int err = 0;

	fx_pins_list_dpus(graph, &subs);
	for (u32 i = 0; i < subs.n && !err; i++) {
		char *sub = fx_asprintf("%s/%s", dir, subs.word[i]);
		struct fx_nic_view view = { 0 };

		err = read_conf(sub, &view.conf);
		if (err == -ENOENT) {	/* detached under our eyes, or half of an attach */
			err = 0;
		} else if (err) {
			fx_err("%s cannot be read: %s", sub,
			       err == -EPROTO ? "it is of another version of fabricctl" :
			       strerror(-err));
		} else {
			read_view(graph, subs.word[i] + strlen(FX_PINS_DPU), &view);
			fx_grow(v->view, v->n, v->cap);
			v->view[v->n++] = view;
		}
		free(sub);
	}
	fx_words_free(&subs);
	free(dir);
	return err;
}
