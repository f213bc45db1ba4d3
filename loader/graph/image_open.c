// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * An image that somebody hands us: every field against its range before
 * anything is looked up by it. The kernel makes the same checks again.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../util.h"
#include "image.h"

#define MAX_BYTES	(U64_MAX >> 1)

static const char *const section_name[FX_SECTS] = {
	"places", "alias sets", "edges", "instances", "after entries",
};

static const u32 section_max[FX_SECTS] = {
	FX_MAX_PLACES, FX_MAX_ALIASES, FX_MAX_CLASSES, FX_MAX_EDGES,
	FX_MAX_AFTER,
};

/* A name: letters, digits, _ and @more, then only NULs. */
static bool is_name(const char *s, const char *more)
{
	size_t len = strnlen(s, FX_NAME_LEN);

	if (!len || len == FX_NAME_LEN || strchr(more, s[0]))
		return false;
	for (size_t i = 0; i < FX_NAME_LEN; i++)
		if (i < len ? !fx_is_word(s[i]) && !strchr(more, s[i]) : s[i])
			return false;
	return true;
}

static bool is_text(const char *s, size_t size)
{
	size_t len = strnlen(s, size);

	for (size_t i = len; i < size; i++)
		if (s[i])
			return false;
	for (size_t i = 0; i < len; i++)
		if ((u8)s[i] < 0x20 || s[i] == 0x7f)
			return false;
	return len < size;
}

static char *wrong(const char *what, u64 i, const char *field)
{
	return fx_asprintf("%s %llu: %s is out of range", what, i, field);
}

#define CHECK(cond, what, i, field)				\
	do {							\
		if (!(cond))					\
			return wrong(what, i, field);		\
	} while (0)

static char *check_places(const struct fx_image *img)
{
	u32 n = img->hdr->count[FX_SECT_PLACE];

	for (u32 i = 0; i < n; i++) {
		const struct fx_place_desc *p = &img->place[i];

		CHECK(is_name(p->name, ""), "place", i, "name");
		CHECK(p->kind < FX_PLACE_KINDS, "place", i, "kind");
		CHECK(p->match_kind < FX_MATCH_KINDS, "place", i, "match_kind");
		CHECK(!(p->flags & ~FX_PLACE_F_ALL), "place", i, "flags");
		CHECK(is_text(p->match, FX_MATCH_LEN), "place", i, "match");
		CHECK(!p->match[0] == !p->match_kind, "place", i, "match");
		CHECK(p->capacity <= MAX_BYTES, "place", i, "capacity");
		CHECK(p->island <= n, "place", i, "island");
		CHECK(!p->reserved, "place", i, "reserved");
		for (u32 j = 0; j < i; j++)
			if (!strcmp(p->name, img->place[j].name))
				return fx_asprintf("places %u and %u have the same name",
						   j, i);
	}
	return NULL;
}

static char *check_aliases(const struct fx_image *img)
{
	for (u32 i = 0; i < img->hdr->count[FX_SECT_ALIAS]; i++) {
		const struct fx_alias_desc *a = &img->alias[i];

		CHECK(is_name(a->name, ""), "alias set", i, "name");
		CHECK(a->bytes && a->bytes <= MAX_BYTES, "alias set", i, "bytes");
	}
	return NULL;
}

static char *check_xforms(const struct fx_class_desc *c, u32 i)
{
	static const u8 args[FX_XFORMS] = {
		[FX_XFORM_QUANTIZE] = FX_ELEMS,
		[FX_XFORM_DEQUANTIZE] = FX_ELEMS,
		[FX_XFORM_CHECKSUM] = FX_CSUMS,
	};
	static const struct fx_xform_desc none;

	CHECK(c->n_xforms <= FX_MAX_XFORMS, "edge", i, "n_xforms");
	for (u32 j = 0; j < FX_MAX_XFORMS; j++) {
		const struct fx_xform_desc *x = &c->xform[j];

		if (j >= c->n_xforms) {
			CHECK(!memcmp(x, &none, sizeof(none)), "edge", i,
			      "an unused transform");
			continue;
		}
		CHECK(x->kind && x->kind < FX_XFORMS, "edge", i,
		      "a transform's kind");
		CHECK(args[x->kind] ? x->arg && x->arg < args[x->kind] : !x->arg,
		      "edge", i, "a transform's arg");
		CHECK(x->from < FX_ELEMS, "edge", i, "a transform's from");
		CHECK(!(x->flags & ~FX_XFORM_F_ALL), "edge", i,
		      "a transform's flags");
	}
	return NULL;
}

