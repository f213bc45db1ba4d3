// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The SIMT check: to a fixed point over the blocks, and what it tells. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../diag.h"
#include "../graph/codes.h"
#include "../util.h"
#include "simt_int.h"

/* Instructions looked at in all, and steps of a path that are shown. */
#define MAX_STEPS	(8U << 20)
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
		"count from a constant to a constant, or have it unrolled: #pragma unroll" },
	[FX_SIMT_WORK] = { FX_E_SIMT_WORK, "make loops shorter" },
	[FX_SIMT_HELPER] = { FX_E_SIMT_HELPER, NULL },
	[FX_SIMT_CALL] = { FX_E_SIMT_CALL, "make it static __always_inline" },
	[FX_SIMT_CODE] = { FX_E_SIMT_CODE, NULL },
};

/* ---- why something varies --------------------------------------------- */

u32 fx_simt_because(struct fx_simt *s, u32 at, u32 why)
{
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
	if (why != FX_NO_WHY)
		tell_path(s, d, at, why);
	fx_diag_help(d, "%s", rules[rule].help ? rules[rule].help : s->rules->helpers_help);
	free(text);
	free(aside);
}

/* ---- states that meet ------------------------------------------------- */

static bool is_null(const struct fx_value *v)
{
	return v->kind == FX_V_SCALAR && v->known && !v->num;
}

static struct fx_value meet(const struct fx_value *a, const struct fx_value *b)
{
	struct fx_value v = *a;

	/* an entry, or NULL where there is none: still an entry or NULL */
	if (a->kind == FX_V_ENTRY && is_null(b))
		v = *a;
	else if (b->kind == FX_V_ENTRY && is_null(a))
		v = *b;
	else if (a->kind != b->kind)
		v = (struct fx_value){ .kind = FX_V_OTHER };
	else if (!a->known || !b->known || a->num != b->num)
		v.known = false;
	if (!v.known)
		v.num = 0;
	if (a->kind == b->kind && a->map != b->map) {
		v.map = FX_MAP_SEVERAL;
		if (a->kind == FX_V_MAP)
			v = (struct fx_value){ .kind = FX_V_OTHER };
	}
	v.varies = a->varies || b->varies;
	v.why = a->varies ? a->why : b->varies ? b->why : FX_NO_WHY;
	return v;
}

static bool differs(const struct fx_value *a, const struct fx_value *b)
{
	return a->kind != b->kind || a->varies != b->varies || a->known != b->known ||
	       a->map != b->map || a->num != b->num;
}

static bool meet_into(struct fx_value *to, const struct fx_value *from)
{
	struct fx_value v = meet(to, from);
	bool changed = differs(&v, to);

	*to = v;
	return changed;
}

static bool meet_states(struct fx_state *to, const struct fx_state *from)
{
	bool changed = false;

	for (u32 i = 0; i < FX_SIMT_REGS; i++)
		changed |= meet_into(&to->reg[i], &from->reg[i]);
	for (u32 i = 0; i < FX_SIMT_STACK; i++) {
		if (to->why[i] != FX_NO_WHY || from->why[i] == FX_NO_WHY)
			continue;
		to->why[i] = from->why[i];
		changed = true;
	}
	for (u32 i = 0; i < FX_SIMT_STACK / 8; i++) {
		if (!to->whole[i])
			continue;
		if (from->whole[i]) {
			changed |= meet_into(&to->slot[i], &from->slot[i]);
		} else {
			to->whole[i] = false;
			changed = true;
		}
	}
	return changed;
}

/* ---- the fixed point -------------------------------------------------- */

struct work_list {
	u32 *block;
	bool *queued;
	u32 n, from;
};

static void queue(struct fx_simt *s, struct work_list *w, u32 block)
{
	if (w->queued[block])
		return;
	w->queued[block] = true;
	w->block[(w->from + w->n++) % s->cfg.n_block] = block;
}

/* What a loop is entered with, apart from what its rounds leave behind. */
static void enter(struct fx_simt *s, u32 from, u32 to, const struct fx_state *st)
{
	if (!s->cfg.block[to].is_head || fx_dominates(&s->cfg, to, from))
		return;
	for (u32 i = 0; i < FX_SIMT_REGS; i++) {
		if (s->entered[to])
			meet_into(&s->entry[to][i], &st->reg[i]);
		else
			s->entry[to][i] = st->reg[i];
	}
	s->entered[to] = true;
}

