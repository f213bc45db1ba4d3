// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <bpf/libbpf.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bpflog.h"
#include "util.h"

#define LOG_MAX		(8U << 20)	/* kept; what comes later is dropped */
#define BEGIN_MARK	"-- BEGIN PROG LOAD LOG --"
#define END_MARK	"-- END PROG LOAD LOG --"

static char *kept;
static size_t kept_len;
static bool print_too;

static int keep(enum libbpf_print_level level, const char *fmt, va_list ap)
{
	char *s = NULL;
	int len;

	if (level == LIBBPF_DEBUG && !print_too)
		return 0;
	len = vasprintf(&s, fmt, ap);
	if (len < 0)
		return 0;
	if (print_too)
		fputs(s, stderr);
	if (level != LIBBPF_DEBUG && kept_len + (size_t)len < LOG_MAX) {
		kept = fx_realloc(kept, kept_len + (size_t)len + 1, 1);
		memcpy(kept + kept_len, s, (size_t)len + 1);
		kept_len += (size_t)len;
	}
	free(s);
	return len;
}

void fx_bpflog_start(bool verbose)
{
	print_too = verbose;
	fx_bpflog_reset();
	libbpf_set_print(keep);
}

const char *fx_bpflog_text(void)
{
	return kept ? kept : "";
}

void fx_bpflog_reset(void)
{
	free(kept);
	kept = NULL;
	kept_len = 0;
}

/* ---- the verifier's log ----------------------------------------------- */

struct line {
	const char *at;
	size_t len;
};

/* The next line of @p that is not empty; false at the end. */
static bool next_line(const char **p, const char *end, struct line *l)
{
	while (*p < end) {
		const char *nl = memchr(*p, '\n', (size_t)(end - *p));

		l->at = *p;
		l->len = (size_t)((nl ? nl : end) - *p);
		*p = nl ? nl + 1 : end;
		while (l->len && strchr(" \t\r", l->at[l->len - 1]))
			l->len--;
		if (l->len)
			return true;
	}
	return false;
}

static bool begins(const struct line *l, const char *with)
{
	return l->len >= strlen(with) && !memcmp(l->at, with, strlen(with));
}

/*
 * "; source text @ file.c:12": the last " @ " counts, the text may hold one.
 * Older verifiers leave the place out.
 */
static bool source_line(const struct line *l, struct line *text, struct line *place)
{
	if (!begins(l, "; "))
		return false;
	text->at = l->at + 2;
	text->len = l->len - 2;
	place->len = 0;
	for (size_t i = text->len; i-- > 2;) {
		if (memcmp(text->at + i - 2, " @ ", 3))
			continue;
		place->at = text->at + i + 1;
		place->len = text->len - i - 1;
		text->len = i - 2;
		break;
	}
	while (text->len && (*text->at == ' ' || *text->at == '\t')) {
		text->at++;
		text->len--;
	}
	return true;
}

/* Lines that tell what the verifier did, not why it stopped. */
static bool is_progress(const struct line *l)
{
	static const char *const noise[] = {
		"processed ", "verification time ", "stack depth ", "mark_precise:",
		"peak_states ", "max_states_per_insn ", "from ", "propagating ",
		"frame", "caller:", "callee:", "returning from callee:", "to caller at ",
		"cur state:", "old state:",
	};
	size_t i = 0;

	for (size_t k = 0; k < ARRAY_SIZE(noise); k++)
		if (begins(l, noise[k]))
			return true;
	/* "12: (79) r1 = ..." and "12: R1=..." are states */
	while (i < l->len && l->at[i] >= '0' && l->at[i] <= '9')
		i++;
	return i && i < l->len && l->at[i] == ':';
}

/* prog 'NAME': -- BEGIN ... */
static struct line program_name(const char *log, const char *mark)
{
	struct line name = { "?", 1 };
	const char *p = mark;

	while (p > log && p[-1] != '\n')
		p--;
	p = memmem(p, (size_t)(mark - p), "prog '", 6);
	if (p) {
		name.at = p + 6;
		name.len = strcspn(name.at, "'\n");
	}
	return name;
}

/* What a verifier's log comes down to; empty parts are not there. */
struct verdict {
	struct line why;
	struct line text;	/* of the source */
	struct line place;	/* FILE:LINE or FILE:LINE:COLUMN */
	char *reason;		/* first sentence, to free() */
	char *suggestion;
};

