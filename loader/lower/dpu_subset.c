// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The instructions that librte_bpf runs as the kernel does. What it refuses is
 * refused here with a reason, and what it would run otherwise than the kernel,
 * or not look at, is refused as well.
 *
 * Without back edges the order of the instructions is one in which each comes
 * after all that can lead to it, so that one pass follows the registers.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dpu_object.h"

#define SLOTS		(FX_DPU_MAX_STACK / 8)
#define REGS		11
#define OP(code)	((code) & 0xf0)

/* BPF_ATOMIC's operations that are not in linux/bpf.h by name alone */
#define IS_FETCH(imm)	((imm) & BPF_FETCH)

/* What a register holds, as far as the stack is concerned. */
enum kind { NOTHING, CONSTANT, STACK, MIXED };

struct value {
	u8 kind;		/* enum kind; MIXED: of the stack, somewhere */
	s64 at;			/* constant, or offset to the frame's top */
};

struct state {
	bool reached;
	struct value reg[REGS];
	struct value slot[SLOTS];	/* 8 bytes each, from the top down */
};

struct walk {
	struct fx_dpu_object *o;
	struct state *state;	/* before each instruction */
	bool *second;		/* the second half of a wide one */
};

void fx_dpu_fault(struct fx_dpu_object *o, enum fx_dpu_rule rule, u32 insn,
		  const char *fmt, ...)
{
	struct fx_dpu_fault *f;
	va_list ap;

	if (o->n_fault == FX_DPU_MAX_FAULTS)
		return;
	/* one at one place is enough: what was seen first is closest to the source */
	for (u32 i = 0; i < o->n_fault; i++)
		if (insn != FX_DPU_NO_INSN && o->fault[i].insn == insn)
			return;
	f = &o->fault[o->n_fault++];
	f->rule = rule;
	f->insn = insn;
	va_start(ap, fmt);
	vsnprintf(f->what, sizeof(f->what), fmt, ap);
	va_end(ap);
}

/* ---- form ------------------------------------------------------------- */

static bool is_wide(const struct bpf_insn *i)
{
	return i->code == (BPF_LD | BPF_IMM | BPF_DW);
}

static bool is_jump(const struct bpf_insn *i)
{
	return BPF_CLASS(i->code) == BPF_JMP && OP(i->code) != BPF_CALL &&
	       OP(i->code) != BPF_EXIT;
}

static bool alu_ok(const struct bpf_insn *i)
{
	const bool wide = BPF_CLASS(i->code) == BPF_ALU64;

	if (OP(i->code) > BPF_END || i->off)	/* off: signed division */
		return false;
	/* swaps of the second kind came with -mcpu=v4 */
	if (OP(i->code) == BPF_END)
		return !wide && (i->imm == 16 || i->imm == 32 || i->imm == 64);
	return true;
}

static bool jump_ok(const struct bpf_insn *i)
{
	if (OP(i->code) == BPF_JA)
		return i->code == (BPF_JMP | BPF_JA);
	return OP(i->code) <= BPF_JSLE;
}

/* Is it an instruction of -mcpu=v2? Atomics and calls have rules of their own. */
static bool insn_ok(const struct bpf_insn *i)
{
	if (i->dst_reg >= REGS || (i->src_reg >= REGS && !is_wide(i)))
		return false;
	switch (BPF_CLASS(i->code)) {
	case BPF_ALU:
	case BPF_ALU64:
		return alu_ok(i) && i->dst_reg != BPF_REG_10;
	case BPF_JMP:
		return jump_ok(i);
	case BPF_LD:
		return is_wide(i) && i->dst_reg != BPF_REG_10;
	case BPF_LDX:
		return BPF_MODE(i->code) == BPF_MEM && i->dst_reg != BPF_REG_10;
	case BPF_ST:
		return BPF_MODE(i->code) == BPF_MEM;
	case BPF_STX:
		return BPF_MODE(i->code) == BPF_MEM || BPF_MODE(i->code) == BPF_ATOMIC;
	default:
		return false;	/* jmp32 */
	}
}

static void check_jump(struct walk *w, u32 at)
{
	const struct bpf_insn *i = &w->o->insn[at];
	s64 to = (s64)at + 1 + i->off;

	if (i->off < 0)
		fx_dpu_fault(w->o, FX_DPU_RULE_LOOP, at, "has a loop");
	else if (to >= w->o->n_insn || w->second[to])
		fx_dpu_fault(w->o, FX_DPU_RULE_FORM, at, "jumps out of itself");
}

static void check_call(struct walk *w, u32 at)
{
	const struct bpf_insn *i = &w->o->insn[at];

	if (i->src_reg == BPF_PSEUDO_CALL)
		fx_dpu_fault(w->o, FX_DPU_RULE_CALL, at, "calls a function that is not inlined");
	else if (i->src_reg)
		fx_dpu_fault(w->o, FX_DPU_RULE_HELPER, at, "calls a function of the kernel");
	else if (i->imm == FX_DPU_HELPER_LOOKUP || i->imm == FX_DPU_HELPER_CLOCK)
		w->o->helpers |= 1ULL << i->imm;
	else
		fx_dpu_fault(w->o, FX_DPU_RULE_HELPER, at, "calls the helper %d", i->imm);
}

