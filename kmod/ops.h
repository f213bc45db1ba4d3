/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * struct fabric_ext_ops: what a policy implements, and how the module asks it.
 *
 * Types up to "end of what policies see" reach policies through the module's
 * BTF; bpf/include/fabric_ext/policy.bpf.h declares them again for CO-RE.
 * Their names carry a prefix because CO-RE stops at vmlinux candidates, and
 * they point to no type of the kernel: 7.3's own types do not merge with those
 * of a module's BTF, each that refers to one is there once per source file,
 * and then struct_ops does not find its own (-EINVAL). A policy that wants to
 * look into an object casts: bpf_core_cast(args->dmabuf, struct dma_buf).
 */
#ifndef FX_OPS_H
#define FX_OPS_H

#include <linux/bits.h>
#include <linux/types.h>
#include <linux/workqueue.h>
#include "graph.h"

/**
 * struct fx_call - first member of every op's arguments
 * @policy: struct fx_policy that is asked; opaque to it
 * @op: enum fx_op
 * @edge: edge instance of the object, or FX_EDGE_NONE
 *
 * A kfunc takes a pointer to it and finds policy and graph from there. Who
 * asks sets @edge, fx_ask_*() the rest.
 */
struct fx_call {
	void *policy;
	u32 op;
	u32 edge;
};

/**
 * struct fabric_ext_admit_args - an operation that is about to happen
 * @call: common head
 * @bytes: size of the object in bytes, 0 where it has none
 * @dmabuf: the struct dma_buf, NULL for other operations and for export
 * @dev: struct device: importing device (attach, map, unmap, detach), CXL device, P2P
 *	provider; NULL where there is none
 * @phys: physical address (memory online), else 0
 * @place: the place that the object matches, or FX_PLACE_NONE; set for CXL
 *	and memory operations only: dma-buf policies ask
 *	fx_bpf_dev_place() and pay for it when they need it
 * @dir: enum dma_data_direction (map, unmap, cpu access)
 */
struct fabric_ext_admit_args {
	struct fx_call call;
	u64 bytes;
	void *dmabuf;
	void *dev;
	u64 phys;
	u32 place;
	u32 dir;
};

/**
 * struct fabric_ext_p2p_args - a P2P mapping is typed
 * @call: common head
 * @provider: struct device whose memory is mapped
 * @client: struct device that wants to reach it
 * @provider_place: place that @provider matches, or FX_PLACE_NONE
 * @client_place: place that @client matches, or FX_PLACE_NONE
 */
struct fabric_ext_p2p_args {
	struct fx_call call;
	void *provider;
	void *client;
	u32 provider_place;
	u32 client_place;
};

/* Answers of p2p_map; or -errno to deny. */
enum fx_p2p_verdict {
	FX_P2P_ALLOW		= 0,
	FX_P2P_HOST_BRIDGE	= 1,	/* deny what would be a bus address */
};

/**
 * struct fabric_ext_tier_args - a memory node's tier is computed
 * @call: common head
 * @node: memory node
 * @place: the place that the node belongs to, or FX_PLACE_NONE
 */
struct fabric_ext_tier_args {
	struct fx_call call;
	s32 node;
	u32 place;
};

/* Range of a tier op's answer; 0 leaves the kernel's own. DRAM is 576. */
#define FX_ADISTANCE_MIN	1
#define FX_ADISTANCE_MAX	65536

/**
 * struct fabric_ext_route_args - a descriptor wants a destination
 * @call: common head; @call.edge is never FX_EDGE_NONE here
 * @bytes: of the source
 * @src_place: where the source lies
 * @xforms_asked: bit i: the descriptor asks for the edge's i-th transform
 * @place: in: the edge's first destination; out: one of its destinations
 * @xforms: in: @xforms_asked; out: a subset of it
 * @priority: out: 0 (background) to 7; in: the edge's
 * @chunk: out: bytes per step, 0 leaves it to the engine
 *
 * A policy may write the last four, nothing else.
 */
struct fabric_ext_route_args {
	struct fx_call call;
	u64 bytes;
	u32 src_place;
	u32 xforms_asked;
	u32 place;
	u32 xforms;
	u32 priority;
	u32 chunk;
};

/**
 * struct fabric_ext_complete_args - a movement ended
 * @call: common head
 * @bytes_in: read from the source
 * @bytes_out: written to the destination
 * @ns: execution time
 * @place: destination
 * @reason: enum fx_reason
 * @error: 0 or -errno
 * @csum: of the bytes written, when the edge asks for one
 */
struct fabric_ext_complete_args {
	struct fx_call call;
	u64 bytes_in;
	u64 bytes_out;
	u64 ns;
	u32 place;
	u32 reason;
	s32 error;
	u32 csum;
};

/**
 * struct fabric_ext_exit_args - the policy's end, or a dump of its state
 * @call: common head
 * @kind: enum fx_exit_kind, in dump too: it comes right before exit; unset in
 *	init
 */
struct fabric_ext_exit_args {
	struct fx_call call;
	u32 kind;
	u32 reserved;
};

/* fabric_ext_ops.flags */
#define FX_POLICY_F_AUDIT	BIT_ULL(0)	/* record, do not enforce */
#define FX_POLICY_F_ALL		0x1ULL

#define FX_TIMEOUT_MS_DEFAULT	100
#define FX_TIMEOUT_MS_MAX	30000

