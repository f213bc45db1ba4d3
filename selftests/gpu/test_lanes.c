// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Programs at random, against two lanes that execute them one instruction at a
 * time: what the check finds nothing in must not part them, nor get one's own
 * into what they share, nor run longer than it says. The seed is fixed.
 */
#include "asm.h"

#define PROGRAMS	3000
#define MAX_INSNS	512
#define MAX_STEPS	70000

/* where things are; what is a lane's own is elsewhere in the other one */
#define APART		0x10000ULL
#define STACK		0x10000000ULL
#define OWN		0x20000000ULL
#define COMMON		0x30000000ULL
#define MAPS		0x40000000ULL

static struct lane {
	u64 r[11];
	u8 stack[512], own[64], common[64];
} lanes[2];

/* what one instruction did in a lane */
struct did {
	u64 key;		/* or where it stored */
	bool taken, over;
};

static u64 seed;

static u32 rnd(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed >> 16;
}

/* ---- two lanes -------------------------------------------------------- */

/* NULL: a program that a verifier does not let pass. */
static u8 *memory(struct lane *l, u64 at, u32 n)
{
	u64 mine = at - (l - lanes) * APART;

	if (mine - (STACK - 512) <= 512 - n)
		return l->stack + (mine - (STACK - 512));
	if (mine - OWN <= 64 - n)
		return l->own + (mine - OWN);
	if (at - COMMON <= 64 - n)
		return l->common + (at - COMMON);
	return NULL;
}

static u64 alu(const struct bpf_insn *insn, u64 a, u64 b)
{
	bool wide = BPF_CLASS(insn->code) == BPF_ALU64;
	u32 bits = wide ? 63 : 31;

	if (!wide) {
		a = (u32)a;
		b = (u32)b;
	}
	switch (BPF_OP(insn->code)) {
	case BPF_ADD:
		a += b;
		break;
	case BPF_SUB:
		a -= b;
		break;
	case BPF_MUL:
		a *= b;
		break;
	case BPF_DIV:
		a = b ? a / b : 0;
		break;
	case BPF_MOD:
		a = b ? a % b : a;
		break;
	case BPF_AND:
		a &= b;
		break;
	case BPF_OR:
		a |= b;
		break;
	case BPF_XOR:
		a ^= b;
		break;
	case BPF_LSH:
		a <<= b & bits;
		break;
	case BPF_RSH:
		a >>= b & bits;
		break;
	case BPF_ARSH:
		a = wide ? (u64)((s64)a >> (b & bits)) : (u64)((s32)a >> (b & bits));
		break;
	case BPF_NEG:
		a = -a;
		break;
	default:
		a = b;
		break;
	}
	return wide ? a : (u32)a;
}

static bool compare(const struct bpf_insn *insn, u64 a, u64 b)
{
	bool narrow = BPF_CLASS(insn->code) == BPF_JMP32;
	s64 sa = narrow ? (s32)a : (s64)a, sb = narrow ? (s32)b : (s64)b;

	if (narrow) {
		a = (u32)a;
		b = (u32)b;
	}
	switch (BPF_OP(insn->code)) {
	case BPF_JEQ:
		return a == b;
	case BPF_JNE:
		return a != b;
	case BPF_JGT:
		return a > b;
	case BPF_JGE:
		return a >= b;
	case BPF_JLT:
		return a < b;
	case BPF_JLE:
		return a <= b;
	case BPF_JSGT:
		return sa > sb;
	case BPF_JSGE:
		return sa >= sb;
	case BPF_JSLT:
		return sa < sb;
	case BPF_JSLE:
		return sa <= sb;
	default:
		return a & b;
	}
}

static u32 size_of(const struct bpf_insn *insn)
{
	static const u32 sizes[] = { 4, 2, 1, 8 };

	return sizes[BPF_SIZE(insn->code) >> 3];
}

static void store(u32 lane, const struct bpf_insn *insn, struct did *d)
{
	struct lane *l = &lanes[lane];
	u64 to = l->r[insn->dst_reg] + insn->off, old = 0, v;
	u32 size = size_of(insn);
	u8 *m = memory(l, to, size);
	bool fetch;

	d->over = !m;
	if (!m)
		return;
	v = BPF_CLASS(insn->code) == BPF_STX ? l->r[insn->src_reg] : (u64)(s64)insn->imm;
	if (to >= COMMON)
		d->key = to;
	if (BPF_MODE(insn->code) == BPF_ATOMIC) {
		fetch = insn->imm & BPF_FETCH;
		memcpy(&old, m, size);
		if (insn->imm == BPF_CMPXCHG)
			v = old == l->r[0] ? v : old;
		else if (insn->imm != BPF_XCHG)
			v += old;
		/* lane after lane: the second one finds what the first one left */
		if (fetch)
			l->r[insn->imm == BPF_CMPXCHG ? 0 : insn->src_reg] =
				old + (to >= COMMON ? lane * 1000 : 0);
	}
	memcpy(m, &v, size);
}

