/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note */
/*
 * What the programs on a network device and fabricctl share: how an edge is
 * found on the wire, and what is counted of it.
 *
 * A graph's flows lie in the bundle as records of struct fx_nic_flow, one per
 * edge, device and direction (nic/NETDEV/flows.bin). At attach they become the
 * maps of the programs; the record's number is the row of each.
 *
 * Conventions as in fabric_ext.h; addresses are in the wire's byte order, all
 * other numbers in the host's.
 */
#ifndef _UAPI_LINUX_FABRIC_EXT_NIC_H
#define _UAPI_LINUX_FABRIC_EXT_NIC_H

#include <linux/types.h>
#include <linux/fabric_ext.h>

#define FX_NIC_MAX_FLOWS	65536	/* per device */
#define FX_NIC_MAX_MASKS	8	/* per device and direction */
#define FX_NIC_NAME_LEN		16	/* of a device, with the NUL */

enum fx_dir {
	FX_DIR_NONE		= 0,	/* not on a wire */
	FX_DIR_IN		= 1,	/* the device receives it */
	FX_DIR_OUT		= 2,	/* the device sends it */
	FX_DIRS			= 3,
};

/* a frame without a VLAN tag */
#define FX_VLAN_NONE		0xffffU

/* where RoCEv2 goes; 24 bits of a queue pair, of which 0, 1 and the last are taken */
#define FX_ROCE_PORT		4791
#define FX_QP_MIN		2U
#define FX_QP_MAX		0xfffffeU

/*
 * What a packet is known by, and with 0xff bytes where it counts, the mask of
 * a flow. A packet without ports has 0 there, which no flow asks for.
 */
struct fx_flow_key {
	__u8 src[16];			/* IPv4: the first four bytes */
	__u8 dst[16];
	__u16 sport;
	__u16 dport;
	__u16 vlan;			/* 0..4094 or FX_VLAN_NONE */
	__u8 family;			/* 4, 6 */
	__u8 proto;			/* of IP, behind extension headers */
	__u8 dscp;			/* 0..63 */
	__u8 mask;			/* in the flow map: number of its mask */
	__u16 reserved;
	__u32 qp;			/* destination of RoCEv2; 0: not bound yet */
};

#define FX_FLOW_WORDS		(sizeof(struct fx_flow_key) / 4)

/* Whose queues fx_redirect() means. */
enum fx_queue_kind {
	FX_QUEUE_CPU		= 0,	/* CPUs, which go on with the packet */
	FX_QUEUE_AF_XDP		= 1,	/* sockets of that family */
	FX_QUEUE_KINDS		= 2,
};

struct fx_nic_flow {
	struct fx_flow_key key;		/* zero where the mask is */
	struct fx_flow_key mask;
	__u32 edge;			/* instance */
	__u16 cls;			/* class index */
	__u8 dir;			/* FX_DIR_IN or FX_DIR_OUT */
	__u8 priority;			/* the class's */
	__u64 bytes;			/* that the graph states */
	__u8 redirect;			/* enum fx_queue_kind; of FX_DIR_IN */
	__u8 reserved[7];
};

/* ---- maps of the programs, by name ------------------------------------ */

/* fx_conf: one entry */
#define FX_NIC_F_AUDIT		(1U << 0) /* count refusals, pass them */
#define FX_NIC_F_BYPASS		(1U << 1) /* pass everything, count nothing */
#define FX_NIC_F_ALONE		(1U << 2) /* the bundle has no part for the kernel */
#define FX_NIC_F_ROCE		(1U << 3) /* a flow asks for a queue pair: read RoCEv2 */

struct fx_nic_conf {
	__u32 flags;			/* FX_NIC_F_* */
	__u32 masks[FX_DIRS];		/* how many of fx_masks are in use */
	__u32 ifindex;
	__u16 place;			/* index of the place that it is */
	__u16 reserved;
	__u32 count[FX_SECTS];		/* as in the graph's image */
	__u32 rows;
	__u8 digest[FX_DIGEST_LEN];	/* of the graph */
	__u8 object[FX_DIGEST_LEN];	/* SHA-256 of the programs' ELF file */
	char graph[FX_NAME_LEN];
	char policy[FX_NAME_LEN];
	char netdev[FX_NIC_NAME_LEN];
};

/* fx_rows: what the programs need of a flow, and its edge's name */
struct fx_nic_row {
	__u32 edge;
	__u16 cls;
	__u8 dir;
	__u8 priority;
	__u64 bytes;
	struct fx_flow_key key;		/* in fx_flows, unless a qp is not bound */
	__u8 roce;			/* found by its queue pair */
	__u8 tagged;			/* which is bound while running */
	__u8 redirect;			/* enum fx_queue_kind */
	__u8 reserved[5];
	char name[FX_NAME_LEN];		/* of the class */
};

/*
 * fx_counts: per CPU and row. Bytes are those that the transport carries. A
 * packet of a queue pair that is sent again is only counted as repeated.
 */
struct fx_nic_count {
	__u64 packets;			/* that passed */
	__u64 bytes;
	__u64 refused;
	__u64 refused_bytes;
	__u64 marked;			/* of those that passed */
	__u64 redirected;		/* likewise */
	__u64 failed;			/* marks and queues that came to nothing */
	__u64 repeated;
};

/*
 * fx_qps: what is known of a connected queue pair, the limit of which is
 * FX_NIC_QPS or twice the flows. Requests and what answers them count apart.
 * Where it is full, those that were silent for 16 s make room (fx_swept: when).
 */
#define FX_NIC_QPS		4096
#define FX_QP_SEEN		1024	/* bits of memory: the last 960 packets are told apart */

struct fx_qp_key {
	__u8 src[16];
	__u8 dst[16];
	__u32 qp;
	__u8 dir;
	__u8 answers;
	__u16 reserved;
};

/*
 * fx_sockets: where the owners of AF_XDP sockets put them, if an edge has such.
 * Slot N of a packet's receive queue Q is the entry Q * FX_NIC_SLOTS + N.
 */
#define FX_NIC_SLOTS		64
#define FX_NIC_RX_QUEUES	256

/* fx_totals: per CPU and direction */
struct fx_nic_total {
	__u64 packets;
	__u64 no_edge;			/* passed without asking the policy */
	__u64 malformed;
	__u64 malformed_refused;
	__u64 untracked;		/* of a queue pair for which fx_qps had no room */
};

/* .rodata.fx_policy of a program for network devices */
struct fx_nic_policy {
	char name[FX_NAME_LEN];
	__u32 version;			/* FX_NIC_VERSION */
	__u32 malformed;		/* 0: they pass, 1: they are dropped */
};

/* Version of this file; grows when a structure or a map changes. */
#define FX_NIC_VERSION		3

#endif /* _UAPI_LINUX_FABRIC_EXT_NIC_H */
