/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What goes wrong, told two ways. fx_err() is one sentence on standard error
 * about the system or the command line. Diagnostics are about an input file:
 * a code, a place in the file, notes and help, collected by a pass and printed
 * when it ends. With -j both also appear in the one JSON document on standard
 * output that fx_report_end() completes.
 */
#ifndef FX_DIAG_H
#define FX_DIAG_H

#include "cmd.h"
#include "types.h"

struct json_object;

/*
 * fx_err() - tell what failed: one sentence that names the thing, the place
 * and the way out. No newline, no "error:" prefix.
 */
void fx_err(const char *fmt, ...) fx_printf(1, 2);

/*
 * fx_read_failed() - tell why an input file could not be read
 * @what: "the graph"
 * @err: what fx_read_file() said
 *
 * Return: FX_RC_INPUT when another name would help, FX_RC_SYSTEM otherwise.
 */
enum fx_rc fx_read_failed(const char *what, const char *path, int err);

/* fx_info() - progress for people, on standard error; silent with -j. */
void fx_info(const char *fmt, ...) fx_printf(1, 2);

/*
 * fx_report_end() - with -j, print errors and diagnostics that were reported
 * as {"errors": [...], "diagnostics": [...]} unless a result was printed.
 * Returns @rc.
 */
enum fx_rc fx_report_end(enum fx_rc rc);

/* A place in a source file; both from 1. Line 0: the file as a whole. */
struct fx_pos {
	u32 line;
	u32 col;
};

/* Codes are numbers: 203 prints as FX0203. graph/codes.h names them. */
struct fx_diags;
struct fx_diag;

/*
 * fx_diags_new() - collect diagnostics about one file
 * @path: its name as the user gave it
 * @text: its content, which must outlive the collection; may be NULL
 */
struct fx_diags *fx_diags_new(const char *path, const char *text, size_t len);
void fx_diags_free(struct fx_diags *d);

/* Add an error. The result is valid until the next call on @d. */
struct fx_diag *fx_diag(struct fx_diags *d, u32 code, struct fx_pos pos,
			const char *fmt, ...) fx_printf(4, 5);
/* Make it a warning, which is told and counts as no error. */
void fx_diag_warning(struct fx_diag *g);
/* Add to an error: another place involved; what would fix it. */
void fx_diag_note(struct fx_diag *g, struct fx_pos pos, const char *fmt, ...)
	fx_printf(3, 4);
void fx_diag_help(struct fx_diag *g, const char *fmt, ...) fx_printf(2, 3);

u32 fx_diags_count(const struct fx_diags *d);

/*
 * fx_diags_print() - print what was collected, in the file's order: as text
 * on standard error, or into the JSON report with -j. Empties @d; returns how
 * many errors there were, not counting warnings.
 */
u32 fx_diags_print(struct fx_diags *d);

#endif /* FX_DIAG_H */
