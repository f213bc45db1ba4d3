// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The image: what is in it, and that nothing wrong in it is let through. */
#include <stddef.h>

#include "loader_test.h"

static void content(void **state)
{
	struct fx_image img;
	size_t size;
	void *image = test_image(&size);
	char *err;

	(void)state;
	err = fx_image_open(image, size, &img);
	assert_null(err);
	assert_string_equal(img.hdr->name, "test-1.0");
	assert_int_equal(img.hdr->governs, FX_GOVERNS_DMABUF | FX_GOVERNS_CXL);
	assert_int_equal(img.hdr->count[FX_SECT_PLACE], 3);
	assert_int_equal(img.hdr->count[FX_SECT_ALIAS], 1);
	assert_int_equal(img.hdr->count[FX_SECT_CLASS], 2);
	assert_int_equal(img.hdr->count[FX_SECT_EDGE], 12);
	/* 8 x out, and the second of each pair also waits for the first */
	assert_int_equal(img.hdr->count[FX_SECT_AFTER], 12);

	assert_string_equal(img.place[1].name, "host");
	assert_int_equal(img.place[1].kind, FX_PLACE_DRAM);
	assert_int_equal(img.place[1].match_kind, FX_MATCH_NODE);
	assert_string_equal(img.place[1].match, "0");
	assert_int_equal(img.place[1].capacity, 16 << 20);
	assert_int_equal(img.place[2].flags, FX_PLACE_F_LATER);
	assert_int_equal(img.place[2].island, 1);
	assert_int_equal(img.place[0].island, 0);
	assert_int_equal(img.alias[0].bytes, 4 * 65536);

	assert_int_equal(img.cls[0].n_to, 2);
	assert_int_equal(img.cls[0].to[0], 1);
	assert_int_equal(img.cls[0].to[1], 2);
	assert_int_equal(img.cls[0].chunk, 4096);
	assert_int_equal(img.cls[0].stride, 8192);
	assert_int_equal(img.cls[0].to_stride, 0);
	assert_int_equal(img.cls[0].element, FX_ELEM_BF16);
	assert_int_equal(img.cls[0].order, FX_ORDER_RELEASE);
	assert_int_equal(img.cls[0].owner, FX_OWNER_TRANSFER);
	assert_int_equal(img.cls[0].rw_read, 9);
	assert_int_equal(img.cls[0].rw_write, 1);
	assert_int_equal(img.cls[0].priority, 3);
	assert_int_equal(img.cls[0].deadline_ns, 5000000);
	assert_int_equal(img.cls[0].n_xforms, 2);
	assert_int_equal(img.cls[0].xform[0].kind, FX_XFORM_QUANTIZE);
	assert_int_equal(img.cls[0].xform[0].from, FX_ELEM_BF16);
	assert_int_equal(img.cls[0].xform[0].arg, FX_ELEM_MXFP8);
	assert_int_equal(img.cls[0].xform[0].flags, 0);
	assert_int_equal(img.cls[0].xform[1].kind, FX_XFORM_CHECKSUM);
	assert_int_equal(img.cls[0].xform[1].from, FX_ELEM_MXFP8);
	assert_int_equal(img.cls[0].xform[1].arg, FX_CSUM_CRC32C);
	assert_int_equal(img.cls[0].xform[1].flags, FX_XFORM_F_VERIFY);
	assert_int_equal(img.cls[0].flags, 0);
	assert_int_equal(img.cls[1].flags, FX_CLASS_F_EXACT);
	assert_int_equal(img.cls[1].first, 4);
	assert_int_equal(img.cls[1].count, 8);
	assert_int_equal(img.cls[1].dim[0], 4);
	assert_int_equal(img.cls[1].dim[1], 2);
	assert_int_equal(img.cls[1].dim[2], 0);

	for (u32 i = 0; i < 4; i++) {
		assert_int_equal(img.edge[i].bytes, 65536);
		assert_int_equal(img.edge[i].alias_at, i * 65536);
		assert_int_equal(img.edge[i].reuse, (i + 1) << 20);
		assert_int_equal(img.edge[i].n_after, 0);
	}
	/* the last loop runs fastest */
	for (u32 i = 0; i < 8; i++) {
		const struct fx_edge_desc *e = &img.edge[4 + i];

		assert_int_equal(e->bytes, 32768);
		assert_int_equal(e->alias_at, i * 32768);
		assert_int_equal(e->reuse, FX_REUSE_NEVER);
		assert_int_equal(e->n_after, 1 + i % 2);
		assert_int_equal(img.after[e->after], i / 2);
		if (i % 2)
			assert_int_equal(img.after[e->after + 1], 4 + i - 1);
	}
	free(img.base);
}

