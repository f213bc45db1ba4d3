// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "codes.h"
#include "expr.h"

#define MAX_OPS		256
#define MAX_NEST	32

enum op_kind { OP_NUMBER, OP_NAME, OP_ADD, OP_SUB, OP_MUL, OP_DIV, OP_MOD, OP_NEG };

static const char *const op_word[] = {
	[OP_ADD] = "+", [OP_SUB] = "-", [OP_MUL] = "*", [OP_DIV] = "/",
	[OP_MOD] = "%",
};

/* In the order of evaluation: operands, then what joins them. */
struct op {
	u8 kind;
	u8 unit;		/* OP_NUMBER */
	u32 slot;		/* OP_NAME, once bound */
	struct fx_pos pos;
	union {
		s64 number;
		const char *name;
	};
};

struct fx_expr {
	struct fx_pos pos;
	u32 n;
	struct op op[];
};

/* ---- scopes ----------------------------------------------------------- */

u32 fx_scope_size(const struct fx_scope *s)
{
	return s ? s->n + fx_scope_size(s->outer) : 0;
}

int fx_scope_find(const struct fx_scope *s, const char *name, struct fx_pos *pos)
{
	for (; s; s = s->outer) {
		for (u32 i = 0; i < s->n; i++) {
			if (strcmp(s->name[i], name))
				continue;
			if (pos)
				*pos = s->pos[i];
			return fx_scope_size(s->outer) + i;
		}
	}
	return -1;
}

u32 fx_scope_add(struct fx_scope *s, const char *name, struct fx_pos pos)
{
	fx_grow(s->pos, s->n, s->cap_pos);
	fx_grow(s->name, s->n, s->cap);
	s->name[s->n] = name;
	s->pos[s->n] = pos;
	return fx_scope_size(s->outer) + s->n++;
}

void fx_scope_free(struct fx_scope *s)
{
	free(s->name);
	free(s->pos);
	memset(s, 0, sizeof(*s));
}

static const char *scope_name(const void *list, u32 i)
{
	for (const struct fx_scope *s = list; s; s = s->outer) {
		if (i < s->n)
			return s->name[i];
		i -= s->n;
	}
	return NULL;
}

/* ---- parsing: precedence climbing over the scalar's text --------------- */

struct lexer {
	struct fx_arena *arena;
	struct fx_diags *diags;
	const struct fx_node *node;
	const char *start, *p, *end;
	u32 nest;
	bool failed;
	struct op op[MAX_OPS];
	u32 n;
};

static struct fx_pos here(const struct lexer *l, const char *p)
{
	return fx_node_at(l->node, p - l->node->text);
}

static struct fx_diag *syntax(struct lexer *l, u32 code, const char *p,
			      const char *what)
{
	l->failed = true;
	return fx_diag(l->diags, code, here(l, p), "%s", what);
}

static void space(struct lexer *l)
{
	while (l->p < l->end && strchr(" \t\r\n", *l->p))
		l->p++;
}

static void emit(struct lexer *l, struct op op)
{
	if (l->failed)
		return;
	if (l->n == MAX_OPS) {
		syntax(l, FX_E_EXPR, l->start, "this expression is too long");
		return;
	}
	l->op[l->n++] = op;
}

static u32 word_len(const struct lexer *l, const char *p)
{
	u32 n = 0;

	while (p + n < l->end && fx_is_word(p[n]))
		n++;
	return n;
}

static const char *const unit_words[] = {
	"B", "KiB", "MiB", "GiB", "TiB", "kB", "MB", "GB", "TB", "ns", "us",
	"ms", "s",
};

static void number(struct lexer *l)
{
	const char *start = l->p, *at;
	struct fx_number num;
	struct fx_diag *g;
	struct op op;
	enum fx_number_err err = fx_parse_number(start, &at, &num);

	if (err == FX_NUM_UNIT) {
		char *word = fx_strndup(at, word_len(l, at));
		const char *near = fx_nearest_name(word, unit_words,
						   ARRAY_SIZE(unit_words));

		l->failed = true;
		g = fx_diag(l->diags, FX_E_UNIT, here(l, at),
			    "there is no unit '%s'", word);
		if (near)
			fx_diag_help(g, "did you mean '%s'?", near);
		else
			fx_diag_help(g,
				     "units: B KiB MiB GiB TiB kB MB GB TB, the same with /s, ns us ms s");
		free(word);
		return;
	}
	if (err == FX_NUM_RANGE || num.value >> 63) {
		syntax(l, FX_E_OVERFLOW, start,
		       "this number does not fit 63 bits");
		return;
	}
	op = (struct op){ .kind = OP_NUMBER, .unit = num.unit,
			  .pos = here(l, start), .number = num.value };
	emit(l, op);
	l->p = at;
}

