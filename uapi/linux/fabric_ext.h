/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note */
/*
 * fabric_ext: the one vocabulary that every side shares.
 *
 * The kernel module, fabricctl, the policies and the tests include this file
 * and nothing else of each other. The words are those of the graph language;
 * see Documentation/graph-language.rst.
 *
 * Conventions: all integers are in the host's byte order; sizes and offsets
 * are bytes, times nanoseconds, unless the name says otherwise; every
 * reserved field and every undefined flag bit must be zero and is refused
 * with -EINVAL otherwise; strings are NUL terminated within their array.
 */
#ifndef _UAPI_LINUX_FABRIC_EXT_H
#define _UAPI_LINUX_FABRIC_EXT_H

#include <linux/types.h>
#include <linux/ioctl.h>

/* Version of every structure below; grows when one of them changes. */
#define FX_UAPI_VERSION		1

/* Limits. A graph that exceeds one is refused with -E2BIG. */
#define FX_NAME_LEN		64	/* with the NUL */
#define FX_MATCH_LEN		64
#define FX_DIGEST_LEN		32	/* SHA-256 */
#define FX_MAX_GRAPHS		64
#define FX_MAX_PLACES		256	/* per graph */
#define FX_MAX_ALIASES		4096
#define FX_MAX_CLASSES		4096
#define FX_MAX_EDGES		(1U << 22)
#define FX_MAX_AFTER		(1U << 24)
#define FX_MAX_TO		8	/* destinations of an edge class */
#define FX_MAX_XFORMS		8	/* transforms of an edge class */
#define FX_MAX_DIMS		4	/* loop variables of an edge class */

/* "none" of each kind of index */
#define FX_EDGE_NONE		0xffffffffU
#define FX_CLASS_NONE		0xffffU
#define FX_PLACE_NONE		0xffffU
#define FX_ALIAS_NONE		0xffffU
#define FX_NODE_NONE		(-1)

/* reuse distance of data that is not touched again (`reuse: never`) */
#define FX_REUSE_NEVER		0xffffffffffffffffULL
/* reuse distance that the graph does not state */
#define FX_REUSE_UNKNOWN	0xfffffffffffffffeULL

/* ---- vocabulary ------------------------------------------------------- */

enum fx_place_kind {
	FX_PLACE_GPU		= 0,
	FX_PLACE_DRAM		= 1,
	FX_PLACE_CXL		= 2,
	FX_PLACE_PMEM		= 3,
	FX_PLACE_P2P		= 4,
	FX_PLACE_NIC		= 5,
	FX_PLACE_DPU		= 6,
	FX_PLACE_SWITCH		= 7,
	FX_PLACE_REMOTE		= 8,
	FX_PLACE_KINDS		= 9,
};

/*
 * How a place binds to the running system. `exporter` and `heap` say where a
 * buffer lives, `driver` and `pci` which device imports it; the others name a
 * memory node, a CXL region, a dax device, a network device, a DPU.
 */
enum fx_match_kind {
	FX_MATCH_NONE		= 0,
	FX_MATCH_NODE		= 1,
	FX_MATCH_EXPORTER	= 2,
	FX_MATCH_HEAP		= 3,
	FX_MATCH_DRIVER		= 4,
	FX_MATCH_PCI		= 5,
	FX_MATCH_REGION		= 6,
	FX_MATCH_DAX		= 7,
	FX_MATCH_NETDEV		= 8,
	FX_MATCH_DPU		= 9,	/* a fabric-dpu, by its name */
	FX_MATCH_KINDS		= 10,
};

enum fx_element {
	FX_ELEM_NONE		= 0,	/* opaque bytes */
	FX_ELEM_BF16		= 1,
	FX_ELEM_FP16		= 2,
	FX_ELEM_FP32		= 3,
	FX_ELEM_MXFP8		= 4,	/* OCP MX v1.0, E4M3, blocks of 32 */
	FX_ELEM_MXFP4		= 5,
	FX_ELEM_Q8_0		= 6,
	FX_ELEM_Q4_0		= 7,
	FX_ELEMS		= 8,
};

