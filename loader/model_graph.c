// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The movement graph of a prefill, as text: parameters are the model's shapes,
 * so that the graph can be read and changed by hand.
 *
 * An edge is declared behind those that it waits for, except kv_out: a release
 * waits for all earlier edges of its alias set, and kv_out of one layer must
 * not wait for the attention of later ones.
 */
#include "model.h"

static void shapes(const struct fx_model *m, const struct fx_model_run *run,
		   FILE *out)
{
	const u64 *v = m->v;
	bool mla = v[FX_M_KV_LORA];

	fprintf(out, "params:\n"
		"  layers: %llu\n"
		"  tokens: %llu\n"
		"  block_tokens: %llu\n"
		"  blocks: tokens / block_tokens\n"
		"  elem: %d                       # bytes of bf16\n"
		"  hidden: %llu\n"
		"  vocab: %llu\n"
		"  heads: %llu\n",
		v[FX_M_LAYERS], run->tokens, run->block, FX_MODEL_ELEM_BYTES,
		v[FX_M_HIDDEN], v[FX_M_VOCAB], v[FX_M_HEADS]);
	if (mla)
		fprintf(out, "  q_lora: %llu\n"
			"  kv_lora: %llu\n"
			"  rope_dim: %llu\n"
			"  nope_dim: %llu\n"
			"  v_dim: %llu\n"
			"  kv_token: kv_lora + rope_dim  # elements per token and layer\n"
			"  q_width: heads * (nope_dim + rope_dim)\n"
			"  o_width: heads * v_dim\n"
			"  w_attn: hidden * q_lora + q_lora * q_width + hidden * kv_token + kv_lora * heads * (nope_dim + v_dim) + o_width * hidden\n",
			v[FX_M_Q_LORA], v[FX_M_KV_LORA], v[FX_M_ROPE_DIM],
			v[FX_M_NOPE_DIM], v[FX_M_V_DIM]);
	else
		fprintf(out, "  kv_heads: %llu\n"
			"  head_dim: %llu\n"
			"  v_dim: head_dim\n"
			"  kv_token: 2 * kv_heads * head_dim  # elements per token and layer\n"
			"  q_width: heads * head_dim\n"
			"  o_width: q_width\n"
			"  w_attn: 2 * hidden * q_width + hidden * kv_token\n",
			v[FX_M_KV_HEADS], v[FX_M_HEAD_DIM]);
	fprintf(out, "  kv_block: kv_token * elem * block_tokens\n");
}

/* Some layers dense, some with experts, or all of one kind. */
struct kinds {
	bool dense, moe;
};

static struct kinds kinds_of(const struct fx_model *m)
{
	return (struct kinds){
		.dense = m->v[FX_M_DENSE_LAYERS],
		.moe = m->v[FX_M_DENSE_LAYERS] < m->v[FX_M_LAYERS],
	};
}

static void ffn_shapes(const struct fx_model *m, FILE *out)
{
	struct kinds k = kinds_of(m);
	const u64 *v = m->v;

	fprintf(out, "  dense_layers: %llu\n", v[FX_M_DENSE_LAYERS]);
	if (k.dense)
		fprintf(out, "  ffn: %llu\n"
			"  w_dense: 3 * hidden * ffn\n", v[FX_M_FFN]);
	if (k.moe)
		fprintf(out, "  moe_layers: layers - dense_layers\n"
			"  experts: %llu\n"
			"  active: %llu                     # routed experts per token\n"
			"  shared: %llu                     # experts of every token\n"
			"  expert_ffn: %llu\n"
			"  w_expert: 3 * hidden * expert_ffn\n"
			"  w_router: hidden * experts\n",
			v[FX_M_EXPERTS], v[FX_M_ACTIVE], v[FX_M_SHARED],
			v[FX_M_EXPERT_FFN]);
	fprintf(out, "  weights: elem * (layers * w_attn + 2 * vocab * hidden%s%s)\n\n",
		k.dense ? " + dense_layers * w_dense" : "",
		k.moe ? " + moe_layers * (w_router + (experts + shared) * w_expert)" :
		"");
}

