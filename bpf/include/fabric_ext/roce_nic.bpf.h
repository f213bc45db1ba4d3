/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The queue pairs of a network device: a map of them, with a lock in each, as
 * packets of one come to several CPUs. Only glue_nic.bpf.h includes this.
 */
#ifndef FABRIC_EXT_ROCE_NIC_BPF_H
#define FABRIC_EXT_ROCE_NIC_BPF_H

#include <linux/errno.h>
#include <fabric_ext/roce.bpf.h>

struct fx_qp_state {
	struct bpf_spin_lock lock;
	__u32 reserved;
	struct fx_qp qp;
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, struct fx_qp_key);
	__type(value, struct fx_qp_state);
} fx_qps SEC(".maps");

/* a state to begin with; too large for the stack */
static const volatile __u8 fx_qp_none[sizeof(struct fx_qp_state)];

/* When it was full, and searched. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} fx_swept SEC(".maps");

/*
 * fx_parse_roce() - fx_roce_parse()
 *
 * A function of its own to the verifier, which else follows each of its ways
 * through all that comes after.
 */
__noinline int fx_parse_roce(const struct fx_roce_wire *w, __u32 size, struct fx_roce *r)
{
	return w && r ? fx_roce_parse(w, size, r) : FX_PKT_MALFORMED;
}

static long fx_qp_forget(void *map, const struct fx_qp_key *key, struct fx_qp_state *s,
			 const __u64 *now)
{
	(void)map;
	if (fx_qp_silent(&s->qp, *now))
		bpf_map_delete_elem(&fx_qps, key);
	return 0;
}

/*
 * Let go of the queue pairs that are silent, which are begun anew anyway; was
 * it time to? All at once and seldom: a search per packet would cost the most
 * when somebody fills the table with what is forged.
 */
static __always_inline bool fx_qps_sweep(void)
{
	__u64 now = bpf_ktime_get_coarse_ns(), *swept;
	__u32 zero = 0;

	swept = bpf_map_lookup_elem(&fx_swept, &zero);
	if (!swept || now < *swept + FX_ROCE_SWEEP_NS)
		return false;
	*swept = now;
	bpf_for_each_map_elem(&fx_qps, fx_qp_forget, &now, 0);
	return true;
}

/* The state of the packet's queue pair; NULL when there is no room. */
static __always_inline struct fx_qp_state *
fx_qp_find(const struct fx_flow_key *k, const struct fx_roce *r, __u32 dir)
{
	struct fx_qp_key key = { };
	struct fx_qp_state *s;

	fx_qp_key_of(k, r, dir, &key);
	s = bpf_map_lookup_elem(&fx_qps, &key);
	if (s)
		return s;
	if (bpf_map_update_elem(&fx_qps, &key, (const void *)fx_qp_none, BPF_NOEXIST) == -E2BIG &&
	    fx_qps_sweep())
		bpf_map_update_elem(&fx_qps, &key, (const void *)fx_qp_none, BPF_NOEXIST);
	return bpf_map_lookup_elem(&fx_qps, &key);
}

/* fx_qp_begin() and fx_qp_note(), one at a time */
static __always_inline bool fx_qp_begin_locked(struct fx_qp_state *s, const struct fx_roce *r,
					       struct fx_rdma *out)
{
	__u64 now = bpf_ktime_get_coarse_ns();
	bool passed;

	bpf_spin_lock(&s->lock);
	passed = fx_qp_begin(&s->qp, r, now, out);
	bpf_spin_unlock(&s->lock);
	return passed;
}

static __always_inline bool fx_qp_note_locked(struct fx_qp_state *s, __u32 psn, bool refused)
{
	bool before;

	bpf_spin_lock(&s->lock);
	before = fx_qp_note(&s->qp, psn, refused);
	bpf_spin_unlock(&s->lock);
	return before;
}

#endif
