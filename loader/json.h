/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* json-c without error handling: what cannot be allocated ends the program. */
#ifndef FX_JSON_H
#define FX_JSON_H

#include <json-c/json.h>

#include "types.h"

struct json_object *fx_json_object(void);
struct json_object *fx_json_array(void);

/* Add a member to an object; @o or its arrays take ownership of @v. */
void fx_json_put(struct json_object *o, const char *key, struct json_object *v);
void fx_json_str(struct json_object *o, const char *key, const char *v);
void fx_json_u64(struct json_object *o, const char *key, u64 v);
void fx_json_s64(struct json_object *o, const char *key, s64 v);
/* @v is finite: JSON has no other */
void fx_json_double(struct json_object *o, const char *key, double v);
void fx_json_bool(struct json_object *o, const char *key, bool v);
void fx_json_hex(struct json_object *o, const char *key, const u8 *v, size_t n);
void fx_json_add(struct json_object *array, struct json_object *v);
void fx_json_add_str(struct json_object *array, const char *v);

/*
 * fx_json_print() - print @o as the command's one document on standard output
 * and release it. fx_json_line() prints one of many, for streams.
 */
void fx_json_print(struct json_object *o);
void fx_json_line(struct json_object *o);

/* Read members of a file that nobody trusts; false: absent or another type. */
bool fx_json_get_str(struct json_object *o, const char *key, const char **v);
bool fx_json_get_u64(struct json_object *o, const char *key, u64 *v);

#endif /* FX_JSON_H */
