// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* fabricctl explain: what a diagnostic's code means. */
#include <stdio.h>
#include <string.h>

#include "cmd.h"
#include "diag.h"
#include "graph/codes.h"
#include "json.h"
#include "util.h"

struct config {
	const char *code;
};

static struct json_object *code_json(const struct fx_code_info *c)
{
	struct json_object *o = fx_json_object();
	char id[8];

	snprintf(id, sizeof(id), "FX%04u", c->code % 10000);
	fx_json_str(o, "code", id);
	fx_json_str(o, "name", c->name);
	fx_json_str(o, "summary", c->summary);
	fx_json_str(o, "text", c->text);
	return o;
}

static void list(void)
{
	struct json_object *all;

	if (!fx_json_mode) {
		for (u32 i = 0; i < fx_n_codes; i++)
			printf("FX%04u  %s\n", fx_codes[i].code,
			       fx_codes[i].summary);
		return;
	}
	all = fx_json_array();
	for (u32 i = 0; i < fx_n_codes; i++)
		fx_json_add(all, code_json(&fx_codes[i]));
	fx_json_print(all);
}

static enum fx_rc run(const void *config)
{
	const struct config *c = config;
	const struct fx_code_info *info = NULL;
	const char *digits = c->code;
	u64 code;

	if (!digits) {
		list();
		return FX_RC_OK;
	}
	if (!strncmp(digits, "FX", 2) || !strncmp(digits, "fx", 2))
		digits += 2;
	/* 0203 is 203, not a number of another base */
	if (!fx_parse_u64(digits, &code) && code <= 9999)
		info = fx_code_find(code);
	if (!info) {
		fx_err("there is no code '%s'; `fabricctl explain` lists them",
		       c->code);
		return FX_RC_INPUT;
	}
	if (fx_json_mode)
		fx_json_print(code_json(info));
	else
		printf("FX%04u: %s\n\n%s\n", info->code, info->summary,
		       info->text);
	return FX_RC_OK;
}

static const struct fx_operand operands[] = {
	{ "CODE", "such as FX0203; without it, all are listed",
	  offsetof(struct config, code), .optional = true },
	{ }
};

const struct fx_command fx_cmd_explain = {
	.name = "explain",
	.summary = "say what a diagnostic's code means",
	.operands = operands,
	.config_size = sizeof(struct config),
	.run = run,
};
