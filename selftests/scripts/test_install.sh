#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# scripts/install: what it puts into another root works from there, shown with
# the policy that the README writes from nothing.

top=$(cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/../.." && pwd -P)
# shellcheck source=selftests/scripts/ktap.sh
. "$top/selftests/scripts/ktap.sh"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
dest=$scratch/dest
fabricctl=$dest/usr/local/bin/fabricctl

installs_into_a_root()
{
	local k file

	make -s -C "$top/Documentation" OUT="$top/build" &&
	"$top/scripts/install" "$dest" || return 1
	for k in stable newest; do
		file=$dest/usr/lib/modules/$("$top/scripts/vm" release $k)/updates/fabric_ext.ko
		modinfo -F description "$file" | grep -q . || { echo "no module $file"; return 1; }
	done
	grep -q '<h' "$dest/usr/local/share/doc/fabric_ext/policy-guide.html" ||
		{ echo "no policy guide"; return 1; }
	grep -q '^\.TH ' "$dest/usr/local/share/man/man1/fabricctl-compile.1" ||
		{ echo "no man page of compile"; return 1; }
}

# The first block of C in the README, and its commands without the checkout.
compiles_the_readmes_policy()
{
	cd "$scratch" || return 1
	awk '/^```c$/ { on = 1; next } on && /^```$/ { exit } on' \
		"$top/README.md" >first.bpf.c
	[[ $(wc -l <first.bpf.c) -gt 10 ]] || { echo "no policy in the README"; return 1; }
	"$fabricctl" model "$dest/usr/local/share/fabric_ext/graphs/models/llama-3.1-8b.json" \
		--tokens 128 -o first.yaml &&
	"$fabricctl" compile first.yaml first.bpf.c -o bundle &&
	"$fabricctl" compile first.yaml "$dest/usr/local/share/fabric_ext/policies/kv_tier.bpf.c" \
		-o bundle2 && [[ -s bundle/kernel/policy.bpf.o && -s bundle2/edges.bin ]]
}

refuses_a_relative_root()
{
	local said code=0

	said=$("$top/scripts/install" some/where 2>&1) || code=$?
	want "exit code" 1 $code && one_sentence "$said" && [[ ! -e some/where ]]
}

run_tests installs_into_a_root compiles_the_readmes_policy refuses_a_relative_root
