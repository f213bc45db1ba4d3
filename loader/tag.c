// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <stdlib.h>
#include <string.h>

#include "diag.h"
#include "pins.h"
#include "system.h"
#include "tag.h"
#include "tag_dev.h"
#include "util.h"

#define SHOWN	12	/* edges listed in one sentence */

struct work {
	const struct fx_tag *tag;
	struct fx_nic_views views;
	u32 edge;			/* instance */
	struct fx_tag_at *at;
	u32 n, cap;
};

/* ---- which edge ------------------------------------------------------- */

/* The instances of a class, which has flows for all or none. */
static u32 instances(const struct fx_nic_views *v, const char *name, u32 *first)
{
	u32 last = 0, n = 0;

	*first = ~0U;
	for (u32 i = 0; i < v->n; i++) {
		const struct fx_nic_view *d = &v->view[i];

		for (u32 j = 0; j < d->conf.rows; j++) {
			if (strcmp(d->row[j].name, name))
				continue;
			*first = d->row[j].edge < *first ? d->row[j].edge : *first;
			last = d->row[j].edge > last ? d->row[j].edge : last;
			n = last - *first + 1;
		}
	}
	return n;
}

/* Whether the edge crosses a DPU that has ended, nobody can tell any more. */
static enum fx_rc is_gone(const struct work *w, const struct fx_nic_view *v)
{
	fx_err("'%s' is not bound, as it may cross dpu '%s': %s", w->tag->edge,
	       v->conf.netdev, v->gone);
	return FX_RC_SYSTEM;
}

static enum fx_rc no_class(const struct work *w, const char *name)
{
	struct fx_words found = { 0 };
	const char *near;
	char *text;

	for (u32 i = 0; i < w->views.n; i++)
		if (w->views.view[i].gone)
			return is_gone(w, &w->views.view[i]);
	for (u32 i = 0; i < w->views.n; i++) {
		const struct fx_nic_view *d = &w->views.view[i];

		for (u32 j = 0; j < d->conf.rows; j++)
			if (!found.n || strcmp(found.word[found.n - 1], d->row[j].name))
				fx_words_add(&found, d->row[j].name);
	}
	near = found.n ? fx_nearest_name(name, (const char *const *)found.word,
					 found.n) : NULL;
	text = fx_words_text(&found, SHOWN);
	fx_err("graph '%s' has no edge '%s' with a flow; it has %s%s%s%s",
	       w->tag->graph, name, text, near ? ": did you mean '" : "",
	       near ? near : "", near ? "'?" : "");
	free(text);
	fx_words_free(&found);
	return FX_RC_INPUT;
}

/* name, or name[i]: the instance's number. */
static enum fx_rc find_edge(struct work *w)
{
	const char *text = w->tag->edge, *bracket = strchr(text, '[');
	size_t len = bracket ? (size_t)(bracket - text) : strlen(text);
	char *name = fx_strndup(text, len), *index = NULL;
	enum fx_rc rc = FX_RC_INPUT;
	u32 first, n;
	u64 i = 0;

	if (bracket) {
		size_t rest = strlen(bracket + 1);

		index = fx_strndup(bracket + 1, rest ? rest - 1 : 0);
		if (rest < 2 || bracket[rest] != ']' || fx_parse_u64(index, &i)) {
			fx_err("'%s' is no edge; it is a name, or a name and the number of an instance such as kv[3]",
			       text);
			goto out;
		}
	}
	n = instances(&w->views, name, &first);
	if (!n) {
		rc = no_class(w, name);
	} else if (!bracket && n > 1) {
		fx_err("'%s' has %u instances; say which, %s[0] to %s[%u]", name, n,
		       name, name, n - 1);
	} else if (i >= n) {
		fx_err("'%s' has no instance %llu; the last is %s[%u]", name, i,
		       name, n - 1);
	} else {
		w->edge = first + i;
		rc = FX_RC_OK;
	}
out:
	free(index);
	free(name);
	return rc;
}

/* ---- at which devices ------------------------------------------------- */

static const struct fx_tag_kind *kind_of(const struct fx_nic_view *v)
{
	return v->dpu ? &fx_tag_dpu : &fx_tag_nic;
}

