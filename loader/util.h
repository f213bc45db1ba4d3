/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Memory that is there or ends the program (exit status 2, one sentence), and
 * numbers as users write them.
 */
#ifndef FX_UTIL_H
#define FX_UTIL_H

#include <stdio.h>

#include "types.h"

void *fx_alloc(size_t size);
void *fx_calloc(size_t n, size_t size);
void *fx_realloc(void *p, size_t n, size_t size);
char *fx_strdup(const char *s);
char *fx_strndup(const char *s, size_t n);
char *fx_asprintf(const char *fmt, ...) fx_printf(1, 2);

/*
 * Make room for one more element in a growing array @p of @n elements with
 * space for @cap. Evaluates its arguments more than once.
 */
#define fx_grow(p, n, cap)						\
	do {								\
		if ((n) == (cap)) {					\
			(cap) = (cap) ? (cap) * 2 : 8;			\
			(p) = fx_realloc((p), (cap), sizeof(*(p)));	\
		}							\
	} while (0)

/* Many small pieces that are freed at once. */
struct fx_arena {
	struct fx_arena_chunk *chunk;
};

void *fx_arena_alloc(struct fx_arena *a, size_t size);	/* zeroed */
char *fx_arena_strndup(struct fx_arena *a, const char *s, size_t n);
void *fx_arena_dup(struct fx_arena *a, const void *p, size_t size);
void fx_arena_free(struct fx_arena *a);

/* What fx_parse_number() takes behind the digits. */
enum fx_unit_kind {
	FX_UNIT_NONE,		/* no unit */
	FX_UNIT_BYTES,		/* KiB MiB GiB TiB kB MB GB TB B */
	FX_UNIT_RATE,		/* the same with /s */
	FX_UNIT_TIME,		/* ns us ms s; the value is nanoseconds */
};

enum fx_number_err {
	FX_NUM_OK,
	FX_NUM_EMPTY,		/* no digit */
	FX_NUM_TRAILING,	/* something else behind the number */
	FX_NUM_UNIT,		/* no such unit */
	FX_NUM_RANGE,		/* does not fit 64 bits */
};

/* Words longer than this are not compared. */
#define FX_NAME_MAX		128

struct fx_number {
	u64 value;		/* scaled: bytes, bytes per second, ns */
	enum fx_unit_kind unit;
};

bool fx_is_word(char c);
enum fx_number_err fx_parse_number(const char *s, const char **end,
				   struct fx_number *out);
int fx_parse_u64(const char *s, u64 *out);

int fx_read_at(int dir, const char *path, int flags, size_t max, char **text,
	       size_t *len);
int fx_read_file(const char *path, size_t max, char **text, size_t *len);
char *fx_hex(const u8 *v, size_t n);
u32 fx_edit_distance(const char *a, const char *b, u32 limit);
const char *fx_nearest(const char *word, const char *(*nth)(const void *, u32),
		       const void *list);
const char *fx_nearest_name(const char *word, const char *const *names, u32 n);

/* Nanoseconds of CLOCK_MONOTONIC. */
u64 fx_monotonic_ns(void);
void fx_pause_ms(u32 ms);

#endif /* FX_UTIL_H */
