// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Every attribute of every request and every field of every record: what is
 * wrong is refused by the right errno, and the refusal names it.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../kselftest_harness.h"
#include "nl.h"

#define NAME	"fields"

FIXTURE(fields)
{
	struct nl nl;
	struct graph g;
	struct req r;
};

FIXTURE_SETUP(fields)
{
	ASSERT_EQ(0, module_load());
	ASSERT_EQ(0, nl_open(&self->nl));
	graph_make(&self->g, NAME, 9);
}

FIXTURE_TEARDOWN(fields)
{
	nl_close(&self->nl);
	graph_free(&self->g);
}

/* The refusal says which: in words, by pointing at it, or by its number. */
static bool names(const struct nl *nl, __u16 attr, const char *word)
{
	return nl->bad_attr == attr || nl->missing == attr ||
	       (word && strstr(nl->msg, word));
}

/* ---- attributes -------------------------------------------------------- */

/* A well-formed request of a command, without @leave_out. */
static void good(struct req *r, __u8 cmd, const struct graph *g, __u16 leave_out)
{
	req_init(r, cmd);
	switch (cmd) {
	case FX_CMD_GRAPH_BEGIN:
		if (leave_out != FX_A_NAME)
			req_str(r, FX_A_NAME, g->hdr.name);
		if (leave_out != FX_A_DIGEST)
			req_put(r, FX_A_DIGEST, g->hdr.digest, FX_DIGEST_LEN);
		if (leave_out != FX_A_GOVERNS)
			req_u32(r, FX_A_GOVERNS, 0);
		if (leave_out != FX_A_COUNTS)
			req_put(r, FX_A_COUNTS, g->hdr.count, sizeof(g->hdr.count));
		break;
	case FX_CMD_GRAPH_CHUNK:
		if (leave_out != FX_A_SECTION)
			req_u32(r, FX_A_SECTION, FX_SECT_PLACE);
		if (leave_out != FX_A_FIRST)
			req_u32(r, FX_A_FIRST, 0);
		if (leave_out != FX_A_DATA)
			req_put(r, FX_A_DATA, g->place, sizeof(g->place));
		break;
	default:
		if (leave_out != FX_A_NAME)
			req_str(r, FX_A_NAME, g->hdr.name);
	}
}

TEST_F(fields, each_attribute_is_required)
{
	static const struct {
		__u8 cmd;
		__u16 attr;
		bool dump;
	} rows[] = {
		{ FX_CMD_GRAPH_BEGIN, FX_A_NAME },
		{ FX_CMD_GRAPH_BEGIN, FX_A_DIGEST },
		{ FX_CMD_GRAPH_BEGIN, FX_A_GOVERNS },
		{ FX_CMD_GRAPH_BEGIN, FX_A_COUNTS },
		{ FX_CMD_GRAPH_CHUNK, FX_A_SECTION },
		{ FX_CMD_GRAPH_CHUNK, FX_A_FIRST },
		{ FX_CMD_GRAPH_CHUNK, FX_A_DATA },
		{ FX_CMD_GRAPH_DEL, FX_A_NAME },
		{ FX_CMD_GRAPH_GET, FX_A_NAME },
		{ FX_CMD_PLACE_GET, FX_A_NAME, true },
		{ FX_CMD_CLASS_GET, FX_A_NAME, true },
		{ FX_CMD_EDGE_GET, FX_A_NAME, true },
		{ FX_CMD_COUNTER_GET, FX_A_NAME, true },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		good(&self->r, rows[i].cmd, &self->g, rows[i].attr);
		if (rows[i].dump)
			self->r.h.nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
		EXPECT_EQ(-EINVAL, nl_do(&self->nl, &self->r)) {
			TH_LOG("command %u without attribute %u", rows[i].cmd,
			       rows[i].attr);
		}
		EXPECT_EQ(rows[i].attr, self->nl.missing);
		EXPECT_NE(0, self->nl.msg[0]);
	}
}

