// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The part of a policy for the module: its graph, its ops, their link. */
#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bpflog.h"
#include "diag.h"
#include "maps.h"
#include "names.h"
#include "pins.h"
#include "refusal.h"
#include "session_int.h"
#include "system.h"
#include "util.h"

#define OPS_STRUCT	"fabric_ext_ops"

#define FOUND_SHOWN	12	/* things listed in one sentence */

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
	s->was_bypassed = !err && g->flags & FX_GRAPH_F_BYPASS;
	same = !err && !memcmp(g->digest, hdr->digest, sizeof(g->digest));
	if (s->opt.replace && !attached) {
		fx_err("graph '%s' has no policy in the module to replace; attach --repair with the bundle that is attached to its other devices, or without --replace when there are none",
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

struct places {
	bool elsewhere;		/* those of other devices are looked at, and told of, there */
	u32 absent;
};

static void check_place(const void *row, void *arg)
{
	const struct fx_nl_place *p = row;
	struct fx_words found = { 0 };
	struct places *places = arg;
	const char *near;
	bool there;
	char *text;

	if (places->elsewhere && (p->desc.match_kind == FX_MATCH_NETDEV ||
				  p->desc.match_kind == FX_MATCH_DPU))
		return;
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
		places->absent++;
	}
	fx_words_free(&found);
}

static enum fx_rc check_places(struct fx_session *s)
{
	struct places places = { .elsewhere = s->opt.repair };

	if (fx_nl_dump(s->nl, FX_CMD_PLACE_GET, fx_session_graph(s), check_place,
		       &places)) {
		fx_err("the places of graph '%s' cannot be read: %s",
		       fx_session_graph(s), fx_nl_why(s->nl));
		return FX_RC_SYSTEM;
	}
	return places.absent ? FX_RC_INPUT : FX_RC_OK;
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
	memcpy(graph, fx_session_graph(s), strnlen(fx_session_graph(s), FX_NAME_LEN - 1));
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

	return fx_refused_attach(s->policy, fx_session_graph(s),
				 timeout ? *timeout : 0, err);
}

/* ---- attach ----------------------------------------------------------- */

static enum fx_rc attach(struct fx_session *s)
{
	enum fx_rc rc = FX_RC_OK;

	if (s->opt.pin) {
		/* what a policy that ended on its own has left */
		unlinkat(s->pins->fd, "link", 0);
		fx_pins_remove_sub(s->pins, FX_KERNEL_NEXT);
		fx_pins_remove_sub(s->pins, "");
		rc = fx_pins_write(s->pins, "", s->obj);
		if (rc == FX_RC_OK)
			rc = fx_session_write_conf(s, "");
	}
	if (rc != FX_RC_OK)
		return rc;
	s->link = bpf_map__attach_struct_ops(s->map);
	if (!s->link)
		return not_attached(s, -errno);
	return s->opt.pin ?
		fx_pins_write_link(s->pins, bpf_link__fd(s->link)) : FX_RC_OK;
}

/* The map of ops that a link runs; -1 when its policy has ended. */
static int ops_of(int link)
{
	struct bpf_link_info info = { 0 };
	u32 len = sizeof(info);

	if (bpf_link_get_info_by_fd(link, &info, &len) || !info.struct_ops.map_id)
		return -1;
	return bpf_map_get_fd_by_id(info.struct_ops.map_id);
}

/*
 * What was by-passed when this began is in force again, as that is what was asked
 * for; a bypass since then, by whoever wants no policy at all, holds.
 */
static bool bypassed_meanwhile(struct fx_session *s)
{
	struct fx_nl_graph *g = fx_calloc(1, sizeof(*g));
	bool bypassed;

	bypassed = !s->was_bypassed && !fx_nl_graph_get(s->nl, fx_session_graph(s), g) &&
		   g->flags & FX_GRAPH_F_BYPASS;
	free(g);
	return bypassed;
}

/*
 * Have the pinned link run the new policy.
 *
 * libbpf updates only links that it created itself in this process. What it
 * does first, to hand the kernel the value of the map, it also does when asked
 * to attach: the kernel takes the value and then refuses the second link,
 * which changes nothing for the policy that is attached. Should that one have
 * ended in this moment, the attach succeeds and the new link takes over.
 */
static enum fx_rc update(struct fx_session *s, int old, int before)
{
	bool bypassed = bypassed_meanwhile(s);

	s->link = bpf_map__attach_struct_ops(s->map);
	if (s->link) {
		unlinkat(s->pins->fd, "link", 0);
		return fx_pins_write_link(s->pins, bpf_link__fd(s->link));
	}
	if ((errno != EBUSY && errno != EEXIST) ||
	    bpf_link_update(old, bpf_map__fd(s->map), NULL))
		return not_attached(s, -errno);
	if (bypassed && fx_nl_bypass(s->nl, fx_session_graph(s))) {
		fx_err("graph '%s' was by-passed meanwhile, and its new policy in the module cannot be: %s",
		       fx_session_graph(s), fx_nl_why(s->nl));
		/* the old one is */
		if (before >= 0)
			bpf_link_update(old, before, NULL);
		return FX_RC_SYSTEM;
	}
	return FX_RC_OK;
}

/*
 * The new policy is in force: what is pinned follows, or the link goes back to
 * @before, so that all devices have the policy that is pinned. Otherwise @stays.
 */
static enum fx_rc settle(struct fx_session *s, int old, int before, bool *stays)
{
	if (fx_pins_swap(s->pins, FX_KERNEL_NEXT, "") == FX_RC_OK)
		return FX_RC_OK;
	*stays = s->link || before < 0 || bpf_link_update(old, before, NULL);
	if (*stays)
		fx_err("policy '%s' is in force in the module all the same; attach --repair with its bundle, or with that of the one before",
		       s->policy);
	return FX_RC_SYSTEM;
}

/* Put the policy in the place of the one whose link is pinned. */
static enum fx_rc replace(struct fx_session *s)
{
	const char *running = fx_session_running(s);
	int old = fx_pins_link(s->pins), before;
	enum fx_rc rc = FX_RC_OK;
	bool stays = false;

	if (old < 0) {
		fx_err("the policy of graph '%s' is not pinned, it ends with the process that attached it; end that, then attach without --replace",
		       fx_session_graph(s));
		return FX_RC_INPUT;
	}
	before = ops_of(old);
	/* what one that was killed has put in force is what is to be replaced */
	if (running && *running)
		rc = fx_pins_swap(s->pins, running, "");
	if (rc != FX_RC_OK)
		goto out;
	fx_pins_remove_sub(s->pins, FX_KERNEL_NEXT);
	rc = fx_pins_write(s->pins, FX_KERNEL_NEXT, s->obj);
	if (rc == FX_RC_OK)
		rc = fx_session_write_conf(s, FX_KERNEL_NEXT);
	if (rc == FX_RC_OK)
		rc = update(s, old, before);
	if (rc == FX_RC_OK)
		rc = settle(s, old, before, &stays);
	if (rc != FX_RC_OK && !stays)
		fx_pins_remove_sub(s->pins, FX_KERNEL_NEXT);
out:
	if (before >= 0)
		close(before);
	close(old);
	return rc;
}

enum fx_rc fx_session_attach_kernel(struct fx_session *s)
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

/* What ended is taken down, as detach does, and attached anew. */
static enum fx_rc attach_anew(struct fx_session *s, const struct fx_nl_graph *g)
{
	int err = fx_pins_end_link(s->pins);

	if (!err && g->flags & FX_GRAPH_F_ATTACHED)
		err = fx_nl_remove(s->nl, fx_session_graph(s));
	if (err) {
		fx_err("what is left of graph '%s' cannot be removed: %s", fx_session_graph(s),
		       strerror(-err));
		return FX_RC_SYSTEM;
	}
	return fx_session_attach_kernel(s);
}

/*
 * A replacement was killed: put in force and in place what the bundle has, be it
 * the old policy or the new one. It is loaded again, as the maps that devices share
 * may not have been pinned yet.
 */
static enum fx_rc finish_replace(struct fx_session *s)
{
	enum fx_rc rc = load_policy(s);

	if (rc == FX_RC_OK)
		rc = fx_maps_begin(s->maps);
	return rc == FX_RC_OK ? replace(s) : rc;
}

enum fx_rc fx_session_repair_kernel(struct fx_session *s)
{
	struct fx_nl_graph *g = fx_calloc(1, sizeof(*g));
	struct fx_kernel_conf conf = { 0 };
	const char *running;
	enum fx_rc rc = FX_RC_SYSTEM;
	bool well;
	int err;

	err = fx_nl_graph_get(s->nl, fx_session_graph(s), g);
	if (err && err != -ENOENT) {
		fx_err("graph '%s': %s", fx_session_graph(s), fx_nl_why(s->nl));
		goto out;
	}
	if (!err && memcmp(g->digest, s->bundle->image.hdr->digest, sizeof(g->digest))) {
		fx_err("the bundle's graph '%s' is not what is loaded under that name; repair with the bundle that was attached",
		       fx_session_graph(s));
		rc = FX_RC_INPUT;
		goto out;
	}
	/* what recorded goes on recording */
	if (fx_session_is_bundles(s, "", &conf) ||
	    fx_session_is_bundles(s, FX_KERNEL_NEXT, &conf))
		s->opt.audit |= conf.flags & FX_POLICY_F_AUDIT;
	else if (!err)
		s->opt.audit |= g->flags & FX_GRAPH_F_AUDIT;

	running = fx_session_running(s);
	well = !err && g->flags & FX_GRAPH_F_ATTACHED && !(g->flags & FX_GRAPH_F_BYPASS);
	if (well && (!running || (!*running && fx_maps_listed(s->maps) &&
				  fx_session_is_bundles(s, "", &conf)))) {
		/* that of a replacement which was killed before it was in force */
		if (running)
			fx_pins_remove_sub(s->pins, FX_KERNEL_NEXT);
		rc = FX_RC_OK;
		goto out;
	}
	rc = well ? finish_replace(s) : attach_anew(s, g);
	s->kernel_repaired = rc == FX_RC_OK;
out:
	free(g);
	return rc;
}
