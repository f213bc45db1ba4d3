/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the litmus tests ask their programs, and what these answer. */
#ifndef FX_LITMUS_H
#define FX_LITMUS_H

#include <linux/types.h>

#define LITMUS_TABLE	8192	/* words of a snapshot */
#define LITMUS_AT	16	/* in a packet, behind the Ethernet header */

enum litmus_op {
	LITMUS_ADD,
	LITMUS_ADD_PLAIN,
	LITMUS_COUNT,
	LITMUS_SEND,
	LITMUS_SEND_PLAIN,
	LITMUS_RECEIVE,
	LITMUS_TABLE_READ,
	LITMUS_TABLE_READ_PLAIN,
	LITMUS_PUT,
	LITMUS_GET,
	LITMUS_PUT_PLAIN,
	LITMUS_GET_PLAIN,
};

struct litmus {
	__u64 op;		/* enum litmus_op */
	__u64 arg;
	__u64 bad;		/* grows with what must not be */
	__u64 seen;
};

#endif