TEST_F(fields, each_attribute_has_its_size)
{
	static const char bytes[40000];
	static const struct {
		__u8 cmd;
		__u16 attr;
		size_t len;
	} rows[] = {
		{ FX_CMD_GRAPH_BEGIN, FX_A_NAME, 0 },
		{ FX_CMD_GRAPH_BEGIN, FX_A_DIGEST, 0 },
		{ FX_CMD_GRAPH_BEGIN, FX_A_DIGEST, FX_DIGEST_LEN - 1 },
		{ FX_CMD_GRAPH_BEGIN, FX_A_DIGEST, FX_DIGEST_LEN + 1 },
		{ FX_CMD_GRAPH_BEGIN, FX_A_GOVERNS, 0 },
		{ FX_CMD_GRAPH_BEGIN, FX_A_GOVERNS, 3 },
		{ FX_CMD_GRAPH_BEGIN, FX_A_GOVERNS, 8 },
		{ FX_CMD_GRAPH_BEGIN, FX_A_COUNTS, 0 },
		{ FX_CMD_GRAPH_BEGIN, FX_A_COUNTS, 16 },
		{ FX_CMD_GRAPH_BEGIN, FX_A_COUNTS, 24 },
		{ FX_CMD_GRAPH_CHUNK, FX_A_SECTION, 2 },
		{ FX_CMD_GRAPH_CHUNK, FX_A_SECTION, 8 },
		{ FX_CMD_GRAPH_CHUNK, FX_A_FIRST, 1 },
		{ FX_CMD_GRAPH_CHUNK, FX_A_FIRST, 8 },
		{ FX_CMD_GRAPH_CHUNK, FX_A_DATA, 0 },
		{ FX_CMD_GRAPH_CHUNK, FX_A_DATA, CHUNK_MAX + 1 },
		{ FX_CMD_GRAPH_CHUNK, FX_A_DATA, sizeof(bytes) },
	};
	int err;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		good(&self->r, rows[i].cmd, &self->g, rows[i].attr);
		req_put(&self->r, rows[i].attr, bytes, rows[i].len);
		err = nl_do(&self->nl, &self->r);
		EXPECT_TRUE(err == -EINVAL || err == -ERANGE) {
			TH_LOG("command %u, attribute %u of %zu bytes: %d",
			       rows[i].cmd, rows[i].attr, rows[i].len, err);
		}
		EXPECT_EQ(rows[i].attr, self->nl.bad_attr);
	}
}

TEST_F(fields, names)
{
	char no_nul[FX_NAME_LEN], too_long[FX_NAME_LEN + 2];
	const struct {
		const char *name;
		size_t len;
	} rows[] = {
		{ "", 1 }, { ".hidden", 8 }, { "a/b", 4 }, { "a b", 4 },
		{ "a\nb", 4 }, { "a\x7f", 3 }, { "\xc3\xa9", 3 },
		{ no_nul, sizeof(no_nul) }, { no_nul, 5 },
		{ too_long, sizeof(too_long) },
	};
	int err;

	memset(no_nul, 'n', sizeof(no_nul));
	memset(too_long, 'n', sizeof(too_long));
	too_long[sizeof(too_long) - 1] = 0;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		good(&self->r, FX_CMD_GRAPH_BEGIN, &self->g, FX_A_NAME);
		req_put(&self->r, FX_A_NAME, rows[i].name, rows[i].len);
		err = nl_do(&self->nl, &self->r);
		EXPECT_TRUE(err == -EINVAL || err == -ERANGE) {
			TH_LOG("name %zu: %d", i, err);
		}
		EXPECT_TRUE(names(&self->nl, FX_A_NAME, "name"));
	}
	/* the longest that fits is one */
	memcpy(no_nul, too_long, sizeof(no_nul));
	no_nul[FX_NAME_LEN - 1] = 0;
	good(&self->r, FX_CMD_GRAPH_BEGIN, &self->g, FX_A_NAME);
	req_put(&self->r, FX_A_NAME, no_nul, sizeof(no_nul));
	EXPECT_EQ(0, nl_do(&self->nl, &self->r));
}

TEST_F(fields, governs_has_three_bits)
{
	for (__u32 bit = 3; bit < 32; bit++) {
		good(&self->r, FX_CMD_GRAPH_BEGIN, &self->g, FX_A_GOVERNS);
		req_u32(&self->r, FX_A_GOVERNS, 1U << bit);
		EXPECT_EQ(-EINVAL, nl_do(&self->nl, &self->r));
		EXPECT_EQ(FX_A_GOVERNS, self->nl.bad_attr);
	}
}

