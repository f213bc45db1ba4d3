// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * config.json of the architectures that are known: one table says which key
 * each value has where, its range, and what stands for it when it is missing.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "diag.h"
#include "graph/codes.h"
#include "graph/yaml.h"
#include "model.h"
#include "util.h"

enum arch { LLAMA, QWEN3, QWEN3_MOE, MIXTRAL, DEEPSEEK_V3, ARCHS };

static const char *const arch_name[ARCHS] = {
	[LLAMA] = "llama", [QWEN3] = "qwen3", [QWEN3_MOE] = "qwen3_moe",
	[MIXTRAL] = "mixtral", [DEEPSEEK_V3] = "deepseek_v3",
};

#define IN(a)		(1U << (a))
#define ALL		(IN(ARCHS) - 1)
#define MOE		(IN(QWEN3_MOE) | IN(MIXTRAL) | IN(DEEPSEEK_V3))
#define MLA		IN(DEEPSEEK_V3)

static const struct entry {
	const char *key;
	enum fx_model_field field;
	u32 archs;
	u64 min, max;
	bool optional;		/* what it is then: see defaults() */
} entries[] = {
	{ "num_hidden_layers", FX_M_LAYERS, ALL, 1, 1024 },
	{ "hidden_size", FX_M_HIDDEN, ALL, 64, 1 << 17 },
	{ "num_attention_heads", FX_M_HEADS, ALL, 1, 1024 },
	{ "num_key_value_heads", FX_M_KV_HEADS, ALL & ~MLA, 1, 1024, true },
	{ "head_dim", FX_M_HEAD_DIM, ALL & ~MLA, 8, 1024, true },
	{ "intermediate_size", FX_M_FFN, ALL & ~IN(QWEN3_MOE), 64, 1 << 20 },
	{ "vocab_size", FX_M_VOCAB, ALL, 2, 1 << 24 },
	{ "num_experts", FX_M_EXPERTS, IN(QWEN3_MOE), 1, 4096 },
	{ "num_local_experts", FX_M_EXPERTS, IN(MIXTRAL), 1, 4096 },
	{ "n_routed_experts", FX_M_EXPERTS, IN(DEEPSEEK_V3), 1, 4096 },
	{ "num_experts_per_tok", FX_M_ACTIVE, MOE, 1, 4096 },
	{ "n_shared_experts", FX_M_SHARED, IN(DEEPSEEK_V3), 0, 64 },
	{ "moe_intermediate_size", FX_M_EXPERT_FFN, MOE & ~IN(MIXTRAL), 16,
	  1 << 20 },
	{ "first_k_dense_replace", FX_M_DENSE_LAYERS, IN(DEEPSEEK_V3), 0, 1024 },
	{ "kv_lora_rank", FX_M_KV_LORA, MLA, 16, 1 << 16 },
	{ "q_lora_rank", FX_M_Q_LORA, MLA, 16, 1 << 16 },
	{ "qk_rope_head_dim", FX_M_ROPE_DIM, MLA, 8, 1024 },
	{ "qk_nope_head_dim", FX_M_NOPE_DIM, MLA, 8, 1024 },
	{ "v_head_dim", FX_M_V_DIM, MLA, 8, 1024 },
};

/* Keys whose other values would change the shapes in ways not modelled. */
static const struct expected {
	const char *key;
	u32 archs;
	const char *value;
} expected[] = {
	{ "torch_dtype", ALL, "bfloat16" },
	{ "dtype", ALL, "bfloat16" },
	{ "decoder_sparse_step", IN(QWEN3_MOE), "1" },
	{ "moe_layer_freq", IN(DEEPSEEK_V3), "1" },
};

struct reader {
	struct fx_model *m;
	struct fx_diags *diags;
	const struct fx_node *root;
	struct fx_pos pos[FX_M_FIELDS];
	enum arch arch;
};

