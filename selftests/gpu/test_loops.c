// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Loops, how much work they are, and code that is no program. */
#include "asm.h"

static void bounded(void **state)
{
	(void)state;
	/* counted up and down, compared before and after, in 32 and in 64 bits */
	wants(0, MOVI(1, 0), ALUI(BPF_ADD, 1, 1), JMPI(BPF_JNE, 1, 64, -2), MOVI(0, 0), EXIT);
	wants(0, MOVI(1, 64), ALUI(BPF_SUB, 1, 1), JMPI(BPF_JSGT, 1, 0, -2), MOVI(0, 0), EXIT);
	wants(0, MOVI(1, 64), ALUI(BPF_ADD, 1, -1), JMPI(BPF_JGT, 1, 0, -2), MOVI(0, 0), EXIT);
	wants(0, MOVI(1, 0), JMPI(BPF_JGT, 1, 63, 2), ALUI(BPF_ADD, 1, 1), GOTO(-3),
	      MOVI(0, 0), EXIT);
	wants(0, MOVI(1, 0), ALU32I(BPF_ADD, 1, 1), JMP32I(BPF_JLT, 1, 9, -2), MOVI(0, 0), EXIT);
	wants(0, MOVI(1, 1), ALUI(BPF_LSH, 1, 1), JMPI(BPF_JLT, 1, 4096, -2), MOVI(0, 0), EXIT);
	/* with a constant in a register, on either side */
	wants(0, MOVI(1, 0), MOVI(2, 64), ALUI(BPF_ADD, 1, 1), JMP(BPF_JNE, 1, 2, -2),
	      MOVI(0, 0), EXIT);
	wants(0, MOVI(1, 0), MOVI(2, 64), ALUI(BPF_ADD, 1, 1), JMP(BPF_JGT, 2, 1, -2),
	      MOVI(0, 0), EXIT);
	/* a bound of its own, and a second one that is constant */
	wants(0, CALL(14), MOV(2, 0), MOVI(1, 0), JMP(BPF_JGE, 1, 2, 2), ALUI(BPF_ADD, 1, 1),
	      JMPI(BPF_JNE, 1, 64, -3), MOVI(0, 0), EXIT);
	/* one in the other */
	wants(0, MOVI(1, 0), MOVI(2, 0), ALUI(BPF_ADD, 2, 1), JMPI(BPF_JNE, 2, 8, -2),
	      ALUI(BPF_ADD, 1, 1), JMPI(BPF_JNE, 1, 8, -5), MOVI(0, 0), EXIT);
	/* left by nobody, but never entered */
	wants(0, GOTO(1), GOTO(-1), MOVI(0, 0), EXIT);
}

