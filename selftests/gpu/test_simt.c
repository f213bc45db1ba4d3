// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The rules of the SIMT check: each with exactly that fault, and a twin. */
#include "asm.h"

static void branches(void **state)
{
	(void)state;
	/* the lane's number, the clock, the SM: sources that are returned */
	wants(1401, CALL(LANE), JMPI(BPF_JEQ, 0, 0, 1), MOVI(0, 1), MOVI(0, 0), EXIT);
	wants(1401, CALL(CLOCK), JMPI(BPF_JGT, 0, 9, 1), MOVI(0, 1), MOVI(0, 0), EXIT);
	wants(1401, CALL(SM), JMPI(BPF_JEQ, 0, 0, 1), MOVI(0, 1), MOVI(0, 0), EXIT);
	/* not decided by it, but computed from it */
	wants(0, CALL(LANE), ALUI(BPF_AND, 0, 1), MOVI(0, 0), EXIT);
	/* on the right of the comparison, in 32 bits, in a test of bits */
	wants(1401, CALL(LANE), MOVI(1, 3), JMP(BPF_JLT, 1, 0, 0), MOVI(0, 0), EXIT);
	wants(1401, CALL(LANE), JMP32I(BPF_JNE, 0, 0, 0), MOVI(0, 0), EXIT);
	wants(1401, CALL(LANE), JMPI(BPF_JSET, 0, 1, 0), MOVI(0, 0), EXIT);
	wants(0, CALL(LANE), MOVI(0, 3), JMPI(BPF_JSET, 0, 1, 0), MOVI(0, 0), EXIT);
}

/* 503 and 505 fill what three pointers point to; 504 and 508 do it alike. */
#define INDEX(id)							\
	MOV(1, 10), ALUI(BPF_ADD, 1, -8), MOV(2, 10), ALUI(BPF_ADD, 2, -16), \
	MOV(3, 10), ALUI(BPF_ADD, 3, -24), CALL(id)

static void indices(void **state)
{
	(void)state;
	for (short at = -24; at < 0; at += 8) {
		wants(1401, INDEX(THREAD_INDEX), LDX(BPF_DW, 1, 10, at),
		      JMPI(BPF_JEQ, 1, 0, 0), MOVI(0, 0), EXIT);
		wants(1401, INDEX(BLOCK_INDEX), LDX(BPF_W, 1, 10, at),
		      JMPI(BPF_JEQ, 1, 0, 0), MOVI(0, 0), EXIT);
		wants(0, INDEX(BLOCK_SIZE), LDX(BPF_DW, 1, 10, at),
		      JMPI(BPF_JEQ, 1, 0, 0), MOVI(0, 0), EXIT);
		wants(0, INDEX(GRID_SIZE), LDX(BPF_DW, 1, 10, at),
		      JMPI(BPF_JEQ, 1, 0, 0), MOVI(0, 0), EXIT);
	}
	/* beside what they fill */
	wants(0, STI(BPF_DW, 10, -32, 0), INDEX(THREAD_INDEX), LDX(BPF_DW, 1, 10, -32),
	      JMPI(BPF_JEQ, 1, 0, 0), MOVI(0, 0), EXIT);
	/* into a map that all share */
	wants(1403, ENTRY(SHARED), MOV(1, 6), MOV(2, 10), ALUI(BPF_ADD, 2, -16),
	      MOV(3, 10), ALUI(BPF_ADD, 3, -24), CALL(THREAD_INDEX), MOVI(0, 0), EXIT);
	wants(0, ENTRY(PER_LANE), MOV(1, 6), MOV(2, 10), ALUI(BPF_ADD, 2, -16),
	      MOV(3, 10), ALUI(BPF_ADD, 3, -24), CALL(THREAD_INDEX), MOVI(0, 0), EXIT);
}

static void moves(void **state)
{
	(void)state;
	/* through registers that calls keep, and calculations of each kind */
	wants(1401, CALL(LANE), MOV(7, 0), CALL(14), MOV32(8, 7), JMPI(BPF_JEQ, 8, 0, 0),
	      MOVI(0, 0), EXIT);
	wants(1401, CALL(LANE), MOVI(1, 4), ALU(BPF_MUL, 1, 0), JMPI(BPF_JEQ, 1, 0, 0),
	      MOVI(0, 0), EXIT);
	wants(1401, CALL(LANE), ALU32I(BPF_RSH, 0, 2), JMPI(BPF_JEQ, 0, 0, 0), MOVI(0, 0), EXIT);
	wants(1401, CALL(LANE), INSN(BPF_ALU64 | BPF_NEG, 0, 0, 0, 0), JMPI(BPF_JEQ, 0, 0, 0),
	      MOVI(0, 0), EXIT);
	wants(1401, CALL(LANE), INSN(BPF_ALU | BPF_END | BPF_TO_BE, 0, 0, 0, 16),
	      JMPI(BPF_JEQ, 0, 0, 0), MOVI(0, 0), EXIT);
	/* x ^ x is zero in every lane, whatever x is */
	wants(0, CALL(LANE), ALU(BPF_XOR, 0, 0), JMPI(BPF_JEQ, 0, 0, 0), MOVI(0, 0), EXIT);
	/* an operation of 32 bits leaves nothing of the upper half, nor of taint */
	wants(0, CALL(LANE), INSN(BPF_ALU | BPF_MOV | BPF_K, 0, 0, 0, 5),
	      JMPI(BPF_JEQ, 0, 5, 0), MOVI(0, 0), EXIT);
	/* sign extension is a copy */
	wants(1401, CALL(LANE), INSN(BPF_ALU64 | BPF_MOV | BPF_X, 1, 0, 8, 0),
	      JMPI(BPF_JEQ, 1, 0, 0), MOVI(0, 0), EXIT);
	/* calls leave nothing in r1 to r5, and their result in r0 */
	wants(0, CALL(LANE), CALL(14), JMPI(BPF_JEQ, 0, 0, 0), MOVI(0, 0), EXIT);
}

