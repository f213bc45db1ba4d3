/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Moves, verdicts and the parser of packets: those of the policies, natively. */
#ifndef FX_DPU_CONTEXT_H
#define FX_DPU_CONTEXT_H

#ifndef FX_FOR_HOST
#define FX_FOR_HOST
#endif
#include <fabric_ext/portable.bpf.h>
#include <fabric_ext/packet.bpf.h>
#include <fabric_ext/roce.bpf.h>

#endif /* FX_DPU_CONTEXT_H */
