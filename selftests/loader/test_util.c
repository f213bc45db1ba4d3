// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Numbers with units, words that were probably meant, files. */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "loader_test.h"

static void numbers(void **state)
{
	static const struct {
		const char *text;
		enum fx_number_err err;
		u64 value;
		enum fx_unit_kind unit;
		u32 used;
	} cases[] = {
		{ "0", FX_NUM_OK, 0, FX_UNIT_NONE, 1 },
		{ "64KiB", FX_NUM_OK, 65536, FX_UNIT_BYTES, 5 },
		{ "64kB", FX_NUM_OK, 64000, FX_UNIT_BYTES, 4 },
		{ "3MiB", FX_NUM_OK, 3ULL << 20, FX_UNIT_BYTES, 4 },
		{ "3MB+", FX_NUM_OK, 3000000, FX_UNIT_BYTES, 3 },
		{ "2GiB", FX_NUM_OK, 2ULL << 30, FX_UNIT_BYTES, 4 },
		{ "2GB", FX_NUM_OK, 2000000000ULL, FX_UNIT_BYTES, 3 },
		{ "1TiB", FX_NUM_OK, 1ULL << 40, FX_UNIT_BYTES, 4 },
		{ "1TB", FX_NUM_OK, 1000000000000ULL, FX_UNIT_BYTES, 3 },
		{ "7B", FX_NUM_OK, 7, FX_UNIT_BYTES, 2 },
		{ "55GB/s", FX_NUM_OK, 55000000000ULL, FX_UNIT_RATE, 6 },
		{ "1KiB/s", FX_NUM_OK, 1024, FX_UNIT_RATE, 6 },
		{ "9B/s", FX_NUM_OK, 9, FX_UNIT_RATE, 4 },
		/* a size divided by a name that begins with s */
		{ "1KiB/stride", FX_NUM_OK, 1024, FX_UNIT_BYTES, 4 },
		{ "250ns", FX_NUM_OK, 250, FX_UNIT_TIME, 5 },
		{ "3us", FX_NUM_OK, 3000, FX_UNIT_TIME, 3 },
		{ "2ms", FX_NUM_OK, 2000000, FX_UNIT_TIME, 3 },
		{ "1s", FX_NUM_OK, 1000000000, FX_UNIT_TIME, 2 },
		{ "0x10", FX_NUM_OK, 16, FX_UNIT_NONE, 4 },
		{ "0x10KiB", FX_NUM_OK, 16384, FX_UNIT_BYTES, 7 },
		{ "18446744073709551615", FX_NUM_OK, U64_MAX, FX_UNIT_NONE, 20 },
		{ "18446744073709551616", FX_NUM_RANGE },
		{ "99999999999999999999999", FX_NUM_RANGE },
		{ "16777216TiB", FX_NUM_RANGE },
		{ "16777215TiB", FX_NUM_OK, 16777215ULL << 40, FX_UNIT_BYTES, 11 },
		{ "", FX_NUM_EMPTY },
		{ "x", FX_NUM_EMPTY },
		{ "-1", FX_NUM_EMPTY },
		{ "5kib", FX_NUM_UNIT },
		{ "5Kib", FX_NUM_UNIT },
		{ "0x", FX_NUM_UNIT },
		{ "5_", FX_NUM_UNIT },
	};
	struct fx_number n;
	const char *end;

	(void)state;
	for (u32 i = 0; i < ARRAY_SIZE(cases); i++) {
		enum fx_number_err err = fx_parse_number(cases[i].text, &end,
							 &n);

		if (err != cases[i].err)
			fail_msg("%s: error %d, not %d", cases[i].text, err,
				 cases[i].err);
		if (err)
			continue;
		assert_int_equal(n.value, cases[i].value);
		assert_int_equal(n.unit, cases[i].unit);
		assert_int_equal(end - cases[i].text, cases[i].used);
	}
}

