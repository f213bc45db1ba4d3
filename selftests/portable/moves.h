/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef MOVES_H
#define MOVES_H

#include "executors.h"

#define GENERATED	10000
#define RECORDED	2000

struct moves {
	struct test_edge edge[PACKET_EDGES];
	struct test_move *move;
	u32 n, recorded;
	const char *why;	/* why none is recorded, or NULL */
};

/* The same ones each time, and those of a trace where it is found; 0 or -1. */
int moves_make(struct moves *m);
void moves_free(struct moves *m);

#endif /* MOVES_H */
