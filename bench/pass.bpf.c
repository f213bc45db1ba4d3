// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What each packet costs a program that does nothing with it. */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

SEC("xdp.frags") int pass(struct xdp_md *ctx)
{
	return XDP_PASS;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
