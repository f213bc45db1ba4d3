// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#include "codes.h"
#include "yaml.h"

/*
 * References such as kv_out[layer, 0]? stand in lists, where YAML takes
 * brackets, commas and question marks for its own. Where a bracket follows a
 * word at once, which is no YAML in a list and plain text elsewhere, these
 * characters go through the YAML reader as private ones of the same width in
 * columns, and are put back in every scalar.
 */
static const char stand_in[] = "[],?";

#define STAND_IN_BYTES		3	/* U+E000 + index: ee 80 80+index */

struct reader {
	yaml_parser_t yaml;
	struct fx_arena *arena;
	struct fx_diags *diags;
	u32 depth;
	u32 nodes;
	bool failed;
	const char *language;	/* what the file is to be, for messages */
};

static bool is_stand_in(const char *s)
{
	return (u8)s[0] == 0xee && (u8)s[1] == 0x80 && (u8)s[2] >= 0x80 &&
	       (u8)s[2] < 0x80 + sizeof(stand_in) - 1;
}

static size_t put_stand_in(char *to, char c)
{
	to[0] = (char)0xee;
	to[1] = (char)0x80;
	to[2] = (char)(0x80 + (strchr(stand_in, c) - stand_in));
	return STAND_IN_BYTES;
}

/* The bracket that closes an index whose opening one stands at text[i]. */
static size_t index_end(const char *text, size_t len, size_t i)
{
	for (i++; i < len; i++) {
		if (text[i] == ']')
			return i;
		if (!fx_is_word(text[i]) && !strchr(" \t+-*/%(),", text[i]))
			break;
	}
	return 0;
}

/* The text with stand-ins; NULL when it has private characters itself. */
static char *protect(const char *text, size_t len, size_t *out_len,
		     size_t *private_at)
{
	size_t n = 0, cap = len + 64, end = 0;
	char *out = fx_alloc(cap);

	for (size_t i = 0; i < len; i++) {
		bool inside = i < end && (text[i] == ',' || text[i] == '[');
		bool swap;

		if (cap - n < 8) {
			cap += cap / 2;
			out = fx_realloc(out, cap, 1);
		}
		if (len - i >= STAND_IN_BYTES && is_stand_in(text + i)) {
			*private_at = i;
			free(out);
			return NULL;
		}
		if (text[i] == '[' && i && fx_is_word(text[i - 1])) {
			size_t e = index_end(text, len, i);

			if (e)
				end = e;
			inside = e;
		}
		swap = inside || (end && i == end) ||
		       (end && i == end + 1 && text[i] == '?');
		if (swap)
			n += put_stand_in(out + n, text[i]);
		else
			out[n++] = text[i];
	}
	*out_len = n;
	return out;
}

static size_t restore(char *s, size_t len)
{
	size_t n = 0;

	for (size_t i = 0; i < len; i++) {
		if (len - i >= STAND_IN_BYTES && is_stand_in(s + i)) {
			s[n++] = stand_in[(u8)s[i + 2] - 0x80];
			i += STAND_IN_BYTES - 1;
		} else {
			s[n++] = s[i];
		}
	}
	s[n] = '\0';
	return n;
}

static struct fx_pos at_mark(yaml_mark_t mark)
{
	return (struct fx_pos){ mark.line + 1, mark.column + 1 };
}

static struct fx_pos at_byte(const char *text, size_t len, size_t at)
{
	struct fx_pos pos = { 1, 1 };

	for (size_t i = 0; i < at && i < len; i++) {
		if (text[i] == '\n') {
			pos.line++;
			pos.col = 1;
		} else if (((u8)text[i] & 0xc0) != 0x80) {
			pos.col++;
		}
	}
	return pos;
}

static struct fx_diag *complain(struct reader *r, enum fx_code code,
				struct fx_pos pos, const char *what)
{
	r->failed = true;
	return fx_diag(r->diags, code, pos, "%s", what);
}

static void syntax_error(struct reader *r, const char *text, size_t len)
{
	const yaml_parser_t *y = &r->yaml;
	struct fx_pos pos = at_mark(y->problem_mark);
	struct fx_diag *g;

	r->failed = true;
	if (y->error == YAML_READER_ERROR) {
		pos = at_byte(text, len, y->problem_offset);
		fx_diag(r->diags, FX_E_YAML, pos,
			"this is no %s text: %s", r->language, y->problem);
		return;
	}
	g = fx_diag(r->diags, FX_E_YAML, pos, "this is not %s: %s", r->language,
		    y->problem ? y->problem : "out of memory");
	if (y->context)
		fx_diag_note(g, at_mark(y->context_mark), "%s", y->context);
}

static bool next(struct reader *r, yaml_event_t *ev)
{
	/* behind an error libyaml goes on with events that are none */
	return !r->failed && r->yaml.error == YAML_NO_ERROR &&
	       yaml_parser_parse(&r->yaml, ev);
}

static u32 characters(const char *s)
{
	u32 n = 0;

	for (; *s; s++)
		n += ((u8)*s & 0xc0) != 0x80;
	return n;
}

