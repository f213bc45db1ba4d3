// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A check of one object says nothing of another unless both are made of the
 * same text. clang preprocesses the policy once, with our portable header empty,
 * so that our macros stay as they are written; what comes from headers of ours
 * and of the system is taken out, and included again when the text is compiled.
 */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "../diag.h"
#include "../graph/codes.h"
#include "../util.h"
#include "clang.h"
#include "gpu_text.h"

/* Where a line of what clang preprocessed comes from. */
struct marker {
	u32 line;
	char file[PATH_MAX];
	bool enters, system;
};

/* # LINE "FILE" FLAGS */
static bool read_marker(const char *p, const char *end, struct marker *m)
{
	size_t n = 0;
	char *after;

	if (end - p < 5 || p[0] != '#' || p[1] != ' ' || p[2] < '0' || p[2] > '9')
		return false;
	*m = (struct marker){ .line = strtoul(p + 2, &after, 10) };
	if (after + 2 > end || after[0] != ' ' || after[1] != '"')
		return false;
	for (p = after + 2; p < end && *p != '"'; p++) {
		if (*p == '\\' && p + 1 < end)
			p++;
		if (n + 1 < sizeof(m->file))
			m->file[n++] = *p;
	}
	m->file[n] = '\0';
	for (p++; p < end; p++) {
		m->enters = m->enters || *p == '1';
		m->system = m->system || *p == '3';
	}
	return true;
}

/* A name as it stands within quotes. */
static void put_name(FILE *f, const char *name)
{
	for (; *name; name++) {
		if (*name == '"' || *name == '\\')
			fputc('\\', f);
		fputc(*name, f);
	}
}

static bool begins(const char *p, const char *end, const char *with)
{
	return (size_t)(end - p) >= strlen(with) && !strncmp(p, with, strlen(with));
}

/* Would the line be a directive when it is preprocessed again? */
static bool is_directive(const char *p, const char *end)
{
	while (p < end && strchr(" \t\f\v", *p))
		p++;
	return begins(p, end, "#") || begins(p, end, "%:");
}

/* @line: out: of a line that macros made a directive of, where that is false */
static bool own_part(const char *include, const char *all, FILE *f, u32 *line)
{
	bool own = false;
	struct marker m;

	*line = 1;
	for (const char *p = all, *end; *p; p = *end ? end + 1 : end) {
		end = strchrnul(p, '\n');
		if (read_marker(p, end, &m)) {
			bool theirs = m.system || *m.file == '<' ||
				      fx_clang_is_header(include, m.file);
			char *path = own && theirs && m.enters && *m.file != '<' ?
				     realpath(m.file, NULL) : NULL;

			if (path) {
				fputs("#include \"", f);
				put_name(f, path);
				fputs("\"\n", f);
			} else if (!theirs) {
				fprintf(f, "# %u \"", m.line);
				put_name(f, m.file);
				fputs("\"\n", f);
			}
			free(path);
			own = !theirs;
			*line = m.line;
			continue;
		}
		if (own && is_directive(p, end) && !begins(p, end, "#pragma "))
			return false;
		if (own)
			fprintf(f, "%.*s\n", (int)(end - p), p);
		++*line;
	}
	return true;
}

enum fx_rc fx_gpu_text(const struct fx_lower_in *in, const char *device,
		       const char *header, char **text)
{
	static const char *const args[] = {
		"-target", "bpf", "-mcpu=" FX_BPF_CPU, "-E", "-DFABRIC_EXT_PORTABLE_BPF_H", NULL,
	};
	const struct fx_clang_target to = { .device = device, .args = args, .header = header };
	struct fx_pos pos = { .col = 1 };
	char *all = NULL;
	struct fx_diags *d;
	enum fx_rc rc;
	size_t size;
	FILE *f;

	*text = NULL;
	rc = fx_clang_for(in->policy, in->include, &to, &all, &size);
	if (rc != FX_RC_OK)
		return rc;
	f = open_memstream(text, &size);
	if (!f) {
		fx_err("there is no memory for the text of %s", in->policy);
		free(all);
		return FX_RC_SYSTEM;
	}
	d = fx_diags_new(in->policy, NULL, 0);
	if (!own_part(in->include, all, f, &pos.line))
		fx_diag_help(fx_diag(d, FX_E_POLICY_CLANG, pos,
				     "macros make a directive of the preprocessor here"),
			     "write it as one, a # and its name");
	fclose(f);
	rc = fx_diags_print(d) ? FX_RC_INPUT : FX_RC_OK;
	fx_diags_free(d);
	free(all);
	if (rc != FX_RC_OK) {
		free(*text);
		*text = NULL;
	}
	return rc;
}
