/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Stands for libbpf's header where a body is compiled for the host: a map is
 * its own declaration, whose `value` points to the entries.
 */
#ifndef FX_HOST_BPF_HELPERS_H
#define FX_HOST_BPF_HELPERS_H

#include <linux/types.h>
#include <stddef.h>
#include <time.h>

#undef __always_inline
#define __always_inline	inline __attribute__((always_inline))
#define __uint(name, val)	int (*name)[val]
#define __type(name, val)	typeof(val) *name
#define SEC(name)

#define bpf_map_lookup_elem(map, key)					\
	((void *)(*(key) < sizeof(*(map)->max_entries) / sizeof(int) ?	\
		  &(map)->value[*(key)] : NULL))

/* As fabric-dpu has it. */
static inline __u64 bpf_ktime_get_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ULL + t.tv_nsec;
}

#endif /* FX_HOST_BPF_HELPERS_H */
