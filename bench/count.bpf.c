// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * What policies/observe.bpf.c counts, by the kernel's own ways to count: one
 * program per way, the same per-CPU array.
 */
#include <linux/types.h>
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 16);
	__type(key, __u32);
	__type(value, __u64);
} counts SEC(".maps");

static __always_inline int count(__u32 op)
{
	__u64 *n = bpf_map_lookup_elem(&counts, &op);

	if (n)
		(*n)++;
	return 0;
}

#ifdef FX_KPROBE
#define FX_SEC(fn)	"kprobe/" fn
#else
#define FX_SEC(fn)	"fentry/" fn
#endif

SEC(FX_SEC("dma_buf_dynamic_attach"))
int count_attach(void *ctx)
{
	return count(1);
}

SEC(FX_SEC("dma_buf_detach"))
int count_detach(void *ctx)
{
	return count(5);
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
