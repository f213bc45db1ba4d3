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

/* Section, record, place and width of a member, and what it becomes. */
#define FIELD(section, record, value, type, ...)			\
	{ section, record, offsetof(struct type, __VA_ARGS__),		\
	  sizeof(((struct type *)0)->__VA_ARGS__), value }
#define HDR_FIELD(member, v)	FIELD(HDR, 0, v, fx_image_hdr, member)
#define PLACE_FIELD(i, member, v) FIELD(PLACE, i, v, fx_place_desc, member)
#define ALIAS_FIELD(i, member, v) FIELD(ALIAS, i, v, fx_alias_desc, member)
#define CLASS_FIELD(i, member, v) FIELD(CLASS, i, v, fx_class_desc, member)
#define EDGE_FIELD(i, member, v) FIELD(EDGE, i, v, fx_edge_desc, member)

/* Each field out of its range, under a digest that is right. */
static void fields(void **state)
{
	static const struct {
		const char *name;
		struct {
			u32 section, record;
			size_t at, width;
			u64 value;
		} field;
	} cases[] = {
		{ "magic", HDR_FIELD(magic, 1) },
		{ "version", HDR_FIELD(version, 2) },
		{ "size", HDR_FIELD(size, 8) },
		{ "governs", HDR_FIELD(governs, 8) },
		{ "reserved", HDR_FIELD(reserved, 1) },
		{ "places", HDR_FIELD(count[0], 2) },
		{ "places none", HDR_FIELD(count[0], 0) },
		{ "places many", HDR_FIELD(count[0], FX_MAX_PLACES + 1) },
		{ "places all", HDR_FIELD(count[0], U32_MAX) },
		{ "aliases", HDR_FIELD(count[1], U32_MAX) },
		{ "classes", HDR_FIELD(count[2], U32_MAX) },
		{ "edges", HDR_FIELD(count[3], U32_MAX) },
		{ "edges few", HDR_FIELD(count[3], 11) },
		{ "after", HDR_FIELD(count[4], U32_MAX) },
		{ "after few", HDR_FIELD(count[4], 11) },
		{ "reserved2", HDR_FIELD(reserved2, 1) },
		{ "graph name empty", HDR_FIELD(name[0], 0) },
		{ "graph name dot", HDR_FIELD(name[0], '.') },
		{ "graph name slash", HDR_FIELD(name[1], '/') },
		{ "graph name behind NUL", HDR_FIELD(name[20], 'x') },
		{ "place name empty", PLACE_FIELD(0, name[0], 0) },
		{ "place name space", PLACE_FIELD(0, name[1], ' ') },
		{ "place name end", PLACE_FIELD(0, name[63], 'x') },
		{ "place kind", PLACE_FIELD(0, kind, FX_PLACE_KINDS) },
		{ "place match_kind", PLACE_FIELD(0, match_kind, FX_MATCH_KINDS) },
		{ "place match_kind none", PLACE_FIELD(0, match_kind, FX_MATCH_NONE) },
		{ "place flags", PLACE_FIELD(0, flags, 2) },
		{ "place match empty", PLACE_FIELD(0, match[0], 0) },
		{ "place match control", PLACE_FIELD(0, match[1], '\n') },
		{ "place match end", PLACE_FIELD(0, match[63], 'x') },
		{ "place capacity", PLACE_FIELD(0, capacity, 1ULL << 63) },
		{ "place island", PLACE_FIELD(0, island, 4) },
		{ "place reserved", PLACE_FIELD(0, reserved, 1) },
		{ "alias name", ALIAS_FIELD(0, name[0], '-') },
		{ "alias bytes none", ALIAS_FIELD(0, bytes, 0) },
		{ "alias bytes many", ALIAS_FIELD(0, bytes, 1ULL << 63) },
		{ "alias bytes short", ALIAS_FIELD(0, bytes, 4 * 65536 - 1) },
		{ "class name", CLASS_FIELD(0, name[0], 0) },
		{ "class from", CLASS_FIELD(0, from, 3) },
		{ "class from none", CLASS_FIELD(0, from, FX_PLACE_NONE) },
		{ "class n_to none", CLASS_FIELD(0, n_to, 0) },
		{ "class n_to many", CLASS_FIELD(0, n_to, FX_MAX_TO + 1) },
		{ "class n_to more", CLASS_FIELD(0, n_to, 4) },
		{ "class to", CLASS_FIELD(0, to[1], 3) },
		{ "class to twice", CLASS_FIELD(0, to[1], 1) },
		{ "class to unused", CLASS_FIELD(0, to[2], 1) },
		{ "class element", CLASS_FIELD(0, element, FX_ELEMS) },
		{ "class order", CLASS_FIELD(0, order, FX_ORDERS) },
		{ "class owner", CLASS_FIELD(0, owner, FX_OWNERS) },
		{ "class n_xforms many", CLASS_FIELD(0, n_xforms, FX_MAX_XFORMS + 1) },
		{ "class n_xforms fewer", CLASS_FIELD(0, n_xforms, 1) },
		{ "class n_xforms more", CLASS_FIELD(0, n_xforms, 3) },
		{ "class alias", CLASS_FIELD(0, alias, 1) },
		{ "class alias none", CLASS_FIELD(0, alias, FX_ALIAS_NONE) },
		{ "class priority", CLASS_FIELD(0, priority, FX_MAX_PRIORITY + 1) },
		{ "xform kind", CLASS_FIELD(0, xform[0].kind, FX_XFORMS) },
		{ "xform kind move", CLASS_FIELD(0, xform[0].kind, FX_XFORM_MOVE) },
		{ "xform arg none", CLASS_FIELD(0, xform[0].arg, 0) },
		{ "xform arg", CLASS_FIELD(0, xform[0].arg, FX_ELEMS) },
		{ "xform checksum arg", CLASS_FIELD(0, xform[1].arg, FX_CSUMS) },
		{ "xform from", CLASS_FIELD(0, xform[0].from, FX_ELEMS) },
		{ "xform flags", CLASS_FIELD(0, xform[0].flags, FX_XFORM_F_VERIFY) },
		{ "xform sum flags", CLASS_FIELD(0, xform[1].flags, 2) },
		{ "class flags", CLASS_FIELD(0, flags, 2) },
		{ "class reserved", CLASS_FIELD(0, reserved, 1) },
		{ "class chunk", CLASS_FIELD(0, chunk, 1ULL << 63) },
		{ "class chunk longer", CLASS_FIELD(0, chunk, 8193) },
		{ "class chunk none", CLASS_FIELD(0, chunk, 0) },
		{ "class stride", CLASS_FIELD(0, stride, 1ULL << 63) },
		{ "class to_stride", CLASS_FIELD(0, to_stride, 1ULL << 63) },
		{ "class to_stride alone", CLASS_FIELD(1, to_stride, 4096) },
		{ "class deadline", CLASS_FIELD(0, deadline_ns, 1ULL << 63) },
		{ "class first", CLASS_FIELD(1, first, 3) },
		{ "class count", CLASS_FIELD(1, count, 9) },
		{ "class count all", CLASS_FIELD(1, count, U32_MAX) },
		{ "class count none", CLASS_FIELD(1, count, 0) },
		{ "class dim", CLASS_FIELD(1, dim[0], 3) },
		{ "class dim none", CLASS_FIELD(1, dim[0], 0) },
		{ "class dim large", CLASS_FIELD(1, dim[0], U32_MAX) },
		{ "class dim unused", CLASS_FIELD(1, dim[3], 1) },
		{ "edge bytes none", EDGE_FIELD(0, bytes, 0) },
		{ "edge bytes many", EDGE_FIELD(0, bytes, 1ULL << 63) },
		{ "edge bytes beyond", EDGE_FIELD(3, bytes, 65537) },
		{ "edge alias_at", EDGE_FIELD(0, alias_at, U64_MAX) },
		{ "edge alias_at wraps", EDGE_FIELD(0, alias_at, U64_MAX - 65535) },
		{ "edge alias_at beyond", EDGE_FIELD(0, alias_at, 3 * 65536 + 1) },
		{ "edge reuse", EDGE_FIELD(0, reuse, 1ULL << 63) },
		{ "edge after", EDGE_FIELD(4, after, 1) },
		{ "edge after far", EDGE_FIELD(0, after, U32_MAX) },
		{ "edge n_after", EDGE_FIELD(11, n_after, 3) },
		{ "edge n_after many", EDGE_FIELD(4, n_after, 0xffff) },
		{ "edge cls", EDGE_FIELD(4, cls, 0) },
		{ "edge cls none", EDGE_FIELD(0, cls, FX_CLASS_NONE) },
		{ "after edge", { AFTER, 0, 0, 4, 12 } },
		{ "after itself", { AFTER, 0, 0, 4, 4 } },
		{ "after none", { AFTER, 0, 0, 4, FX_EDGE_NONE } },
	};
	size_t size;
	char *image = test_image(&size), *copy = fx_alloc(size), *err;

	(void)state;
	for (u32 i = 0; i < ARRAY_SIZE(cases); i++) {
		u32 section = cases[i].field.section;
		size_t at = section_at((void *)image, section) + cases[i].field.at;

		if (section != HDR)
			at += cases[i].field.record *
			      fx_section_record(section - 1);

		memcpy(copy, image, size);
		/* little endian, as all that this runs on */
		memcpy(copy + at, &cases[i].field.value, cases[i].field.width);
		sign(copy, size);
		err = open_copy(copy, size);
		if (!err)
			fail_msg("%s: %llu is let through", cases[i].name,
				 cases[i].field.value);
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
