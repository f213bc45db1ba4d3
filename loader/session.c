// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "agent.h"
#include "bpflog.h"
#include "diag.h"
#include "dpus.h"
#include "maps.h"
#include "names.h"
#include "nic.h"
#include "owner.h"
#include "pins.h"
#include "refusal.h"
#include "session.h"
#include "system.h"
#include "util.h"

#define MODULE_BTF	"/sys/kernel/btf/fabric_ext"
#define OPS_STRUCT	"fabric_ext_ops"

/* flags of struct fabric_ext_ops: record verdicts, do not enforce them */
#define FX_POLICY_F_AUDIT	(1ULL << 0)

#define FOUND_SHOWN	12	/* things listed in one sentence */

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
	bool kernel_repaired;
	bool agent_started;
	bool ours;			/* the pins are this attach's to remove */
	bool owns;			/* on devices, and not to outlive this process */
	int owner;			/* holds the pins then, or -1 */
};

static const char *graph_name(const struct fx_session *s)
{
	return s->bundle->image.hdr->name;
}

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

/* ---- what must be there ----------------------------------------------- */

static enum fx_rc check_system(bool module)
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

/* ---- the graph -------------------------------------------------------- */

static enum fx_rc occupied(const char *graph, const struct fx_nl_graph *g)
{
	if (g->flags & FX_GRAPH_F_BYPASS)
		fx_err("graph '%s' still has policy '%s', which ended (%s%s%s); `fabricctl detach %s` removes it, attach --replace puts another in its place",
		       graph, g->policy, fx_name(&fx_exits, g->exit_kind),
		       g->exit_msg[0] ? ": " : "", g->exit_msg, graph);
	else
		fx_err("graph '%s' already has policy '%s'; attach --replace swaps it, `fabricctl detach %s` ends it",
		       graph, g->policy, graph);
	return FX_RC_INPUT;
}

/* Find the graph as the bundle has it, or load it. */
static enum fx_rc get_graph(struct fx_session *s)
{
	const struct fx_image_hdr *hdr = s->bundle->image.hdr;
	struct fx_nl_graph *g = fx_alloc(sizeof(*g));
	enum fx_rc rc = FX_RC_INPUT;
	bool attached, same;
	int err;

	err = fx_nl_graph_get(s->nl, hdr->name, g);
	if (err && err != -ENOENT) {
		fx_err("graph '%s': %s", hdr->name, fx_nl_why(s->nl));
		rc = FX_RC_SYSTEM;
		goto out;
	}
	attached = !err && g->flags & FX_GRAPH_F_ATTACHED;
	same = !err && !memcmp(g->digest, hdr->digest, sizeof(g->digest));
	if (s->opt.replace && !attached) {
		fx_err("graph '%s' has no policy to replace; attach without --replace",
		       hdr->name);
		goto out;
	}
	if (s->opt.replace && !same) {
		fx_err("a policy is replaced by one for the same graph only, and the bundle's '%s' is not what is loaded; detach first, or compile the bundle from the loaded graph's file",
		       hdr->name);
		goto out;
	}
	if (attached && !s->opt.replace) {
		rc = occupied(hdr->name, g);
		goto out;
	}
	if (!err && !same) {
		fx_err("another graph is loaded under the name '%s'; `fabricctl detach %s` removes it",
		       hdr->name, hdr->name);
		goto out;
	}
	if (!err) {
		s->loaded = !attached;	/* left behind: ours from here on */
		s->ours = s->ours || s->loaded;
		rc = FX_RC_OK;
		goto out;
	}
	err = fx_nl_upload(s->nl, &s->bundle->image);
	if (err) {
		fx_err("graph '%s' cannot be loaded: %s", hdr->name,
		       fx_nl_why(s->nl));
		rc = FX_RC_SYSTEM;
		goto out;
	}
	s->loaded = true;
	s->ours = true;
	rc = FX_RC_OK;
out:
	free(g);
	return rc;
}

