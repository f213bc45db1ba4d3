// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What helpers are handed, what they leave behind, and what they return. */
#include <stdlib.h>

#include "simt_int.h"

/* bpftime's own: they are not in the kernel's header */
#define HELPER_PUTS	501
#define HELPER_MEMBAR	506

static const struct fx_code_map *map_of(struct fx_simt *s, const struct fx_value *v)
{
	return v->kind == FX_V_MAP && v->map >= 0 ? &s->code->map[v->map] : NULL;
}

static void want_uniform(struct fx_simt *s, u32 at, const struct fx_value *v,
			 const char *name, const char *what)
{
	u32 why = fx_simt_why(s, v, at);

	if (why != FX_NO_WHY)
		fx_simt_tell(s, FX_SIMT_EFFECT, at, why, "%s of %s varies by lane", what, name);
}

static void want_uniform_memory(struct fx_simt *s, const struct fx_state *st, u32 at,
				const struct fx_value *p, const struct fx_value *size,
				const char *name, const char *what)
{
	/* any length that fits the stack, where it is not known */
	u32 n = size->kind == FX_V_SCALAR && size->known && size->num >= 0 &&
		size->num <= FX_SIMT_STACK ? size->num : FX_SIMT_STACK;
	u32 why = n ? fx_simt_why_memory(s, st, at, p, 0, n) : FX_NO_WHY;

	if (why != FX_NO_WHY)
		fx_simt_tell(s, FX_SIMT_EFFECT, at, why, "%s of %s varies by lane", what, name);
}

/* What the same call found before is another entry now, maybe. */
static void forget_base(struct fx_state *st, u32 at)
{
	for (u32 i = 0; i < FX_SIMT_REGS; i++)
		if (st->reg[i].base == at)
			st->reg[i].base = FX_NO_WHY;
	for (u32 i = 0; i < FX_SIMT_STACK / 8; i++)
		if (st->slot[i].base == at)
			st->slot[i].base = FX_NO_WHY;
}

/* Entries of these are always there, and a change of one always succeeds. */
static bool is_array(u32 type)
{
	return type == BPF_MAP_TYPE_ARRAY || type == BPF_MAP_TYPE_PERCPU_ARRAY ||
	       type == FX_BPFTIME_GPU_ARRAY || type == FX_BPFTIME_GPU_PER_LANE_ARRAY ||
	       type == FX_BPFTIME_GPU_KERNEL_ARRAY;
}

/* A key selects an entry of a map, a value gets into it. */
static void map_call(struct fx_simt *s, struct fx_state *st, u32 at, const char *name)
{
	u32 id = s->prog->insn[at].imm;
	struct fx_value *r = st->reg;
	const struct fx_code_map *m = map_of(s, &r[BPF_REG_1]);
	u32 why;

	if (!m) {
		fx_simt_tell(s, FX_SIMT_HELPER, at, FX_NO_WHY,
			     "%s is called with a map that is not known here", name);
		return;
	}
	why = fx_simt_why_memory(s, st, at, &r[BPF_REG_2], 0, m->key_size);
	if (why != FX_NO_WHY)
		fx_simt_tell(s, FX_SIMT_KEY, at, why,
			     "a key of the map '%s' varies by lane", m->name);
	if (id == BPF_FUNC_map_lookup_elem) {
		forget_base(st, at);
		r[BPF_REG_0] = (struct fx_value){
			.kind = FX_V_ENTRY, .map = r[BPF_REG_1].map, .known = true,
			.why = FX_NO_WHY, .base = at };
		return;
	}
	/* a hash map changes with the first lane, and answers the next one so */
	if (!is_array(m->type))
		fx_simt_vary(&r[BPF_REG_0],
			     fx_simt_origin(s, at, "whether a map could be changed, lane after lane"));
	if (id != BPF_FUNC_map_update_elem)
		return;
	want_uniform(s, at, &r[BPF_REG_4], name, "the argument 'flags'");
	if (!fx_simt_per_lane(s, r[BPF_REG_1].map)) {
		struct fx_value size = fx_simt_constant(m->value_size);

		want_uniform_memory(s, st, at, &r[BPF_REG_3], &size, name, "the value");
	}
}

