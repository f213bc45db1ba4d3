// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "diag.h"
#include "json.h"
#include "report.h"
#include "util.h"

/* Printed of one file; the rest is counted. */
#define MAX_PRINTED	100

/* ---- the run's report ------------------------------------------------- */

static struct json_object *errors, *diagnostics;
static bool have_result;

static char *vformat(const char *fmt, va_list ap)
{
	char *s = NULL;

	if (vasprintf(&s, fmt, ap) < 0) {
		fputs("fabricctl: out of memory\n", stderr);
		exit(FX_RC_SYSTEM);
	}
	return s;
}

/* Nothing of a file or a policy reaches a terminal as a control character. */
static void put_plain(const char *s, u32 len, FILE *out)
{
	for (u32 i = 0; i < len; i++)
		fputc(s[i] == '\t' || (unsigned char)s[i] >= 0x20 ?
		      (s[i] == 0x7f ? '?' : s[i]) : '?', out);
}

void fx_err(const char *fmt, ...)
{
	va_list ap;
	char *s;

	va_start(ap, fmt);
	s = vformat(fmt, ap);
	va_end(ap);
	fputs("fabricctl: ", stderr);
	put_plain(s, strlen(s), stderr);
	fputc('\n', stderr);
	if (!errors)
		errors = fx_json_array();
	fx_json_add_str(errors, s);
	free(s);
}

enum fx_rc fx_read_failed(const char *what, const char *path, int err)
{
	static const struct {
		int err;
		const char *text;
	} input[] = {
		{ -ENOENT, "there is no such file" },
		{ -ENOTDIR, "a part of its path is no directory" },
		{ -ENAMETOOLONG, "its name is too long" },
		{ -EISDIR, "it is a directory" },
		{ -EINVAL, "it is no regular file" },
		{ -EFBIG, "it is too large" },
	};

	for (u32 i = 0; i < ARRAY_SIZE(input); i++) {
		if (input[i].err != err)
			continue;
		fx_err("%s %s cannot be read: %s", what, path, input[i].text);
		return FX_RC_INPUT;
	}
	fx_err("%s %s cannot be read: %s", what, path, strerror(-err));
	return FX_RC_SYSTEM;
}

void fx_info(const char *fmt, ...)
{
	va_list ap;

	if (fx_json_mode)
		return;
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
}

void fx_report_result(void)
{
	have_result = true;
}

void fx_report_diagnostic(struct json_object *o)
{
	if (!diagnostics)
		diagnostics = fx_json_array();
	fx_json_add(diagnostics, o);
}

struct json_object *fx_report_take_diagnostics(void)
{
	struct json_object *o = diagnostics;

	diagnostics = NULL;
	return o;
}

enum fx_rc fx_report_end(enum fx_rc rc)
{
	struct json_object *o;

	if (fx_json_mode && !have_result && rc != FX_RC_OK) {
		o = fx_json_object();
		fx_json_put(o, "errors", errors ? errors : fx_json_array());
		fx_json_put(o, "diagnostics",
			    diagnostics ? diagnostics : fx_json_array());
		fx_json_print(o);
	} else {
		json_object_put(errors);
		json_object_put(diagnostics);
	}
	errors = NULL;
	diagnostics = NULL;
	if (fflush(stdout) || ferror(stdout)) {
		fprintf(stderr, "fabricctl: standard output cannot be written\n");
		return FX_RC_SYSTEM;
	}
	return rc;
}

/* ---- diagnostics about one file --------------------------------------- */

struct note {
	struct fx_pos pos;
	char *text;
};

struct fx_diag {
	u32 seq;
	u32 code;
	bool warning;
	struct fx_pos pos;
	char *text;
	char *help;
	struct note *note;
	u32 n_note, cap_note;
};

struct fx_diags {
	char *path;
	const char *text;
	size_t len;
	struct fx_diag *diag;
	u32 n, cap;
	/* the place printed last, from which the next is found */
	const char *last;	/* where its line begins */
	u32 last_line;		/* 0: none yet */
	u32 last_col, last_at;	/* a column of the line, and its byte */
};

struct fx_diags *fx_diags_new(const char *path, const char *text, size_t len)
{
	struct fx_diags *d = fx_calloc(1, sizeof(*d));

