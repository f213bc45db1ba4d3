/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Values of maps as text and JSON, both ways. */
#ifndef FX_MAP_ROWS_H
#define FX_MAP_ROWS_H

#include "maps.h"

struct json_object;

/* A value: a number when it has 1, 2, 4 or 8 bytes, else hexadecimal digits. */
struct json_object *fx_map_value_json(const void *value, u32 size);
/* The same to print, to free(). */
char *fx_map_value_text(const void *value, u32 size);

/**
 * fx_map_values_parse() - read all values of a map from a file's text
 * @text: a JSON array with a value per entry, or hexadecimal digits of all
 * @len: its length
 * @d: the map
 * @values: room for d->entries * d->value_size bytes
 *
 * Return: NULL, or what is wrong with it, to free().
 */
char *fx_map_values_parse(const char *text, size_t len, const struct fx_map_desc *d,
			  void *values);

#endif /* FX_MAP_ROWS_H */
