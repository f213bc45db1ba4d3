// SPDX-License-Identifier: GPL-2.0-only
/*
 * struct fabric_ext_ops as the BPF subsystem sees it: which programs may
 * stand where, what they may touch, registration.
 */
#include <linux/bpf.h>
#include <linux/bpf_verifier.h>
#include <linux/btf.h>
#include <linux/btf_ids.h>
#include "compat.h"
#include "ops.h"

/*
 * The type of route's argument, found in the module's BTF when a program for
 * that op is loaded. Ids of BTF_ID() lists are of no use here: they are from
 * before the module's BTF was relocated to the kernel's.
 */
static const struct btf_type *fx_route_type;

/* What a policy may write. */
static const struct {
	u32 start;
	u32 end;
} fx_route_writable = {
	offsetof(struct fabric_ext_route_args, place),
	offsetofend(struct fabric_ext_route_args, chunk),
};

static bool fx_is_valid_access(int off, int size, enum bpf_access_type type,
			       const struct bpf_prog *prog, struct bpf_insn_access_aux *info)
{
	return bpf_tracing_btf_ctx_access(off, size, type, prog, info);
}

static int fx_btf_struct_access(struct bpf_verifier_log *log, const struct bpf_reg_state *reg,
				int off, int size)
{
	const struct btf_type *t = btf_type_by_id(reg->btf, reg->btf_id);

	if (t != READ_ONCE(fx_route_type) || off < (int)fx_route_writable.start ||
	    size < 0 || off + size > (int)fx_route_writable.end) {
		bpf_log(log, "route may write place, xforms, priority and chunk, nothing else\n");
		return -EACCES;
	}
	return 0;
}

static const struct bpf_verifier_ops fx_verifier_ops = {
	.get_func_proto = bpf_base_func_proto,
	.is_valid_access = fx_is_valid_access,
	.btf_struct_access = fx_btf_struct_access,
};

static int fx_so_init(struct btf *btf)
{
	return 0;
}

/* struct btf_type of the struct that a member function's argument points to */
static const struct btf_type *fx_arg_type(const struct btf *btf, const struct btf_member *m)
{
	const struct btf_type *t = btf_type_by_id(btf, m->type);

	if (!t || !btf_type_is_ptr(t))
		return NULL;
	t = btf_type_by_id(btf, t->type);
	if (!t || !btf_type_is_func_proto(t) || !btf_type_vlen(t))
		return NULL;
	t = btf_type_by_id(btf, btf_params(t)[0].type);
	if (!t || !btf_type_is_ptr(t))
		return NULL;
	return btf_type_by_id(btf, t->type);
}

static int fx_so_check_member(const struct btf_type *t, const struct btf_member *member,
			      const struct bpf_prog *prog)
{
	switch (__btf_member_bit_offset(t, member) / 8) {
	case offsetof(struct fabric_ext_ops, init):
	case offsetof(struct fabric_ext_ops, exit):
	case offsetof(struct fabric_ext_ops, dump):
		return 0;
	case offsetof(struct fabric_ext_ops, route):
		WRITE_ONCE(fx_route_type, fx_arg_type(prog->aux->attach_btf, member));
		break;
	}
	/* decisions run under locks and RCU */
	return prog->sleepable ? -EINVAL : 0;
}

static int fx_so_init_member(const struct btf_type *t, const struct btf_member *member,
			     void *kdata, const void *udata)
{
	const struct fabric_ext_ops *u = udata;
	struct fabric_ext_ops *k = kdata;

	switch (__btf_member_bit_offset(t, member) / 8) {
	case offsetof(struct fabric_ext_ops, hooks):
		k->hooks = u->hooks;
		return 1;
	case offsetof(struct fabric_ext_ops, flags):
		k->flags = u->flags;
		return 1;
	case offsetof(struct fabric_ext_ops, timeout_ms):
		k->timeout_ms = u->timeout_ms;
		return 1;
	case offsetof(struct fabric_ext_ops, invalid_budget):
		k->invalid_budget = u->invalid_budget;
		return 1;
	case offsetof(struct fabric_ext_ops, graph):
		memcpy(k->graph, u->graph, sizeof(k->graph));
		return 1;
	case offsetof(struct fabric_ext_ops, name):
		memcpy(k->name, u->name, sizeof(k->name));
		return 1;
	}
	return 0;
}

static int fx_so_validate(void *kdata)
{
	return fx_policy_check(kdata);
}

static int fx_so_reg(void *kdata, struct bpf_link *link)
{
	/* without a link, who would end it? */
	return link ? fx_policy_attach(kdata) : -EOPNOTSUPP;
}

static void fx_so_unreg(void *kdata, struct bpf_link *link)
{
	fx_policy_detach(kdata);
}

static int fx_so_update(void *kdata, void *old_kdata, struct bpf_link *link)
{
	return fx_policy_replace(kdata, old_kdata);
}

/* Never called: they tell the verifier the prototypes, each its own (CFI). */
static int fx_stub_admit(struct fabric_ext_admit_args *args)
{
	return 0;
}

static int fx_stub_p2p_map(struct fabric_ext_p2p_args *args)
{
	return FX_P2P_ALLOW;
}

static int fx_stub_tier(struct fabric_ext_tier_args *args)
{
	return 0;
}

static int fx_stub_route(struct fabric_ext_route_args *args)
{
	return 0;
}

static void fx_stub_complete(struct fabric_ext_complete_args *args)
{
}

static int fx_stub_init(struct fabric_ext_exit_args *args)
{
	return 0;
}

static void fx_stub_exit(struct fabric_ext_exit_args *args)
{
}

static void fx_stub_dump(struct fabric_ext_exit_args *args)
{
}

static struct fabric_ext_ops fx_stubs = {
	.admit = fx_stub_admit,
	.p2p_map = fx_stub_p2p_map,
	.tier = fx_stub_tier,
	.route = fx_stub_route,
	.complete = fx_stub_complete,
	.init = fx_stub_init,
	.exit = fx_stub_exit,
	.dump = fx_stub_dump,
};

static struct bpf_struct_ops fx_struct_ops = {
	.verifier_ops = &fx_verifier_ops,
	.init = fx_so_init,
	.check_member = fx_so_check_member,
	.init_member = fx_so_init_member,
	.validate = fx_so_validate,
	.reg = fx_so_reg,
	.unreg = fx_so_unreg,
	.update = fx_so_update,
	.cfi_stubs = &fx_stubs,
	.name = "fabric_ext_ops",
	.owner = THIS_MODULE,
};

/**
 * fx_struct_ops_register() - make struct fabric_ext_ops known
 *
 * There is no unregistering: it goes with the module's BTF.
 *
 * Return: 0 or -errno.
 */
int fx_struct_ops_register(void)
{
	return register_bpf_struct_ops(&fx_struct_ops, fabric_ext_ops);
}
