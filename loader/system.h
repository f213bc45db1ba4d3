/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the running system has: devices that places match, privileges, files. */
#ifndef FX_SYSTEM_H
#define FX_SYSTEM_H

#include <linux/fabric_ext.h>

#include "types.h"

/* Put before every absolute path that is read here; tests set it. */
extern const char *fx_sys_root;

/* A growing list of words. */
struct fx_words {
	char **word;
	u32 n, cap;
};

void fx_words_add(struct fx_words *w, const char *word);
void fx_words_free(struct fx_words *w);
/* "a, b and 7 more", to free(); "nothing" for an empty list. */
char *fx_words_text(const struct fx_words *w, u32 most);

bool fx_sys_exists(const char *path);
/* First line of a file without its newline, to free(), or NULL. */
char *fx_sys_line(const char *path);
/* Add the names in a directory that begin with @prefix, sorted. */
void fx_sys_list(const char *dir, const char *prefix, struct fx_words *w);

/* The capabilities that attaching needs. */
struct fx_cap {
	const char *name;
	u32 bit;
};

extern const struct fx_cap fx_caps_needed[];
extern const u32 fx_n_caps_needed;

/* Effective capabilities of this process, and whether they count everywhere. */
bool fx_sys_caps(u64 *caps);
bool fx_sys_initial_userns(void);

bool fx_sys_bpffs(void);
/* Is the kernel module loaded? */
bool fx_sys_module(void);

/*
 * Block SIGINT, SIGTERM, SIGHUP and, with @child, SIGCHLD; they arrive at the
 * descriptor instead. A SIGHUP that is ignored stays so. -1 after one sentence through fx_err().
 */
int fx_sys_signals(bool child);
/* Let them arrive again, before another program is executed. */
void fx_sys_signals_default(void);

/* Where the system's devices stand that a place of each kind can match. */
bool fx_sys_match(const struct fx_place_desc *p, struct fx_words *found);

#endif /* FX_SYSTEM_H */
