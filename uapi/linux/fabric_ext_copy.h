/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note */
/*
 * What the programs on copies to and from a GPU leave behind for who loaded
 * them: maps fx_copy_counts (one struct fx_copy_count per row of the graph),
 * fx_copy_totals (one struct fx_copy_total), both per CPU or per lane, and on
 * the CPU fx_copy_records (a ring buffer of struct fx_copy_record). All
 * numbers are in the host's byte order.
 *
 * These verdicts are advice: a probe cannot keep a function from copying.
 */
#ifndef _UAPI_LINUX_FABRIC_EXT_COPY_H
#define _UAPI_LINUX_FABRIC_EXT_COPY_H

#include <linux/types.h>

#define FX_COPY_MAX_ROWS	64

/* What was asked of one row: instances of an edge that state the same bytes. */
struct fx_copy_count {
	__u64 copies;
	__u64 bytes;
	__u64 refused;			/* of these, the guard was against */
	__u64 refused_bytes;
	__u64 marked;
	__u64 completed;		/* the function returned and said nothing bad */
	__u64 failed;			/* it returned an error */
	__u64 reserved;
};

struct fx_copy_total {
	__u64 calls;			/* of all functions */
	__u64 no_edge;			/* of no edge of the graph; not asked */
	__u64 nested;			/* within another: part of that one */
	__u64 lost;			/* no room for the record, or the return */
};

/* One verdict, as it was given. */
struct fx_copy_record {
	__u64 ns;			/* CLOCK_MONOTONIC */
	__u64 bytes;
	__u64 to;			/* addresses, as the function was given them */
	__u64 from;
	__u32 pid;			/* process, as getpid() */
	__u32 tid;
	__u32 edge;			/* instance */
	__u16 cls;
	__u16 function;			/* index, as the manifest lists them */
	__u32 action;			/* enum fx_action */
	__s32 error;			/* of a refusal: -errno */
	__u32 mark;
	__u32 priority;
};

#endif