	d->path = fx_strdup(path);
	d->text = text;
	d->len = text ? len : 0;
	return d;
}

static void diags_clear(struct fx_diags *d)
{
	for (u32 i = 0; i < d->n; i++) {
		struct fx_diag *g = &d->diag[i];

		for (u32 j = 0; j < g->n_note; j++)
			free(g->note[j].text);
		free(g->note);
		free(g->text);
		free(g->help);
	}
	d->n = 0;
}

void fx_diags_free(struct fx_diags *d)
{
	if (!d)
		return;
	diags_clear(d);
	free(d->diag);
	free(d->path);
	free(d);
}

struct fx_diag *fx_diag(struct fx_diags *d, u32 code, struct fx_pos pos,
			const char *fmt, ...)
{
	struct fx_diag *g;
	va_list ap;

	fx_grow(d->diag, d->n, d->cap);
	g = &d->diag[d->n];
	memset(g, 0, sizeof(*g));
	g->seq = d->n++;
	g->code = code;
	g->pos = pos;
	va_start(ap, fmt);
	g->text = vformat(fmt, ap);
	va_end(ap);
	return g;
}

void fx_diag_warning(struct fx_diag *g)
{
	g->warning = true;
}

void fx_diag_note(struct fx_diag *g, struct fx_pos pos, const char *fmt, ...)
{
	struct note *n;
	va_list ap;

	fx_grow(g->note, g->n_note, g->cap_note);
	n = &g->note[g->n_note++];
	n->pos = pos;
	va_start(ap, fmt);
	n->text = vformat(fmt, ap);
	va_end(ap);
}

void fx_diag_help(struct fx_diag *g, const char *fmt, ...)
{
	va_list ap;

	free(g->help);
	va_start(ap, fmt);
	g->help = vformat(fmt, ap);
	va_end(ap);
}

u32 fx_diags_count(const struct fx_diags *d)
{
	return d->n;
}

/* The file's order; what was found first comes first within a place. */
static int by_place(const void *a, const void *b)
{
	const struct fx_diag *x = a, *y = b;

	if (x->pos.line != y->pos.line)
		return x->pos.line < y->pos.line ? -1 : 1;
	if (x->pos.col != y->pos.col)
		return x->pos.col < y->pos.col ? -1 : 1;
	return x->seq < y->seq ? -1 : x->seq > y->seq;
}

/*
 * One source line without its end; false when there is none such. Diagnostics
 * are printed in the file's order, so that it mostly goes on from the last.
 */
static bool source_line(struct fx_diags *d, u32 line, const char **start,
			u32 *len)
{
	const char *p = d->text, *end = d->text + d->len, *nl;
	u32 at = 1;

	if (!p || !line)
		return false;
	if (d->last_line && d->last_line <= line) {
		p = d->last;
		at = d->last_line;
	}
	for (; at < line; at++) {
		p = memchr(p, '\n', end - p);
		if (!p)
			return false;
		p++;
	}
	if (d->last_line != line) {
		d->last_col = 1;
		d->last_at = 0;
	}
	d->last = p;
	d->last_line = line;
	nl = memchr(p, '\n', end - p);
	*start = p;
	*len = (nl ? nl : end) - p;
	if (*len && p[*len - 1] == '\r')
		(*len)--;
	return true;
}

static void place(const struct fx_diags *d, struct fx_pos pos, FILE *out)
{
	put_plain(d->path, strlen(d->path), out);
	if (pos.line)
		fprintf(out, ":%u:%u", pos.line, pos.col);
	fputs(": ", out);
}

static bool utf8_tail(char c)
{
	return ((unsigned char)c & 0xc0) == 0x80;
}

/* What is shown of a line: all, or what stands around the place. */
struct window {
	const char *line;
	u32 first, end;		/* bytes of the line */
	u32 at;			/* of the place */
};

