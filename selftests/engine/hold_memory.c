// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * hold_memory REGION START SIZE BYTES: move BYTES to the memory of a CXL region,
 * see by pagemap that all of it lies in [START, START + SIZE), print the
 * physical address of its first page, and hold it until standard input ends: by
 * a mapping alone, all files are closed by then.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "util.h"

#define GRAPH	"engine-hold"

static void die(const char *what, long error)
{
	fprintf(stderr, "hold_memory: %s: %s\n", what, strerror(-error));
	exit(1);
}

static void load_region_graph(const char *region, __u64 bytes)
{
	const struct fx_class_desc cls = {
		.name = "hold", .from = 0, .n_to = 1, .to = { 1 },
		.alias = FX_ALIAS_NONE, .n_xforms = 1,
		.xform = { { .kind = FX_XFORM_CHECKSUM,
			     .arg = FX_CSUM_CRC32C,
			     .flags = FX_XFORM_F_VERIFY } },
	};
	static struct fxgraph g;
	int err;

	fxgraph_unload(GRAPH);
	fxgraph_init(&g, GRAPH);
	fxgraph_place(&g, "src", FX_PLACE_GPU, FX_MATCH_NONE, "", 0);
	fxgraph_place(&g, "cxl", FX_PLACE_CXL, FX_MATCH_REGION, region, 0);
	fxgraph_class(&g, &cls, 1, bytes);
	err = fxgraph_load(&g);
	if (err)
		die("cannot load the graph", err);
}

/* Physical address of the page at @p, 0 if it is not there. */
static __u64 frame_of(const void *p)
{
	int map = open("/proc/self/pagemap", O_RDONLY);
	__u64 entry = 0;

	if (pread(map, &entry, sizeof(entry), (uintptr_t)p / 4096 * 8) < 0)
		entry = 0;
	close(map);
	return entry >> 63 ? (entry & 0x007fffffffffffffULL) * 4096 : 0;
}

int main(int argc, char **argv)
{
	struct fx_completion c;
	__u64 start, size, bytes, i, at;
	int dev, src, fd, err;
	__u8 *in, *out;
	__u32 handle;
	char byte;

	if (argc != 5)
		die("usage: hold_memory REGION START SIZE BYTES", 0);
	start = strtoull(argv[2], NULL, 0);
	size = strtoull(argv[3], NULL, 0);
	bytes = strtoull(argv[4], NULL, 0);

	load_region_graph(argv[1], bytes);
	dev = open_bound(GRAPH);
	if (dev < 0)
		die(DEVICE, dev);
	src = heap_alloc(bytes);
	in = src < 0 ? NULL : map_buf(src, bytes);
	if (!in)
		die("no source buffer", src);
	fill(in, bytes, 5);
	err = fx_import(dev, src, 0, FX_EDGE_NONE, &handle);
	if (err)
		die("cannot import it", err);
	err = fx_move(dev, desc_of(0, handle, bytes), &c);
	if (err || c.error)
		die("cannot move it", err ? err : c.error);
	if (c.csum != crc32c(in, bytes))
		die("the checksum differs", 0);
	fd = fx_export(dev, c.dst);
	out = fd < 0 ? NULL : map_buf(fd, bytes);
	if (!out)
		die("cannot export it", fd);
	for (i = 0; i < bytes; i += 4096) {
		if (out[i] != in[i])
			die("other data", 0);
		at = frame_of(out + i);
		if (at < start || at >= start + size)
			die("a page lies outside of the region", 0);
	}
	close(fd);
	close(dev);
	close(src);
	printf("0x%llx\n", (unsigned long long)frame_of(out));
	fflush(stdout);
	while (read(0, &byte, 1) > 0)
		;
	return fxgraph_unload(GRAPH) ? 1 : 0;
}
