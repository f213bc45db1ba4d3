// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "json.h"
#include "map_rows.h"
#include "util.h"

static bool is_number(u32 size)
{
	return size == 1 || size == 2 || size == 4 || size == 8;
}

/* Little end first, as all machines here have it: see store(). */
static u64 number(const void *value, u32 size)
{
	u8 v8;
	u16 v16;
	u32 v32;
	u64 v64;

	switch (size) {
	case 1:
		memcpy(&v8, value, size);
		return v8;
	case 2:
		memcpy(&v16, value, size);
		return v16;
	case 4:
		memcpy(&v32, value, size);
		return v32;
	default:
		memcpy(&v64, value, sizeof(v64));
		return v64;
	}
}

static bool store(void *value, u32 size, u64 n)
{
	u8 v8 = n;
	u16 v16 = n;
	u32 v32 = n;

	switch (size) {
	case 1:
		memcpy(value, &v8, size);
		return v8 == n;
	case 2:
		memcpy(value, &v16, size);
		return v16 == n;
	case 4:
		memcpy(value, &v32, size);
		return v32 == n;
	default:
		memcpy(value, &n, sizeof(n));
		return true;
	}
}

struct json_object *fx_map_value_json(const void *value, u32 size)
{
	struct json_object *o;
	char *hex;

	if (is_number(size)) {
		o = json_object_new_uint64(number(value, size));
	} else {
		hex = fx_hex(value, size);
		o = json_object_new_string(hex);
		free(hex);
	}
	return o;
}

char *fx_map_value_text(const void *value, u32 size)
{
	if (is_number(size))
		return fx_asprintf("%llu", number(value, size));
	return fx_hex(value, size);
}

/* ---- reading ----------------------------------------------------------- */

static int digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c = tolower((u8)c);
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* @size bytes from digits, white space between bytes; how many more there are. */
static char *parse_hex(const char *text, size_t len, void *out, size_t size,
		       const char *what)
{
	u8 *to = out;
	size_t n = 0;

	for (size_t i = 0; i < len; i++) {
		int high, low;

		if (isspace((u8)text[i]))
			continue;
		high = digit(text[i]);
		low = i + 1 < len ? digit(text[i + 1]) : -1;
		if (high < 0 || low < 0)
			return fx_asprintf("%s is neither JSON nor pairs of hexadecimal digits, from byte %zu on",
					   what, i);
		if (n < size)
			to[n] = high << 4 | low;
		n++;
		i++;
	}
	return n == size ? NULL :
	       fx_asprintf("%s has %zu bytes, and %zu are needed", what, n, size);
}

static char *parse_value(struct json_object *o, const struct fx_map_desc *d, u32 i,
			 u8 *value)
{
	char *what, *why;
	const char *text;

	if (is_number(d->value_size) && json_object_is_type(o, json_type_int)) {
		u64 n = json_object_get_uint64(o);

		/* json-c makes 0 of a negative number, and the most of a larger one */
		if ((n || !json_object_get_int64(o)) && store(value, d->value_size, n))
			return NULL;
		return fx_asprintf("value %u does not fit %u bytes", i, d->value_size);
	}
	if (!json_object_is_type(o, json_type_string))
		return fx_asprintf("value %u is neither a number of 1, 2, 4 or 8 bytes nor a string of hexadecimal digits",
				   i);
	text = json_object_get_string(o);
	what = fx_asprintf("value %u", i);
	why = parse_hex(text, json_object_get_string_len(o), value, d->value_size, what);
	free(what);
	return why;
}

static char *parse_array(struct json_object *o, const struct fx_map_desc *d, u8 *values)
{
	char *why = NULL;

	if (!o || !json_object_is_type(o, json_type_array))
		return fx_strdup("it begins with [ and is no JSON array");
	if (json_object_array_length(o) != d->entries)
		return fx_asprintf("it has %zu values, and the map has %u entries",
				   json_object_array_length(o), d->entries);
	for (u32 i = 0; i < d->entries && !why; i++)
		why = parse_value(json_object_array_get_idx(o, i), d, i,
				  values + (size_t)i * d->value_size);
	return why;
}

char *fx_map_values_parse(const char *text, size_t len, const struct fx_map_desc *d,
			  void *values)
{
	struct json_tokener *tok;
	struct json_object *o = NULL;
	size_t at = 0;
	char *why;

	while (at < len && isspace((u8)text[at]))
		at++;
	if (at == len || text[at] != '[')
		return parse_hex(text, len, values, (size_t)d->entries * d->value_size,
				 "it");
	if (strlen(text) != len || len >= 0x7ffffffe)
		return fx_strdup("it is no text");
	tok = json_tokener_new_ex(4);
	if (tok) {
		json_tokener_set_flags(tok, JSON_TOKENER_STRICT);
		/* with the NUL, so that it sees where the text ends */
		o = json_tokener_parse_ex(tok, text, len + 1);
		if (json_tokener_get_error(tok) != json_tokener_success) {
			json_object_put(o);
			o = NULL;
		}
		json_tokener_free(tok);
	}
	why = parse_array(o, d, values);
	json_object_put(o);
	return why;
}