static void stack(void **state)
{
	(void)state;
	/* spilled whole, and in pieces */
	wants(1401, CALL(LANE), STX(BPF_DW, 10, 0, -8), LDX(BPF_DW, 1, 10, -8),
	      JMPI(BPF_JEQ, 1, 0, 0), MOVI(0, 0), EXIT);
	wants(1401, CALL(LANE), STI(BPF_DW, 10, -8, 0), STX(BPF_B, 10, 0, -5),
	      LDX(BPF_W, 1, 10, -8), JMPI(BPF_JEQ, 1, 0, 0), MOVI(0, 0), EXIT);
	wants(0, CALL(LANE), STI(BPF_DW, 10, -8, 0), STX(BPF_B, 10, 0, -4),
	      LDX(BPF_W, 1, 10, -8), JMPI(BPF_JEQ, 1, 0, 0), MOVI(0, 0), EXIT);
	/* half overwritten: the other half is still the lane's */
	wants(1401, CALL(LANE), STX(BPF_DW, 10, 0, -8), STI(BPF_W, 10, -8, 0),
	      LDX(BPF_DW, 1, 10, -8), JMPI(BPF_JEQ, 1, 0, 0), MOVI(0, 0), EXIT);
	wants(0, CALL(LANE), STX(BPF_DW, 10, 0, -8), STI(BPF_W, 10, -8, 0),
	      LDX(BPF_W, 1, 10, -8), JMPI(BPF_JEQ, 1, 0, 0), MOVI(0, 0), EXIT);
	wants(0, CALL(LANE), STX(BPF_DW, 10, 0, -8), STI(BPF_DW, 10, -8, 0),
	      LDX(BPF_DW, 1, 10, -8), JMPI(BPF_JEQ, 1, 0, 0), MOVI(0, 0), EXIT);
	/* across two slots */
	wants(1401, CALL(LANE), STX(BPF_DW, 10, 0, -12), LDX(BPF_DW, 1, 10, -16),
	      JMPI(BPF_JEQ, 1, 0, 0), MOVI(0, 0), EXIT);
	/* at an offset that is the lane's: anything may be there */
	wants(1401, STI(BPF_DW, 10, -8, 0), CALL(LANE), MOV(1, 10), ALU(BPF_SUB, 1, 0),
	      LDX(BPF_DW, 1, 1, -64), JMPI(BPF_JEQ, 1, 0, 0), MOVI(0, 0), EXIT);
	wants(1401, STI(BPF_DW, 10, -8, 0), CALL(LANE), MOV(1, 10), ALU(BPF_SUB, 1, 0),
	      STI(BPF_DW, 1, -64, 7), LDX(BPF_DW, 1, 10, -8), JMPI(BPF_JEQ, 1, 0, 0),
	      MOVI(0, 0), EXIT);
	/* at one that is not known, but the same in all lanes */
	wants(0, STI(BPF_DW, 10, -8, 0), CALL(14), MOV(1, 10), ALU(BPF_SUB, 1, 0),
	      STI(BPF_DW, 1, -64, 7), LDX(BPF_DW, 1, 10, -8), JMPI(BPF_JEQ, 1, 0, 0),
	      MOVI(0, 0), EXIT);
	wants(1401, CALL(LANE), MOV(7, 0), CALL(14), MOV(1, 10), ALU(BPF_SUB, 1, 0),
	      STX(BPF_DW, 1, 7, -64), LDX(BPF_DW, 1, 10, -8), JMPI(BPF_JEQ, 1, 0, 0),
	      MOVI(0, 0), EXIT);
	/* a pointer comes back as one */
	wants(0, ENTRY(SHARED), STX(BPF_DW, 10, 6, -16), LDX(BPF_DW, 7, 10, -16),
	      LDX(BPF_DW, 1, 7, 0), JMPI(BPF_JEQ, 1, 0, 0), MOVI(0, 0), EXIT);
	/* its pieces are numbers, and these are the lane's */
	wants(1401, ENTRY(PER_LANE), STX(BPF_DW, 10, 6, -16), LDX(BPF_W, 7, 10, -16),
	      JMPI(BPF_JEQ, 7, 0, 0), MOVI(0, 0), EXIT);
	wants(0, ENTRY(SHARED), STX(BPF_DW, 10, 6, -16), LDX(BPF_W, 7, 10, -16),
	      JMPI(BPF_JEQ, 7, 0, 0), MOVI(0, 0), EXIT);
	/* an atomic operation of the lane on its stack */
	wants(1401, CALL(LANE), STI(BPF_DW, 10, -8, 0), ATOMIC(BPF_ADD, 10, 0, -8),
	      LDX(BPF_DW, 1, 10, -8), JMPI(BPF_JEQ, 1, 0, 0), MOVI(0, 0), EXIT);
	wants(0, MOVI(0, 1), STI(BPF_DW, 10, -8, 0), ATOMIC(BPF_ADD, 10, 0, -8),
	      LDX(BPF_DW, 1, 10, -8), JMPI(BPF_JEQ, 1, 0, 0), MOVI(0, 0), EXIT);
}

