/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Programs of three kinds that share their maps, for tests and benchmarks. */
#ifndef FX_LITMUS_RUN_H
#define FX_LITMUS_RUN_H

#include "litmus.h"
#include "maps.h"

enum { SYSCALL, XDP, TC, EXECUTORS };

extern const char *const executor_name[EXECUTORS];

/* 0; 1 with the reason in litmus_why when this system cannot; or -errno. */
int litmus_open(void);
void litmus_close(void);
extern char litmus_why[256];

/* One run of an executor's program, which answers in @l; 0 or -errno. */
int litmus_ask(u32 executor, struct litmus *l);

/* A map by its file's name below shared/, or a plain one's name. */
int litmus_fd(const char *map);

/* Put a table in the place of the one before, all words of which are @epoch. */
int litmus_publish(u64 *table, u64 epoch);

#endif