/* The same text gives the same bytes, another text another digest. */
static void digest(void **state)
{
	size_t size, size2;
	struct fx_image_hdr *a = test_image(&size), *b = test_image(&size2);
	struct fx_graph *g;
	char *text;

	(void)state;
	assert_int_equal(size, size2);
	assert_memory_equal(a, b, size);
	free(b);
	text = fx_strdup(test_graph);
	memcpy(strstr(text, "9:1"), "8:1", 3);
	g = graph_of(text);
	assert_non_null(g);
	b = fx_graph_image(g, &size2);
	assert_int_equal(size, size2);
	assert_memory_not_equal(a->digest, b->digest, FX_DIGEST_LEN);
	fx_graph_free(g);
	free(text);
	free(b);
	free(a);
}

/* An exact-sized copy, so that ASan sees the first byte behind it. */
static char *open_copy(const void *image, size_t size)
{
	void *copy = fx_alloc(size);
	struct fx_image img;
	char *err;

	memcpy(copy, image, size);
	err = fx_image_open(copy, size, &img);
	free(copy);
	return err;
}

static void sign(void *image, size_t size)
{
	struct fx_image_hdr *h = image;

	fx_image_digest(image, size, h->digest);
}

static void lengths(void **state)
{
	size_t size;
	char *image = test_image(&size), *err;

	(void)state;
	for (size_t n = 0; n < size; n++) {
		err = open_copy(image, n);
		assert_non_null(err);
		free(err);
	}
	image = fx_realloc(image, size + 64, 1);
	memset(image + size, 0, 64);
	for (size_t n = size + 1; n <= size + 64; n++) {
		err = open_copy(image, n);
		assert_non_null(err);
		free(err);
	}
	free(image);
}

/* One flipped bit anywhere is noticed. */
static void bits(void **state)
{
	size_t size;
	char *image = test_image(&size), *err;

	(void)state;
	for (size_t i = 0; i < size * 8; i++) {
		image[i / 8] ^= 1 << i % 8;
		err = open_copy(image, size);
		image[i / 8] ^= 1 << i % 8;
		assert_non_null(err);
		free(err);
	}
	free(image);
}

/* Short names for the table: a section's number and its record's type. */
enum { HDR, PLACE, ALIAS, CLASS, EDGE, AFTER };

static size_t section_at(const struct fx_image_hdr *h, u32 section)
{
	size_t at = section ? sizeof(*h) : 0;

	for (u32 i = 1; i < section; i++)
		at += (size_t)h->count[i - 1] * fx_section_record(i - 1);
	return at;
}

