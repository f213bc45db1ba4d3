// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "cmd.h"
#include "util.h"

static void *check(void *p)
{
	if (p)
		return p;
	fputs("fabricctl: out of memory\n", stderr);
	exit(FX_RC_SYSTEM);
}

void *fx_alloc(size_t size)
{
	return check(malloc(size ? size : 1));
}

void *fx_calloc(size_t n, size_t size)
{
	return check(calloc(n ? n : 1, size ? size : 1));
}

void *fx_realloc(void *p, size_t n, size_t size)
{
	return check(reallocarray(p, n ? n : 1, size ? size : 1));
}

char *fx_strdup(const char *s)
{
	return check(strdup(s));
}

char *fx_strndup(const char *s, size_t n)
{
	return check(strndup(s, n));
}

char *fx_asprintf(const char *fmt, ...)
{
	va_list ap;
	char *s = NULL;

	va_start(ap, fmt);
	if (vasprintf(&s, fmt, ap) < 0)
		s = NULL;
	va_end(ap);
	return check(s);
}

struct fx_arena_chunk {
	struct fx_arena_chunk *next;
	size_t used, size;
	u64 data[];
};

void *fx_arena_alloc(struct fx_arena *a, size_t size)
{
	struct fx_arena_chunk *c = a->chunk;
	size_t cap = 32 << 10;
	void *p;

	size = (size + 15) & ~(size_t)15;
	if (!c || c->size - c->used < size) {
		if (cap < size)
			cap = size;
		c = fx_alloc(sizeof(*c) + cap);
		c->next = a->chunk;
		c->used = 0;
		c->size = cap;
		a->chunk = c;
	}
	p = (char *)c->data + c->used;
	c->used += size;
	return memset(p, 0, size);
}

void *fx_arena_dup(struct fx_arena *a, const void *p, size_t size)
{
	void *copy = fx_arena_alloc(a, size);

	if (size)
		memcpy(copy, p, size);
	return copy;
}

char *fx_arena_strndup(struct fx_arena *a, const char *s, size_t n)
{
	char *copy = fx_arena_alloc(a, n + 1);

	memcpy(copy, s, n);
	return copy;
}

void fx_arena_free(struct fx_arena *a)
{
	struct fx_arena_chunk *c, *next;

	for (c = a->chunk; c; c = next) {
		next = c->next;
		free(c);
	}
	a->chunk = NULL;
}

static const struct {
	const char *name;
	enum fx_unit_kind kind;
	u64 scale;
} units[] = {
	{ "KiB/s", FX_UNIT_RATE, 1ULL << 10 },
	{ "MiB/s", FX_UNIT_RATE, 1ULL << 20 },
	{ "GiB/s", FX_UNIT_RATE, 1ULL << 30 },
	{ "TiB/s", FX_UNIT_RATE, 1ULL << 40 },
	{ "kB/s", FX_UNIT_RATE, 1000ULL },
	{ "MB/s", FX_UNIT_RATE, 1000000ULL },
	{ "GB/s", FX_UNIT_RATE, 1000000000ULL },
	{ "TB/s", FX_UNIT_RATE, 1000000000000ULL },
	{ "B/s", FX_UNIT_RATE, 1 },
	{ "KiB", FX_UNIT_BYTES, 1ULL << 10 },
	{ "MiB", FX_UNIT_BYTES, 1ULL << 20 },
	{ "GiB", FX_UNIT_BYTES, 1ULL << 30 },
	{ "TiB", FX_UNIT_BYTES, 1ULL << 40 },
	{ "kB", FX_UNIT_BYTES, 1000ULL },
	{ "MB", FX_UNIT_BYTES, 1000000ULL },
	{ "GB", FX_UNIT_BYTES, 1000000000ULL },
	{ "TB", FX_UNIT_BYTES, 1000000000000ULL },
	{ "B", FX_UNIT_BYTES, 1 },
	{ "ns", FX_UNIT_TIME, 1 },
	{ "us", FX_UNIT_TIME, 1000ULL },
	{ "ms", FX_UNIT_TIME, 1000000ULL },
	{ "s", FX_UNIT_TIME, 1000000000ULL },
};

