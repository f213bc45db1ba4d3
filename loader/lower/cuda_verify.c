// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The object for CUDA kernels, put before the kernel's verifier as it is: its
 * programs, with what only bpftime has replaced by what the kernel has. Maps get
 * the type that behaves alike; a helper becomes one of the kernel's, or a
 * function behind the program that touches the memory that it touches. What is
 * verified is every load and store of what is shipped.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/bpf.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../bpflog.h"
#include "../diag.h"
#include "../graph/codes.h"
#include "../util.h"
#include "gpu.h"
#include "gpu_rules.h"
#include "insn.h"

#define LOG_BYTES	(256 << 10)
#define MAP_BYTES	(16U << 20)	/* of a map here, at most: its entries are alike */
#define RING_BYTES	(64U << 10)	/* a power of 2, of whole pages anywhere */

#define I(op, dst, src, o, i)						\
	{ .code = (op), .dst_reg = (dst), .src_reg = (src), .off = (o), .imm = (i) }
#define MOV(dst, src)	I(BPF_ALU64 | BPF_MOV | BPF_X, dst, src, 0, 0)
#define MOVI(dst, n)	I(BPF_ALU64 | BPF_MOV | BPF_K, dst, 0, 0, n)
#define PUT(dst, src)	I(BPF_STX | BPF_MEM | BPF_DW, dst, src, 0, 0)
#define CALL(id)	I(BPF_JMP | BPF_CALL, 0, 0, 0, id)
#define EXIT		I(BPF_JMP | BPF_EXIT, 0, 0, 0, 0)

/* Three __u64, behind r1, r2 and r3, become anything. */
static const struct bpf_insn fills[] = {
	MOV(6, 1), MOV(7, 2), MOV(8, 3), CALL(BPF_FUNC_ktime_get_ns),
	PUT(6, 0), PUT(7, 0), PUT(8, 0), MOVI(0, 0), EXIT,
};

/* The data behind r4, r5 bytes, is read; r2 is the ring. */
static const struct bpf_insn puts_out[] = {
	MOV(1, 2), MOV(2, 4), MOV(3, 5), MOVI(4, 0), CALL(BPF_FUNC_ringbuf_output), EXIT,
};

/* A text is read: how long it is, only its end tells. */
static const struct bpf_insn prints[] = {
	I(BPF_LDX | BPF_MEM | BPF_B, 0, 1, 0, 0), EXIT,
};

/* That a lane ends there is not believed: what follows has to be right too. */
static const struct bpf_insn goes_on[] = { MOVI(0, 0), EXIT };

static const struct stand_in {
	u32 id;
	u32 kernel;			/* the kernel's helper, or 0 */
	const struct bpf_insn *insn;	/* or a function */
	u32 n;
} stand_ins[] = {
	{ 1, BPF_FUNC_map_lookup_elem }, { 2, BPF_FUNC_map_update_elem },
	{ 3, BPF_FUNC_map_delete_elem }, { 6, BPF_FUNC_trace_printk },
	{ 14, BPF_FUNC_get_current_pid_tgid },
	{ 25, 0, puts_out, ARRAY_SIZE(puts_out) }, { 501, 0, prints, ARRAY_SIZE(prints) },
	{ 502, BPF_FUNC_ktime_get_ns },
	{ 503, 0, fills, ARRAY_SIZE(fills) }, { 504, 0, fills, ARRAY_SIZE(fills) },
	{ 505, 0, fills, ARRAY_SIZE(fills) }, { 507, 0, goes_on, ARRAY_SIZE(goes_on) },
	{ 508, 0, fills, ARRAY_SIZE(fills) },
	/* numbers without a bound, which the number of a CPU has */
	{ 509, BPF_FUNC_ktime_get_ns }, { 510, BPF_FUNC_ktime_get_ns },
	{ 511, BPF_FUNC_ktime_get_ns },
};

