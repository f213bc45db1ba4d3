// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The whole program, its loops round by round: what is known at the end of a
 * round is what the next one begins with, and a branch whose operands are known
 * goes one way. A loop has a bound when a round comes that leads to no other.
 */
#include <stdlib.h>

#include "../util.h"
#include "simt_int.h"

/*
 * Where to stop: ways that are too long by far, so that what is left open is
 * only how long; and instructions looked at, on all ways together.
 */
#define MAX_COST	(8 * FX_SIMT_BUDGET)
#define MAX_STEPS	(32 * FX_SIMT_BUDGET)

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

/* Places in one object, near enough that their order is that of addresses. */
static bool same_object(const struct bpf_insn *insn, const struct fx_value *a,
			const struct fx_value *b)
{
	const s64 far = 1 << 29;

	if (BPF_CLASS(insn->code) != BPF_JMP || BPF_OP(insn->code) == BPF_JSET ||
	    a->kind != b->kind || a->num <= -far || a->num >= far ||
	    b->num <= -far || b->num >= far)
		return false;
	return a->kind == FX_V_STACK ||
	       (a->kind == FX_V_ENTRY && a->base == b->base && a->base != FX_NO_WHY);
}

int fx_simt_decide(const struct fx_simt *s, const struct fx_state *st, u32 at)
{
	const struct bpf_insn *insn = &s->prog->insn[at];
	const struct fx_value *a = &st->reg[insn->dst_reg];
	const struct fx_value imm = fx_simt_constant((s64)insn->imm);
	const struct fx_value *b = BPF_SRC(insn->code) == BPF_X ?
		&st->reg[insn->src_reg] : &imm;

	if (fx_insn_is_goto(insn))
		return 1;
	if (!a->known || !b->known || a->varies || b->varies)
		return -1;
	if (a->kind == FX_V_SCALAR && b->kind == FX_V_SCALAR)
		return taken(insn, a->num, b->num);
	/* as unsigned numbers, which addresses are: above the middle */
	if (same_object(insn, a, b))
		return taken(insn, a->num + (1LL << 30), b->num + (1LL << 30));
	return -1;
}

/* ---- one block after the other ---------------------------------------- */

static bool stopped(const struct fx_simt *s)
{
	return s->cost > MAX_COST || s->steps > MAX_STEPS;
}

static struct fx_state *copy_of(struct fx_simt *s, const struct fx_state *st)
{
	struct fx_state *copy = s->spare;

	if (copy)
		s->spare = copy->next;
	else
		copy = fx_alloc(sizeof(*copy));
	*copy = *st;
	return copy;
}

static void give_back(struct fx_simt *s, struct fx_state *st)
{
	st->next = s->spare;
	s->spare = st;
}

/* Takes @st. */
static void deliver(struct fx_simt *s, u32 to, struct fx_state *st)
{
	if (!s->in[to]) {
		s->in[to] = st;
		return;
	}
	fx_simt_meet(s, s->in[to], st);
	give_back(s, st);
}

static void run_block(struct fx_simt *s, u32 b)
{
	const struct fx_block *block = &s->cfg.block[b];
	struct fx_state *st = s->in[b];
	u32 at = block->first, len;
	int way;

	s->in[b] = NULL;
	for (;; at += len) {
		len = fx_insn_len(&s->prog->insn[at]);
		s->steps++;
		st->cost += len;
		if (st->cost > s->cost)
			s->cost = st->cost;
		if (!fx_simt_step(s, st, at)) {
			give_back(s, st);
			return;
		}
		if (at + len >= block->end)
			break;
	}
	way = block->n_succ == 2 ? fx_simt_decide(s, st, at) : 1;
	if (way < 0)
		deliver(s, block->succ[1], copy_of(s, st));
	deliver(s, block->succ[!way], st);
}

static void run_blocks(struct fx_simt *s, const u32 *block, u32 n, u32 head);

static void run_loop(struct fx_simt *s, const struct fx_loop_info *l)
{
	struct fx_state *before = copy_of(s, s->in[l->head]);
	u32 rounds;

	for (rounds = 0; s->in[l->head] && !stopped(s); rounds++) {
		/* what came of this is what comes of it again */
		if (rounds && fx_simt_same(before, s->in[l->head])) {
			s->endless = true;
			fx_simt_tell(s, FX_SIMT_LOOP, s->cfg.block[l->head].first, FX_NO_WHY,
				     "nothing shows how often a loop goes round");
			give_back(s, s->in[l->head]);
			s->in[l->head] = NULL;
			break;
		}
		*before = *s->in[l->head];
		run_blocks(s, l->block, l->size, l->head);
	}
	if (rounds > s->rounds) {
		s->rounds = rounds;
		s->longest = l->head;
	}
	give_back(s, before);
}

/*
 * Those of the program or of one loop, in reverse post-order: all that leads
 * to a block, but back to a head, comes before it. A loop within is run whole
 * when it is its head's turn.
 */
static void run_blocks(struct fx_simt *s, const u32 *block, u32 n, u32 head)
{
	const struct fx_cfg *g = &s->cfg;

	for (u32 i = 0; i < n && !stopped(s); i++) {
		if (!s->in[block[i]])
			continue;
		if (g->block[block[i]].is_head && block[i] != head)
			run_loop(s, &g->loop[g->block[block[i]].loop]);
		else
			run_block(s, block[i]);
	}
}

void fx_simt_run(struct fx_simt *s)
{
	struct fx_cfg *g = &s->cfg;

	if (g->tangled >= 0) {
		fx_simt_tell(s, FX_SIMT_LOOP, g->tangled, FX_NO_WHY,
			     "there are two ways into a loop, so that nothing bounds it");
		return;
	}
	s->in[0] = fx_simt_first_state();
	run_blocks(s, g->rpo, g->n_rpo, U32_MAX);
	while (s->spare) {
		struct fx_state *next = s->spare->next;

		free(s->spare);
		s->spare = next;
	}
	if (s->cost > MAX_COST)
		fx_simt_tell(s, FX_SIMT_LOOP, g->block[s->longest].first, FX_NO_WHY,
			     "nothing shows how often a loop goes round");
	else if (s->steps > MAX_STEPS)
		fx_simt_tell(s, FX_SIMT_CODE, 0, FX_NO_WHY,
			     "the program is too tangled to be looked at whole");
	else if (s->cost > FX_SIMT_BUDGET && !s->endless)
		fx_simt_tell(s, FX_SIMT_WORK, 0, FX_NO_WHY,
			     "a lane may execute more than %u instructions", FX_SIMT_BUDGET);
}
