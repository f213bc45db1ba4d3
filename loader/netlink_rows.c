// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What the attributes of an answer become: one table per command. */
#include <errno.h>
#include <netlink/attr.h>
#include <string.h>

#include "netlink.h"

enum field_kind { BYTES, STRING };

struct field {
	u16 attr;
	u16 at;
	u16 size;
	u8 kind;
	bool optional;
};

#define FIELD(attr, type, member)					\
	{ attr, offsetof(struct type, member),				\
	  sizeof(((struct type *)0)->member), BYTES, false }
#define MAYBE(attr, type, member)					\
	{ attr, offsetof(struct type, member),				\
	  sizeof(((struct type *)0)->member), BYTES, true }
#define TEXT(attr, type, member, optional)				\
	{ attr, offsetof(struct type, member),				\
	  sizeof(((struct type *)0)->member), STRING, optional }

static const struct field graph_fields[] = {
	TEXT(FX_A_NAME, fx_nl_graph, name, false),
	FIELD(FX_A_DIGEST, fx_nl_graph, digest),
	FIELD(FX_A_GOVERNS, fx_nl_graph, governs),
	FIELD(FX_A_COUNTS, fx_nl_graph, count),
	TEXT(FX_A_POLICY, fx_nl_graph, policy, true),
	FIELD(FX_A_FLAGS, fx_nl_graph, flags),
	FIELD(FX_A_EXIT_KIND, fx_nl_graph, exit_kind),
	TEXT(FX_A_EXIT_MSG, fx_nl_graph, exit_msg, true),
	TEXT(FX_A_EXIT_DUMP, fx_nl_graph, exit_dump, true),
	FIELD(FX_A_EMITTED, fx_nl_graph, emitted),
	FIELD(FX_A_LOST, fx_nl_graph, lost),
	FIELD(FX_A_KMEM, fx_nl_graph, kmem),
	MAYBE(FX_A_MISSING, fx_nl_graph, missing),
};

static const struct field place_fields[] = {
	FIELD(FX_A_INDEX, fx_nl_place, index),
	FIELD(FX_A_PLACE, fx_nl_place, desc),
	FIELD(FX_A_NODE, fx_nl_place, node),
	FIELD(FX_A_BOUND, fx_nl_place, bound),
	FIELD(FX_A_USED, fx_nl_place, used),
	MAYBE(FX_A_RES_START, fx_nl_place, res_start),
	MAYBE(FX_A_RES_SIZE, fx_nl_place, res_size),
};

static const struct field class_fields[] = {
	FIELD(FX_A_INDEX, fx_nl_class, index),
	FIELD(FX_A_CLASS, fx_nl_class, desc),
	FIELD(FX_A_ASKED, fx_nl_class, moves),
	FIELD(FX_A_REFUSED, fx_nl_class, refused),
	FIELD(FX_A_FAILED, fx_nl_class, failed),
	FIELD(FX_A_BYTES_IN, fx_nl_class, bytes_in),
	FIELD(FX_A_BYTES_OUT, fx_nl_class, bytes_out),
	FIELD(FX_A_NS, fx_nl_class, ns),
	FIELD(FX_A_VERIFY_NS, fx_nl_class, verify_ns),
};

static const struct field edge_fields[] = {
	FIELD(FX_A_INDEX, fx_nl_edge, index),
	FIELD(FX_A_EDGE, fx_nl_edge, desc),
	FIELD(FX_A_ASKED, fx_nl_edge, moves),
};

static const struct field counter_fields[] = {
	FIELD(FX_A_INDEX, fx_nl_counter, index),
	FIELD(FX_A_ASKED, fx_nl_counter, asked),
	FIELD(FX_A_REFUSED, fx_nl_counter, refused),
	FIELD(FX_A_INVALID, fx_nl_counter, invalid),
};