static u64 map_key(u32 lane, u64 map, struct did *d)
{
	u32 size = map == MAPS + HASHED ? 8 : 4;
	u8 *m = memory(&lanes[lane], lanes[lane].r[2], size);
	u64 key = 0;

	d->over = !m || map < MAPS || map > MAPS + HASHED;
	if (!d->over)
		memcpy(&key, m, size);
	return key;
}

static void call(u32 lane, u32 id, struct did *d)
{
	struct lane *l = &lanes[lane];
	u64 *r = l->r, map = r[1], v;
	u8 *m;

	switch (id) {
	case LANE:
	case CLOCK:
		r[0] = lane * 3 + 1;
		break;
	case 14:
		r[0] = 77;
		break;
	case LOOKUP:
		d->key = map_key(lane, map, d);
		r[0] = map == MAPS + PER_LANE ? OWN + lane * APART : COMMON;
		break;
	case DELETE:
		d->key = map_key(lane, map, d);
		r[0] = map == MAPS + HASHED && lane ? -2 : 0;
		break;
	case THREAD_INDEX:
	case BLOCK_SIZE:
		for (u32 i = 1; i <= 3; i++) {
			m = memory(l, r[i], 8);
			v = id == BLOCK_SIZE ? 64 : lane * 5 + i;
			d->over |= !m;
			if (m)
				memcpy(m, &v, 8);
		}
		r[0] = 0;
		break;
	default:
		d->over = true;
	}
	/* nothing that is known, and not the same */
	for (u32 i = 1; i <= 5; i++)
		r[i] = 99 + lane;
}

static void step(u32 lane, const struct bpf_insn *insn, struct did *d)
{
	struct lane *l = &lanes[lane];
	u64 *dst = &l->r[insn->dst_reg], v = 0;
	u64 src = BPF_SRC(insn->code) == BPF_X ? l->r[insn->src_reg] : (u64)(s64)insn->imm;
	u8 *m;

	switch (BPF_CLASS(insn->code)) {
	case BPF_ALU:
	case BPF_ALU64:
		*dst = alu(insn, *dst, src);
		break;
	case BPF_LD:
		*dst = MAPS + insn->imm;
		break;
	case BPF_LDX:
		m = memory(l, l->r[insn->src_reg] + insn->off, size_of(insn));
		d->over = !m;
		if (m)
			memcpy(&v, m, size_of(insn));
		*dst = v;
		break;
	case BPF_ST:
	case BPF_STX:
		store(lane, insn, d);
		break;
	default:
		if (BPF_OP(insn->code) == BPF_EXIT)
			d->over = true;
		else if (BPF_OP(insn->code) == BPF_CALL)
			call(lane, insn->imm, d);
		else
			d->taken = fx_insn_is_goto(insn) || compare(insn, *dst, src);
	}
}

/* What a check should have found, or NULL. */
static const char *execute(const struct bpf_insn *prog, u32 n)
{
	u32 at = 0;

	for (u32 i = 0; i < 2; i++) {
		memset(&lanes[i], 0, sizeof(lanes[i]));
		for (u32 j = 0; j < 512; j++)
			lanes[i].stack[j] = rnd();
		for (u32 j = 0; j < 64; j++) {
			lanes[i].own[j] = rnd();
			lanes[i].common[j] = j * 7 + 3;
		}
		for (u32 j = 0; j < 10; j++)
			lanes[i].r[j] = j == 1 ? 5 : rnd();
		lanes[i].r[10] = STACK + i * APART;
	}
	for (u32 steps = 0; steps < MAX_STEPS; steps++) {
		const struct bpf_insn *insn = &prog[at];
		struct did d[2] = { 0 };

		for (u32 i = 0; i < 2; i++)
			step(i, insn, &d[i]);
		if (d[0].over || d[1].over)
			return NULL;
		if (d[0].key != d[1].key)
			return "they select another entry each";
		if (memcmp(lanes[0].common, lanes[1].common, 64))
			return "what they share is not the same";
		if (d[0].taken != d[1].taken)
			return "they part";
		at += d[0].taken ? 1 + insn->off : (int)fx_insn_len(insn);
		if (at >= n)
			return NULL;
	}
	return "they do not end";
}

/* ---- programs --------------------------------------------------------- */

static struct bpf_insn prog[MAX_INSNS];
static u32 n;

#define put(...)							\
	do {								\
		const struct bpf_insn put_[] = { __VA_ARGS__ };		\
									\
		memcpy(prog + n, put_, sizeof(put_));			\
		n += ARRAY_SIZE(put_);					\
	} while (0)
#define one_of(...)	\
	pick((const short[]){ __VA_ARGS__ }, sizeof((const short[]){ __VA_ARGS__ }) / 2)

static short pick(const short *from, u32 len)
{
	return from[rnd() % len];
}

static u8 reg(void)
{
	return one_of(0, 6, 7, 8, 9, 6, 7, 8, 9, 1, 2, 3);
}

static short place(void)
{
	return one_of(-16, -16, -24, -24, -32, -40, -20, -18, -17, -28, -8);
}

static u8 width(void)
{
	return one_of(BPF_DW, BPF_DW, BPF_DW, BPF_W, BPF_B, BPF_H);
}

