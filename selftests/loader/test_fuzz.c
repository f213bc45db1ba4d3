// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Texts that are nearly graphs, repeatably: no crash, and whatever is accepted
 * makes an image that the reader of images accepts. FX_FUZZ_ROUNDS asks for
 * more than the usual number.
 */
#include "diag.h"
#include "loader_test.h"

static const char *const seeds[] = {
	test_graph,
	"{\"fabric_ext\":1,\"graph\":\"j\",\"params\":{\"n\":3},\n"
	"\"places\":{\"a\":{\"kind\":\"dram\",\"match\":{\"node\":0}},\n"
	"\"b\":{\"kind\":\"pmem\",\"match\":{\"dax\":\"dax1.0\"}}},\n"
	"\"links\":[{\"between\":[\"a\",\"b\"],\"latency\":\"1us\"}],\n"
	"\"alias\":{\"s\":{\"bytes\":\"n * 4KiB\"}},\n"
	"\"edges\":[{\"edge\":\"e\",\"for\":[\"i in n\",\"j in 2\"],\"from\":\"a\",\n"
	"\"to\":[\"b\"],\"bytes\":2048,\"owner\":\"transfer\",\"order\":\"acq_rel\",\n"
	"\"alias\":{\"set\":\"s\",\"at\":\"(i * 2 + j) * bytes\"},\n"
	"\"after\":[\"e[i - 1, *]?\"],\"transform\":[\"move\",{\"checksum\":\n"
	"{\"algo\":\"crc32c\"}}]}]}",
	"fabric_ext: 1\n"
	"graph: wire\n"
	"params: { n: 4 }\n"
	"places:\n"
	"  host: { kind: dram, match: { node: 0 } }\n"
	"  nic: { kind: nic, match: { netdev: eth0 } }\n"
	"edges:\n"
	"  - edge: out\n"
	"    for: i in n\n"
	"    from: host\n"
	"    to: [host, nic]\n"
	"    bytes: 4KiB\n"
	"    owner: borrow\n"
	"    flow: { udp: 5000 + i, vlan: 7 }\n"
	"  - edge: back\n"
	"    from: nic\n"
	"    to: host\n"
	"    bytes: 4KiB\n"
	"    owner: borrow\n"
	"    flow: { tuple: { src: 10.0.0.1, dport: 7, proto: tcp }, dscp: n }\n",
};

/* Pieces that mean something to the language. */
static const char *const words[] = {
	"[", "]", "{", "}", ":", ",", "- ", "\n", "  ", "\"", "'", "#", "&a ",
	"*a", "!!x ", "|", ">", "---\n", "?", "*", "[*]", "[i, j]?", "- 1", " / 0",
	"9223372036854775807", "0", "-1", "64KiB", "1us", "1GB/s", "in", "n", "i",
	"size", "bytes", "kv", "out", "back", "gpu", "host", "cxl", "edge: out\n",
	"owner: share\n", "order: release\n", "exact: true\n", "to: ", "for: ",
	"\xc3\xa4", "\xee\x80\x80", "\xff", "\t", "\r", "4194304", "65536", "null",
	"flow: { udp: i }\n", "nic", "netdev: ", "tuple: ", "dscp: ", "\"::1\"",
};

static u32 rounds(u32 usual)
{
	const char *more = getenv("FX_FUZZ_ROUNDS");
	u64 n;

	return more && !fx_parse_u64(more, &n) && n < U32_MAX ? n : usual;
}

static char *mutate(const char *seed)
{
	size_t len = strlen(seed), cap = len + 4096;
	char *s = fx_alloc(cap);

	memcpy(s, seed, len + 1);
	for (u64 k = 0, n = 1 + rnd_below(4); k < n; k++) {
		size_t at = rnd_below(len + 1), cut = rnd_below(12);
		const char *w = words[rnd_below(ARRAY_SIZE(words))];
		size_t add = strlen(w);

		if (rnd_below(3) == 0)
			cut = 0;
		if (rnd_below(4) == 0)
			add = 0;
		if (cut > len - at)
			cut = len - at;
		if (len - cut + add >= cap)
			break;
		memmove(s + at + add, s + at + cut, len - at - cut + 1);
		memcpy(s + at, w, add);
		len = len - cut + add;
	}
	return s;
}

static void try(char *text, u32 *accepted)
{
	struct fx_graph *g = fx_graph_new("fuzz", text, strlen(text));
	struct fx_image img;
	size_t size;
	void *image;
	char *err;

	if (!fx_graph_run(g)) {
		/* told, and with a place in the file */
		assert_true(fx_diags_print(g->diags) > 0);
		fx_graph_free(g);
		return;
	}
	image = fx_graph_image(g, &size);
	err = fx_image_open(image, size, &img);
	if (err)
		fail_msg("accepted, and its image is not (%s):\n%s", err,
			 g->text);
	(*accepted)++;
	free(image);
	fx_graph_free(g);
}

static void texts(void **state)
{
	u32 n = rounds(8000), accepted = 0;

	(void)state;
	for (u32 i = 0; i < n; i++)
		try(mutate(seeds[i % ARRAY_SIZE(seeds)]), &accepted);
	/* the mutations are mild enough to get far */
	assert_true(accepted > n / 100);
	assert_true(accepted < n - n / 10);
}

static void as_json(void **state)
{
	u32 n = rounds(1000), accepted = 0;

	(void)state;
	fx_json_mode = true;
	for (u32 i = 0; i < n; i++) {
		try(mutate(seeds[i % ARRAY_SIZE(seeds)]), &accepted);
		fx_report_end(FX_RC_OK);
	}
	fx_json_mode = false;
}

static void noise(void **state)
{
	u32 n = rounds(3000), accepted = 0;

	(void)state;
	for (u32 i = 0; i < n; i++) {
		size_t len = rnd_below(200);
		char *s = fx_alloc(len + 1);

		for (size_t j = 0; j < len; j++)
			s[j] = 1 + rnd_below(255);
		s[len] = '\0';
		try(s, &accepted);
	}
	assert_int_equal(accepted, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(texts),
		cmocka_unit_test(as_json),
		cmocka_unit_test(noise),
	};

	/* thousands of diagnostics, whose printing is tried too */
	if (!freopen("/dev/null", "w", stderr))
		return 1;
	return RUN(tests);
}
