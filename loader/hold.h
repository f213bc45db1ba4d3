/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A directory among the pins that a process holds as long as it lives: by a
 * lock, which no end of the process leaves behind, not even SIGKILL.
 */
#ifndef FX_HOLD_H
#define FX_HOLD_H

#include "types.h"

/* Make @dir/@name and hold it: a descriptor that does; -EBUSY, another -errno. */
int fx_hold_take(const char *dir, const char *name, u32 tries);
/* Does a process hold it: 1 or 0; -ENOENT, or another -errno that tells nothing. */
int fx_hold_is_held(const char *dir, const char *name);
/* Is what @fd holds still what has the name? */
bool fx_hold_counts(const char *dir, const char *name, int fd);

#endif /* FX_HOLD_H */