static const struct stand_in *stand_in_of(s32 id)
{
	for (u32 i = 0; i < ARRAY_SIZE(stand_ins); i++)
		if ((s32)stand_ins[i].id == id)
			return &stand_ins[i];
	return NULL;
}

/* A map that behaves alike, or -errno. */
static int make_map(const struct fx_code_map *m)
{
	static const struct {
		u32 type;
		enum bpf_map_type kernel;
	} alike[] = {
		{ FX_BPFTIME_GPU_HASH, BPF_MAP_TYPE_HASH },
		{ FX_BPFTIME_GPU_PER_LANE_ARRAY, BPF_MAP_TYPE_PERCPU_ARRAY },
		{ FX_BPFTIME_GPU_ARRAY, BPF_MAP_TYPE_ARRAY },
		{ FX_BPFTIME_GPU_KERNEL_ARRAY, BPF_MAP_TYPE_ARRAY },
	};
	u32 most = MAP_BYTES / (m->value_size ? m->value_size : 1);
	u32 n = m->max_entries < most ? m->max_entries : most;
	int fd = -EINVAL;

	if (m->type == FX_BPFTIME_GPU_RINGBUF)
		fd = bpf_map_create(BPF_MAP_TYPE_RINGBUF, NULL, 0, 0, RING_BYTES, NULL);
	for (u32 i = 0; i < ARRAY_SIZE(alike); i++)
		if (alike[i].type == m->type)
			fd = bpf_map_create(alike[i].kernel, NULL, m->key_size, m->value_size,
					    n ? n : 1, NULL);
	return fd;
}

/* The program for the kernel, to free(), or NULL: it refers to what is no map. */
static struct bpf_insn *translate(const struct fx_code_prog *p, const int *fd, u32 *n)
{
	u32 function[ARRAY_SIZE(stand_ins)] = { 0 }, most = p->n;
	struct bpf_insn *insn;

	for (u32 i = 0; i < ARRAY_SIZE(stand_ins); i++)
		most += stand_ins[i].n;
	insn = fx_calloc(most, sizeof(*insn));
	memcpy(insn, p->insn, p->n * sizeof(*insn));
	*n = p->n;
	for (u32 at = 0; at < p->n; at += fx_insn_len(&p->insn[at])) {
		const struct stand_in *s = NULL;
		u32 *f;

		if (p->ref[at] >= 0 && insn[at].code == (BPF_LD | BPF_IMM | BPF_DW)) {
			insn[at].src_reg = BPF_PSEUDO_MAP_FD;
			insn[at].imm = fd[p->ref[at]];
			continue;
		}
		if (insn[at].code == (BPF_JMP | BPF_CALL) && !insn[at].src_reg)
			s = stand_in_of(insn[at].imm);
		if (p->ref[at] != FX_REF_NONE) {
			free(insn);
			return NULL;
		}
		if (!s)
			continue;
		insn[at].imm = s->kernel;
		if (s->kernel)
			continue;
		f = &function[s - stand_ins];
		if (!*f) {
			*f = *n;
			memcpy(&insn[*n], s->insn, s->n * sizeof(*insn));
			*n += s->n;
		}
		insn[at].src_reg = BPF_PSEUDO_CALL;
		insn[at].imm = *f - at - 1;
	}
	return insn;
}

/* The last instruction of the program that the log is about, or 0. */
static u32 last_insn(const char *log, u32 n)
{
	u32 last = 0;

	for (const char *p = log; *p; p = strchrnul(p, '\n')) {
		unsigned long at;
		char *end;

		p += *p == '\n';
		at = strtoul(p, &end, 10);
		if (end > p && !strncmp(end, ": (", 3) && at < n)
			last = at;
	}
	return last;
}

/* Tells what the verifier says of a program. */
static void refused(const struct fx_code_prog *p, const char *source, const char *log,
		    struct fx_diags *d)
{
	char *all = fx_asprintf("prog '%s': -- BEGIN PROG LOAD LOG --\n%s-- END PROG LOAD LOG --\n",
				p->name, log);
	char *why = fx_bpflog_reason(all), *aside;
	struct fx_pos pos = fx_code_pos(&p->line[last_insn(log, p->n)], source, &aside);