enum fx_order {
	FX_ORDER_NONE		= 0,
	FX_ORDER_ACQUIRE	= 1,
	FX_ORDER_RELEASE	= 2,
	FX_ORDER_ACQ_REL	= 3,
	FX_ORDER_SEQ_CST	= 4,
	FX_ORDERS		= 5,
};

enum fx_owner {
	FX_OWNER_TRANSFER	= 0,
	FX_OWNER_BORROW		= 1,
	FX_OWNER_SHARE		= 2,
	FX_OWNERS		= 3,
};

enum fx_xform {
	FX_XFORM_MOVE		= 0,	/* implied */
	FX_XFORM_QUANTIZE	= 1,	/* arg: enum fx_element, the output */
	FX_XFORM_DEQUANTIZE	= 2,	/* arg: enum fx_element, the output */
	FX_XFORM_COMPRESS	= 3,
	FX_XFORM_DECOMPRESS	= 4,
	FX_XFORM_CHECKSUM	= 5,	/* arg: enum fx_checksum */
	FX_XFORM_FILTER		= 6,
	FX_XFORM_REDUCE		= 7,
	FX_XFORM_SCATTER	= 8,
	FX_XFORM_GATHER		= 9,
	FX_XFORM_REPLICATE	= 10,
	FX_XFORM_PERSIST	= 11,
	FX_XFORMS		= 12,
};

enum fx_checksum {
	FX_CSUM_NONE		= 0,
	FX_CSUM_CRC32C		= 1,
	FX_CSUM_CRC64		= 2,
	FX_CSUM_XXH64		= 3,
	FX_CSUM_T10DIF		= 4,
	FX_CSUMS		= 5,
};

/* What is about to happen: the question of the `admit` op. */
enum fx_op {
	FX_OP_DMABUF_EXPORT	= 0,
	FX_OP_DMABUF_ATTACH	= 1,
	FX_OP_DMABUF_MAP	= 2,
	FX_OP_DMABUF_CPU	= 3,	/* begin_cpu_access */
	FX_OP_DMABUF_UNMAP	= 4,	/* told, never refused */
	FX_OP_DMABUF_DETACH	= 5,	/* told, never refused */
	FX_OP_DMABUF_RELEASE	= 6,	/* told, never refused */
	FX_OP_CXL_CREATE	= 7,
	FX_OP_CXL_COMMIT	= 8,
	FX_OP_MEM_ONLINE	= 9,
	FX_OP_P2P_MAP		= 10,
	FX_OP_P2P_MMAP		= 11,
	FX_OP_TIER		= 12,
	FX_OP_MOVE		= 13,	/* a descriptor: route, complete */
	FX_OPS			= 14,
};

#define FX_OP_BIT(op)		(1ULL << (op))
#define FX_OPS_ALL		((1ULL << FX_OPS) - 1)

/* `governs:` of a graph: also asked about objects that match no place */
#define FX_GOVERNS_DMABUF	(1U << 0)
#define FX_GOVERNS_P2P		(1U << 1)
#define FX_GOVERNS_CXL		(1U << 2)
#define FX_GOVERNS_ALL		0x7U

/*
 * What became of an operation or a movement. One set for verdicts, events,
 * completions and the CLI; names in the CLI are the lower-case tails.
 */
