// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Whether code is a program, and its blocks, dominators and loops. */
#include <stdlib.h>
#include <string.h>

#include "../util.h"
#include "simt_int.h"

/* ---- is it a program? ------------------------------------------------- */

static bool atomic_known(const struct bpf_insn *insn)
{
	u32 op = insn->imm & ~BPF_FETCH;

	if (BPF_SIZE(insn->code) != BPF_W && BPF_SIZE(insn->code) != BPF_DW)
		return false;
	return op == BPF_ADD || op == BPF_OR || op == BPF_AND || op == BPF_XOR ||
	       insn->imm == BPF_XCHG || insn->imm == BPF_CMPXCHG;
}

static bool alu_known(const struct bpf_insn *insn)
{
	bool wide = BPF_CLASS(insn->code) == BPF_ALU64, reg = BPF_SRC(insn->code) == BPF_X;
	u8 op = BPF_OP(insn->code);

	if (insn->dst_reg == BPF_REG_10 || op > BPF_END)
		return false;
	if (op == BPF_END)	/* to little or big endian, or to the other one */
		return !insn->off && !(wide && reg) &&
		       (insn->imm == 16 || insn->imm == 32 || insn->imm == 64);
	if (op == BPF_MOV && reg)	/* with its sign extended */
		return !insn->off || insn->off == 8 || insn->off == 16 ||
		       (insn->off == 32 && wide);
	if (op == BPF_DIV || op == BPF_MOD)	/* with signs */
		return !insn->off || insn->off == 1;
	return !insn->off && !(op == BPF_NEG && reg);
}

static bool jump_known(const struct bpf_insn *insn)
{
	u8 op = BPF_OP(insn->code);

	switch (op) {
	case BPF_JA:
		return BPF_SRC(insn->code) == BPF_K;
	case BPF_EXIT:
		return insn->code == (BPF_JMP | BPF_EXIT);
	case BPF_CALL:
		return BPF_CLASS(insn->code) == BPF_JMP;
	default:
		return op < BPF_JCOND;
	}
}

/* The instructions whose effect simt_flow.c knows. */
static bool known(const struct bpf_insn *insn)
{
	u8 mode = BPF_MODE(insn->code);

	if (insn->dst_reg >= FX_SIMT_REGS || insn->src_reg >= FX_SIMT_REGS)
		return false;
	switch (BPF_CLASS(insn->code)) {
	case BPF_ALU:
	case BPF_ALU64:
		return alu_known(insn);
	case BPF_LD:
		return insn->code == (BPF_LD | BPF_IMM | BPF_DW) &&
		       insn->dst_reg != BPF_REG_10;
	case BPF_LDX:
		return (mode == BPF_MEM ||
			(mode == BPF_MEMSX && BPF_SIZE(insn->code) != BPF_DW)) &&
		       insn->dst_reg != BPF_REG_10;
	case BPF_ST:
		return mode == BPF_MEM;
	case BPF_STX:
		return mode == BPF_MEM || (mode == BPF_ATOMIC && atomic_known(insn));
	default:
		return jump_known(insn);
	}
}

/* Marks the instructions that begin a block. */
static const char *find_leaders(const struct fx_code_prog *p, bool *leader, u32 *bad)
{
	bool *begins = fx_calloc(p->n, sizeof(*begins));
	const char *wrong = NULL;
	u32 len, at;
	s64 to;

	for (at = 0; at < p->n; at += fx_insn_len(&p->insn[at]))
		begins[at] = true;
	leader[0] = true;
	for (at = 0; !wrong && at < p->n; at += len) {
		const struct bpf_insn *insn = &p->insn[at];

		*bad = at;
		len = fx_insn_len(insn);
		if (!known(insn)) {
			wrong = "has an instruction of which nothing is known";
			break;
		}
		if (at + len > p->n)
			wrong = "ends within an instruction";
		else if (at + len == p->n && !fx_insn_is_goto(insn) &&
			 insn->code != (BPF_JMP | BPF_EXIT))
			wrong = "runs on behind its last instruction";
		if (at + len < p->n && (fx_insn_is_jump(insn) ||
					insn->code == (BPF_JMP | BPF_EXIT)))
			leader[at + len] = true;
		if (!fx_insn_is_jump(insn))
			continue;
		to = fx_insn_target(insn, at);
		if (to < 0 || to >= p->n || !begins[to])
			wrong = "jumps to where no instruction begins";
		else
			leader[to] = true;
	}
	free(begins);
	return wrong;
}

