/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note */
/*
 * fx_exerciser: a dma-buf exporter and two importing devices for tests, so
 * that hooked functions are called from a driver as drivers call them.
 */
#ifndef FX_EXERCISER_H
#define FX_EXERCISER_H

#include <linux/types.h>
#include <linux/ioctl.h>

/* the importing devices, named as the place or the stranger of a test */
#define FX_EX_DEVICES	2	/* fx_ex_a, fx_ex_b */

struct fx_ex_export {
	__u32 bytes;		/* rounded up to pages */
	__s32 fd;		/* out */
	__u32 attach_ms;	/* the exporter's attach sleeps that long */
	__s32 attach_err;	/* and returns this: 0 or -errno */
	__s32 map_err;		/* what its map returns */
	__s32 cpu_err;		/* what its begin_cpu_access returns */
	__u32 flags;		/* FX_EX_F_* */
};

#define FX_EX_F_VMAP	(1u << 0)	/* the kernel may map it */
#define FX_EX_F_IOMEM	(1u << 1)	/* and is told that it is I/O memory */
#define FX_EX_F_FENCE	(1u << 2)	/* a device writes, until FX_EX_SIGNAL */
#define FX_EX_F_ALL	((1u << 3) - 1)

struct fx_ex_attach {
	__s32 fd;
	__u32 dev;		/* 0: fx_ex_a, 1: fx_ex_b */
	__u32 map;		/* map and unmap in between */
	__u32 times;		/* attach and detach that often */
	__u32 done;		/* out: pairs before the first error */
	__s32 error;		/* out: 0 or -errno of that one */
	__u64 cycles;		/* out: TSC over all pairs */
};

/* Calls of the exporter's ops so far, all dma-bufs together. */
struct fx_ex_counts {
	__u64 attach;
	__u64 detach;
	__u64 map;
	__u64 unmap;
	__u64 cpu;
	__u64 release;
};

#define FX_EX_EXPORT	_IOWR(0xFC, 0, struct fx_ex_export)
#define FX_EX_ATTACH	_IOWR(0xFC, 1, struct fx_ex_attach)
#define FX_EX_COUNTS	_IOR(0xFC, 2, struct fx_ex_counts)
#define FX_EX_SIGNAL	_IOW(0xFC, 3, __s32)	/* a dma-buf with FX_EX_F_FENCE */

#endif
