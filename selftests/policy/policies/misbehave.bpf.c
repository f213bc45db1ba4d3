// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* misbehave: does what no policy may, on demand. */
#include "life.bpf.h"

#define SPIN_MAX	(1U << 23)	/* what bpf_loop() takes */

struct spin {
	__u64 until;
};

static long spin(__u32 i, struct spin *s)
{
	(void)i;
	return bpf_ktime_get_ns() >= s->until;
}

FX_ADMIT(args)
{
	struct fx_call *call = fx_call_of(args);
	struct spin s;
	__u32 small;

	__sync_fetch_and_add(&state.asked[FX_OP_DMABUF_ATTACH], 1);
	switch (state.mischief) {
	case FXT_BAD_EDGE:
		fx_bpf_edge(call, 1000);
		break;
	case FXT_BAD_CLASS:
		fx_bpf_class(call, 1000);
		break;
	case FXT_BAD_PLACE:
		fx_bpf_place(call, 1000);
		break;
	case FXT_SMALL_TAG:
		fx_bpf_buf_tag(args, &small, sizeof(small));
		break;
	case FXT_GIVE_UP:
		fx_bpf_error(call, "that is enough");
		break;
	case FXT_SPIN:
		s.until = bpf_ktime_get_ns() + state.spin_ns;
		bpf_loop(SPIN_MAX, spin, &s, 0);
		break;
	}
	return state.answer[FX_OP_DMABUF_ATTACH];
}

FX_POLICY(misbehave, FXT_LIFE_OPS,
	  .admit = (void *)fx_admit,
	  .hooks = FX_OP_BIT(FX_OP_DMABUF_ATTACH),
	  .timeout_ms = 10000);
