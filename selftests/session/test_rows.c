// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Answers of the kernel: read to the byte, and refused when they are not so. */
#include <netlink/attr.h>
#include <netlink/msg.h>

#include "json.h"
#include "netlink.h"
#include "rows.h"
#include "session_test.h"

static struct nl_msg *message(void)
{
	struct nl_msg *m = nlmsg_alloc();

	assert_non_null(m);
	nlmsg_put(m, 0, 0, 0, 0, 0);
	return m;
}

static struct nlattr *attrs(struct nl_msg *m, int *len)
{
	*len = nlmsg_attrlen(nlmsg_hdr(m), 0);
	return nlmsg_attrdata(nlmsg_hdr(m), 0);
}

/* Attributes of a counter, without @skip and with @skip's own size wrong. */
static struct nl_msg *counter(int skip, size_t wrong)
{
	static const int ids[] = { FX_A_ASKED, FX_A_REFUSED, FX_A_INVALID };
	struct nl_msg *m = message();
	char bytes[64] = { 0 };
	u32 index = 7;
	u64 v;

	if (skip != FX_A_INDEX)
		nla_put(m, FX_A_INDEX, sizeof(index), &index);
	for (u32 i = 0; i < ARRAY_SIZE(ids); i++) {
		v = 1000 + i;
		if (skip != ids[i])
			nla_put(m, ids[i], sizeof(v), &v);
	}
	if (skip && wrong)
		nla_put(m, skip, (int)wrong, bytes);
	return m;
}

static int read_counter(struct nl_msg *m, struct fx_nl_counter *c)
{
	struct nlattr *a;
	int len;

	a = attrs(m, &len);
	return fx_nl_row(FX_CMD_COUNTER_GET, a, len, c);
}

static void counters(void **state)
{
	static const int ids[] = {
		FX_A_INDEX, FX_A_ASKED, FX_A_REFUSED, FX_A_INVALID,
	};
	struct fx_nl_counter c;
	struct nl_msg *m = counter(0, 0);

	(void)state;
	assert_int_equal(read_counter(m, &c), 0);
	assert_int_equal(c.index, 7);
	assert_int_equal(c.asked, 1000);
	assert_int_equal(c.refused, 1001);
	assert_int_equal(c.invalid, 1002);
	nlmsg_free(m);

	for (u32 i = 0; i < ARRAY_SIZE(ids); i++) {
		m = counter(ids[i], 0);
		assert_int_not_equal(read_counter(m, &c), 0);
		nlmsg_free(m);
		for (size_t wrong = 1; wrong < 20; wrong++) {
			if (wrong == (ids[i] == FX_A_INDEX ? sizeof(u32) : sizeof(u64)))
				continue;
			m = counter(ids[i], wrong);
			assert_int_not_equal(read_counter(m, &c), 0);
			nlmsg_free(m);
		}
	}
}

/* Strings that lack their NUL or are too long are cut, never overrun. */
static void strings(void **state)
{
	struct fx_nl_graph *g = fx_alloc(sizeof(*g));
	char longest[5000];
	u8 digest[FX_DIGEST_LEN] = { 1, 2, 3 };
	u32 count[FX_SECTS] = { 1, 2, 3, 4, 5 }, v = 0;
	u64 big = 9;
	struct nlattr *a;
	int len;

	(void)state;
	memset(longest, 'x', sizeof(longest));
	for (u32 size = 0; size < sizeof(longest); size += 61) {
		struct nl_msg *m = nlmsg_alloc_size(32768);

		nlmsg_put(m, 0, 0, 0, 0, 0);
		nla_put(m, FX_A_NAME, (int)size, longest);
		nla_put(m, FX_A_DIGEST, sizeof(digest), digest);
		nla_put(m, FX_A_GOVERNS, sizeof(v), &v);
		nla_put(m, FX_A_COUNTS, sizeof(count), count);
		nla_put(m, FX_A_FLAGS, sizeof(v), &v);
		nla_put(m, FX_A_EXIT_KIND, sizeof(v), &v);
		nla_put(m, FX_A_EXIT_MSG, (int)size, longest);
		nla_put(m, FX_A_EXIT_DUMP, (int)size, longest);
		nla_put(m, FX_A_EMITTED, sizeof(big), &big);
		nla_put(m, FX_A_LOST, sizeof(big), &big);
		nla_put(m, FX_A_KMEM, sizeof(big), &big);
		a = attrs(m, &len);
		assert_int_equal(fx_nl_row(FX_CMD_GRAPH_GET, a, len, g), 0);
		assert_int_equal(strlen(g->name), size < FX_NAME_LEN ? size : FX_NAME_LEN - 1);
		assert_true(strlen(g->exit_dump) < sizeof(g->exit_dump));
		assert_int_equal(strlen(g->policy), 0);
		assert_memory_equal(g->count, count, sizeof(count));
		nlmsg_free(m);
	}
	free(g);
}

