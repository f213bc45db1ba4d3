// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "diag.h"
#include "nic.h"
#include "nic_rows.h"
#include "nic_tag.h"
#include "pins.h"
#include "system.h"
#include "util.h"

#define SHOWN	12	/* edges listed in one sentence */

enum { MAP_FLOWS, MAP_ROWS, MAP_QPS, MAPS };

static const struct {
	const char *name;
	u32 key, value;			/* sizes; 0: whatever it is */
} maps[MAPS] = {
	[MAP_FLOWS] = { "fx_flows", sizeof(struct fx_flow_key), sizeof(u32) },
	[MAP_ROWS] = { "fx_rows", sizeof(u32), sizeof(struct fx_nic_row) },
	[MAP_QPS] = { "fx_qps", sizeof(struct fx_qp_key), 0 },
};

/* The edge at one device. */
struct bound {
	const struct fx_nic_view *view;
	u32 row;
	int fd[MAPS];
};

struct work {
	const struct fx_tag *tag;
	struct fx_nic_views views;
	u32 edge;			/* instance */
	struct bound *bound;
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

static enum fx_rc no_class(const struct work *w, const char *name)
{
	struct fx_words found = { 0 };
	const char *near;
	char *text;

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

static enum fx_rc open_maps(const struct work *w, struct bound *b)
{
	char *dir = fx_pins_dir(w->tag->graph), *sub = fx_pins_nic(b->view->conf.netdev);
	enum fx_rc rc = FX_RC_OK;

	for (u32 i = 0; i < MAPS; i++)
		b->fd[i] = -1;
	for (u32 i = 0; i < MAPS && rc == FX_RC_OK; i++) {
		struct bpf_map_info info = { 0 };
		u32 len = sizeof(info);
		char *path = fx_asprintf("%s/%s/maps/%s", dir, sub, maps[i].name);

		b->fd[i] = bpf_obj_get(path);
		if (b->fd[i] < 0 || bpf_map_get_info_by_fd(b->fd[i], &info, &len)) {
			fx_err("%s cannot be opened: %s", path, strerror(errno));
			rc = FX_RC_SYSTEM;
		} else if (info.key_size != maps[i].key ||
			   (maps[i].value && info.value_size != maps[i].value)) {
			fx_err("%s is of another version of fabricctl", path);
			rc = FX_RC_SYSTEM;
		}
		free(path);
	}
	free(sub);
	free(dir);
	return rc;
}

static enum fx_rc add_device(struct work *w, const struct fx_nic_view *v, u32 row)
{
	if (!v->row[row].tagged) {
		fx_err("the flow of '%s' at netdev '%s' is not for tagging: the graph has to say flow: { rocev2: tag }",
		       w->tag->edge, v->conf.netdev);
		return FX_RC_INPUT;
	}
	fx_grow(w->bound, w->n, w->cap);
	w->bound[w->n] = (struct bound){ .view = v, .row = row };
	return open_maps(w, &w->bound[w->n++]);
}

static enum fx_rc find_devices(struct work *w)
{
	const char *netdev = w->tag->netdev;
	enum fx_rc rc = FX_RC_OK;

	for (u32 i = 0; i < w->views.n; i++) {
		const struct fx_nic_view *v = &w->views.view[i];

		if (netdev && strcmp(netdev, v->conf.netdev))
			continue;
		for (u32 j = 0; j < v->conf.rows && rc == FX_RC_OK; j++)
			if (v->row[j].edge == w->edge)
				rc = add_device(w, v, j);
	}
	if (rc != FX_RC_OK || w->n)
		return rc;
	fx_err("'%s' does not cross a netdev '%s' that graph '%s' is attached to; `fabricctl stat %s` lists what crosses which",
	       w->tag->edge, netdev ? netdev : "", w->tag->graph, w->tag->graph);
	return FX_RC_INPUT;
}

/* ---- binding ---------------------------------------------------------- */

/* Is the queue pair free there, or the edge's already? */
static enum fx_rc check_free(const struct work *w, const struct bound *b)
{
	struct fx_flow_key key = b->view->row[b->row].key;
	const struct fx_nic_row *r;
	u32 other;