enum fx_reason {
	FX_APPLIED		= 0,
	FX_NOOP_DEFAULT		= 1,	/* the policy has no opinion */
	FX_NOOP_REPEAT		= 2,
	FX_REFUSED_POLICY	= 3,
	FX_REFUSED_PLACE	= 4,
	FX_REFUSED_TRANSFORM	= 5,
	FX_REFUSED_RANGE	= 6,
	FX_REFUSED_OWNER	= 7,
	FX_REFUSED_ORDER	= 8,
	FX_REFUSED_CAPACITY	= 9,
	FX_REFUSED_GENERATION	= 10,
	FX_FAILED_MEMORY	= 11,
	FX_FAILED_IO		= 12,
	FX_FAILED_TIMEOUT	= 13,
	FX_FAILED_CANCELLED	= 14,
	FX_FAILED_CHECKSUM	= 15,	/* verify: destination differs */
	FX_BYPASS_NO_POLICY	= 16,
	FX_BYPASS_EJECTED	= 17,
	FX_AUDIT_REFUSED	= 18,	/* audit: would have been refused */
	FX_AUDIT_APPLIED	= 19,	/* audit: would have been applied */
	FX_REASONS		= 20,
};

/* Why a policy ended. Set once, by whoever is first. */
enum fx_exit_kind {
	FX_EXIT_NONE		= 0,	/* still running */
	FX_EXIT_UNREG		= 1,	/* its link or map went away */
	FX_EXIT_REPLACED	= 2,
	FX_EXIT_BYPASS		= 3,	/* an operator said so */
	FX_EXIT_VERDICT		= 4,	/* invalid verdicts over the budget */
	FX_EXIT_KFUNC		= 5,	/* bad argument to a kfunc */
	FX_EXIT_TIMEOUT		= 6,	/* an op ran longer than timeout_ms */
	FX_EXIT_ERROR		= 7,	/* fx_bpf_error() */
	FX_EXITS		= 8,
};

/* ---- graph image ------------------------------------------------------ */

/*
 * A graph travels as five tables, in bundle/edges.bin (after
 * struct fx_image_hdr, in the order of enum fx_section, each 8-byte aligned)
 * and over netlink (in chunks of whole records).
 */
enum fx_section {
	FX_SECT_PLACE		= 0,	/* struct fx_place_desc */
	FX_SECT_ALIAS		= 1,	/* struct fx_alias_desc */
	FX_SECT_CLASS		= 2,	/* struct fx_class_desc */
	FX_SECT_EDGE		= 3,	/* struct fx_edge_desc */
	FX_SECT_AFTER		= 4,	/* __u32 edge index */
	FX_SECTS		= 5,
};

#define FX_IMAGE_MAGIC		0x67585846U	/* "FXXg", little endian */

struct fx_image_hdr {
	__u32 magic;			/* FX_IMAGE_MAGIC */
	__u16 version;			/* FX_UAPI_VERSION */
	__u16 size;			/* of this header, bytes */
	__u32 governs;			/* FX_GOVERNS_* */
	__u32 reserved;
	__u32 count[FX_SECTS];		/* records of each section */
	__u32 reserved2;
	char name[FX_NAME_LEN];
	__u8 digest[FX_DIGEST_LEN];	/* SHA-256 of this header with digest
					 * zero, then the sections
					 */
};

/* the place binds when its object appears; absent at attach is no error */
#define FX_PLACE_F_LATER	(1U << 0)
#define FX_PLACE_F_ALL		0x1U

struct fx_place_desc {
	char name[FX_NAME_LEN];
	__u16 kind;			/* enum fx_place_kind */
	__u16 match_kind;		/* enum fx_match_kind */
	__u32 flags;			/* FX_PLACE_F_* */
	char match[FX_MATCH_LEN];	/* value; for FX_MATCH_NODE decimal */
	__u64 capacity;			/* bytes; 0: not limited by the graph */
	__u32 island;			/* 0: none */
	__u32 reserved;
};

struct fx_alias_desc {
	char name[FX_NAME_LEN];
	__u64 bytes;
};

struct fx_xform_desc {
	__u8 kind;			/* enum fx_xform */
	__u8 arg;			/* element or checksum, by kind */
	__u8 from;			/* enum fx_element, the input */
	__u8 flags;			/* FX_XFORM_F_* */
};

/* checksum: re-read the destination after the ordering point */
#define FX_XFORM_F_VERIFY	(1U << 0)
#define FX_XFORM_F_ALL		0x1U

