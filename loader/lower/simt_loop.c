// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * How often a loop goes round. It is bounded when it has a counter that begins
 * with a constant, is changed once in each round by a constant, and is
 * compared once in each round with a constant, by a branch that leaves the
 * loop. Then the counter is simply counted.
 */
#include "simt_int.h"

/* Does the instruction write the register? */
static bool writes(const struct bpf_insn *insn, u32 reg)
{
	switch (BPF_CLASS(insn->code)) {
	case BPF_ALU:
	case BPF_ALU64:
	case BPF_LD:
	case BPF_LDX:
		return insn->dst_reg == reg;
	case BPF_STX:
		if (BPF_MODE(insn->code) != BPF_ATOMIC || !(insn->imm & BPF_FETCH))
			return false;
		return reg == (insn->imm == BPF_CMPXCHG ? BPF_REG_0 : insn->src_reg);
	case BPF_JMP:
		return BPF_OP(insn->code) == BPF_CALL && reg <= BPF_REG_5;
	default:
		return false;
	}
}

/* Once in each round: on every way round, and in no loop within this one. */
static bool each_round(const struct fx_cfg *g, const struct fx_loop_info *l, u32 block)
{
	if (&g->loop[g->block[block].loop] != l)
		return false;
	for (u32 j = g->first_pred[l->head]; j < g->first_pred[l->head + 1]; j++)
		if (l->body[g->pred[j]] && !fx_dominates(g, block, g->pred[j]))
			return false;
	return true;
}

/* The one instruction of the loop that changes the register, or -1. */
static s64 only_change(const struct fx_simt *s, const struct fx_loop_info *l, u32 reg)
{
	const struct fx_code_prog *p = s->prog;
	s64 found = -1;

	for (u32 b = 0; b < s->cfg.n_block; b++) {
		const struct fx_block *block = &s->cfg.block[b];

		if (!l->body[b])
			continue;
		for (u32 at = block->first; at < block->end; at += fx_insn_len(&p->insn[at])) {
			if (!writes(&p->insn[at], reg))
				continue;
			if (found >= 0)
				return -1;
			found = at;
		}
	}
	return found;
}

static bool taken(const struct bpf_insn *insn, u64 a, u64 b)
{
	s64 sa = a, sb = b;

	if (BPF_CLASS(insn->code) == BPF_JMP32) {
		a = (u32)a;
		b = (u32)b;
		sa = (s32)a;
		sb = (s32)b;
	}
	switch (BPF_OP(insn->code)) {
	case BPF_JEQ:
		return a == b;
	case BPF_JNE:
		return a != b;
	case BPF_JGT:
		return a > b;
	case BPF_JGE:
		return a >= b;
	case BPF_JLT:
		return a < b;
	case BPF_JLE:
		return a <= b;
	case BPF_JSGT:
		return sa > sb;
	case BPF_JSGE:
		return sa >= sb;
	case BPF_JSLT:
		return sa < sb;
	case BPF_JSLE:
		return sa <= sb;
	default:
		return a & b;
	}
}

/* A way out of the loop at the end of @block, by a counter; 0: it is none. */
static u64 count(const struct fx_simt *s, const struct fx_loop_info *l, u32 block,
		 bool swapped)
{
	const struct fx_cfg *g = &s->cfg;
	u32 at = g->block[block].end - 1, reg, change_block;
	const struct bpf_insn *branch = &s->prog->insn[at], *change;
	const struct fx_value *with = &s->operand[2 * at + !swapped];
	const struct fx_value *begin;
	u64 v, limit, trips;
	bool first, leave;
	s64 by;

	reg = swapped ? branch->src_reg : branch->dst_reg;
	if (swapped && BPF_SRC(branch->code) != BPF_X)
		return 0;
	by = only_change(s, l, reg);
	begin = &s->entry[l->head][reg];
	if (by < 0 || with->kind != FX_V_SCALAR || !with->known ||
	    begin->kind != FX_V_SCALAR || !begin->known)
		return 0;
	change = &s->prog->insn[by];
	change_block = g->block_of[by];
	if (BPF_CLASS(change->code) != BPF_ALU && BPF_CLASS(change->code) != BPF_ALU64)
		return 0;
	if (BPF_SRC(change->code) != BPF_K || BPF_OP(change->code) == BPF_MOV ||
	    !each_round(g, l, change_block))
		return 0;
	/* in a round, is the counter changed before it is compared? */
	first = change_block == block || fx_dominates(g, change_block, block);
	leave = !l->body[g->block[block].succ[0]];
	v = begin->num;
	limit = with->num;
	for (trips = 1; trips <= FX_SIMT_MAX_TRIPS; trips++) {
		if (first && !fx_simt_alu(change->code, &v, (s64)change->imm))
			return 0;
		if (taken(branch, swapped ? limit : v, swapped ? v : limit) == leave)
			return trips;
		if (!first && !fx_simt_alu(change->code, &v, (s64)change->imm))
			return 0;
	}
	return 0;
}

static u64 trips_of(const struct fx_simt *s, const struct fx_loop_info *l)
{
	const struct fx_cfg *g = &s->cfg;
	u64 best = 0;

	for (u32 b = 0; b < g->n_block; b++) {
		const struct fx_block *block = &g->block[b];
		const struct bpf_insn *last = &s->prog->insn[block->end - 1];

		if (!l->body[b] || block->n_succ != 2 ||
		    l->body[block->succ[0]] == l->body[block->succ[1]] ||
		    BPF_OP(last->code) == BPF_JCOND || !each_round(g, l, b))
			continue;
		for (u32 swapped = 0; swapped < 2; swapped++) {
			u64 n = count(s, l, b, swapped);

			if (n && (!best || n < best))
				best = n;
		}
	}
	return best;
}

/* What a lane executes at most; the budget and one where it is more. */
static u64 work(const struct fx_simt *s)
{
	u64 sum = 0;

	for (u32 i = 0; i < s->cfg.n_rpo; i++) {
		const struct fx_block *b = &s->cfg.block[s->cfg.rpo[i]];
		u64 n = b->end - b->first;

		for (u32 j = 0; j < s->cfg.n_loop; j++) {
			if (s->cfg.loop[j].body[s->cfg.rpo[i]] && s->cfg.loop[j].trips)
				n *= s->cfg.loop[j].trips;
			if (n > FX_SIMT_BUDGET)
				return FX_SIMT_BUDGET + 1;
		}
		sum += n;
	}
	return sum > FX_SIMT_BUDGET ? FX_SIMT_BUDGET + 1 : sum;
}

void fx_simt_loops(struct fx_simt *s)
{
	struct fx_cfg *g = &s->cfg;
	bool bounded = true;

	if (g->tangled >= 0) {
		fx_simt_tell(s, FX_SIMT_LOOP, g->tangled, FX_NO_WHY,
			     "there are two ways into a loop, so that nothing bounds it");
		return;
	}
	for (u32 i = 0; i < g->n_loop; i++) {
		g->loop[i].trips = trips_of(s, &g->loop[i]);
		if (g->loop[i].trips)
			continue;
		bounded = false;
		fx_simt_tell(s, FX_SIMT_LOOP, g->block[g->loop[i].head].first, FX_NO_WHY,
			     "nothing shows how often a loop goes round");
	}
	if (bounded && work(s) > FX_SIMT_BUDGET)
		fx_simt_tell(s, FX_SIMT_WORK, 0, FX_NO_WHY,
			     "a lane may execute more than %u instructions", FX_SIMT_BUDGET);
}