static void events(void **state)
{
	struct fx_event room[4], ev = { .seq = 5, .bytes = 77 };
	struct fx_nl_events msg;
	struct nl_msg *m = message();
	struct nlattr *a;
	u64 v = 3;
	int len;

	(void)state;
	nla_put_string(m, FX_A_NAME, "g");
	nla_put(m, FX_A_EMITTED, sizeof(v), &v);
	for (int i = 0; i < 4; i++, ev.seq++)
		nla_put(m, FX_A_EVENT, sizeof(ev), &ev);
	a = attrs(m, &len);
	assert_int_equal(fx_nl_events_row(a, len, room, 4, &msg), 0);
	assert_string_equal(msg.graph, "g");
	assert_int_equal(msg.n, 4);
	assert_int_equal(msg.emitted, 3);
	assert_int_equal(msg.ev[3].seq, 8);
	assert_int_equal(msg.ev[3].bytes, 77);
	/* more than there is room for, and a size of its own */
	assert_int_not_equal(fx_nl_events_row(a, len, room, 3, &msg), 0);
	nla_put(m, FX_A_EVENT, sizeof(ev) - 8, &ev);
	a = attrs(m, &len);
	assert_int_not_equal(fx_nl_events_row(a, len, room, 4, &msg), 0);
	nlmsg_free(m);

	m = message();
	nla_put(m, FX_A_NAME, 3, "abc");	/* no NUL */
	a = attrs(m, &len);
	assert_int_not_equal(fx_nl_events_row(a, len, room, 4, &msg), 0);
	nlmsg_free(m);
}

/* An answer with one attribute wrong, of a place or a class. */
static int read_place(const struct fx_place_desc *d)
{
	struct fx_nl_place *row = fx_alloc(sizeof(*row));
	struct nl_msg *m = message();
	struct nlattr *a;
	int len, err;
	u64 used = 0;
	u32 v = 0;
	u8 bound = 0;

	nla_put(m, FX_A_INDEX, sizeof(v), &v);
	nla_put(m, FX_A_PLACE, sizeof(*d), d);
	nla_put(m, FX_A_NODE, sizeof(v), &v);
	nla_put(m, FX_A_BOUND, sizeof(bound), &bound);
	nla_put(m, FX_A_USED, sizeof(used), &used);
	a = attrs(m, &len);
	err = fx_nl_row(FX_CMD_PLACE_GET, a, len, row);
	nlmsg_free(m);
	free(row);
	return err;
}

static int read_class(const struct fx_class_desc *d)
{
	static const int counters[] = {
		FX_A_ASKED, FX_A_REFUSED, FX_A_FAILED, FX_A_BYTES_IN,
		FX_A_BYTES_OUT, FX_A_NS, FX_A_VERIFY_NS,
	};
	struct fx_nl_class *row = fx_alloc(sizeof(*row));
	struct nl_msg *m = message();
	struct nlattr *a;
	int len, err;
	u64 n = 0;
	u32 v = 0;

	nla_put(m, FX_A_INDEX, sizeof(v), &v);
	nla_put(m, FX_A_CLASS, sizeof(*d), d);
	for (u32 i = 0; i < ARRAY_SIZE(counters); i++)
		nla_put(m, counters[i], sizeof(n), &n);
	a = attrs(m, &len);
	err = fx_nl_row(FX_CMD_CLASS_GET, a, len, row);
	nlmsg_free(m);
	free(row);
	return err;
}