	key.qp = w->tag->qp;
	if (!key.qp || bpf_map_lookup_elem(b->fd[MAP_FLOWS], &key, &other) ||
	    other == b->row)
		return FX_RC_OK;
	if (other >= b->view->conf.rows) {
		fx_err("the maps of netdev '%s' contradict each other; detach the graph",
		       b->view->conf.netdev);
		return FX_RC_SYSTEM;
	}
	r = &b->view->row[other];
	fx_err("queue pair %u at netdev '%s' is that of another edge, instance %u ('%s'), already",
	       key.qp, b->view->conf.netdev, r->edge, r->name);
	return FX_RC_INPUT;
}

/* What was seen of a queue pair's number is not what comes of the next one. */
static int forget(const struct bound *b, u32 qp)
{
	const u8 dir = b->view->row[b->row].dir;
	struct fx_qp_key key, next = { 0 };
	int fd = b->fd[MAP_QPS];
	bool more = !bpf_map_get_next_key(fd, NULL, &key);

	/* others come meanwhile, but not for ever */
	for (u32 i = 0; more && i < 2 * (FX_NIC_QPS + FX_NIC_MAX_FLOWS); i++) {
		more = !bpf_map_get_next_key(fd, &key, &next);
		if (key.qp == qp && key.dir == dir && bpf_map_delete_elem(fd, &key) &&
		    errno != ENOENT)
			return -errno;
		key = next;
	}
	return 0;
}

/* Let the edge at one device have @qp in place of @old; 0 or -errno. */
static int rebind(const struct bound *b, u32 old, u32 qp)
{
	struct fx_nic_row row = b->view->row[b->row];
	int err;

	/* the same number again is the next one that bears it */
	if (old == qp)
		return qp ? forget(b, qp) : 0;
	row.key.qp = qp;
	if (qp) {
		err = forget(b, qp);
		if (err)
			return err;
		if (bpf_map_update_elem(b->fd[MAP_FLOWS], &row.key, &b->row, BPF_ANY))
			return -errno;
	}
	if (bpf_map_update_elem(b->fd[MAP_ROWS], &b->row, &row, BPF_EXIST))
		return -errno;
	row.key.qp = old;
	if (old && bpf_map_delete_elem(b->fd[MAP_FLOWS], &row.key) && errno != ENOENT)
		return -errno;
	return old ? forget(b, old) : 0;
}

static enum fx_rc bind_all(const struct work *w)
{
	const struct fx_nic_row *r;
	enum fx_rc rc = FX_RC_OK;
	int err = 0;
	u32 i;

	for (i = 0; i < w->n && rc == FX_RC_OK; i++)
		rc = check_free(w, &w->bound[i]);
	if (rc != FX_RC_OK)
		return rc;
	for (i = 0; i < w->n && !err; i++) {
		r = &w->bound[i].view->row[w->bound[i].row];
		err = rebind(&w->bound[i], r->key.qp, w->tag->qp);
	}
	if (!err)
		return FX_RC_OK;
	fx_err("the flow of '%s' at netdev '%s' cannot be written: %s", w->tag->edge,
	       w->bound[i - 1].view->conf.netdev, strerror(-err));
	while (i--) {
		r = &w->bound[i].view->row[w->bound[i].row];
		rebind(&w->bound[i], w->tag->qp, r->key.qp);
	}
	return FX_RC_SYSTEM;
}

enum fx_rc fx_nic_tag(const struct fx_tag *t, u32 *devices)
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
		fx_err("graph '%s' is not pinned on a network device; attach it with --pin, `fabricctl list` shows what is",
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
		for (u32 j = 0; j < MAPS; j++)
			if (w.bound[i].fd[j] >= 0)
				close(w.bound[i].fd[j]);
	free(w.bound);
	fx_nic_views_free(&w.views);
	fx_pins_unlock(pins);
	return rc;
}