/* the edge takes no lossy transform */
#define FX_CLASS_F_EXACT	(1U << 0)
#define FX_CLASS_F_ALL		0x1U

struct fx_class_desc {
	char name[FX_NAME_LEN];
	__u16 from;			/* place index */
	__u16 n_to;			/* 1..FX_MAX_TO */
	__u16 to[FX_MAX_TO];		/* place indices, default first */
	__u8 element;			/* enum fx_element at the source */
	__u8 order;			/* enum fx_order */
	__u8 owner;			/* enum fx_owner */
	__u8 n_xforms;
	__u16 alias;			/* alias set or FX_ALIAS_NONE */
	__u16 priority;
	struct fx_xform_desc xform[FX_MAX_XFORMS];
	__u32 flags;			/* FX_CLASS_F_* */
	__u16 rw_read;			/* `rw: R:W`; 0:0 not stated */
	__u16 rw_write;
	__u32 reserved;
	__u64 chunk;			/* gather piece; 0: whole */
	__u64 stride;			/* between pieces at the source */
	__u64 to_stride;		/* between pieces at the destination */
	__u64 deadline_ns;		/* 0: none */
	__u32 first;			/* its instances are first..first+count */
	__u32 count;
	__u32 dim[FX_MAX_DIMS];		/* sizes of its loops, 0 unused; the
					 * last varies fastest
					 */
};

struct fx_edge_desc {
	__u64 bytes;			/* > 0 */
	__u64 alias_at;			/* offset in the class's alias set */
	__u64 reuse;			/* bytes or FX_REUSE_* */
	__u32 after;			/* first of its entries in AFTER */
	__u16 n_after;
	__u16 cls;			/* class index */
};

/* ---- data plane: /dev/fabric_ext -------------------------------------- */

/* descriptor flags */
#define FX_DESC_F_VERIFY	(1U << 0) /* re-read the destination */
#define FX_DESC_F_ALL		0x1U

/* xforms: take the edge's whole chain, as far as the policy keeps it */
#define FX_DESC_XFORMS_EDGE	0xffffffffU

/*
 * One movement; 64 bytes. dst 0 asks the module to allocate the destination
 * at the place that the policy chooses; the completion names it.
 */
struct fx_desc {
	__u16 size;			/* sizeof(struct fx_desc) */
	__u16 version;			/* FX_UAPI_VERSION */
	__u32 flags;			/* FX_DESC_F_* */
	__u64 cookie;			/* returned in the completion */
	__u32 edge;			/* edge instance */
	__u32 src;			/* buffer handle, not 0 */
	__u64 src_off;
	__u64 bytes;			/* of the source; > 0 */
	__u32 dst;			/* buffer handle or 0 */
	__u32 xforms;			/* bit i: the edge's i-th transform, or
					 * FX_DESC_XFORMS_EDGE
					 */
	__u64 dst_off;
	__u64 reserved;
};

struct fx_completion {
	__u64 cookie;
	__u32 edge;
	__s32 error;			/* 0 or -errno */
	__u32 reason;			/* enum fx_reason */
	__u32 dst;			/* handle; 0 if nothing was written */
	__u16 place;			/* where it went */
	__u16 element;			/* enum fx_element at the destination */
	__u32 csum;			/* crc32c of the bytes written */
	__u64 bytes_in;
	__u64 bytes_out;
	__u64 ns;			/* execution without queueing */
	__u64 verify_ns;		/* re-reading the destination */
};

struct fx_ioc_graph {			/* bind this file to a graph; once */
	__u32 size;
	__u32 flags;			/* 0 */
	char name[FX_NAME_LEN];
};

struct fx_ioc_import {			/* take a dma-buf in, at a place */
	__u32 size;
	__u32 flags;			/* 0 */
	__s32 fd;
	__u32 edge;			/* tag it, or FX_EDGE_NONE */
	__u16 place;			/* place index */
	__u16 reserved;
	__u32 handle;			/* out */
	__u64 bytes;			/* out */
};