/* Names without an end and lengths beyond their arrays do not get in. */
static void descriptions(void **state)
{
	struct fx_place_desc p = { .name = "host", .match = "0" };
	struct fx_class_desc c = { .name = "out", .n_to = FX_MAX_TO };

	(void)state;
	assert_int_equal(read_place(&p), 0);
	memset(p.name, 'x', sizeof(p.name));
	assert_int_not_equal(read_place(&p), 0);
	p.name[sizeof(p.name) - 1] = 0;
	assert_int_equal(read_place(&p), 0);
	memset(p.match, 'x', sizeof(p.match));
	assert_int_not_equal(read_place(&p), 0);

	assert_int_equal(read_class(&c), 0);
	c.n_to++;
	assert_int_not_equal(read_class(&c), 0);
	c.n_to = 1;
	c.n_xforms = FX_MAX_XFORMS + 1;
	assert_int_not_equal(read_class(&c), 0);
	c.n_xforms = 0;
	memset(c.name, 'x', sizeof(c.name));
	assert_int_not_equal(read_class(&c), 0);
}

/* What a policy says at its end does not control the terminal that shows it. */
static void last_words(void **state)
{
	struct fx_nl_graph *g = fx_alloc(sizeof(*g));
	struct nl_msg *m = message();
	u8 digest[FX_DIGEST_LEN] = { 0 };
	u32 count[FX_SECTS] = { 0 }, v = 0;
	struct nlattr *a;
	u64 big = 0;
	int len;

	(void)state;
	nla_put_string(m, FX_A_NAME, "g");
	nla_put(m, FX_A_DIGEST, sizeof(digest), digest);
	nla_put(m, FX_A_GOVERNS, sizeof(v), &v);
	nla_put(m, FX_A_COUNTS, sizeof(count), count);
	nla_put(m, FX_A_FLAGS, sizeof(v), &v);
	nla_put(m, FX_A_EXIT_KIND, sizeof(v), &v);
	nla_put_string(m, FX_A_EXIT_DUMP, "a\tb\n\033[2J\x7f\xc3\xbc");
	nla_put(m, FX_A_EMITTED, sizeof(big), &big);
	nla_put(m, FX_A_LOST, sizeof(big), &big);
	nla_put(m, FX_A_KMEM, sizeof(big), &big);
	a = attrs(m, &len);
	assert_int_equal(fx_nl_row(FX_CMD_GRAPH_GET, a, len, g), 0);
	assert_string_equal(g->exit_dump, "a\tb\n?[2J?\xc3\xbc");
	nlmsg_free(m);
	free(g);
}

static struct fx_tables *named_tables(void)
{
	static struct fx_nl_place place[] = {
		{ .desc.name = "gpu0" }, { .desc.name = "host" },
	};
	static struct fx_nl_class cls[] = {
		{ .desc = { .name = "in", .first = 0, .count = 1 } },
		{ .desc = { .name = "kv_out", .first = 1, .count = 6, .dim = { 2, 3 } } },
	};
	static struct fx_tables t = {
		.place = place, .n_place = ARRAY_SIZE(place),
		.cls = cls, .n_class = ARRAY_SIZE(cls),
	};

	return &t;
}

static void edge_names(void **state)
{
	static const char *const want[] = {
		"in", "kv_out[0,0]", "kv_out[0,1]", "kv_out[0,2]",
		"kv_out[1,0]", "kv_out[1,1]", "kv_out[1,2]",
	};
	struct fx_tables none = { 0 };

	(void)state;
	for (u32 i = 0; i < ARRAY_SIZE(want); i++) {
		char *name = fx_edge_name(named_tables(), i);

		assert_string_equal(name, want[i]);
		free(name);
	}
	assert_null(fx_edge_name(named_tables(), ARRAY_SIZE(want)));
	assert_null(fx_edge_name(named_tables(), FX_EDGE_NONE));
	assert_null(fx_edge_name(&none, 0));
}

