// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* `transform:`, a list of words and of { word: { arguments } }. */
#include <string.h>

#include "codes.h"
#include "parse.h"

#define AT(field)	offsetof(struct fx_xform_decl, field)

static void take_to(struct fx_graph *g, const struct fx_key *k,
		    struct fx_node *v, void *obj)
{
	((struct fx_xform_decl *)obj)->to_pos = v->pos;
	fx_take_word(g, k, v, obj);
}

static void take_from(struct fx_graph *g, const struct fx_key *k,
		      struct fx_node *v, void *obj)
{
	((struct fx_xform_decl *)obj)->from_pos = v->pos;
	fx_take_word(g, k, v, obj);
}

/* `verify: true`, or the algorithm that the reader will use */
static void take_verify(struct fx_graph *g, const struct fx_key *k,
			struct fx_node *v, void *obj)
{
	struct fx_xform_decl *x = obj;
	int value;

	x->verify_pos = v->pos;
	if (v->kind == FX_NODE_SCALAR &&
	    (!strcmp(v->text, "true") || !strcmp(v->text, "false"))) {
		x->verify = v->text[0] == 't';
		return;
	}
	value = fx_want_value(g, v, k->name, &fx_checksums);
	if (value > 0) {
		x->verify = true;
		x->verify_algo = value;
	}
}

static void take_name(struct fx_graph *g, const struct fx_key *k,
		      struct fx_node *v, void *obj)
{
	const char *word = fx_want_word(g, v, k->name, "a name");

	(void)obj;
	if (word)
		fx_check_name(g, v->pos, word, k->name);
}

static void take_number(struct fx_graph *g, const struct fx_key *k,
			struct fx_node *v, void *obj)
{
	const char *word = fx_want_word(g, v, k->name, "a number");
	u64 n;

	(void)obj;
	if (word && fx_parse_u64(word, &n))
		fx_diag(g->diags, FX_E_WORD, v->pos,
			"'%s' takes a number, not '%s'", k->name, word);
}

static void take_flag(struct fx_graph *g, const struct fx_key *k,
		      struct fx_node *v, void *obj)
{
	struct fx_key at = { k->name };
	bool unused;

	(void)obj;
	fx_take_bool(g, &at, v, &unused);
}

static void take_names(struct fx_graph *g, const struct fx_key *k,
		       struct fx_node *v, void *obj)
{
	if (fx_want_kind(g, v, k->name, FX_NODE_LIST))
		for (u32 i = 0; i < v->n; i++)
			take_name(g, k, v->item[i], obj);
}

static void take_refs(struct fx_graph *g, const struct fx_key *k,
		      struct fx_node *v, void *obj)
{
	struct fx_ref ref;

	(void)obj;
	if (fx_want_kind(g, v, k->name, FX_NODE_LIST))
		for (u32 i = 0; i < v->n; i++)
			fx_ref_parse(g, v->item[i], &ref);
}

static const char *const codec_name[] = { "none", "lz4", "zstd" };
static const struct fx_names codecs = { "compression", codec_name, 3 };
static const char *const reduce_name[] = { "sum", "max", "xor" };
static const struct fx_names reductions = { "reduction", reduce_name, 3 };

static const struct fx_key no_keys[] = { { } };

static const struct fx_key quantize_keys[] = {
	{ "to", take_to, AT(to), &fx_elements, .required = true },
	{ "from", take_from, AT(from), &fx_elements },
	{ }
};

static const struct fx_key dequantize_keys[] = {
	{ "to", take_to, AT(to), &fx_elements },
	{ "from", take_from, AT(from), &fx_elements },
	{ }
};

static const struct fx_key compress_keys[] = {
	{ "algo", fx_take_word, AT(codec), &codecs, .required = true },
	{ "level", take_number },
	{ "only_if_pays", take_flag },
	{ }
};

static const struct fx_key decompress_keys[] = {
	{ "algo", fx_take_word, AT(codec), &codecs },
	{ }
};

static const struct fx_key checksum_keys[] = {
	{ "algo", fx_take_word, AT(algo), &fx_checksums, .required = true },
	{ "verify", take_verify },
	{ }
};

static const struct fx_key filter_keys[] = {
	{ "keep", take_name, .required = true },
	{ }
};

static const struct fx_key reduce_keys[] = {
	{ "op", fx_take_word, AT(codec), &reductions, .required = true },
	{ "from", take_refs, .required = true },
	{ }
};

static const struct fx_key index_keys[] = {
	{ "index", take_name, .required = true },
	{ }
};

static const struct fx_key replicate_keys[] = {
	{ "to", take_names, .required = true },
	{ }
};

static const struct fx_key *const keys_of[FX_XFORMS] = {
	[FX_XFORM_MOVE] = no_keys,
	[FX_XFORM_QUANTIZE] = quantize_keys,
	[FX_XFORM_DEQUANTIZE] = dequantize_keys,
	[FX_XFORM_COMPRESS] = compress_keys,
	[FX_XFORM_DECOMPRESS] = decompress_keys,
	[FX_XFORM_CHECKSUM] = checksum_keys,
	[FX_XFORM_FILTER] = filter_keys,
	[FX_XFORM_REDUCE] = reduce_keys,
	[FX_XFORM_SCATTER] = index_keys,
	[FX_XFORM_GATHER] = index_keys,
	[FX_XFORM_REPLICATE] = replicate_keys,
	[FX_XFORM_PERSIST] = no_keys,
};

static void take_transform(struct fx_graph *g, struct fx_node *v,
			   struct fx_xform_decl *x)
{
	const struct fx_node *word = v, *args = NULL;
	const struct fx_node none = { .kind = FX_NODE_MAP, .pos = v->pos };
	char what[48];
	int kind;

	if (v->kind == FX_NODE_MAP) {
		if (v->n != 1) {
			fx_diag_help(fx_diag(g->diags, FX_E_KIND, v->pos,
					     "one transform stands here, not %u",
					     v->n),
				     "- quantize: { to: mxfp8 }");
			return;
		}
		word = v->key[0];
		args = v->item[0];
	}
	x->pos = word->pos;
	kind = fx_want_value(g, word, "transform", &fx_xforms);
	if (kind < 0)
		return;
	x->kind = kind;
	if (!args || fx_node_null(args))
		args = &none;
	snprintf(what, sizeof(what), "the transform '%s'", word->text);
	fx_take_map(g, args, what, keys_of[kind], x);
}

void fx_take_transforms(struct fx_graph *g, const struct fx_key *k,
			struct fx_node *v, void *obj)
{
	struct fx_class *c = obj;

	if (!fx_want_kind(g, v, k->name, FX_NODE_LIST))
		return;
	if (v->n > FX_MAX_XFORMS) {
		fx_diag(g->diags, FX_E_LIMIT, v->pos,
			"an edge has at most %d transforms, not %u",
			FX_MAX_XFORMS, v->n);
		return;
	}
	for (u32 i = 0; i < v->n; i++)
		take_transform(g, v->item[i], &c->xform[c->n_xform++]);
}