/* What the kernel binds itself; the rest is known by its devices only. */
static bool kernel_binds(u32 match_kind)
{
	return match_kind == FX_MATCH_NODE || match_kind == FX_MATCH_REGION;
}

static void check_place(const void *row, void *arg)
{
	const struct fx_nl_place *p = row;
	struct fx_words found = { 0 };
	u32 *absent = arg;
	const char *near;
	bool there;
	char *text;

	there = fx_sys_match(&p->desc, &found);
	if (kernel_binds(p->desc.match_kind))
		there = p->bound;
	if (!there && !(p->desc.flags & FX_PLACE_F_LATER)) {
		text = fx_words_text(&found, FOUND_SHOWN);
		near = found.n ? fx_nearest_name(p->desc.match,
						 (const char *const *)found.word,
						 found.n) : NULL;
		fx_err("place '%s' matches %s '%s', which %s; this system has %s%s%s%s (a place that comes later says `appears: later`)",
		       p->desc.name, fx_name(&fx_match_kinds, p->desc.match_kind),
		       p->desc.match,
		       p->desc.match_kind == FX_MATCH_REGION ?
		       "is no region with memory online" : "is not there", text,
		       near ? ": did you mean '" : "", near ? near : "",
		       near ? "'?" : "");
		free(text);
		++*absent;
	}
	fx_words_free(&found);
}

static enum fx_rc check_places(struct fx_session *s)
{
	u32 absent = 0;

	if (fx_nl_dump(s->nl, FX_CMD_PLACE_GET, graph_name(s), check_place,
		       &absent)) {
		fx_err("the places of graph '%s' cannot be read: %s",
		       graph_name(s), fx_nl_why(s->nl));
		return FX_RC_SYSTEM;
	}
	return absent ? FX_RC_INPUT : FX_RC_OK;
}

/* ---- the policy ------------------------------------------------------- */

/* Where a member of the ops stands in the object's own layout, or NULL. */
static void *ops_member(struct fx_session *s, const char *name, size_t size)
{
	const struct btf *btf = bpf_object__btf(s->obj);
	const struct btf_type *t;
	const struct btf_member *m;
	size_t room = 0;
	char *value;
	int id;

	value = bpf_map__initial_value(s->map, &room);
	id = btf ? btf__find_by_name_kind(btf, OPS_STRUCT, BTF_KIND_STRUCT) : -1;
	if (!value || id < 0)
		return NULL;
	t = btf__type_by_id(btf, id);
	m = btf_members(t);
	for (u32 i = 0; i < btf_vlen(t); i++, m++) {
		u32 at = btf_member_bit_offset(t, i) / 8;

		if (strcmp(btf__name_by_offset(btf, m->name_off), name))
			continue;
		if (btf__resolve_size(btf, m->type) != (s64)size ||
		    at + size > room)
			return NULL;
		return value + at;
	}
	return NULL;
}

/* Say which graph the policy is for, and how it is attached. */
static enum fx_rc set_ops(struct fx_session *s)
{
	char *graph = ops_member(s, "graph", FX_NAME_LEN);
	char *name = ops_member(s, "name", FX_NAME_LEN);
	u64 *flags = ops_member(s, "flags", sizeof(*flags));

	if (!graph || !name || !flags) {
		fx_err("%s: map '%s' is no struct " OPS_STRUCT " as <fabric_ext/policy.bpf.h> has it; compile the policy again",
		       s->bundle->dir, s->bundle->ops_map);
		return FX_RC_INPUT;
	}
	memset(graph, 0, FX_NAME_LEN);
	memcpy(graph, graph_name(s), strnlen(graph_name(s), FX_NAME_LEN - 1));
	if (s->opt.audit)
		*flags |= FX_POLICY_F_AUDIT;
	s->policy = fx_strndup(name, strnlen(name, FX_NAME_LEN));
	return FX_RC_OK;
}