/* What clang makes of loops: copies, pointers, counters on the stack. */
static void compiled(void **state)
{
	(void)state;
	/* the counter through a copy, and a way out that nobody knows */
	wants(0, ENTRY(SHARED), MOVI(5, 0), MOV(3, 5), MOV(0, 5), ALU(BPF_ADD, 3, 6),
	      LDX(BPF_DW, 1, 3, 0), JMPI(BPF_JEQ, 1, 9, 3), MOV(5, 0), ALUI(BPF_ADD, 5, 8),
	      JMPI(BPF_JNE, 0, 56, -8), MOVI(0, 0), EXIT);
	wants(1405, ENTRY(SHARED), MOVI(5, 0), MOV(3, 5), MOV(0, 5), ALU(BPF_ADD, 3, 6),
	      LDX(BPF_DW, 1, 3, 0), JMPI(BPF_JEQ, 1, 9, 3), MOV(5, 0), ALUI(BPF_ADD, 5, 8),
	      JMPI(BPF_JNE, 0, 57, -8), MOVI(0, 0), EXIT);
	/* kept on the stack, in 64 bits and in 32 */
	wants(0, STI(BPF_DW, 10, -8, 0), LDX(BPF_DW, 1, 10, -8), ALUI(BPF_ADD, 1, 1),
	      STX(BPF_DW, 10, 1, -8), JMPI(BPF_JLT, 1, 40, -4), MOVI(0, 0), EXIT);
	wants(0, STI(BPF_W, 10, -4, 6), LDX(BPF_W, 1, 10, -4), ALU32I(BPF_ADD, 1, -1),
	      STX(BPF_W, 10, 1, -4), JMP32I(BPF_JNE, 1, 0, -4), MOVI(0, 0), EXIT);
	/* in two halves, of which the upper one is written apart */
	wants(0, STI(BPF_W, 10, -8, 6), STI(BPF_W, 10, -4, 0), LDX(BPF_DW, 1, 10, -8),
	      ALUI(BPF_ADD, 1, -1), STX(BPF_DW, 10, 1, -8), JMPI(BPF_JNE, 1, 0, -4),
	      MOVI(0, 0), EXIT);
	wants(1405, STI(BPF_W, 10, -8, 6), STI(BPF_W, 10, -4, 1), LDX(BPF_DW, 1, 10, -8),
	      ALUI(BPF_ADD, 1, -1), STX(BPF_DW, 10, 1, -8), JMPI(BPF_JNE, 1, 0, -4),
	      MOVI(0, 0), EXIT);
	/* a byte of it is anything */
	wants(1405, CALL(14), STI(BPF_W, 10, -4, 6), LDX(BPF_W, 1, 10, -4), ALU32I(BPF_ADD, 1, -1),
	      STX(BPF_W, 10, 1, -4), STX(BPF_B, 10, 0, -2), JMP32I(BPF_JNE, 1, 0, -5),
	      MOVI(0, 0), EXIT);
	/* from one place of an entry to another one of it */
	wants(0, ENTRY(SHARED), MOV(7, 6), ALUI(BPF_ADD, 7, 64), ALUI(BPF_ADD, 6, 8),
	      JMP(BPF_JLT, 6, 7, -2), MOVI(0, 0), EXIT);
	wants(0, ENTRY(PER_LANE), MOV(7, 6), ALUI(BPF_ADD, 7, 64), ALUI(BPF_ADD, 6, 8),
	      JMP(BPF_JNE, 6, 7, -2), MOVI(0, 0), EXIT);
	wants(0, MOV(6, 10), MOV(7, 6), ALUI(BPF_ADD, 6, -64), ALUI(BPF_ADD, 6, 8),
	      JMP(BPF_JLT, 6, 7, -2), MOVI(0, 0), EXIT);
	/* to one of another entry, though it is of the same map or call */
	wants(1405, ENTRY(SHARED), MOV(7, 6), ENTRY(SHARED), ALUI(BPF_ADD, 7, 64),
	      ALUI(BPF_ADD, 6, 8), JMP(BPF_JLT, 6, 7, -2), MOVI(0, 0), EXIT);
	wants(1405, MOV(7, 10), MOVI(8, 0), ENTRY(SHARED), JMPI(BPF_JEQ, 8, 1, 3), MOV(7, 6),
	      MOVI(8, 1), GOTO(-14), ALUI(BPF_ADD, 7, 64), ALUI(BPF_ADD, 6, 8),
	      JMP(BPF_JLT, 6, 7, -2), MOVI(0, 0), EXIT);
	wants(0, MOV(7, 10), MOVI(8, 0), ENTRY(SHARED), JMPI(BPF_JEQ, 8, 1, 3), MOV(7, 6),
	      MOVI(8, 1), GOTO(-14), MOV(7, 6), ALUI(BPF_ADD, 7, 64), ALUI(BPF_ADD, 6, 8),
	      JMP(BPF_JLT, 6, 7, -2), MOVI(0, 0), EXIT);
	/* a way back that is never gone */
	wants(0, MOVI(1, 3), MOVI(0, 0), JMPI(BPF_JGT, 1, 5, -2), EXIT);
	/* a bound that a store through either of two pointers may change */
	wants(1405, CALL(14), MOV(9, 0), STI(BPF_DW, 10, -16, 4), ENTRY(SHARED), MOV(7, 6),
	      JMPI(BPF_JEQ, 9, 0, 2), MOV(7, 10), ALUI(BPF_ADD, 7, -16), STX(BPF_DW, 7, 9, 0),
	      LDX(BPF_DW, 2, 10, -16), MOVI(1, 0), ALUI(BPF_ADD, 1, 1), JMP(BPF_JLT, 1, 2, -2),
	      MOVI(0, 0), EXIT);
	wants(0, CALL(14), MOV(9, 0), STI(BPF_DW, 10, -16, 4), ENTRY(SHARED), MOV(7, 6),
	      JMPI(BPF_JEQ, 9, 0, 2), MOV(7, 10), ALUI(BPF_ADD, 7, -24), STX(BPF_DW, 7, 9, 0),
	      LDX(BPF_DW, 2, 10, -16), MOVI(1, 0), ALUI(BPF_ADD, 1, 1), JMP(BPF_JLT, 1, 2, -2),
	      MOVI(0, 0), EXIT);
}