static void put_alu(void)
{
	u8 op = one_of(BPF_ADD, BPF_ADD, BPF_ADD, BPF_SUB, BPF_MUL, BPF_AND, BPF_OR, BPF_XOR,
		       BPF_LSH, BPF_RSH, BPF_ARSH, BPF_DIV, BPF_MOD, BPF_MOV, BPF_MOV);
	u8 class = rnd() % 4 ? BPF_ALU64 : BPF_ALU;

	if (rnd() % 3)
		put(INSN(class | op | BPF_K, reg(), 0, 0, (s32)(rnd() % 40)));
	else
		put(INSN(class | op | BPF_X, reg(), reg(), 0, 0));
}

static void put_jump(bool back)
{
	u8 op = one_of(BPF_JEQ, BPF_JNE, BPF_JGT, BPF_JGE, BPF_JLT, BPF_JLE, BPF_JSGT, BPF_JSGE,
		       BPF_JSLT, BPF_JSLE, BPF_JSET);
	u8 class = rnd() % 5 ? BPF_JMP : BPF_JMP32;
	short to = back && rnd() % 3 ? -(short)(rnd() % 9) - 1 : (short)(rnd() % 4);

	put(INSN(class | op | (rnd() % 3 ? BPF_K : BPF_X), reg(), one_of(6, 8), to,
		 (s32)(rnd() % 70)));
}

static void put_one(bool back)
{
	switch (one_of(0, 0, 0, 1, 2, 3, 4, 5, 5, back ? 5 : 6, 6, 7, 8, 9, 10, 11)) {
	case 0:
		put_alu();
		break;
	case 1:
		put(STX(width(), 10, reg(), place()));
		break;
	case 2:
		put(LDX(width(), reg(), 10, place()));
		break;
	case 3:
		put(LDX(width(), reg(), reg(), rnd() % 48));
		break;
	case 4:
		put(STX(width(), reg(), reg(), rnd() % 2 ? (short)(rnd() % 48) : place()));
		break;
	case 5:
		put_jump(back);
		break;
	case 6:
		put(MOV(7, 10), ALUI(BPF_ADD, 7, place()));
		break;
	case 7:
		put(STX(BPF_DW, 10, reg(), -16));
		break;
	case 8:
		put(ATOMIC(one_of(BPF_XCHG, BPF_CMPXCHG, BPF_ADD, BPF_ADD | BPF_FETCH),
			   rnd() % 2 ? 10 : reg(), reg(), rnd() % 2 ? -16 : -24));
		break;
	case 9:
		put(MOV(2, 10), ALUI(BPF_ADD, 2, place()), MAP(1, (s32)(rnd() % 3)),
		    CALL(rnd() % 4 ? LOOKUP : DELETE), MOV(one_of(6, 7), 0));
		break;
	case 10:
		put(MOV(1, 10), ALUI(BPF_ADD, 1, -16), MOV(2, 10), ALUI(BPF_ADD, 2, -24),
		    MOV(3, one_of(7, 10)), ALUI(BPF_ADD, 3, -40),
		    CALL(one_of(THREAD_INDEX, BLOCK_SIZE)));
		break;
	default:
		put(CALL(one_of(14, 14, LANE)));
	}
}

static void put_program(bool back)
{
	u32 from, len = 4 + rnd() % 14;

	n = 0;
	for (short at = -56; at <= -8; at += 8)
		put(STI(BPF_DW, 10, at, at));
	put(ENTRY(PER_LANE), MOV(7, 6), ENTRY(SHARED), MOVI(8, 5), CALL(LANE), MOV(9, 0),
	    MOVI(1, 1), MOVI(2, 2), MOVI(3, 3));
	from = n;
	for (u32 i = 0; i < len; i++)
		put_one(back);
	/* some way behind for jumps, and none to before the beginning */
	put(MOVI(0, 0), MOVI(0, 0), MOVI(0, 0), MOVI(0, 0), EXIT);
	for (u32 i = from; i < n; i++)
		if (fx_insn_is_jump(&prog[i]) && i + 1 + prog[i].off < from)
			prog[i].off = 0;
}

static void compare_with_lanes(bool back)
{
	u32 passed = 0;

	seed = 88172645463325252ULL;
	for (u32 i = 0; i < PROGRAMS; i++) {
		const char *wrong;

		put_program(back);
		if (!simt_passes(prog, n))
			continue;
		passed++;
		wrong = execute(prog, n);
		if (!wrong)
			continue;
		for (u32 j = 0; j < n; j++)
			print_message("%u: code %02x dst %u src %u off %d imm %d\n", j,
				      prog[j].code, prog[j].dst_reg, prog[j].src_reg, prog[j].off,
				      prog[j].imm);
		fail_msg("program %u passes, and %s", i, wrong);
	}
	/* programs that the check refuses show nothing */
	print_message("%u of %u pass the check\n", passed, PROGRAMS);
	assert_true(passed > PROGRAMS / 50);
}

static void forward(void **state)
{
	(void)state;
	compare_with_lanes(false);
}

static void loops(void **state)
{
	(void)state;
	compare_with_lanes(true);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(forward), cmocka_unit_test(loops),
	};

	return RUN(tests);
}
