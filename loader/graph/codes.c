// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "codes.h"

const struct fx_code_info fx_codes[] = {
#define FX_CODE(number, name, summary, text) { number, #name, summary, text },
#include "codes.def"
#undef FX_CODE
};

const u32 fx_n_codes = ARRAY_SIZE(fx_codes);

/* fx_code_find() - the entry of a code, or NULL */
const struct fx_code_info *fx_code_find(u32 code)
{
	for (u32 i = 0; i < fx_n_codes; i++)
		if (fx_codes[i].code == code)
			return &fx_codes[i];
	return NULL;
}
