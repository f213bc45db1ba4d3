// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * on_node NODE START SIZE: whether memory of NODE holds what is written to it.
 * Binds 1 MiB to the node, sees by pagemap that all of it lies in the physical
 * range [START, START + SIZE), writes a pattern and reads it back.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/mempolicy.h>
#include <linux/types.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PAGE	4096UL
#define BYTES	(1UL << 20)

static int fail(const char *what)
{
	printf("on_node: %s: %s\n", what, strerror(errno));
	return 1;
}

/* Physical address of the page at @p; 0: it is not there. */
static __u64 frame_of(int map, const void *p)
{
	__u64 entry = 0;

	if (pread(map, &entry, sizeof(entry), (uintptr_t)p / PAGE * 8) != sizeof(entry))
		return 0;
	return entry >> 63 ? (entry & 0x007fffffffffffffULL) * PAGE : 0;
}

int main(int argc, char **argv)
{
	unsigned long nodes[16] = {}, node, i;
	__u64 start, size, at;
	__u64 *buf;
	int map;

	if (argc != 4)
		return 2;
	node = strtoul(argv[1], NULL, 0);
	start = strtoull(argv[2], NULL, 0);
	size = strtoull(argv[3], NULL, 0);
	if (node >= 8 * sizeof(nodes) - 1)
		return 2;
	nodes[node / 64] = 1UL << node % 64;

	buf = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (buf == MAP_FAILED)
		return fail("mmap");
	if (syscall(SYS_mbind, buf, BYTES, MPOL_BIND, nodes, 8 * sizeof(nodes), 0))
		return fail("mbind");
	map = open("/proc/self/pagemap", O_RDONLY);
	if (map < 0)
		return fail("pagemap");

	for (i = 0; i < BYTES / sizeof(*buf); i++)
		buf[i] = i * 0x9e3779b97f4a7c15ULL;
	for (i = 0; i < BYTES / sizeof(*buf); i++) {
		if (buf[i] != i * 0x9e3779b97f4a7c15ULL) {
			printf("on_node: other data at %lu\n", i);
			return 1;
		}
	}
	for (i = 0; i < BYTES; i += PAGE) {
		at = frame_of(map, (char *)buf + i);
		if (at < start || at - start >= size) {
			printf("on_node: page %lu is at %#llx\n", i / PAGE, at);
			return 1;
		}
	}
	return 0;
}
