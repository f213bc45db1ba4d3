/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The programs of an eBPF object, instruction by instruction, as clang wrote
 * them: which map an instruction names, and which line of which file it is of.
 * For checks that a device asks for and no verifier makes.
 */
#ifndef FX_LOWER_INSN_H
#define FX_LOWER_INSN_H

#include <linux/bpf.h>

#include "../types.h"

struct bpf_object;

#define FX_CODE_MAX_PROGS	256
#define FX_CODE_MAX_INSNS	16384	/* of one program */
#define FX_CODE_MAX_MAPS	256

/* What an instruction refers to, besides its immediate. */
#define FX_REF_NONE		(-1)
#define FX_REF_DATA		(-2)	/* variables: .rodata, .data, .bss */
#define FX_REF_FUNCTION		(-3)	/* a function of the object */
#define FX_REF_UNKNOWN		(-4)	/* a symbol that is none of these */

/* A line of the source; line 0: not known. */
struct fx_code_line {
	const char *file;	/* as clang was given it, or NULL */
	u32 line, col;
};

struct fx_code_map {
	const char *name;
	u32 type, key_size, value_size, max_entries;
};

struct fx_code_prog {
	const char *name;
	const char *section;
	struct bpf_insn *insn;
	s32 *ref;		/* of each: index of a map, or FX_REF_* */
	s32 *callee;		/* of a call or a callback: index of the program, or -1 */
	const char **outside;	/* of a call that leaves the object: whose, or NULL */
	struct fx_code_line *line;
	u32 n;
};

struct fx_bytecode {
	struct fx_code_prog *prog;
	u32 n_prog;
	struct fx_code_map *map;
	u32 n_map;
	/* private */
	struct bpf_object *obj;
	void *elf;
	struct btf *btf;
};

/**
 * fx_bytecode_open() - read the programs of an object
 * @object: an ELF file's bytes, which must outlive @out
 * @size: how many
 * @out: filled; release with fx_bytecode_close(), also after an error
 *
 * Trusts nothing of the object. Context: libbpf's log is redirected.
 *
 * Return: NULL, or what is wrong with it, as the end of a sentence that begins
 * with the object.
 */
const char *fx_bytecode_open(const void *object, size_t size, struct fx_bytecode *out);
void fx_bytecode_close(struct fx_bytecode *c);

/* How many instructions @insn takes: 2 for a load of 64 bits, or 1. */
static inline u32 fx_insn_len(const struct bpf_insn *insn)
{
	return insn->code == (BPF_LD | BPF_IMM | BPF_DW) ? 2 : 1;
}

static inline bool fx_insn_is_jump(const struct bpf_insn *insn)
{
	u8 class = BPF_CLASS(insn->code), op = BPF_OP(insn->code);

	return (class == BPF_JMP || class == BPF_JMP32) && op != BPF_CALL &&
	       op != BPF_EXIT;
}

/* A jump that always jumps: by @off, or (in BPF_JMP32) by @imm. */
static inline bool fx_insn_is_goto(const struct bpf_insn *insn)
{
	return fx_insn_is_jump(insn) && BPF_OP(insn->code) == BPF_JA;
}

/* Where the jump at @at of the program leads; may be out of its bounds. */
static inline s64 fx_insn_target(const struct bpf_insn *insn, u32 at)
{
	s64 off = BPF_CLASS(insn->code) == BPF_JMP32 && fx_insn_is_goto(insn) ?
		  insn->imm : insn->off;

	return (s64)at + 1 + off;
}

#endif /* FX_LOWER_INSN_H */
