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

/* Is the address itself another one in each lane? */
static bool lane_address(const struct fx_simt *s, const struct fx_value *v)
{
	return v->kind == FX_V_STACK ||
	       (v->kind == FX_V_ENTRY &&
		(v->map == FX_MAP_SEVERAL || fx_simt_per_lane(s, v->map)));
}

/* A pointer as a number: why that varies, or FX_NO_WHY. */
u32 fx_simt_why(struct fx_simt *s, const struct fx_value *v, u32 at)
{
	if (v->varies)
		return v->why;
	if (lane_address(s, v))
		return fx_simt_origin(s, at, v->kind == FX_V_STACK ?
				      "the address of the lane's own stack" :
				      "the address of the lane's own entry of a per-lane map");
	return FX_NO_WHY;
}

/* ---- numbers ---------------------------------------------------------- */

/* @dst op @src for what can be computed here; false: it is not. */
bool fx_simt_alu(u8 code, u64 *dst, u64 src)
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
	return v->kind == FX_V_STACK || v->kind == FX_V_ENTRY;
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
	if (n->kind == FX_V_SCALAR && n->known && p.known)
		p.num += op == BPF_ADD ? n->num : -n->num;
	else
		p.known = false;
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
		   op != BPF_NEG && op != BPF_END &&
		   (op == BPF_MOV || (dst->kind == FX_V_SCALAR && dst->known)) &&
		   fx_simt_alu(insn->code, &v, src.num)) {
		out = fx_simt_constant(v);
	}
	*dst = out;
}

/* ---- memory ----------------------------------------------------------- */

static bool on_stack(const struct fx_value *p, s64 off, u32 size)
{
	return p->known && p->num + off >= STACK_BASE && p->num + off <= -(s64)size;
}

/* The same of the stack; of all of it where the offset is not known. */
static u32 why_stack(struct fx_simt *s, const struct fx_state *st, u32 at,
		     const struct fx_value *p, s64 off, u32 size)
{
	bool exact = on_stack(p, off, size);
	u32 from = exact ? p->num + off - STACK_BASE : 0;
	u32 end = exact ? from + size : FX_SIMT_STACK;

	for (u32 i = from; i < end; i++) {
		if (st->why[i] != FX_NO_WHY)
			return st->why[i];
		/* a pointer is read as a number */
		if (st->whole[i / 8] && lane_address(s, &st->slot[i / 8]))
			return fx_simt_why(s, &st->slot[i / 8], at);
	}
	return FX_NO_WHY;
}

/* Why what @size bytes behind a pointer hold varies, or FX_NO_WHY. */
u32 fx_simt_why_memory(struct fx_simt *s, const struct fx_state *st, u32 at,
		       const struct fx_value *p, s64 off, u32 size)
{
	if (p->varies)
		return p->why;
	switch (p->kind) {
	case FX_V_STACK:
		return why_stack(s, st, at, p, off, size);
	case FX_V_ENTRY:
		if (!lane_address(s, p))
			return FX_NO_WHY;
		return fx_simt_origin(s, at, "what the lane's own entry of a per-lane map holds");
	default:
		return fx_simt_origin(s, at, "what is read from memory of which nothing is known");
	}
}

static void load(struct fx_simt *s, struct fx_state *st, u32 at)
{
	static const u32 sizes[] = { [BPF_W >> 3] = 4, [BPF_H >> 3] = 2,
				     [BPF_B >> 3] = 1, [BPF_DW >> 3] = 8 };
	const struct bpf_insn *insn = &s->prog->insn[at];
	const struct fx_value p = st->reg[insn->src_reg];
	u32 size = sizes[BPF_SIZE(insn->code) >> 3], why, i;
	struct fx_value out = fx_simt_number();

	if (p.kind == FX_V_STACK && !p.varies && size == 8 &&
	    on_stack(&p, insn->off, 8)) {
		i = p.num + insn->off - STACK_BASE;
		if (i % 8 == 0 && st->whole[i / 8]) {
			out = st->slot[i / 8];
			if (out.varies)
				fx_simt_vary(&out, fx_simt_because(s, at, out.why));
			st->reg[insn->dst_reg] = out;
			return;
		}
	}
	why = fx_simt_why_memory(s, st, at, &p, insn->off, size);
	if (why != FX_NO_WHY)
		fx_simt_vary(&out, fx_simt_because(s, at, why));
	st->reg[insn->dst_reg] = out;
}

/* @v was stored by @at into the stack; NULL: something without a value. */
void fx_simt_store_stack(struct fx_simt *s, struct fx_state *st, u32 at,
			 const struct fx_value *p, s64 off, u32 size,
			 const struct fx_value *v)
{
	u32 why = v && v->varies ? fx_simt_because(s, at, v->why) : FX_NO_WHY;
	bool exact = on_stack(p, off, size) && !p->varies;
	u32 from = exact ? p->num + off - STACK_BASE : 0;
	u32 end = exact ? from + size : FX_SIMT_STACK;

	/* a piece of a pointer is a number */
	if (v && why == FX_NO_WHY && !(exact && size == 8 && from % 8 == 0))
		why = fx_simt_why(s, v, at);
	if (p->varies && why == FX_NO_WHY)
		why = fx_simt_because(s, at, p->why);
	for (u32 i = from; i < end; i++) {
		st->whole[i / 8] = false;
		/* somewhere on the stack: the rest keeps what it had */
		if (exact || why != FX_NO_WHY)
			st->why[i] = why;
	}
	if (exact && v && size == 8 && from % 8 == 0) {
		st->whole[from / 8] = true;
		st->slot[from / 8] = *v;
		if (why != FX_NO_WHY)
			st->slot[from / 8].why = why;
	}
}

