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

#endif /* SESSION_TEST_H */
