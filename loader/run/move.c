// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "data.h"
#include "party.h"
#include "run.h"
#include "../diag.h"
#include "../names.h"
#include "../util.h"

/* A source under way. */
struct source {
	int fd;
	u32 drm_handle;
	u32 handle;
	u64 bytes;
};

static const struct fx_class_desc *class_out(const struct fx_run *r)
{
	return &r->before.cls[r->cls].desc;
}

static enum fx_rc fill(const struct source *s, u64 seed)
{
	void *p = fx_map(s->fd, s->bytes, true);

	if (!p) {
		fx_err("a dma-buf of %llu bytes cannot be mapped: %s", s->bytes,
		       strerror(errno));
		return FX_RC_SYSTEM;
	}
	fx_data_fill(p, s->bytes, seed);
	fx_unmap(s->fd, p, s->bytes, true);
	return FX_RC_OK;
}

/* A heap's buffer with an instance's data, tagged, and imported by the GPU. */
static enum fx_rc source_make(struct fx_run *r, u32 instance, struct source *s)
{
	const struct fx_class_desc *c = class_out(r);
	u32 edge = c->first + instance;
	int err;

	*s = (struct source){ .fd = -1, .bytes = r->edges[edge].bytes };
	s->fd = fx_heap_alloc(r->heap, s->bytes);
	if (s->fd < 0) {
		fx_err("heap '%s' has no %llu bytes: %s", r->opt->heap, s->bytes,
		       strerror(-s->fd));
		return FX_RC_SYSTEM;
	}
	if (fill(s, instance) != FX_RC_OK)
		return FX_RC_SYSTEM;
	err = fx_dev_import(r->dev, s->fd, c->from, edge, &s->handle);
	if (err) {
		fx_err("%s[%u]: its dma-buf cannot be imported at place '%s': %s",
		       c->name, instance, fx_run_place(r, c->from), strerror(-err));
		return FX_RC_SYSTEM;
	}
	err = fx_drm_import(r->drm, s->fd, &s->drm_handle);
	if (err) {
		fx_err("%s[%u]: driver '%s' cannot attach its dma-buf: %s", c->name,
		       instance, r->before.place[c->from].desc.match, strerror(-err));
		return FX_RC_SYSTEM;
	}
	return FX_RC_OK;
}

static void source_free(struct fx_run *r, struct source *s)
{
	if (s->drm_handle)
		fx_drm_forget(r->drm, s->drm_handle);
	if (s->handle)
		fx_dev_free(r->dev, s->handle);
	if (s->fd >= 0)
		close(s->fd);
}

/* Verified whatever the edge says: run compares checksums, so there must be one. */
static struct fx_desc descriptor(u64 cookie, u32 edge, u32 src, u64 bytes)
{
	return (struct fx_desc){
		.size = sizeof(struct fx_desc),
		.version = FX_UAPI_VERSION,
		.cookie = cookie,
		.edge = edge,
		.src = src,
		.bytes = bytes,
		.xforms = FX_DESC_XFORMS_EDGE,
		.flags = FX_DESC_F_VERIFY,
	};
}

/* Whether a completion is of one of @n descriptors, and indexes what there is. */
static bool is_of(const struct fx_run *r, const struct fx_completion *c,
		  const struct fx_desc *desc, u32 n)
{
	for (u32 i = 0; i < n; i++)
		if (c->cookie == desc[i].cookie)
			return c->edge < r->n_edges && c->place < r->before.n_place;
	return false;
}

/* Submit, wait, and see that all went well. */
static enum fx_rc execute(struct fx_run *r, const struct fx_desc *desc,
			  struct fx_completion *done, u32 n)
{
	int err = fx_dev_submit(r->dev, desc, n);

	if (!err)
		err = fx_dev_wait(r->dev, done, n);
	if (err) {
		fx_err("%u descriptors of graph '%s': %s; the kernel's log names the field",
		       n, r->opt->graph, strerror(-err));
		return FX_RC_SYSTEM;
	}
	for (u32 i = 0; i < n; i++) {
		if (!done[i].error && is_of(r, &done[i], desc, n))
			continue;
		if (!done[i].error) {
			fx_err("graph '%s': a completion (cookie %llu, edge %u, place %u) is of nothing that was submitted",
			       r->opt->graph, done[i].cookie, done[i].edge,
			       done[i].place);
			return FX_RC_SYSTEM;
		}
		fx_err("the move of edge %u of graph '%s' ended %s (%s)", done[i].edge,
		       r->opt->graph, fx_name(&fx_reasons, done[i].reason),
		       strerrorname_np(-done[i].error) ?: "no errno");
		return FX_RC_SYSTEM;
	}
	fx_run_read_events(r);
	return FX_RC_OK;
}