struct fx_ioc_export {			/* give a buffer out as a dma-buf */
	__u32 size;
	__u32 flags;			/* O_CLOEXEC or 0 */
	__u32 handle;
	__s32 fd;			/* out */
};

struct fx_ioc_free {			/* forget a buffer handle */
	__u32 size;
	__u32 flags;			/* 0 */
	__u32 handle;
	__u32 reserved;
};

struct fx_ioc_tag {			/* say which edge a dma-buf serves */
	__u32 size;
	__u32 flags;			/* 0 */
	__s32 fd;
	__u32 edge;			/* FX_EDGE_NONE takes the tag away */
};

#define FX_SUBMIT_MAX		1024	/* descriptors per call */
#define FX_INFLIGHT_MAX		4096	/* per file, completions not yet read
					 * included; -EAGAIN above
					 */

struct fx_ioc_submit {
	__u32 size;
	__u32 flags;			/* 0 */
	__u64 descs;			/* pointer to struct fx_desc[n] */
	__u32 n;
	__u32 accepted;			/* out: all before the first bad one */
};

struct fx_ioc_wait {
	__u32 size;
	__u32 flags;			/* 0 */
	__u64 completions;		/* pointer to struct fx_completion[n] */
	__u32 n;
	__u32 got;			/* out */
	__u64 timeout_ns;		/* at most FX_WAIT_MAX_NS */
};

#define FX_WAIT_MAX_NS		60000000000ULL

#define FX_IOC_MAGIC		0xFB
#define FX_IOC_GRAPH		_IOW(FX_IOC_MAGIC, 0, struct fx_ioc_graph)
#define FX_IOC_IMPORT		_IOWR(FX_IOC_MAGIC, 1, struct fx_ioc_import)
#define FX_IOC_EXPORT		_IOWR(FX_IOC_MAGIC, 2, struct fx_ioc_export)
#define FX_IOC_FREE		_IOW(FX_IOC_MAGIC, 3, struct fx_ioc_free)
#define FX_IOC_TAG		_IOW(FX_IOC_MAGIC, 4, struct fx_ioc_tag)
#define FX_IOC_SUBMIT		_IOWR(FX_IOC_MAGIC, 5, struct fx_ioc_submit)
#define FX_IOC_WAIT		_IOWR(FX_IOC_MAGIC, 6, struct fx_ioc_wait)

/* ---- events ----------------------------------------------------------- */

enum fx_event_type {
	FX_EV_VERDICT		= 0,	/* an admit, p2p_map or tier verdict
					 * that was not the default
					 */
	FX_EV_MOVE		= 1,	/* a movement completed */
	FX_EV_PLACE		= 2,	/* a place was bound or unbound */
	FX_EV_ATTACH		= 3,	/* a policy was attached */
	FX_EV_EJECT		= 4,	/* a policy ended; arg0: exit kind */
	FX_EV_POLICY		= 5,	/* fx_bpf_event(): arg0, arg1 its own */
	FX_EV_TYPES		= 6,
};

struct fx_event {			/* 64 bytes */
	__u64 seq;			/* of its graph, from 0, no gaps when
					 * nothing was lost
					 */
	__u64 ns;			/* CLOCK_MONOTONIC */
	__u16 type;			/* enum fx_event_type */
	__u16 op;			/* enum fx_op */
	__u32 edge;
	__u32 reason;			/* enum fx_reason */
	__s32 error;
	__u16 place;
	__u16 reserved;
	__u32 pid;
	__u64 bytes;
	__u64 arg0;
	__u64 arg1;
};

/* ---- control plane: generic netlink ------------------------------------ */
/* Documentation/netlink/specs/fabric_ext.yaml describes the messages. */

#define FX_GENL_NAME		"fabric_ext"
#define FX_GENL_VERSION		1
#define FX_GENL_MCGRP_EVENTS	"events"

