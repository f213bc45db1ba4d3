/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef FX_LOWER_MAP_CLASS_H
#define FX_LOWER_MAP_CLASS_H

struct btf;

/* The class that FX_MAP() wrote beside the variable of map @map, or NULL. */
const char *fx_map_class_of(const struct btf *btf, const char *map);

#endif /* FX_LOWER_MAP_CLASS_H */