static enum fx_rc not_loaded(const struct fx_session *s, int err)
{
	return fx_refused_load(s->bundle->dir, s->policy, err, s->opt.verbose);
}

static enum fx_rc load_policy(struct fx_session *s)
{
	LIBBPF_OPTS(bpf_object_open_opts, opts, .object_name = "policy");
	const struct fx_bundle *b = s->bundle;
	enum fx_rc rc;
	int err;

	fx_bpflog_start(s->opt.verbose);
	/* what was checked, not what lies in the file by now */
	s->obj = bpf_object__open_mem(b->object, b->object_size, &opts);
	if (!s->obj)
		return not_loaded(s, -errno);
	s->map = bpf_object__find_map_by_name(s->obj, b->ops_map);
	if (!s->map || bpf_map__type(s->map) != BPF_MAP_TYPE_STRUCT_OPS) {
		fx_err("%s has no struct_ops map '%s', which the bundle names; compile it again",
		       b->dir, b->ops_map);
		return FX_RC_INPUT;
	}
	if (!(bpf_map__map_flags(s->map) & BPF_F_LINK)) {
		fx_err("%s: '%s' stands in .struct_ops, and only what stands in .struct_ops.link can be detached safely; declare it with FX_POLICY()",
		       b->dir, b->ops_map);
		return FX_RC_INPUT;
	}
	rc = set_ops(s);
	if (rc != FX_RC_OK)
		return rc;
	rc = fx_maps_before_load(s->maps, s->obj, "kernel");
	if (rc != FX_RC_OK)
		return rc;
	err = bpf_object__load(s->obj);
	return err ? not_loaded(s, err) : fx_maps_after_load(s->maps, s->obj);
}

static enum fx_rc not_attached(struct fx_session *s, int err)
{
	const u32 *timeout = ops_member(s, "timeout_ms", sizeof(*timeout));

	return fx_refused_attach(s->policy, graph_name(s),
				 timeout ? *timeout : 0, err);
}

/* ---- attach ----------------------------------------------------------- */

static enum fx_rc attach(struct fx_session *s)
{
	enum fx_rc rc = FX_RC_OK;

	if (s->opt.pin) {
		/* what a policy that ended on its own has left */
		unlinkat(s->pins->fd, "link", 0);
		fx_pins_remove_sub(s->pins, "next");
		fx_pins_remove_sub(s->pins, "");
		rc = fx_pins_write(s->pins, "", s->obj);
	}
	if (rc != FX_RC_OK)
		return rc;
	s->link = bpf_map__attach_struct_ops(s->map);
	if (!s->link)
		return not_attached(s, -errno);
	return s->opt.pin ?
		fx_pins_write_link(s->pins, bpf_link__fd(s->link)) : FX_RC_OK;
}

/*
 * Put the policy in the place of the one whose link is pinned.
 *
 * libbpf updates only links that it created itself in this process. What it
 * does first, to hand the kernel the value of the map, it also does when asked
 * to attach: the kernel takes the value and then refuses the second link,
 * which changes nothing for the policy that is attached. Should that one have
 * ended in this moment, the attach succeeds and the new link takes over.
 */
static enum fx_rc replace(struct fx_session *s)
{
	enum fx_rc rc;
	int old;

	old = fx_pins_link(s->pins);
	if (old < 0) {
		fx_err("the policy of graph '%s' is not pinned, it ends with the process that attached it; end that, then attach without --replace",
		       graph_name(s));
		return FX_RC_INPUT;
	}
	fx_pins_remove_sub(s->pins, "next");
	rc = fx_pins_write(s->pins, "next", s->obj);
	if (rc != FX_RC_OK)
		goto out;

