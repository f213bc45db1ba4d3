// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <linux/fabric_ext_nic.h>
#include <string.h>

#include "names.h"

#define FX_NAMES(var, what, ...)					\
	static const char *const var##_name[] = { __VA_ARGS__ };	\
	const struct fx_names var = { what, var##_name,			\
				      ARRAY_SIZE(var##_name) }

FX_NAMES(fx_place_kinds, "place kind",
	 [FX_PLACE_GPU] = "gpu", [FX_PLACE_DRAM] = "dram",
	 [FX_PLACE_CXL] = "cxl", [FX_PLACE_PMEM] = "pmem",
	 [FX_PLACE_P2P] = "p2p", [FX_PLACE_NIC] = "nic",
	 [FX_PLACE_DPU] = "dpu", [FX_PLACE_SWITCH] = "switch",
	 [FX_PLACE_REMOTE] = "remote");

FX_NAMES(fx_match_kinds, "match",
	 [FX_MATCH_NONE] = "none", [FX_MATCH_NODE] = "node",
	 [FX_MATCH_EXPORTER] = "exporter", [FX_MATCH_HEAP] = "heap",
	 [FX_MATCH_DRIVER] = "driver", [FX_MATCH_PCI] = "pci",
	 [FX_MATCH_REGION] = "region", [FX_MATCH_DAX] = "dax",
	 [FX_MATCH_NETDEV] = "netdev", [FX_MATCH_DPU] = "dpu");

FX_NAMES(fx_elements, "element",
	 [FX_ELEM_NONE] = "none", [FX_ELEM_BF16] = "bf16",
	 [FX_ELEM_FP16] = "fp16", [FX_ELEM_FP32] = "fp32",
	 [FX_ELEM_MXFP8] = "mxfp8", [FX_ELEM_MXFP4] = "mxfp4",
	 [FX_ELEM_Q8_0] = "q8_0", [FX_ELEM_Q4_0] = "q4_0");

FX_NAMES(fx_orders, "order",
	 [FX_ORDER_NONE] = "none", [FX_ORDER_ACQUIRE] = "acquire",
	 [FX_ORDER_RELEASE] = "release", [FX_ORDER_ACQ_REL] = "acq_rel",
	 [FX_ORDER_SEQ_CST] = "seq_cst");

FX_NAMES(fx_owners, "owner",
	 [FX_OWNER_TRANSFER] = "transfer", [FX_OWNER_BORROW] = "borrow",
	 [FX_OWNER_SHARE] = "share");

FX_NAMES(fx_queue_kinds, "redirect",
	 [FX_QUEUE_CPU] = "cpu", [FX_QUEUE_AF_XDP] = "af_xdp");

FX_NAMES(fx_xforms, "transform",
	 [FX_XFORM_MOVE] = "move", [FX_XFORM_QUANTIZE] = "quantize",
	 [FX_XFORM_DEQUANTIZE] = "dequantize", [FX_XFORM_COMPRESS] = "compress",
	 [FX_XFORM_DECOMPRESS] = "decompress", [FX_XFORM_CHECKSUM] = "checksum",
	 [FX_XFORM_FILTER] = "filter", [FX_XFORM_REDUCE] = "reduce",
	 [FX_XFORM_SCATTER] = "scatter", [FX_XFORM_GATHER] = "gather",
	 [FX_XFORM_REPLICATE] = "replicate", [FX_XFORM_PERSIST] = "persist");

FX_NAMES(fx_checksums, "checksum",
	 [FX_CSUM_NONE] = "none", [FX_CSUM_CRC32C] = "crc32c",
	 [FX_CSUM_CRC64] = "crc64", [FX_CSUM_XXH64] = "xxh64",
	 [FX_CSUM_T10DIF] = "t10dif");

FX_NAMES(fx_ops, "operation",
	 [FX_OP_DMABUF_EXPORT] = "dmabuf_export",
	 [FX_OP_DMABUF_ATTACH] = "dmabuf_attach",
	 [FX_OP_DMABUF_MAP] = "dmabuf_map",
	 [FX_OP_DMABUF_CPU] = "dmabuf_cpu",
	 [FX_OP_DMABUF_UNMAP] = "dmabuf_unmap",
	 [FX_OP_DMABUF_DETACH] = "dmabuf_detach",
	 [FX_OP_DMABUF_RELEASE] = "dmabuf_release",
	 [FX_OP_CXL_CREATE] = "cxl_create", [FX_OP_CXL_COMMIT] = "cxl_commit",
	 [FX_OP_MEM_ONLINE] = "mem_online", [FX_OP_P2P_MAP] = "p2p_map",
	 [FX_OP_P2P_MMAP] = "p2p_mmap", [FX_OP_TIER] = "tier",
	 [FX_OP_MOVE] = "move");

FX_NAMES(fx_reasons, "reason",
	 [FX_APPLIED] = "applied", [FX_NOOP_DEFAULT] = "noop_default",
	 [FX_NOOP_REPEAT] = "noop_repeat",
	 [FX_REFUSED_POLICY] = "refused_policy",
	 [FX_REFUSED_PLACE] = "refused_place",
	 [FX_REFUSED_TRANSFORM] = "refused_transform",
	 [FX_REFUSED_RANGE] = "refused_range",
	 [FX_REFUSED_OWNER] = "refused_owner",
	 [FX_REFUSED_ORDER] = "refused_order",
	 [FX_REFUSED_CAPACITY] = "refused_capacity",
	 [FX_REFUSED_GENERATION] = "refused_generation",
	 [FX_FAILED_MEMORY] = "failed_memory", [FX_FAILED_IO] = "failed_io",
	 [FX_FAILED_TIMEOUT] = "failed_timeout",
	 [FX_FAILED_CANCELLED] = "failed_cancelled",
	 [FX_FAILED_CHECKSUM] = "failed_checksum",
	 [FX_BYPASS_NO_POLICY] = "bypass_no_policy",
	 [FX_BYPASS_EJECTED] = "bypass_ejected",
	 [FX_AUDIT_REFUSED] = "audit_refused",
	 [FX_AUDIT_APPLIED] = "audit_applied");

FX_NAMES(fx_exits, "exit kind",
	 [FX_EXIT_NONE] = "none", [FX_EXIT_UNREG] = "unreg",
	 [FX_EXIT_REPLACED] = "replaced", [FX_EXIT_BYPASS] = "bypass",
	 [FX_EXIT_VERDICT] = "verdict", [FX_EXIT_KFUNC] = "kfunc",
	 [FX_EXIT_TIMEOUT] = "timeout", [FX_EXIT_ERROR] = "error");

FX_NAMES(fx_events, "event",
	 [FX_EV_VERDICT] = "verdict", [FX_EV_MOVE] = "move",
	 [FX_EV_PLACE] = "place", [FX_EV_ATTACH] = "attach",
	 [FX_EV_EJECT] = "eject", [FX_EV_POLICY] = "policy");

FX_NAMES(fx_governs, "subsystem", "dmabuf", "p2p", "cxl");

FX_NAMES(fx_policy_ops, "op", "admit", "p2p_map", "tier", "route", "complete",
	 "init", "exit", "dump");

const char *fx_name(const struct fx_names *names, u64 value)
{
	return value < names->n ? names->name[value] : "?";
}

int fx_value(const struct fx_names *names, const char *word)
{
	for (u32 i = 0; i < names->n; i++)
		if (!strcmp(names->name[i], word))
			return i;
	return -1;
}

/* Every value of every enum has a word, and no more. */
_Static_assert(ARRAY_SIZE(fx_place_kinds_name) == FX_PLACE_KINDS, "place kinds");
_Static_assert(ARRAY_SIZE(fx_match_kinds_name) == FX_MATCH_KINDS, "match kinds");
_Static_assert(ARRAY_SIZE(fx_elements_name) == FX_ELEMS, "elements");
_Static_assert(ARRAY_SIZE(fx_orders_name) == FX_ORDERS, "orders");
_Static_assert(ARRAY_SIZE(fx_owners_name) == FX_OWNERS, "owners");
_Static_assert(ARRAY_SIZE(fx_queue_kinds_name) == FX_QUEUE_KINDS, "queues");
_Static_assert(ARRAY_SIZE(fx_xforms_name) == FX_XFORMS, "transforms");
_Static_assert(ARRAY_SIZE(fx_checksums_name) == FX_CSUMS, "checksums");
_Static_assert(ARRAY_SIZE(fx_ops_name) == FX_OPS, "operations");
_Static_assert(ARRAY_SIZE(fx_reasons_name) == FX_REASONS, "reasons");
_Static_assert(ARRAY_SIZE(fx_exits_name) == FX_EXITS, "exit kinds");
_Static_assert(ARRAY_SIZE(fx_events_name) == FX_EV_TYPES, "events");
_Static_assert(ARRAY_SIZE(fx_policy_ops_name) == FX_POLICY_OPS, "ops");
