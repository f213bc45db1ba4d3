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

/* NULL when the program was refused before it was verified. */
static char *verifier_reason(const char *log, const char *mark)
{
	const char *p = mark + strlen(BEGIN_MARK);
	const char *end = strstr(p, END_MARK);
	struct line name = program_name(log, mark), why = { 0 };
	struct line l, text = { 0 }, place = { 0 }, t, where;
	char *head, *tail, *s;

	if (!end)
		end = p + strlen(p);
	while (next_line(&p, end, &l)) {
		if (begins(&l, "processed "))
			break;
		if (source_line(&l, &t, &where)) {
			text = t;
			place = where;
		} else if (!is_progress(&l)) {
			why = l;
		}
	}
	if (!why.len)
		return NULL;
	head = place.len ? fx_asprintf("%.*s: ", (int)place.len, place.at) : fx_strdup("");
	tail = text.len ? fx_asprintf(" (at `%.*s`)", (int)text.len, text.at) : fx_strdup("");
	s = fx_asprintf("%sthe kernel's verifier refuses '%.*s': %.*s%s", head,
			(int)name.len, name.at, (int)why.len, why.at, tail);
	free(head);
	free(tail);
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