	s->link = bpf_map__attach_struct_ops(s->map);
	if (s->link) {
		unlinkat(s->pins->fd, "link", 0);
		rc = fx_pins_write_link(s->pins, bpf_link__fd(s->link));
	} else if ((errno != EBUSY && errno != EEXIST) ||
		   bpf_link_update(old, bpf_map__fd(s->map), NULL)) {
		rc = not_attached(s, -errno);
	}
	if (rc == FX_RC_OK)
		rc = fx_pins_swap(s->pins, "next", "");
	else
		fx_pins_remove_sub(s->pins, "next");
out:
	close(old);
	return rc;
}

/* What another process holds ends with that, and can be neither swapped nor mended. */
static enum fx_rc check_owner(const struct fx_session *s)
{
	if (fx_owner_of(graph_name(s)) == FX_HOLDER_NONE)
		return FX_RC_OK;
	fx_err("the policy of graph '%s' is not pinned, it ends with the process that attached it; end that, then attach%s",
	       graph_name(s), s->opt.replace ? " without --replace" :
	       s->opt.repair ? " without --repair" : "");
	return FX_RC_INPUT;
}

/* What is on devices already is there to be replaced or mended, or in the way. */
static enum fx_rc check_nics(struct fx_session *s)
{
	bool pinned = fx_nics_pinned(graph_name(s));

	if (s->opt.repair)
		return fx_nics_check_repair(s->bundle);
	if (s->opt.replace && s->bundle->n_nic && !pinned) {
		fx_err("graph '%s' has no pinned programs on network devices to replace; attach without --replace",
		       graph_name(s));
		return FX_RC_INPUT;
	}
	if (s->opt.replace)
		return fx_nics_check_replace(s->bundle);
	if (!pinned)
		return FX_RC_OK;
	fx_err("graph '%s' already has programs on network devices; attach --replace swaps them, `fabricctl detach %s` takes them off",
	       graph_name(s), graph_name(s));
	return FX_RC_INPUT;
}

/* The same on DPUs. */
static enum fx_rc check_dpus(struct fx_session *s)
{
	bool pinned = fx_dpus_pinned(graph_name(s));

	if (s->opt.repair)
		return fx_dpus_check_repair(s->bundle);
	if (s->opt.replace)
		return fx_dpus_check_replace(s->bundle);
	if (!pinned)
		return FX_RC_OK;
	fx_err("graph '%s' already has a policy on DPUs; attach --replace swaps it, `fabricctl detach %s` takes it off",
	       graph_name(s), graph_name(s));
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
		       graph_name(s), s->bundle->object ? "" :
		       ", and the bundle has no part for that", graph_name(s));
		return FX_RC_INPUT;
	}
	s->ours = true;
	return FX_RC_OK;
}

/* All of the part for the module, if there is one. */
static enum fx_rc attach_kernel(struct fx_session *s)
{
	enum fx_rc rc;

	if (!s->bundle->object)
		return FX_RC_OK;
	rc = get_graph(s);
	if (rc == FX_RC_OK)
		rc = check_places(s);
	if (rc == FX_RC_OK)
		rc = load_policy(s);
	if (rc == FX_RC_OK)
		rc = fx_maps_begin(s->maps);
	if (rc == FX_RC_OK)
		rc = s->opt.replace ? replace(s) : attach(s);
	return rc;
}

/* ---- repair ----------------------------------------------------------- */

/* Attach the module's part again when its policy ended or is not there. */
static enum fx_rc repair_kernel(struct fx_session *s)
{
	struct fx_nl_graph *g = fx_alloc(sizeof(*g));
	enum fx_rc rc = FX_RC_SYSTEM;
	int err;