enum fx_cmd {
	FX_CMD_UNSPEC,
	FX_CMD_GRAPH_BEGIN,	/* A_NAME A_DIGEST A_GOVERNS A_COUNTS */
	FX_CMD_GRAPH_CHUNK,	/* A_SECTION A_FIRST A_DATA */
	FX_CMD_GRAPH_COMMIT,
	FX_CMD_GRAPH_ABORT,
	FX_CMD_GRAPH_DEL,	/* A_NAME */
	FX_CMD_GRAPH_GET,	/* dump; or do with A_NAME */
	FX_CMD_PLACE_GET,	/* dump, A_NAME */
	FX_CMD_CLASS_GET,	/* dump, A_NAME: classes and their counters */
	FX_CMD_EDGE_GET,	/* dump, A_NAME */
	FX_CMD_COUNTER_GET,	/* dump, A_NAME: one message per op */
	FX_CMD_BYPASS,		/* A_NAME, or all without it */
	FX_CMD_EVENT,		/* notification, group "events" */
	__FX_CMD_MAX,
};

#define FX_CMD_MAX (__FX_CMD_MAX - 1)

enum fx_attr {
	FX_A_UNSPEC,
	FX_A_NAME,		/* string: graph */
	FX_A_DIGEST,		/* binary, FX_DIGEST_LEN */
	FX_A_GOVERNS,		/* u32 */
	FX_A_COUNTS,		/* binary, u32[FX_SECTS] */
	FX_A_SECTION,		/* u32, enum fx_section */
	FX_A_FIRST,		/* u32: index of the first record in DATA */
	FX_A_DATA,		/* binary: whole records */
	FX_A_POLICY,		/* string: ops.name, absent without a policy */
	FX_A_EXIT_KIND,		/* u32, enum fx_exit_kind */
	FX_A_EXIT_MSG,		/* string */
	FX_A_EXIT_DUMP,		/* string: what the dump op printed */
	FX_A_FLAGS,		/* u32, FX_GRAPH_F_* */
	FX_A_EMITTED,		/* u64: events */
	FX_A_LOST,		/* u64: events */
	FX_A_KMEM,		/* u64: bytes of kernel memory for the tables */
	FX_A_INDEX,		/* u32: of a place, class, edge or op */
	FX_A_PLACE,		/* binary, struct fx_place_desc */
	FX_A_CLASS,		/* binary, struct fx_class_desc */
	FX_A_EDGE,		/* binary, struct fx_edge_desc */
	FX_A_NODE,		/* s32: memory node, FX_NODE_NONE if unbound */
	FX_A_BOUND,		/* u8 */
	FX_A_USED,		/* u64: bytes of our buffers there */
	FX_A_RES_START,		/* u64: physical address of a region */
	FX_A_RES_SIZE,		/* u64 */
	FX_A_ASKED,		/* u64: times an op was asked, or moves */
	FX_A_REFUSED,		/* u64 */
	FX_A_INVALID,		/* u64: verdicts out of range */
	FX_A_FAILED,		/* u64 */
	FX_A_BYTES_IN,		/* u64 */
	FX_A_BYTES_OUT,		/* u64 */
	FX_A_NS,		/* u64 */
	FX_A_VERIFY_NS,		/* u64 */
	FX_A_EVENT,		/* binary, struct fx_event */
	FX_A_MISSING,		/* u64: FX_OP_BIT() that the policy wants and
				 * this kernel does not let us hook
				 */
	FX_A_PAD,
	__FX_A_MAX,
};

#define FX_A_MAX (__FX_A_MAX - 1)

/* FX_A_FLAGS of a graph */
#define FX_GRAPH_F_ATTACHED	(1U << 0)
#define FX_GRAPH_F_BYPASS	(1U << 1)
#define FX_GRAPH_F_AUDIT	(1U << 2)

#endif /* _UAPI_LINUX_FABRIC_EXT_H */