TEST_F(fields, counts)
{
	static const struct {
		__u32 section;
		__u32 count;
		int err;
		const char *word;
	} rows[] = {
		{ FX_SECT_PLACE, 0, -EINVAL, "counts" },
		{ FX_SECT_PLACE, FX_MAX_PLACES + 1, -E2BIG, "place" },
		{ FX_SECT_PLACE, 0xffffffff, -E2BIG, "place" },
		{ FX_SECT_ALIAS, FX_MAX_ALIASES + 1, -E2BIG, "alias" },
		{ FX_SECT_ALIAS, 0xffffffff, -E2BIG, "alias" },
		{ FX_SECT_CLASS, 0, -EINVAL, "counts" },
		{ FX_SECT_CLASS, FX_MAX_CLASSES + 1, -E2BIG, "class" },
		{ FX_SECT_EDGE, 0, -EINVAL, "counts" },
		{ FX_SECT_EDGE, FX_MAX_EDGES + 1, -E2BIG, "edge" },
		{ FX_SECT_EDGE, 0xffffffff, -E2BIG, "edge" },
		{ FX_SECT_AFTER, FX_MAX_AFTER + 1, -E2BIG, "after" },
		{ FX_SECT_AFTER, 0xffffffff, -E2BIG, "after" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		__u32 count[FX_SECTS];

		memcpy(count, self->g.hdr.count, sizeof(count));
		count[rows[i].section] = rows[i].count;
		good(&self->r, FX_CMD_GRAPH_BEGIN, &self->g, FX_A_COUNTS);
		req_put(&self->r, FX_A_COUNTS, count, sizeof(count));
		EXPECT_EQ(rows[i].err, nl_do(&self->nl, &self->r));
		EXPECT_NE(NULL, strstr(self->nl.msg, rows[i].word)) {
			TH_LOG("'%s' does not say %s", self->nl.msg, rows[i].word);
		}
	}
}

/* The command's own attributes only; beyond them not even known ones. */
TEST_F(fields, unknown_attributes)
{
	static const struct {
		__u8 cmd;
		__u16 attr;
		bool dump;
	} rows[] = {
		{ FX_CMD_GRAPH_BEGIN, FX_A_SECTION }, { FX_CMD_GRAPH_BEGIN, FX_A_MAX + 1 },
		{ FX_CMD_GRAPH_CHUNK, FX_A_NAME }, { FX_CMD_GRAPH_CHUNK, 0x3fff },
		{ FX_CMD_GRAPH_COMMIT, FX_A_NAME }, { FX_CMD_GRAPH_ABORT, FX_A_NAME },
		{ FX_CMD_GRAPH_DEL, FX_A_DIGEST }, { FX_CMD_GRAPH_GET, FX_A_INDEX },
		{ FX_CMD_BYPASS, FX_A_FLAGS },
		{ FX_CMD_GRAPH_GET, FX_A_NAME, true },
		{ FX_CMD_PLACE_GET, FX_A_INDEX, true },
		{ FX_CMD_EDGE_GET, FX_A_MAX + 1, true },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		bool bare = rows[i].cmd == FX_CMD_GRAPH_COMMIT ||
			    rows[i].cmd == FX_CMD_GRAPH_ABORT ||
			    (rows[i].cmd == FX_CMD_GRAPH_GET && rows[i].dump);

		good(&self->r, rows[i].cmd, &self->g, bare ? FX_A_NAME : 0);
		req_u32(&self->r, rows[i].attr, 0);
		if (rows[i].dump)
			self->r.h.nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
		EXPECT_EQ(-EINVAL, nl_do(&self->nl, &self->r)) {
			TH_LOG("command %u took attribute %u", rows[i].cmd,
			       rows[i].attr);
		}
	}
}

TEST_F(fields, header)
{
	static const __u8 versions[] = { 0, FX_GENL_VERSION + 1, 255 };
	static const __u8 cmds[] = {
		FX_CMD_UNSPEC, FX_CMD_EVENT, FX_CMD_MAX + 1, 255,
	};

	for (size_t i = 0; i < ARRAY_SIZE(versions); i++) {
		good(&self->r, FX_CMD_GRAPH_BEGIN, &self->g, 0);
		self->r.g.version = versions[i];
		EXPECT_EQ(-EPROTONOSUPPORT, nl_do(&self->nl, &self->r));
		EXPECT_NE(NULL, strstr(self->nl.msg, "version"));

		good(&self->r, FX_CMD_PLACE_GET, &self->g, 0);
		self->r.g.version = versions[i];
		self->r.h.nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
		EXPECT_EQ(-EPROTONOSUPPORT, nl_do(&self->nl, &self->r));
		EXPECT_NE(NULL, strstr(self->nl.msg, "version"));
	}
	for (size_t i = 0; i < ARRAY_SIZE(cmds); i++) {
		req_init(&self->r, cmds[i]);
		EXPECT_EQ(-EOPNOTSUPP, nl_do(&self->nl, &self->r));
	}
	good(&self->r, FX_CMD_GRAPH_BEGIN, &self->g, 0);
	self->r.g.reserved = 1;
	EXPECT_EQ(-EINVAL, nl_do(&self->nl, &self->r));
	/* places have no `do`, begin has no `dump` */
	good(&self->r, FX_CMD_PLACE_GET, &self->g, 0);
	EXPECT_EQ(-EOPNOTSUPP, nl_do(&self->nl, &self->r));
	good(&self->r, FX_CMD_GRAPH_BEGIN, &self->g, 0);
	self->r.h.nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
	EXPECT_EQ(-EOPNOTSUPP, nl_do(&self->nl, &self->r));
}

/* ---- chunks ------------------------------------------------------------ */

TEST_F(fields, chunks)
{
	static char bytes[CHUNK_MAX];
	const struct {
		__u32 section;
		__u32 first;
		size_t len;
		int err;
		__u16 attr;
		const char *word;
	} rows[] = {
		{ FX_SECTS, 0, 8, -ERANGE, FX_A_SECTION, NULL },
		{ 0xffffffff, 0, 8, -ERANGE, FX_A_SECTION, NULL },
		{ FX_SECT_PLACE, 0, sizeof(struct fx_place_desc) - 1, -EINVAL, FX_A_DATA, "data" },
		{ FX_SECT_PLACE, 0, sizeof(struct fx_place_desc) + 4, -EINVAL, FX_A_DATA, "data" },
		{ FX_SECT_CLASS, 0, 8, -EINVAL, FX_A_DATA, "class" },
		{ FX_SECT_EDGE, 0, 33, -EINVAL, FX_A_DATA, "edge" },
		{ FX_SECT_AFTER, 0, 3, -EINVAL, FX_A_DATA, "after" },
		{ FX_SECT_PLACE, 2, sizeof(struct fx_place_desc), -ERANGE, FX_A_FIRST, "first" },
		{ FX_SECT_PLACE, 1, 2 * sizeof(struct fx_place_desc), -ERANGE, FX_A_FIRST, "place" },
		{ FX_SECT_EDGE, 9, 32, -ERANGE, FX_A_FIRST, "edge" },
		{ FX_SECT_EDGE, 8, 64, -ERANGE, FX_A_FIRST, "edge" },
		{ FX_SECT_EDGE, 0xffffffff, 32, -ERANGE, FX_A_FIRST, "edge" },
		{ FX_SECT_EDGE, 0xffffffff, 64, -ERANGE, FX_A_FIRST, "edge" },
		{ FX_SECT_AFTER, 1, 4, -ERANGE, FX_A_FIRST, "after" },
		{ FX_SECT_AFTER, 0x80000000, 4, -ERANGE, FX_A_FIRST, "after" },
		/* the longest there is, and too many records for this graph */
		{ FX_SECT_AFTER, 0, CHUNK_MAX, -ERANGE, FX_A_FIRST, "after" },
	};

	ASSERT_EQ(0, nl_begin(&self->nl, &self->g));
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		EXPECT_EQ(rows[i].err, nl_chunk(&self->nl, rows[i].section,
						rows[i].first, bytes, rows[i].len)) {
			TH_LOG("row %zu", i);
		}
		EXPECT_TRUE(names(&self->nl, rows[i].attr, NULL)) {
			TH_LOG("row %zu: '%s' points at %d", i, self->nl.msg,
			       self->nl.bad_attr);
		}
		EXPECT_TRUE(!rows[i].word || strstr(self->nl.msg, rows[i].word)) {
			TH_LOG("row %zu: '%s' does not say %s", i, self->nl.msg,
			       rows[i].word);
		}
	}
	/* none of it has hurt the transaction */
	EXPECT_EQ(0, nl_sections(&self->nl, &self->g));
	EXPECT_EQ(0, nl_bare(&self->nl, FX_CMD_GRAPH_COMMIT));
	EXPECT_EQ(0, nl_name(&self->nl, FX_CMD_GRAPH_DEL, NAME));
}

