/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The guard of a portable policy as ops of the kernel module: what is about
 * to happen is put to it by `admit`, a movement of the engine by `route`. Only
 * portable.bpf.h includes this.
 */
#ifndef FABRIC_EXT_GLUE_KERNEL_BPF_H
#define FABRIC_EXT_GLUE_KERNEL_BPF_H

#include <fabric_ext/policy.bpf.h>

/* What the graph knows of the edge, which the argument of an op does not say. */
static __always_inline void fx_move_edge(struct fx_call *call, struct fx_move *m)
{
	struct fx_class *c;
	struct fx_edge *e;

	m->edge = call->edge;
	m->op = call->op;
	m->device = FX_DEVICE_KERNEL;
	m->cls = FX_CLASS_NONE;
	e = fx_bpf_edge(call, m->edge);
	c = fx_bpf_class(call, m->edge);
	if (!e || !c)
		return;
	m->cls = e->desc.cls;
	m->stated = e->desc.bytes;
	m->priority = c->desc.priority;
}

/*
 * FX_PORTABLE(name, malformed, ...): the policy. Further arguments are fields
 * of struct fabric_ext_ops, which other devices do not have.
 */
#define FX_PORTABLE(policy, malformed, ...)				\
FX_ADMIT(args)								\
{									\
	struct fx_move m = { .bytes = args->bytes, .place = args->place };	\
	struct fx_verdict v;						\
									\
	fx_move_edge(fx_call_of(args), &m);				\
	v = fx_guard(&m);						\
	return v.action == FX_DROP ? v.error : 0;			\
}									\
									\
FX_ROUTE(args)								\
{									\
	struct fx_move m = { .bytes = args->bytes, .place = args->place };	\
	struct fx_verdict v;						\
									\
	fx_move_edge(fx_call_of(args), &m);				\
	v = fx_guard(&m);						\
	if (v.action == FX_DROP)					\
		return v.error;						\
	if (v.action == FX_MARK)					\
		args->priority = v.priority;				\
	return 0;							\
}									\
									\
/* for fabricctl: the guard can be verified without the module */	\
extern struct fabric_ext_ops policy					\
	__attribute__((btf_decl_tag("fx_portable")));			\
									\
FX_POLICY(policy, .admit = (void *)fx_admit, .route = (void *)fx_route,	\
	  ##__VA_ARGS__)

#endif