static void joins(void **state)
{
	(void)state;
	/* one way varies, the other does not: behind, it may */
	wants(1401, CALL(LANE), MOV(7, 0), CALL(14), JMPI(BPF_JEQ, 0, 0, 1), MOVI(7, 1),
	      JMPI(BPF_JEQ, 7, 0, 0), MOVI(0, 0), EXIT);
	wants(0, CALL(LANE), MOV(7, 0), CALL(14), JMPI(BPF_JEQ, 0, 0, 2), MOVI(7, 1),
	      GOTO(1), MOVI(7, 2), JMPI(BPF_JEQ, 7, 0, 0), MOVI(0, 0), EXIT);
	/* the same on the stack */
	wants(1401, STI(BPF_DW, 10, -8, 0), CALL(LANE), MOV(7, 0), CALL(14),
	      JMPI(BPF_JEQ, 0, 0, 1), STX(BPF_DW, 10, 7, -8), LDX(BPF_DW, 1, 10, -8),
	      JMPI(BPF_JEQ, 1, 0, 0), MOVI(0, 0), EXIT);
	/* entries of two maps: a read may be of the lane's own */
	wants(1401, ENTRY(SHARED), MOV(7, 6), ENTRY(PER_LANE), CALL(14),
	      JMPI(BPF_JEQ, 0, 0, 1), MOV(7, 6), LDX(BPF_DW, 1, 7, 0),
	      JMPI(BPF_JEQ, 1, 0, 0), MOVI(0, 0), EXIT);
	wants(1403, CALL(LANE), MOV(8, 0), ENTRY(SHARED), MOV(7, 6), ENTRY(PER_LANE), CALL(14),
	      JMPI(BPF_JEQ, 0, 0, 1), MOV(7, 6), STX(BPF_DW, 7, 8, 0), MOVI(0, 0), EXIT);
	/* what nothing leads to does not count */
	wants(0, CALL(LANE), MOV(7, 0), GOTO(1), JMPI(BPF_JEQ, 7, 0, 0), MOVI(0, 0), EXIT);
	wants(0, CALL(LANE), MOV(7, 0), CALL(LEAVE), JMPI(BPF_JEQ, 7, 0, 0), MOVI(0, 0), EXIT);
	wants(1401, CALL(LANE), MOV(7, 0), GOTO(0), JMPI(BPF_JEQ, 7, 0, 0), MOVI(0, 0), EXIT);
}

static void maps(void **state)
{
	(void)state;
	/* what all share is the same for all; what is the lane's is not */
	wants(0, ENTRY(SHARED), LDX(BPF_DW, 1, 6, 8), JMPI(BPF_JGT, 1, 5, 0), MOVI(0, 0), EXIT);
	wants(1401, ENTRY(PER_LANE), LDX(BPF_DW, 1, 6, 8), JMPI(BPF_JGT, 1, 5, 0), MOVI(0, 0), EXIT);
	/* whether an entry is there is the same for all, its address is not */
	wants(0, ENTRY(PER_LANE), MOVI(0, 0), EXIT);
	wants(1401, ENTRY(PER_LANE), JMPI(BPF_JGT, 6, 5, 0), MOVI(0, 0), EXIT);
	wants(1401, ENTRY(PER_LANE), JMP32I(BPF_JEQ, 6, 0, 0), MOVI(0, 0), EXIT);
	wants(0, ENTRY(SHARED), JMPI(BPF_JGT, 6, 5, 0), MOVI(0, 0), EXIT);
	/* at the lane's offset: allowed in its own entry, not in a shared one */
	wants(0, ENTRY(PER_LANE), CALL(LANE), ALUI(BPF_AND, 0, 7), ALU(BPF_ADD, 6, 0),
	      STI(BPF_B, 6, 0, 1), MOVI(0, 0), EXIT);
	wants(1403, ENTRY(SHARED), CALL(LANE), ALUI(BPF_AND, 0, 7), ALU(BPF_ADD, 6, 0),
	      STI(BPF_B, 6, 0, 1), MOVI(0, 0), EXIT);
	wants(1401, ENTRY(SHARED), CALL(LANE), ALUI(BPF_AND, 0, 7), ALU(BPF_ADD, 0, 6),
	      LDX(BPF_B, 1, 0, 0), JMPI(BPF_JEQ, 1, 0, 0), MOVI(0, 0), EXIT);
	/* stored, added */
	wants(1403, CALL(LANE), MOV(7, 0), ENTRY(SHARED), STX(BPF_DW, 6, 7, 0), MOVI(0, 0), EXIT);
	wants(0, CALL(LANE), MOV(7, 0), ENTRY(PER_LANE), STX(BPF_DW, 6, 7, 0), MOVI(0, 0), EXIT);
	wants(0, CALL(14), MOV(7, 0), ENTRY(SHARED), STX(BPF_DW, 6, 7, 0), MOVI(0, 0), EXIT);
	wants(1403, CALL(LANE), MOV(7, 0), ENTRY(SHARED), ATOMIC(BPF_ADD, 6, 7, 0), MOVI(0, 0), EXIT);
	wants(0, CALL(LANE), MOV(7, 0), ENTRY(PER_LANE), ATOMIC(BPF_ADD, 6, 7, 0), MOVI(0, 0), EXIT);
	wants(0, MOVI(7, 1), ENTRY(SHARED), ATOMIC(BPF_ADD, 6, 7, 0), MOVI(0, 0), EXIT);
	/* the address of the lane's entry tells the lane */
	wants(1403, ENTRY(PER_LANE), MOV(7, 6), ENTRY(SHARED), STX(BPF_DW, 6, 7, 0), MOVI(0, 0), EXIT);
	wants(1403, ENTRY(SHARED), STX(BPF_DW, 6, 10, 0), MOVI(0, 0), EXIT);
	/* each lane finds what the one before left */
	wants(1401, MOVI(7, 1), ENTRY(SHARED), ATOMIC(BPF_ADD | BPF_FETCH, 6, 7, 0),
	      JMPI(BPF_JEQ, 7, 0, 0), MOVI(0, 0), EXIT);
	wants(1401, MOVI(7, 1), ENTRY(SHARED), MOVI(0, 0), ATOMIC(BPF_CMPXCHG, 6, 7, 0),
	      JMPI(BPF_JEQ, 0, 0, 0), MOVI(0, 0), EXIT);
	wants(0, MOVI(7, 1), ENTRY(SHARED), ATOMIC(BPF_ADD | BPF_FETCH, 6, 7, 0), MOVI(0, 0), EXIT);
	/* memory of which nothing is known: the argument, a number as a pointer */
	wants(1401, LDX(BPF_DW, 1, 1, 0), JMPI(BPF_JEQ, 1, 0, 0), MOVI(0, 0), EXIT);
	wants(1403, CALL(LANE), MOVI(1, 64), STX(BPF_DW, 1, 0, 0), MOVI(0, 0), EXIT);
}

