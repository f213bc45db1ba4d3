// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Expressions: values, units, bounds, and where an error points. */
#include "graph/codes.h"
#include "loader_test.h"

/* One expression over a = 7, size = 64KiB, t = 3us; its error's code or 0. */
static u32 eval(const char *text, struct fx_value *v, u32 *col)
{
	static const struct fx_pos none;
	struct fx_value slots[3] = {
		{ 7, FX_UNIT_NONE }, { 65536, FX_UNIT_BYTES },
		{ 3000, FX_UNIT_TIME },
	};
	struct fx_node node = { .kind = FX_NODE_SCALAR, .pos = { 1, 1 },
				.verbatim = true, .text = text };
	struct fx_diags *d = fx_diags_new("expr", NULL, 0);
	struct fx_scope scope = { 0 };
	struct fx_arena arena = { 0 };
	struct fx_expr_err err = { 0 };
	struct fx_expr *e;

	fx_scope_add(&scope, "a", none);
	fx_scope_add(&scope, "size", none);
	fx_scope_add(&scope, "t", none);
	e = fx_expr_parse(&arena, d, &node, 0, strlen(text));
	if (!e)
		err.code = FX_E_EXPR;
	else if (!fx_expr_bind(e, &scope, d))
		err.code = FX_E_NAME;
	else if (fx_expr_eval(e, slots, v, &err))
		err.code = 0;
	/* every failure to parse or bind is told, once */
	if (err.code == FX_E_EXPR || err.code == FX_E_NAME)
		assert_int_equal(fx_diags_count(d), 1);
	else
		assert_int_equal(fx_diags_count(d), 0);
	if (col)
		*col = err.pos.col;
	fx_diags_free(d);
	fx_scope_free(&scope);
	fx_arena_free(&arena);
	return err.code;
}

static void values(void **state)
{
	static const struct {
		const char *text;
		s64 value;
		enum fx_unit_kind unit;
	} cases[] = {
		{ "1", 1, FX_UNIT_NONE },
		{ " 2 + 3 * 4 ", 14, FX_UNIT_NONE },
		{ "(2 + 3) * 4", 20, FX_UNIT_NONE },
		{ "20 - 3 - 4", 13, FX_UNIT_NONE },
		{ "100 / 10 / 2", 5, FX_UNIT_NONE },
		{ "7 / 2", 3, FX_UNIT_NONE },
		{ "7 % 4", 3, FX_UNIT_NONE },
		{ "-a + 8", 1, FX_UNIT_NONE },
		{ "--a", 7, FX_UNIT_NONE },
		{ "0 - 1 + 2", 1, FX_UNIT_NONE },
		{ "a*a", 49, FX_UNIT_NONE },
		{ "((((a))))", 7, FX_UNIT_NONE },
		{ "size", 65536, FX_UNIT_BYTES },
		{ "2 * size + 1", 131073, FX_UNIT_BYTES },
		{ "size + 64KiB", 131072, FX_UNIT_BYTES },
		{ "size / 4KiB", 16, FX_UNIT_NONE },
		{ "size / 4", 16384, FX_UNIT_BYTES },
		{ "size % 1000", 536, FX_UNIT_BYTES },
		{ "t * 2", 6000, FX_UNIT_TIME },
		{ "t - 1us", 2000, FX_UNIT_TIME },
		{ "t / 1us", 3, FX_UNIT_NONE },
		{ "1GB/s * 2", 2000000000, FX_UNIT_RATE },
		{ "9223372036854775807", __LONG_LONG_MAX__, FX_UNIT_NONE },
		{ "-9223372036854775807 - 1", -__LONG_LONG_MAX__ - 1,
		  FX_UNIT_NONE },
	};
	struct fx_value v;

	(void)state;
	for (u32 i = 0; i < ARRAY_SIZE(cases); i++) {
		u32 code = eval(cases[i].text, &v, NULL);

		if (code || v.v != cases[i].value || v.unit != cases[i].unit)
			fail_msg("'%s' is %lld of unit %d, error %u",
				 cases[i].text, v.v, v.unit, code);
	}
}

static void errors(void **state)
{
	static const struct {
		const char *text;
		u32 code, col;
	} cases[] = {
		{ "", FX_E_EXPR },
		{ "   ", FX_E_EXPR },
		{ "1 +", FX_E_EXPR },
		{ "* 2", FX_E_EXPR },
		{ "(1", FX_E_EXPR },
		{ "1)", FX_E_EXPR },
		{ "()", FX_E_EXPR },
		{ "1 2", FX_E_EXPR },
		{ "64 KiB", FX_E_EXPR },
		{ "1 ^ 2", FX_E_EXPR },
		{ "1.5", FX_E_EXPR },
		{ "\xc3\xa4", FX_E_EXPR },
		{ "5foo", FX_E_EXPR },
		{ "9223372036854775808", FX_E_EXPR },
		{ "b", FX_E_NAME },
		{ "a + bytes", FX_E_NAME },
		{ "9223372036854775807 + 1", FX_E_OVERFLOW, 21 },
		{ "9223372036854775807 * 2", FX_E_OVERFLOW, 21 },
		{ "-9223372036854775807 - 2", FX_E_OVERFLOW, 22 },
		{ "(-9223372036854775807 - 1) / -1", FX_E_OVERFLOW, 28 },
		{ "(-9223372036854775807 - 1) % -1", FX_E_OVERFLOW, 28 },
		{ "-(-9223372036854775807 - 1)", FX_E_OVERFLOW, 1 },
		{ "1 / 0", FX_E_DIV_ZERO, 3 },
		{ "a % (a - 7)", FX_E_DIV_ZERO, 3 },
		{ "size * size", FX_E_UNIT_MIX, 6 },
		{ "size + t", FX_E_UNIT_MIX, 6 },
		{ "t + 1", FX_E_UNIT_MIX, 3 },
		{ "1 / size", FX_E_UNIT_MIX, 3 },
		{ "1GB/s + 1GB", FX_E_UNIT_MIX, 7 },
	};
	struct fx_value v;
	u32 col;

	(void)state;
	for (u32 i = 0; i < ARRAY_SIZE(cases); i++) {
		u32 code = eval(cases[i].text, &v, &col);

		if (code != cases[i].code || col != cases[i].col)
			fail_msg("'%s': error %u at %u, not %u at %u",
				 cases[i].text, code, col, cases[i].code,
				 cases[i].col);
	}
}

/* Long and deep expressions end in an error, not in a stack overflow. */
static void limits(void **state)
{
	char text[4096];
	struct fx_value v;
	u32 n = 0;

	(void)state;
	memset(text, '(', 1000);
	memcpy(text + 1000, "1", 2);
	assert_int_equal(eval(text, &v, NULL), FX_E_EXPR);
	memset(text, '-', 1000);
	assert_int_equal(eval(text, &v, NULL), FX_E_EXPR);
	for (u32 i = 0; i < 1000; i++)
		n += sprintf(text + n, "1+");
	memcpy(text + n, "1", 2);
	assert_int_equal(eval(text, &v, NULL), FX_E_EXPR);
	text[2 * 120] = '1';
	text[2 * 120 + 1] = '\0';
	assert_int_equal(eval(text, &v, NULL), 0);
	assert_int_equal(v.v, 121);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(values),
		cmocka_unit_test(errors),
		cmocka_unit_test(limits),
	};

	return RUN(tests);
}