/* The first sentence of a section's indented lines, without its full stop. */
static char *first_sentence(const char **p, const char *end)
{
	char *s = fx_strdup(""), *stop;
	const char *here = *p;
	struct line l;

	while (next_line(&here, end, &l) && l.at[0] == ' ') {
		char *joined;

		while (l.len && *l.at == ' ') {
			l.at++;
			l.len--;
		}
		joined = fx_asprintf("%s%s%.*s", s, *s ? " " : "", (int)l.len, l.at);
		free(s);
		s = joined;
		*p = here;
	}
	stop = strstr(s, ". ");
	if (stop)
		*stop = 0;
	else if (*s && s[strlen(s) - 1] == '.')
		s[strlen(s) - 1] = 0;
	return s;
}

/* Since 7.1 an explanation follows the log: sections, each with a title. */
static void read_explanation(const char **p, const char *end, struct verdict *v)
{
	struct line l;

	while (next_line(p, end, &l)) {
		if (begins(&l, "processed "))
			return;
		if (begins(&l, "Reason:") && !v->reason) {
			v->reason = first_sentence(p, end);
		} else if (begins(&l, "Suggestion:") && !v->suggestion) {
			v->suggestion = first_sentence(p, end);
		} else if (begins(&l, "At:") && next_line(p, end, &l)) {
			const char *at = memmem(l.at, l.len, " @ ", 3);

			if (at) {
				v->place.at = at + 3;
				v->place.len = l.len - (size_t)(at + 3 - l.at);
			}
		}
	}
}

static void read_verdict(const char *p, const char *end, struct verdict *v)
{
	struct line l, text, place;

	while (next_line(&p, end, &l)) {
		if (begins(&l, "processed "))
			return;
		if (begins(&l, "Verification failed: ")) {
			if (!v->why.len)
				v->why = l;
			read_explanation(&p, end, v);
			return;
		}
		if (source_line(&l, &text, &place)) {
			v->text = text;
			v->place = place;
		} else if (!is_progress(&l)) {
			v->why = l;
		}
	}
}

/* NULL when the program was refused before it was verified. */
static char *verifier_reason(const char *log, const char *mark)
{
	const char *p = mark + strlen(BEGIN_MARK);
	const char *end = strstr(p, END_MARK);
	struct line name = program_name(log, mark);
	struct verdict v = { 0 };
	char *s = NULL;
	size_t size;
	FILE *out;

	read_verdict(p, end ? end : p + strlen(p), &v);
	out = v.why.len ? open_memstream(&s, &size) : NULL;
	if (!out)
		goto done;
	if (v.place.len)
		fprintf(out, "%.*s: ", (int)v.place.len, v.place.at);
	fprintf(out, "the kernel's verifier refuses '%.*s': ", (int)name.len, name.at);
	if (v.reason && *v.reason)
		fputs(v.reason, out);
	else
		fprintf(out, "%.*s", (int)v.why.len, v.why.at);
	if (v.text.len)
		fprintf(out, " (at `%.*s`)", (int)v.text.len, v.text.at);
	if (v.suggestion && *v.suggestion)
		fprintf(out, "; to put it right: %s", v.suggestion);
	fclose(out);
done:
	free(v.reason);
	free(v.suggestion);
	return s;
}

char *fx_bpflog_reason(const char *log)
{
	const char *mark = strstr(log, BEGIN_MARK);
	char *reason = mark ? verifier_reason(log, mark) : NULL;
	const char *p = log, *end = log + strlen(log);
	struct line l;

	if (reason)
		return reason;
	while (next_line(&p, end, &l)) {
		if (begins(&l, "libbpf: ")) {
			l.at += 8;
			l.len -= 8;
		}
		return fx_asprintf("%.*s", (int)l.len, l.at);
	}
	return fx_strdup("libbpf gives no reason");
}

char *fx_bpflog_unknown_kfunc(const char *log)
{
	static const char mark[] = "extern (func ksym) '";
	const char *name = strstr(log, mark);
	size_t len;

	if (!name)
		return NULL;
	name += strlen(mark);
	len = strcspn(name, "'\n");
	if (!len || strncmp(name + len, "': not found", 12))
		return NULL;
	return fx_strndup(name, len);
}
