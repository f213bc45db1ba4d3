/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What it means when libbpf, the verifier or the module does not take a policy. */
#ifndef FX_REFUSAL_H
#define FX_REFUSAL_H

#include "cmd.h"
#include "types.h"

/**
 * fx_refused_load() - tell why an object was not loaded
 * @bundle: its directory
 * @policy: the ops' name, or NULL when it is not known yet
 * @err: -errno of libbpf, whose messages fx_bpflog_text() has
 * @verbose: they were printed already
 *
 * Return: whether the policy or the system is at fault.
 */
enum fx_rc fx_refused_load(const char *bundle, const char *policy, int err,
			   bool verbose);

/**
 * fx_refused_attach() - tell why a loaded policy was not attached
 * @policy: the ops' name
 * @graph: its graph's
 * @timeout_ms: as the ops have it
 * @err: -errno; struct_ops passes on no more
 *
 * Return: whether the policy or the system is at fault.
 */
enum fx_rc fx_refused_attach(const char *policy, const char *graph,
			     u32 timeout_ms, int err);

#endif /* FX_REFUSAL_H */