static void read_arch(struct reader *r)
{
	const struct fx_node *n = fx_node_get(r->root, "model_type");
	struct fx_diag *d;
	const char *near;

	r->arch = ARCHS;
	for (u32 i = 0; n && n->kind == FX_NODE_SCALAR && i < ARCHS; i++)
		if (!strcmp(arch_name[i], n->text))
			r->arch = i;
	if (r->arch != ARCHS) {
		r->m->arch = arch_name[r->arch];
		return;
	}
	if (!n || n->kind != FX_NODE_SCALAR) {
		fx_diag(r->diags, FX_E_MODEL_ARCH, n ? n->pos : r->root->pos,
			"the config does not say its model_type; known are llama, qwen3, qwen3_moe, mixtral and deepseek_v3");
		return;
	}
	d = fx_diag(r->diags, FX_E_MODEL_ARCH, n->pos,
		    "the architecture '%s' is not known; known are llama, qwen3, qwen3_moe, mixtral and deepseek_v3",
		    n->text);
	near = fx_nearest_name(n->text, arch_name, ARCHS);
	if (near)
		fx_diag_help(d, "did you mean '%s'?", near);
}

static void read_entry(struct reader *r, const struct entry *e)
{
	const struct fx_node *n = fx_node_get(r->root, e->key);
	u64 v;

	r->pos[e->field] = n ? n->pos : r->root->pos;
	if (!n || fx_node_null(n)) {
		if (!e->optional)
			fx_diag(r->diags, FX_E_MODEL_FIELD, r->pos[e->field],
				"'%s' is missing, which a %s config has",
				e->key, r->m->arch);
		return;
	}
	if (n->kind != FX_NODE_SCALAR || n->quoted || fx_parse_u64(n->text, &v) ||
	    v < e->min || v > e->max) {
		fx_diag(r->diags, FX_E_MODEL_FIELD, n->pos,
			"'%s' is %s, and must be a whole number from %llu to %llu",
			e->key, n->kind == FX_NODE_SCALAR ? n->text :
			fx_node_what(n), e->min, e->max);
		return;
	}
	r->m->v[e->field] = v;
}

static void read_expected(struct reader *r, const struct expected *x)
{
	const struct fx_node *n = fx_node_get(r->root, x->key);

	if (!n || fx_node_null(n) ||
	    (n->kind == FX_NODE_SCALAR && !strcmp(n->text, x->value)))
		return;
	fx_diag(r->diags, FX_E_MODEL_FIELD, n->pos,
		"'%s' is %s, and only %s is understood", x->key,
		n->kind == FX_NODE_SCALAR ? n->text : fx_node_what(n), x->value);
}

static void read_mlp_only(struct reader *r)
{
	const struct fx_node *n = fx_node_get(r->root, "mlp_only_layers");

	if (r->arch == QWEN3_MOE && n && !fx_node_null(n) &&
	    (n->kind != FX_NODE_LIST || n->n))
		fx_diag(r->diags, FX_E_MODEL_FIELD, n->pos,
			"'mlp_only_layers' is not empty, and only models with experts in every layer are understood");
}

/* Where a config may leave something out. */
static void defaults(struct reader *r)
{
	u64 *v = r->m->v;

	if (r->arch == DEEPSEEK_V3) {
		v[FX_M_KV_HEADS] = v[FX_M_HEADS];
		v[FX_M_HEAD_DIM] = v[FX_M_NOPE_DIM] + v[FX_M_ROPE_DIM];
	}
	if (!v[FX_M_KV_HEADS])
		v[FX_M_KV_HEADS] = v[FX_M_HEADS];
	/* Qwen3 sets it, and hidden / heads would be wrong there */
	if (!v[FX_M_HEAD_DIM] && !(v[FX_M_HIDDEN] % v[FX_M_HEADS]))
		v[FX_M_HEAD_DIM] = v[FX_M_HIDDEN] / v[FX_M_HEADS];
	if (r->arch == MIXTRAL) {
		v[FX_M_EXPERT_FFN] = v[FX_M_FFN];
		v[FX_M_FFN] = 0;
	}
	if (!v[FX_M_EXPERTS])
		v[FX_M_DENSE_LAYERS] = v[FX_M_LAYERS];
}

