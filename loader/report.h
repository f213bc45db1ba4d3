/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The one JSON document of a run with -j; between diag.c and json.c. */
#ifndef FX_REPORT_H
#define FX_REPORT_H

struct json_object;

/* A result was printed: errors no longer make a document of their own. */
void fx_report_result(void);
void fx_report_diagnostic(struct json_object *o);
/* What was reported so far, for a result that is printed in spite of it; or NULL. */
struct json_object *fx_report_take_diagnostics(void);

#endif /* FX_REPORT_H */