static struct fx_node *scalar(struct reader *r, const yaml_event_t *ev,
			      struct fx_node *n)
{
	size_t len = ev->data.scalar.length;
	char *text = fx_arena_strndup(r->arena,
				      (const char *)ev->data.scalar.value, len);
	u32 width = ev->end_mark.column - ev->start_mark.column;

	if (strlen(text) != len) {
		complain(r, FX_E_YAML, n->pos, "a NUL character is not allowed");
		return NULL;
	}
	restore(text, len);
	n->kind = FX_NODE_SCALAR;
	n->text = text;
	n->quoted = ev->data.scalar.style != YAML_PLAIN_SCALAR_STYLE;
	n->verbatim = ev->start_mark.line == ev->end_mark.line &&
		      width == characters(text) + 2 * n->quoted;
	return n;
}

static struct fx_node *node(struct reader *r, const yaml_event_t *ev);

static struct fx_node *list(struct reader *r, struct fx_node *n)
{
	struct fx_node **item = NULL;
	u32 cap = 0;
	yaml_event_t ev;

	n->kind = FX_NODE_LIST;
	while (next(r, &ev)) {
		bool end = ev.type == YAML_SEQUENCE_END_EVENT;

		if (!end) {
			fx_grow(item, n->n, cap);
			item[n->n++] = node(r, &ev);
		}
		yaml_event_delete(&ev);
		if (end)
			break;
	}
	n->item = fx_arena_dup(r->arena, item, n->n * sizeof(*item));
	free(item);
	return n;
}

static u32 hash(const char *s)
{
	u32 h = 2166136261U;

	for (; *s; s++)
		h = (h ^ (u8)*s) * 16777619U;
	return h;
}

static int by_hash(const void *a, const void *b)
{
	const struct fx_node *const *x = a, *const *y = b;
	u32 hx = hash((*x)->text), hy = hash((*y)->text);

	if (hx != hy)
		return hx < hy ? -1 : 1;
	if ((*x)->pos.line != (*y)->pos.line)
		return (*x)->pos.line < (*y)->pos.line ? -1 : 1;
	return (*x)->pos.col < (*y)->pos.col ? -1 : 1;
}

/* Sorted by hash, so that a mapping of many keys costs no square of them. */
static void refuse_twice(struct reader *r, const struct fx_node *map)
{
	struct fx_node **key = fx_calloc(map->n, sizeof(*key));
	struct fx_diag *g;

	for (u32 i = 0; i < map->n; i++)
		key[i] = map->key[i];
	qsort(key, map->n, sizeof(*key), by_hash);
	for (u32 i = 0; i < map->n; i++) {
		for (u32 j = i + 1; j < map->n &&
		     hash(key[j]->text) == hash(key[i]->text); j++) {
			if (strcmp(key[i]->text, key[j]->text))
				continue;
			r->failed = true;
			g = fx_diag(r->diags, FX_E_KEY_TWICE, key[j]->pos,
				    "key '%s' stands twice in this mapping",
				    key[j]->text);
			fx_diag_note(g, key[i]->pos, "it stands here first");
			break;
		}
	}
	free(key);
}

static struct fx_node *map(struct reader *r, struct fx_node *n)
{
	struct fx_node **item = NULL, **key = NULL, *k;
	u32 cap = 0, n_key = 0, cap_key = 0;
	yaml_event_t ev;

	n->kind = FX_NODE_MAP;
	while (next(r, &ev)) {
		bool end = ev.type == YAML_MAPPING_END_EVENT;

		k = end ? NULL : node(r, &ev);
		yaml_event_delete(&ev);
		if (end || !k)
			break;
		if (k->kind != FX_NODE_SCALAR) {
			complain(r, FX_E_KEY_KIND, k->pos,
				 "a key is a single word here");
			break;
		}
		if (!next(r, &ev))
			break;
		fx_grow(key, n_key, cap_key);
		fx_grow(item, n->n, cap);
		key[n_key++] = k;
		item[n->n++] = node(r, &ev);
		yaml_event_delete(&ev);
	}
	n->item = fx_arena_dup(r->arena, item, n->n * sizeof(*item));
	n->key = fx_arena_dup(r->arena, key, n->n * sizeof(*key));
	free(item);
	free(key);
	if (!r->failed && r->yaml.error == YAML_NO_ERROR)
		refuse_twice(r, n);
	return n;
}

static bool plain_data(struct reader *r, const yaml_event_t *ev,
		       const yaml_char_t *anchor, const yaml_char_t *tag)
{
	struct fx_diag *g;

	if (anchor) {
		g = complain(r, FX_E_ANCHOR, at_mark(ev->start_mark),
			     "anchors are not part of the language");
		fx_diag_help(g, "write the value where it is used; params hold what is used often");
	} else if (tag) {
		complain(r, FX_E_TAG, at_mark(ev->start_mark),
			 "tags are not part of the language");
	}
	return !anchor && !tag;
}

/* What an event begins; NULL after an error. */
static struct fx_node *node(struct reader *r, const yaml_event_t *ev)
{
	struct fx_node *n;