/* Each comparison, one round before and one behind; 64 and 32 bits. */
static void comparisons(void **state)
{
	(void)state;
	wants(0, MOVI(1, 5), ALUI(BPF_ADD, 1, 1), JMPI(BPF_JEQ, 1, 6, -2), MOVI(0, 0), EXIT);
	wants(0, MOVI(1, 5), ALUI(BPF_ADD, 1, 1), JMPI(BPF_JLE, 1, 6, -2), MOVI(0, 0), EXIT);
	wants(1405, MOVI(1, 5), ALUI(BPF_XOR, 1, 1), JMPI(BPF_JLE, 1, 5, -2), MOVI(0, 0), EXIT);
	wants(1405, MOVI(1, 6), JMPI(BPF_JLE, 1, 6, -1), MOVI(0, 0), EXIT);
	wants(1405, MOVI(1, -6), JMPI(BPF_JSLE, 1, -6, -1), MOVI(0, 0), EXIT);
	wants(0, MOVI(1, -5), JMPI(BPF_JSLE, 1, -6, -1), MOVI(0, 0), EXIT);
	wants(1405, MOVI(1, -6), JMPI(BPF_JSGE, 1, -6, -1), MOVI(0, 0), EXIT);
	wants(0, MOVI(1, -7), JMPI(BPF_JSGE, 1, -6, -1), MOVI(0, 0), EXIT);
	wants(1405, MOVI(1, -6), JMPI(BPF_JSLT, 1, 0, -1), MOVI(0, 0), EXIT);
	wants(0, MOVI(1, -6), JMPI(BPF_JLT, 1, 0, -1), MOVI(0, 0), EXIT);
	wants(1405, MOVI(1, 6), JMPI(BPF_JGE, 1, 6, -1), MOVI(0, 0), EXIT);
	wants(1405, MOVI(1, 6), JMPI(BPF_JSET, 1, 2, -1), MOVI(0, 0), EXIT);
	wants(0, MOVI(1, 6), JMPI(BPF_JSET, 1, 1, -1), MOVI(0, 0), EXIT);
	/* the immediate has a sign; only the lower half is compared */
	wants(1405, MOVI(1, -1), JMPI(BPF_JEQ, 1, -1, -1), MOVI(0, 0), EXIT);
	wants(1405, MOVI(1, 1), ALUI(BPF_LSH, 1, 40), JMP32I(BPF_JEQ, 1, 0, -1), MOVI(0, 0), EXIT);
	wants(0, MOVI(1, 1), ALUI(BPF_LSH, 1, 40), JMPI(BPF_JEQ, 1, 0, -1), MOVI(0, 0), EXIT);
	wants(1405, MOVI(1, -1), ALU32I(BPF_ADD, 1, 0), JMP32I(BPF_JSLT, 1, 0, -1),
	      MOVI(0, 0), EXIT);
	wants(0, MOVI(1, -1), ALU32I(BPF_ADD, 1, 0), JMPI(BPF_JSLT, 1, 0, -1), MOVI(0, 0), EXIT);
}

