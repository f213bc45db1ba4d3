// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * pair DEVICE TIMES [COPIES]: attach and detach a dma-buf that often, as the
 * driver of selftests/modules/fx_exerciser.c does, and print the time stamp
 * counter's ticks per pair: the least of COPIES measurements (default 5).
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

#include "../selftests/modules/fx_exerciser.h"

int main(int argc, char **argv)
{
	struct fx_ex_export ex = { .bytes = 4096 };
	struct fx_ex_attach at = { 0 };
	__u64 best = ~0ULL;
	int fd, copies;

	if (argc < 3) {
		fprintf(stderr, "usage: pair DEVICE TIMES [COPIES]\n");
		return 2;
	}
	at.dev = atoi(argv[1]);
	at.times = atoi(argv[2]);
	copies = argc > 3 ? atoi(argv[3]) : 5;
	fd = open("/dev/fx_exerciser", O_RDWR | O_CLOEXEC);
	if (fd < 0 || ioctl(fd, FX_EX_EXPORT, &ex)) {
		fprintf(stderr, "pair: /dev/fx_exerciser: %s\n", strerror(errno));
		return 2;
	}
	at.fd = ex.fd;
	while (copies-- > 0) {
		if (ioctl(fd, FX_EX_ATTACH, &at) || at.error || !at.done) {
			fprintf(stderr, "pair: attach %u: %s\n", at.done,
				strerror(at.error ? -at.error : errno));
			return 1;
		}
		if (at.cycles < best)
			best = at.cycles;
	}
	printf("%.1f\n", (double)best / at.times);
	return 0;
}
