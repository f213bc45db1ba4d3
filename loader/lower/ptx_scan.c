// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * What the eBPF of the same text cannot show: instructions that only PTX has.
 * A guard computes, loads, stores, adds atomically and branches; whatever else
 * there is waits for other lanes, calls, ends them or is not known here.
 */
#include <ctype.h>
#include <string.h>

#include "../util.h"
#include "ptx_scan.h"

static const char *const opcodes[] = {
	"abs", "add", "addc", "and", "atom", "bfe", "bfi", "bfind", "bmsk", "bra", "brev",
	"brx", "clz", "cnot", "copysign", "cvt", "cvta", "div", "dp2a", "dp4a", "fma", "fns",
	"ld", "ldu", "lg2", "lop3", "mad", "mad24", "madc", "max", "min", "mov", "mul",
	"mul24", "neg", "not", "or", "popc", "prmt", "rcp", "red", "rem", "ret", "rsqrt",
	"sad", "selp", "set", "setp", "shf", "shl", "shr", "slct", "sqrt", "st", "sub",
	"subc", "szext", "testp", "xor",
};

static const char *const directives[] = {
	".address_size", ".align", ".branchtargets", ".entry", ".file", ".global", ".loc",
	".local", ".maxntid", ".minnctapersm", ".param", ".reg", ".section", ".target",
	".version", ".visible",
};

/* Special registers that our headers read, by asm. */
static const char *const read_by_asm[] = {
	"%globaltimer", "%tid.x", "%ntid.x", "%ctaid.x", "%nctaid.x",
};

static bool is_one_of(const char *p, size_t len, const char *const *list, u32 n)
{
	for (u32 i = 0; i < n; i++)
		if (strlen(list[i]) == len && !strncmp(list[i], p, len))
			return true;
	return false;
}

static bool begins(const char *p, const char *with)
{
	return !strncmp(p, with, strlen(with));
}

static const char *skip_space(const char *p)
{
	while (isspace((u8)*p))
		p++;
	return p;
}

static size_t word_len(const char *p)
{
	size_t n = 0;

	while (isalnum((u8)p[n]) || (p[n] && strchr("_$%", p[n])))
		n++;
	return n;
}

/* @p, behind "begin inline asm": nothing, or mov.uNN REGISTER, SPECIAL; */
static bool is_our_asm(const char *p)
{
	size_t n;

	p = skip_space(p);
	if (begins(p, "//"))
		return begins(p, "// end inline asm");
	if (!begins(p, "mov.u32") && !begins(p, "mov.u64"))
		return false;
	p = skip_space(p + strlen("mov.u32"));
	n = word_len(p);
	p = skip_space(p + n);
	if (!n || *p != ',')
		return false;
	p = skip_space(p + 1);
	n = strcspn(p, "; \t\n");
	if (!is_one_of(p, n, read_by_asm, ARRAY_SIZE(read_by_asm)))
		return false;
	p = skip_space(p + n);
	return *p == ';' && begins(skip_space(p + 1), "// end inline asm");
}

/* Behind the end of the instruction: what it names may be within braces. */
static const char *skip_instruction(const char *p)
{
	p += strcspn(p, ";");
	return *p ? p + 1 : p;
}

/* One statement, or what stands before it. Return: where to go on. */
static const char *statement(const char *p, char **wrong)
{
	const char *end;
	size_t len;

	if (begins(p, "//")) {
		end = p + strcspn(p, "\n");
		if (begins(p, "// begin inline asm") && !is_our_asm(end))
			*wrong = fx_strdup("has asm of the policy's own");
		else if (memmem(p, end - p, "inline assembly", 15))
			*wrong = fx_strdup("has asm of the policy's own");
		return end;
	}
	if (strchr("{}();,", *p))
		return p + 1;
	if (*p == '.') {
		len = 1 + word_len(p + 1);
		if (!is_one_of(p, len, directives, ARRAY_SIZE(directives)))
			*wrong = fx_asprintf("has '%.*s'", (int)len, p);
		/* a variable with its values, or up to what may be the next one */
		end = p + strcspn(p, "\n");
		return p + strcspn(p, memmem(p, end - p, " .global ", 9) ? ";" : ";\n{");
	}
	/* only when the predicate is true, or not */
	if (*p == '@') {
		p = skip_space(p + 1);
		p = skip_space(*p == '!' ? p + 1 : p);
		return p + word_len(p);
	}
	len = word_len(p);
	if (len && *skip_space(p + len) == ':')
		return skip_space(p + len) + 1;
	if (!len || !is_one_of(p, len, opcodes, ARRAY_SIZE(opcodes))) {
		*wrong = fx_asprintf("has '%.*s', which is none of a guard's instructions",
				     len ? (int)len : 1, p);
		return p;
	}
	return skip_instruction(p);
}

char *fx_ptx_scan(const char *ptx)
{
	char *wrong = NULL;

	for (const char *p = skip_space(ptx); *p && !wrong; p = skip_space(p))
		p = statement(p, &wrong);
	return wrong;
}
