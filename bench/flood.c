// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * flood DEVICE FILE COUNT: send the frame in FILE that often, and print the
 * nanoseconds per frame. Between two veths of one machine the sender's CPU also
 * does what the receiver's kernel does with it.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#define BATCH	64

static int fail(const char *what)
{
	fprintf(stderr, "flood: %s: %s\n", what, strerror(errno));
	return 1;
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1e9 + t.tv_nsec;
}

int main(int argc, char **argv)
{
	static unsigned char frame[9000];
	struct sockaddr_ll to = { .sll_family = AF_PACKET };
	struct iovec iov = { .iov_base = frame };
	struct mmsghdr batch[BATCH] = { 0 };
	unsigned long count, sent = 0;
	double start;
	int fd, one = 1;
	FILE *f;

	if (argc != 4)
		return 2;
	to.sll_ifindex = if_nametoindex(argv[1]);
	count = strtoul(argv[3], NULL, 10) / BATCH * BATCH;
	f = fopen(argv[2], "rb");
	if (!to.sll_ifindex || !count || !f)
		return fail(argv[1]);
	iov.iov_len = fread(frame, 1, sizeof(frame), f);
	fclose(f);
	fd = socket(AF_PACKET, SOCK_RAW, 0);
	if (fd < 0 || bind(fd, (struct sockaddr *)&to, sizeof(to)) ||
	    setsockopt(fd, SOL_PACKET, PACKET_QDISC_BYPASS, &one, sizeof(one)))
		return fail("socket");
	for (int i = 0; i < BATCH; i++) {
		batch[i].msg_hdr.msg_iov = &iov;
		batch[i].msg_hdr.msg_iovlen = 1;
	}
	start = now();
	while (sent < count) {
		int n = sendmmsg(fd, batch, BATCH, 0);

		if (n < 0 && errno != ENOBUFS && errno != EINTR)
			return fail("send");
		sent += n < 0 ? 0 : n;
	}
	printf("%.1f\n", (now() - start) / sent);
	return 0;
}