#define KEY(reg, at) MOV(reg, 10), ALUI(BPF_ADD, reg, at)

static void keys(void **state)
{
	(void)state;
	for (u32 map = 0; map < RING; map++) {
		wants(1402, CALL(LANE), STX(BPF_DW, 10, 0, -8), KEY(2, -8), MAP(1, map),
		      CALL(LOOKUP), MOVI(0, 0), EXIT);
		wants(0, CALL(14), STX(BPF_DW, 10, 0, -8), KEY(2, -8), MAP(1, map),
		      CALL(LOOKUP), MOVI(0, 0), EXIT);
	}
	/* the last byte of the key, and the first behind it */
	wants(1402, STI(BPF_DW, 10, -8, 0), CALL(LANE), STX(BPF_B, 10, 0, -5), KEY(2, -8),
	      MAP(1, SHARED), CALL(LOOKUP), MOVI(0, 0), EXIT);
	wants(0, STI(BPF_DW, 10, -8, 0), CALL(LANE), STX(BPF_B, 10, 0, -4), KEY(2, -8),
	      MAP(1, SHARED), CALL(LOOKUP), MOVI(0, 0), EXIT);
	/* behind a pointer into a map */
	wants(1402, ENTRY(PER_LANE), MOV(2, 6), MAP(1, SHARED), CALL(LOOKUP), MOVI(0, 0), EXIT);
	wants(0, ENTRY(SHARED), MOV(2, 6), MAP(1, SHARED), CALL(LOOKUP), MOVI(0, 0), EXIT);
	/* a pointer of the lane's as part of the key */
	wants(1402, STX(BPF_DW, 10, 10, -8), KEY(2, -8), MAP(1, HASHED), CALL(LOOKUP),
	      MOVI(0, 0), EXIT);
	/* changed and deleted */
	wants(1402, ENTRY(SHARED), CALL(LANE), STX(BPF_DW, 10, 0, -8), KEY(2, -8), MOV(3, 6),
	      MOVI(4, 0), MAP(1, SHARED), CALL(UPDATE), MOVI(0, 0), EXIT);
	wants(1402, CALL(LANE), STX(BPF_DW, 10, 0, -8), KEY(2, -8), MAP(1, HASHED),
	      CALL(DELETE), MOVI(0, 0), EXIT);
	wants(0, STI(BPF_DW, 10, -8, 0), KEY(2, -8), MAP(1, HASHED), CALL(DELETE),
	      MOVI(0, 0), EXIT);
}

/* 64 bytes at -128, which are the value of a map */
#define VALUE								\
	STI(BPF_DW, 10, -128, 1), STI(BPF_DW, 10, -120, 2), STI(BPF_DW, 10, -112, 3), \
	STI(BPF_DW, 10, -104, 4), STI(BPF_DW, 10, -96, 5), STI(BPF_DW, 10, -88, 6), \
	STI(BPF_DW, 10, -80, 7), STI(BPF_DW, 10, -72, 8)