/* Records may come more than once and in any order: the last one counts. */
TEST_F(fields, records_overlap)
{
	size_t size;

	ASSERT_EQ(0, nl_begin(&self->nl, &self->g));
	EXPECT_EQ(0, nl_chunk(&self->nl, FX_SECT_AFTER, 0, "\xff\xff\xff\xff", 4));
	for (__u32 i = 9; i--;)
		EXPECT_EQ(0, nl_chunk(&self->nl, FX_SECT_EDGE, i,
				      graph_record(&self->g, FX_SECT_EDGE, 0, &size), 32));
	EXPECT_EQ(0, nl_sections(&self->nl, &self->g));
	EXPECT_EQ(0, nl_bare(&self->nl, FX_CMD_GRAPH_COMMIT));
	EXPECT_EQ(0, nl_name(&self->nl, FX_CMD_GRAPH_DEL, NAME));
}

TEST_F(fields, unfinished_upload)
{
	size_t size;
	char *base;

	ASSERT_EQ(0, nl_begin(&self->nl, &self->g));
	EXPECT_EQ(-EINVAL, nl_bare(&self->nl, FX_CMD_GRAPH_COMMIT));
	/* section by section: what is still zero is no record */
	for (__u32 s = 0; s < FX_SECTS - 1; s++) {
		base = graph_record(&self->g, s, 0, &size);
		EXPECT_EQ(-EINVAL, nl_bare(&self->nl, FX_CMD_GRAPH_COMMIT)) {
			TH_LOG("accepted before section %u", s);
		}
		EXPECT_NE(0, self->nl.msg[0]);
		EXPECT_EQ(0, nl_chunk(&self->nl, s, 0, base,
				      size * self->g.hdr.count[s]));
	}
	EXPECT_EQ(-ENOENT, nl_name(&self->nl, FX_CMD_GRAPH_GET, NAME));
}

