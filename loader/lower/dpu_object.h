/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What an object for a DPU holds, and whether it keeps to the subset of eBPF
 * that librte_bpf runs. fabricctl and fabric-dpu look at it with the same eyes.
 */
#ifndef FX_LOWER_DPU_OBJECT_H
#define FX_LOWER_DPU_OBJECT_H

#include <linux/bpf.h>
#include <linux/fabric_ext_dpu.h>

#include "../types.h"

/* The rules that an object can break. */
enum fx_dpu_rule {
	FX_DPU_RULE_FORM,	/* not what FX_PORTABLE() makes */
	FX_DPU_RULE_LOOP,
	FX_DPU_RULE_CALL,
	FX_DPU_RULE_ATOMIC,
	FX_DPU_RULE_CONSTANT,	/* read from memory: .rodata */
	FX_DPU_RULE_VARIABLE,	/* outside of functions: .data, .bss */
	FX_DPU_RULE_STACK,
	FX_DPU_RULE_HELPER,
	FX_DPU_RULE_MAP,
	FX_DPU_RULE_INSN,	/* an instruction that is not of -mcpu=v2 */
	FX_DPU_RULE_SIZE,
	FX_DPU_RULE_DIVIDE,	/* by a register, which can be 0 */
	FX_DPU_RULE_KERNEL,	/* rewritten for the kernel that loads it */
	FX_DPU_RULES,
};

#define FX_DPU_NO_INSN		0xffffffffU
#define FX_DPU_MAX_FAULTS	32

struct fx_dpu_fault {
	enum fx_dpu_rule rule;
	u32 insn;		/* where, or FX_DPU_NO_INSN */
	char what[128];		/* "calls 'f'", to stand behind "the guard" */
};

struct fx_dpu_object {
	struct bpf_insn *insn;	/* as in the file: maps not yet filled in */
	u32 n_insn;
	u32 stack;
	u64 helpers;
	struct fx_dpu_map map[FX_DPU_MAX_MAPS];
	u32 n_map;
	struct fx_nic_policy about;
	struct fx_dpu_fault fault[FX_DPU_MAX_FAULTS];
	u32 n_fault;		/* the first of them, in order of the program */
};

/**
 * fx_dpu_object_read() - look into an object
 * @bytes: the ELF file
 * @size: how many
 * @o: filled; to fx_dpu_object_free()
 *
 * Nothing in the file is trusted. Return: 0, with o->n_fault of 0 when a DPU
 * can run it; -ENOMEM.
 */
int fx_dpu_object_read(const void *bytes, size_t size, struct fx_dpu_object *o);
void fx_dpu_object_free(struct fx_dpu_object *o);

/* What would work instead of what the rule forbids. */
const char *fx_dpu_rule_help(enum fx_dpu_rule rule);

/* dpu_subset.c: the instructions alone; adds faults, fills stack and helpers. */
void fx_dpu_check_insns(struct fx_dpu_object *o);
void fx_dpu_fault(struct fx_dpu_object *o, enum fx_dpu_rule rule, u32 insn,
		  const char *fmt, ...) fx_printf(4, 5);

#endif /* FX_LOWER_DPU_OBJECT_H */