static void find_blocks(const struct fx_code_prog *p, struct fx_cfg *g, const bool *leader)
{
	u32 last = 0;

	for (u32 at = 0; at < p->n; at++)
		g->n_block += leader[at];
	g->block = fx_calloc(g->n_block, sizeof(*g->block));
	g->block_of = fx_calloc(p->n, sizeof(*g->block_of));
	g->n_block = 0;
	for (u32 at = 0; at < p->n; at++) {
		if (leader[at]) {
			g->block[g->n_block++] = (struct fx_block){ .first = at, .loop = -1 };
			last = g->n_block - 1;
		}
		g->block_of[at] = last;
		g->block[last].end = at + 1;
	}
	for (u32 i = 0; i < g->n_block; i++) {
		struct fx_block *b = &g->block[i];
		const struct bpf_insn *insn;
		u32 at = b->first;

		while (at + fx_insn_len(&p->insn[at]) < b->end)
			at += fx_insn_len(&p->insn[at]);
		insn = &p->insn[at];
		if (fx_insn_is_jump(insn))
			b->succ[b->n_succ++] = g->block_of[fx_insn_target(insn, at)];
		if (!fx_insn_is_goto(insn) && insn->code != (BPF_JMP | BPF_EXIT))
			b->succ[b->n_succ++] = i + 1;
	}
}

/* ---- order and dominators --------------------------------------------- */

/* Depth first without recursion, from the entry; the result reversed. */
static void number_blocks(struct fx_cfg *g)
{
	u32 *stack = fx_calloc(g->n_block, sizeof(*stack));
	u8 *next = fx_calloc(g->n_block, sizeof(*next));
	u32 depth = 0, n = 0;

	g->rpo = fx_calloc(g->n_block, sizeof(*g->rpo));
	stack[depth++] = 0;
	g->block[0].reached = true;
	while (depth) {
		struct fx_block *b = &g->block[stack[depth - 1]];
		u32 to;

		if (next[stack[depth - 1]] == b->n_succ) {
			g->rpo[n++] = stack[--depth];
			continue;
		}
		to = b->succ[next[stack[depth - 1]]++];
		if (g->block[to].reached)
			continue;
		g->block[to].reached = true;
		stack[depth++] = to;
	}
	g->n_rpo = n;
	for (u32 i = 0; i < n / 2; i++) {
		u32 swap = g->rpo[i];

		g->rpo[i] = g->rpo[n - 1 - i];
		g->rpo[n - 1 - i] = swap;
	}
	for (u32 i = 0; i < n; i++)
		g->block[g->rpo[i]].order = i;
	free(stack);
	free(next);
}

static u32 common(const struct fx_cfg *g, u32 a, u32 b)
{
	while (a != b) {
		if (g->block[a].order > g->block[b].order)
			a = g->block[a].idom;
		else
			b = g->block[b].idom;
	}
	return a;
}

/* The blocks that lead to each, one after the other. */
static void find_preds(struct fx_cfg *g)
{
	u32 *fill;

	g->first_pred = fx_calloc(g->n_block + 1, sizeof(*g->first_pred));
	for (u32 i = 0; i < g->n_rpo; i++)
		for (u32 j = 0; j < g->block[g->rpo[i]].n_succ; j++)
			g->first_pred[g->block[g->rpo[i]].succ[j] + 1]++;
	for (u32 i = 0; i < g->n_block; i++)
		g->first_pred[i + 1] += g->first_pred[i];
	g->pred = fx_calloc(g->first_pred[g->n_block] + 1, sizeof(*g->pred));
	fill = fx_calloc(g->n_block, sizeof(*fill));
	for (u32 i = 0; i < g->n_rpo; i++) {
		for (u32 j = 0; j < g->block[g->rpo[i]].n_succ; j++) {
			u32 to = g->block[g->rpo[i]].succ[j];

			g->pred[g->first_pred[to] + fill[to]++] = g->rpo[i];
		}
	}
	free(fill);
}

/* Cooper, Harvey and Kennedy: "A Simple, Fast Dominance Algorithm". */
static void find_dominators(struct fx_cfg *g)
{
	bool *have = fx_calloc(g->n_block, sizeof(*have)), changed = true;

	have[0] = true;
	while (changed) {
		changed = false;
		for (u32 i = 1; i < g->n_rpo; i++) {
			u32 b = g->rpo[i], idom = U32_MAX;

			for (u32 j = g->first_pred[b]; j < g->first_pred[b + 1]; j++)
				if (have[g->pred[j]])
					idom = idom == U32_MAX ? g->pred[j] :
					       common(g, g->pred[j], idom);
			if (have[b] && g->block[b].idom == idom)
				continue;
			g->block[b].idom = idom;
			have[b] = true;
			changed = true;
		}
	}
	free(have);
}