static enum fx_rc batch_out(struct fx_run *r, u32 first, u32 n)
{
	const struct fx_class_desc *c = class_out(r);
	struct fx_completion done[FX_RUN_BATCH];
	struct source src[FX_RUN_BATCH];
	struct fx_desc desc[FX_RUN_BATCH] = { 0 };
	enum fx_rc rc = FX_RC_OK;
	u32 made = 0;

	while (made < n && rc == FX_RC_OK) {
		u32 i = made++;

		rc = source_make(r, first + i, &src[i]);
		desc[i] = descriptor(first + i, c->first + first + i, src[i].handle,
				     src[i].bytes);
	}
	if (rc == FX_RC_OK && !first && r->opt->stranger)
		rc = fx_check_stranger(r, src[0].fd, src[0].bytes);
	if (rc == FX_RC_OK)
		rc = execute(r, desc, done, n);
	for (u32 i = 0; i < n && rc == FX_RC_OK; i++) {
		u32 instance = (u32)done[i].cookie;

		fx_run_count(r, r->cls, &done[i]);
		r->kept[instance] = (struct fx_kept){
			.handle = done[i].dst,
			.place = done[i].place,
			.element = done[i].element,
			.bytes = done[i].bytes_out,
		};
		rc = fx_check_out(r, instance, &done[i]);
	}
	for (u32 i = 0; i < made; i++)
		source_free(r, &src[i]);
	return rc;
}

/* The graph brings an instance back nowhere, or where run cannot look. */
static enum fx_rc no_way_back(const struct fx_run *r, u32 instance, u32 edge)
{
	const struct fx_kept *k = &r->kept[instance];
	const char *name = class_out(r)->name, *from = fx_run_place(r, k->place);
	const struct fx_class_desc *c;

	if (edge == FX_EDGE_NONE) {
		fx_err("graph '%s' has no edge that brings %s[%u] back from place '%s' as %llu bytes of %s; add one with the same alias, to a place with `node:` or `region:`",
		       r->opt->graph, name, instance, from, k->bytes,
		       fx_name(&fx_elements, k->element));
		return FX_RC_INPUT;
	}
	c = &r->before.cls[r->edges[edge].cls].desc;
	fx_err("graph '%s': '%s' brings %s[%u] back from place '%s', but to %s%s%s, where run cannot look; add one to a single place with `node:` or `region:`",
	       r->opt->graph, c->name, name, instance, from,
	       c->n_to == 1 ? "place '" : "", c->n_to == 1 ? fx_run_place(r, c->to[0]) :
	       "several places", c->n_to == 1 ? "'" : "");
	return FX_RC_INPUT;
}

static enum fx_rc batch_back(struct fx_run *r, u32 first, u32 n)
{
	struct fx_completion done[FX_RUN_BATCH];
	struct fx_desc desc[FX_RUN_BATCH] = { 0 };
	enum fx_rc rc;
	u32 found = 0;

	for (u32 i = 0; i < n; i++) {
		const struct fx_kept *k = &r->kept[first + i];
		u32 edge;

		if (fx_run_back_edge(r, first + i, &edge)) {
			desc[found++] = descriptor(first + i, edge, k->handle, k->bytes);
			continue;
		}
		/* in an audit they went where no policy sent them */
		if (!fx_run_audits(r))
			return no_way_back(r, first + i, edge);
		fx_dev_free(r->dev, k->handle);
		r->stayed++;
	}
	n = found;
	rc = n ? execute(r, desc, done, n) : FX_RC_OK;
	for (u32 i = 0; i < n && rc == FX_RC_OK; i++) {
		u32 edge = done[i].edge;

		fx_run_count(r, r->edges[edge].cls, &done[i]);
		rc = fx_check_back(r, (u32)done[i].cookie, &done[i]);
	}
	return rc;
}

/* All instances, as many at once as are under way together. */
static enum fx_rc in_batches(struct fx_run *r,
			     enum fx_rc (*batch)(struct fx_run *r, u32 first, u32 n))
{
	u32 count = class_out(r)->count;
	enum fx_rc rc = FX_RC_OK;

	for (u32 i = 0; i < count && rc == FX_RC_OK; i += FX_RUN_BATCH)
		rc = batch(r, i, count - i < FX_RUN_BATCH ? count - i : FX_RUN_BATCH);
	return rc;
}

/**
 * fx_run_out() - move every instance to where the policy wants it
 * @r: planned
 *
 * Return: FX_RC_OK when each arrived and passed its checks.
 */
enum fx_rc fx_run_out(struct fx_run *r)
{
	return in_batches(r, batch_out);
}

/**
 * fx_run_back() - move every instance back
 * @r: after fx_run_out()
 *
 * Return: FX_RC_OK when each is what it was.
 */
enum fx_rc fx_run_back(struct fx_run *r)
{
	return in_batches(r, batch_back);
}
