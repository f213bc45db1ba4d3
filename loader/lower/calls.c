// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * What the ops of a policy call. The kernel would say so when the policy is
 * attached, where the module is; here it is said when it is compiled, of the
 * calls of which it is certain, and with the line. Functions that are not known
 * are left to the kernel: it may be a newer one.
 */
#include <stdlib.h>
#include <string.h>

#include "../diag.h"
#include "../graph/codes.h"
#include "../names.h"
#include "../util.h"
#include "gpu_rules.h"
#include "insn.h"
#include "kernel.h"
#include "sleep.h"

#define SLEEPABLE	"struct_ops.s"

#define OP_BIT(op)	(1U << (op))

/* By the order of fx_policy_ops, which is that of struct fabric_ext_ops. */
enum { ADMIT, P2P_MAP, TIER, ROUTE, COMPLETE, INIT, EXIT, DUMP };

#define MAY_SLEEP	(OP_BIT(INIT) | OP_BIT(EXIT) | OP_BIT(DUMP))

/* Functions of the module that need the argument of an op (kmod/kfuncs.c). */
static const struct {
	const char *name;
	u32 ops;
	const char *help;
} kfuncs[] = {
	{ "fx_bpf_dev_place", OP_BIT(ADMIT), "it is of 'admit'; p2p_map has args->client_place" },
	{ "fx_bpf_buf_place", OP_BIT(ADMIT),
	  "it is of 'admit'; route has args->src_place and args->place" },
	{ "fx_bpf_buf_tag", OP_BIT(ADMIT),
	  "it is of 'admit'; other ops have call->edge and fx_bpf_edge()" },
	{ "fx_bpf_dump", MAY_SLEEP, "it is of 'dump' and 'exit'; other ops tell by fx_bpf_event()" },
};

/* Helpers that need the context of another type of programs, by how they begin. */
static const struct {
	const char *prefix, *of;
} contexts[] = {
	{ "bpf_skb_", "packets" }, { "bpf_xdp_", "packets" }, { "bpf_lwt_", "packets" },
	{ "bpf_redirect", "packets" }, { "bpf_clone_redirect", "packets" },
	{ "bpf_csum_", "packets" }, { "bpf_l3_", "packets" }, { "bpf_l4_", "packets" },
	{ "bpf_fib_lookup", "packets" }, { "bpf_check_mtu", "packets" },
	{ "bpf_set_hash", "packets" }, { "bpf_get_hash_recalc", "packets" },
	{ "bpf_get_route_realm", "packets" }, { "bpf_msg_", "sockets" },
	{ "bpf_sock_", "sockets" }, { "bpf_tcp_", "sockets" }, { "bpf_bind", "sockets" },
	{ "bpf_setsockopt", "sockets" }, { "bpf_getsockopt", "sockets" },
	{ "bpf_sysctl_", "settings of the kernel" }, { "bpf_rc_", "remote controls" },
	{ "bpf_override_return", "kprobes" }, { "bpf_get_func_", "tracing" },
	{ "bpf_perf_prog_read_value", "tracing" }, { "bpf_sys_", "system calls" },
	{ "bpf_btf_find_by_name_kind", "system calls" },
};

struct calls {
	const char *source;
	const struct fx_bytecode *code;
	struct fx_diags *diags;
	struct fx_told told;
	u32 op;
	bool sleepable;		/* by the section of the op's program */
	bool *seen;		/* programs that this op was followed through */
};

static const char *op_name(const struct calls *c)
{
	return fx_policy_ops.name[c->op];
}

static void tell_sleep(struct calls *c, struct fx_pos pos, const char *name, const char *aside)
{
	const bool may = OP_BIT(c->op) & MAY_SLEEP;
	struct fx_diag *d;

	d = fx_diag(c->diags, FX_E_POLICY_SLEEPS, pos,
		    "the op '%s' calls %s(), which may sleep, and on the device 'kernel' %s%s",
		    op_name(c), name, may ?
		    "its program is in a section whose programs do not" :
		    "it is asked under locks, where nothing sleeps", aside);
	if (may)
		fx_diag_help(d, "SEC(\"" SLEEPABLE "/%s\"), which FX_INIT(), FX_EXIT() and FX_DUMP() have",
			     op_name(c));
	else
		fx_diag_help(d, "init, exit and dump may sleep; let '%s' find what it needs in a map, which user space fills",
			     op_name(c));
}

