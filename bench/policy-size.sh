#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# Instructions and bytes of code of a policy on each device that fabricctl
# compiles it for:
#
#	make bench-size [POLICY=FILE]
#
# eBPF is counted in instructions of 8 bytes; a load of 64 bits is two. PTX is
# counted in its own instructions, which ptxas makes others of.

set -eu
cd "$(dirname "$0")/.."
policy=${1:-bpf/policies/kv_guard.bpf.c}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

# a graph that crosses each of them
cat >"$dir/graph.yaml" <<'END'
fabric_ext: 1
graph: every-device
params: { layers: 4, size: 64KiB }
places:
  gpu0: { kind: gpu, match: { driver: vgem }, copies: { functions: [cudaMemcpy, cuMemcpyHtoD_v2], ptx: sm_90 } }
  host: { kind: dram, match: { node: 0 } }
  nic0: { kind: nic, match: { netdev: eth0 } }
  dpu0: { kind: dpu, match: { dpu: dpu0 } }
edges:
  - { edge: kv_in, for: i in layers, from: host, to: gpu0, bytes: size, owner: borrow, priority: 5 }
  - { edge: kv_out, from: gpu0, to: host, bytes: 2 * size, owner: borrow }
  - { edge: kv_wire, for: i in layers, from: host, to: nic0, bytes: size, owner: borrow, flow: { udp: 5000 + i } }
  - { edge: kv_far, for: i in layers, from: host, to: dpu0, bytes: size, owner: borrow, flow: { udp: 6000 + i } }
END
build/bin/fabricctl compile "$dir/graph.yaml" "$policy" -o "$dir/bundle" >/dev/null 2>"$dir/said" ||
	{ cat "$dir/said" >&2; exit 1; }

printf '%-10s %-16s %14s %10s\n' DEVICE PROGRAM INSTRUCTIONS 'CODE BYTES'
find "$dir/bundle" -name policy.bpf.o | sort | while read -r object; do
	part=${object#"$dir/bundle/"}
	llvm-objdump -d "$object" | awk -v device="${part%%/*}" '
	function tell() { if (name) printf "%-10s %-16s %14d %10d\n", device, name, n, 8 * n }
	/^[0-9a-f]+ <.*>:$/ { tell(); name = substr($2, 2, length($2) - 3); n = 0 }
	# number, then eight or sixteen bytes
	/^ +[0-9]+:/ { n += ($2 == "18" ? 2 : 1) }
	END { tell() }'
done
awk '/^{/ { body = 1 } body && /^\t[a-z@].*;$/ && !/^\t\./ { n++ }
END { printf "%-10s %-16s %14d %10s\n", "ptx", "fx_guard_moves", n, "-" }' "$dir/bundle/ptx/policy.ptx"
