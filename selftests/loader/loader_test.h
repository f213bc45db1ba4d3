/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the unit tests of the loader share. */
#ifndef LOADER_TEST_H
#define LOADER_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "graph/graph.h"
#include "graph/image.h"
#include "types.h"

/* A graph with everything that an image can hold. */
extern const char test_graph[];

/* Its image, to free(). */
void *test_image(size_t *size);

/* A graph out of a text; NULL after @code was the only error, or fails. */
struct fx_graph *graph_of(const char *text);

/* Repeatable pseudo-random numbers. */
u64 rnd(void);
u64 rnd_below(u64 limit);

/* Run all tests of a file and print TAP. */
#define RUN(tests)						\
	(cmocka_set_message_output(CM_OUTPUT_TAP),		\
	 cmocka_run_group_tests_name(__FILE__, tests, NULL, NULL))

#endif /* LOADER_TEST_H */