/* What else to do than call this function of the module; NULL: call it. */
static const char *not_of_op(const struct calls *c, const char *kfunc)
{
	for (u32 i = 0; i < ARRAY_SIZE(kfuncs); i++)
		if (!strcmp(kfuncs[i].name, kfunc) && !(kfuncs[i].ops & OP_BIT(c->op)))
			return kfuncs[i].help;
	return NULL;
}

/* What programs have a helper that ops have not; NULL: it is not known. */
static const char *not_for_ops(const char *helper)
{
	for (u32 i = 0; i < ARRAY_SIZE(contexts); i++)
		if (!strncmp(helper, contexts[i].prefix, strlen(contexts[i].prefix)))
			return contexts[i].of;
	return NULL;
}

static void check_call(struct calls *c, const struct fx_code_prog *p, u32 at)
{
	static const struct fx_device_rules none;
	const struct bpf_insn *insn = &p->insn[at];
	const char *sleeps = fx_may_sleep(p, at), *kfunc = p->outside[at];
	char *helper = kfunc || insn->src_reg ? NULL : fx_helper_name(&none, insn->imm);
	const char *help = kfunc ? not_of_op(c, kfunc) : NULL;
	const char *of = helper ? not_for_ops(helper) : NULL;
	char *aside = NULL;
	struct fx_pos pos;

	if (OP_BIT(c->op) & MAY_SLEEP && c->sleepable)
		sleeps = NULL;
	/* once, though several ops may come there */
	if ((!sleeps && !help && !of) || fx_told(&c->told, &p->line[at], insn->imm))
		goto out;
	pos = fx_code_pos(&p->line[at], c->source, &aside);
	if (sleeps)
		tell_sleep(c, pos, sleeps, aside ? aside : "");
	else if (help)
		fx_diag_help(fx_diag(c->diags, FX_E_POLICY_CALL, pos,
				     "the op '%s' calls %s(), which it does not have on the device 'kernel'%s",
				     op_name(c), kfunc, aside ? aside : ""),
			     "%s", help);
	else
		fx_diag_help(fx_diag(c->diags, FX_E_POLICY_CALL, pos,
				     "the op '%s' calls the helper %s(), which is for %s, and not on the device 'kernel'%s",
				     op_name(c), helper, of, aside ? aside : ""),
			     "what an op knows is in its argument; bpf_map_*, bpf_ktime_get_ns(), bpf_ringbuf_* and the functions of <fabric_ext/policy.bpf.h> work");
out:
	free(aside);
	free(helper);
}

/* Everything that runs when the program does: what it calls, and callbacks. */
static void follow(struct calls *c, u32 first)
{
	u32 *stack = fx_calloc(c->code->n_prog, sizeof(*stack)), n = 0;

	memset(c->seen, 0, c->code->n_prog * sizeof(*c->seen));
	c->seen[first] = true;
	stack[n++] = first;
	while (n) {
		const struct fx_code_prog *p = &c->code->prog[stack[--n]];

		for (u32 at = 0; at < p->n; at += fx_insn_len(&p->insn[at])) {
			s32 to = p->callee[at];

			if (to >= 0 && !c->seen[to]) {
				c->seen[to] = true;
				stack[n++] = to;
			}
			if (p->insn[at].code == (BPF_JMP | BPF_CALL) && to < 0)
				check_call(c, p, at);
		}
	}
	free(stack);
}

enum fx_rc fx_check_calls(const char *source, const struct fx_kernel_policy *p)
{
	struct fx_bytecode code;
	struct calls c = { .source = source, .code = &code };
	const char *wrong = fx_bytecode_open(p->object, p->object_size, &code);
	enum fx_rc rc = FX_RC_OK;

	/* what cannot be read is the kernel's to refuse */
	if (wrong)
		goto out;
	c.diags = fx_diags_new(source, NULL, 0);
	c.seen = fx_calloc(code.n_prog, sizeof(*c.seen));
	for (c.op = 0; c.op < FX_POLICY_OPS; c.op++)
		for (u32 i = 0; i < code.n_prog && p->prog[c.op]; i++) {
			if (strcmp(code.prog[i].name, p->prog[c.op]))
				continue;
			c.sleepable = !strncmp(code.prog[i].section, SLEEPABLE, strlen(SLEEPABLE));
			follow(&c, i);
		}
	rc = fx_diags_print(c.diags) ? FX_RC_INPUT : FX_RC_OK;
	fx_diags_free(c.diags);
	free(c.told.place);
	free(c.seen);
out:
	fx_bytecode_close(&code);
	return rc;
}