/* @v, or what varies because of @why, leaves the lane through @p. */
void fx_simt_store_out(struct fx_simt *s, u32 at, const struct fx_value *p,
		       const struct fx_value *v)
{
	const char *where = p->kind != FX_V_ENTRY ? "memory" :
		p->map >= 0 ? s->code->map[p->map].name :
		p->map == FX_REF_DATA ? "a variable" : "one of several maps";
	u32 why;

	if (p->kind == FX_V_ENTRY && p->map >= 0 && fx_simt_per_lane(s, p->map))
		return;
	if (p->varies) {
		fx_simt_tell(s, FX_SIMT_EFFECT, at, p->why,
			     "'%s' is written at an offset that varies by lane", where);
		return;
	}
	why = v ? fx_simt_why(s, v, at) : FX_NO_WHY;
	if (why != FX_NO_WHY)
		fx_simt_tell(s, FX_SIMT_EFFECT, at, why,
			     "what varies by lane is written to '%s', which all lanes share", where);
}

static void store(struct fx_simt *s, struct fx_state *st, u32 at)
{
	static const u32 sizes[] = { [BPF_W >> 3] = 4, [BPF_H >> 3] = 2,
				     [BPF_B >> 3] = 1, [BPF_DW >> 3] = 8 };
	const struct bpf_insn *insn = &s->prog->insn[at];
	const struct fx_value p = st->reg[insn->dst_reg];
	u32 size = sizes[BPF_SIZE(insn->code) >> 3], why;
	bool atomic = BPF_MODE(insn->code) == BPF_ATOMIC;
	struct fx_value v = BPF_CLASS(insn->code) == BPF_STX ?
		st->reg[insn->src_reg] : fx_simt_constant((s64)insn->imm);
	struct fx_value old = fx_simt_number();
	u32 into;

	if (p.kind != FX_V_STACK) {
		fx_simt_store_out(s, at, &p, &v);
	} else if (!atomic) {
		fx_simt_store_stack(s, st, at, &p, insn->off, size, &v);
	} else {
		why = fx_simt_why_memory(s, st, at, &p, insn->off, size);
		if (why == FX_NO_WHY)
			why = fx_simt_why(s, &v, at);
		if (why == FX_NO_WHY && insn->imm == BPF_CMPXCHG)
			why = fx_simt_why(s, &st->reg[BPF_REG_0], at);
		v = fx_simt_number();
		if (why != FX_NO_WHY)
			fx_simt_vary(&v, fx_simt_because(s, at, why));
		fx_simt_store_stack(s, st, at, &p, insn->off, size, &v);
	}
	if (!atomic || !(insn->imm & BPF_FETCH))
		return;
	into = insn->imm == BPF_CMPXCHG ? BPF_REG_0 : insn->src_reg;
	if (insn->imm == BPF_CMPXCHG && p.kind != FX_V_STACK)
		fx_simt_store_out(s, at, &p, &st->reg[BPF_REG_0]);
	if (p.kind != FX_V_STACK)
		fx_simt_vary(&old, fx_simt_origin(s, at, "what an atomic operation found, lane after lane"));
	else if (v.varies)
		fx_simt_vary(&old, v.why);
	st->reg[into] = old;
}

/* ---- branches --------------------------------------------------------- */

/* An entry is there or not for all lanes, whatever its address. */
static bool is_null_check(const struct bpf_insn *insn, const struct fx_value *a,
			  const struct fx_value *b)
{
	return BPF_CLASS(insn->code) == BPF_JMP &&
	       (BPF_OP(insn->code) == BPF_JEQ || BPF_OP(insn->code) == BPF_JNE) &&
	       a->kind == FX_V_ENTRY && !a->varies && b->kind == FX_V_SCALAR &&
	       b->known && !b->num;
}

static void branch(struct fx_simt *s, const struct fx_state *st, u32 at)
{
	const struct bpf_insn *insn = &s->prog->insn[at];
	const struct fx_value a = st->reg[insn->dst_reg];
	const struct fx_value b = BPF_SRC(insn->code) == BPF_X ?
		st->reg[insn->src_reg] : fx_simt_constant((s64)insn->imm);
	u32 why;

	if (fx_insn_is_goto(insn) || is_null_check(insn, &a, &b))
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
					  .why = FX_NO_WHY };
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
	for (u32 i = BPF_REG_1; i <= BPF_REG_5; i++)
		st->reg[i] = nothing;
	return true;
}