static char *check_loops(const struct fx_class_desc *c, u32 i)
{
	u64 count = 1;
	bool ended = false;

	for (u32 j = 0; j < FX_MAX_DIMS; j++) {
		ended = ended || !c->dim[j];
		CHECK(!ended || !c->dim[j], "edge", i, "dim");
		CHECK(c->dim[j] <= FX_MAX_EDGES, "edge", i, "dim");
		if (count <= FX_MAX_EDGES && c->dim[j])
			count *= c->dim[j];
	}
	CHECK(count == c->count, "edge", i, "count");
	return NULL;
}

static char *check_class(const struct fx_image *img, u32 i, u64 first)
{
	const struct fx_class_desc *c = &img->cls[i];
	const struct fx_image_hdr *h = img->hdr;
	char *err;

	CHECK(is_name(c->name, ""), "edge", i, "name");
	CHECK(c->from < h->count[FX_SECT_PLACE], "edge", i, "from");
	CHECK(c->n_to && c->n_to <= FX_MAX_TO, "edge", i, "n_to");
	for (u32 j = 0; j < FX_MAX_TO; j++) {
		CHECK(j < c->n_to ? c->to[j] < h->count[FX_SECT_PLACE] :
		      !c->to[j], "edge", i, "to");
		for (u32 k = 0; k < j && j < c->n_to; k++)
			CHECK(c->to[k] != c->to[j], "edge", i, "to");
	}
	CHECK(c->element < FX_ELEMS, "edge", i, "element");
	CHECK(c->order < FX_ORDERS, "edge", i, "order");
	CHECK(c->owner < FX_OWNERS, "edge", i, "owner");
	CHECK(c->alias == FX_ALIAS_NONE || c->alias < h->count[FX_SECT_ALIAS],
	      "edge", i, "alias");
	err = check_xforms(c, i);
	if (!err)
		err = check_loops(c, i);
	if (err)
		return err;
	CHECK(!(c->flags & ~FX_CLASS_F_ALL), "edge", i, "flags");
	CHECK(!c->reserved, "edge", i, "reserved");
	CHECK(c->chunk <= MAX_BYTES, "edge", i, "chunk");
	CHECK(c->stride <= MAX_BYTES && (!c->stride || c->stride >= c->chunk),
	      "edge", i, "stride");
	CHECK(c->to_stride <= MAX_BYTES &&
	      (!c->to_stride || c->to_stride >= c->chunk), "edge", i,
	      "to_stride");
	CHECK(c->chunk || (!c->stride && !c->to_stride), "edge", i, "stride");
	CHECK(c->deadline_ns <= MAX_BYTES, "edge", i, "deadline_ns");
	CHECK(c->first == first, "edge", i, "first");
	return NULL;
}

static char *check_classes(const struct fx_image *img)
{
	u64 first = 0;

	for (u32 i = 0; i < img->hdr->count[FX_SECT_CLASS]; i++) {
		char *err = check_class(img, i, first);

		if (err)
			return err;
		first += img->cls[i].count;
	}
	if (first != img->hdr->count[FX_SECT_EDGE])
		return fx_asprintf("the edges have %llu instances, and the header counts %u",
				   first, img->hdr->count[FX_SECT_EDGE]);
	return NULL;
}

