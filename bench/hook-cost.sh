#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# Instructions of a dma_buf_attach()+dma_buf_detach() pair under each way to
# watch it. Runs in the machine with --icount, where the time stamp counter
# counts instructions; `make bench-hooks` builds what it needs and runs it.
set -eu

build=$FX_TOP/build
times=20000
pair() { "$build/bench/pair" 0 $times; }
row() { printf '%-34s %8s %8s %8s\n' "$@"; }
calc() { awk "BEGIN { printf \"%.$1f\", $2 }"; }

watch_with()	# NAME OBJECT: BPF programs attached while a pair is measured
{
	bpftool prog loadall "$2" "/sys/fs/bpf/bench_$1" autoattach
	pair
	rm -r "/sys/fs/bpf/bench_$1"
}

insmod "$build/kmod-test-$(uname -r)/fx_exerciser.ko"
pair >/dev/null		# warm
base=$(pair)
kprobe=$(watch_with kprobe "$build/bench/count.kprobe.o")
fentry=$(watch_with fentry "$build/bench/count.fentry.o")
insmod "$FX_KMOD"
loaded=$(pair)
fabricctl attach --pin "$build/bench/observe" >/dev/null
observe=$(pair)
fabricctl detach small >/dev/null
sleep 2
after=$(pair)

echo "kernel $(uname -r), $times pairs, ticks of the counter (instructions under --icount)"
row "" pair added ratio
show() { row "$1" "$2" "$(calc 1 "$2 - $base")" "$(calc 3 "$2 / $base")"; }
show "unmodified" "$base"
show "module, no policy" "$loaded"
show "module, policy gone" "$after"
show "observe" "$observe"
show "kprobe and BPF" "$kprobe"
show "fentry and BPF" "$fentry"
echo "observe adds $(calc 2 "($observe - $base) / ($kprobe - $base)") of what kprobe adds, $(calc 2 "($observe - $base) / ($fentry - $base)") of what fentry adds"
