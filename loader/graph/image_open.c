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

/* What is being checked; the first thing that is wrong stays. */
struct checker {
	const char *what;
	u64 i;
	char *err;
};

static void want(struct checker *c, bool cond, const char *field)
{
	if (!cond && !c->err)
		c->err = fx_asprintf("%s %llu: %s is out of range", c->what,
				     c->i, field);
}

static char *check_places(const struct fx_image *img)
{
	u32 n = img->hdr->count[FX_SECT_PLACE];

	for (u32 i = 0; i < n; i++) {
		const struct fx_place_desc *p = &img->place[i];
		struct checker c = { "place", i, NULL };

		want(&c, is_name(p->name, ""), "name");
		want(&c, p->kind < FX_PLACE_KINDS, "kind");
		want(&c, p->match_kind < FX_MATCH_KINDS, "match_kind");
		want(&c, !(p->flags & ~FX_PLACE_F_ALL), "flags");
		want(&c, is_text(p->match, FX_MATCH_LEN), "match");
		want(&c, !p->match[0] == !p->match_kind, "match");
		want(&c, p->capacity <= MAX_BYTES, "capacity");
		want(&c, p->island <= n, "island");
		want(&c, !p->reserved, "reserved");
		for (u32 j = 0; j < i && !c.err; j++)
			want(&c, strcmp(p->name, img->place[j].name),
			     "name, which another place has,");
		if (c.err)
			return c.err;
	}
	return NULL;
}

static char *check_aliases(const struct fx_image *img)
{
	for (u32 i = 0; i < img->hdr->count[FX_SECT_ALIAS]; i++) {
		const struct fx_alias_desc *a = &img->alias[i];
		struct checker c = { "alias set", i, NULL };

		want(&c, is_name(a->name, ""), "name");
		want(&c, a->bytes && a->bytes <= MAX_BYTES, "bytes");
		if (c.err)
			return c.err;
	}
	return NULL;
}

static void check_xform(struct checker *c, const struct fx_xform_desc *x)
{
	static const u8 args[FX_XFORMS] = {
		[FX_XFORM_QUANTIZE] = FX_ELEMS,
		[FX_XFORM_DEQUANTIZE] = FX_ELEMS,
		[FX_XFORM_CHECKSUM] = FX_CSUMS,
	};
	bool known = x->kind && x->kind < FX_XFORMS;
	u8 limit = known ? args[x->kind] : 0;

	want(c, known, "a transform's kind");
	want(c, limit ? x->arg && x->arg < limit : !x->arg,
	     "a transform's arg");
	want(c, x->from < FX_ELEMS, "a transform's from");
	want(c, !x->flags || (x->kind == FX_XFORM_CHECKSUM &&
			      !(x->flags & ~FX_XFORM_F_ALL)),
	     "a transform's flags");
}

static void check_xforms(struct checker *c, const struct fx_class_desc *d)
{
	static const struct fx_xform_desc none;

	want(c, d->n_xforms <= FX_MAX_XFORMS, "n_xforms");
	for (u32 j = 0; j < FX_MAX_XFORMS; j++) {
		if (j < d->n_xforms)
			check_xform(c, &d->xform[j]);
		else
			want(c, !memcmp(&d->xform[j], &none, sizeof(none)),
			     "an unused transform");
	}
}

static void check_ends(struct checker *c, const struct fx_class_desc *d,
		       u32 places)
{
	want(c, d->from < places, "from");
	want(c, d->n_to && d->n_to <= FX_MAX_TO, "n_to");
	for (u32 j = 0; j < FX_MAX_TO; j++) {
		want(c, j < d->n_to ? d->to[j] < places : !d->to[j], "to");
		for (u32 k = 0; k < j && j < d->n_to; k++)
			want(c, d->to[k] != d->to[j], "to");
	}
}

