// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The SIMT check: what it tells, and where a value began to vary. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../diag.h"
#include "../graph/codes.h"
#include "../util.h"
#include "simt_int.h"

/* Steps of a path that are shown. */
#define MAX_PATH	12

static const struct {
	u32 code;
	const char *help;
} rules[] = {
	[FX_SIMT_BRANCH] = { FX_E_SIMT_BRANCH,
		"decide by what is the same in all lanes: the move, constants, entries of FX_MAP(local, ...)" },
	[FX_SIMT_KEY] = { FX_E_SIMT_KEY,
		"a map of class 'counter' has an entry of each lane's own under one key" },
	[FX_SIMT_EFFECT] = { FX_E_SIMT_EFFECT,
		"keep it in a map that is per lane: FX_MAP(counter, ...)" },
	[FX_SIMT_FENCE] = { FX_E_SIMT_FENCE,
		"leave it out: a policy shares nothing with other lanes but maps" },
	[FX_SIMT_LOOP] = { FX_E_SIMT_LOOP,
		"count from a constant to a constant, or leave it after a constant number of rounds" },
	[FX_SIMT_WORK] = { FX_E_SIMT_WORK, "make loops shorter" },
	[FX_SIMT_HELPER] = { FX_E_SIMT_HELPER, NULL },
	[FX_SIMT_CALL] = { FX_E_SIMT_CALL, "make it static __always_inline" },
	[FX_SIMT_CODE] = { FX_E_SIMT_CODE, NULL },
};

/* ---- why something varies --------------------------------------------- */

u32 fx_simt_because(struct fx_simt *s, u32 at, u32 why)
{
	if (why == FX_WHY_UNWRITTEN)
		return fx_simt_origin(s, at, "what nothing was written to before");
	if (why == FX_WHY_ADDRESS)
		return fx_simt_origin(s, at,
				      "on one of the ways that lead here, the address of the lane's own stack or entry");
	if (!s->made[at]) {
		s->made[at] = true;
		s->parent[at] = why == at ? FX_NO_WHY : why;
	}
	return at;
}

u32 fx_simt_origin(struct fx_simt *s, u32 at, const char *what)
{
	if (!s->made[at]) {
		s->made[at] = true;
		s->parent[at] = FX_NO_WHY;
		s->what[at] = what;
	}
	return at;
}

static const char *verb(const struct bpf_insn *insn)
{
	switch (BPF_CLASS(insn->code)) {
	case BPF_LDX:
		return "is read back";
	case BPF_ST:
	case BPF_STX:
		return "is kept on the stack";
	case BPF_ALU:
	case BPF_ALU64:
		return BPF_OP(insn->code) == BPF_MOV ? "is copied" : "goes into a calculation";
	default:
		return "goes on";
	}
}

static bool same_line(const struct fx_simt *s, u32 a, u32 b)
{
	const struct fx_code_line *x = &s->prog->line[a], *y = &s->prog->line[b];

	return x->line == y->line && x->file == y->file;
}

static void tell_step(struct fx_simt *s, struct fx_diag *d, u32 at, const char *what)
{
	struct fx_pos pos;
	char *aside;

	pos = fx_code_pos(&s->prog->line[at], s->source, &aside);
	fx_diag_note(d, pos, "%s%s", what, aside ? aside : "");
	free(aside);
}

/* From the source to the use, a note for each line that it passes. */
static void tell_path(struct fx_simt *s, struct fx_diag *d, u32 at, u32 why)
{
	static const struct fx_pos nowhere;
	u32 path[MAX_PATH], n = 0, left_out = 0, source = why, last = at;
	char *text;

	for (u32 i = why; i != FX_NO_WHY; i = s->parent[i]) {
		source = i;
		if (same_line(s, i, last))
			continue;
		last = i;
		if (n < MAX_PATH)
			path[n++] = i;
		else
			left_out++;
	}
	text = fx_asprintf("it begins here: %s", s->what[source] ? s->what[source] : "a value");
	tell_step(s, d, source, text);
	free(text);
	if (left_out)
		fx_diag_note(d, nowhere, "... %u more steps", left_out);
	while (n--) {
		if (same_line(s, path[n], source))
			continue;
		text = fx_asprintf("here it %s", verb(&s->prog->insn[path[n]]));
		tell_step(s, d, path[n], text);
		free(text);
	}
}

void fx_simt_tell(struct fx_simt *s, enum fx_simt_rule rule, u32 at, u32 why,
		  const char *fmt, ...)
{
	struct fx_pos pos;
	struct fx_diag *d;
	char *text = NULL, *aside;
	va_list ap;

	if (s->told[at] & 1U << rule || (s->apart && rule <= FX_SIMT_EFFECT))
		return;
	s->told[at] |= 1U << rule;
	if (fx_told(s->lines, &s->prog->line[at], rule))
		return;
	va_start(ap, fmt);
	if (vasprintf(&text, fmt, ap) < 0)
		text = fx_strdup("out of memory");
	va_end(ap);
	pos = fx_code_pos(&s->prog->line[at], s->source, &aside);
	d = fx_diag(s->diags, rules[rule].code, pos, "'%s' for the device '%s': %s%s",
		    s->prog->name, s->rules->device, text, aside ? aside : "");
	if (why == FX_WHY_UNWRITTEN || why == FX_WHY_ADDRESS)
		why = fx_simt_because(s, at, why);
	if (why != FX_NO_WHY)
		tell_path(s, d, at, why);
	fx_diag_help(d, "%s", rules[rule].help ? rules[rule].help : s->rules->helpers_help);
	free(text);
	free(aside);
}

static void check_prog(struct fx_simt *s)
{
	u32 n = s->prog->n, bad = 0;
	const char *wrong;

	s->made = fx_calloc(n, sizeof(*s->made));
	s->parent = fx_calloc(n, sizeof(*s->parent));
	s->what = fx_calloc(n, sizeof(*s->what));
	s->told = fx_calloc(n, sizeof(*s->told));
	wrong = fx_cfg_build(s->prog, &s->cfg, &bad);
	if (wrong) {
		fx_simt_tell(s, FX_SIMT_CODE, bad, FX_NO_WHY, "the program %s", wrong);
	} else {
		s->in = fx_calloc(s->cfg.n_block, sizeof(*s->in));
		fx_simt_run(s);
		for (u32 i = 0; i < s->cfg.n_block; i++)
			free(s->in[i]);
		free(s->in);
	}
	fx_cfg_free(&s->cfg);
	free(s->made);
	free(s->parent);
	free(s->what);
	free(s->told);
}

void fx_simt_check(const struct fx_bytecode *c, const struct fx_device_rules *r,
		   const char *source, bool apart, struct fx_diags *d)
{
	struct fx_told told = { 0 };

	for (u32 i = 0; i < c->n_prog; i++) {
		struct fx_simt s = {
			.code = c, .prog = &c->prog[i], .rules = r,
			.source = source, .diags = d, .apart = apart,
			.lines = &told,
		};

		check_prog(&s);
	}
	free(told.place);
}
