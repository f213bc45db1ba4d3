// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Somebody else's tracing of a hooked function: what it sees of the call. */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

struct {
	__u64 calls;
	__u64 dmabuf;
	__u64 dev;
} seen;

SEC("fentry/dma_buf_dynamic_attach")
int on_attach(unsigned long long *ctx)
{
	seen.dmabuf = ctx[0];
	seen.dev = ctx[1];
	__sync_fetch_and_add(&seen.calls, 1);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
