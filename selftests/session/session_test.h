/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef SESSION_TEST_H
#define SESSION_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "types.h"
#include "util.h"

/* Run all tests of a file and print TAP. */
#define RUN(tests)						\
	(cmocka_set_message_output(CM_OUTPUT_TAP),		\
	 cmocka_run_group_tests_name(__FILE__, tests, NULL, NULL))

/* A system that a test makes up: what fx_sys_root is for its time. */
extern char root[64];
int root_set_up(void **state);
int root_tear_down(void **state);
#define ON_A_SYSTEM(test)					\
	cmocka_unit_test_setup_teardown(test, root_set_up, root_tear_down)

/* The path there, to free(); the directories that it goes through are made. */
char *root_path(const char *path);

#endif /* SESSION_TEST_H */