static void unbounded(void **state)
{
	(void)state;
	wants(1405, MOVI(1, 0), ALUI(BPF_ADD, 1, 1), GOTO(-2));
	/* as long as somebody else wants */
	wants(1405, CALL(14), MOV(2, 0), MOVI(1, 0), ALUI(BPF_ADD, 1, 1), JMP(BPF_JLT, 1, 2, -2),
	      MOVI(0, 0), EXIT);
	/* from where nobody knows */
	wants(1405, CALL(14), MOV(1, 0), ALUI(BPF_ADD, 1, 1), JMPI(BPF_JNE, 1, 64, -2),
	      MOVI(0, 0), EXIT);
	/* past the end: 3, 6, ... never 64 before it is 2^64 */
	wants(1405, MOVI(1, 0), ALUI(BPF_ADD, 1, 2), JMPI(BPF_JNE, 1, 63, -2), MOVI(0, 0), EXIT);
	/* away from it, and not at all */
	wants(1405, MOVI(1, 1), ALUI(BPF_ADD, 1, -1), JMPI(BPF_JNE, 1, 64, -2), MOVI(0, 0), EXIT);
	wants(1405, MOVI(1, 1), ALUI(BPF_ADD, 1, 0), JMPI(BPF_JNE, 1, 64, -2), MOVI(0, 0), EXIT);
	/* the counter is set back, or changed by what is not constant */
	wants(1405, MOVI(6, 0), ALUI(BPF_ADD, 6, 1), CALL(14), JMPI(BPF_JNE, 0, 0, 1), MOVI(6, 0),
	      JMPI(BPF_JNE, 6, 64, -5), MOVI(0, 0), EXIT);
	wants(1405, CALL(14), MOV(6, 0), MOVI(7, 0), ALU(BPF_ADD, 7, 6), JMPI(BPF_JNE, 7, 64, -2),
	      MOVI(0, 0), EXIT);
	/* changed in some rounds, compared in some rounds */
	wants(1405, CALL(14), MOV(6, 0), MOVI(7, 0), JMPI(BPF_JEQ, 6, 0, 1), ALUI(BPF_ADD, 7, 1),
	      JMPI(BPF_JNE, 7, 64, -3), MOVI(0, 0), EXIT);
	wants(1405, CALL(14), MOV(6, 0), MOVI(7, 0), ALUI(BPF_ADD, 7, 1), JMPI(BPF_JEQ, 6, 0, -2),
	      JMPI(BPF_JNE, 7, 64, -3), MOVI(0, 0), EXIT);
	/* a call takes the counter away */
	wants(1401, MOVI(1, 0), CALL(14), JMPI(BPF_JGT, 1, 64, 2), ALUI(BPF_ADD, 1, 1), GOTO(0),
	      MOVI(0, 0), EXIT);
	/* two ways in */
	wants(1405, CALL(14), MOVI(1, 0), JMPI(BPF_JEQ, 0, 0, 1), ALUI(BPF_ADD, 1, 1),
	      ALUI(BPF_ADD, 1, 1), JMPI(BPF_JNE, 1, 64, -3), MOVI(0, 0), EXIT);
	/* a counter that varies is a branch that varies */
	wants(1401, CALL(LANE), MOV(6, 0), MOVI(1, 0), JMP(BPF_JGE, 1, 6, 2), ALUI(BPF_ADD, 1, 1),
	      JMPI(BPF_JNE, 1, 64, -3), MOVI(0, 0), EXIT);
}

static void work(void **state)
{
	(void)state;
	/* 2 instructions, 32766 rounds, and 3 more: at the budget, and one over */
	wants(0, MOVI(1, 0), ALUI(BPF_ADD, 1, 1), JMPI(BPF_JNE, 1, 32766, -2), MOVI(0, 0), EXIT);
	wants(1406, MOVI(1, 0), ALUI(BPF_ADD, 1, 1), JMPI(BPF_JNE, 1, 32767, -2), MOVI(0, 0), EXIT);
	/* products */
	wants(1406, MOVI(1, 0), MOVI(2, 0), ALUI(BPF_ADD, 2, 1), JMPI(BPF_JNE, 2, 256, -2),
	      ALUI(BPF_ADD, 1, 1), JMPI(BPF_JNE, 1, 128, -5), MOVI(0, 0), EXIT);
	wants(0, MOVI(1, 0), MOVI(2, 0), ALUI(BPF_ADD, 2, 1), JMPI(BPF_JNE, 2, 128, -2),
	      ALUI(BPF_ADD, 1, 1), JMPI(BPF_JNE, 1, 128, -5), MOVI(0, 0), EXIT);
	/* more rounds than are counted */
	wants(1405, MOVI(1, 0), ALUI(BPF_ADD, 1, 1), JMPI(BPF_JNE, 1, 400000, -2), MOVI(0, 0), EXIT);
}