/* ---- records ----------------------------------------------------------- */

#define AT(type, member) \
	offsetof(struct type, member), sizeof(((struct type *)0)->member)

struct fault {
	__u32 section;
	__u32 record;
	size_t at;
	size_t size;
	__u64 value;
	const char *word;
};

#define PLACE(i, member, value, word) \
	{ FX_SECT_PLACE, i, AT(fx_place_desc, member), value, word }
#define ALIAS(member, value, word) \
	{ FX_SECT_ALIAS, 0, AT(fx_alias_desc, member), value, word }
#define CLASS(i, member, value, word) \
	{ FX_SECT_CLASS, i, AT(fx_class_desc, member), value, word }
#define EDGE(i, member, value, word) \
	{ FX_SECT_EDGE, i, AT(fx_edge_desc, member), value, word }

static const struct fault faults[] = {
	PLACE(0, name[0], 0, "place 0: name"),
	PLACE(0, kind, FX_PLACE_KINDS, "place 0: kind"),
	PLACE(1, kind, 0xffff, "place 1: kind"),
	PLACE(0, match_kind, FX_MATCH_KINDS, "place 0: match_kind"),
	PLACE(0, match_kind, FX_MATCH_NONE, "place 0: match"),
	PLACE(0, match[0], 0, "place 0: match"),
	PLACE(0, match[0], 'x', "place 0: match"),
	PLACE(0, match[0], '-', "place 0: match"),
	PLACE(0, flags, FX_PLACE_F_ALL + 1, "place 0: flags"),
	PLACE(0, flags, 0x80000000, "place 0: flags"),
	PLACE(1, capacity, 1ULL << 63, "place 1: capacity"),
	PLACE(1, reserved, 1, "place 1: reserved"),
	ALIAS(name[0], 0, "alias 0: name"),
	ALIAS(bytes, 0, "alias 0: bytes"),
	ALIAS(bytes, 1ULL << 63, "alias 0: bytes"),
	ALIAS(bytes, 8 * EDGE_BYTES - 1, "edge 7: alias_at"),
	CLASS(0, name[0], 0, "class 0: name"),
	CLASS(0, from, 2, "class 0: from"),
	CLASS(0, from, FX_PLACE_NONE, "class 0: from"),
	CLASS(0, n_to, 0, "class 0: n_to"),
	CLASS(0, n_to, FX_MAX_TO + 1, "class 0: n_to"),
	CLASS(0, n_to, 0xffff, "class 0: n_to"),
	CLASS(0, to[0], 2, "class 0: to"),
	CLASS(0, to[1], 1, "class 0: to"),
	CLASS(0, to[FX_MAX_TO - 1], 1, "class 0: to"),
	CLASS(0, element, FX_ELEMS, "class 0: element"),
	CLASS(0, order, FX_ORDERS, "class 0: order"),
	CLASS(0, owner, FX_OWNERS, "class 0: owner"),
	CLASS(0, alias, 1, "class 0: alias"),
	CLASS(0, alias, FX_ALIAS_NONE - 1, "class 0: alias"),
	CLASS(0, alias, FX_ALIAS_NONE, "edge 1: alias_at"),
	CLASS(0, priority, 8, "class 0: priority"),
	CLASS(0, n_xforms, FX_MAX_XFORMS + 1, "class 0: n_xforms"),
	CLASS(0, n_xforms, 2, "class 0: xform"),
	CLASS(0, n_xforms, 0, "class 0: xform"),
	CLASS(0, xform[0].kind, FX_XFORM_MOVE, "class 0: xform"),
	CLASS(0, xform[0].kind, FX_XFORMS, "class 0: xform"),
	CLASS(0, xform[0].arg, FX_CSUM_NONE, "class 0: xform"),
	CLASS(0, xform[0].arg, FX_CSUMS, "class 0: xform"),
	CLASS(0, xform[0].from, FX_ELEMS, "class 0: xform"),
	CLASS(0, xform[0].flags, FX_XFORM_F_ALL + 1, "class 0: xform"),
	CLASS(0, xform[3].arg, 1, "class 0: xform"),
	CLASS(0, flags, FX_CLASS_F_ALL + 1, "class 0: flags"),
	CLASS(0, reserved, 1, "class 0: reserved"),
	CLASS(0, chunk, 1ULL << 63, "class 0: chunk"),
	CLASS(0, stride, 64, "class 0: stride"),
	CLASS(0, stride, 1ULL << 63, "class 0: chunk or stride"),
	CLASS(0, to_stride, 64, "class 0: stride"),
	CLASS(0, first, 1, "class 0: first"),
	CLASS(0, count, 0, "class 0: first or count"),
	CLASS(0, count, 7, "class 0: dim"),
	CLASS(0, count, 10, "class 0: first or count"),
	CLASS(0, count, 0xffffffff, "class 0: first or count"),
	CLASS(1, first, 7, "class 1: first"),
	CLASS(1, first, 9, "class 1: first"),
	CLASS(0, dim[0], 0, "class 0: dim"),
	CLASS(0, dim[0], 4, "class 0: dim"),
	CLASS(0, dim[1], 2, "class 0: dim"),
	CLASS(0, dim[1], 0x20000001, "class 0: dim"),
	CLASS(0, dim[2], 1, "class 0: dim"),
	EDGE(0, cls, 2, "edge 0: cls"),
	EDGE(0, cls, FX_CLASS_NONE, "edge 0: cls"),
	EDGE(0, cls, 1, "edge 0: cls"),
	EDGE(8, cls, 0, "edge 8: cls"),
	EDGE(3, bytes, 0, "edge 3: bytes"),
	EDGE(3, bytes, 1ULL << 63, "edge 3: bytes"),
	EDGE(3, bytes, 6 * EDGE_BYTES, "edge 3: alias_at"),
	EDGE(3, alias_at, 8 * EDGE_BYTES - 1, "edge 3: alias_at"),
	EDGE(3, alias_at, ~0ULL - EDGE_BYTES + 1, "edge 3: alias_at"),
	EDGE(3, alias_at, ~0ULL, "edge 3: alias_at"),
	EDGE(8, alias_at, 1, "edge 8: alias_at"),
	EDGE(8, after, 2, "edge 8: after"),
	EDGE(8, after, 0xffffffff, "edge 8: after"),
	EDGE(8, n_after, 2, "edge 8: after"),
	EDGE(8, n_after, 0xffff, "edge 8: after"),
	{ FX_SECT_AFTER, 0, 0, 4, 9, "after 0" },
	{ FX_SECT_AFTER, 0, 0, 4, FX_EDGE_NONE, "after 0" },
};

