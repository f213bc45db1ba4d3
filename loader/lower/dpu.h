/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A policy for DPUs: the artifact, that is, object, flows and its manifest. */
#ifndef FX_LOWER_DPU_H
#define FX_LOWER_DPU_H

#include "../cmd.h"
#include "../devices.h"

/* Does an edge with a flow cross a DPU? */
bool fx_crosses_dpu(const struct fx_graph *g);

/**
 * fx_lower_dpu() - compile a policy for the DPUs of a graph
 * @in: the graph and the policy
 * @out: filled; release with fx_lowered_free(), also after an error
 *
 * The object passes the check of the subset and, where this process may load
 * BPF programs, the kernel's verifier; where it may not, the artifact says that
 * it is not verified, which is told, and attach refuses it.
 *
 * Return: FX_RC_OK, FX_RC_INPUT after a diagnostic, FX_RC_SYSTEM after a
 * sentence.
 */
enum fx_rc fx_lower_dpu(const struct fx_lower_in *in, struct fx_lowered *out);

#endif /* FX_LOWER_DPU_H */