static void places(FILE *out)
{
	fputs("places:\n"
	      "  gpu0: { kind: gpu, match: { driver: vgem } }\n"
	      "  host: { kind: dram, match: { node: 0 } }\n"
	      "  cxl0: { kind: cxl, match: { region: region0 }, capacity: 256MiB, appears: later }\n"
	      "\n"
	      "links:\n"
	      "  - { between: [gpu0, host], bandwidth: 55GB/s, latency: 1us }\n"
	      "  - { between: [host, cxl0], bandwidth: 18GB/s, latency: 250ns }\n"
	      "\n"
	      "alias:\n"
	      "  kv: { bytes: kv_block * blocks * layers }\n"
	      "\n"
	      "edges:\n", out);
}

/* Weights are read-only and come again with the next prefill. */
static void weight(FILE *out, const char *name, const char *loops,
		   const char *bytes)
{
	fprintf(out, "  - edge: %s\n", name);
	if (loops)
		fprintf(out, "    for: %s\n", loops);
	fprintf(out, "    from: host\n"
		"    to: gpu0\n"
		"    bytes: %s\n"
		"    element: bf16\n"
		"    reuse: weights\n"
		"    owner: share\n", bytes);
}

/* What stays on the GPU; @after may be NULL. */
static void activation(FILE *out, const char *name, const char *loops,
		       const char *bytes, const char *element, const char *after)
{
	fprintf(out, "  - edge: %s\n"
		"    for: %s\n"
		"    from: gpu0\n"
		"    to: gpu0\n"
		"    bytes: %s\n"
		"    element: %s\n"
		"    owner: transfer\n"
		"    order: acquire\n"
		"    after: [ %s ]\n", name, loops, bytes, element, after);
}

static void weights(const struct fx_model *m, FILE *out)
{
	struct kinds k = kinds_of(m);

	fputs("  # the prompt's embeddings, then weights as each layer needs them\n"
	      "  - edge: embed\n"
	      "    from: host\n"
	      "    to: gpu0\n"
	      "    bytes: elem * tokens * hidden\n"
	      "    element: bf16\n"
	      "    reuse: never\n"
	      "    owner: transfer\n", out);
	weight(out, "weights_attn", "layer in layers", "elem * w_attn");
	if (k.dense)
		weight(out, "weights_dense", "layer in dense_layers",
		       "elem * w_dense");
	if (k.moe) {
		weight(out, "weights_router", "layer in moe_layers",
		       "elem * w_router");
		weight(out, "weights_expert",
		       "[layer in moe_layers, expert in experts]",
		       "elem * w_expert");
	}
	if (k.moe && m->v[FX_M_SHARED])
		weight(out, "weights_shared", "layer in moe_layers",
		       "elem * shared * w_expert");
	weight(out, "weights_head", NULL, "elem * vocab * hidden");
}

static void attention(FILE *out)
{
	activation(out, "qkv", "layer in layers",
		   "elem * tokens * (q_width + kv_token)", "bf16",
		   "embed, weights_attn[layer], ffn_out[layer - 1]?");
	fputs("  # each block of a layer's KV leaves when the layer's attention is done;\n"
	      "  # a policy may keep it as it is in DRAM. reuse: what is read again before\n"
	      "  # it, newest block first\n"
	      "  - edge: kv_out\n"
	      "    for: [layer in layers, block in blocks]\n"
	      "    from: gpu0\n"
	      "    to: [host, cxl0]\n"
	      "    bytes: kv_block\n"
	      "    element: bf16\n"
	      "    reuse: ((blocks - block) * layers - layer) * kv_block\n"
	      "    rw: 9:1\n"
	      "    alias: { set: kv, at: (layer * blocks + block) * kv_block }\n"
	      "    owner: transfer\n"
	      "    order: release\n"
	      "    after: [ attn_out[layer] ]\n"
	      "    transform: [ quantize: { to: mxfp8 }, checksum: { algo: crc32c, verify: true } ]\n"
	      "  # a tile of queries streams all KV up to its own: causal attention\n"
	      "  - edge: kv_in\n"
	      "    for: [layer in layers, tile in blocks]\n"
	      "    from: gpu0\n"
	      "    to: gpu0\n"
	      "    bytes: (tile + 1) * kv_block\n"
	      "    element: bf16\n"
	      "    reuse: bytes\n"
	      "    alias: { set: kv, at: layer * blocks * kv_block }\n"
	      "    owner: borrow\n"
	      "    order: acquire\n"
	      "    after: [ qkv[layer] ]\n"
	      "  # a tile's partial sums, with running maximum and sum of each row\n", out);
	activation(out, "attn_reduce", "[layer in layers, tile in blocks]",
		   "4 * block_tokens * heads * (v_dim + 2)", "fp32",
		   "kv_in[layer, tile]");
	activation(out, "attn_out", "layer in layers",
		   "elem * tokens * o_width", "bf16", "attn_reduce[layer, *]");
}

