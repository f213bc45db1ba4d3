// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* `copies:` of a place: what moves data to a GPU and from it. */
#include <ctype.h>
#include <string.h>

#include "codes.h"
#include "copies.h"
#include "parse.h"

const struct fx_copy_known fx_copy_known[] = {
	{ "cudaMemcpy", "libcudart.so.12", FX_COPY_KIND, true },
	{ "cudaMemcpyAsync", "libcudart.so.12", FX_COPY_KIND, true },
	{ "cuMemcpyHtoD_v2", "libcuda.so.1", FX_COPY_IN, true },
	{ "cuMemcpyHtoDAsync_v2", "libcuda.so.1", FX_COPY_IN, true },
	{ "cuMemcpyDtoH_v2", "libcuda.so.1", FX_COPY_OUT, true },
	{ "cuMemcpyDtoHAsync_v2", "libcuda.so.1", FX_COPY_OUT, true },
};

const u32 fx_n_copy_known = ARRAY_SIZE(fx_copy_known);

static const char *const plain[] = { "memcpy", "memmove" };

static const char *const way_name[] = {
	[FX_COPY_ANY] = "any", [FX_COPY_IN] = "in", [FX_COPY_OUT] = "out",
};

static const struct fx_names ways = { "way", way_name, ARRAY_SIZE(way_name) };

const struct fx_copy_known *fx_copy_known_named(const char *name)
{
	for (u32 i = 0; i < fx_n_copy_known; i++)
		if (!strcmp(fx_copy_known[i].name, name))
			return &fx_copy_known[i];
	return NULL;
}

/* A name of C, or of C++ as the linker has it. */
static bool check_symbol(struct fx_graph *g, struct fx_pos pos, const char *name,
			 const char *what)
{
	size_t len = strlen(name);
	bool ok = len && len < FX_COPY_NAME_LEN && !isdigit((u8)name[0]);

	for (size_t i = 0; ok && i < len; i++)
		ok = fx_is_word(name[i]);
	if (!ok)
		fx_diag(g->diags, FX_E_IDENT, pos,
			"'%s' cannot name a %s: letters, digits and _, no digit first, at most %d",
			name, what, FX_COPY_NAME_LEN - 1);
	return ok;
}

static void take_library(struct fx_graph *g, const struct fx_key *k,
			 struct fx_node *v, void *obj)
{
	const char *word = fx_want_word(g, v, k->name, "a library, such as libcudart.so.12");
	struct fx_copies *c = obj;
	bool ok = true;

	if (!word)
		return;
	/* it becomes part of a section's name, where : and @ mean something */
	for (const char *p = word; *p; p++)
		ok = ok && (fx_is_word(*p) || strchr("./+-", *p));
	if (!ok || strlen(word) >= FX_COPY_NAME_LEN) {
		fx_diag(g->diags, FX_E_COPIES, v->pos,
			"'%s' cannot name a library: letters, digits and _ . / + -, at most %d",
			word, FX_COPY_NAME_LEN - 1);
		return;
	}
	c->library = word;
	c->library_pos = v->pos;
}

static void add_function(struct fx_graph *g, struct fx_copies *c, const char *name,
			 struct fx_pos pos, int way)
{
	const struct fx_copy_known *known = fx_copy_known_named(name);
	struct fx_copy_fn *f = &c->fn[c->n_fn];

	if (!check_symbol(g, pos, name, "function"))
		return;
	for (u32 i = 0; i < c->n_fn; i++) {
		if (strcmp(c->fn[i].name, name))
			continue;
		fx_diag_note(fx_diag(g->diags, FX_E_TWICE, pos,
				     "'%s' stands twice in 'functions'", name),
			     c->fn[i].pos, "the first is here");
		return;
	}
	*f = (struct fx_copy_fn){ .name = name, .pos = pos, .way = FX_COPY_ANY };
	if (known) {
		f->way = known->way;
		f->status = known->status;
		f->library = known->library;
	}
	if (way >= 0)
		f->way = way;
	c->n_fn++;
}

static void take_functions(struct fx_graph *g, const struct fx_key *k,
			   struct fx_node *v, void *obj)
{
	struct fx_copies *c = obj;