static void no_program(void **state)
{
	(void)state;
	wants(1409, MOVI(0, 0));
	wants(0, MOVI(0, 0), EXIT);
	/* jumps beyond the ends, into the half of a load */
	wants(1409, GOTO(5), MOVI(0, 0), EXIT);
	wants(1409, GOTO(-2), MOVI(0, 0), EXIT);
	wants(1409, GOTO(1), MAP(1, SHARED), MOVI(0, 0), EXIT);
	wants(0, GOTO(0), MAP(1, SHARED), MOVI(0, 0), EXIT);
	/* registers and operations that there are not */
	wants(1409, MOVI(11, 0), MOVI(0, 0), EXIT);
	wants(1409, MOV(1, 12), MOVI(0, 0), EXIT);
	wants(1409, MOVI(10, 0), MOVI(0, 0), EXIT);
	wants(1409, INSN(BPF_ALU64 | 0xe0, 1, 0, 0, 0), MOVI(0, 0), EXIT);
	wants(1409, INSN(BPF_LD | BPF_ABS | BPF_W, 0, 0, 0, 0), EXIT);
	wants(1409, ATOMIC(0x20, 10, 1, -8), MOVI(0, 0), EXIT);
	wants(1409, INSN(BPF_STX | BPF_ATOMIC | BPF_B, 10, 1, -8, BPF_ADD), MOVI(0, 0), EXIT);
	wants(1409, INSN(BPF_JMP | 0xf0, 0, 0, 0, 0), MOVI(0, 0), EXIT);
	/* codes of which only a part is known */
	wants(1409, INSN(BPF_JMP | BPF_JA | BPF_X, 0, 0, 0, 0), MOVI(0, 0), EXIT);
	wants(1409, INSN(BPF_JMP32 | BPF_EXIT, 0, 0, 0, 0), MOVI(0, 0), EXIT);
	wants(1409, INSN(BPF_JMP | BPF_EXIT | BPF_X, 0, 0, 0, 0), MOVI(0, 0), EXIT);
	wants(1409, INSN(BPF_JMP32 | BPF_CALL, 0, 0, 0, 14), MOVI(0, 0), EXIT);
	wants(1409, INSN(BPF_JMP | BPF_JCOND, 0, 0, 0, 0), MOVI(0, 0), EXIT);
	wants(1409, INSN(BPF_LDX | BPF_MEMSX | BPF_DW, 1, 10, -8, 0), MOVI(0, 0), EXIT);
	wants(0, INSN(BPF_LDX | BPF_MEMSX | BPF_W, 1, 10, -8, 0), MOVI(0, 0), EXIT);
	wants(1409, INSN(BPF_ALU | BPF_END | BPF_TO_BE, 1, 0, 0, 7), MOVI(0, 0), EXIT);
	wants(0, INSN(BPF_ALU | BPF_END | BPF_TO_BE, 1, 0, 0, 32), MOVI(0, 0), EXIT);
	wants(1409, INSN(BPF_ALU64 | BPF_MOV | BPF_X, 1, 2, 7, 0), MOVI(0, 0), EXIT);
	/* the second half of a load cannot be anything but that */
	wants(1409, INSN(BPF_LD | BPF_IMM | BPF_DW, 1, 0, 0, 0));
}

/* The largest program there may be, with as many branches as fit. */
static void huge(void **state)
{
	struct bpf_insn *prog = fx_calloc(FX_CODE_MAX_INSNS, sizeof(*prog));
	const struct bpf_insn call = CALL(LANE), keep = STX(BPF_DW, 10, 0, -8),
		same = CALL(14), jump = JMPI(BPF_JEQ, 0, 0, 1), skip = MOVI(3, 4), exit = EXIT;

	(void)state;
	prog[0] = call;
	prog[1] = keep;
	prog[2] = same;
	for (u32 i = 3; i < FX_CODE_MAX_INSNS - 1; i++)
		prog[i] = i % 2 ? jump : skip;
	prog[FX_CODE_MAX_INSNS - 1] = exit;
	prog[FX_CODE_MAX_INSNS - 2] = skip;
	simt_wants(0, prog, FX_CODE_MAX_INSNS, __LINE__);
	free(prog);
}

