/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Maps for a kernel of a GPU. A map is a variable of the module,
 * in global memory, with the name that the policy gives it: its entries, one
 * after the other, begin at its address. Only portable.bpf.h includes this,
 * behind FX_MAP().
 */
#ifndef FABRIC_EXT_PTX_BPF_H
#define FABRIC_EXT_PTX_BPF_H

#undef FX_MAP_OF
#define FX_MAP_OF(class, kind, name, val, entries)			\
	struct {							\
		val entry[entries];					\
		int (*max_entries)[entries];				\
		val *value;						\
	} name

#define bpf_map_lookup_elem(map, key)					\
({									\
	__u32 fx_ptx_i = *(key);					\
									\
	(void *)(fx_ptx_i < sizeof(*(map)->max_entries) / sizeof(int) ?	\
		 &(map)->entry[fx_ptx_i] : 0);				\
})

/* All lanes add to one entry. */
#undef fx_count
#define fx_count(map, i, n)						\
({									\
	__u32 fx_ptx_key = (i);						\
	__u64 *fx_ptx_entry = bpf_map_lookup_elem(map, &fx_ptx_key);	\
									\
	if (fx_ptx_entry)						\
		__sync_fetch_and_add(fx_ptx_entry, n);			\
})

#endif
