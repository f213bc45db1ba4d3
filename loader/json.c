// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd.h"
#include "diag.h"
#include "json.h"
#include "report.h"
#include "util.h"

static struct json_object *check(struct json_object *o)
{
	if (o)
		return o;
	fputs("fabricctl: out of memory\n", stderr);
	exit(FX_RC_SYSTEM);
}

struct json_object *fx_json_object(void)
{
	return check(json_object_new_object());
}

struct json_object *fx_json_array(void)
{
	return check(json_object_new_array());
}

void fx_json_put(struct json_object *o, const char *key, struct json_object *v)
{
	if (json_object_object_add(o, key, v))
		check(NULL);
}

/* Bytes of the UTF-8 character that begins at @s; 0 when none does. */
static size_t utf8_len(const u8 *s)
{
	/* what may follow the first byte: no overlong form, surrogate or more */
	static const struct {
		u8 first, last;
		u8 low, high;
		u8 more;
	} forms[] = {
		{ 0x01, 0x7f, 0, 0, 0 },
		{ 0xc2, 0xdf, 0x80, 0xbf, 1 },
		{ 0xe0, 0xe0, 0xa0, 0xbf, 2 },
		{ 0xe1, 0xec, 0x80, 0xbf, 2 },
		{ 0xed, 0xed, 0x80, 0x9f, 2 },
		{ 0xee, 0xef, 0x80, 0xbf, 2 },
		{ 0xf0, 0xf0, 0x90, 0xbf, 3 },
		{ 0xf1, 0xf3, 0x80, 0xbf, 3 },
		{ 0xf4, 0xf4, 0x80, 0x8f, 3 },
	};

	for (u32 i = 0; i < ARRAY_SIZE(forms); i++) {
		u32 n = 1;

		if (*s < forms[i].first || *s > forms[i].last)
			continue;
		if (forms[i].more && (s[1] < forms[i].low || s[1] > forms[i].high))
			return 0;
		/* a NUL is no such byte, so that nothing is read behind it */
		while (n <= forms[i].more && (n == 1 || (s[n] & 0xc0) == 0x80))
			n++;
		return n > forms[i].more ? n : 0;
	}
	return 0;
}

/*
 * JSON is UTF-8, and json-c passes on whatever it is given. Names of files,
 * lines of a broken graph and what a policy says may be anything: bytes that
 * are no character become U+FFFD.
 */
static struct json_object *string(const char *v)
{
	const u8 *s = (const u8 *)v;
	struct json_object *o;
	size_t len, n = 0;
	char *text;

	text = fx_alloc(3 * strlen(v) + 1);
	for (; *s; s += len ? len : 1) {
		len = utf8_len(s);
		memcpy(text + n, len ? (const char *)s : "\xef\xbf\xbd", len ? len : 3);
		n += len ? len : 3;
	}
	text[n] = 0;
	o = check(json_object_new_string(text));
	free(text);
	return o;
}

/* A NULL string becomes null. */
void fx_json_str(struct json_object *o, const char *key, const char *v)
{
	fx_json_put(o, key, v ? string(v) : NULL);
}

void fx_json_u64(struct json_object *o, const char *key, u64 v)
{
	fx_json_put(o, key, check(json_object_new_uint64(v)));
}

void fx_json_s64(struct json_object *o, const char *key, s64 v)
{
	fx_json_put(o, key, check(json_object_new_int64(v)));
}

void fx_json_double(struct json_object *o, const char *key, double v)
{
	fx_json_put(o, key, check(json_object_new_double(v)));
}

void fx_json_bool(struct json_object *o, const char *key, bool v)
{
	fx_json_put(o, key, check(json_object_new_boolean(v)));
}

void fx_json_hex(struct json_object *o, const char *key, const u8 *v, size_t n)
{
	char *s = fx_hex(v, n);

	fx_json_str(o, key, s);
	free(s);
}

void fx_json_add(struct json_object *array, struct json_object *v)
{
	if (json_object_array_add(array, v))
		check(NULL);
}

void fx_json_add_str(struct json_object *array, const char *v)
{
	fx_json_add(array, string(v));
}

void fx_json_print(struct json_object *o)
{
	fx_report_result();
	puts(check(o) ? json_object_to_json_string_ext(o,
						       JSON_C_TO_STRING_PRETTY |
						       JSON_C_TO_STRING_SPACED |
						       JSON_C_TO_STRING_NOSLASHESCAPE) : "");
	json_object_put(o);
}

void fx_json_line(struct json_object *o)
{
	fx_report_result();
	puts(json_object_to_json_string_ext(check(o), JSON_C_TO_STRING_PLAIN |
					    JSON_C_TO_STRING_NOSLASHESCAPE));
	fflush(stdout);
	json_object_put(o);
}

bool fx_json_get_str(struct json_object *o, const char *key, const char **v)
{
	struct json_object *m;

	if (!json_object_is_type(o, json_type_object) ||
	    !json_object_object_get_ex(o, key, &m) ||
	    !json_object_is_type(m, json_type_string))
		return false;
	*v = json_object_get_string(m);
	return true;
}

/* Negative numbers and fractions are another type. */
bool fx_json_get_u64(struct json_object *o, const char *key, u64 *v)
{
	struct json_object *m;

	if (!json_object_is_type(o, json_type_object) ||
	    !json_object_object_get_ex(o, key, &m) ||
	    !json_object_is_type(m, json_type_int))
		return false;
	*v = json_object_get_uint64(m);
	/* json-c saturates a negative number to zero */
	return *v || !json_object_get_int64(m);
}
