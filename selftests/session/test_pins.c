// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Names of graphs as names in bpffs, which takes no dots. */
#include "pins.h"
#include "session_test.h"

static void directories(void **state)
{
	static const struct {
		const char *graph;
		const char *dir;
	} cases[] = {
		{ "small", "/sys/fs/bpf/fabric_ext/small" },
		{ "llama-3.1-8b", "/sys/fs/bpf/fabric_ext/llama-3%2e1-8b" },
		{ "a..b", "/sys/fs/bpf/fabric_ext/a%2e%2eb" },
		{ "a%2eb", "/sys/fs/bpf/fabric_ext/a%252eb" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char *dir = fx_pins_dir(cases[i].graph);

		assert_string_equal(dir, cases[i].dir);
		free(dir);
	}
}

/* No two names share a directory, and none leaves the parent. */
static void injective(void **state)
{
	static const char letters[] = "a.%2e_-:";
	char name[5] = "", *dir[4096];
	u32 n = 0;

	(void)state;
	for (u32 i = 0; i < 8 * 8 * 8; i++) {
		name[0] = letters[i & 7];
		name[1] = letters[i >> 3 & 7];
		name[2] = letters[i >> 6 & 7];
		dir[n++] = fx_pins_dir(name);
	}
	for (u32 i = 0; i < n; i++) {
		assert_null(strchr(dir[i], '.'));
		for (u32 j = 0; j < i; j++)
			assert_string_not_equal(dir[i], dir[j]);
	}
	while (n--)
		free(dir[n]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(directories),
		cmocka_unit_test(injective),
	};

	return RUN(tests);
}