TEST_F(fields, each_field_of_each_record)
{
	ASSERT_EQ(0, nl_begin(&self->nl, &self->g));
	ASSERT_EQ(0, nl_sections(&self->nl, &self->g));
	for (size_t i = 0; i < ARRAY_SIZE(faults); i++) {
		const struct fault *f = &faults[i];
		char saved[512], *record;
		size_t size;

		record = graph_record(&self->g, f->section, f->record, &size);
		memcpy(saved, record, size);
		memcpy(record + f->at, &f->value, f->size);
		ASSERT_EQ(0, nl_chunk(&self->nl, f->section, f->record, record, size));
		EXPECT_EQ(-EINVAL, nl_bare(&self->nl, FX_CMD_GRAPH_COMMIT)) {
			TH_LOG("'%s' was accepted", f->word);
		}
		EXPECT_NE(NULL, strstr(self->nl.msg, f->word)) {
			TH_LOG("'%s' does not say '%s'", self->nl.msg, f->word);
		}
		memcpy(record, saved, size);
		ASSERT_EQ(0, nl_chunk(&self->nl, f->section, f->record, record, size));
	}
	/* with all of them put right it is a graph */
	EXPECT_EQ(0, nl_bare(&self->nl, FX_CMD_GRAPH_COMMIT)) {
		TH_LOG("%s", self->nl.msg);
	}
	EXPECT_EQ(0, nl_name(&self->nl, FX_CMD_GRAPH_DEL, NAME));
}

