// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* A graph that is on DPUs already: asked, ended, told of. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "diag.h"
#include "dpus.h"
#include "dpus_int.h"
#include "nic.h"
#include "system.h"
#include "util.h"

bool fx_dpus_pinned(const char *graph)
{
	return fx_pins_has(graph, fx_pins_list_dpus);
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
int fx_dpus_read_conf(const char *dir, struct fx_nic_conf *conf)
{
	char *path = fx_asprintf("%s/" FX_DPUS_CONF, dir);
	int err = fx_map_read(path, conf, sizeof(*conf));

	free(path);
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

/* Once, whoever looks again and again. */
static void tell_once(const char *text)
{
	static struct fx_words told;

	for (u32 i = 0; i < told.n; i++)
		if (!strcmp(told.word[i], text))
			return;
	fx_words_add(&told, text);
	fx_info("%s", text);
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
		if (memcmp(v->conf.object, head.conf.object, sizeof(v->conf.object)))
			v->amiss = "it has another policy than is written down: attach --repair or --replace mends that";
		take_rows(v, &head, rows);
	} else if (!err || err == -ENOENT) {
		char *text = fx_asprintf("dpu '%s' does not have graph '%s' any more, it was started anew; attach --repair mends that",
					 dpu, graph);

		v->gone = "its fabric-dpu was started anew: attach --repair mends that";
		tell_once(text);
		free(text);
	} else {
		/* whatever one has, it does not hide the others, nor other graphs */
		v->gone = err == -ECONNREFUSED || err == -EPIPE ? "its fabric-dpu has ended" :
			  err == -ETIMEDOUT || err == -EAGAIN ? "its fabric-dpu does not answer" :
			  "its fabric-dpu cannot be asked";
		tell_once(fx_dpu_why(d));
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

		err = fx_dpus_read_conf(sub, &view.conf);
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
