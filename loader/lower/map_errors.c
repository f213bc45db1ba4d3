// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "../diag.h"
#include "../graph/codes.h"
#include "../util.h"
#include "map_errors.h"

#define CODE		"FX1111: "
#define MAX_SOURCE	(16U << 20)

/* The text without the escape sequences that colour it, to free(). */
static char *plain(const char *said)
{
	char *out = fx_alloc(strlen(said) + 1), *to = out;

	while (*said) {
		if (said[0] == 27 && said[1] == '[') {
			said += 2;
			while (*said && !isalpha((u8)*said))
				said++;
			said += *said != 0;
		} else {
			*to++ = *said++;
		}
	}
	*to = 0;
	return out;
}

/* PATH:LINE:COLUMN: of a line, split; false when it does not begin so. */
static bool place(char *line, struct fx_pos *pos)
{
	char *at = strstr(line, ": error: ");
	char *number[2];

	for (int i = 1; at && i >= 0; i--) {
		*at = 0;
		number[i] = strrchr(line, ':');
		at = number[i];
	}
	if (!at)
		return false;
	*at = 0;
	pos->line = strtoul(number[0] + 1, NULL, 10);
	pos->col = strtoul(number[1] + 1, NULL, 10);
	return pos->line && pos->col;
}

/* The message ends with the way out, behind the last semicolon. */
static void tell(struct fx_diags *d, struct fx_pos pos, char *what)
{
	char *help = strrchr(what, ';');
	struct fx_diag *g;

	if (help)
		*help = 0;
	g = fx_diag(d, FX_E_MAP_CLASS, pos, "%s", what);
	if (help)
		fx_diag_help(g, "%s", help + 2);
}

/* The map may stand in a header of the policy's. */
static void tell_at(const char *source, const char *path, struct fx_pos pos, char *what)
{
	const char *file = path ? path : source;
	char *text = NULL;
	struct fx_diags *d;
	size_t len = 0;

	if (fx_read_file(file, MAX_SOURCE, &text, &len))
		text = NULL;
	d = fx_diags_new(file, text, len);
	tell(d, pos, what);
	fx_diags_print(d);
	fx_diags_free(d);
	free(text);
}

bool fx_map_errors(const char *source, const char *said)
{
	char *text = plain(said), *rest = text, *line;
	bool found = false;

	while ((line = strsep(&rest, "\n"))) {
		char *what = strstr(line, CODE);
		struct fx_pos pos = { 0 };
		char *copy;

		if (!what || !strstr(line, ": error: "))
			continue;
		copy = fx_strdup(what + strlen(CODE));
		if (place(line, &pos)) {
			tell_at(source, line, pos, copy);
		} else {
			pos = (struct fx_pos){ 0 };
			tell_at(source, NULL, pos, copy);
		}
		free(copy);
		found = true;
	}
	free(text);
	return found;
}