static bool dominates(const struct fx_cfg *g, u32 a, u32 b)
{
	while (g->block[b].order > g->block[a].order)
		b = g->block[b].idom;
	return a == b;
}

/* ---- loops ------------------------------------------------------------ */

/* The loop with this head, made when it is the first time. */
static struct fx_loop_info *loop_of(struct fx_cfg *g, u32 head)
{
	struct fx_loop_info *l;

	for (u32 i = 0; i < g->n_loop; i++)
		if (g->loop[i].head == head)
			return &g->loop[i];
	fx_grow(g->loop, g->n_loop, g->cap_loop);
	l = &g->loop[g->n_loop++];
	*l = (struct fx_loop_info){ .head = head, .size = 1 };
	l->body = fx_calloc(g->n_block, sizeof(*l->body));
	l->body[head] = true;
	g->block[head].is_head = true;
	return l;
}

/* All that leads to @latch without passing the head. */
static void fill_loop(struct fx_cfg *g, struct fx_loop_info *l, u32 latch, u32 *stack)
{
	u32 depth = 0;

	if (!l->body[latch]) {
		l->body[latch] = true;
		l->size++;
		stack[depth++] = latch;
	}
	while (depth) {
		u32 b = stack[--depth];

		for (u32 j = g->first_pred[b]; j < g->first_pred[b + 1]; j++) {
			if (l->body[g->pred[j]])
				continue;
			l->body[g->pred[j]] = true;
			l->size++;
			stack[depth++] = g->pred[j];
		}
	}
}

static void list_blocks(const struct fx_cfg *g, struct fx_loop_info *l)
{
	u32 n = 0;

	l->block = fx_calloc(l->size, sizeof(*l->block));
	for (u32 i = 0; i < g->n_rpo; i++)
		if (l->body[g->rpo[i]])
			l->block[n++] = g->rpo[i];
}

static const char *find_loops(struct fx_cfg *g, u32 *bad, u32 *stack)
{
	g->tangled = -1;
	for (u32 i = 0; i < g->n_rpo; i++) {
		u32 from = g->rpo[i];

		for (u32 j = 0; j < g->block[from].n_succ; j++) {
			u32 to = g->block[from].succ[j];

			if (g->block[to].order > i)
				continue;
			if (!dominates(g, to, from)) {
				g->tangled = g->block[from].end - 1;
				continue;
			}
			if (g->n_loop == FX_SIMT_MAX_LOOPS && !g->block[to].is_head) {
				*bad = g->block[to].first;
				return "has more than 64 loops";
			}
			fill_loop(g, loop_of(g, to), from, stack);
		}
	}
	for (u32 i = 0; i < g->n_loop; i++)
		for (u32 b = 0; b < g->n_block; b++)
			if (g->loop[i].body[b] &&
			    (g->block[b].loop < 0 ||
			     g->loop[g->block[b].loop].size > g->loop[i].size))
				g->block[b].loop = i;
	for (u32 i = 0; i < g->n_loop; i++)
		list_blocks(g, &g->loop[i]);
	return NULL;
}

const char *fx_cfg_build(const struct fx_code_prog *p, struct fx_cfg *g, u32 *bad)
{
	bool *leader = fx_calloc(p->n, sizeof(*leader));
	const char *wrong;
	u32 *stack;

	memset(g, 0, sizeof(*g));
	wrong = find_leaders(p, leader, bad);
	if (!wrong) {
		find_blocks(p, g, leader);
		number_blocks(g);
		find_preds(g);
		find_dominators(g);
		stack = fx_calloc(g->n_block, sizeof(*stack));
		wrong = find_loops(g, bad, stack);
		free(stack);
	}
	free(leader);
	return wrong;
}

void fx_cfg_free(struct fx_cfg *g)
{
	for (u32 i = 0; i < g->n_loop; i++) {
		free(g->loop[i].body);
		free(g->loop[i].block);
	}
	free(g->loop);
	free(g->block);
	free(g->block_of);
	free(g->rpo);
	free(g->first_pred);
	free(g->pred);
	memset(g, 0, sizeof(*g));
}
