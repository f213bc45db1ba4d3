/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* eBPF instructions as initialisers, and checking a program made of them. */
#ifndef GPU_ASM_H
#define GPU_ASM_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "diag.h"
#include "lower/gpu_rules.h"
#include "lower/insn.h"
#include "lower/simt.h"
#include "util.h"

#define INSN(c, d, s, o, i)						\
	{ .code = (c), .dst_reg = (d), .src_reg = (s), .off = (o), .imm = (i) }

#define MOV(d, s)	INSN(BPF_ALU64 | BPF_MOV | BPF_X, d, s, 0, 0)
#define MOVI(d, i)	INSN(BPF_ALU64 | BPF_MOV | BPF_K, d, 0, 0, i)
#define MOV32(d, s)	INSN(BPF_ALU | BPF_MOV | BPF_X, d, s, 0, 0)
#define ALU(op, d, s)	INSN(BPF_ALU64 | (op) | BPF_X, d, s, 0, 0)
#define ALUI(op, d, i)	INSN(BPF_ALU64 | (op) | BPF_K, d, 0, 0, i)
#define ALU32I(op, d, i) INSN(BPF_ALU | (op) | BPF_K, d, 0, 0, i)
#define LDX(sz, d, s, o) INSN(BPF_LDX | BPF_MEM | (sz), d, s, o, 0)
#define STX(sz, d, s, o) INSN(BPF_STX | BPF_MEM | (sz), d, s, o, 0)
#define STI(sz, d, o, i) INSN(BPF_ST | BPF_MEM | (sz), d, 0, o, i)
#define ATOMIC(op, d, s, o) INSN(BPF_STX | BPF_ATOMIC | BPF_DW, d, s, o, op)
#define JMPI(op, d, i, o) INSN(BPF_JMP | (op) | BPF_K, d, 0, o, i)
#define JMP(op, d, s, o) INSN(BPF_JMP | (op) | BPF_X, d, s, o, 0)
#define JMP32I(op, d, i, o) INSN(BPF_JMP32 | (op) | BPF_K, d, 0, o, i)
#define GOTO(o)		INSN(BPF_JMP | BPF_JA, 0, 0, o, 0)
#define CALL(id)	INSN(BPF_JMP | BPF_CALL, 0, 0, 0, id)
#define EXIT		INSN(BPF_JMP | BPF_EXIT, 0, 0, 0, 0)
/* a map by its number below, which stands for a relocation */
#define MAP(d, n)	INSN(BPF_LD | BPF_IMM | BPF_DW, d, BPF_PSEUDO_MAP_FD, 0, n), { 0 }

enum { SHARED, PER_LANE, HASHED, RING, N_MAPS };

/* helpers by what they are */
#define LOOKUP		1
#define UPDATE		2
#define DELETE		3
#define PRINTK		6
#define OUTPUT		25
#define PUTS		501
#define CLOCK		502
#define BLOCK_INDEX	503
#define BLOCK_SIZE	504
#define THREAD_INDEX	505
#define FENCE		506
#define LEAVE		507
#define GRID_SIZE	508
#define SM		509
#define LANE		511

/* whether the check finds nothing in a program */
bool simt_passes(const struct bpf_insn *insn, u32 n);
/* what the check says of a program: to free() */
char *simt_said(const struct bpf_insn *insn, u32 n);

/* r6 = a pointer to entry 0 of a map, and to EXIT where there is none */
#define ENTRY(map)							\
	STI(BPF_W, 10, -4, 0), MOV(2, 10), ALUI(BPF_ADD, 2, -4),	\
	MAP(1, map), CALL(LOOKUP), JMPI(BPF_JNE, 0, 0, 2), MOVI(0, 0),	\
	EXIT, MOV(6, 0)

/* The only code that the program gets, or none. */
#define wants(code, ...)						\
	do {								\
		const struct bpf_insn prog_[] = { __VA_ARGS__ };	\
									\
		simt_wants((code), prog_, ARRAY_SIZE(prog_), __LINE__);	\
	} while (0)

void simt_wants(u32 code, const struct bpf_insn *insn, u32 n, int line);

#define RUN(tests)							\
	(cmocka_set_message_output(CM_OUTPUT_TAP),			\
	 cmocka_run_group_tests_name(__FILE__, tests, NULL, NULL))

#endif /* GPU_ASM_H */
