// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <linux/fabric_ext_dpu.h>
#include <rte_log.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lower/bpf_lines.h"
#include "reason.h"
#include "types.h"

#define AT	" at pc: "
#define FROM	": "

/* What its validator says, and what works instead. */
static const struct {
	const char *says, *help;
} known[] = {
	{ "memory boundary violation",
	  "it takes no bound of an index from a comparison: bound it by & (2^n - 1)" },
	{ "destination is not a pointer",
	  "look at an entry where it was asked whether it is NULL, not after further branches" },
	{ "stack access with variable offset", "index arrays on the stack by constants" },
};

/*
 * A worker may write to the log's stream while another is put in its place. So
 * ours stays open for good.
 */
static FILE *ours, *before;
static char said[1024];
static size_t len;

static ssize_t hear(void *cookie, const char *text, size_t size)
{
	size_t n = size < sizeof(said) - 1 - len ? size : sizeof(said) - 1 - len;

	(void)cookie;
	memcpy(said + len, text, n);
	len += n;
	said[len] = '\0';
	fwrite(text, 1, size, before);
	return size;
}

void fx_dpu_reason_begin(void)
{
	if (!ours) {
		before = rte_log_get_stream();
		ours = fopencookie(NULL, "w", (cookie_io_functions_t){ .write = hear });
		if (ours)
			setvbuf(ours, NULL, _IONBF, 0);
	}
	if (!ours)
		return;
	flockfile(ours);
	len = 0;
	said[0] = '\0';
	funlockfile(ours);
	before = rte_log_get_stream();
	rte_openlog_stream(ours);
}

void fx_dpu_reason_end(void)
{
	if (ours)
		rte_openlog_stream(before);
}

/* "evaluate: what at pc: 34": cut out of @line what it is, and say where. */
static char *take_apart(char *line, u32 *pc)
{
	char *at = strstr(line, AT), *what;

	if (!at)
		return NULL;
	*at = '\0';
	*pc = strtoul(at + strlen(AT), NULL, 10);
	while ((what = strstr(line, FROM)))
		line = what + strlen(FROM);
	return line;
}

void fx_dpu_reason(const void *object, size_t size, char *why)
{
	char text[sizeof(said)], *line, *next, *what = NULL;
	const char *help = NULL;
	struct fx_pos pos;
	int n;
	u32 pc;

	n = snprintf(why, FX_DPU_WHY_LEN, "librte_bpf does not take the program");
	if (!ours)
		return;
	flockfile(ours);
	memcpy(text, said, sizeof(text));
	funlockfile(ours);
	for (line = strtok_r(text, "\n", &next); line && !what; line = strtok_r(NULL, "\n", &next))
		what = take_apart(line, &pc);
	if (!what)
		return;
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (!strcmp(what, known[i].says))
			help = known[i].help;
	pos = fx_bpf_line(object, size, FX_DPU_SECTION, pc, NULL);
	n += snprintf(why + n, FX_DPU_WHY_LEN - n, ": %.60s at instruction %u", what, pc);
	if (pos.line)
		n += snprintf(why + n, FX_DPU_WHY_LEN - n, ", the policy's line %u", pos.line);
	if (help)
		snprintf(why + n, FX_DPU_WHY_LEN - n, "; %s", help);
}