static void plain_numbers(void **state)
{
	u64 v = 0;

	(void)state;
	assert_int_equal(fx_parse_u64("123", &v), 0);
	assert_int_equal(v, 123);
	assert_int_equal(fx_parse_u64("123 ", &v), -EINVAL);
	assert_int_equal(fx_parse_u64(" 123", &v), -EINVAL);
	assert_int_equal(fx_parse_u64("1KiB", &v), -EINVAL);
	assert_int_equal(fx_parse_u64("+1", &v), -EINVAL);
	assert_int_equal(fx_parse_u64("18446744073709551616", &v), -ERANGE);
}

static void distances(void **state)
{
	char long_word[FX_NAME_MAX + 2];

	(void)state;
	assert_int_equal(fx_edit_distance("", "", 9), 0);
	assert_int_equal(fx_edit_distance("bytes", "bytes", 9), 0);
	assert_int_equal(fx_edit_distance("byte", "bytes", 9), 1);
	assert_int_equal(fx_edit_distance("bytse", "bytes", 9), 1);
	assert_int_equal(fx_edit_distance("kitten", "sitting", 9), 3);
	assert_int_equal(fx_edit_distance("kitten", "sitting", 2), 3);
	assert_int_equal(fx_edit_distance("abc", "", 9), 3);
	memset(long_word, 'a', sizeof(long_word) - 1);
	long_word[sizeof(long_word) - 1] = '\0';
	assert_int_equal(fx_edit_distance(long_word, "a", 5), 6);
}

static void nearest(void **state)
{
	static const char *const words[] = { "gpu", "dram", "cxl", "pmem" };

	(void)state;
	assert_string_equal(fx_nearest_name("gup", words, 4), "gpu");
	assert_string_equal(fx_nearest_name("drams", words, 4), "dram");
	assert_string_equal(fx_nearest_name("pmen", words, 4), "pmem");
	assert_null(fx_nearest_name("switch", words, 4));
	assert_null(fx_nearest_name("zzz", words, 4));
	assert_null(fx_nearest_name("gpu", words, 0));
}

static void files(void **state)
{
	char dir[] = "/tmp/loader_util.XXXXXX", path[64], text[5000], *got;
	size_t len;
	int fd;

	(void)state;
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/f", dir);
	assert_int_equal(fx_read_file(path, 10, &got, &len), -ENOENT);
	assert_int_equal(fx_read_file(dir, 10, &got, &len), -EISDIR);
	/* a pipe that nobody writes must not hang */
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_int_equal(fx_read_file(path, 10, &got, &len), -EINVAL);
	assert_int_equal(unlink(path), 0);

	memset(text, 'x', sizeof(text));
	fd = open(path, O_CREAT | O_RDWR, 0600);
	assert_int_equal(write(fd, text, sizeof(text)), sizeof(text));
	assert_int_equal(fx_read_file(path, sizeof(text) - 1, &got, &len),
			 -EFBIG);
	assert_int_equal(fx_read_file(path, sizeof(text), &got, &len), 0);
	assert_int_equal(len, sizeof(text));
	assert_memory_equal(got, text, len);
	assert_int_equal(got[len], 0);
	free(got);
	assert_int_equal(ftruncate(fd, 0), 0);
	assert_int_equal(fx_read_file(path, 10, &got, &len), 0);
	assert_int_equal(len, 0);
	free(got);
	close(fd);

	/* files of /proc say that they have no bytes */
	assert_int_equal(fx_read_file("/proc/self/maps", 1 << 24, &got, &len), 0);
	assert_true(len > 100);
	free(got);
	assert_int_equal(fx_read_file("/proc/self/maps", 100, &got, &len),
			 -EFBIG);

	assert_int_equal(unlink(path), 0);
	assert_int_equal(symlink("/etc/passwd", path), 0);
	assert_int_equal(fx_read_at(AT_FDCWD, path, O_NOFOLLOW, 1 << 20, &got,
				    &len), -ELOOP);
	unlink(path);
	rmdir(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers),
		cmocka_unit_test(plain_numbers),
		cmocka_unit_test(distances),
		cmocka_unit_test(nearest),
		cmocka_unit_test(files),
	};

	return RUN(tests);
}