static void check_atomic(struct walk *w, u32 at)
{
	const struct bpf_insn *i = &w->o->insn[at];

	if (IS_FETCH(i->imm))
		fx_dpu_fault(w->o, FX_DPU_RULE_ATOMIC, at,
			     "uses the value that an atomic operation found");
	else if (i->imm != BPF_ADD ||
		 (BPF_SIZE(i->code) != BPF_W && BPF_SIZE(i->code) != BPF_DW))
		fx_dpu_fault(w->o, FX_DPU_RULE_ATOMIC, at,
			     "has an atomic operation that is no addition to 4 or 8 bytes");
}

/* By zero the kernel goes on, and librte_bpf ends the program. */
static bool is_division(const struct bpf_insn *i)
{
	return (BPF_CLASS(i->code) == BPF_ALU || BPF_CLASS(i->code) == BPF_ALU64) &&
	       (OP(i->code) == BPF_DIV || OP(i->code) == BPF_MOD) && BPF_SRC(i->code) == BPF_X;
}

/* Every instruction alone; false when the registers cannot be followed. */
static bool check_form(struct walk *w)
{
	struct fx_dpu_object *o = w->o;
	u32 faults = o->n_fault;

	for (u32 at = 0; at < o->n_insn; at++) {
		if (!is_wide(&o->insn[at]))
			continue;
		if (at + 1 == o->n_insn || o->insn[at + 1].code) {
			fx_dpu_fault(o, FX_DPU_RULE_FORM, at, "has half of an instruction");
			return false;
		}
		w->second[++at] = true;
	}
	for (u32 at = 0; at < o->n_insn; at++) {
		const struct bpf_insn *i = &o->insn[at];

		if (w->second[at])
			continue;
		if (!insn_ok(i))
			fx_dpu_fault(o, FX_DPU_RULE_INSN, at,
				     "has an instruction (%#x) that is not of -mcpu=v2", i->code);
		else if (is_division(i))
			fx_dpu_fault(o, FX_DPU_RULE_DIVIDE, at, "divides by a variable");
		else if (is_jump(i))
			check_jump(w, at);
		else if (i->code == (BPF_JMP | BPF_CALL))
			check_call(w, at);
		else if (BPF_CLASS(i->code) == BPF_STX && BPF_MODE(i->code) == BPF_ATOMIC)
			check_atomic(w, at);
	}
	return o->n_fault == faults;
}

/* ---- the stack -------------------------------------------------------- */

static struct value nothing(void)
{
	return (struct value){ .kind = NOTHING };
}

static struct value merged(struct value a, struct value b)
{
	if (a.kind == b.kind && (a.kind == NOTHING || a.at == b.at))
		return a;
	if (a.kind >= STACK || b.kind >= STACK)
		return (struct value){ .kind = MIXED };
	return nothing();
}

static void flow_to(struct walk *w, u32 at, const struct state *s)
{
	struct state *t;

	if (at >= w->o->n_insn) {
		fx_dpu_fault(w->o, FX_DPU_RULE_FORM, w->o->n_insn - 1, "runs off its end");
		return;
	}
	t = &w->state[at];
	if (!t->reached) {
		*t = *s;
		return;
	}
	for (u32 i = 0; i < REGS; i++)
		t->reg[i] = merged(t->reg[i], s->reg[i]);
	for (u32 i = 0; i < SLOTS; i++)
		t->slot[i] = merged(t->slot[i], s->slot[i]);
}

/* A pointer into the stack, or an access there. */
static void reaches(struct walk *w, u32 at, s64 off)
{
	if (off < -FX_DPU_MAX_STACK)
		fx_dpu_fault(w->o, FX_DPU_RULE_STACK, at, "uses more than %d bytes of stack",
			     FX_DPU_MAX_STACK);
	else if (off < 0 && -off > w->o->stack)
		w->o->stack = -off;
}

static void variable(struct walk *w, u32 at)
{
	fx_dpu_fault(w->o, FX_DPU_RULE_STACK, at,
		     "computes an index into an array on its stack");
}

/* The slot that an access of 8 bytes at base + off is, or -1. */
static int slot_of(struct walk *w, u32 at, struct value base, s32 off)
{
	s64 to = base.at + off;

	if (base.kind == MIXED)
		variable(w, at);
	if (base.kind != STACK)
		return -1;
	reaches(w, at, to);
	if (to >= 0)
		fx_dpu_fault(w->o, FX_DPU_RULE_STACK, at, "reaches beyond its stack");
	return to < 0 && to >= -FX_DPU_MAX_STACK ? (int)((-to - 1) / 8) : -1;
}

static struct value added(struct walk *w, u32 at, struct value a, struct value b, bool minus)
{
	struct value sum;

