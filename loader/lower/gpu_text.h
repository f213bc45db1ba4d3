/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* One text of a policy for two targets, whatever its conditionals say. */
#ifndef FX_LOWER_GPU_TEXT_H
#define FX_LOWER_GPU_TEXT_H

#include "../devices.h"

/**
 * fx_gpu_text() - a policy without its conditionals and macros
 * @in: the graph and the policy
 * @device: as users name it, for messages
 * @header: what defines the device, before all else
 * @text: out: C, to free(); NULL after an error
 *
 * What is ours or the system's is still included, and so stays as each target
 * has it; all that the policy itself says, also in headers of its own, is as
 * with @header. Return: as fx_clang().
 */
enum fx_rc fx_gpu_text(const struct fx_lower_in *in, const char *device,
		       const char *header, char **text);

#endif /* FX_LOWER_GPU_TEXT_H */
