/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note */
/*
 * What policies and fabricctl share of maps with a consistency class.
 *
 * Conventions as in fabric_ext.h.
 */
#ifndef _UAPI_LINUX_FABRIC_EXT_MAP_H
#define _UAPI_LINUX_FABRIC_EXT_MAP_H

#include <linux/types.h>
#include <linux/fabric_ext.h>

#define FX_MAP_BOUNDED_MAX	64	/* bytes of a value of class bounded */
#define FX_MAP_MS_MIN		10	/* of its bound */
#define FX_MAP_MS_MAX		3600000

/* The stamp of a bounded map that no other memory writes: never behind. */
#define FX_MAP_SYNCED_ALWAYS	(~0ULL)

#endif /* _UAPI_LINUX_FABRIC_EXT_MAP_H */