/* fx_is_word() - may the character stand in an identifier */
bool fx_is_word(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
	       (c >= '0' && c <= '9') || c == '_';
}

static int digit(char c, u32 base)
{
	int v = -1;

	if (c >= '0' && c <= '9')
		v = c - '0';
	else if (c >= 'a' && c <= 'f')
		v = c - 'a' + 10;
	else if (c >= 'A' && c <= 'F')
		v = c - 'A' + 10;
	return v >= 0 && (u32)v < base ? v : -1;
}

/**
 * fx_parse_number() - read an integer with a unit from the start of a string
 * @s: decimal or 0x hexadecimal digits, then a unit at once or none
 * @end: where it stopped; on an error, where the culprit starts
 * @out: the value in base units
 *
 * Return: FX_NUM_OK or what is wrong.
 */
enum fx_number_err fx_parse_number(const char *s, const char **end,
				   struct fx_number *out)
{
	u32 base = 10;
	size_t len;

	out->value = 0;
	out->unit = FX_UNIT_NONE;
	*end = s;
	if (s[0] == '0' && (s[1] == 'x' || s[1] == 'X') && digit(s[2], 16) >= 0) {
		base = 16;
		s += 2;
	}
	if (digit(*s, base) < 0)
		return FX_NUM_EMPTY;
	for (; digit(*s, base) >= 0; s++)
		if (__builtin_mul_overflow(out->value, base, &out->value) ||
		    __builtin_add_overflow(out->value, digit(*s, base),
					   &out->value))
			return FX_NUM_RANGE;
	*end = s;
	if (!fx_is_word(*s))
		return FX_NUM_OK;
	for (u32 i = 0; i < ARRAY_SIZE(units); i++) {
		len = strlen(units[i].name);
		if (strncmp(s, units[i].name, len) || fx_is_word(s[len]))
			continue;
		out->unit = units[i].kind;
		if (__builtin_mul_overflow(out->value, units[i].scale,
					   &out->value))
			return FX_NUM_RANGE;
		*end = s + len;
		return FX_NUM_OK;
	}
	return FX_NUM_UNIT;
}

/**
 * fx_parse_u64() - read a whole string as an unsigned number without a unit
 *
 * Return: 0, -EINVAL when it is no number, -ERANGE when it does not fit.
 */
int fx_parse_u64(const char *s, u64 *out)
{
	struct fx_number n;
	const char *end;
	enum fx_number_err err = fx_parse_number(s, &end, &n);

	if (err == FX_NUM_RANGE)
		return -ERANGE;
	if (err != FX_NUM_OK || *end || n.unit != FX_UNIT_NONE)
		return -EINVAL;
	*out = n.value;
	return 0;
}

/**
 * fx_read_at() - read a regular file whole
 * @dir: directory that @path starts from, or AT_FDCWD
 * @path: which
 * @flags: more flags for open(), such as O_NOFOLLOW
 * @max: most bytes to take
 * @text: its bytes and a NUL behind them, to free()
 * @len: how many, without the NUL
 *
 * Return: 0, -EFBIG above @max, -EISDIR or -EINVAL for what is no regular
 * file, or the error of open or read.
 */
int fx_read_at(int dir, const char *path, int flags, size_t max, char **text,
	       size_t *len)
{
	size_t n = 0, cap;
	struct stat st;
	char *buf = NULL;
	int err = 0, fd;
	ssize_t got;

	/* not to hang at a pipe that nobody writes */
	fd = openat(dir, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | flags);
	if (fd < 0)
		return -errno;
	if (fstat(fd, &st)) {
		err = -errno;
		goto out;
	}
	if (!S_ISREG(st.st_mode)) {
		err = S_ISDIR(st.st_mode) ? -EISDIR : -EINVAL;
		goto out;
	}
	if ((u64)st.st_size > max) {
		err = -EFBIG;
		goto out;
	}
	/* files of /proc and /sys say 0 */
	cap = st.st_size ? (size_t)st.st_size : 64 << 10;
	if (cap > max)
		cap = max;
	buf = fx_alloc(cap + 1);
	while ((got = read(fd, buf + n, cap - n + 1))) {
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0) {
			err = -errno;
			goto out;
		}
		n += got;
		if (n <= cap)
			continue;
		/* it grows while it is read */
		if (n > max) {
			err = -EFBIG;
			goto out;
		}
		cap = cap * 2 < max ? cap * 2 : max;
		buf = fx_realloc(buf, cap + 1, 1);
	}
	buf[n] = '\0';
	*text = buf;
	*len = n;
	buf = NULL;
