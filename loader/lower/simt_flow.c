// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What one instruction does to what is known of registers and the stack. */
#include "simt_int.h"

#define STACK_BASE	(-(s64)FX_SIMT_STACK)

static const struct fx_value nothing = { .kind = FX_V_OTHER, .why = FX_NO_WHY };

struct fx_value fx_simt_number(void)
{
	return (struct fx_value){ .kind = FX_V_SCALAR, .why = FX_NO_WHY };
}

struct fx_value fx_simt_constant(u64 v)
{
	return (struct fx_value){ .kind = FX_V_SCALAR, .known = true, .num = v,
				  .why = FX_NO_WHY };
}

void fx_simt_vary(struct fx_value *v, u32 why)
{
	v->varies = true;
	v->why = why;
	if (v->kind == FX_V_SCALAR)
		v->known = false;
}

bool fx_simt_per_lane(const struct fx_simt *s, s32 map)
{
	const struct fx_map_rule *r;

	if (map < 0)
		return false;
	r = fx_map_rule(s->rules, s->code->map[map].type);
	return r && r->per_lane;
}

/* Is what the pointer may lead to, other than the stack, the lane's own? */
static bool own_entry(const struct fx_simt *s, const struct fx_value *v)
{
	return v->map == FX_MAP_SEVERAL || fx_simt_per_lane(s, v->map);
}

bool fx_simt_lane_address(const struct fx_simt *s, const struct fx_value *v)
{
	return v->kind == FX_V_STACK || v->kind == FX_V_EITHER ||
	       (v->kind == FX_V_ENTRY && own_entry(s, v));
}

/* A pointer as a number: why that varies, or FX_NO_WHY. */
u32 fx_simt_why(struct fx_simt *s, const struct fx_value *v, u32 at)
{
	if (v->varies)
		return v->why;
	if (fx_simt_lane_address(s, v))
		return fx_simt_origin(s, at, v->kind != FX_V_ENTRY ?
				      "the address of the lane's own stack" :
				      "the address of the lane's own entry of a per-lane map");
	return FX_NO_WHY;
}

/* ---- numbers ---------------------------------------------------------- */

/* @dst op @src for what can be computed here; false: it is not. */
static bool compute(u8 code, u64 *dst, u64 src)
{
	bool wide = BPF_CLASS(code) == BPF_ALU64;
	u32 bits = wide ? 63 : 31;

	if (!wide) {
		*dst = (u32)*dst;
		src = (u32)src;
	}
	switch (BPF_OP(code)) {
	case BPF_ADD:
		*dst += src;
		break;
	case BPF_SUB:
		*dst -= src;
		break;
	case BPF_MUL:
		*dst *= src;
		break;
	case BPF_AND:
		*dst &= src;
		break;
	case BPF_OR:
		*dst |= src;
		break;
	case BPF_XOR:
		*dst ^= src;
		break;
	case BPF_LSH:
		*dst <<= src & bits;
		break;
	case BPF_RSH:
		*dst >>= src & bits;
		break;
	case BPF_ARSH:
		*dst = wide ? (u64)((s64)*dst >> (src & bits)) :
			      (u64)(s64)((s32)*dst >> (src & bits));
		break;
	case BPF_DIV:
		*dst = src ? *dst / src : 0;
		break;
	case BPF_MOD:
		*dst = src ? *dst % src : *dst;
		break;
	case BPF_NEG:
		*dst = -*dst;
		break;
	case BPF_MOV:
		*dst = src;
		break;
	default:
		return false;
	}
	if (!wide)
		*dst = (u32)*dst;
	return true;
}

static bool is_pointer(const struct fx_value *v)
{
	return v->kind == FX_V_STACK || v->kind == FX_V_ENTRY || v->kind == FX_V_EITHER;
}

/* A pointer moved by a number stays one; false: this is something else. */
static bool move_pointer(struct fx_simt *s, u32 at, u8 op, struct fx_value *dst,
			 const struct fx_value *src)
{
	struct fx_value p = *dst;
	const struct fx_value *n = src;

	if (op == BPF_ADD && !is_pointer(&p) && is_pointer(src)) {
		p = *src;
		n = dst;
	}
	if (!is_pointer(&p) || is_pointer(n) || (op != BPF_ADD && op != BPF_SUB))
		return false;
	p.known = n->kind == FX_V_SCALAR && n->known && p.known;
	p.num = !p.known ? 0 : op == BPF_ADD ? (u64)p.num + n->num : (u64)p.num - n->num;
	if (!p.varies && n->varies)
		fx_simt_vary(&p, fx_simt_because(s, at, n->why));
	*dst = p;
	return true;
}

