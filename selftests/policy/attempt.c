// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * attempt N: attach a dma-buf N times and print what each attempt returned.
 * attempt forever: until SIGTERM, then how many were refused and how many not.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fxt.h"

static volatile sig_atomic_t stop;

static void on_term(int sig)
{
	(void)sig;
	stop = 1;
}

static int forever(int fd)
{
	unsigned long refused = 0, other = 0;

	signal(SIGTERM, on_term);
	while (!stop) {
		if (fxt_attach(fd, 0, false) == -EACCES)
			refused++;
		else
			other++;
	}
	printf("%lu %lu\n", refused, other);
	return 0;
}

int main(int argc, char **argv)
{
	int fd = fxt_export_plain(), i, n;

	fxt_keep_modules = true;
	if (argc != 2 || fd < 0) {
		fprintf(stderr, "usage: attempt N|forever (export: %s)\n",
			fd < 0 ? strerror(-fd) : "works");
		return 2;
	}
	if (!strcmp(argv[1], "forever"))
		return forever(fd);
	n = atoi(argv[1]);
	for (i = 0; i < n; i++)
		printf("%d%s", fxt_attach(fd, 0, false), i + 1 < n ? " " : "\n");
	return 0;
}