static void sum(struct lexer *l);

static void primary(struct lexer *l)
{
	const char *start;
	struct op op;
	u32 len;

	space(l);
	start = l->p;
	if (l->failed)
		return;
	if (start == l->end) {
		syntax(l, FX_E_EXPR, start,
		       "a number, a name or '(' is missing here");
	} else if (*start >= '0' && *start <= '9') {
		number(l);
	} else if (fx_is_word(*start)) {
		len = word_len(l, start);
		op = (struct op){ .kind = OP_NAME, .pos = here(l, start) };
		op.name = fx_arena_strndup(l->arena, start, len);
		emit(l, op);
		l->p += len;
	} else if (*start == '(' || *start == '-') {
		if (++l->nest > MAX_NEST) {
			syntax(l, FX_E_EXPR, start,
			       "this expression nests deeper than 32");
			return;
		}
		l->p++;
		if (*start == '(')
			sum(l);
		else
			primary(l);
		l->nest--;
		space(l);
		if (l->failed)
			return;
		if (*start == '-') {
			op = (struct op){ .kind = OP_NEG, .pos = here(l, start) };
			emit(l, op);
		} else if (l->p < l->end && *l->p == ')') {
			l->p++;
		} else {
			fx_diag_note(syntax(l, FX_E_EXPR, l->p,
					    "')' is missing here"),
				     here(l, start), "for this '('");
		}
	} else {
		l->failed = true;
		fx_diag(l->diags, FX_E_EXPR, here(l, start),
			"'%c' does not belong in an expression",
			(u8)*start < 0x80 ? *start : '?');
	}
}

static bool infix(struct lexer *l, const char *ops, struct op *op)
{
	space(l);
	if (l->failed || l->p == l->end || !strchr(ops, *l->p))
		return false;
	op->pos = here(l, l->p);
	op->kind = *l->p == '+' ? OP_ADD : *l->p == '-' ? OP_SUB :
		   *l->p == '*' ? OP_MUL : *l->p == '/' ? OP_DIV : OP_MOD;
	l->p++;
	return true;
}

static void product(struct lexer *l)
{
	struct op op = { 0 };

	primary(l);
	while (infix(l, "*/%", &op)) {
		primary(l);
		emit(l, op);
	}
}

static void sum(struct lexer *l)
{
	struct op op = { 0 };

	product(l);
	while (infix(l, "+-", &op)) {
		product(l);
		emit(l, op);
	}
}

static void trailing(struct lexer *l)
{
	struct fx_diag *g = syntax(l, FX_E_EXPR, l->p,
				   "an operator is missing before this");
	const char *p = l->p;

	if (p > l->start && word_len(l, p) && l->n &&
	    l->op[l->n - 1].kind == OP_NUMBER)
		fx_diag_help(g, "a unit follows its number at once: 64KiB");
}

struct fx_expr *fx_expr_parse(struct fx_arena *arena, struct fx_diags *diags,
			      const struct fx_node *n, size_t from, size_t to)
{
	struct lexer l = {
		.arena = arena, .diags = diags, .node = n,
		.start = n->text + from, .p = n->text + from,
		.end = n->text + to,
	};
	struct fx_expr *e;

	sum(&l);
	space(&l);
	if (!l.failed && l.p != l.end)
		trailing(&l);
	if (l.failed)
		return NULL;
	e = fx_arena_alloc(arena, sizeof(*e) + l.n * sizeof(l.op[0]));
	e->pos = here(&l, l.start + strspn(l.start, " \t\r\n"));
	e->n = l.n;
	memcpy(e->op, l.op, l.n * sizeof(l.op[0]));
	return e;
}

/* ---- binding and evaluating ------------------------------------------- */

bool fx_expr_bind(struct fx_expr *e, const struct fx_scope *s,
		  struct fx_diags *diags)
{
	bool ok = true;

	for (u32 i = 0; i < e->n; i++) {
		struct op *op = &e->op[i];
		struct fx_diag *g;
		const char *near;
		int slot;

		if (op->kind != OP_NAME)
			continue;
		slot = fx_scope_find(s, op->name, NULL);
		if (slot >= 0) {
			op->slot = slot;
			continue;
		}
		ok = false;
		g = fx_diag(diags, FX_E_NAME, op->pos,
			    "there is no parameter, loop variable or earlier field '%s'",
			    op->name);
		near = fx_nearest(op->name, scope_name, s);
		if (near)
			fx_diag_help(g, "did you mean '%s'?", near);
	}
	return ok;
}