static void alu(struct fx_simt *s, struct fx_state *st, u32 at)
{
	const struct bpf_insn *insn = &s->prog->insn[at];
	bool wide = BPF_CLASS(insn->code) == BPF_ALU64;
	struct fx_value *dst = &st->reg[insn->dst_reg];
	struct fx_value src = BPF_SRC(insn->code) == BPF_X ?
		st->reg[insn->src_reg] : fx_simt_constant((s64)insn->imm);
	u8 op = BPF_OP(insn->code);
	struct fx_value out = fx_simt_number();
	u32 why = FX_NO_WHY;
	u64 v;

	/* what does not depend on what was there */
	if ((op == BPF_XOR || op == BPF_SUB) && BPF_SRC(insn->code) == BPF_X &&
	    insn->src_reg == insn->dst_reg) {
		*dst = fx_simt_constant(0);
		return;
	}
	if (wide && op == BPF_MOV && !insn->off) {
		*dst = src;
		if (src.varies)
			fx_simt_vary(dst, fx_simt_because(s, at, src.why));
		return;
	}
	if (wide && move_pointer(s, at, op, dst, &src))
		return;
	if (op != BPF_MOV)
		why = fx_simt_why(s, dst, at);
	if (why == FX_NO_WHY && op != BPF_NEG && op != BPF_END)
		why = fx_simt_why(s, &src, at);
	v = dst->num;
	if (why != FX_NO_WHY) {
		fx_simt_vary(&out, fx_simt_because(s, at, why));
	} else if (!insn->off && src.kind == FX_V_SCALAR && src.known &&
		   (op == BPF_MOV || (dst->kind == FX_V_SCALAR && dst->known)) &&
		   compute(insn->code, &v, src.num)) {
		out = fx_simt_constant(v);
	}
	*dst = out;
}

/* ---- memory ----------------------------------------------------------- */

/* Where on the stack, counted from its lower end; false: that is not known. */
static bool on_stack(const struct fx_value *p, s64 off, u32 size, u32 *from)
{
	s64 at = (u64)p->num + off;

	if ((p->kind != FX_V_STACK && p->kind != FX_V_EITHER) || !p->known || p->varies ||
	    at < STACK_BASE || at > -(s64)size)
		return false;
	*from = at - STACK_BASE;
	return true;
}

/*
 * The same of the stack, of all of it where the offset is not known: then of
 * what was written there, as it is no use to ask for all 512 bytes.
 */
static u32 why_stack(const struct fx_state *st, const struct fx_value *p, s64 off, u32 size)
{
	u32 from = 0, end = FX_SIMT_STACK, why = FX_NO_WHY;
	bool exact = on_stack(p, off, size, &from);

	if (exact)
		end = from + size;
	else if (p->known)
		return FX_WHY_UNWRITTEN;	/* beyond the stack */
	for (u32 i = from; i < end; i++)
		if (st->why[i] < why && (exact || st->why[i] != FX_WHY_UNWRITTEN))
			why = st->why[i];
	return why;
}

/* Why what @size bytes behind a pointer hold varies, or FX_NO_WHY. */
u32 fx_simt_why_memory(struct fx_simt *s, const struct fx_state *st, u32 at,
		       const struct fx_value *p, s64 off, u32 size)
{
	if (p->varies)
		return p->why;
	if (p->kind != FX_V_STACK && p->kind != FX_V_ENTRY && p->kind != FX_V_EITHER)
		return fx_simt_origin(s, at, "what is read from memory of which nothing is known");
	if (p->kind != FX_V_STACK && own_entry(s, p))
		return fx_simt_origin(s, at, "what the lane's own entry of a per-lane map holds");
	return p->kind == FX_V_ENTRY ? FX_NO_WHY : why_stack(st, p, off, size);
}

u32 fx_simt_why_text(struct fx_simt *s, const struct fx_state *st, u32 at,
		     const struct fx_value *p)
{
	u32 from, why = fx_simt_why_memory(s, st, at, p, 0, 1);

	if (!on_stack(p, 0, 1, &from))
		return why;
	for (; why == FX_NO_WHY && from < FX_SIMT_STACK; from++) {
		if (st->why[from] != FX_WHY_UNWRITTEN)
			why = st->why[from];
		if (st->known[from / 4] && !(u8)(st->word[from / 4] >> from % 4 * 8))
			break;
	}
	return why;
}

/* A number that was stored by constants, whole or in two words. */
static bool load_number(const struct fx_state *st, const struct fx_value *p, s64 off,
			u32 size, struct fx_value *out)
{
	u32 from;
	u64 v = 0;

	if (p->kind != FX_V_STACK || size < 4 || !on_stack(p, off, size, &from) || from % 4)
		return false;
	for (u32 i = 0; i < size / 4; i++) {
		if (!st->known[from / 4 + i])
			return false;
		v |= (u64)st->word[from / 4 + i] << 32 * i;
	}
	*out = fx_simt_constant(v);
	return true;
}