static void effects(void **state)
{
	(void)state;
	/* the value of an update, its last byte, its flags */
	wants(1403, VALUE, STI(BPF_W, 10, -4, 0), CALL(LANE), STX(BPF_B, 10, 0, -65), KEY(2, -4),
	      KEY(3, -128), MOVI(4, 0), MAP(1, SHARED), CALL(UPDATE), MOVI(0, 0), EXIT);
	wants(0, VALUE, STI(BPF_W, 10, -4, 0), CALL(LANE), STX(BPF_B, 10, 0, -64), KEY(2, -4),
	      KEY(3, -128), MOVI(4, 0), MAP(1, SHARED), CALL(UPDATE), MOVI(0, 0), EXIT);
	wants(0, STI(BPF_W, 10, -4, 0), CALL(LANE), STX(BPF_B, 10, 0, -65), KEY(2, -4),
	      KEY(3, -128), MOVI(4, 0), MAP(1, PER_LANE), CALL(UPDATE), MOVI(0, 0), EXIT);
	wants(1403, STI(BPF_W, 10, -4, 0), CALL(LANE), MOV(4, 0), KEY(2, -4), KEY(3, -128),
	      MAP(1, PER_LANE), CALL(UPDATE), MOVI(0, 0), EXIT);
	/* output: rings are per lane, other maps are not */
	wants(0, CALL(LANE), STX(BPF_DW, 10, 0, -8), MAP(2, RING), MOVI(3, 0), KEY(4, -8),
	      MOVI(5, 8), CALL(OUTPUT), MOVI(0, 0), EXIT);
	wants(1403, CALL(LANE), STX(BPF_DW, 10, 0, -8), MAP(2, SHARED), MOVI(3, 0), KEY(4, -8),
	      MOVI(5, 8), CALL(OUTPUT), MOVI(0, 0), EXIT);
	wants(0, CALL(14), STX(BPF_DW, 10, 0, -8), MAP(2, SHARED), MOVI(3, 0), KEY(4, -8),
	      MOVI(5, 8), CALL(OUTPUT), MOVI(0, 0), EXIT);
	wants(1403, CALL(LANE), MOV(5, 0), ALUI(BPF_AND, 5, 7), STI(BPF_DW, 10, -8, 0),
	      MAP(2, RING), MOVI(3, 0), KEY(4, -8), CALL(OUTPUT), MOVI(0, 0), EXIT);
	/* printed: an argument of each kind */
	wants(1403, STI(BPF_DW, 10, -8, 0), CALL(LANE), MOV(3, 0), KEY(1, -8), MOVI(2, 8),
	      MOVI(4, 0), MOVI(5, 0), CALL(PRINTK), MOVI(0, 0), EXIT);
	wants(1403, CALL(LANE), STX(BPF_DW, 10, 0, -8), KEY(1, -8), CALL(PUTS), MOVI(0, 0), EXIT);
	wants(0, STI(BPF_DW, 10, -8, 0), KEY(1, -8), MOVI(2, 8), MOVI(3, 1), MOVI(4, 0),
	      MOVI(5, 0), CALL(PRINTK), MOVI(0, 0), EXIT);
	wants(0, CALL(LANE), STI(BPF_DW, 10, -8, 0), KEY(1, -8), CALL(PUTS), MOVI(0, 0), EXIT);
}

/* What helpers return, and what calls leave behind. */
static void returned(void **state)
{
	(void)state;
	/* the first lane changes a hash map, and the next one finds it so */
	wants(1401, VALUE, STI(BPF_DW, 10, -8, 0), KEY(2, -8), KEY(3, -128), MOVI(4, 1),
	      MAP(1, HASHED), CALL(UPDATE), JMPI(BPF_JEQ, 0, 0, 0), MOVI(0, 0), EXIT);
	wants(0, VALUE, STI(BPF_DW, 10, -8, 0), KEY(2, -8), KEY(3, -128), MOVI(4, 1),
	      MAP(1, SHARED), CALL(UPDATE), JMPI(BPF_JEQ, 0, 0, 0), MOVI(0, 0), EXIT);
	wants(1401, STI(BPF_DW, 10, -8, 0), KEY(2, -8), MAP(1, HASHED), CALL(DELETE),
	      JMPI(BPF_JEQ, 0, 0, 0), MOVI(0, 0), EXIT);
	wants(0, STI(BPF_DW, 10, -8, 0), KEY(2, -8), MAP(1, SHARED), CALL(DELETE),
	      JMPI(BPF_JEQ, 0, 0, 0), MOVI(0, 0), EXIT);
	/* rings fill up one by one */
	wants(1401, STI(BPF_DW, 10, -8, 0), MAP(2, RING), MOVI(3, 0), KEY(4, -8), MOVI(5, 8),
	      CALL(OUTPUT), JMPI(BPF_JEQ, 0, 0, 0), MOVI(0, 0), EXIT);
	wants(0, STI(BPF_DW, 10, -8, 0), MAP(2, RING), MOVI(3, 0), KEY(4, -8), MOVI(5, 8),
	      CALL(OUTPUT), MOVI(0, 0), JMPI(BPF_JEQ, 0, 0, 0), MOVI(0, 0), EXIT);
	wants(1401, CALL(510), JMPI(BPF_JEQ, 0, 0, 0), MOVI(0, 0), EXIT);
	/* nothing is left in r1 to r5, of what varies or of what does not */
	wants(1401, MOVI(3, 1), CALL(14), JMPI(BPF_JEQ, 3, 0, 0), MOVI(0, 0), EXIT);
	wants(0, MOVI(6, 1), CALL(14), JMPI(BPF_JEQ, 6, 0, 0), MOVI(0, 0), EXIT);
}