/* One loop with as many ways out and back as fit. */
static void many_ways(void **state)
{
	const u32 k = FX_CODE_MAX_INSNS / 2 - 2;
	struct bpf_insn *prog = fx_calloc(2 * k + 4, sizeof(*prog));
	const struct bpf_insn call = CALL(14), keep = MOV(6, 0), set = MOVI(0, 0), exit = EXIT;

	(void)state;
	prog[0] = call;
	prog[1] = keep;
	for (u32 i = 0; i < k; i++) {
		prog[2 + i] = (struct bpf_insn)JMPI(BPF_JEQ, 6, (s32)i, (short)(2 * k - i - 1));
		prog[2 + k + i] = (struct bpf_insn)JMPI(BPF_JEQ, 6, (s32)i,
			(short)-(s32)(k + i + 1));
	}
	prog[2 + 2 * k] = set;
	prog[3 + 2 * k] = exit;
	simt_wants(1405, prog, 2 * k + 4, __LINE__);
	free(prog);
}

/* Short on each way, but too much to look at on all of them, in all rounds. */
static void many_arms(void **state)
{
	const u32 arms = 60, len = 200;
	struct bpf_insn *prog = fx_calloc(arms * (len + 1) + arms + 8, sizeof(*prog));
	const struct bpf_insn call = CALL(14), keep = MOV(6, 0), zero = MOVI(7, 0),
		pad = MOVI(1, 0), count = ALUI(BPF_ADD, 7, 1), exit = EXIT;
	u32 n = 0, latch = 3 + arms + arms * (len + 1);

	(void)state;
	for (u32 rounds = 10; rounds <= 210; rounds += 200) {
		n = 0;
		prog[n++] = call;
		prog[n++] = keep;
		prog[n++] = zero;
		for (u32 i = 0; i < arms; i++, n++)
			prog[n] = (struct bpf_insn)JMPI(BPF_JEQ, 6, (s32)i,
				(short)(3 + arms + i * (len + 1) - n - 1));
		for (u32 i = 0; i < arms; i++) {
			for (u32 j = 0; j < len; j++)
				prog[n++] = pad;
			prog[n] = (struct bpf_insn)GOTO((short)(latch - n - 1));
			n++;
		}
		prog[n++] = count;
		prog[n] = (struct bpf_insn)JMPI(BPF_JLT, 7, (s32)rounds, (short)(3 - (s32)n - 1));
		n++;
		prog[n++] = zero;
		prog[n++] = exit;
		simt_wants(rounds == 10 ? 0 : 1409, prog, n, __LINE__);
	}
	free(prog);
}

static void many_loops(void **state)
{
	const struct bpf_insn set = MOVI(1, 0), add = ALUI(BPF_ADD, 1, 1),
		again = JMPI(BPF_JNE, 1, 4, -2), exit = EXIT;
	struct bpf_insn prog[65 * 3 + 1];

	(void)state;
	for (u32 n = 64; n <= 65; n++) {
		for (u32 i = 0; i < n; i++) {
			prog[3 * i] = set;
			prog[3 * i + 1] = add;
			prog[3 * i + 2] = again;
		}
		prog[3 * n] = exit;
		simt_wants(n == 64 ? 0 : 1409, prog, 3 * n + 1, __LINE__);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bounded), cmocka_unit_test(compiled),
		cmocka_unit_test(comparisons), cmocka_unit_test(unbounded),
		cmocka_unit_test(work), cmocka_unit_test(no_program),
		cmocka_unit_test(huge), cmocka_unit_test(many_ways),
		cmocka_unit_test(many_arms), cmocka_unit_test(many_loops),
	};

	return RUN(tests);
}
