/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What a policy for every device includes: one body, compiled per device.
 *
 *	#include <fabric_ext/portable.bpf.h>
 *
 *	FX_MAP(counter, large, __u64, 1);
 *
 *	FX_GUARD(move)
 *	{
 *		if (move->bytes <= 1UL << 30)
 *			return fx_pass();
 *		fx_count(&large, 0, 1);
 *		return fx_drop(ENOSPC);
 *	}
 *
 *	FX_PORTABLE(my_guard, FX_MALFORMED_PASS);
 *
 *	char LICENSE[] SEC("license") = "Dual BSD/GPL";
 *
 * In the kernel it becomes the ops `admit` and `route` of a policy; on a
 * network device, where fabricctl defines FX_FOR_NIC, an XDP and tc programs.
 * The glue of the device fills in the move and carries out the verdict: the
 * body sees neither arguments of ops nor packets. It has scalars and fixed
 * arrays, so that what runs on one device runs on the next.
 */
#ifndef FABRIC_EXT_PORTABLE_BPF_H
#define FABRIC_EXT_PORTABLE_BPF_H

#include <linux/types.h>
#include <linux/bpf.h>
#include <linux/fabric_ext.h>
#include <linux/fabric_ext_nic.h>
#include <bpf/bpf_helpers.h>
#ifdef FX_FOR_CUDA
#include <fabric_ext/cuda.bpf.h>
#endif

/* The errors that a guard may drop with. */
#ifndef EPERM
#define EPERM	1
#define EACCES	13
#define EBUSY	16
#define ENOSPC	28
#endif

enum fx_device {
	FX_DEVICE_KERNEL	= 0,
	FX_DEVICE_NIC		= 1,
	FX_DEVICE_DPU		= 2,
	FX_DEVICE_CPU		= 3,	/* functions that copy to a GPU */
	FX_DEVICE_GPU		= 4,
};

/* What a packet of RoCEv2 does; only those that carry or ask for data are moves. */
enum fx_rdma_op {
	FX_RDMA_NONE		= 0,
	FX_RDMA_SEND		= 1,
	FX_RDMA_WRITE		= 2,
	FX_RDMA_READ		= 3,	/* data that a request asked for */
	FX_RDMA_READ_REQUEST	= 4,	/* carries nothing */
	FX_RDMA_ATOMIC		= 5,	/* likewise */
};

/*
 * Of a packet that a queue pair found, which is flow.qp. What only the first
 * packet of a message says is zero where that one was not seen.
 */
struct fx_rdma {
	__u32 op;		/* enum fx_rdma_op */
	__u32 psn;		/* 24 bits */
	__u64 addr;		/* remote, of this packet's bytes */
	__u32 rkey;
	__u32 length;		/* bytes of the message, or that it asks for */
	__u32 repeat;		/* this packet was seen before */
	__u32 opcode;		/* as the wire has it */
};

/* One crossing of data: an operation, a movement of the engine, a packet. */
struct fx_move {
	__u32 edge;		/* instance, or FX_EDGE_NONE */
	__u16 cls;		/* its class, or FX_CLASS_NONE */
	__u16 place;		/* where it crosses, or FX_PLACE_NONE */
	__u32 device;		/* enum fx_device: who asks */
	__u32 op;		/* enum fx_op; a packet is an FX_OP_MOVE */
	__u64 bytes;		/* that cross now; of a packet, those carried */
	__u64 stated;		/* the edge's bytes as the graph states them */
	__u32 priority;		/* the edge's, 0 to 7 */
	__u32 dir;		/* enum fx_dir */
	struct fx_flow_key flow; /* of a packet; zero without a wire */
	struct fx_rdma rdma;	/* of a packet of RoCEv2; zero otherwise */
};

enum fx_action {
	FX_PASS			= 0,
	FX_DROP			= 1,
	FX_MARK			= 2,	/* pass, with mark and priority */
	FX_REDIRECT		= 3,	/* pass, through a queue */
};

struct fx_verdict {
	__u32 action;		/* enum fx_action */
	__s32 error;		/* FX_DROP: -errno */
	__u32 mark;		/* of the packet; the kernel's engine has none */
	__u32 priority;		/* 0 to 7 */
	__u32 queue;		/* FX_REDIRECT: which CPU, or slot of a socket */
};

static __always_inline struct fx_verdict fx_pass(void)
{
	return (struct fx_verdict){ .action = FX_PASS };
}

/* Refuse with EPERM, EACCES, EBUSY or ENOSPC; who sent a packet is not told. */
static __always_inline struct fx_verdict fx_drop(__s32 error)
{
	return (struct fx_verdict){ .action = FX_DROP, .error = -error };
}

static __always_inline struct fx_verdict fx_mark(__u32 mark, __u32 priority)
{
	return (struct fx_verdict){ .action = FX_MARK, .mark = mark,
				    .priority = priority };
}

/*
 * Pass to the queue of CPU @queue, which takes the packet from there on, or to
 * the AF_XDP socket in that slot, where the graph says `redirect: af_xdp` of the
 * edge. Only what a network device receives has queues: elsewhere the call has to
 * be where the compiler sees that it is not reached.
 */
#ifdef FX_FOR_NIC
static __always_inline struct fx_verdict fx_redirect(__u32 queue)
{
	/* that the policy asks for queues, for whoever loads it */
	static const volatile __u32 queues SEC(".rodata.fx_queues") = 1;

	return (struct fx_verdict){ .action = FX_REDIRECT, .queue = queue };
}
#else
#define FX_NO_QUEUES							\
	"only what a network device receives can be redirected: let 'move->device == FX_DEVICE_NIC' guard the call, or give it a priority by fx_mark()"

struct fx_verdict fx_redirect(__u32 queue) __attribute__((error(FX_NO_QUEUES)));
#endif

/* Nanoseconds of a clock that never goes back. */
static __always_inline __u64 fx_now(void)
{
#ifdef FX_FOR_PTX
	__u64 ns;

	asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns));
	return ns;
#else
	return bpf_ktime_get_ns();
#endif
}

#include <fabric_ext/maps.bpf.h>

#ifdef FX_FOR_PTX
#include <fabric_ext/ptx.bpf.h>
#endif

/* ---- the body ---- */

/* What becomes of packets that are malformed or cut short. */
#define FX_MALFORMED_PASS	0
#define FX_MALFORMED_DROP	1

/* FX_GUARD(move) { ... return fx_pass(); }: @move is a const struct fx_move *. */
#define FX_GUARD(move)							\
	static __always_inline struct fx_verdict			\
	fx_guard(const struct fx_move *move)

#ifdef FX_FOR_NIC
#include <fabric_ext/glue_nic.bpf.h>
#elif defined(FX_FOR_DPU)
#include <fabric_ext/glue_dpu.bpf.h>
#elif defined(FX_FOR_HOST)	/* C of the host: the body, or its types alone */
#include <fabric_ext/context.bpf.h>
#define FX_PORTABLE(...) _Static_assert(1, "a policy")
#elif defined(FX_FOR_BODY)
#include <fabric_ext/glue_body.bpf.h>
#elif defined(FX_FOR_BPFTIME)
#include <fabric_ext/glue_bpftime.bpf.h>
#elif defined(FX_FOR_CUDA)
#include <fabric_ext/glue_cuda.bpf.h>
#elif defined(FX_FOR_PTX) || defined(FX_FOR_LANES)
#include <fabric_ext/glue_ptx.bpf.h>
#else
#include <fabric_ext/glue_kernel.bpf.h>
#endif

#endif