/* Each field out of its range, under a digest that is right. */
static void fields(void **state)
{
	static const struct {
		const char *name;
		u32 section, record;
		size_t at, width;
		u64 value;
	} cases[] = {
		{ "magic", HDR, 0, offsetof(struct fx_image_hdr, magic), 4,
		  1 },
		{ "version", HDR, 0, offsetof(struct fx_image_hdr, version), 2,
		  2 },
		{ "size", HDR, 0, offsetof(struct fx_image_hdr, size), 2,
		  8 },
		{ "governs", HDR, 0, offsetof(struct fx_image_hdr, governs), 4,
		  8 },
		{ "reserved", HDR, 0, offsetof(struct fx_image_hdr, reserved), 4,
		  1 },
		{ "places", HDR, 0, offsetof(struct fx_image_hdr, count[0]), 4,
		  2 },
		{ "places none", HDR, 0, offsetof(struct fx_image_hdr, count[0]), 4,
		  0 },
		{ "places many", HDR, 0, offsetof(struct fx_image_hdr, count[0]), 4,
		  FX_MAX_PLACES + 1 },
		{ "places all", HDR, 0, offsetof(struct fx_image_hdr, count[0]), 4,
		  U32_MAX },
		{ "aliases", HDR, 0, offsetof(struct fx_image_hdr, count[1]), 4,
		  U32_MAX },
		{ "classes", HDR, 0, offsetof(struct fx_image_hdr, count[2]), 4,
		  U32_MAX },
		{ "edges", HDR, 0, offsetof(struct fx_image_hdr, count[3]), 4,
		  U32_MAX },
		{ "edges few", HDR, 0, offsetof(struct fx_image_hdr, count[3]), 4,
		  11 },
		{ "after", HDR, 0, offsetof(struct fx_image_hdr, count[4]), 4,
		  U32_MAX },
		{ "after few", HDR, 0, offsetof(struct fx_image_hdr, count[4]), 4,
		  11 },
		{ "reserved2", HDR, 0, offsetof(struct fx_image_hdr, reserved2), 4,
		  1 },
		{ "graph name empty", HDR, 0, offsetof(struct fx_image_hdr, name[0]), 1,
		  0 },
		{ "graph name dot", HDR, 0, offsetof(struct fx_image_hdr, name[0]), 1,
		  '.' },
		{ "graph name slash", HDR, 0, offsetof(struct fx_image_hdr, name[1]), 1,
		  '/' },
		{ "graph name behind NUL", HDR, 0, offsetof(struct fx_image_hdr, name[20]), 1,
		  'x' },
		{ "place name empty", PLACE, 0, offsetof(struct fx_place_desc, name[0]), 1,
		  0 },
		{ "place name space", PLACE, 0, offsetof(struct fx_place_desc, name[1]), 1,
		  ' ' },
		{ "place name end", PLACE, 0, offsetof(struct fx_place_desc, name[63]), 1,
		  'x' },
		{ "place kind", PLACE, 0, offsetof(struct fx_place_desc, kind), 2,
		  FX_PLACE_KINDS },
		{ "place match_kind", PLACE, 0, offsetof(struct fx_place_desc, match_kind), 2,
		  FX_MATCH_KINDS },
		{ "place match_kind none", PLACE, 0, offsetof(struct fx_place_desc, match_kind), 2,
		  FX_MATCH_NONE },
		{ "place flags", PLACE, 0, offsetof(struct fx_place_desc, flags), 4,
		  2 },
		{ "place match empty", PLACE, 0, offsetof(struct fx_place_desc, match[0]), 1,
		  0 },
		{ "place match control", PLACE, 0, offsetof(struct fx_place_desc, match[1]), 1,
		  '\n' },
		{ "place match end", PLACE, 0, offsetof(struct fx_place_desc, match[63]), 1,
		  'x' },
		{ "place capacity", PLACE, 0, offsetof(struct fx_place_desc, capacity), 8,
		  1ULL << 63 },
		{ "place island", PLACE, 0, offsetof(struct fx_place_desc, island), 4,
		  4 },
		{ "place reserved", PLACE, 0, offsetof(struct fx_place_desc, reserved), 4,
		  1 },
		{ "alias name", ALIAS, 0, offsetof(struct fx_alias_desc, name[0]), 1,
		  '-' },
		{ "alias bytes none", ALIAS, 0, offsetof(struct fx_alias_desc, bytes), 8,
		  0 },
		{ "alias bytes many", ALIAS, 0, offsetof(struct fx_alias_desc, bytes), 8,
		  1ULL << 63 },
		{ "alias bytes short", ALIAS, 0, offsetof(struct fx_alias_desc, bytes), 8,
		  4 * 65536 - 1 },
		{ "class name", CLASS, 0, offsetof(struct fx_class_desc, name[0]), 1,
		  0 },
		{ "class from", CLASS, 0, offsetof(struct fx_class_desc, from), 2,
		  3 },
		{ "class from none", CLASS, 0, offsetof(struct fx_class_desc, from), 2,
		  FX_PLACE_NONE },
		{ "class n_to none", CLASS, 0, offsetof(struct fx_class_desc, n_to), 2,
		  0 },
		{ "class n_to many", CLASS, 0, offsetof(struct fx_class_desc, n_to), 2,
		  FX_MAX_TO + 1 },
		{ "class n_to more", CLASS, 0, offsetof(struct fx_class_desc, n_to), 2,
		  4 },
		{ "class to", CLASS, 0, offsetof(struct fx_class_desc, to[1]), 2,
		  3 },
		{ "class to twice", CLASS, 0, offsetof(struct fx_class_desc, to[1]), 2,
		  1 },
		{ "class to unused", CLASS, 0, offsetof(struct fx_class_desc, to[2]), 2,
		  1 },
		{ "class element", CLASS, 0, offsetof(struct fx_class_desc, element), 1,
		  FX_ELEMS },
		{ "class order", CLASS, 0, offsetof(struct fx_class_desc, order), 1,
		  FX_ORDERS },
		{ "class owner", CLASS, 0, offsetof(struct fx_class_desc, owner), 1,
		  FX_OWNERS },
		{ "class n_xforms many", CLASS, 0, offsetof(struct fx_class_desc, n_xforms), 1,
		  FX_MAX_XFORMS + 1 },
		{ "class n_xforms fewer", CLASS, 0, offsetof(struct fx_class_desc, n_xforms), 1,
		  1 },
		{ "class n_xforms more", CLASS, 0, offsetof(struct fx_class_desc, n_xforms), 1,
		  3 },
		{ "class alias", CLASS, 0, offsetof(struct fx_class_desc, alias), 2,
		  1 },
		{ "class alias none", CLASS, 0, offsetof(struct fx_class_desc, alias), 2,
		  FX_ALIAS_NONE },
		{ "class priority", CLASS, 0, offsetof(struct fx_class_desc, priority), 2,
		  FX_MAX_PRIORITY + 1 },
		{ "xform kind", CLASS, 0, offsetof(struct fx_class_desc, xform[0].kind), 1,
		  FX_XFORMS },
		{ "xform kind move", CLASS, 0, offsetof(struct fx_class_desc, xform[0].kind), 1,
		  FX_XFORM_MOVE },
		{ "xform arg none", CLASS, 0, offsetof(struct fx_class_desc, xform[0].arg), 1,
		  0 },
		{ "xform arg", CLASS, 0, offsetof(struct fx_class_desc, xform[0].arg), 1,
		  FX_ELEMS },
		{ "xform checksum arg", CLASS, 0, offsetof(struct fx_class_desc, xform[1].arg), 1,
		  FX_CSUMS },
		{ "xform from", CLASS, 0, offsetof(struct fx_class_desc, xform[0].from), 1,
		  FX_ELEMS },
		{ "xform flags", CLASS, 0, offsetof(struct fx_class_desc, xform[0].flags), 1,
		  FX_XFORM_F_VERIFY },
		{ "xform sum flags", CLASS, 0, offsetof(struct fx_class_desc, xform[1].flags), 1,
		  2 },
		{ "class flags", CLASS, 0, offsetof(struct fx_class_desc, flags), 4,
		  2 },
		{ "class reserved", CLASS, 0, offsetof(struct fx_class_desc, reserved), 4,
		  1 },
		{ "class chunk", CLASS, 0, offsetof(struct fx_class_desc, chunk), 8,
		  1ULL << 63 },
		{ "class chunk longer", CLASS, 0, offsetof(struct fx_class_desc, chunk), 8,
		  8193 },
		{ "class chunk none", CLASS, 0, offsetof(struct fx_class_desc, chunk), 8,
		  0 },
		{ "class stride", CLASS, 0, offsetof(struct fx_class_desc, stride), 8,
		  1ULL << 63 },
		{ "class to_stride", CLASS, 0, offsetof(struct fx_class_desc, to_stride), 8,
		  1ULL << 63 },
		{ "class to_stride alone", CLASS, 1, offsetof(struct fx_class_desc, to_stride), 8,
		  4096 },
		{ "class deadline", CLASS, 0, offsetof(struct fx_class_desc, deadline_ns), 8,
		  1ULL << 63 },
		{ "class first", CLASS, 1, offsetof(struct fx_class_desc, first), 4,
		  3 },
		{ "class count", CLASS, 1, offsetof(struct fx_class_desc, count), 4,
		  9 },
		{ "class count all", CLASS, 1, offsetof(struct fx_class_desc, count), 4,
		  U32_MAX },
		{ "class count none", CLASS, 1, offsetof(struct fx_class_desc, count), 4,
		  0 },
		{ "class dim", CLASS, 1, offsetof(struct fx_class_desc, dim[0]), 4,
		  3 },
		{ "class dim none", CLASS, 1, offsetof(struct fx_class_desc, dim[0]), 4,
		  0 },
		{ "class dim large", CLASS, 1, offsetof(struct fx_class_desc, dim[0]), 4,
		  U32_MAX },
		{ "class dim unused", CLASS, 1, offsetof(struct fx_class_desc, dim[3]), 4,
		  1 },
		{ "edge bytes none", EDGE, 0, offsetof(struct fx_edge_desc, bytes), 8,
		  0 },
		{ "edge bytes many", EDGE, 0, offsetof(struct fx_edge_desc, bytes), 8,
		  1ULL << 63 },
		{ "edge bytes beyond", EDGE, 3, offsetof(struct fx_edge_desc, bytes), 8,
		  65537 },
		{ "edge alias_at", EDGE, 0, offsetof(struct fx_edge_desc, alias_at), 8,
		  U64_MAX },
		{ "edge alias_at wraps", EDGE, 0, offsetof(struct fx_edge_desc, alias_at), 8,
		  U64_MAX - 65535 },
		{ "edge alias_at beyond", EDGE, 0, offsetof(struct fx_edge_desc, alias_at), 8,
		  3 * 65536 + 1 },
		{ "edge reuse", EDGE, 0, offsetof(struct fx_edge_desc, reuse), 8,
		  1ULL << 63 },
		{ "edge after", EDGE, 4, offsetof(struct fx_edge_desc, after), 4,
		  1 },
		{ "edge after far", EDGE, 0, offsetof(struct fx_edge_desc, after), 4,
		  U32_MAX },
		{ "edge n_after", EDGE, 11, offsetof(struct fx_edge_desc, n_after), 2,
		  3 },
		{ "edge n_after many", EDGE, 4, offsetof(struct fx_edge_desc, n_after), 2,
		  0xffff },
		{ "edge cls", EDGE, 4, offsetof(struct fx_edge_desc, cls), 2,
		  0 },
		{ "edge cls none", EDGE, 0, offsetof(struct fx_edge_desc, cls), 2,
		  FX_CLASS_NONE },
		{ "after edge", AFTER, 0, 0, 4, 12 },
		{ "after itself", AFTER, 0, 0, 4, 4 },
		{ "after none", AFTER, 0, 0, 4, FX_EDGE_NONE },
	};
	size_t size;
	char *image = test_image(&size), *copy = fx_alloc(size), *err;

	(void)state;
	for (u32 i = 0; i < ARRAY_SIZE(cases); i++) {
		u32 section = cases[i].section;
		size_t at = section_at((void *)image, section) + cases[i].at;

		if (section != HDR)
			at += cases[i].record *
			      fx_section_record(section - 1);

		memcpy(copy, image, size);
		/* little endian, as all that this runs on */
		memcpy(copy + at, &cases[i].value, cases[i].width);
		sign(copy, size);
		err = open_copy(copy, size);
		if (!err)
			fail_msg("%s: %llu is let through", cases[i].name,
				 cases[i].value);
		if (strlen(err) > 200 || strchr(err, '\n'))
			fail_msg("%s: not one sentence: %s", cases[i].name, err);
		free(err);
	}
	sign(image, size);
	err = open_copy(image, size);
	assert_null(err);
	free(copy);
	free(image);
}

/* Random damage under a right digest: refused or harmless, never a crash. */
static void damage(void **state)
{
	u32 refused = 0;
	size_t size;
	char *image = test_image(&size), *copy = fx_alloc(size), *err;

	(void)state;
	for (u32 i = 0; i < 20000; i++) {
		memcpy(copy, image, size);
		for (u32 j = 0; j <= rnd_below(4); j++) {
			size_t at = rnd_below(size);

			copy[at] = rnd_below(4) ? (char)rnd() :
				   rnd_below(2) ? (char)0xff : 0;
		}
		sign(copy, size);
		err = open_copy(copy, size);
		refused += !!err;
		free(err);
	}
	assert_true(refused > 10000);
	free(copy);
	free(image);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(content),
		cmocka_unit_test(digest),
		cmocka_unit_test(lengths),
		cmocka_unit_test(bits),
		cmocka_unit_test(fields),
		cmocka_unit_test(damage),
	};

	return RUN(tests);
}