static void flow(struct fx_simt *s, struct work_list *w, u32 from, u32 to,
		 const struct fx_state *st)
{
	enter(s, from, to, st);
	if (!s->in[to]) {
		s->in[to] = fx_alloc(sizeof(*st));
		*s->in[to] = *st;
		queue(s, w, to);
	} else if (meet_states(s->in[to], st)) {
		queue(s, w, to);
	}
}

/* What the branch at the end of a block compares, for simt_loop.c. */
static void keep_operands(struct fx_simt *s, const struct fx_state *st, u32 at)
{
	const struct bpf_insn *insn = &s->prog->insn[at];

	s->operand[2 * at] = st->reg[insn->dst_reg];
	s->operand[2 * at + 1] = BPF_SRC(insn->code) == BPF_X ? st->reg[insn->src_reg] :
		(struct fx_value){ .kind = FX_V_SCALAR, .known = true, .num = insn->imm };
}

static void run_block(struct fx_simt *s, struct work_list *w, u32 b)
{
	const struct fx_block *block = &s->cfg.block[b];
	struct fx_state st = *s->in[b];
	u32 at;

	for (at = block->first; at < block->end; at += fx_insn_len(&s->prog->insn[at])) {
		s->steps++;
		if (fx_insn_is_jump(&s->prog->insn[at]))
			keep_operands(s, &st, at);
		if (!fx_simt_step(s, &st, at))
			return;
	}
	for (u32 i = 0; i < block->n_succ; i++)
		flow(s, w, b, block->succ[i], &st);
}

static struct fx_state *first_state(void)
{
	struct fx_state *st = fx_calloc(1, sizeof(*st));

	for (u32 i = 0; i < FX_SIMT_REGS; i++)
		st->reg[i] = (struct fx_value){ .kind = FX_V_OTHER, .why = FX_NO_WHY };
	st->reg[BPF_REG_10] = (struct fx_value){ .kind = FX_V_STACK, .known = true,
						 .why = FX_NO_WHY };
	for (u32 i = 0; i < FX_SIMT_STACK; i++)
		st->why[i] = FX_NO_WHY;
	return st;
}

static void run(struct fx_simt *s)
{
	struct work_list w = { 0 };

	w.block = fx_calloc(s->cfg.n_block, sizeof(*w.block));
	w.queued = fx_calloc(s->cfg.n_block, sizeof(*w.queued));
	s->in[0] = first_state();
	queue(s, &w, 0);
	while (w.n && s->steps < MAX_STEPS) {
		u32 b = w.block[w.from];

		w.from = (w.from + 1) % s->cfg.n_block;
		w.n--;
		w.queued[b] = false;
		run_block(s, &w, b);
	}
	if (w.n)
		fx_simt_tell(s, FX_SIMT_CODE, 0, FX_NO_WHY,
			     "the program is too tangled to be looked at whole");
	else
		fx_simt_loops(s);
	free(w.block);
	free(w.queued);
}

static void check_prog(struct fx_simt *s)
{
	u32 n = s->prog->n, bad = 0;
	const char *wrong;

	s->made = fx_calloc(n, sizeof(*s->made));
	s->parent = fx_calloc(n, sizeof(*s->parent));
	s->what = fx_calloc(n, sizeof(*s->what));
	s->told = fx_calloc(n, sizeof(*s->told));
	s->operand = fx_calloc(n, 2 * sizeof(*s->operand));
	wrong = fx_cfg_build(s->prog, &s->cfg, &bad);
	if (wrong) {
		fx_simt_tell(s, FX_SIMT_CODE, bad, FX_NO_WHY, "the program %s", wrong);
	} else {
		s->in = fx_calloc(s->cfg.n_block, sizeof(*s->in));
		s->entry = fx_calloc(s->cfg.n_block, sizeof(*s->entry));
		s->entered = fx_calloc(s->cfg.n_block, sizeof(*s->entered));
		run(s);
		for (u32 i = 0; i < s->cfg.n_block; i++)
			free(s->in[i]);
		free(s->in);
		free(s->entry);
		free(s->entered);
	}
	fx_cfg_free(&s->cfg);
	free(s->made);
	free(s->parent);
	free(s->what);
	free(s->told);
	free(s->operand);
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
