/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note */
/*
 * What fabricctl and fabric-dpu share: the "dputime" artifact, and the control
 * socket. Documentation/dpu.rst describes both.
 *
 * Conventions as in fabric_ext.h and fabric_ext_nic.h. Flows, rows and counts
 * are those of network devices.
 */
#ifndef _UAPI_LINUX_FABRIC_EXT_DPU_H
#define _UAPI_LINUX_FABRIC_EXT_DPU_H

#include <linux/types.h>
#include <linux/fabric_ext.h>
#include <linux/fabric_ext_nic.h>

/* Version of this file; grows when a structure changes. */
#define FX_DPU_VERSION		1

/* Budgets: what a program may be and have. */
#define FX_DPU_MAX_INSNS	4096
#define FX_DPU_MAX_STACK	512	/* bytes */
#define FX_DPU_MAX_MAPS		16
#define FX_DPU_MAX_VALUE	32768	/* bytes of one entry */
#define FX_DPU_MAX_MAP		(16U << 20) /* bytes of all entries of a map */
#define FX_DPU_MAX_OBJECT	(4U << 20)
#define FX_DPU_CLASS_LEN	16

/*
 * The program: one function of this name in this section, which takes a
 * struct fx_dpu_context (bpf/include/fabric_ext/glue_dpu.bpf.h) and returns 0.
 */
#define FX_DPU_SECTION		"syscall"
#define FX_DPU_FUNCTION		"fx_dpu_move"
/* The section with the policy's name: struct fx_nic_policy. */
#define FX_DPU_ABOUT		"fx_policy"

/* The helpers, by the numbers that they have in Linux. */
#define FX_DPU_HELPER_LOOKUP	1	/* bpf_map_lookup_elem: maps of arrays */
#define FX_DPU_HELPER_CLOCK	5	/* bpf_ktime_get_ns */
#define FX_DPU_HELPERS		6	/* numbers below this */

/* ---- artifact ---------------------------------------------------------- */

#define FX_DPU_MAGIC		0x64585846U	/* "FXXd", little endian */

/* the kernel's verifier took the object; `kernel` says which */
#define FX_DPU_F_VERIFIED	(1U << 0)
#define FX_DPU_F_ALL		0x1U

/*
 * The artifact's manifest, artifact.bin: this, and a struct fx_dpu_map for
 * each map. The digests tie object and flows to it.
 */
struct fx_dpu_artifact {
	__u32 magic;			/* FX_DPU_MAGIC */
	__u16 version;			/* FX_DPU_VERSION */
	__u16 size;			/* of this header, bytes */
	__u32 flags;			/* FX_DPU_F_* */
	__u32 insns;			/* of the program */
	__u32 stack;			/* bytes that it uses */
	__u32 n_maps;
	__u32 n_flows;
	__u32 object_size;		/* bytes */
	__u64 helpers;			/* bit per helper that it calls */
	__u32 malformed;		/* 0: they pass, 1: they are dropped */
	__u16 place;			/* of the graph */
	__u16 reserved;
	__u32 count[FX_SECTS];		/* as in the graph's image */
	__u32 reserved2;
	char dpu[FX_NIC_NAME_LEN];	/* which one it is for */
	char policy[FX_NAME_LEN];
	char graph[FX_NAME_LEN];
	char kernel[FX_NAME_LEN];	/* release that verified it, or "" */
	__u8 graph_digest[FX_DIGEST_LEN];
	__u8 object[FX_DIGEST_LEN];	/* SHA-256 of policy.bpf.o */
	__u8 flows[FX_DIGEST_LEN];	/* SHA-256 of flows.bin */
	__u8 digest[FX_DIGEST_LEN];	/* SHA-256 of this header with digest
					 * zero, then the maps
					 */
};

struct fx_dpu_map {
	char name[FX_NAME_LEN];
	char cls[FX_DPU_CLASS_LEN];	/* consistency class */
	__u32 type;			/* enum bpf_map_type: array kinds */
	__u32 key_size;			/* 4 */
	__u32 value_size;
	__u32 entries;
};

/* ---- control socket ---------------------------------------------------- */

/* SOCK_SEQPACKET; one message is one request, answered by one message. */
#define FX_DPU_RUN_DIR		"/run/fabric_ext"
#define FX_DPU_SOCKET		FX_DPU_RUN_DIR "/dpu-%s.sock"
#define FX_DPU_MAX_MSG		65536
#define FX_DPU_MAX_CLIENTS	16
#define FX_DPU_WHY_LEN		256

enum fx_dpu_cmd {
	FX_DPU_INFO		= 1,	/* struct fx_dpu_msg; fx_dpu_info */
	FX_DPU_LOAD		= 2,	/* fx_dpu_load, four descriptors */
	FX_DPU_UNLOAD		= 3,	/* fx_dpu_graph */
	FX_DPU_STAT		= 4,	/* fx_dpu_stat; fx_dpu_stats */
	FX_DPU_MAP_READ		= 5,	/* fx_dpu_map_io; fx_dpu_map_data */
	FX_DPU_MAP_WRITE	= 6,	/* fx_dpu_map_io, then the value */
	FX_DPU_MAP_PUBLISH	= 7,	/* fx_dpu_map_io, a descriptor */
	FX_DPU_BYPASS		= 8,	/* fx_dpu_graph */
	FX_DPU_QUIT		= 9,	/* struct fx_dpu_msg */
	FX_DPU_SETTLE		= 10,	/* fx_dpu_graph, after a load */
	FX_DPU_TAG		= 11,	/* fx_dpu_tag; where FX_DPU_CAN_QP is told */
	FX_DPU_CMDS		= 12,
};