/* Of pieces that overlap the last is not the one that ends last. */
TEST_F(fields, pieces_do_not_overlap)
{
	struct fx_class_desc *c;
	size_t size;

	c = (void *)graph_record(&self->g, FX_SECT_CLASS, 0, &size);
	ASSERT_EQ(0, nl_begin(&self->nl, &self->g));
	ASSERT_EQ(0, nl_sections(&self->nl, &self->g));
	c->chunk = EDGE_BYTES / 2;
	for (c->stride = 1; c->stride < c->chunk; c->stride = 2 * c->stride + 1) {
		ASSERT_EQ(0, nl_chunk(&self->nl, FX_SECT_CLASS, 0, (char *)c, size));
		EXPECT_EQ(-EINVAL, nl_bare(&self->nl, FX_CMD_GRAPH_COMMIT));
		EXPECT_NE(NULL, strstr(self->nl.msg, "class 0: stride"));
	}
	c->stride = c->chunk;
	ASSERT_EQ(0, nl_chunk(&self->nl, FX_SECT_CLASS, 0, (char *)c, size));
	EXPECT_EQ(0, nl_bare(&self->nl, FX_CMD_GRAPH_COMMIT));
	EXPECT_EQ(0, nl_name(&self->nl, FX_CMD_GRAPH_DEL, NAME));
}

/* Strings that fill their array have no end. */
TEST_F(fields, strings_have_an_end)
{
	static const struct {
		__u32 section;
		size_t at;
		size_t size;
		const char *word;
	} rows[] = {
		{ FX_SECT_PLACE, AT(fx_place_desc, name), "place 0: name" },
		{ FX_SECT_PLACE, AT(fx_place_desc, match), "place 0: match" },
		{ FX_SECT_ALIAS, AT(fx_alias_desc, name), "alias 0: name" },
		{ FX_SECT_CLASS, AT(fx_class_desc, name), "class 0: name" },
	};

	ASSERT_EQ(0, nl_begin(&self->nl, &self->g));
	ASSERT_EQ(0, nl_sections(&self->nl, &self->g));
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char saved[512], *record;
		size_t size;

		record = graph_record(&self->g, rows[i].section, 0, &size);
		memcpy(saved, record, size);
		memset(record + rows[i].at, '1', rows[i].size);
		ASSERT_EQ(0, nl_chunk(&self->nl, rows[i].section, 0, record, size));
		EXPECT_EQ(-EINVAL, nl_bare(&self->nl, FX_CMD_GRAPH_COMMIT));
		EXPECT_NE(NULL, strstr(self->nl.msg, rows[i].word));
		memcpy(record, saved, size);
		ASSERT_EQ(0, nl_chunk(&self->nl, rows[i].section, 0, record, size));
	}
}

TEST_HARNESS_MAIN
