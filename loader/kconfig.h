/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The running kernel's configuration, from wherever it is kept. */
#ifndef FX_KCONFIG_H
#define FX_KCONFIG_H

#include "types.h"

struct fx_kconfig {
	char *text;	/* NULL: not found */
	char *path;	/* where it was found */
};

void fx_kconfig_read(const char *release, struct fx_kconfig *k);
void fx_kconfig_free(struct fx_kconfig *k);

/* Value of an option without CONFIG_: 'y', 'm', another first letter, 'n'. */
char fx_kconfig_value(const struct fx_kconfig *k, const char *option);

#endif /* FX_KCONFIG_H */