static void load(struct fx_simt *s, struct fx_state *st, u32 at)
{
	static const u32 sizes[] = { [BPF_W >> 3] = 4, [BPF_H >> 3] = 2,
				     [BPF_B >> 3] = 1, [BPF_DW >> 3] = 8 };
	const struct bpf_insn *insn = &s->prog->insn[at];
	const struct fx_value p = st->reg[insn->src_reg];
	u32 size = sizes[BPF_SIZE(insn->code) >> 3], why, i;
	struct fx_value out = fx_simt_number();

	if (p.kind == FX_V_STACK && size == 8 && on_stack(&p, insn->off, 8, &i) &&
	    i % 8 == 0 && st->whole[i / 8]) {
		out = st->slot[i / 8];
		if (out.varies)
			fx_simt_vary(&out, fx_simt_because(s, at, out.why));
		st->reg[insn->dst_reg] = out;
		return;
	}
	if (BPF_MODE(insn->code) == BPF_MEM && load_number(st, &p, insn->off, size, &out)) {
		st->reg[insn->dst_reg] = out;
		return;
	}
	why = fx_simt_why_memory(s, st, at, &p, insn->off, size);
	if (why != FX_NO_WHY)
		fx_simt_vary(&out, fx_simt_because(s, at, why));
	st->reg[insn->dst_reg] = out;
}

/* @v is stored by @at into the stack, or may be. */
static void store_stack(struct fx_simt *s, struct fx_state *st, u32 at,
			const struct fx_value *p, s64 off, u32 size,
			const struct fx_value *v)
{
	u32 why = fx_simt_why(s, v, at), from = 0, end = FX_SIMT_STACK;
	bool exact = on_stack(p, off, size, &from);
	/* it is there, and nowhere else */
	bool sure = exact && p->kind == FX_V_STACK;

	if (exact)
		end = from + size;
	if (p->varies && why == FX_NO_WHY)
		why = p->why;
	if (why != FX_NO_WHY)
		why = fx_simt_because(s, at, why);
	/* a pointer is there as one, and its bytes as those of a number */
	for (u32 i = from; i < end; i++) {
		st->whole[i / 8] = false;
		st->known[i / 4] = false;
		st->word[i / 4] = 0;
		if (sure || why < st->why[i])
			st->why[i] = why;
	}
	for (u32 i = 0; sure && from % 4 == 0 && i < size / 4 && !v->varies &&
	     v->kind == FX_V_SCALAR && v->known; i++) {
		st->known[from / 4 + i] = true;
		st->word[from / 4 + i] = (u64)v->num >> 32 * i;
	}
	if (sure && size == 8 && from % 8 == 0) {
		st->whole[from / 8] = true;
		st->slot[from / 8] = *v;
		if (v->varies)
			st->slot[from / 8].why = why;
	}
}

/* @v leaves the lane through @p. */
static void store_out(struct fx_simt *s, u32 at, const struct fx_value *p,
		      const struct fx_value *v)
{
	bool entry = p->kind == FX_V_ENTRY || p->kind == FX_V_EITHER;
	const char *where = !entry ? "memory" : p->map >= 0 ? s->code->map[p->map].name :
		p->map == FX_REF_DATA ? "a variable" : "one of several maps";
	u32 why;

	if (entry && fx_simt_per_lane(s, p->map))
		return;
	if (p->varies) {
		fx_simt_tell(s, FX_SIMT_EFFECT, at, p->why,
			     "'%s' is written at an offset that varies by lane", where);
		return;
	}
	why = fx_simt_why(s, v, at);
	if (why != FX_NO_WHY)
		fx_simt_tell(s, FX_SIMT_EFFECT, at, why,
			     "what varies by lane is written to '%s', which all lanes share", where);
}

void fx_simt_store(struct fx_simt *s, struct fx_state *st, u32 at,
		   const struct fx_value *p, s64 off, u32 size,
		   const struct fx_value *v)
{
	if (p->kind != FX_V_STACK)
		store_out(s, at, p, v);
	if (p->kind != FX_V_ENTRY)
		store_stack(s, st, at, p, off, size, v);
}

/* A value is changed where it is, and goes into a register, maybe. */
static void store_atomic(struct fx_simt *s, struct fx_state *st, u32 at)
{
	const struct bpf_insn *insn = &s->prog->insn[at];
	const struct fx_value p = st->reg[insn->dst_reg];
	const struct fx_value *with = &st->reg[insn->src_reg];
	u32 size = BPF_SIZE(insn->code) == BPF_DW ? 8 : 4, why = FX_NO_WHY, into;
	struct fx_value v = fx_simt_number();

	/* what was in memory that is shared is the same for all */
	if (p.kind == FX_V_STACK)
		why = fx_simt_why_memory(s, st, at, &p, insn->off, size);
	if (why == FX_NO_WHY)
		why = fx_simt_why(s, with, at);
	if (why == FX_NO_WHY && insn->imm == BPF_CMPXCHG)
		why = fx_simt_why(s, &st->reg[BPF_REG_0], at);
	if (why != FX_NO_WHY)
		fx_simt_vary(&v, fx_simt_because(s, at, why));
	fx_simt_store(s, st, at, &p, insn->off, size, &v);
	if (!(insn->imm & BPF_FETCH))
		return;
	into = insn->imm == BPF_CMPXCHG ? BPF_REG_0 : insn->src_reg;
	if (p.kind != FX_V_STACK)
		fx_simt_vary(&v, fx_simt_origin(s, at, "what an atomic operation found, lane after lane"));
	st->reg[into] = v;
}

