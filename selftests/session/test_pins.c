// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Names of graphs as names in bpffs, and what may be removed there. */
#include <sys/stat.h>
#include <unistd.h>

#include "pins.h"
#include "session_test.h"
#include "system.h"

#define TOP	"/sys/fs/bpf/fabric_ext"

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
		{ "a/maps", "/sys/fs/bpf/fabric_ext/a%2fmaps" },
		{ "..", "/sys/fs/bpf/fabric_ext/%2e%2e" },
		{ "\xff", "/sys/fs/bpf/fabric_ext/%ff" },
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
	static const char letters[] = "a.%2e_-/";
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
		assert_int_equal(strrchr(dir[i], '/') - dir[i], strlen(TOP));
		for (u32 j = 0; j < i; j++)
			assert_string_not_equal(dir[i], dir[j]);
	}
	while (n--)
		free(dir[n]);
}

static void make(const char *path, const char *link_to)
{
	char *whole = root_path(path);
	size_t len = strlen(whole);

	if (link_to)
		assert_int_equal(symlink(link_to, whole), 0);
	else if (whole[len - 1] != '/')
		fclose(fopen(whole, "w"));
	free(whole);
}

static bool there(const char *path)
{
	return fx_sys_exists(path);
}

static void removes_its_own(void **state)
{
	struct fx_pins *p;

	(void)state;
	assert_int_equal(fx_pins_lock("g", false, &p), FX_RC_OK);
	assert_null(p);
	make(TOP "/g/link", NULL);
	make(TOP "/g/maps/a", NULL);
	make(TOP "/g/progs/b", NULL);
	make(TOP "/g/next/maps/c", NULL);
	make(TOP "/other/maps/d", NULL);
	assert_int_equal(fx_pins_lock("g", false, &p), FX_RC_OK);
	assert_non_null(p);
	assert_int_equal(fx_pins_remove(p), FX_RC_OK);
	fx_pins_unlock(p);
	assert_false(there(TOP "/g"));
	assert_true(there(TOP "/other/maps/d"));
}

/* Other names than graphs have: of the pins themselves, of all graphs. */
static void locks_graphs_only(void **state)
{
	static const char *const names[] = {
		"", ".", "..", "g/maps", "g/next", "../fabric_ext/g", "/",
	};
	char longest[400];
	struct fx_pins *p;

	(void)state;
	make(TOP "/g/maps/a", NULL);
	make(TOP "/g/next/", NULL);
	memset(longest, 'x', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = 0;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		assert_int_equal(fx_pins_lock(names[i], false, &p), FX_RC_OK);
		assert_null(p);
	}
	assert_int_equal(fx_pins_lock(longest, false, &p), FX_RC_OK);
	assert_null(p);
}

/* Where others may write, they could have a link stand for a directory. */
static void follows_no_links(void **state)
{
	struct fx_pins *p;
	char *mine = fx_asprintf("%s/mine", root), *dir;

	(void)state;
	make("/mine/precious", NULL);
	make("/mine/maps/precious", NULL);
	make(TOP "/g/maps", mine);
	make(TOP "/g/next", mine);
	assert_int_equal(fx_pins_lock("g", false, &p), FX_RC_OK);
	assert_non_null(p);
	fx_pins_remove(p);
	fx_pins_unlock(p);
	assert_true(there("/mine/precious"));
	assert_true(there("/mine/maps/precious"));

	make(TOP "/linked", mine);
	assert_int_equal(fx_pins_lock("linked", false, &p), FX_RC_SYSTEM);
	assert_null(p);
	make(TOP "/shared/link", NULL);
	dir = fx_asprintf("%s" TOP "/shared", root);
	assert_int_equal(chmod(dir, 0777), 0);
	assert_int_equal(fx_pins_lock("shared", false, &p), FX_RC_SYSTEM);
	assert_null(p);
	assert_int_equal(chmod(dir, 0700), 0);
	free(dir);
	dir = fx_asprintf("%s" TOP, root);
	assert_int_equal(chmod(dir, 0777), 0);
	assert_int_equal(fx_pins_lock("shared", false, &p), FX_RC_SYSTEM);
	assert_null(p);
	free(dir);
	free(mine);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(directories),
		cmocka_unit_test(injective),
		ON_A_SYSTEM(removes_its_own),
		ON_A_SYSTEM(locks_graphs_only),
		ON_A_SYSTEM(follows_no_links),
	};

	return RUN(tests);
}