static char *check_edges(const struct fx_image *img)
{
	u64 after = 0, end;
	u32 n = img->hdr->count[FX_SECT_EDGE];
	u16 cls = 0;

	for (u32 i = 0; i < n; i++) {
		const struct fx_edge_desc *e = &img->edge[i];
		const struct fx_class_desc *c;

		/* the classes cover all instances: this stops in time */
		while (i >= img->cls[cls].first + img->cls[cls].count)
			cls++;
		c = &img->cls[cls];
		CHECK(e->cls == cls, "instance", i, "cls");
		CHECK(e->bytes && e->bytes <= MAX_BYTES, "instance", i, "bytes");
		CHECK(!__builtin_add_overflow(e->alias_at, e->bytes, &end) &&
		      (c->alias == FX_ALIAS_NONE ? !e->alias_at :
		       end <= img->alias[c->alias].bytes), "instance", i,
		      "alias_at");
		CHECK(e->reuse <= MAX_BYTES || e->reuse == FX_REUSE_NEVER ||
		      e->reuse == FX_REUSE_UNKNOWN, "instance", i, "reuse");
		CHECK(e->after == after, "instance", i, "after");
		after += e->n_after;
		CHECK(after <= img->hdr->count[FX_SECT_AFTER], "instance", i,
		      "n_after");
		for (u32 j = 0; j < e->n_after; j++)
			CHECK(img->after[e->after + j] < n &&
			      img->after[e->after + j] != i, "instance", i,
			      "an entry of after");
	}
	if (after != img->hdr->count[FX_SECT_AFTER])
		return fx_asprintf("the instances have %llu after entries, and the header counts %u",
				   after, img->hdr->count[FX_SECT_AFTER]);
	return NULL;
}

static char *check_header(const struct fx_image_hdr *h, size_t size)
{
	u64 need = sizeof(*h);

	if (size < sizeof(*h))
		return fx_asprintf("%zu bytes are too few for a header of %zu",
				   size, sizeof(*h));
	if (h->magic != FX_IMAGE_MAGIC)
		return fx_asprintf("it does not begin as a graph image does");
	if (h->version != FX_UAPI_VERSION || h->size != sizeof(*h))
		return fx_asprintf("it has version %u and a header of %u bytes; this fabricctl reads %u and %zu",
				   h->version, h->size, FX_UAPI_VERSION,
				   sizeof(*h));
	if (h->governs & ~FX_GOVERNS_ALL)
		return fx_asprintf("governs has unknown bits: %#x", h->governs);
	if (h->reserved || h->reserved2)
		return fx_asprintf("a reserved field of the header is not zero");
	if (!is_name(h->name, ".-"))
		return fx_asprintf("the graph's name is not one");
	for (u32 i = 0; i < FX_SECTS; i++) {
		bool needed = i == FX_SECT_PLACE || i == FX_SECT_CLASS ||
			      i == FX_SECT_EDGE;

		if (h->count[i] > section_max[i] || (needed && !h->count[i]))
			return fx_asprintf("it has %u %s; a graph has %u to %u",
					   h->count[i], section_name[i], needed,
					   section_max[i]);
		need += (u64)h->count[i] * fx_section_record(i);
	}
	if (need != size)
		return fx_asprintf("it has %zu bytes, and its header asks for %llu",
				   size, need);
	return NULL;
}

char *fx_image_open(void *base, size_t size, struct fx_image *img)
{
	static char *(*const checks[])(const struct fx_image *img) = {
		check_places, check_aliases, check_classes, check_edges,
	};
	u8 digest[FX_DIGEST_LEN];
	char *err;

	memset(img, 0, sizeof(*img));
	err = check_header(base, size);
	if (err)
		return err;
	fx_image_digest(base, size, digest);
	img->hdr = base;
	img->base = base;
	img->size = size;
	if (memcmp(digest, img->hdr->digest, sizeof(digest))) {
		err = fx_asprintf("its digest does not match its content");
		goto out;
	}
	img->place = fx_image_section(img, FX_SECT_PLACE);
	img->alias = fx_image_section(img, FX_SECT_ALIAS);
	img->cls = fx_image_section(img, FX_SECT_CLASS);
	img->edge = fx_image_section(img, FX_SECT_EDGE);
	img->after = fx_image_section(img, FX_SECT_AFTER);
	for (u32 i = 0; i < ARRAY_SIZE(checks) && !err; i++)
		err = checks[i](img);
out:
	if (err)
		memset(img, 0, sizeof(*img));
	return err;
}