static void output_call(struct fx_simt *s, struct fx_state *st, u32 at, const char *name)
{
	struct fx_value *r = st->reg;

	fx_simt_vary(&r[BPF_REG_0], fx_simt_origin(s, at, "whether the lane's ring had room"));
	if (!map_of(s, &r[BPF_REG_2])) {
		fx_simt_tell(s, FX_SIMT_HELPER, at, FX_NO_WHY,
			     "%s is called with a map that is not known here", name);
		return;
	}
	want_uniform(s, at, &r[BPF_REG_3], name, "the argument 'flags'");
	want_uniform(s, at, &r[BPF_REG_5], name, "the size");
	if (!fx_simt_per_lane(s, r[BPF_REG_2].map))
		want_uniform_memory(s, st, at, &r[BPF_REG_4], &r[BPF_REG_5], name, "the data");
}

/* Three __u64 are written, each behind a pointer. */
static void fill_call(struct fx_simt *s, struct fx_state *st, u32 at,
		      const struct fx_helper_rule *h)
{
	struct fx_value v = fx_simt_number();

	if (h->flags & FX_H_VARIES)
		fx_simt_vary(&v, fx_simt_origin(s, at, h->what));
	for (u32 i = BPF_REG_1; i <= BPF_REG_3; i++) {
		const struct fx_value p = st->reg[i];

		fx_simt_store(s, st, at, &p, 0, 8, &v);
	}
}

/* A format has no more arguments than it has room for: "%d" and a zero. */
static void printk_call(struct fx_simt *s, struct fx_state *st, u32 at, const char *name)
{
	const struct fx_value *r = st->reg, *size = &r[BPF_REG_2];
	s64 n = size->kind == FX_V_SCALAR && size->known ? (size->num - 1) / 2 : 3;

	want_uniform_memory(s, st, at, &r[BPF_REG_1], size, name, "the format");
	want_uniform(s, at, size, name, "the size");
	for (u32 i = 0; i < 3 && i < n; i++)
		/* what was not written is no argument */
		if (!r[BPF_REG_3 + i].varies || r[BPF_REG_3 + i].why != FX_WHY_UNWRITTEN)
			want_uniform(s, at, &r[BPF_REG_3 + i], name, "an argument");
}

static void puts_call(struct fx_simt *s, struct fx_state *st, u32 at, const char *name)
{
	u32 why = fx_simt_why_text(s, st, at, &st->reg[BPF_REG_1]);

	if (why != FX_NO_WHY)
		fx_simt_tell(s, FX_SIMT_EFFECT, at, why, "the text of %s varies by lane", name);
}

bool fx_simt_call(struct fx_simt *s, struct fx_state *st, u32 at)
{
	const struct bpf_insn *insn = &s->prog->insn[at];
	const struct fx_helper_rule *h;
	char *name;

	st->reg[BPF_REG_0] = fx_simt_number();
	if (insn->src_reg || BPF_SRC(insn->code) == BPF_X) {
		fx_simt_tell(s, FX_SIMT_CALL, at, FX_NO_WHY,
			     "a function is called that is not part of this one");
		return true;
	}
	h = fx_helper_rule(s->rules, insn->imm);
	if (!h && insn->imm == HELPER_MEMBAR) {
		fx_simt_tell(s, FX_SIMT_FENCE, at, FX_NO_WHY,
			     "bpf_membar waits until others see what was written");
		return true;
	}
	if (!h) {
		name = fx_helper_name(s->rules, insn->imm);
		fx_simt_tell(s, FX_SIMT_HELPER, at, FX_NO_WHY,
			     "the helper %s is called, which the device does not have", name);
		free(name);
		fx_simt_vary(&st->reg[BPF_REG_0], fx_simt_origin(s, at, "what an unknown helper returned"));
		return true;
	}
	if (h->flags & FX_H_EXIT)
		return false;
	switch (insn->imm) {
	case BPF_FUNC_map_lookup_elem:
	case BPF_FUNC_map_update_elem:
	case BPF_FUNC_map_delete_elem:
		map_call(s, st, at, h->name);
		break;
	case BPF_FUNC_perf_event_output:
		output_call(s, st, at, h->name);
		break;
	case BPF_FUNC_trace_printk:
		printk_call(s, st, at, h->name);
		break;
	case HELPER_PUTS:
		puts_call(s, st, at, h->name);
		break;
	default:
		if (h->flags & FX_H_FILLS)
			fill_call(s, st, at, h);
		else if (h->flags & FX_H_VARIES)
			fx_simt_vary(&st->reg[BPF_REG_0], fx_simt_origin(s, at, h->what));
	}
	return true;
}