	if (a.kind < STACK && b.kind == STACK && !minus) {	/* n + pointer */
		struct value swap = a;

		a = b;
		b = swap;
	}
	if (a.kind == CONSTANT && b.kind == CONSTANT) {
		a.at = minus ? a.at - b.at : a.at + b.at;
		return a;
	}
	if (a.kind < STACK && b.kind < STACK)
		return nothing();
	if (a.kind != STACK || b.kind != CONSTANT) {
		variable(w, at);
		return nothing();
	}
	sum = (struct value){ .kind = STACK, .at = minus ? a.at - b.at : a.at + b.at };
	if (sum.at > 0 || sum.at < -FX_DPU_MAX_STACK) {
		fx_dpu_fault(w->o, FX_DPU_RULE_STACK, at, "reaches beyond its stack");
		return nothing();
	}
	reaches(w, at, sum.at);
	return sum;
}

static void step_alu(struct walk *w, u32 at, struct state *s)
{
	const struct bpf_insn *i = &w->o->insn[at];
	const bool wide = BPF_CLASS(i->code) == BPF_ALU64;
	struct value *dst = &s->reg[i->dst_reg];
	struct value src = { .kind = CONSTANT, .at = i->imm };

	if (BPF_SRC(i->code) == BPF_X && OP(i->code) != BPF_END && OP(i->code) != BPF_NEG)
		src = s->reg[i->src_reg];
	if (OP(i->code) == BPF_MOV) {
		if (!wide && src.kind >= STACK)
			variable(w, at);
		/* what 32 bits keep of a constant does not matter here */
		*dst = wide ? src : nothing();
	} else if (wide && (OP(i->code) == BPF_ADD || OP(i->code) == BPF_SUB)) {
		*dst = added(w, at, *dst, src, OP(i->code) == BPF_SUB);
	} else {
		if (dst->kind >= STACK || src.kind >= STACK)
			variable(w, at);
		*dst = nothing();
	}
}

static void step_memory(struct walk *w, u32 at, struct state *s)
{
	const struct bpf_insn *i = &w->o->insn[at];
	const bool load = BPF_CLASS(i->code) == BPF_LDX;
	int slot = slot_of(w, at, s->reg[load ? i->src_reg : i->dst_reg], i->off);
	const bool whole = BPF_SIZE(i->code) == BPF_DW && slot >= 0;

	if (load) {
		s->reg[i->dst_reg] = whole ? s->slot[slot] : nothing();
		return;
	}
	if (slot < 0)
		return;
	/* a pointer that is spilled, and what overwrites it */
	s->slot[slot] = whole && BPF_CLASS(i->code) == BPF_STX &&
			BPF_MODE(i->code) == BPF_MEM ? s->reg[i->src_reg] : nothing();
}

/* After a call the stack may hold anything but what we know. */
static void step_call(struct state *s)
{
	for (u32 i = BPF_REG_0; i <= BPF_REG_5; i++)
		s->reg[i] = nothing();
}

static void step(struct walk *w, u32 at)
{
	const struct bpf_insn *i = &w->o->insn[at];
	struct state s = w->state[at];
	u32 next = at + 1;

	switch (BPF_CLASS(i->code)) {
	case BPF_ALU:
	case BPF_ALU64:
		step_alu(w, at, &s);
		break;
	case BPF_LD:
		s.reg[i->dst_reg] = nothing();
		next++;
		break;
	case BPF_LDX:
	case BPF_ST:
	case BPF_STX:
		step_memory(w, at, &s);
		break;
	default:
		if (OP(i->code) == BPF_EXIT)
			return;
		if (OP(i->code) == BPF_CALL) {
			step_call(&s);
			break;
		}
		flow_to(w, at + 1 + i->off, &s);
		if (OP(i->code) == BPF_JA)
			return;
	}
	flow_to(w, next, &s);
}

void fx_dpu_check_insns(struct fx_dpu_object *o)
{
	struct walk w = { .o = o };

	if (o->n_insn > FX_DPU_MAX_INSNS)
		fx_dpu_fault(o, FX_DPU_RULE_SIZE, FX_DPU_NO_INSN,
			     "has %u instructions, and %d fit", o->n_insn, FX_DPU_MAX_INSNS);
	if (!o->n_insn || o->n_insn > FX_DPU_MAX_INSNS)
		return;
	w.state = calloc(o->n_insn, sizeof(*w.state));
	w.second = calloc(o->n_insn, sizeof(*w.second));
	if (!w.state || !w.second) {
		fx_dpu_fault(o, FX_DPU_RULE_SIZE, FX_DPU_NO_INSN, "does not fit into memory");
		goto out;
	}
	if (!check_form(&w))
		goto out;
	w.state[0].reached = true;
	w.state[0].reg[BPF_REG_10] = (struct value){ .kind = STACK };
	for (u32 at = 0; at < o->n_insn; at++)
		if (w.state[at].reached)
			step(&w, at);
out:
	free(w.state);
	free(w.second);
}