static int fill(const struct field *f, struct nlattr *a, char *row)
{
	size_t len;

	if (!a)
		return f->optional ? 0 : -EPROTO;
	len = (size_t)nla_len(a);
	if (f->kind == BYTES) {
		if (len != f->size)
			return -EPROTO;
		memcpy(row + f->at, nla_data(a), len);
		return 0;
	}
	/* the row was zeroed: what is too long is cut and still ends */
	len = strnlen(nla_data(a), len);
	len = len < f->size ? len : f->size - 1U;
	memcpy(row + f->at, nla_data(a), len);
	/* a policy says what it likes, and it ends up on root's terminal */
	for (char *c = row + f->at; *c; c++)
		if (((u8)*c < 0x20 && !strchr("\t\n", *c)) || *c == 0x7f)
			*c = '?';
	return 0;
}

static bool ends(const char *s, size_t size)
{
	return memchr(s, 0, size);
}

/* What others index and print by: lengths within their arrays, names that end. */
static bool is_place(const void *row)
{
	const struct fx_place_desc *d = &((const struct fx_nl_place *)row)->desc;

	return ends(d->name, sizeof(d->name)) && ends(d->match, sizeof(d->match));
}

static bool is_class(const void *row)
{
	const struct fx_class_desc *d = &((const struct fx_nl_class *)row)->desc;

	return ends(d->name, sizeof(d->name)) && d->n_to <= FX_MAX_TO &&
	       d->n_xforms <= FX_MAX_XFORMS;
}

static const struct row {
	size_t size;
	const struct field *field;
	u32 n;
	bool (*sound)(const void *row);
} rows[__FX_CMD_MAX] = {
#define ROW(cmd, type, fields, sound)					\
	[cmd] = { sizeof(struct type), fields, ARRAY_SIZE(fields), sound }
	ROW(FX_CMD_GRAPH_GET, fx_nl_graph, graph_fields, NULL),
	ROW(FX_CMD_PLACE_GET, fx_nl_place, place_fields, is_place),
	ROW(FX_CMD_CLASS_GET, fx_nl_class, class_fields, is_class),
	ROW(FX_CMD_EDGE_GET, fx_nl_edge, edge_fields, NULL),
	ROW(FX_CMD_COUNTER_GET, fx_nl_counter, counter_fields, NULL),
#undef ROW
};

size_t fx_nl_row_size(enum fx_cmd cmd)
{
	return rows[cmd].size;
}

/* Fill the row of @cmd from an answer's attributes; -EPROTO: not of this version. */
int fx_nl_row(enum fx_cmd cmd, struct nlattr *attrs, int len, void *row)
{
	const struct row *r = &rows[cmd];
	struct nlattr *tb[FX_A_MAX + 1];
	int err = nla_parse(tb, FX_A_MAX, attrs, len, NULL) < 0 ? -EPROTO : 0;

	memset(row, 0, r->size);
	for (u32 i = 0; !err && i < r->n; i++)
		err = fill(&r->field[i], tb[r->field[i].attr], row);
	return !err && r->sound && !r->sound(row) ? -EPROTO : err;
}

/* The events of one message, copied to @room because attributes align to 4. */
int fx_nl_events_row(struct nlattr *attrs, int len, struct fx_event *room,
		     u32 cap, struct fx_nl_events *out)
{
	struct nlattr *a;
	int rest;

	memset(out, 0, sizeof(*out));
	out->ev = room;
	nla_for_each_attr(a, attrs, len, rest) {
		switch (nla_type(a)) {
		case FX_A_NAME:
			if (!memchr(nla_data(a), 0, (size_t)nla_len(a)))
				return -EPROTO;
			out->graph = nla_data(a);
			break;
		case FX_A_EMITTED:
			if (nla_len(a) != sizeof(u64))
				return -EPROTO;
			memcpy(&out->emitted, nla_data(a), sizeof(u64));
			break;
		case FX_A_LOST:
			if (nla_len(a) != sizeof(u64))
				return -EPROTO;
			memcpy(&out->lost, nla_data(a), sizeof(u64));
			break;
		case FX_A_EVENT:
			if (nla_len(a) != sizeof(*room) || out->n == cap)
				return -EPROTO;
			memcpy(&room[out->n++], nla_data(a), sizeof(*room));
			break;
		}
	}
	return out->graph ? 0 : -EPROTO;
}