	if (++r->nodes > FX_YAML_MAX_NODES) {
		complain(r, FX_E_TOO_MANY_NODES, at_mark(ev->start_mark),
			 "the file has more than 1048576 values");
		return NULL;
	}
	n = fx_arena_alloc(r->arena, sizeof(*n));
	n->pos = at_mark(ev->start_mark);
	switch (ev->type) {
	case YAML_SCALAR_EVENT:
		if (!plain_data(r, ev, ev->data.scalar.anchor,
				ev->data.scalar.tag))
			return NULL;
		return scalar(r, ev, n);
	case YAML_ALIAS_EVENT:
		complain(r, FX_E_ANCHOR, n->pos,
			 "aliases (*name) are not part of the language");
		return NULL;
	case YAML_SEQUENCE_START_EVENT:
		if (!plain_data(r, ev, ev->data.sequence_start.anchor,
				ev->data.sequence_start.tag))
			return NULL;
		break;
	case YAML_MAPPING_START_EVENT:
		if (!plain_data(r, ev, ev->data.mapping_start.anchor,
				ev->data.mapping_start.tag))
			return NULL;
		break;
	default:
		complain(r, FX_E_YAML, n->pos, "a value is missing");
		return NULL;
	}
	if (++r->depth > FX_YAML_MAX_DEPTH) {
		complain(r, FX_E_TOO_DEEP, n->pos,
			 "lists and mappings nest deeper than 32");
		return NULL;
	}
	n = ev->type == YAML_SEQUENCE_START_EVENT ? list(r, n) : map(r, n);
	r->depth--;
	return n;
}

static struct fx_node *document(struct reader *r)
{
	struct fx_node *root = NULL;
	yaml_event_t ev;
	bool end = false;

	while (!end && next(r, &ev)) {
		switch (ev.type) {
		case YAML_STREAM_START_EVENT:
		case YAML_DOCUMENT_START_EVENT:
		case YAML_DOCUMENT_END_EVENT:
			break;
		case YAML_STREAM_END_EVENT:
			end = true;
			break;
		default:
			if (root)
				complain(r, FX_E_DOCUMENTS,
					 at_mark(ev.start_mark),
					 "the file holds a second document");
			else
				root = node(r, &ev);
		}
		yaml_event_delete(&ev);
	}
	return root;
}

struct fx_node *fx_yaml_parse(struct fx_arena *arena, struct fx_diags *diags,
			      const char *text, size_t len,
			      const char *language)
{
	struct reader r = { .arena = arena, .diags = diags,
			    .language = language };
	struct fx_node *root = NULL;
	size_t input_len, at = 0;
	char *input = NULL;

	if (len > FX_YAML_MAX_BYTES) {
		fx_diag(diags, FX_E_TOO_LARGE, (struct fx_pos){ 0, 0 },
			"the file is larger than 16 MiB");
		return NULL;
	}
	input = protect(text, len, &input_len, &at);
	if (!input) {
		fx_diag(diags, FX_E_YAML, at_byte(text, len, at),
			"this is no %s text: private characters are not allowed",
			language);
		return NULL;
	}
	if (!yaml_parser_initialize(&r.yaml)) {
		fx_diag(diags, FX_E_YAML, (struct fx_pos){ 0, 0 },
			"the YAML reader has no memory");
		goto out;
	}
	yaml_parser_set_encoding(&r.yaml, YAML_UTF8_ENCODING);
	yaml_parser_set_input_string(&r.yaml, (const u8 *)input, input_len);
	root = document(&r);
	if (!r.failed && r.yaml.error != YAML_NO_ERROR)
		syntax_error(&r, input, input_len);
	else if (!r.failed && !root)
		complain(&r, FX_E_EMPTY, (struct fx_pos){ 1, 1 },
			 "the file is empty");
	if (r.failed)
		root = NULL;
	yaml_parser_delete(&r.yaml);
out:
	free(input);
	return root;
}

struct fx_node *fx_node_get(const struct fx_node *map, const char *key)
{
	if (map->kind != FX_NODE_MAP)
		return NULL;
	for (u32 i = 0; i < map->n; i++)
		if (!strcmp(map->key[i]->text, key))
			return map->item[i];
	return NULL;
}

bool fx_node_null(const struct fx_node *n)
{
	return n->kind == FX_NODE_SCALAR && !n->quoted &&
	       (!*n->text || !strcmp(n->text, "~") || !strcmp(n->text, "null"));
}

struct fx_pos fx_node_at(const struct fx_node *n, size_t offset)
{
	struct fx_pos pos = n->pos;

	if (!n->verbatim)
		return pos;
	pos.col += n->quoted;
	for (size_t i = 0; i < offset && n->text[i]; i++)
		pos.col += ((u8)n->text[i] & 0xc0) != 0x80;
	return pos;
}

const char *fx_node_what(const struct fx_node *n)
{
	static const char *const what[] = { "a word", "a list", "a mapping" };

	return fx_node_null(n) ? "nothing" : what[n->kind];
}
