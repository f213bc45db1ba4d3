/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Where fx_redirect() leads on a network device: to CPUs, or to the AF_XDP
 * sockets of applications. Which of both is the edge's, by the graph; the policy
 * names a number. Only glue_nic.bpf.h includes this.
 *
 * A queue that is not there lets the packet pass to the stack.
 */
#ifndef FABRIC_EXT_QUEUE_BPF_H
#define FABRIC_EXT_QUEUE_BPF_H

/* One per CPU that was online when it was loaded. */
struct {
	__uint(type, BPF_MAP_TYPE_CPUMAP);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct bpf_cpumap_val);
} fx_cpus SEC(".maps");

/* Filled by the sockets' owners, through its pin. */
struct {
	__uint(type, BPF_MAP_TYPE_XSKMAP);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32);
} fx_sockets SEC(".maps");

/*
 * Has an edge of the device sockets? Where none has it is 0 before loading, and
 * the map is not made: a kernel without AF_XDP runs all the rest.
 */
const volatile __u32 fx_has_sockets SEC(".rodata.fx_sockets") = 1;

/* XDP_REDIRECT, or XDP_PASS: there is no socket for this packet. */
static __always_inline int fx_to_socket(struct xdp_md *ctx, __u32 slot)
{
	__u32 queue = ctx->rx_queue_index, at;
	struct bpf_xdp_sock *found;

	if (!fx_has_sockets || slot >= FX_NIC_SLOTS || queue >= FX_NIC_RX_QUEUES)
		return XDP_PASS;
	at = queue * FX_NIC_SLOTS + slot;
	found = bpf_map_lookup_elem(&fx_sockets, &at);
	/* the kernel would drop what is for a socket of another receive queue */
	if (!found || found->queue_id != queue)
		return XDP_PASS;
	return bpf_redirect_map(&fx_sockets, at, XDP_PASS);
}

/* XDP_REDIRECT, or XDP_PASS where there is no such queue. @kind: enum fx_queue_kind */
static __always_inline int fx_to_queue(struct xdp_md *ctx, __u32 kind, __u32 queue)
{
	if (kind == FX_QUEUE_AF_XDP)
		return fx_to_socket(ctx, queue);
	return bpf_redirect_map(&fx_cpus, queue, XDP_PASS);
}

#endif