	err = fx_nl_graph_get(s->nl, graph_name(s), g);
	if (err && err != -ENOENT) {
		fx_err("graph '%s': %s", graph_name(s), fx_nl_why(s->nl));
		goto out;
	}
	if (!err && memcmp(g->digest, s->bundle->image.hdr->digest, sizeof(g->digest))) {
		fx_err("the bundle's graph '%s' is not what is loaded under that name; repair with the bundle that was attached",
		       graph_name(s));
		rc = FX_RC_INPUT;
		goto out;
	}
	if (!err && g->flags & FX_GRAPH_F_ATTACHED && !(g->flags & FX_GRAPH_F_BYPASS)) {
		rc = FX_RC_OK;
		goto out;
	}
	/* what ended is taken down as detach does */
	err = err ? 0 : fx_pins_end_link(s->pins);
	if (!err && g->flags & FX_GRAPH_F_ATTACHED)
		err = fx_nl_remove(s->nl, graph_name(s));
	if (err) {
		fx_err("what is left of graph '%s' cannot be removed: %s", graph_name(s),
		       strerror(-err));
		goto out;
	}
	rc = attach_kernel(s);
	s->kernel_repaired = rc == FX_RC_OK;
out:
	free(g);
	return rc;
}

static enum fx_rc repair(struct fx_session *s)
{
	enum fx_rc rc = s->bundle->object ? repair_kernel(s) : FX_RC_OK;
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
	enum fx_rc rc = FX_RC_OK, dpu = FX_RC_OK;

	if (s->nics)
		rc = fx_nics_replace(s->nics, s->pins);
	if (rc != FX_RC_OK)
		return rc;
	if (s->dpus)
		rc = fx_dpus_replace(s->dpus);
	if (rc == FX_RC_OK)
		rc = attach_kernel(s);
	if (s->dpus)
		dpu = fx_dpus_settle(s->dpus, rc != FX_RC_OK, s->pins);
	if (rc == FX_RC_OK && s->nics)
		rc = fx_nics_replace_done(s->nics, s->pins);
	else if (s->nics)
		fx_nics_replace_undo(s->nics, s->pins);
	return rc == FX_RC_OK ? dpu : rc;
}

static enum fx_rc attach_all(struct fx_session *s)
{
	enum fx_rc rc = attach_kernel(s);

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
		pinned = fx_agent_start(graph_name(s), &s->agent_started);
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
		       graph_name(s), graph_name(s));
		return FX_RC_SYSTEM;
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

	if (bundle->object) {
		s->nl = fx_nl_open();
		if (!s->nl)
			goto fail;
	}
	s->owns = !s->opt.pin && (bundle->n_nic || bundle->n_dpu);
	rc = check_system(bundle->object);
	if (rc == FX_RC_OK && (s->opt.pin || s->owns))
		rc = fx_pins_lock(graph_name(s), !opt->repair, &s->pins);
	if (rc == FX_RC_OK && opt->repair && !s->pins) {
		fx_err("graph '%s' has nothing pinned to repair; attach it without --repair",
		       graph_name(s));
		rc = FX_RC_INPUT;
	}
	if (rc == FX_RC_OK)
		rc = check_owner(s);
	if (rc == FX_RC_OK)
		rc = check_nics(s);
	if (rc == FX_RC_OK)
		rc = check_dpus(s);
	if (rc == FX_RC_OK)
		rc = check_pins(s);
	if (rc == FX_RC_OK && s->owns)
		rc = fx_owner_take(s->pins, &s->owner);
	/* what libbpf says of an object is told in our own words */
	fx_bpflog_start(opt->verbose);
	s->maps = fx_maps_new(graph_name(s), &bundle->maps,
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
	/* undo: nothing of what was made stays; what was there does */
	if (s->pins && s->ours && s->owner < 0)
		fx_session_unpin(graph_name(s), s->pins);
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
		fx_pins_lock(graph_name(s), false, &s->pins);
	if (s->pins)
		fx_session_unpin(graph_name(s), s->pins);
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
	    fx_nl_remove(s->nl, graph_name(s)))
		fx_err("graph '%s' cannot be removed: %s", graph_name(s),
		       fx_nl_why(s->nl));
	fx_pins_unlock(s->pins);
	fx_nl_close(s->nl);
	free(s->policy);
	free(s);
}
