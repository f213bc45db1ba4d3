/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Transforms of an edge, fused: one pass over the source, piece by piece, from
 * memory to memory.
 *
 * The chain is what the edge says (struct fx_xform_desc, in order), checked
 * once by fx_chain_check(). A pass carries one movement:
 *
 *	fx_pass_begin()		announces the source's length
 *	fx_pass_step()		as often as there are segments: takes source bytes,
 *				gives destination bytes, says how many of each
 *	fx_pass_end()		confirms that nothing is missing; sum and size
 *
 * Segments may have any length and alignment and need not agree with each other
 * or with blocks: what does not fit waits inside struct fx_pass. Every source
 * byte is read once and every destination byte written once; the destination
 * is never read, as reading back from CXL memory or through PCIe costs more
 * than all of the rest.
 *
 * Segments that begin and end at multiples of 8 are accessed in aligned words.
 */
#ifndef FABRIC_EXT_TRANSFORM_H
#define FABRIC_EXT_TRANSFORM_H

#include <linux/fabric_ext.h>

#include "mx.h"

/**
 * struct fx_chain - an edge's transforms as one pass does them
 * @convert: enum fx_xform: FX_XFORM_MOVE, FX_XFORM_QUANTIZE or
 *	FX_XFORM_DEQUANTIZE
 * @csum: enum fx_checksum over the bytes written: FX_CSUM_NONE or
 *	FX_CSUM_CRC32C
 * @from: enum fx_element of the source
 * @to: enum fx_element of the destination
 */
struct fx_chain {
	u8 convert;
	u8 csum;
	u8 from;
	u8 to;
};

/**
 * enum fx_chain_fault - what is wrong with a chain; fx_chain_why() words it
 * @FX_CHAIN_OK: nothing
 * @FX_CHAIN_LONG: more than FX_MAX_XFORMS transforms
 * @FX_CHAIN_UNKNOWN: a number that is in none of the uapi's enums
 * @FX_CHAIN_FLAGS: a flag that the uapi does not define for this transform
 * @FX_CHAIN_UNSUPPORTED: known, but no code here does it
 * @FX_CHAIN_TYPE: its input is not what the transform before it gives
 * @FX_CHAIN_LOSSY: lossy, on an exact edge
 * @FX_CHAIN_TWICE: a second conversion, or a second checksum
 * @FX_CHAIN_AFTER_SUM: changes bytes after they were checksummed
 * @FX_CHAIN_FAULTS: their number
 */
enum fx_chain_fault {
	FX_CHAIN_OK,
	FX_CHAIN_LONG,
	FX_CHAIN_UNKNOWN,
	FX_CHAIN_FLAGS,
	FX_CHAIN_UNSUPPORTED,
	FX_CHAIN_TYPE,
	FX_CHAIN_LOSSY,
	FX_CHAIN_TWICE,
	FX_CHAIN_AFTER_SUM,
	FX_CHAIN_FAULTS,
};

enum fx_chain_fault fx_chain_check(const struct fx_xform_desc *xform, u32 n,
				   u8 element, bool exact,
				   struct fx_chain *chain, u32 *at);
const char *fx_chain_why(enum fx_chain_fault fault);
int fx_chain_bytes(const struct fx_chain *chain, u64 src_len, u64 *dst_len);

#define FX_PASS_BOUNCE		4032

/**
 * struct fx_pass - one movement under way; some 4 KiB, not for the stack
 *
 * All private to transform.c. The caller owns the memory, which needs no
 * initialisation before fx_pass_begin() and no release after.
 */
struct fx_pass {
	/* private: */
	struct fx_chain chain;
	u32 cpu;
	u32 crc;
	u64 left;		/* source bytes announced and not taken */
	u64 written;		/* destination bytes given */
	u32 in_fill;		/* source bytes waiting for their block's rest */
	u32 out_at, out_fill;	/* destination bytes waiting: [at, fill) */
	u64 bounce[FX_PASS_BOUNCE / 8];
};

int fx_pass_begin(struct fx_pass *pass, const struct fx_chain *chain,
		  u64 src_len, u32 cpu);
int fx_pass_step(struct fx_pass *pass, void *dst, size_t dst_len, size_t *wrote,
		 const void *src, size_t src_len, size_t *took);
int fx_pass_end(const struct fx_pass *pass, u64 *written, u32 *crc);

int fx_pass_run(struct fx_pass *pass, const struct fx_chain *chain,
		void *dst, size_t dst_len, const void *src, size_t src_len,
		u32 cpu, u64 *written, u32 *crc);

#endif /* FABRIC_EXT_TRANSFORM_H */