/**
 * struct fabric_ext_ops - a policy
 * @admit: an operation is about to happen. Return 0 to admit it or one of
 *	-EPERM, -EACCES, -EBUSY, -ENOSPC to refuse it before any side effect.
 *	Default: admit. Not sleepable; called under RCU, perhaps under a
 *	reservation, hotplug or region lock. The UNMAP, DETACH and RELEASE
 *	operations are told, an answer other than 0 is an invalid verdict.
 * @p2p_map: a P2P mapping is typed. Return enum fx_p2p_verdict or -errno as
 *	for @admit. May only narrow. Default: FX_P2P_ALLOW. Not sleepable; may
 *	be called in atomic context.
 * @tier: a memory node's tier is computed. Return 0 for the kernel's own or
 *	an abstract distance, FX_ADISTANCE_MIN..MAX (unit of the kernel's
 *	memory tiers; DRAM 576). Default: 0. Not sleepable.
 * @route: the engine has a descriptor. Write destination, transforms,
 *	priority and chunk; return 0 or -errno as for @admit to refuse it.
 *	Default: the edge's first destination, all transforms asked for.
 *	Not sleepable.
 * @complete: a movement ended. Default: nothing. Not sleepable.
 * @init: the policy is being attached. Return 0 or -errno, which fails the
 *	attach. Default: 0. May sleep.
 * @exit: the policy ended. Called once. Default: nothing. May sleep.
 * @dump: tell the state with fx_bpf_dump(). Called before @exit. Default:
 *	nothing. May sleep.
 * @hooks: FX_OP_BIT() of each operation that @admit wants to hear of; 0: all
 *	that can be refused (not UNMAP, DETACH, RELEASE). Fewer hooks cost less.
 * @flags: FX_POLICY_F_*; unknown ones are refused with -EINVAL
 * @timeout_ms: an op that ran longer, time off the CPU not counted, ends the
 *	policy; 0: FX_TIMEOUT_MS_DEFAULT; above FX_TIMEOUT_MS_MAX refused with
 *	-ERANGE
 * @invalid_budget: invalid verdicts that are forgiven
 * @graph: name of the loaded graph; required
 * @name: of the policy; required, a C identifier
 */
struct fabric_ext_ops {
	int (*admit)(struct fabric_ext_admit_args *args);
	int (*p2p_map)(struct fabric_ext_p2p_args *args);
	int (*tier)(struct fabric_ext_tier_args *args);
	int (*route)(struct fabric_ext_route_args *args);
	void (*complete)(struct fabric_ext_complete_args *args);
	int (*init)(struct fabric_ext_exit_args *args);
	void (*exit)(struct fabric_ext_exit_args *args);
	void (*dump)(struct fabric_ext_exit_args *args);

	/* data */
	u64 hooks;
	u64 flags;
	u32 timeout_ms;
	u32 invalid_budget;
	char graph[FX_NAME_LEN];
	char name[FX_NAME_LEN];
};

/* ---- end of what policies see ---- */

/**
 * struct fx_policy - an attached policy, as the module keeps it
 * @ops: the map's value with trampolines in place; lives until RCU and
 *	RCU-tasks grace periods after unreg
 * @graph: counted
 * @wants: FX_OP_BIT() of what @ops answers for
 * @exit_kind: 0 while it runs; set once by fx_eject() (cmpxchg)
 * @timeout: in jiffies
 * @audit: record verdicts without enforcing them
 * @invalid: invalid verdicts so far
 * @ended: dump and exit were called, or shall not be; under graph->owner
 * @hooked: hooks are held for @wants; under graph->owner
 * @exit_msg: written by who set @exit_kind, read after @work began
 * @work: ends the policy after an eject
 * @free: frees this after a grace period
 */
struct fx_policy {
	struct fabric_ext_ops *ops;
	struct fx_graph *graph;
	u64 wants;
	int exit_kind;
	unsigned long timeout;
	bool audit;
	atomic_t invalid;
	bool ended;
	bool hooked;
	char exit_msg[FX_EXIT_MSG_LEN];
	struct work_struct work;
	struct rcu_work free;
};

/* what the control plane tells about a graph's policy */
struct fx_policy_info {
	char name[FX_NAME_LEN];		/* empty: none attached */
	u32 flags;			/* FX_GRAPH_F_* */
	u32 exit_kind;			/* enum fx_exit_kind, of the last one */
	u64 missing;			/* FX_OP_BIT() wanted and not hooked */
	char exit_msg[FX_EXIT_MSG_LEN];
	char exit_dump[FX_EXIT_DUMP_LEN];
};

/* struct_ops.c: registration with the BPF subsystem */
int fx_struct_ops_register(void);

/* kfuncs.c */
int fx_kfuncs_register(void);

/* policy.c: life of a policy */
int fx_policy_init(void);
void fx_policy_exit(void);
int fx_bypass_init(void);
void fx_bypass_exit(void);
int fx_policy_check(const struct fabric_ext_ops *ops);
int fx_policy_attach(struct fabric_ext_ops *ops);
int fx_policy_replace(struct fabric_ext_ops *ops, struct fabric_ext_ops *old);
void fx_policy_detach(struct fabric_ext_ops *ops);
void fx_policy_info(struct fx_graph *g, struct fx_policy_info *info);
int fx_bypass(const char *name);
void fx_eject(struct fx_policy *p, enum fx_exit_kind kind,
	      const char *fmt, ...) __printf(3, 4);

/* ask.c: one question each; the caller holds nothing, they take RCU */
int fx_ask_admit(struct fx_graph *g, struct fabric_ext_admit_args *args);
int fx_ask_p2p(struct fx_graph *g, struct fabric_ext_p2p_args *args);
bool fx_refuse_p2p(const struct fabric_ext_p2p_args *args);
int fx_ask_tier(struct fx_graph *g, struct fabric_ext_tier_args *args);
int fx_ask_route(struct fx_graph *g, struct fabric_ext_route_args *args,
		 u32 *reason);
void fx_tell_complete(struct fx_graph *g, struct fabric_ext_complete_args *args);

#endif
