// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <stdio.h>
#include <stdlib.h>

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

/* A NULL string becomes null. */
void fx_json_str(struct json_object *o, const char *key, const char *v)
{
	fx_json_put(o, key, v ? check(json_object_new_string(v)) : NULL);
}

void fx_json_u64(struct json_object *o, const char *key, u64 v)
{
	fx_json_put(o, key, check(json_object_new_uint64(v)));
}

void fx_json_s64(struct json_object *o, const char *key, s64 v)
{
	fx_json_put(o, key, check(json_object_new_int64(v)));
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
	fx_json_add(array, check(json_object_new_string(v)));
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
