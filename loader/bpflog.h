/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What libbpf and the kernel's verifier say, kept instead of printed. */
#ifndef FX_BPFLOG_H
#define FX_BPFLOG_H

#include "types.h"

/* Keep libbpf's messages from here on; with @verbose also print them. */
void fx_bpflog_start(bool verbose);
/* All that was kept; valid until the next message. */
const char *fx_bpflog_text(void);
void fx_bpflog_reset(void);

/**
 * fx_bpflog_reason() - the one sentence that a log comes down to
 * @log: libbpf's messages, with the verifier's log in them or not
 *
 * Return: "FILE:LINE: the kernel's verifier refuses 'PROGRAM': REASON (at
 * `SOURCE`)", or libbpf's first complaint; to free().
 */
char *fx_bpflog_reason(const char *log);

/* The function that libbpf found nowhere, to free(); NULL: that was not it. */
char *fx_bpflog_unknown_kfunc(const char *log);

#endif /* FX_BPFLOG_H */