static enum fx_rc add_device(struct work *w, const struct fx_nic_view *v, u32 row)
{
	struct fx_tag_at at = { w->tag->graph, w->tag->edge, kind_of(v), v, row };

	if (!v->row[row].tagged) {
		fx_err("the flow of '%s' at %s '%s' is not for tagging: the graph has to say flow: { rocev2: tag }",
		       w->tag->edge, at.kind->noun, v->conf.netdev);
		return FX_RC_INPUT;
	}
	fx_grow(w->at, w->n, w->cap);
	w->at[w->n] = at;
	return at.kind->open(&w->at[w->n++]);
}

static enum fx_rc find_devices(struct work *w)
{
	const char *device = w->tag->device;
	enum fx_rc rc = FX_RC_OK;

	for (u32 i = 0; i < w->views.n && rc == FX_RC_OK; i++) {
		const struct fx_nic_view *v = &w->views.view[i];

		if (device && strcmp(device, v->conf.netdev))
			continue;
		if (v->gone)
			rc = is_gone(w, v);
		for (u32 j = 0; j < v->conf.rows && rc == FX_RC_OK; j++)
			if (v->row[j].edge == w->edge)
				rc = add_device(w, v, j);
	}
	if (rc != FX_RC_OK || w->n)
		return rc;
	fx_err("'%s' does not cross a device '%s' that graph '%s' is attached to; `fabricctl stat %s` lists what crosses which",
	       w->tag->edge, device ? device : "", w->tag->graph, w->tag->graph);
	return FX_RC_INPUT;
}

/* ---- binding ---------------------------------------------------------- */

enum fx_rc fx_tag_taken(const struct fx_tag_at *at, u32 qp, u32 other)
{
	const struct fx_nic_row *r = &at->view->row[other];

	fx_err("queue pair %u at %s '%s' is that of another edge, instance %u ('%s'), already",
	       qp, at->kind->noun, at->view->conf.netdev, r->edge, r->name);
	return FX_RC_INPUT;
}

static u32 old_of(const struct fx_tag_at *at)
{
	return at->view->row[at->row].key.qp;
}

static enum fx_rc bind_all(const struct work *w)
{
	const u32 qp = w->tag->qp;
	enum fx_rc rc = FX_RC_OK;
	int err = 0;
	u32 i;

	for (i = 0; i < w->n && rc == FX_RC_OK && qp; i++)
		rc = w->at[i].kind->check(&w->at[i], qp);
	if (rc != FX_RC_OK)
		return rc;
	for (i = 0; i < w->n && !err; i++)
		err = w->at[i].kind->bind(&w->at[i], old_of(&w->at[i]), qp);
	if (!err)
		return FX_RC_OK;
	rc = w->at[i - 1].kind->tell(&w->at[i - 1], err);
	while (i--)
		w->at[i].kind->bind(&w->at[i], qp, old_of(&w->at[i]));
	return rc;
}

enum fx_rc fx_tag(const struct fx_tag *t, u32 *devices)
{
	struct work w = { .tag = t };
	struct fx_pins *pins = NULL;
	enum fx_rc rc;

	*devices = 0;
	rc = fx_pins_lock(t->graph, false, &pins);
	if (rc != FX_RC_OK)
		return rc;
	rc = FX_RC_SYSTEM;
	if (fx_nic_views_read(t->graph, &w.views))
		goto out;
	if (w.views.n) {
		rc = find_edge(&w);
	} else {
		fx_err("graph '%s' is not pinned on a network device or a DPU; attach it with --pin, `fabricctl list` shows what is",
		       t->graph);
		rc = FX_RC_INPUT;
	}
	if (rc == FX_RC_OK)
		rc = find_devices(&w);
	if (rc == FX_RC_OK)
		rc = bind_all(&w);
	if (rc == FX_RC_OK)
		*devices = w.n;
out:
	for (u32 i = 0; i < w.n; i++)
		w.at[i].kind->close(&w.at[i]);
	free(w.at);
	fx_nic_views_free(&w.views);
	fx_pins_unlock(pins);
	return rc;
}