bool fx_expr_uses(const struct fx_expr *e, u32 slot)
{
	for (u32 i = 0; i < e->n; i++)
		if (e->op[i].kind == OP_NAME && e->op[i].slot >= slot)
			return true;
	return false;
}

struct fx_pos fx_expr_pos(const struct fx_expr *e)
{
	return e->pos;
}

static const char *const unit_name[] = {
	[FX_UNIT_NONE] = "a plain number", [FX_UNIT_BYTES] = "bytes",
	[FX_UNIT_RATE] = "bytes per second", [FX_UNIT_TIME] = "a time",
};

static bool fail(struct fx_expr_err *err, const struct op *op, u32 code,
		 const char *text)
{
	err->code = code;
	err->pos = op->pos;
	snprintf(err->text, sizeof(err->text), "%s", text);
	return false;
}

static bool mixed(struct fx_expr_err *err, const struct op *op,
		  const struct fx_value *a, const struct fx_value *b)
{
	err->code = FX_E_UNIT_MIX;
	err->pos = op->pos;
	snprintf(err->text, sizeof(err->text),
		 "'%s' does not go with %s and %s", op_word[op->kind],
		 unit_name[a->unit], unit_name[b->unit]);
	return false;
}

/*
 * The unit of the result: a plain number takes on the other's unit in a sum
 * only for bytes, where it is what everybody writes.
 */
static bool join_units(const struct op *op, struct fx_value *a,
		       const struct fx_value *b)
{
	bool a_plain = a->unit == FX_UNIT_NONE, b_plain = b->unit == FX_UNIT_NONE;

	switch (op->kind) {
	case OP_MUL:
		if (!a_plain && !b_plain)
			return false;
		a->unit = a_plain ? b->unit : a->unit;
		return true;
	case OP_DIV:
		if (a->unit == b->unit)
			a->unit = FX_UNIT_NONE;
		else if (!b_plain)
			return false;
		return true;
	default:
		if (a->unit == b->unit)
			return true;
		if ((a_plain && b->unit == FX_UNIT_BYTES) ||
		    (b_plain && a->unit == FX_UNIT_BYTES)) {
			a->unit = FX_UNIT_BYTES;
			return true;
		}
		return false;
	}
}

static bool join(const struct op *op, struct fx_value *a,
		 const struct fx_value *b, struct fx_expr_err *err)
{
	bool over = false;

	if (!join_units(op, a, b))
		return mixed(err, op, a, b);
	switch (op->kind) {
	case OP_ADD:
		over = __builtin_add_overflow(a->v, b->v, &a->v);
		break;
	case OP_SUB:
		over = __builtin_sub_overflow(a->v, b->v, &a->v);
		break;
	case OP_MUL:
		over = __builtin_mul_overflow(a->v, b->v, &a->v);
		break;
	default:
		if (!b->v)
			return fail(err, op, FX_E_DIV_ZERO, "division by zero");
		/* the one quotient that does not fit */
		over = b->v == -1 && a->v == -__LONG_LONG_MAX__ - 1;
		if (!over && op->kind == OP_DIV)
			a->v /= b->v;
		else if (!over)
			a->v %= b->v;
	}
	if (over)
		return fail(err, op, FX_E_OVERFLOW,
			    "the result does not fit 63 bits");
	return true;
}

bool fx_expr_eval(const struct fx_expr *e, const struct fx_value *slots,
		  struct fx_value *out, struct fx_expr_err *err)
{
	struct fx_value stack[MAX_OPS];
	u32 n = 0;

	for (u32 i = 0; i < e->n; i++) {
		const struct op *op = &e->op[i];

		switch (op->kind) {
		case OP_NUMBER:
			stack[n].v = op->number;
			stack[n++].unit = op->unit;
			break;
		case OP_NAME:
			stack[n++] = slots[op->slot];
			break;
		case OP_NEG:
			if (__builtin_sub_overflow(0, stack[n - 1].v,
						   &stack[n - 1].v))
				return fail(err, op, FX_E_OVERFLOW,
					    "the result does not fit 63 bits");
			break;
		default:
			n--;
			if (!join(op, &stack[n - 1], &stack[n], err))
				return false;
		}
	}
	*out = stack[0];
	return true;
}
