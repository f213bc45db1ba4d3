// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * bench: what movements cost, next to memcpy of the same bytes by this program.
 * Not a test: it prints figures, one line per kind of movement.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "util.h"

#define GRAPH	"engine-bench"
#define BYTES	EDGE_BYTES
#define ROUNDS	64

static __u64 now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ULL + t.tv_nsec;
}

static void die(const char *what)
{
	fprintf(stderr, "bench: %s failed\n", what);
	exit(1);
}

static void show(const char *what, __u64 ns, __u64 whole_ns, __u64 base_ns)
{
	printf("%-26s %8.1f MB/s, %5.3f of memcpy; the whole way %8.1f MB/s, %5.3f\n",
	       what, ROUNDS * 1e3 * BYTES / ns, (double)base_ns / ns,
	       ROUNDS * 1e3 * BYTES / whole_ns, (double)base_ns / whole_ns);
}

/* One batch, the same destination each time: no allocation is measured. */
static void bench(const char *what, int dev, __u32 src, __u32 cls,
		  __u64 base_ns)
{
	static struct fx_desc d[ROUNDS];
	struct fx_completion c;
	__u64 begin, ns = 0, verify_ns = 0, whole_ns;
	__u32 i, n;

	if (fx_move(dev, desc_of(EDGE(cls), src, BYTES), &c) || c.error)
		die(what);
	for (i = 0; i < ROUNDS; i++) {
		d[i] = desc_of(EDGE(cls), src, BYTES);
		d[i].dst = c.dst;
	}
	begin = now_ns();
	if (fx_submit(dev, d, ROUNDS, &n) || n != ROUNDS)
		die(what);
	for (i = 0; i < ROUNDS; i++) {
		if (fx_wait(dev, &c, 1, WAIT_NS, &n) || c.error)
			die(what);
		ns += c.ns;
		verify_ns += c.verify_ns;
	}
	whole_ns = now_ns() - begin;
	show(what, ns, whole_ns, base_ns);
	if (verify_ns)
		show("  verify alone", verify_ns, verify_ns, base_ns);
}

int main(void)
{
	__u64 begin, base_ns;
	int dev, fd, i;
	__u8 *in, *out;
	__u32 src;

	dev = open_fresh(GRAPH);
	if (dev < 0)
		die("loading the graph");
	fd = heap_alloc(BYTES);
	in = fd < 0 ? NULL : map_buf(fd, BYTES);
	out = malloc(BYTES);
	if (!in || !out || fx_import(dev, fd, P_SRC, FX_EDGE_NONE, &src))
		die("set-up");
	for (i = 0; i < (int)BYTES; i += 2) {
		in[i] = rand();
		in[i + 1] = 0x38 + rand() % 8;
	}
	memcpy(out, in, BYTES);
	begin = now_ns();
	for (i = 0; i < ROUNDS; i++) {
		memcpy(out, in, BYTES);
		/* each of them happens */
		__asm__ volatile("" : : "r"(out) : "memory");
	}
	base_ns = now_ns() - begin;
	show("memcpy", base_ns, base_ns, base_ns);
	bench("move", dev, src, C_MOVE, base_ns);
	bench("move, checksum", dev, src, C_SUM, base_ns);
	bench("move, checksum, verify", dev, src, C_VERIFY, base_ns);
	bench("move, quantize, checksum", dev, src, C_QUANTIZE, base_ns);
	close(fd);
	close(dev);
	free(out);
	return fxgraph_unload(GRAPH) ? 1 : 0;
}
