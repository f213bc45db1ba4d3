/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Faults that tests put in to see that what should notice them does.
 * Bits of /sys/kernel/debug/fabric_ext/inject, which is 0600 and starts at 0.
 */
#ifndef FX_INJECT_H
#define FX_INJECT_H

#include <linux/bits.h>
#include <linux/compiler.h>
#include <linux/types.h>

#define FX_INJECT_FLIP	BIT(0)	/* flip a byte of a destination after the copy */
#define FX_INJECT_NODE	BIT(1)	/* allocate destinations on node 0 */
#define FX_INJECT_ADMIT	BIT(2)	/* count a refusal, and let it happen */
#define FX_INJECT_SOURCE BIT(3)	/* read one byte of a source wrongly */
#define FX_INJECT_COUNT	BIT(4)	/* leave a movement out of its class's counters */
#define FX_INJECT_EVENT	BIT(5)	/* do not tell that a movement completed */

extern u32 fx_inject;

int fx_inject_init(void);
void fx_inject_exit(void);

static inline bool fx_injected(u32 fault)
{
	return unlikely(READ_ONCE(fx_inject) & fault);
}

#endif
