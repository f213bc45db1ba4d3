/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Between the files of the SIMT check. */
#ifndef FX_LOWER_SIMT_INT_H
#define FX_LOWER_SIMT_INT_H

#include "gpu_rules.h"
#include "insn.h"
#include "simt.h"

#define FX_SIMT_STACK	512
#define FX_SIMT_REGS	11
#define FX_SIMT_MAX_LOOPS	64
#define FX_NO_WHY	U32_MAX

/*
 * Why a value varies is an instruction, or one of these, which become the
 * instruction that makes use of the value. The smaller one says more.
 */
#define FX_WHY_UNWRITTEN (U32_MAX - 1)	/* nothing was written there */
#define FX_WHY_ADDRESS	(U32_MAX - 2)	/* one of two ways left an address */

/* ---- control flow ---- */

struct fx_loop_info {
	u32 head;		/* block */
	bool *body;		/* of each block: is it in the loop? */
	u32 *block;		/* of it, in reverse post-order: the head first */
	u32 size;		/* blocks */
};

struct fx_block {
	u32 first, end;		/* instructions */
	u32 succ[2], n_succ;
	u32 order;		/* in reverse post-order, from 0 */
	u32 idom;
	bool reached;
	s32 loop;		/* innermost, or -1 */
	bool is_head;
};

struct fx_cfg {
	struct fx_block *block;
	u32 n_block;
	u32 *block_of;		/* of each instruction */
	u32 *rpo;
	u32 n_rpo;
	u32 *first_pred, *pred;	/* of block b: from first_pred[b] on */
	struct fx_loop_info *loop;
	u32 n_loop, cap_loop;
	s64 tangled;		/* an instruction that jumps into a loop, or -1 */
};

/*
 * fx_cfg_build() - blocks, dominators and loops of a program
 * @bad: out: the instruction that is at fault
 *
 * Return: NULL, or what makes the program none, for the end of a sentence;
 * free with fx_cfg_free() in any case.
 */
const char *fx_cfg_build(const struct fx_code_prog *p, struct fx_cfg *g, u32 *bad);
void fx_cfg_free(struct fx_cfg *g);

/* ---- values ---- */

enum fx_value_kind {
	FX_V_SCALAR,		/* a number; .known: .num */
	FX_V_STACK,		/* a pointer to the stack; .known: at .num */
	FX_V_MAP,		/* a reference to a map */
	FX_V_ENTRY,		/* a pointer to an entry of .map, or NULL */
	FX_V_EITHER,		/* an entry of .map or, .known: at .num, the stack */
	FX_V_OTHER,		/* a pointer to something else, or anything */
};

#define FX_MAP_SEVERAL	(-5)	/* an entry of one map or of another */
#define FX_MAP_SHARED	(-6)	/* the same, of maps that all lanes share */

struct fx_value {
	u8 kind;
	bool varies;
	bool known;
	s32 map;
	u32 why;		/* the instruction that made it vary, or FX_WHY_* */
	u32 base;		/* of entries: the call that found it last, or FX_NO_WHY */
	s64 num;
};

struct fx_state {
	struct fx_state *next;	/* of those that are not in use */
	struct fx_value reg[FX_SIMT_REGS];
	u32 cost;		/* instructions so far, at most */
	u32 why[FX_SIMT_STACK];	/* of each byte: FX_NO_WHY, or why it varies */
	struct fx_value slot[FX_SIMT_STACK / 8]; /* what was stored whole */
	bool whole[FX_SIMT_STACK / 8];
	u32 word[FX_SIMT_STACK / 4];	/* a number, where it is known, else 0 */
	bool known[FX_SIMT_STACK / 4];
};

struct fx_simt {
	const struct fx_bytecode *code;
	const struct fx_code_prog *prog;
	const struct fx_device_rules *rules;
	const char *source;
	bool apart;
	struct fx_diags *diags;
	struct fx_cfg cfg;
	struct fx_state **in;		/* of each block: what it begins with next */
	/* why a value varies, by the instruction that made it: once set, kept */
	bool *made;
	u32 *parent;
	const char **what;		/* of a source */
	u32 *told;			/* of each instruction: errors, a bit each */
	struct fx_told *lines;		/* of all programs */
	struct fx_state *spare;
	u64 steps;
	u32 cost;			/* of the longest way */
	u32 rounds, longest;		/* most rounds of a loop, and its head */
	bool endless;			/* a loop was told of */
};

/* simt_flow.c: one instruction; false when nothing comes after it */
bool fx_simt_step(struct fx_simt *s, struct fx_state *st, u32 at);
/* Does the branch at @at go to its target (1), on (0), or who knows (-1)? */
int fx_simt_decide(const struct fx_simt *s, const struct fx_state *st, u32 at);

/* between simt_flow.c and simt_call.c */
bool fx_simt_call(struct fx_simt *s, struct fx_state *st, u32 at);
struct fx_value fx_simt_number(void);
struct fx_value fx_simt_constant(u64 v);
void fx_simt_vary(struct fx_value *v, u32 why);
/* Has each lane an entry of its own in the map? */
bool fx_simt_per_lane(const struct fx_simt *s, s32 map);
/* Is the address itself another one in each lane? */
bool fx_simt_lane_address(const struct fx_simt *s, const struct fx_value *v);
/* Why a value varies as a number, or what @size bytes behind it hold. */
u32 fx_simt_why(struct fx_simt *s, const struct fx_value *v, u32 at);
u32 fx_simt_why_memory(struct fx_simt *s, const struct fx_state *st, u32 at,
		       const struct fx_value *p, s64 off, u32 size);
/* The text that begins behind a pointer, up to its zero. */
u32 fx_simt_why_text(struct fx_simt *s, const struct fx_state *st, u32 at,
		     const struct fx_value *p);
void fx_simt_store(struct fx_simt *s, struct fx_state *st, u32 at,
		   const struct fx_value *p, s64 off, u32 size,
		   const struct fx_value *v);

/* simt_state.c */
struct fx_state *fx_simt_first_state(void);
/* What holds where either of the two does, into @to. */
void fx_simt_meet(const struct fx_simt *s, struct fx_state *to, const struct fx_state *from);
/* Would the same come after both? */
bool fx_simt_same(const struct fx_state *a, const struct fx_state *b);

/* simt_loop.c: the whole program */
void fx_simt_run(struct fx_simt *s);

/* simt.c: errors */
enum fx_simt_rule {
	/* not for lanes that decide apart: */
	FX_SIMT_BRANCH, FX_SIMT_KEY, FX_SIMT_EFFECT,
	/* for all */
	FX_SIMT_FENCE, FX_SIMT_LOOP, FX_SIMT_WORK, FX_SIMT_HELPER, FX_SIMT_CALL, FX_SIMT_CODE,
};

/* @why: the instruction that made the value vary, or FX_NO_WHY */
void fx_simt_tell(struct fx_simt *s, enum fx_simt_rule rule, u32 at, u32 why,
		  const char *fmt, ...) fx_printf(5, 6);
/* The value that @at makes varies: because of @why, or as a source of @what. */
u32 fx_simt_because(struct fx_simt *s, u32 at, u32 why);
u32 fx_simt_origin(struct fx_simt *s, u32 at, const char *what);

#endif /* FX_LOWER_SIMT_INT_H */
