#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# The ELF for bpftime by plain libbpf, on this kernel: the native test of
# selftests/gpu, which prints KTAP of its own.

# what the runner preloads stands before ASan's runtime, which that does not bear
unset LD_PRELOAD
exec "$FX_TOP/build/tests/native/gpu_uprobe"