static void ffn(const struct fx_model *m, FILE *out)
{
	/* 0 in the dense layers, 1 behind them */
	static const char moe_here[] =
		"((layer + layers - dense_layers) / layers)";
	struct kinds k = kinds_of(m);
	char in[256], mid[256];

	if (k.dense && k.moe) {
		snprintf(in, sizeof(in),
			 "elem * tokens * hidden * (1 + (active + shared - 1) * %s)",
			 moe_here);
		snprintf(mid, sizeof(mid),
			 "2 * elem * tokens * (ffn + ((active + shared) * expert_ffn - ffn) * %s)",
			 moe_here);
	} else {
		snprintf(in, sizeof(in), "elem * tokens * hidden%s",
			 k.moe ? " * (active + shared)" : "");
		snprintf(mid, sizeof(mid), "2 * elem * tokens * %s",
			 k.moe ? "(active + shared) * expert_ffn" : "ffn");
	}
	fprintf(out, "  # %s\n", k.moe ?
		"each token goes to its experts, is widened, and comes together again" :
		"in, widened (written and read), out");
	activation(out, "ffn_in", "layer in layers", in, "bf16",
		   k.moe ? "attn_out[layer], weights_router[layer - dense_layers]?" :
		   "attn_out[layer]");
	snprintf(in, sizeof(in), "ffn_in[layer]%s%s%s",
		 !k.dense ? "" : k.moe ? ", weights_dense[layer]?" :
		 ", weights_dense[layer]",
		 k.moe ? ", weights_expert[layer - dense_layers, *]?" : "",
		 k.moe && m->v[FX_M_SHARED] ?
		 ", weights_shared[layer - dense_layers]?" : "");
	activation(out, "ffn_mid", "layer in layers", mid, "bf16", in);
	activation(out, "ffn_out", "layer in layers", "elem * tokens * hidden",
		   "bf16", "ffn_mid[layer]");
	fputs("  # the last token's scores\n"
	      "  - edge: logits\n"
	      "    from: gpu0\n"
	      "    to: host\n"
	      "    bytes: elem * vocab\n"
	      "    element: bf16\n"
	      "    owner: transfer\n"
	      "    order: acquire\n"
	      "    after: [ ffn_out[layers - 1], weights_head ]\n", out);
}

static void read_back(FILE *out)
{
	fputs("  # KV comes back from where the policy put it\n"
	      "  - edge: kv_back_host\n"
	      "    for: [layer in layers, block in blocks]\n"
	      "    from: host\n"
	      "    to: host\n"
	      "    bytes: kv_block\n"
	      "    element: bf16\n"
	      "    alias: { set: kv, at: (layer * blocks + block) * kv_block }\n"
	      "    owner: borrow\n"
	      "    order: acquire\n"
	      "    after: [ kv_out[layer, block] ]\n"
	      "    transform: [ checksum: { algo: crc32c } ]\n"
	      "  - edge: kv_back_cxl\n"
	      "    for: [layer in layers, block in blocks]\n"
	      "    from: cxl0\n"
	      "    to: host\n"
	      "    bytes: kv_block / 64 * 33          # 32 elements are 33 bytes of mxfp8\n"
	      "    element: mxfp8\n"
	      "    alias: { set: kv, at: (layer * blocks + block) * kv_block }\n"
	      "    owner: borrow\n"
	      "    order: acquire\n"
	      "    after: [ kv_out[layer, block] ]\n"
	      "    transform: [ dequantize: { to: bf16 }, checksum: { algo: crc32c } ]\n", out);
}

/**
 * fx_model_write() - write a prefill's graph as YAML
 * @m: the model
 * @run: name, tokens and block, checked
 * @out: where to; the caller looks for errors of writing
 */
void fx_model_write(const struct fx_model *m, const struct fx_model_run *run,
		    FILE *out)
{
	fprintf(out, "# What a %s prefill of %llu tokens moves. Written by `fabricctl model`.\n"
		"fabric_ext: 1\n"
		"graph: %s\n"
		"governs: [dmabuf, p2p, cxl]\n\n",
		m->arch, run->tokens, run->name);
	shapes(m, run, out);
	ffn_shapes(m, out);
	places(out);
	weights(m, out);
	attention(out);
	ffn(m, out);
	read_back(out);
}