static void store(struct fx_simt *s, struct fx_state *st, u32 at)
{
	static const u32 sizes[] = { [BPF_W >> 3] = 4, [BPF_H >> 3] = 2,
				     [BPF_B >> 3] = 1, [BPF_DW >> 3] = 8 };
	const struct bpf_insn *insn = &s->prog->insn[at];
	const struct fx_value p = st->reg[insn->dst_reg];
	const struct fx_value v = BPF_CLASS(insn->code) == BPF_STX ?
		st->reg[insn->src_reg] : fx_simt_constant((s64)insn->imm);

	if (BPF_MODE(insn->code) == BPF_ATOMIC)
		store_atomic(s, st, at);
	else
		fx_simt_store(s, st, at, &p, insn->off, sizes[BPF_SIZE(insn->code) >> 3], &v);
}

/* ---- branches --------------------------------------------------------- */

/* An entry is there or not for all lanes, whatever its address. */
static bool is_null_check(const struct bpf_insn *insn, const struct fx_value *a,
			  const struct fx_value *b)
{
	return BPF_CLASS(insn->code) == BPF_JMP &&
	       (BPF_OP(insn->code) == BPF_JEQ || BPF_OP(insn->code) == BPF_JNE) &&
	       a->kind == FX_V_ENTRY && !a->varies && a->known && !a->num &&
	       b->kind == FX_V_SCALAR && b->known && !b->num;
}

static void branch(struct fx_simt *s, const struct fx_state *st, u32 at)
{
	const struct bpf_insn *insn = &s->prog->insn[at];
	const struct fx_value a = st->reg[insn->dst_reg];
	const struct fx_value b = BPF_SRC(insn->code) == BPF_X ?
		st->reg[insn->src_reg] : fx_simt_constant((s64)insn->imm);
	u32 why;

	if (fx_simt_decide(s, st, at) >= 0 || is_null_check(insn, &a, &b))
		return;
	why = fx_simt_why(s, &a, at);
	if (why == FX_NO_WHY)
		why = fx_simt_why(s, &b, at);
	if (why != FX_NO_WHY)
		fx_simt_tell(s, FX_SIMT_BRANCH, at, why,
			     "a branch depends on what varies by lane");
}

static void load_imm(struct fx_simt *s, struct fx_state *st, u32 at)
{
	const struct bpf_insn *insn = &s->prog->insn[at];
	struct fx_value *dst = &st->reg[insn->dst_reg];
	s32 ref = s->prog->ref[at];

	if (ref >= 0)
		*dst = (struct fx_value){ .kind = FX_V_MAP, .map = ref, .why = FX_NO_WHY };
	else if (ref == FX_REF_DATA)
		*dst = (struct fx_value){ .kind = FX_V_ENTRY, .map = FX_REF_DATA,
					  .why = FX_NO_WHY, .base = FX_NO_WHY };
	else if (ref == FX_REF_NONE && !insn->src_reg)
		*dst = fx_simt_constant((u32)insn->imm | (u64)(u32)insn[1].imm << 32);
	else
		*dst = nothing;
}

bool fx_simt_step(struct fx_simt *s, struct fx_state *st, u32 at)
{
	const struct bpf_insn *insn = &s->prog->insn[at];

	switch (BPF_CLASS(insn->code)) {
	case BPF_ALU:
	case BPF_ALU64:
		alu(s, st, at);
		return true;
	case BPF_LD:
		load_imm(s, st, at);
		return true;
	case BPF_LDX:
		load(s, st, at);
		return true;
	case BPF_ST:
	case BPF_STX:
		store(s, st, at);
		return true;
	}
	if (BPF_OP(insn->code) == BPF_EXIT)
		return false;
	if (BPF_OP(insn->code) != BPF_CALL) {
		branch(s, st, at);
		return true;
	}
	if (!fx_simt_call(s, st, at))
		return false;
	for (u32 i = BPF_REG_1; i <= BPF_REG_5; i++) {
		st->reg[i] = nothing;
		fx_simt_vary(&st->reg[i], FX_WHY_UNWRITTEN);
	}
	return true;
}
