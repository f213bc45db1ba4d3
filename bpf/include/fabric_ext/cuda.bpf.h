/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What a program has within a CUDA kernel, where bpftime runs it: map types in
 * the GPU's memory, and helpers with numbers of bpftime's own. Only
 * portable.bpf.h includes this, before maps are declared.
 */
#ifndef FABRIC_EXT_CUDA_BPF_H
#define FABRIC_EXT_CUDA_BPF_H

/*
 * FX_MAP() declares arrays: one copy for all lanes where the kernel has one for
 * all CPUs, and one for each lane where it has one for each CPU.
 */
#define FX_BPFTIME_PER_LANE_ARRAY	1502
#define FX_BPFTIME_GPU_ARRAY		1503
#define BPF_MAP_TYPE_ARRAY		FX_BPFTIME_GPU_ARRAY
#define BPF_MAP_TYPE_PERCPU_ARRAY	FX_BPFTIME_PER_LANE_ARRAY

/* They look up what there is not as well: an index is compared first. */
#define fx_cuda_none(map, key)						\
	((sizeof(*(map)->type) == FX_BPFTIME_PER_LANE_ARRAY * sizeof(int) || \
	  sizeof(*(map)->type) == FX_BPFTIME_GPU_ARRAY * sizeof(int)) &&	\
	 *(const __u32 *)(key) >= sizeof(*(map)->max_entries) / sizeof(int))

#define bpf_map_lookup_elem(map, key)					\
({									\
	const void *fx_cuda_key = (key);				\
									\
	fx_cuda_none(map, fx_cuda_key) ? (void *)0 :			\
		(bpf_map_lookup_elem)(map, fx_cuda_key);		\
})

#define bpf_map_update_elem(map, key, value, flags)			\
({									\
	const void *fx_cuda_key = (key);				\
									\
	fx_cuda_none(map, fx_cuda_key) ? -7 /* E2BIG */ :		\
		(bpf_map_update_elem)(map, fx_cuda_key, value, flags);	\
})

/* by bpftime's numbers; each fills what the three pointers point to */
static __u64 (* const bpf_get_globaltimer)(void) = (void *)502;
static long (* const bpf_get_block_idx)(__u64 *x, __u64 *y, __u64 *z) = (void *)503;
static long (* const bpf_get_block_dim)(__u64 *x, __u64 *y, __u64 *z) = (void *)504;
static long (* const bpf_get_thread_idx)(__u64 *x, __u64 *y, __u64 *z) = (void *)505;
static long (* const bpf_get_grid_dim)(__u64 *x, __u64 *y, __u64 *z) = (void *)508;
static __u64 (* const bpf_get_sm_id)(void) = (void *)509;
static __u64 (* const bpf_get_warp_id)(void) = (void *)510;
static __u64 (* const bpf_get_lane_id)(void) = (void *)511;

#define bpf_ktime_get_ns()	bpf_get_globaltimer()

#endif
