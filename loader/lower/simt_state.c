// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What is known of registers and the stack, where two ways meet. */
#include <string.h>

#include "../util.h"
#include "simt_int.h"

static bool is_null(const struct fx_value *v)
{
	return v->kind == FX_V_SCALAR && v->known && !v->num;
}

/* The map of an entry that is one of @a or one of @b. */
static s32 meet_maps(const struct fx_simt *s, s32 a, s32 b)
{
	if (a == b)
		return a;
	return a == FX_MAP_SEVERAL || b == FX_MAP_SEVERAL || fx_simt_per_lane(s, a) ||
	       fx_simt_per_lane(s, b) ? FX_MAP_SEVERAL : FX_MAP_SHARED;
}

/* The stack, or an entry: false when one of the two is neither. */
static bool meet_either(const struct fx_simt *s, const struct fx_value *a,
			const struct fx_value *b, struct fx_value *v)
{
	const struct fx_value *stack = a->kind == FX_V_ENTRY ? b : a;
	const struct fx_value *other = a->kind == FX_V_ENTRY ? a : b;

	if (stack->kind != FX_V_STACK && stack->kind != FX_V_EITHER)
		return false;
	if (other->kind != FX_V_STACK && other->kind != FX_V_EITHER &&
	    other->kind != FX_V_ENTRY)
		return false;
	*v = *stack;
	v->kind = FX_V_EITHER;
	if (other->kind == FX_V_STACK || stack->kind == FX_V_STACK)
		v->map = other->kind == FX_V_STACK ? stack->map : other->map;
	else
		v->map = meet_maps(s, stack->map, other->map);
	if (other->kind != FX_V_ENTRY)
		v->known = a->known && b->known && a->num == b->num;
	return true;
}

static struct fx_value meet(const struct fx_simt *s, const struct fx_value *a,
			    const struct fx_value *b)
{
	struct fx_value v = *a;
	u32 why = FX_NO_WHY;

	/* an entry, or NULL where there is none: still an entry or NULL */
	if ((a->kind == FX_V_ENTRY && is_null(b)) || (b->kind == FX_V_ENTRY && is_null(a))) {
		v = a->kind == FX_V_ENTRY ? *a : *b;
		v.known = v.known && !v.num;
		v.base = FX_NO_WHY;
	} else if (a->kind != b->kind) {
		if (!meet_either(s, a, b, &v)) {
			v = (struct fx_value){ .kind = FX_V_OTHER };
			/* on one of the ways a number that tells the lane */
			if (fx_simt_lane_address(s, a) || fx_simt_lane_address(s, b))
				why = FX_WHY_ADDRESS;
		}
	} else {
		v.known = a->known && b->known && a->num == b->num;
		if (a->base != b->base)
			v.base = FX_NO_WHY;
		if (a->kind == FX_V_MAP && a->map != b->map)
			v = (struct fx_value){ .kind = FX_V_OTHER };
		else if (a->kind == FX_V_ENTRY || a->kind == FX_V_EITHER)
			v.map = meet_maps(s, a->map, b->map);
	}
	if (!v.known)
		v.num = 0;
	if (a->varies && a->why < why)
		why = a->why;
	if (b->varies && b->why < why)
		why = b->why;
	v.varies = why != FX_NO_WHY;
	v.why = why;
	return v;
}

void fx_simt_meet(const struct fx_simt *s, struct fx_state *to, const struct fx_state *from)
{
	if (from->cost > to->cost)
		to->cost = from->cost;
	for (u32 i = 0; i < FX_SIMT_REGS; i++)
		to->reg[i] = meet(s, &to->reg[i], &from->reg[i]);
	/* mostly they are alike */
	if (memcmp(to->why, from->why, sizeof(to->why)))
		for (u32 i = 0; i < FX_SIMT_STACK; i++)
			if (from->why[i] < to->why[i])
				to->why[i] = from->why[i];
	for (u32 i = 0; i < FX_SIMT_STACK / 4; i++) {
		if (to->known[i] == from->known[i] && to->word[i] == from->word[i])
			continue;
		to->known[i] = to->known[i] && from->known[i] && to->word[i] == from->word[i];
		if (!to->known[i])
			to->word[i] = 0;
	}
	for (u32 i = 0; i < FX_SIMT_STACK / 8; i++) {
		to->whole[i] = to->whole[i] && from->whole[i];
		if (to->whole[i] && memcmp(&to->slot[i], &from->slot[i], sizeof(to->slot[i])))
			to->slot[i] = meet(s, &to->slot[i], &from->slot[i]);
	}
}

static bool same_value(const struct fx_value *a, const struct fx_value *b)
{
	return a->kind == b->kind && a->varies == b->varies && a->known == b->known &&
	       a->map == b->map && a->num == b->num && a->base == b->base;
}

bool fx_simt_same(const struct fx_state *a, const struct fx_state *b)
{
	for (u32 i = 0; i < FX_SIMT_REGS; i++)
		if (!same_value(&a->reg[i], &b->reg[i]))
			return false;
	if (memcmp(a->whole, b->whole, sizeof(a->whole)) ||
	    memcmp(a->known, b->known, sizeof(a->known)) ||
	    memcmp(a->word, b->word, sizeof(a->word)) ||
	    memcmp(a->why, b->why, sizeof(a->why)))
		return false;
	for (u32 i = 0; i < FX_SIMT_STACK / 8; i++)
		if (a->whole[i] && !same_value(&a->slot[i], &b->slot[i]))
			return false;
	return true;
}

struct fx_state *fx_simt_first_state(void)
{
	struct fx_state *st = fx_calloc(1, sizeof(*st));

	for (u32 i = 0; i < FX_SIMT_REGS; i++)
		st->reg[i] = (struct fx_value){ .kind = FX_V_OTHER, .varies = true,
						.why = FX_WHY_UNWRITTEN };
	/* the argument: all lanes get the same */
	st->reg[BPF_REG_1] = (struct fx_value){ .kind = FX_V_OTHER, .why = FX_NO_WHY };
	st->reg[BPF_REG_10] = (struct fx_value){ .kind = FX_V_STACK, .known = true,
						 .why = FX_NO_WHY };
	for (u32 i = 0; i < FX_SIMT_STACK; i++)
		st->why[i] = FX_WHY_UNWRITTEN;
	return st;
}
