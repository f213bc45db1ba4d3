/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What a policy includes: one header, no vmlinux.h.
 *
 *	#include <fabric_ext/policy.bpf.h>
 *
 *	FX_ADMIT(args)
 *	{
 *		return args->bytes > 1UL << 30 ? -ENOSPC : 0;
 *	}
 *
 *	FX_POLICY(my_policy, .admit = (void *)fx_admit);
 *
 *	char LICENSE[] SEC("license") = "Dual BSD/GPL";
 *
 * The types below are those of the module (kmod/ops.h, where each field and
 * each op's answers are documented); CO-RE finds the fields that a policy uses
 * in the running module, so a policy outlives fields that are added. To look
 * into a kernel object, declare what you read of it and cast:
 *
 *	struct dma_buf { __u64 size; } __attribute__((preserve_access_index));
 *	... bpf_core_cast(args->dmabuf, struct dma_buf)->size
 */
#ifndef FABRIC_EXT_POLICY_BPF_H
#define FABRIC_EXT_POLICY_BPF_H

#include <linux/types.h>
#include <linux/bpf.h>
#include <linux/fabric_ext.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>

/* errors that admit, p2p_map and route may refuse with */
#ifndef EPERM
#define EPERM	1
#define EACCES	13
#define EBUSY	16
#define ENOSPC	28
#endif

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct fx_call {
	__u32 op;		/* enum fx_op */
	__u32 edge;		/* instance, or FX_EDGE_NONE */
};

struct fabric_ext_admit_args {
	struct fx_call call;
	__u64 bytes;
	void *dmabuf;		/* struct dma_buf */
	void *dev;		/* struct device */
	__u64 phys;
	__u32 place;
	__u32 dir;
};

struct fabric_ext_p2p_args {
	struct fx_call call;
	void *provider;		/* struct device */
	void *client;		/* struct device */
	__u32 provider_place;
	__u32 client_place;
};

struct fabric_ext_tier_args {
	struct fx_call call;
	__s32 node;
	__u32 place;
};

struct fabric_ext_route_args {
	struct fx_call call;
	__u64 bytes;
	__u32 src_place;
	__u32 xforms_asked;
	/* a policy may write these four */
	__u32 place;
	__u32 xforms;
	__u32 priority;
	__u32 chunk;
};

struct fabric_ext_complete_args {
	struct fx_call call;
	__u64 bytes_in;
	__u64 bytes_out;
	__u64 ns;
	__u32 place;
	__u32 reason;
	__s32 error;
	__u32 csum;
};

struct fabric_ext_exit_args {
	struct fx_call call;
	__u32 kind;		/* enum fx_exit_kind */
};

struct fx_edge {
	struct fx_edge_desc desc;
};

struct fx_class {
	struct fx_class_desc desc;
};

struct fx_place {
	struct fx_place_desc desc;
	int node;
};

#pragma clang attribute pop

/* answers of p2p_map */
#define FX_P2P_ALLOW		0
#define FX_P2P_HOST_BRIDGE	1

/* abstract distances, the unit of the kernel's memory tiers */
#define FX_ADISTANCE_DRAM	576

#define FX_POLICY_F_AUDIT	(1ULL << 0)

struct fx_buf_tag {
	__u32 edge;
	__u32 place;
	__u32 alias;
	__u32 reserved;
	__u64 at;
	__u64 bytes;
};

/* Members by name and size as in the module; libbpf matches them. */
struct fabric_ext_ops {
	int (*admit)(struct fabric_ext_admit_args *args);
	int (*p2p_map)(struct fabric_ext_p2p_args *args);
	int (*tier)(struct fabric_ext_tier_args *args);
	int (*route)(struct fabric_ext_route_args *args);
	void (*complete)(struct fabric_ext_complete_args *args);
	int (*init)(struct fabric_ext_exit_args *args);
	void (*exit)(struct fabric_ext_exit_args *args);
	void (*dump)(struct fabric_ext_exit_args *args);
	__u64 hooks;
	__u64 flags;
	__u32 timeout_ms;
	__u32 invalid_budget;
	char graph[FX_NAME_LEN];
	char name[FX_NAME_LEN];
};

/* ---- kfuncs (kmod/kfuncs.c) ---- */

/* The head of any op's argument, which most kfuncs take. */
#define fx_call_of(args)	((struct fx_call *)(args))

extern struct fx_edge *fx_bpf_edge(struct fx_call *call, __u32 edge) __ksym;
extern struct fx_class *fx_bpf_class(struct fx_call *call, __u32 edge) __ksym;
extern struct fx_place *fx_bpf_place(struct fx_call *call, __u32 place) __ksym;
extern __s64 fx_bpf_place_used(struct fx_call *call, __u32 place) __ksym;
extern __u32 fx_bpf_dev_place(struct fabric_ext_admit_args *args) __ksym;
extern __u32 fx_bpf_buf_place(struct fabric_ext_admit_args *args) __ksym;
extern int fx_bpf_buf_tag(struct fabric_ext_admit_args *args, void *tag, __u32 tag__sz) __ksym;
extern int fx_bpf_event(struct fx_call *call, __u64 arg0, __u64 arg1) __ksym;
extern void fx_bpf_error(struct fx_call *call, const char *msg__str) __ksym;
extern int fx_bpf_dump(struct fabric_ext_exit_args *args, const char *key__str,
		       __u64 value) __ksym;

/* ---- how a policy is written ---- */

/*
 * FX_ADMIT(args) { ... } defines the program fx_admit for the op admit, and so
 * on. struct_ops hands a
 * program an array of arguments; each of our ops has one.
 */
#define FX_DEFINE_OP(ret, sec, name, type, args)				\
	static __always_inline ret fx_body_##name(type *args);			\
	SEC(sec) ret name(unsigned long long *ctx)				\
	{									\
		return fx_body_##name((type *)ctx[0]);				\
	}									\
	static __always_inline ret fx_body_##name(type *args)

#define FX_ADMIT(args)	FX_DEFINE_OP(int, "struct_ops/admit", fx_admit,		\
				      struct fabric_ext_admit_args, args)
