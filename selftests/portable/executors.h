/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What runs a policy's body here, each with maps of its own. */
#ifndef EXECUTORS_H
#define EXECUTORS_H

#define FX_FOR_HOST
#include <fabric_ext/portable.bpf.h>

#include "types.h"

/* As wrap.bpf.c has it. */
struct test_answer {
	struct fx_move move;
	struct fx_verdict verdict;
	u64 asked;
};

/* One move, and when it happens. */
struct test_move {
	struct fx_move move;
	u64 now;
	bool packet;		/* XDP can see it as a packet */
};

#define PACKET_EDGES	64	/* those whose moves are packets; one UDP port each */
#define PACKET_PORT	5000
#define PACKET_BYTES	1400

/* Of an edge that packets are of. */
struct test_edge {
	u64 stated;
	u8 priority;
};

enum { SYSCALL, XDP, INTERPRETER, JIT, HOST, EXECUTORS };

extern const char *const executor_name[EXECUTORS];

struct executor;

/* The sentence of what fails; each stays until the next. */
extern char executor_why[512];

/* NULL after a sentence in executor_why. */
struct executor *executor_open(int which, const char *policy, const struct test_edge *edges);
void executor_close(struct executor *e);

/* Run it once: 0, or -1 after a sentence. */
int executor_run(struct executor *e, const struct test_move *m, struct fx_verdict *v);

/* Put a table of class snapshot in place: its epoch, and its entries behind it; 0 or -1. */
int executor_publish(struct executor *e, const char *map, const void *table, size_t size);

/* A map's values: entries * size bytes, sums of counters; 0 or -1. */
int executor_map(struct executor *e, const char *map, void *values, size_t size, u32 entries);

#endif /* EXECUTORS_H */
