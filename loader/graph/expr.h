/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Integer expressions with units: + - * / % and parentheses over numbers and
 * names, signed 64 bit, checked. Parsed once, bound to a scope, evaluated per
 * instance.
 */
#ifndef FX_GRAPH_EXPR_H
#define FX_GRAPH_EXPR_H

#include "../diag.h"
#include "../util.h"
#include "yaml.h"

struct fx_expr;

struct fx_value {
	s64 v;
	enum fx_unit_kind unit;
};

/* Names that an expression may use; slot i of the values is name i. */
struct fx_scope {
	const struct fx_scope *outer;	/* its slots come first */
	const char **name;
	struct fx_pos *pos;
	u32 n, cap, cap_pos;
};

u32 fx_scope_size(const struct fx_scope *s);
/* Slot of a name, or -1; @pos is where it was declared. */
int fx_scope_find(const struct fx_scope *s, const char *name, struct fx_pos *pos);
/* Add a name; its slot. */
u32 fx_scope_add(struct fx_scope *s, const char *name, struct fx_pos pos);
void fx_scope_free(struct fx_scope *s);

/**
 * fx_expr_parse() - parse a scalar, or a part of one, as an expression
 * @arena: where it lives
 * @diags: errors go here
 * @n: the scalar
 * @from: first byte of its text
 * @to: byte behind the last
 *
 * Return: the expression, or NULL after an error.
 */
struct fx_expr *fx_expr_parse(struct fx_arena *arena, struct fx_diags *diags,
			      const struct fx_node *n, size_t from, size_t to);

/* Look the names up; false after an error. */
bool fx_expr_bind(struct fx_expr *e, const struct fx_scope *s,
		  struct fx_diags *diags);

/* Does it use a slot at or above @slot? */
bool fx_expr_uses(const struct fx_expr *e, u32 slot);

struct fx_pos fx_expr_pos(const struct fx_expr *e);

/* What went wrong while evaluating, for the caller to tell. */
struct fx_expr_err {
	u32 code;
	struct fx_pos pos;
	char text[160];
};

/**
 * fx_expr_eval() - evaluate a bound expression
 * @e: the expression
 * @slots: the values of the scope's names
 * @out: its value
 * @err: filled on failure
 */
bool fx_expr_eval(const struct fx_expr *e, const struct fx_value *slots,
		  struct fx_value *out, struct fx_expr_err *err);

#endif /* FX_GRAPH_EXPR_H */