/* Machine-made JSON has lines of megabytes, and an error in each value. */
static bool window(struct fx_diags *d, struct fx_pos pos, struct window *w)
{
	const u32 width = 160;
	u32 len, col = 1;

	*w = (struct window){ 0 };
	if (!source_line(d, pos.line, &w->line, &len))
		return false;
	if (d->last_col <= pos.col) {
		col = d->last_col;
		w->at = d->last_at;
	}
	for (; w->at < len && col < pos.col; col++)
		for (w->at++; w->at < len && utf8_tail(w->line[w->at]);)
			w->at++;
	d->last_col = col;
	d->last_at = w->at;
	if (w->at > width / 2 && len > width)
		w->first = w->at - width / 2;
	while (w->first < len && w->first && utf8_tail(w->line[w->first]))
		w->first++;
	w->end = len;
	if (len - w->first > width) {
		w->end = w->first + width;
		while (w->end > w->first && utf8_tail(w->line[w->end]))
			w->end--;
	}
	return true;
}

/* The line and a caret below the column, which counts characters. */
static void excerpt(struct fx_diags *d, struct fx_pos pos, FILE *out)
{
	struct window w;

	if (!window(d, pos, &w))
		return;
	fprintf(out, "%5u | ", pos.line);
	put_plain(w.line + w.first, w.end - w.first, out);
	fprintf(out, "\n      | ");
	for (u32 i = w.first; i < w.at; i++)
		if (!utf8_tail(w.line[i]))
			fputc(w.line[i] == '\t' ? '\t' : ' ', out);
	fprintf(out, "^\n");
}

static void print_text(struct fx_diags *d, const struct fx_diag *g)
{
	place(d, g->pos, stderr);
	fprintf(stderr, "%s[FX%04u]: ", g->warning ? "warning" : "error", g->code);
	put_plain(g->text, strlen(g->text), stderr);
	fputc('\n', stderr);
	excerpt(d, g->pos, stderr);
	for (u32 i = 0; i < g->n_note; i++) {
		place(d, g->note[i].pos, stderr);
		fprintf(stderr, "note: ");
		put_plain(g->note[i].text, strlen(g->note[i].text), stderr);
		fputc('\n', stderr);
		excerpt(d, g->note[i].pos, stderr);
	}
	if (g->help) {
		fprintf(stderr, "      = help: ");
		put_plain(g->help, strlen(g->help), stderr);
		fputc('\n', stderr);
	}
}

static void json_place(const struct fx_diags *d, struct json_object *o,
		       struct fx_pos pos)
{
	fx_json_str(o, "file", d->path);
	if (!pos.line)
		return;
	fx_json_u64(o, "line", pos.line);
	fx_json_u64(o, "column", pos.col);
}

static void print_json(struct fx_diags *d, const struct fx_diag *g)
{
	struct json_object *o = fx_json_object();
	struct json_object *notes, *note;
	struct window w;
	char *s;

	s = fx_asprintf("FX%04u", g->code);
	fx_json_str(o, "code", s);
	free(s);
	fx_json_str(o, "severity", g->warning ? "warning" : "error");
	json_place(d, o, g->pos);
	fx_json_str(o, "message", g->text);
	if (window(d, g->pos, &w)) {
		s = fx_strndup(w.line + w.first, w.end - w.first);
		fx_json_str(o, "source", s);
		free(s);
	}
	notes = fx_json_array();
	for (u32 i = 0; i < g->n_note; i++) {
		note = fx_json_object();
		json_place(d, note, g->note[i].pos);
		fx_json_str(note, "message", g->note[i].text);
		fx_json_add(notes, note);
	}
	fx_json_put(o, "notes", notes);
	if (g->help)
		fx_json_str(o, "help", g->help);
	fx_report_diagnostic(o);
}

u32 fx_diags_print(struct fx_diags *d)
{
	u32 n = d->n, errors = 0;

	if (n)
		qsort(d->diag, n, sizeof(*d->diag), by_place);
	for (u32 i = 0; i < n; i++)
		errors += !d->diag[i].warning;
	for (u32 i = 0; i < n; i++) {
		if (fx_json_mode) {
			print_json(d, &d->diag[i]);
		} else if (i < MAX_PRINTED) {
			print_text(d, &d->diag[i]);
		} else {
			fprintf(stderr, "%s: %u more errors not shown; -j lists all\n",
				d->path, n - i);
			break;
		}
	}
	diags_clear(d);
	return errors;
}
