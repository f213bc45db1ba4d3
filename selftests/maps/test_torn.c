// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Rows of a bounded map in a DPU's memory, read while a worker stores them: a
 * value is never older than its stamp says.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include <cmocka.h>

#include "../../dpu/maps.h"

#define READS	3000000

/* As FX_MAP() lays it out for a DPU: the stamp is stored last. */
struct row {
	u64 value, stamp;
};

static struct fx_dpu_maps maps;
static bool done;
static u64 written;

static void *keep_writing(void *unused)
{
	u64 n = 0;

	(void)unused;
	while (!__atomic_load_n(&done, __ATOMIC_RELAXED)) {
		struct row row = { .value = ++n, .stamp = n };

		fx_dpu_mem_write(&maps.map[0], 0, &row);
	}
	__atomic_store_n(&written, n, __ATOMIC_RELAXED);
	return NULL;
}

static void never_older(void **state)
{
	static const struct fx_dpu_map desc = {
		.name = "load", .cls = "bounded", .key_size = sizeof(u32),
		.value_size = sizeof(struct row), .entries = 1,
	};
	u64 older = 0, last = 0, moved = 0;
	pthread_t writer;

	(void)state;
	if (sysconf(_SC_NPROCESSORS_ONLN) < 2)
		skip();
	assert_int_equal(fx_dpu_maps_init(&maps, &desc, 1, 1), 0);
	assert_int_equal(pthread_create(&writer, NULL, keep_writing, NULL), 0);
	for (u32 i = 0; i < READS; i++) {
		struct row row;

		fx_dpu_mem_read(&maps.map[0], 0, 1, &row);
		older += row.value < row.stamp;
		moved += row.stamp != last;
		last = row.stamp;
	}
	__atomic_store_n(&done, true, __ATOMIC_RELAXED);
	assert_int_equal(pthread_join(writer, NULL), 0);
	assert_true(moved > 1 && written >= last);
	assert_int_equal(older, 0);
	fx_dpu_maps_free(&maps);
}

/* Sums and sizes that are no multiple of a word, from the last word down as well. */
static void whole_entries(void **state)
{
	static const struct fx_dpu_map desc = {
		.name = "odd", .cls = "local", .key_size = sizeof(u32), .value_size = 13,
		.entries = 3,
	};
	char in[13] = "abcdefghijklm", out[3][13];

	(void)state;
	assert_int_equal(fx_dpu_maps_init(&maps, &desc, 1, 1), 0);
	fx_dpu_mem_write(&maps.map[0], 1, in);
	fx_dpu_mem_read(&maps.map[0], 0, 3, out);
	assert_memory_equal(out[1], in, sizeof(in));
	for (u32 i = 0; i < sizeof(in); i++)
		assert_true(!out[0][i] && !out[2][i]);
	fx_dpu_maps_free(&maps);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(never_older), cmocka_unit_test(whole_entries),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
