// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* kv_guard with a budget of nothing: every movement is over it. */
#define KV_TIMES	0
#include <kv_guard.bpf.c>
