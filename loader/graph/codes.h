/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The codes of diagnostics: 01 the file, 02 its structure, 03 expressions,
 * 04 names, 05 ownership, 06 aliasing, 07 order, 08 capacity, 09 transforms,
 * 10 placement, 11 devices, 12 limits, 14 GPUs, 19 not built yet, 20 model
 * configs, 30 policies. A code is never given to something else.
 */
#ifndef FX_GRAPH_CODES_H
#define FX_GRAPH_CODES_H

#include "../types.h"

enum fx_code {
#define FX_CODE(number, name, summary, text) FX_E_##name = number,
#include "codes.def"
#undef FX_CODE
};

struct fx_code_info {
	u32 code;
	const char *name;
	const char *summary;
	const char *text;	/* what it means, an example, what to do */
};

extern const struct fx_code_info fx_codes[];
extern const u32 fx_n_codes;

const struct fx_code_info *fx_code_find(u32 code);

#endif /* FX_GRAPH_CODES_H */