	fx_diag_help(fx_diag(d, FX_E_GPU_VERIFIER, pos,
			     "the kernel's verifier does not pass the guard for the device 'cuda': %s%s",
			     why, aside ? aside : ""),
		     "what runs it there does not look, so what the kernel says has to be mended");
	free(aside);
	free(why);
	free(all);
}

/* 0, or -errno: -EPERM when this process may not load programs. */
static int verify_prog(const struct fx_code_prog *p, const int *fd, const char *source,
		       struct fx_diags *d)
{
	char *log = fx_calloc(1, LOG_BYTES);

	LIBBPF_OPTS(bpf_prog_load_opts, opts);
	struct bpf_insn *insn;
	int got = -EINVAL;
	u32 n;

	insn = translate(p, fd, &n);
	if (insn)
		got = bpf_prog_load(BPF_PROG_TYPE_KPROBE, "guard", "GPL", insn, n, &opts);
	if (got < 0 && insn) {
		opts.log_buf = log;
		opts.log_size = LOG_BYTES;
		opts.log_level = 1;
		got = bpf_prog_load(BPF_PROG_TYPE_KPROBE, "guard", "GPL", insn, n, &opts);
		log[LOG_BYTES - 1] = '\0';
	}
	if (got >= 0)
		close(got);
	else if (*log || got != -EPERM)
		refused(p, source, log, d);
	free(insn);
	free(log);
	return got < 0 ? got : 0;
}

/* A program of another type would be verified by other rules. */
static void check_types(const struct fx_bytecode *c, struct fx_diags *d)
{
	static const struct fx_pos whole;
	struct bpf_program *prog;

	bpf_object__for_each_program(prog, c->obj) {
		const char *type = libbpf_bpf_prog_type_str(bpf_program__type(prog));

		if (bpf_program__type(prog) != BPF_PROG_TYPE_KPROBE)
			fx_diag_help(fx_diag(d, FX_E_GPU_VERIFIER, whole,
					     "the program '%s' is of type %s, which the device 'cuda' does not have",
					     bpf_program__name(prog), type ? type : "?"),
				     "programs at the entry of a kernel are kprobes");
	}
}

enum fx_rc fx_cuda_verify(const struct fx_lower_in *in, const struct fx_bytecode *c)
{
	struct fx_diags *d = fx_diags_new(in->policy, NULL, 0);
	static const struct fx_pos whole;
	int *fd = fx_calloc(c->n_map + 1, sizeof(*fd));
	enum fx_rc rc;
	int err = 0;
	u32 n = 0;

	check_types(c, d);
	for (; n < c->n_map && !fx_diags_count(d) && !err; n++) {
		fd[n] = make_map(&c->map[n]);
		if (fd[n] >= 0)
			continue;
		err = fd[n];
		if (err != -EPERM)
			fx_diag_help(fx_diag(d, FX_E_GPU_VERIFIER, whole,
					     "no map is like '%s' in the kernel, whose verifier looks at the guard for the device 'cuda': %s",
					     c->map[n].name, strerror(-err)),
				     "arrays have keys of 4 bytes, and values of at most 32 KiB where each lane has its own");
	}
	for (u32 i = 0; i < c->n_prog && !fx_diags_count(d) && !err; i++)
		err = verify_prog(&c->prog[i], fd, in->policy, d);
	if (err == -EPERM && !fx_diags_count(d))
		fx_info("the guard for the device 'cuda' is not verified: this process may not load BPF programs: it needs CAP_BPF and CAP_PERFMON");
	for (u32 i = 0; i < n; i++)
		if (fd[i] >= 0)
			close(fd[i]);
	rc = fx_diags_print(d) ? FX_RC_INPUT : FX_RC_OK;
	fx_diags_free(d);
	free(fd);
	return rc;
}
