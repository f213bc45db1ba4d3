/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What a guard is called with where its host knows the move; portable.bpf.h. */
#ifndef FABRIC_EXT_CONTEXT_BPF_H
#define FABRIC_EXT_CONTEXT_BPF_H

struct fx_dpu_context {
	struct fx_move move;		/* in */
	struct fx_verdict verdict;	/* out */
};

#endif