out:
	free(buf);
	close(fd);
	return err;
}

/* fx_read_file() - fx_read_at() the working directory, following links */
int fx_read_file(const char *path, size_t max, char **text, size_t *len)
{
	return fx_read_at(AT_FDCWD, path, 0, max, text, len);
}

/**
 * fx_edit_distance() - insertions, deletions, changes and swaps of neighbours
 * that turn one word into another
 * @limit: give up above it
 *
 * Return: the distance, or @limit + 1.
 */
u32 fx_edit_distance(const char *a, const char *b, u32 limit)
{
	u32 row[3][FX_NAME_MAX + 2], la = strlen(a), lb = strlen(b);

	if (la > FX_NAME_MAX || lb > FX_NAME_MAX)
		return limit + 1;
	for (u32 j = 0; j <= lb; j++)
		row[0][j] = j;
	for (u32 i = 1; i <= la; i++) {
		u32 *cur = row[i % 3], *up = row[(i + 2) % 3];
		u32 *up2 = row[(i + 1) % 3];

		cur[0] = i;
		for (u32 j = 1; j <= lb; j++) {
			u32 best = up[j - 1] + (a[i - 1] != b[j - 1]);

			if (up[j] + 1 < best)
				best = up[j] + 1;
			if (cur[j - 1] + 1 < best)
				best = cur[j - 1] + 1;
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] &&
			    a[i - 2] == b[j - 1] && up2[j - 2] + 1 < best)
				best = up2[j - 2] + 1;
			cur[j] = best;
		}
	}
	return row[la % 3][lb] <= limit ? row[la % 3][lb] : limit + 1;
}

/**
 * fx_nearest() - the word that was probably meant
 * @word: what was written
 * @nth: gives the i-th known word of @list, NULL behind the last
 * @list: passed to @nth
 *
 * Return: the nearest known word within a third of its length, or NULL.
 */
const char *fx_nearest(const char *word, const char *(*nth)(const void *, u32),
		       const void *list)
{
	const char *best = NULL, *name;
	u32 limit = strlen(word) / 3 + 1;

	for (u32 i = 0; (name = nth(list, i)); i++) {
		u32 d = fx_edit_distance(word, name, limit);

		if (d > limit || d >= strlen(name))
			continue;
		best = name;
		if (!d)
			break;
		limit = d - 1;
	}
	return best;
}

struct name_list {
	const char *const *name;
	u32 n;
};

static const char *name_at(const void *list, u32 i)
{
	const struct name_list *l = list;

	return i < l->n ? l->name[i] : NULL;
}

/* fx_nearest() in an array of @n words. */
const char *fx_nearest_name(const char *word, const char *const *names, u32 n)
{
	struct name_list list = { names, n };

	return fx_nearest(word, name_at, &list);
}

/* fx_hex() - @n bytes as lower-case hexadecimal digits, to free() */
char *fx_hex(const u8 *v, size_t n)
{
	char *s = fx_alloc(2 * n + 1);

	for (size_t i = 0; i < n; i++)
		sprintf(s + 2 * i, "%02x", v[i]);
	s[2 * n] = '\0';
	return s;
}

void fx_pause_ms(u32 ms)
{
	const struct timespec t = { ms / 1000, ms % 1000 * 1000000L };

	nanosleep(&t, NULL);
}

u64 fx_monotonic_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ULL + t.tv_nsec;
}