struct fx_dpu_msg {
	__u32 size;			/* of the whole message, bytes */
	__u16 version;			/* FX_DPU_VERSION */
	__u16 cmd;			/* enum fx_dpu_cmd; the same in answers */
	__u32 seq;			/* returned */
	__u32 reserved;
};

/* Each answer begins with this; after an error there is nothing more. */
struct fx_dpu_reply {
	struct fx_dpu_msg msg;
	__s32 error;			/* 0 or -errno */
	__u32 reserved;
	char why[FX_DPU_WHY_LEN];	/* a sentence, "" without an error */
};

/*
 * What a fabric-dpu can do that one of this version need not: what came later
 * than the version is told here, and whoever wants it asks first.
 */
#define FX_DPU_CAN_QP	(1U << 0)	/* flows by a queue pair, and TAG */
#define FX_DPU_CAN_DECIDING (1U << 1)	/* LOAD: FX_DPU_REPLACE_DECIDING */

struct fx_dpu_info {
	struct fx_dpu_reply reply;
	char dpu[FX_NIC_NAME_LEN];
	char graph[FX_NAME_LEN];	/* "" when nothing is loaded */
	__u32 pid;
	__u32 ports;
	__u32 workers;
	__u32 jit;			/* 1: the program is compiled */
	__u32 flags;			/* FX_NIC_F_*, of what is loaded */
	__u32 can;			/* FX_DPU_CAN_* */
	__u8 object[FX_DIGEST_LEN];	/* SHA-256 of its policy.bpf.o */
	__u64 life;			/* random, of this process; not 0 */
	__u64 loads;			/* since it was started */
	__u64 received;			/* packets, by all ports */
	__u64 sent;
	__u64 unsent;			/* that no port took */
};

/*
 * Descriptors, in this order, each a memfd sealed against writing, growing and
 * shrinking: artifact.bin, policy.bpf.o, flows.bin, and of each flow the name
 * of its class, FX_NAME_LEN bytes.
 */
enum { FX_DPU_FD_ARTIFACT, FX_DPU_FD_OBJECT, FX_DPU_FD_FLOWS, FX_DPU_FD_NAMES, FX_DPU_FDS };

/* What a LOAD may take the place of; it is of the same graph, and kept until SETTLE. */
enum fx_dpu_replace {
	FX_DPU_REPLACE_NONE	= 0,
	FX_DPU_REPLACE_ANY	= 1,	/* a bypass of what it replaces ends */
	FX_DPU_REPLACE_DECIDING	= 2,	/* the sender saw it decide: a bypass came
					 * since, and holds; where
					 * FX_DPU_CAN_DECIDING is told
					 */
	FX_DPU_REPLACES		= 3,
};

struct fx_dpu_load {
	struct fx_dpu_msg msg;
	__u32 flags;			/* FX_NIC_F_AUDIT, FX_NIC_F_ALONE */
	__u32 replace;			/* enum fx_dpu_replace */
};

/* What was loaded and not settled is undone when the connection ends. */

struct fx_dpu_graph {
	struct fx_dpu_msg msg;
	char graph[FX_NAME_LEN];	/* what has to be loaded */
	__u32 undo;			/* SETTLE: 1: back to what was there before */
	__u32 reserved;
};

/* The queue pair of an edge whose flow is for tagging. */
struct fx_dpu_tag {
	struct fx_dpu_msg msg;
	char graph[FX_NAME_LEN];	/* what has to be loaded, and settled */
	__u32 edge;			/* instance */
	__u32 dir;			/* FX_DIR_IN or FX_DIR_OUT */
	__u32 qp;			/* FX_QP_MIN to FX_QP_MAX; 0: none from here on */
	__u32 reserved;
};

struct fx_dpu_stat {
	struct fx_dpu_msg msg;
	__u32 first;			/* row */
	__u32 reserved;
};

struct fx_dpu_row {
	struct fx_nic_row row;
	struct fx_nic_count count;
};

/* Rows from `first` on, as many as fit. */
struct fx_dpu_stats {
	struct fx_dpu_reply reply;
	struct fx_nic_conf conf;	/* netdev: the DPU's name */
	struct fx_nic_total total[FX_DIRS];
	__u64 loads;			/* as in the info: which load this is of */
	__u32 first;
	__u32 n;
	struct fx_dpu_row row[];
};

/*
 * MAP_READ: entries from `first` on, at most `n` (0: none, for the sizes).
 * MAP_WRITE: entry `first`, whose value follows; n is 1.
 * MAP_PUBLISH: all; the descriptor is a sealed memfd with all values.
 */
struct fx_dpu_map_io {
	struct fx_dpu_msg msg;
	char map[FX_NAME_LEN];
	__u32 first;
	__u32 n;
};

struct fx_dpu_map_data {
	struct fx_dpu_reply reply;
	struct fx_dpu_map map;
	__u64 epoch;			/* grows with each publish of the map */
	__u64 loads;
	__u32 first;
	__u32 n;
	__u8 value[];			/* n of map.value_size bytes */
};

#endif /* _UAPI_LINUX_FABRIC_EXT_DPU_H */
