// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Objects with distrust: whole, cut short, with bytes changed, and noise. */
#include "asm.h"
#include "lower/clang.h"

static const char source[] =
	"#include <linux/bpf.h>\n"
	"#include <bpf/bpf_helpers.h>\n"
	"struct { __uint(type, 1503); __uint(max_entries, 4);\n"
	"	__type(key, __u32); __type(value, __u64); } counts SEC(\".maps\");\n"
	"static __u64 (* const lane)(void) = (void *)511;\n"
	"SEC(\"kprobe/copy\") int cuda__copy(void *ctx)\n"
	"{\n"
	"	__u32 zero = 0;\n"
	"	__u64 *n = bpf_map_lookup_elem(&counts, &zero);\n"
	"	if (n)\n"
	"		*n = lane();\n"		/* line 11 */
	"	return 0;\n"
	"}\n"
	"char LICENSE[] SEC(\"license\") = \"GPL\";\n";

static char *object;
static size_t size;

/* Repeatable pseudo-random numbers. */
static u32 rnd(void)
{
	static u64 x = 88172645463325252ULL;

	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	return x >> 16;
}

static int compile(void **state)
{
	char path[] = "/tmp/gpu_object.XXXXXX.c";
	int fd = mkstemps(path, 2);
	bool ok;

	(void)state;
	if (fd < 0)
		return -1;
	ok = write(fd, source, sizeof(source) - 1) == sizeof(source) - 1;
	close(fd);
	if (ok)
		ok = fx_clang(path, NULL, NULL, &object, &size) == FX_RC_OK;
	unlink(path);
	return ok ? 0 : -1;
}

static int release(void **state)
{
	(void)state;
	free(object);
	return 0;
}

static void whole(void **state)
{
	struct fx_bytecode c;
	u32 calls = 0, stores = 0;

	(void)state;
	assert_null(fx_bytecode_open(object, size, &c));
	assert_int_equal(c.n_prog, 1);
	assert_string_equal(c.prog[0].name, "cuda__copy");
	assert_string_equal(c.prog[0].section, "kprobe/copy");
	assert_int_equal(c.n_map, 1);
	assert_string_equal(c.map[0].name, "counts");
	assert_int_equal(c.map[0].type, 1503);
	assert_int_equal(c.map[0].value_size, 8);
	for (u32 i = 0; i < c.prog[0].n; i++) {
		const struct bpf_insn *insn = &c.prog[0].insn[i];

		if (insn->code == (BPF_LD | BPF_IMM | BPF_DW))
			assert_int_equal(c.prog[0].ref[i], 0);
		if (insn->code == (BPF_JMP | BPF_CALL))
			assert_int_equal(c.prog[0].line[i].line, calls++ ? 11 : 9);
		if (insn->code == (BPF_STX | BPF_MEM | BPF_DW)) {
			assert_int_equal(c.prog[0].line[i].line, 11);
			stores++;
		}
	}
	assert_int_equal(calls, 2);
	assert_int_equal(stores, 1);
	fx_bytecode_close(&c);
}

static void look_into(const char *bytes, size_t n)
{
	struct fx_diags *d = fx_diags_new("x.c", NULL, 0);
	struct fx_bytecode c;

	if (!fx_bytecode_open(bytes, n, &c)) {
		fx_check_rules(&c, &fx_cuda_rules, "x.c", true, d);
		fx_simt_check(&c, &fx_cuda_rules, "x.c", false, d);
	}
	fx_bytecode_close(&c);
	fx_diags_free(d);
}

static void cut_short(void **state)
{
	(void)state;
	/* a copy of that length, so that reading beyond it is noticed */
	for (size_t n = 0; n < size; n += 1 + rnd() % 16) {
		char *part = fx_alloc(n + !n);

		memcpy(part, object, n);
		look_into(part, n);
		free(part);
	}
}

static void changed(void **state)
{
	char *copy = fx_alloc(size);

	(void)state;
	for (u32 i = 0; i < 3000; i++) {
		memcpy(copy, object, size);
		for (u32 j = 0; j <= rnd() % 6; j++)
			copy[rnd() % size] = rnd() % 3 ? rnd() : 0xff;
		look_into(copy, size);
	}
	free(copy);
}

/* Instructions of every kind, jumps that mostly lead somewhere. */
static void noise(void **state)
{
	struct bpf_insn prog[64];

	(void)state;
	for (u32 i = 0; i < 20000; i++) {
		u32 n = 2 + rnd() % 62;

		for (u32 j = 0; j < n; j++) {
			const struct bpf_insn insn = INSN(rnd(), rnd() % 11, rnd() % 11,
				rnd() % 2 ? (s32)(rnd() % 16) - 8 : (s32)(rnd() % 600) - 540,
				rnd() % 4 ? (s32)(rnd() % 16) - 4 : (s32)rnd());
			static const u8 codes[] = {
				BPF_ALU64 | BPF_MOV | BPF_X, BPF_ALU64 | BPF_ADD | BPF_K,
				BPF_ALU64 | BPF_SUB | BPF_X, BPF_ALU | BPF_MOV | BPF_X,
				BPF_LDX | BPF_MEM | BPF_DW, BPF_LDX | BPF_MEM | BPF_B,
				BPF_STX | BPF_MEM | BPF_DW, BPF_STX | BPF_MEM | BPF_H,
				BPF_ST | BPF_MEM | BPF_W, BPF_JMP | BPF_JA,
				BPF_JMP | BPF_JEQ | BPF_K, BPF_JMP32 | BPF_JLT | BPF_X,
				BPF_JMP | BPF_CALL, BPF_STX | BPF_ATOMIC | BPF_DW,
			};

			prog[j] = insn;
			if (rnd() % 16)
				prog[j].code = codes[rnd() % ARRAY_SIZE(codes)];
			if (prog[j].code == (BPF_JMP | BPF_CALL)) {
				static const s32 ids[] = { 1, 2, 3, 6, 14, 25, 501, 503, 505, 511 };

				prog[j].src_reg = 0;
				prog[j].imm = ids[rnd() % ARRAY_SIZE(ids)];
			}
		}
		prog[n - 1] = (struct bpf_insn)EXIT;
		free(simt_said(prog, n));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(whole), cmocka_unit_test(cut_short),
		cmocka_unit_test(changed), cmocka_unit_test(noise),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name(__FILE__, tests, compile, release);
}