/* Registers and bytes of the stack that nothing was written to. */
static void unwritten(void **state)
{
	(void)state;
	wants(1401, JMPI(BPF_JEQ, 7, 0, 0), MOVI(0, 0), EXIT);
	wants(0, MOVI(7, 0), JMPI(BPF_JEQ, 7, 0, 0), MOVI(0, 0), EXIT);
	wants(1401, LDX(BPF_DW, 1, 10, -64), JMPI(BPF_JEQ, 1, 0, 0), MOVI(0, 0), EXIT);
	wants(0, STI(BPF_DW, 10, -64, 1), LDX(BPF_DW, 1, 10, -64), JMPI(BPF_JEQ, 1, 0, 0),
	      MOVI(0, 0), EXIT);
	/* the padding of a key */
	wants(1402, STI(BPF_B, 10, -8, 1), STI(BPF_W, 10, -4, 1), KEY(2, -8), MAP(1, HASHED),
	      CALL(LOOKUP), MOVI(0, 0), EXIT);
	wants(0, STI(BPF_W, 10, -8, 1), STI(BPF_W, 10, -4, 1), KEY(2, -8), MAP(1, HASHED),
	      CALL(LOOKUP), MOVI(0, 0), EXIT);
	/* on one of two ways; beyond the stack */
	wants(1401, CALL(14), JMPI(BPF_JEQ, 0, 0, 1), STI(BPF_DW, 10, -8, 1),
	      LDX(BPF_DW, 1, 10, -8), JMPI(BPF_JEQ, 1, 0, 0), MOVI(0, 0), EXIT);
	wants(1401, LDX(BPF_DW, 1, 10, 8), JMPI(BPF_JEQ, 1, 0, 0), MOVI(0, 0), EXIT);
	/* each of the three that a helper fills, and nothing beside it */
	wants(0, INDEX(BLOCK_SIZE), LDX(BPF_W, 1, 10, -4), JMPI(BPF_JEQ, 1, 0, 0), MOVI(0, 0), EXIT);
	wants(1401, INDEX(BLOCK_SIZE), LDX(BPF_W, 1, 10, -28), JMPI(BPF_JEQ, 1, 0, 0),
	      MOVI(0, 0), EXIT);
}

/* The two sides of a way that parts on what r0 holds, which is the same. */
#define EITHER(a, b) CALL(14), JMPI(BPF_JEQ, 0, 0, 2), a, GOTO(1), b

/* An address of the lane's own, on one of two ways or in part. */
static void addresses(void **state)
{
	(void)state;
	wants(1401, ENTRY(PER_LANE), MOV(8, 6), EITHER(MOVI(6, 5), MOV(6, 8)),
	      JMPI(BPF_JGT, 6, 7, 0), MOVI(0, 0), EXIT);
	wants(1401, ENTRY(PER_LANE), MOV(8, 6), EITHER(MOV(6, 8), MOVI(6, 5)),
	      JMPI(BPF_JGT, 6, 7, 0), MOVI(0, 0), EXIT);
	wants(0, ENTRY(SHARED), MOV(8, 6), EITHER(MOVI(6, 5), MOV(6, 8)),
	      JMPI(BPF_JGT, 6, 7, 0), MOVI(0, 0), EXIT);
	wants(1401, EITHER(MOV(6, 10), MOVI(6, 5)), JMPI(BPF_JGT, 6, 7, 0), MOVI(0, 0), EXIT);
	wants(1402, ENTRY(PER_LANE), EITHER(MOV(7, 6), MOVI(7, 5)), STX(BPF_DW, 10, 7, -8),
	      KEY(2, -8), MAP(1, HASHED), CALL(LOOKUP), MOVI(0, 0), EXIT);
	wants(1403, ENTRY(PER_LANE), EITHER(MOV(7, 6), MOVI(7, 5)), ENTRY(SHARED),
	      STX(BPF_DW, 6, 7, 0), MOVI(0, 0), EXIT);
	/* a part of it is overwritten, at a place that is known or not */
	wants(1401, ENTRY(PER_LANE), STX(BPF_DW, 10, 6, -16), STI(BPF_B, 10, -9, 0),
	      LDX(BPF_W, 1, 10, -16), JMPI(BPF_JGT, 1, 7, 0), MOVI(0, 0), EXIT);
	wants(0, ENTRY(SHARED), STX(BPF_DW, 10, 6, -16), STI(BPF_B, 10, -9, 0),
	      LDX(BPF_W, 1, 10, -16), JMPI(BPF_JGT, 1, 7, 0), MOVI(0, 0), EXIT);
	wants(1401, STX(BPF_DW, 10, 10, -16), STI(BPF_B, 10, -9, 0), LDX(BPF_DW, 1, 10, -16),
	      JMPI(BPF_JGT, 1, 7, 0), MOVI(0, 0), EXIT);
	wants(1401, ENTRY(PER_LANE), STX(BPF_DW, 10, 6, -16), CALL(14), MOV(1, 10),
	      ALU(BPF_SUB, 1, 0), STI(BPF_B, 1, -64, 7), LDX(BPF_DW, 1, 10, -16),
	      JMPI(BPF_JGT, 1, 7, 0), MOVI(0, 0), EXIT);
	/* whole on one way, in two words on the other */
	wants(1401, ENTRY(PER_LANE), CALL(14), JMPI(BPF_JEQ, 0, 0, 2), STX(BPF_DW, 10, 6, -16),
	      GOTO(2), STI(BPF_W, 10, -16, 0), STI(BPF_W, 10, -12, 0), LDX(BPF_DW, 1, 10, -16),
	      JMPI(BPF_JGT, 1, 7, 0), MOVI(0, 0), EXIT);
	wants(0, ENTRY(SHARED), CALL(14), JMPI(BPF_JEQ, 0, 0, 2), STX(BPF_DW, 10, 6, -16),
	      GOTO(2), STI(BPF_W, 10, -16, 0), STI(BPF_W, 10, -12, 0), LDX(BPF_DW, 1, 10, -16),
	      JMPI(BPF_JGT, 1, 7, 0), MOVI(0, 0), EXIT);
	/* an entry, or none: whether it is there; not so where it was moved */
	wants(0, ENTRY(PER_LANE), EITHER(MOV(7, 6), MOVI(7, 0)), JMPI(BPF_JEQ, 7, 0, 0),
	      MOVI(0, 0), EXIT);
	wants(1401, ENTRY(SHARED), LDX(BPF_DW, 7, 6, 0), ENTRY(PER_LANE), ALU(BPF_SUB, 6, 7),
	      JMPI(BPF_JEQ, 6, 0, 0), MOVI(0, 0), EXIT);
	wants(0, ENTRY(SHARED), LDX(BPF_DW, 7, 6, 0), ENTRY(SHARED), ALU(BPF_SUB, 6, 7),
	      JMPI(BPF_JEQ, 6, 0, 0), MOVI(0, 0), EXIT);
	/* moved beyond what numbers hold */
	wants(1401, INSN(BPF_LD | BPF_IMM | BPF_DW, 2, 0, 0, -1), { .imm = 0x7fffffff },
	      MOV(1, 10), ALU(BPF_ADD, 1, 2), ALU(BPF_ADD, 1, 2), LDX(BPF_DW, 1, 1, -8),
	      JMPI(BPF_JEQ, 1, 0, 0), MOVI(0, 0), EXIT);
}