static void check_shape(struct reader *r)
{
	const u64 *v = r->m->v;

	if (!v[FX_M_HEAD_DIM])
		fx_diag(r->diags, FX_E_MODEL_SHAPE, r->pos[FX_M_HIDDEN],
			"'head_dim' is missing, and 'hidden_size' %llu is not divisible by %llu heads",
			v[FX_M_HIDDEN], v[FX_M_HEADS]);
	if (v[FX_M_KV_HEADS] > v[FX_M_HEADS] ||
	    v[FX_M_HEADS] % v[FX_M_KV_HEADS])
		fx_diag(r->diags, FX_E_MODEL_SHAPE, r->pos[FX_M_KV_HEADS],
			"%llu heads cannot share %llu key-value heads evenly",
			v[FX_M_HEADS], v[FX_M_KV_HEADS]);
	if (v[FX_M_ACTIVE] > v[FX_M_EXPERTS])
		fx_diag(r->diags, FX_E_MODEL_SHAPE, r->pos[FX_M_ACTIVE],
			"%llu experts per token are more than the %llu there are",
			v[FX_M_ACTIVE], v[FX_M_EXPERTS]);
	if (v[FX_M_DENSE_LAYERS] > v[FX_M_LAYERS])
		fx_diag(r->diags, FX_E_MODEL_SHAPE, r->pos[FX_M_DENSE_LAYERS],
			"%llu dense layers are more than the %llu there are",
			v[FX_M_DENSE_LAYERS], v[FX_M_LAYERS]);
}

static void read_config(struct reader *r)
{
	if (r->root->kind != FX_NODE_MAP) {
		fx_diag(r->diags, FX_E_MODEL_ARCH, r->root->pos,
			"this is no config.json of a model: it holds %s",
			fx_node_what(r->root));
		return;
	}
	read_arch(r);
	if (r->arch == ARCHS)
		return;
	for (u32 i = 0; i < ARRAY_SIZE(entries); i++)
		if (entries[i].archs & IN(r->arch))
			read_entry(r, &entries[i]);
	for (u32 i = 0; i < ARRAY_SIZE(expected); i++)
		if (expected[i].archs & IN(r->arch))
			read_expected(r, &expected[i]);
	read_mlp_only(r);
	if (fx_diags_count(r->diags))
		return;
	defaults(r);
	check_shape(r);
}

enum fx_rc fx_model_read(const char *path, struct fx_model *m)
{
	struct reader r = { .m = m };
	struct fx_arena arena = { 0 };
	char *text = NULL;
	enum fx_rc rc = FX_RC_OK;
	size_t len;
	int err;

	memset(m, 0, sizeof(*m));
	err = fx_read_file(path, FX_YAML_MAX_BYTES, &text, &len);
	if (err == -EFBIG)
		len = FX_YAML_MAX_BYTES + 1;
	else if (err)
		return fx_read_failed("the model config", path, err);
	r.diags = fx_diags_new(path, text, len);
	r.root = fx_yaml_parse(&arena, r.diags, text, len, "JSON");
	if (r.root)
		read_config(&r);
	if (fx_diags_print(r.diags))
		rc = FX_RC_INPUT;
	fx_diags_free(r.diags);
	fx_arena_free(&arena);
	free(text);
	return rc;
}

void fx_model_sizes(const struct fx_model *m, struct fx_model_sizes *s)
{
	const u64 *v = m->v;
	u64 h = v[FX_M_HIDDEN], heads = v[FX_M_HEADS];
	u64 q = heads * v[FX_M_HEAD_DIM];
	u64 kv = v[FX_M_KV_HEADS] * v[FX_M_HEAD_DIM];
	bool mla = v[FX_M_KV_LORA];

	memset(s, 0, sizeof(*s));
	if (mla) {
		u64 latent = v[FX_M_KV_LORA] + v[FX_M_ROPE_DIM];

		/* what is kept per token is the latent and one rotary key */
		s->kv_token = latent;
		s->attn_out = heads * v[FX_M_V_DIM];
		s->qkv = q + latent;
		s->w_attn = h * v[FX_M_Q_LORA] + v[FX_M_Q_LORA] * q +
			    h * latent +
			    v[FX_M_KV_LORA] * heads *
			    (v[FX_M_NOPE_DIM] + v[FX_M_V_DIM]) +
			    s->attn_out * h;
	} else {
		s->kv_token = 2 * kv;
		s->attn_out = q;
		s->qkv = q + 2 * kv;
		s->w_attn = 2 * h * q + 2 * h * kv;
	}
	/* the router of a layer with experts goes with attention's weights */
	s->w_attn += h * v[FX_M_EXPERTS];
	s->w_dense = 3 * h * v[FX_M_FFN];
	s->w_expert = 3 * h * v[FX_M_EXPERT_FFN];
	s->w_active = s->w_attn + (v[FX_M_EXPERTS] ?
		      (v[FX_M_ACTIVE] + v[FX_M_SHARED]) * s->w_expert :
		      s->w_dense);
}
