/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A language model's shapes out of its config.json, and the graph of what its
 * prefill moves.
 */
#ifndef FX_MODEL_H
#define FX_MODEL_H

#include <stdio.h>

#include "cmd.h"
#include "types.h"

#define FX_MODEL_ELEM_BYTES	2	/* bf16 */

/* Values of the config, under their names there where all agree on one. */
enum fx_model_field {
	FX_M_LAYERS,
	FX_M_HIDDEN,
	FX_M_HEADS,
	FX_M_KV_HEADS,
	FX_M_HEAD_DIM,
	FX_M_FFN,		/* width of a dense layer */
	FX_M_VOCAB,
	FX_M_EXPERTS,		/* 0: dense */
	FX_M_ACTIVE,		/* experts per token, of the routed */
	FX_M_SHARED,		/* experts that all tokens take */
	FX_M_EXPERT_FFN,	/* width of one expert */
	FX_M_DENSE_LAYERS,	/* before the layers with experts */
	FX_M_KV_LORA,		/* 0: no MLA */
	FX_M_Q_LORA,
	FX_M_ROPE_DIM,
	FX_M_NOPE_DIM,
	FX_M_V_DIM,
	FX_M_FIELDS,
};

struct fx_model {
	const char *arch;		/* model_type */
	u64 v[FX_M_FIELDS];
};

/* What follows from the shapes, in elements of FX_MODEL_ELEM_BYTES. */
struct fx_model_sizes {
	u64 kv_token;			/* KV per token and layer */
	u64 attn_out;			/* heads' outputs per token */
	u64 qkv;			/* projections per token */
	u64 w_attn;			/* weights per layer: attention, router */
	u64 w_dense;			/* FFN of a dense layer */
	u64 w_expert;			/* one expert */
	u64 w_active;			/* what a token takes in a layer */
};

/**
 * fx_model_read() - read a config.json
 * @path: the file
 * @m: filled
 *
 * Return: FX_RC_OK; otherwise diagnostics or a sentence were printed.
 */
enum fx_rc fx_model_read(const char *path, struct fx_model *m);

void fx_model_sizes(const struct fx_model *m, struct fx_model_sizes *s);

/* What the user chooses. */
struct fx_model_run {
	const char *name;		/* of the graph */
	u64 tokens;
	u64 block;			/* tokens per KV block, and per tile */
};

void fx_model_write(const struct fx_model *m, const struct fx_model_run *run,
		    FILE *out);

#endif /* FX_MODEL_H */
