/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The guard of a portable policy alone, as a program that any kernel verifies:
 * fabricctl puts it before the one that it runs on, as the ops of the module can
 * only be loaded where the module is. The move is made of what glue_kernel.bpf.h
 * makes it of. The program's type is one that does not sleep and has all that an
 * op has; it is never run. Only portable.bpf.h includes this.
 */
#ifndef FABRIC_EXT_GLUE_BODY_BPF_H
#define FABRIC_EXT_GLUE_BODY_BPF_H

#include <fabric_ext/context.bpf.h>

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct fx_dpu_context);
} fx_body_in SEC(".maps");

#define FX_PORTABLE(...)						\
SEC("tc") int fx_guard_body(void *ctx)					\
{									\
	__u32 zero = 0;							\
	struct fx_dpu_context *c = bpf_map_lookup_elem(&fx_body_in, &zero);	\
	struct fx_move m = { .device = FX_DEVICE_KERNEL };		\
									\
	(void)ctx;							\
	if (!c)								\
		return 0;						\
	m.edge = c->move.edge;						\
	m.cls = c->move.cls;						\
	m.place = c->move.place;					\
	m.op = c->move.op;						\
	m.bytes = c->move.bytes;					\
	m.stated = c->move.stated;					\
	m.priority = c->move.priority;					\
	c->verdict = fx_guard(&m);					\
	return 0;							\
}

#endif