static const char *member(struct json_object *o, const char *key)
{
	struct json_object *v;

	return json_object_object_get_ex(o, key, &v) ? json_object_get_string(v) : NULL;
}

/* Names stand beside the numbers, and numbers alone where there are none. */
static void event_names(void **state)
{
	struct fx_event ev = { .type = FX_EV_MOVE, .op = FX_OP_MOVE, .edge = 4,
			       .place = 1 };
	struct fx_tables none = { 0 };
	struct json_object *o;

	(void)state;
	o = fx_event_json(&ev, "g", named_tables());
	assert_string_equal(member(o, "edge"), "4");
	assert_string_equal(member(o, "edge_name"), "kv_out[1,0]");
	assert_string_equal(member(o, "class"), "kv_out");
	assert_string_equal(member(o, "place"), "1");
	assert_string_equal(member(o, "place_name"), "host");
	json_object_put(o);

	o = fx_event_json(&ev, "g", &none);
	assert_string_equal(member(o, "edge"), "4");
	assert_null(member(o, "edge_name"));
	assert_null(member(o, "class"));
	assert_null(member(o, "place_name"));
	json_object_put(o);

	ev = (struct fx_event){ .type = FX_EV_PLACE, .edge = FX_EDGE_NONE,
				.arg0 = 2, .arg1 = 0x100000000 };
	o = fx_event_json(&ev, "g", named_tables());
	assert_string_equal(member(o, "place_name"), "gpu0");
	assert_string_equal(member(o, "node"), "2");
	assert_string_equal(member(o, "address"), "4294967296");
	json_object_put(o);
	ev.arg0 = (u64)FX_NODE_NONE;
	o = fx_event_json(&ev, "g", named_tables());
	assert_string_equal(member(o, "bound"), "false");
	assert_null(member(o, "node"));
	json_object_put(o);
}

static void units_of_bytes(void **state)
{
	static const struct {
		u64 bytes;
		const char *text;
	} known[] = {
		{ 0, "0 B" }, { 1023, "1023 B" }, { 1024, "1 KiB" },
		{ 1536, "1.5 KiB" }, { 16 << 20, "16 MiB" },
		{ 5ULL << 60, "5 EiB" }, { U64_MAX, "16.0 EiB" },
	};

	(void)state;
	for (u32 i = 0; i < ARRAY_SIZE(known); i++)
		assert_string_equal(fx_bytes_text(known[i].bytes), known[i].text);
}

/* Random bytes as attributes of every command. */
static void noise(void **state)
{
	static const enum fx_cmd cmds[] = {
		FX_CMD_GRAPH_GET, FX_CMD_PLACE_GET, FX_CMD_CLASS_GET,
		FX_CMD_EDGE_GET, FX_CMD_COUNTER_GET,
	};
	struct fx_event room[4];
	struct fx_nl_events msg;
	u64 seed = 42;

	(void)state;
	for (int i = 0; i < 20000; i++) {
		int len = i % 200;
		u8 *bytes = fx_alloc(len ? (size_t)len : 1);
		enum fx_cmd cmd = cmds[i % ARRAY_SIZE(cmds)];
		void *row = fx_alloc(fx_nl_row_size(cmd));

		for (int k = 0; k < len; k++) {
			seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
			/* small lengths and known types now and then */
			bytes[k] = (u8)(seed >> 40) & (k & 1 ? 0x03 : 0x3f);
		}
		fx_nl_row(cmd, (struct nlattr *)bytes, len, row);
		fx_nl_events_row((struct nlattr *)bytes, len, room, 4, &msg);
		free(row);
		free(bytes);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(counters),
		cmocka_unit_test(strings),
		cmocka_unit_test(events),
		cmocka_unit_test(descriptions),
		cmocka_unit_test(last_words),
		cmocka_unit_test(edge_names),
		cmocka_unit_test(event_names),
		cmocka_unit_test(units_of_bytes),
		cmocka_unit_test(noise),
	};

	return RUN(tests);
}
