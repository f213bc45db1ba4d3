// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <bpf/btf.h>
#include <string.h>

#include "../types.h"
#include "map_class.h"

#define CLASS_TAG	"fx_class:"

const char *fx_map_class_of(const struct btf *btf, const char *map)
{
	for (u32 id = 1; btf && id < btf__type_cnt(btf); id++) {
		const struct btf_type *t = btf__type_by_id(btf, id), *var;
		const char *tag, *name;

		if (!t || !btf_is_decl_tag(t))
			continue;
		tag = btf__name_by_offset(btf, t->name_off);
		var = btf__type_by_id(btf, t->type);
		if (!tag || !var || !btf_is_var(var) ||
		    strncmp(tag, CLASS_TAG, strlen(CLASS_TAG)))
			continue;
		name = btf__name_by_offset(btf, var->name_off);
		if (name && !strcmp(name, map))
			return tag + strlen(CLASS_TAG);
	}
	return NULL;
}