/* One object or another: what is read there is the same, if it is in each. */
static void either(void **state)
{
	(void)state;
	wants(0, STI(BPF_DW, 10, -8, 0), ENTRY(SHARED), MOV(7, 6), MAP(1, HASHED), KEY(2, -8),
	      STI(BPF_DW, 10, -8, 0), CALL(LOOKUP), JMPI(BPF_JEQ, 0, 0, 4), MOV(8, 0),
	      EITHER(MOV(7, 8), MOVI(1, 0)), LDX(BPF_DW, 1, 7, 0), JMPI(BPF_JEQ, 1, 0, 0),
	      MOVI(0, 0), EXIT);
	/* a default on the stack */
	wants(0, STI(BPF_DW, 10, -16, 3), ENTRY(SHARED), MOV(7, 10), ALUI(BPF_ADD, 7, -16),
	      EITHER(MOV(7, 6), MOVI(1, 0)), LDX(BPF_DW, 1, 7, 0), JMPI(BPF_JEQ, 1, 0, 0),
	      MOVI(0, 0), EXIT);
	wants(1401, CALL(LANE), STX(BPF_DW, 10, 0, -16), ENTRY(SHARED), MOV(7, 10),
	      ALUI(BPF_ADD, 7, -16), EITHER(MOV(7, 6), MOVI(1, 0)), LDX(BPF_DW, 1, 7, 0),
	      JMPI(BPF_JEQ, 1, 0, 0), MOVI(0, 0), EXIT);
	wants(1401, STI(BPF_DW, 10, -16, 3), ENTRY(PER_LANE), MOV(7, 10), ALUI(BPF_ADD, 7, -16),
	      EITHER(MOV(7, 6), MOVI(1, 0)), LDX(BPF_DW, 1, 7, 0), JMPI(BPF_JEQ, 1, 0, 0),
	      MOVI(0, 0), EXIT);
	/* and stored */
	wants(1403, CALL(LANE), MOV(8, 0), ENTRY(SHARED), MOV(7, 10), ALUI(BPF_ADD, 7, -16),
	      EITHER(MOV(7, 6), MOVI(1, 0)), STX(BPF_DW, 7, 8, 0), MOVI(0, 0), EXIT);
	wants(0, CALL(LANE), MOV(8, 0), ENTRY(PER_LANE), MOV(7, 10), ALUI(BPF_ADD, 7, -16),
	      EITHER(MOV(7, 6), MOVI(1, 0)), STX(BPF_DW, 7, 8, 0), MOVI(0, 0), EXIT);
	wants(1401, STI(BPF_DW, 10, -16, 3), CALL(LANE), MOV(8, 0), ENTRY(PER_LANE), MOV(7, 10),
	      ALUI(BPF_ADD, 7, -16), EITHER(MOV(7, 6), MOVI(1, 0)), STX(BPF_DW, 7, 8, 0),
	      LDX(BPF_DW, 1, 10, -16), JMPI(BPF_JEQ, 1, 0, 0), MOVI(0, 0), EXIT);
}

