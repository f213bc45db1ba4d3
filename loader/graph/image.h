/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The graph as tables: what edges.bin holds and the kernel is given. */
#ifndef FX_GRAPH_IMAGE_H
#define FX_GRAPH_IMAGE_H

#include <linux/fabric_ext.h>

#include "../types.h"

/* Priorities that the kernel takes. */
#define FX_MAX_PRIORITY		7

/* A checked image. The pointers lead into @base. */
struct fx_image {
	void *base;			/* to free() */
	size_t size;
	const struct fx_image_hdr *hdr;
	const struct fx_place_desc *place;
	const struct fx_alias_desc *alias;
	const struct fx_class_desc *cls;
	const struct fx_edge_desc *edge;
	const __u32 *after;
};

/* Bytes of one record of a section; 0 for no such section. */
u32 fx_section_record(enum fx_section s);
/* First byte of a section's records in a checked image. */
const void *fx_image_section(const struct fx_image *img, enum fx_section s);

/**
 * fx_image_open() - check every field of an image
 * @base: its bytes, 8-byte aligned; @img takes ownership only on success
 * @size: how many
 * @img: filled
 *
 * Return: NULL, or what is wrong with it, to free().
 */
char *fx_image_open(void *base, size_t size, struct fx_image *img);

/* SHA-256 over the header with a zero digest and the tables. */
void fx_image_digest(const void *base, size_t size, u8 digest[FX_DIGEST_LEN]);

#endif /* FX_GRAPH_IMAGE_H */