#define FX_P2P_MAP(args) FX_DEFINE_OP(int, "struct_ops/p2p_map", fx_p2p_map,		\
				       struct fabric_ext_p2p_args, args)
#define FX_TIER(args)	FX_DEFINE_OP(int, "struct_ops/tier", fx_tier,			\
				      struct fabric_ext_tier_args, args)
#define FX_ROUTE(args)	FX_DEFINE_OP(int, "struct_ops/route", fx_route,		\
				      struct fabric_ext_route_args, args)
#define FX_COMPLETE(args) FX_DEFINE_OP(void, "struct_ops/complete", fx_complete,	\
					 struct fabric_ext_complete_args, args)
#define FX_INIT(args)	FX_DEFINE_OP(int, "struct_ops.s/init", fx_init,		\
				      struct fabric_ext_exit_args, args)
#define FX_EXIT(args)	FX_DEFINE_OP(void, "struct_ops.s/exit", fx_exit,		\
				       struct fabric_ext_exit_args, args)
#define FX_DUMP(args)	FX_DEFINE_OP(void, "struct_ops.s/dump", fx_dump,		\
				       struct fabric_ext_exit_args, args)

/* FX_POLICY(name, .admit = (void *)fx_admit, ...): the policy itself. */
#define FX_POLICY(policy, ...)							\
	SEC(".struct_ops.link")							\
	struct fabric_ext_ops policy = {					\
		.name = #policy,						\
		__VA_ARGS__							\
	}

/* First place of this kind among the destinations of an edge's class. */
static __always_inline __u32 fx_to_of_kind(struct fx_call *call, struct fx_class *c,
					   __u16 kind)
{
	for (__u32 i = 0; i < FX_MAX_TO; i++) {
		struct fx_place *p;
		__u32 to;

		if (i >= c->desc.n_to)
			break;
		to = c->desc.to[i];
		p = fx_bpf_place(call, to);
		if (p && p->desc.kind == kind)
			return to;
	}
	return FX_PLACE_NONE;
}

/* Bits of an edge's transforms of one kind, as in route's xforms. */
static __always_inline __u32 fx_xforms_of_kind(struct fx_class *c, __u8 kind)
{
	__u32 bits = 0;

	for (__u32 i = 0; i < FX_MAX_XFORMS; i++) {
		if (i >= c->desc.n_xforms)
			break;
		if (c->desc.xform[i].kind == kind)
			bits |= 1U << i;
	}
	return bits;
}

#endif