	if (!fx_want_kind(g, v, k->name, FX_NODE_LIST))
		return;
	if (!v->n || v->n > FX_COPY_MAX_FUNCTIONS) {
		fx_diag(g->diags, v->n ? FX_E_LIMIT : FX_E_COPIES, v->pos,
			"'functions' has %u entries; 1 to %u fit", v->n, FX_COPY_MAX_FUNCTIONS);
		return;
	}
	c->fn = fx_arena_alloc(&g->arena, v->n * sizeof(*c->fn));
	for (u32 i = 0; i < v->n; i++) {
		const struct fx_node *f = v->item[i];
		const char *word;
		int way;

		if (f->kind == FX_NODE_MAP && f->n == 1) {
			way = fx_want_value(g, f->item[0], f->key[0]->text, &ways);
			if (way >= 0)
				add_function(g, c, f->key[0]->text, f->key[0]->pos, way);
			continue;
		}
		word = fx_want_word(g, f, k->name, "names, or { name: in }");
		if (word)
			add_function(g, c, word, f->pos, -1);
	}
}

static void take_kernels(struct fx_graph *g, const struct fx_key *k,
			 struct fx_node *v, void *obj)
{
	struct fx_copies *c = obj;

	if (!fx_want_kind(g, v, k->name, FX_NODE_MAP))
		return;
	if (!v->n || v->n > FX_COPY_MAX_KERNELS) {
		fx_diag(g->diags, v->n ? FX_E_LIMIT : FX_E_COPIES, v->pos,
			"'kernels' has %u entries; 1 to %u fit", v->n, FX_COPY_MAX_KERNELS);
		return;
	}
	c->kernel = fx_arena_alloc(&g->arena, v->n * sizeof(*c->kernel));
	for (u32 i = 0; i < v->n; i++) {
		const char *edge = fx_want_word(g, v->item[i], v->key[i]->text, "an edge");

		if (!edge || !check_symbol(g, v->key[i]->pos, v->key[i]->text, "kernel"))
			continue;
		c->kernel[c->n_kernel++] = (struct fx_copy_kernel){
			.name = v->key[i]->text, .pos = v->key[i]->pos,
			.edge = { edge, v->item[i]->pos, FX_PLACE_NONE },
		};
	}
}

/* Those that clang 19 makes PTX for. */
static const char *const architectures[] = {
	"sm_20", "sm_21", "sm_30", "sm_32", "sm_35", "sm_37", "sm_50", "sm_52", "sm_53", "sm_60",
	"sm_61", "sm_62", "sm_70", "sm_72", "sm_75", "sm_80", "sm_86", "sm_87", "sm_89", "sm_90",
	"sm_90a",
};

static void take_ptx(struct fx_graph *g, const struct fx_key *k,
		     struct fx_node *v, void *obj)
{
	const char *word = fx_want_word(g, v, k->name, "an architecture, such as sm_90");

	if (!word)
		return;
	for (u32 i = 0; i < ARRAY_SIZE(architectures); i++)
		if (!strcmp(word, architectures[i])) {
			((struct fx_copies *)obj)->ptx = word;
			return;
		}
	fx_diag(g->diags, FX_E_COPIES, v->pos,
		"'%s' is no architecture of a GPU that clang 19 knows, sm_20 to sm_90a: such as sm_90",
		word);
}

static const struct fx_key copies_keys[] = {
	{ "library", take_library },
	{ "functions", take_functions },
	{ "kernels", take_kernels },
	{ "ptx", take_ptx },
	{ }
};

/* Those that are meant where none are named. */
static void default_functions(struct fx_graph *g, struct fx_copies *c)
{
	u32 n = c->library ? ARRAY_SIZE(plain) : fx_n_copy_known;

	c->fn = fx_arena_alloc(&g->arena, n * sizeof(*c->fn));
	for (u32 i = 0; i < n; i++)
		add_function(g, c, c->library ? plain[i] : fx_copy_known[i].name, c->pos, -1);
}

/* fx_take_copies() - the copies of the place @obj */
void fx_take_copies(struct fx_graph *g, const struct fx_key *k,
		    struct fx_node *v, void *obj)
{
	struct fx_copies *c = &((struct fx_place *)obj)->copies;
	u32 errors = fx_diags_count(g->diags);

	(void)k;
	c->given = true;
	c->pos = v->pos;
	fx_take_map(g, v, "copies", copies_keys, c);
	if (fx_diags_count(g->diags) != errors)
		return;
	if (!c->n_fn && (c->library || (!c->n_kernel && !c->ptx)))
		default_functions(g, c);
	for (u32 i = 0; i < c->n_fn; i++) {
		if (c->library)
			c->fn[i].library = c->library;
		if (!c->fn[i].library)
			fx_diag_help(fx_diag(g->diags, FX_E_COPIES, c->fn[i].pos,
					     "nothing says which library '%s' is in", c->fn[i].name),
				     "copies: { library: libkv.so, functions: [%s] }", c->fn[i].name);
	}
}