static void check_loops(struct checker *c, const struct fx_class_desc *d)
{
	u64 count = 1;
	bool ended = false;

	for (u32 j = 0; j < FX_MAX_DIMS; j++) {
		ended = ended || !d->dim[j];
		want(c, !ended || !d->dim[j], "dim");
		want(c, d->dim[j] <= FX_MAX_EDGES, "dim");
		if (count <= FX_MAX_EDGES && d->dim[j])
			count *= d->dim[j];
	}
	want(c, count == d->count, "count");
}

static char *check_classes(const struct fx_image *img)
{
	const u32 *count = img->hdr->count;
	u64 first = 0;

	for (u32 i = 0; i < count[FX_SECT_CLASS]; i++) {
		const struct fx_class_desc *d = &img->cls[i];
		struct checker c = { "edge", i, NULL };

		want(&c, is_name(d->name, ""), "name");
		check_ends(&c, d, count[FX_SECT_PLACE]);
		want(&c, d->element < FX_ELEMS, "element");
		want(&c, d->order < FX_ORDERS, "order");
		want(&c, d->owner < FX_OWNERS, "owner");
		want(&c, d->alias == FX_ALIAS_NONE ||
		     d->alias < count[FX_SECT_ALIAS], "alias");
		want(&c, d->priority <= FX_MAX_PRIORITY, "priority");
		check_xforms(&c, d);
		want(&c, !(d->flags & ~FX_CLASS_F_ALL), "flags");
		want(&c, !d->reserved, "reserved");
		want(&c, d->chunk <= MAX_BYTES, "chunk");
		want(&c, d->stride <= MAX_BYTES &&
		     (!d->stride || (d->chunk && d->stride >= d->chunk)),
		     "stride");
		want(&c, d->to_stride <= MAX_BYTES &&
		     (!d->to_stride || d->chunk), "to_stride");
		want(&c, d->deadline_ns <= MAX_BYTES, "deadline_ns");
		want(&c, d->first == first, "first");
		check_loops(&c, d);
		if (c.err)
			return c.err;
		first += d->count;
	}
	if (first != count[FX_SECT_EDGE])
		return fx_asprintf("its edges have %llu instances, its header counts %u",
				   first, count[FX_SECT_EDGE]);
	return NULL;
}

static void check_range(struct checker *c, const struct fx_image *img,
			const struct fx_edge_desc *e)
{
	const struct fx_class_desc *d = &img->cls[e->cls];
	u64 end;
	bool over = __builtin_add_overflow(e->alias_at, e->bytes, &end);

	want(c, e->bytes && e->bytes <= MAX_BYTES, "bytes");
	want(c, d->alias == FX_ALIAS_NONE ? !e->alias_at :
	     !over && end <= img->alias[d->alias].bytes, "alias_at");
}

static char *check_edges(const struct fx_image *img)
{
	u32 n = img->hdr->count[FX_SECT_EDGE];
	u32 n_after = img->hdr->count[FX_SECT_AFTER];
	u64 after = 0;
	u16 cls = 0;

	for (u32 i = 0; i < n; i++) {
		const struct fx_edge_desc *e = &img->edge[i];
		struct checker c = { "instance", i, NULL };

		/* the classes cover all instances: this stops in time */
		while (i >= img->cls[cls].first + img->cls[cls].count)
			cls++;
		want(&c, e->cls == cls, "cls");
		want(&c, e->reuse <= MAX_BYTES || e->reuse == FX_REUSE_NEVER ||
		     e->reuse == FX_REUSE_UNKNOWN, "reuse");
		want(&c, e->after == after, "after");
		after += e->n_after;
		want(&c, after <= n_after, "n_after");
		if (!c.err)
			check_range(&c, img, e);
		for (u32 j = 0; j < e->n_after && !c.err; j++)
			want(&c, img->after[e->after + j] < n &&
			     img->after[e->after + j] != i,
			     "an entry of after");
		if (c.err)
			return c.err;
	}
	if (after != n_after)
		return fx_asprintf("its instances have %llu after entries, its header counts %u",
				   after, n_after);
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
		return fx_asprintf("its version is %u, its header %u bytes; %u and %zu are read",
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
