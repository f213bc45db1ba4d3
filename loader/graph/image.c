// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <sha256.h>
#include <stdlib.h>
#include <string.h>

#include "graph.h"
#include "image.h"

static const u32 record[FX_SECTS] = {
	[FX_SECT_PLACE] = sizeof(struct fx_place_desc),
	[FX_SECT_ALIAS] = sizeof(struct fx_alias_desc),
	[FX_SECT_CLASS] = sizeof(struct fx_class_desc),
	[FX_SECT_EDGE] = sizeof(struct fx_edge_desc),
	[FX_SECT_AFTER] = sizeof(__u32),
};

/* Sections follow each other without padding: only the last has small records. */
_Static_assert(sizeof(struct fx_image_hdr) % 8 == 0, "header");
_Static_assert(sizeof(struct fx_place_desc) % 8 == 0, "places");
_Static_assert(sizeof(struct fx_alias_desc) % 8 == 0, "aliases");
_Static_assert(sizeof(struct fx_class_desc) % 8 == 0, "classes");
_Static_assert(sizeof(struct fx_edge_desc) % 8 == 0, "edges");

u32 fx_section_record(enum fx_section s)
{
	return (u32)s < FX_SECTS ? record[s] : 0;
}

const void *fx_image_section(const struct fx_image *img, enum fx_section s)
{
	const char *at = (const char *)img->base + sizeof(struct fx_image_hdr);

	for (u32 i = 0; i < (u32)s; i++)
		at += (size_t)img->hdr->count[i] * record[i];
	return at;
}

void fx_image_digest(const void *base, size_t size, u8 digest[FX_DIGEST_LEN])
{
	struct fx_image_hdr hdr = *(const struct fx_image_hdr *)base;
	SHA2_CTX sha;

	memset(hdr.digest, 0, sizeof(hdr.digest));
	SHA256Init(&sha);
	SHA256Update(&sha, (const u8 *)&hdr, sizeof(hdr));
	SHA256Update(&sha, (const u8 *)base + sizeof(hdr), size - sizeof(hdr));
	SHA256Final(digest, &sha);
}

static void put(char *to, const char *from, size_t size)
{
	/* lengths were checked where the names were read */
	memcpy(to, from, strnlen(from, size - 1));
}

static void put_places(const struct fx_graph *g, struct fx_place_desc *d)
{
	for (u32 i = 0; i < g->n_place; i++, d++) {
		const struct fx_place *p = &g->place[i];

		put(d->name, p->name, sizeof(d->name));
		d->kind = p->kind;
		d->match_kind = p->match_kind;
		d->flags = p->later ? FX_PLACE_F_LATER : 0;
		if (p->match)
			put(d->match, p->match, sizeof(d->match));
		d->capacity = p->capacity.value;
		d->island = p->island_id;
	}
}

static void put_class(const struct fx_class *c, struct fx_class_desc *d)
{
	put(d->name, c->name, sizeof(d->name));
	d->from = c->from.place;
	d->n_to = c->n_to;
	for (u32 i = 0; i < c->n_to; i++)
		d->to[i] = c->to[i].place;
	d->element = c->element;
	d->order = c->order;
	d->owner = c->owner;
	d->alias = c->alias.place;
	d->priority = c->field[FX_F_PRIORITY].value;
	for (u32 i = 0; i < c->n_xform; i++) {
		const struct fx_xform_decl *x = &c->xform[i];

		/* a move is what happens anyway */
		if (x->kind == FX_XFORM_MOVE)
			continue;
		d->xform[d->n_xforms++] = (struct fx_xform_desc){
			.kind = x->kind,
			.arg = x->kind == FX_XFORM_CHECKSUM ? x->algo : x->out,
			.from = x->in,
			.flags = x->verify ? FX_XFORM_F_VERIFY : 0,
		};
	}
	d->flags = c->exact ? FX_CLASS_F_EXACT : 0;
	d->rw_read = c->rw_read;
	d->rw_write = c->rw_write;
	d->chunk = c->field[FX_F_CHUNK].value;
	d->stride = c->field[FX_F_STRIDE].value;
	d->to_stride = c->field[FX_F_TO_STRIDE].value;
	d->deadline_ns = c->field[FX_F_DEADLINE].value;
	d->first = c->first;
	d->count = c->count;
	for (u32 i = 0; i < c->n_loop; i++)
		d->dim[i] = c->dim[i];
}

void *fx_graph_image(const struct fx_graph *g, size_t *size)
{
	const u32 count[FX_SECTS] = { g->n_place, g->n_alias, g->n_cls,
				      g->n_edge, g->n_after };
	struct fx_image_hdr *hdr;
	struct fx_alias_desc *alias;
	char *at[FX_SECTS];
	size_t n = sizeof(*hdr);

	for (u32 i = 0; i < FX_SECTS; i++)
		n += (size_t)count[i] * record[i];
	hdr = fx_calloc(1, n);
	hdr->magic = FX_IMAGE_MAGIC;
	hdr->version = FX_UAPI_VERSION;
	hdr->size = sizeof(*hdr);
	hdr->governs = g->governs;
	memcpy(hdr->count, count, sizeof(count));
	put(hdr->name, g->name, sizeof(hdr->name));
	at[0] = (char *)(hdr + 1);
	for (u32 i = 1; i < FX_SECTS; i++)
		at[i] = at[i - 1] + (size_t)count[i - 1] * record[i - 1];

	put_places(g, (struct fx_place_desc *)at[FX_SECT_PLACE]);
	alias = (struct fx_alias_desc *)at[FX_SECT_ALIAS];
	for (u32 i = 0; i < g->n_alias; i++) {
		put(alias[i].name, g->alias[i].name, sizeof(alias[i].name));
		alias[i].bytes = g->alias[i].bytes.value;
	}
	for (u32 i = 0; i < g->n_cls; i++)
		put_class(&g->cls[i],
			  (struct fx_class_desc *)at[FX_SECT_CLASS] + i);
	if (g->n_edge)
		memcpy(at[FX_SECT_EDGE], g->edge, g->n_edge * sizeof(*g->edge));
	if (g->n_after)
		memcpy(at[FX_SECT_AFTER], g->after,
		       g->n_after * sizeof(*g->after));
	fx_image_digest(hdr, n, hdr->digest);
	*size = n;
	return hdr;
}