static void told(void **state)
{
	(void)state;
	/* what is below a text, and behind its zero, is not told */
	wants(0, STI(BPF_DW, 10, -16, 0), CALL(LANE), STX(BPF_DW, 10, 0, -24),
	      STX(BPF_DW, 10, 0, -8), KEY(1, -16), CALL(PUTS), MOVI(0, 0), EXIT);
	wants(1403, STI(BPF_DW, 10, -16, -1), CALL(LANE), STX(BPF_DW, 10, 0, -8), KEY(1, -16),
	      CALL(PUTS), MOVI(0, 0), EXIT);
	/* what printk is handed: a format, its size, and arguments that it has room for */
	wants(1403, CALL(LANE), STX(BPF_DW, 10, 0, -8), KEY(1, -8), MOVI(2, 8), CALL(PRINTK),
	      MOVI(0, 0), EXIT);
	wants(1403, STI(BPF_DW, 10, -8, 0), CALL(LANE), MOV(2, 0), KEY(1, -8), CALL(PRINTK),
	      MOVI(0, 0), EXIT);
	wants(1403, STI(BPF_DW, 10, -8, 0), CALL(LANE), MOV(5, 0), KEY(1, -8), MOVI(2, 8),
	      MOVI(3, 0), MOVI(4, 0), CALL(PRINTK), MOVI(0, 0), EXIT);
	wants(0, STI(BPF_DW, 10, -8, 0), CALL(LANE), MOV(5, 0), KEY(1, -8), MOVI(2, 6),
	      CALL(PRINTK), MOVI(0, 0), EXIT);
	wants(0, STI(BPF_DW, 10, -8, 0), CALL(14), KEY(1, -8), MOVI(2, 8), CALL(PRINTK),
	      MOVI(0, 0), EXIT);
	/* a size is a number, of none that is known where it is a pointer */
	wants(1403, CALL(LANE), STX(BPF_DW, 10, 0, -16), ENTRY(SHARED), MAP(2, SHARED),
	      MOVI(3, 0), KEY(4, -16), MOV(5, 6), CALL(OUTPUT), MOVI(0, 0), EXIT);
	wants(0, CALL(LANE), STX(BPF_DW, 10, 0, -16), ENTRY(SHARED), MAP(2, SHARED),
	      MOVI(3, 0), KEY(4, -16), MOVI(5, 0), CALL(OUTPUT), MOVI(0, 0), EXIT);
	wants(1403, STI(BPF_DW, 10, -8, 0), CALL(LANE), MOV(3, 0), MAP(2, RING), KEY(4, -8),
	      MOVI(5, 8), CALL(OUTPUT), MOVI(0, 0), EXIT);
	/* what is compared with gets out as much as what is stored */
	wants(1403, CALL(LANE), MOV(8, 0), ENTRY(SHARED), MOV(0, 8), MOVI(7, 1),
	      ATOMIC(BPF_CMPXCHG, 6, 7, 0), MOVI(0, 0), EXIT);
	wants(1401, STI(BPF_DW, 10, -8, 0), CALL(LANE), MOVI(7, 1), ATOMIC(BPF_CMPXCHG, 10, 7, -8),
	      LDX(BPF_DW, 1, 10, -8), JMPI(BPF_JEQ, 1, 0, 0), MOVI(0, 0), EXIT);
}

static void calls(void **state)
{
	(void)state;
	wants(1404, CALL(FENCE), MOVI(0, 0), EXIT);
	wants(1407, CALL(5), MOVI(0, 0), EXIT);
	wants(1407, CALL(512), MOVI(0, 0), EXIT);
	wants(1407, CALL(-1), MOVI(0, 0), EXIT);
	wants(0, CALL(14), MOVI(0, 0), EXIT);
	/* a map that one of two ways chose */
	wants(1407, STI(BPF_W, 10, -4, 0), MAP(6, SHARED), CALL(14), JMPI(BPF_JEQ, 0, 0, 2),
	      MAP(6, PER_LANE), MOV(1, 6), KEY(2, -4), CALL(LOOKUP), MOVI(0, 0), EXIT);
	wants(0, STI(BPF_W, 10, -4, 0), MAP(6, SHARED), CALL(14), JMPI(BPF_JEQ, 0, 0, 2),
	      MAP(6, SHARED), MOV(1, 6), KEY(2, -4), CALL(LOOKUP), MOVI(0, 0), EXIT);
	/* functions of the object, of the kernel, behind a pointer */
	wants(1408, INSN(BPF_JMP | BPF_CALL, 0, BPF_PSEUDO_CALL, 0, 1), EXIT, MOVI(0, 0), EXIT);
	wants(1408, INSN(BPF_JMP | BPF_CALL, 0, BPF_PSEUDO_KFUNC_CALL, 0, 1), MOVI(0, 0), EXIT);
	wants(1408, MOVI(1, 1), INSN(BPF_JMP | BPF_CALL | BPF_X, 1, 0, 0, 0), MOVI(0, 0), EXIT);
	wants(0, MOVI(1, 1), MOVI(0, 0), EXIT);
}

static void path(void **state)
{
	static const struct bpf_insn prog[] = {
		CALL(LANE), STX(BPF_DW, 10, 0, -8), MOVI(0, 0),
		LDX(BPF_DW, 1, 10, -8), ALUI(BPF_ADD, 1, 4), JMPI(BPF_JEQ, 1, 0, 0),
		MOVI(0, 0), EXIT,
	};
	static const char *const want[] = {
		"prog.c:6:1: error[FX1401]: 'prog' for the device 'cuda': a branch",
		"prog.c:1:1: note: it begins here: the number of the lane",
		"prog.c:2:1: note: here it is kept on the stack",
		"prog.c:4:1: note: here it is read back",
		"prog.c:5:1: note: here it goes into a calculation",
		"help: decide by what",
	};
	char *said = simt_said(prog, ARRAY_SIZE(prog)), *at = said;

	(void)state;
	/* each of them, in this order */
	for (u32 i = 0; i < ARRAY_SIZE(want); i++) {
		char *found = strstr(at, want[i]);

		if (!found)
			fail_msg("'%s' is not in\n%s", want[i], said);
		at = found;
	}
	free(said);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(branches), cmocka_unit_test(indices),
		cmocka_unit_test(moves), cmocka_unit_test(stack),
		cmocka_unit_test(joins), cmocka_unit_test(maps),
		cmocka_unit_test(keys), cmocka_unit_test(effects),
		cmocka_unit_test(returned), cmocka_unit_test(unwritten),
		cmocka_unit_test(addresses), cmocka_unit_test(either),
		cmocka_unit_test(told), cmocka_unit_test(calls), cmocka_unit_test(path),
	};

	return RUN(tests);
}
