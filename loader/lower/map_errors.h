/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef FX_MAP_ERRORS_H
#define FX_MAP_ERRORS_H

#include "../types.h"

/**
 * fx_map_errors() - find errors about maps in what clang said
 * @source: the policy
 * @said: clang's messages
 *
 * <fabric_ext/maps.bpf.h> refuses a map by a failing assertion, whose text
 * begins with the code. Printed as diagnostics: they are what is wrong, and
 * clang's other messages follow from them. Return: whether there were any.
 */
bool fx_map_errors(const char *source, const char *said);

#endif /* FX_MAP_ERRORS_H */
