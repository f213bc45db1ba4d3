// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "asm.h"

static const struct fx_code_map maps[N_MAPS] = {
	[SHARED] = { "shared", FX_BPFTIME_GPU_ARRAY, 4, 64, 8 },
	[PER_LANE] = { "per_lane", FX_BPFTIME_GPU_PER_LANE_ARRAY, 4, 64, 8 },
	[HASHED] = { "hashed", FX_BPFTIME_GPU_HASH, 8, 16, 8 },
	[RING] = { "ring", FX_BPFTIME_GPU_RINGBUF, 4, 64, 8 },
};

/* Standard error, for as long as diagnostics are printed. */
static char *printed(struct fx_diags *d)
{
	FILE *file = tmpfile();
	int before = dup(STDERR_FILENO);
	char *text;
	long len;

	assert_non_null(file);
	fflush(stderr);
	dup2(fileno(file), STDERR_FILENO);
	fx_diags_print(d);
	fflush(stderr);
	dup2(before, STDERR_FILENO);
	close(before);
	fseek(file, 0, SEEK_END);
	len = ftell(file);
	assert_true(len >= 0);
	text = fx_calloc(len + 1, 1);
	rewind(file);
	assert_int_equal(fread(text, 1, len, file), len);
	fclose(file);
	return text;
}

static struct fx_diags *check(const struct bpf_insn *insn, u32 n)
{
	struct fx_code_prog prog = { .name = "prog", .section = "kprobe/k", .n = n };
	struct fx_bytecode code = {
		.prog = &prog, .n_prog = 1,
		.map = (struct fx_code_map *)maps, .n_map = N_MAPS,
	};
	struct fx_diags *d = fx_diags_new("prog.c", NULL, 0);

	/* copies, so that what is read beyond them is noticed */
	prog.insn = fx_calloc(n, sizeof(*insn));
	memcpy(prog.insn, insn, n * sizeof(*insn));
	prog.ref = fx_calloc(n, sizeof(*prog.ref));
	prog.line = fx_calloc(n, sizeof(*prog.line));
	for (u32 i = 0; i < n; i++) {
		prog.ref[i] = insn[i].src_reg == BPF_PSEUDO_MAP_FD &&
			insn[i].code == (BPF_LD | BPF_IMM | BPF_DW) &&
			insn[i].imm >= 0 && insn[i].imm < N_MAPS ?
			insn[i].imm : FX_REF_NONE;
		prog.line[i] = (struct fx_code_line){ "prog.c", i + 1, 1 };
	}
	fx_simt_check(&code, &fx_cuda_rules, "prog.c", false, d);
	free(prog.insn);
	free(prog.ref);
	free(prog.line);
	return d;
}

bool simt_passes(const struct bpf_insn *insn, u32 n)
{
	struct fx_diags *d = check(insn, n);
	bool passes = !fx_diags_count(d);

	fx_diags_free(d);
	return passes;
}

char *simt_said(const struct bpf_insn *insn, u32 n)
{
	struct fx_diags *d = check(insn, n);
	char *said = printed(d);

	fx_diags_free(d);
	return said;
}

void simt_wants(u32 code, const struct bpf_insn *insn, u32 n, int line)
{
	char *said = simt_said(insn, n), *want = fx_asprintf("error[FX%04u]", code);
	const char *at = said;
	u32 found = 0;

	while ((at = strstr(at, "error[FX"))) {
		if (!code || strncmp(at, want, strlen(want)))
			fail_msg("line %d: wanted %s and got\n%s", line, code ? want : "nothing", said);
		found++;
		at++;
	}
	if (code && !found)
		fail_msg("line %d: wanted %s and got nothing", line, want);
	free(want);
	free(said);
}
