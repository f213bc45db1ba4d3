// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The body that selftests/portable runs everywhere else, as ops of the module. */
#define POLICY	"verdicts.bpf.c"
#include <wrap.bpf.c>
