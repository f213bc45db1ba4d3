/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The guard of a portable policy at the entry of CUDA kernels, each of which
 * carries out an edge of the graph: a probe that every lane of the kernel runs.
 * A lane's move is its share of the edge's bytes. Only portable.bpf.h includes
 * this.
 *
 * fabricctl says what the graph knows, before anything else is included:
 *
 *	FX_COPY_PLACE		the GPU's place
 *	FX_COPY_N_KERNELS	how many kernels there are
 *	FX_COPY_KERNELS(X)	X(number, "kprobe/NAME", dir, bytes, edge, cls,
 *				  priority)
 *
 * A probe cannot refuse: verdicts are counted, per lane.
 */
#ifndef FABRIC_EXT_GLUE_CUDA_BPF_H
#define FABRIC_EXT_GLUE_CUDA_BPF_H

#include <linux/fabric_ext_copy.h>

/*
 * Of each lane. The sum over lanes is the kernel's, but for bytes: each lane has
 * the same share, without what does not divide by their number.
 */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, FX_COPY_N_KERNELS);
	__type(key, __u32);
	__type(value, struct fx_copy_count);
} fx_copy_counts SEC(".maps");

/* How many lanes run the kernel: the same number in each. */
static __always_inline __u64 fx_cuda_lanes(void)
{
	__u64 x, y, z, n;

	bpf_get_block_dim(&x, &y, &z);
	n = x * y * z;
	bpf_get_grid_dim(&x, &y, &z);
	return n * x * y * z;
}

static __always_inline int fx_cuda_ask(__u32 kernel, struct fx_move *m,
				       struct fx_verdict (*guard)(const struct fx_move *))
{
	struct fx_copy_count *count = bpf_map_lookup_elem(&fx_copy_counts, &kernel);
	__u64 lanes = fx_cuda_lanes();
	struct fx_verdict v;

	if (!count)
		return 0;
	m->place = FX_COPY_PLACE;
	m->device = FX_DEVICE_GPU;
	m->op = FX_OP_MOVE;
	m->bytes = lanes ? m->stated / lanes : m->stated;
	v = guard(m);
	count->copies++;
	count->bytes += m->bytes;
	if (v.action == FX_DROP) {
		count->refused++;
		count->refused_bytes += m->bytes;
	} else if (v.action == FX_MARK) {
		count->marked++;
	}
	return 0;
}

/* bpftime takes a function for a GPU's by the beginning of its name */
#define FX_COPY_PROGS(n, section, way, size, instance, of, prio)	\
SEC(section) int cuda__copy_##n(void *ctx)				\
{									\
	struct fx_move m = { .edge = instance, .cls = of, .dir = way,	\
			     .stated = size, .priority = prio };	\
									\
	return fx_cuda_ask(n, &m, fx_guard);				\
}

/*
 * FX_PORTABLE(name, malformed, ...): the programs. Further arguments are for
 * the kernel.
 */
#define FX_PORTABLE(policy, drops, ...)	FX_COPY_KERNELS(FX_COPY_PROGS)

#endif
