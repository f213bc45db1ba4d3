// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "loader_test.h"

const char test_graph[] =
	"fabric_ext: 1\n"
	"graph: test-1.0\n"
	"governs: [dmabuf, cxl]\n"
	"params: { n: 4, size: 64KiB }\n"
	"places:\n"
	"  gpu: { kind: gpu, match: { driver: vgem } }\n"
	"  host: { kind: dram, match: { node: 0 }, capacity: 16MiB }\n"
	"  cxl: { kind: cxl, match: { region: region0 }, island: near, appears: later }\n"
	"alias:\n"
	"  kv: { bytes: n * size }\n"
	"edges:\n"
	"  - edge: out\n"
	"    for: i in n\n"
	"    from: gpu\n"
	"    to: [host, cxl]\n"
	"    bytes: size\n"
	"    shape: { chunk: 4KiB, stride: 8KiB }\n"
	"    element: bf16\n"
	"    reuse: (i + 1) * 1MiB\n"
	"    rw: 9:1\n"
	"    alias: { set: kv, at: i * bytes }\n"
	"    owner: transfer\n"
	"    order: release\n"
	"    priority: 3\n"
	"    deadline: 5ms\n"
	"    transform: [ quantize: { to: mxfp8 }, checksum: { algo: crc32c, verify: true } ]\n"
	"  - edge: back\n"
	"    for: [i in n, j in 2]\n"
	"    from: host\n"
	"    to: gpu\n"
	"    bytes: size / 2\n"
	"    exact: true\n"
	"    reuse: never\n"
	"    alias: { set: kv, at: i * size + j * bytes }\n"
	"    owner: borrow\n"
	"    order: acquire\n"
	"    after: [ out[i], back[i, j - 1]? ]\n";

struct fx_graph *graph_of(const char *text)
{
	struct fx_graph *g = fx_graph_new("test", fx_strdup(text), strlen(text));

	if (fx_graph_run(g))
		return g;
	fx_diags_print(g->diags);
	fx_graph_free(g);
	return NULL;
}

void *test_image(size_t *size)
{
	struct fx_graph *g = graph_of(test_graph);
	void *image;

	assert_non_null(g);
	image = fx_graph_image(g, size);
	fx_graph_free(g);
	return image;
}

static u64 state = 88172645463325252ULL;

u64 rnd(void)
{
	/* xorshift64 */
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

u64 rnd_below(u64 limit)
{
	return rnd() % limit;
}
