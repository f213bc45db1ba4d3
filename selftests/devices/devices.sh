# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# What the tests of this folder share. Each program begins and ends without the
# module, without policies and without regions.

# shellcheck source=selftests/scripts/ktap.sh
. "$FX_TOP/selftests/scripts/ktap.sh"

work=$(mktemp -d)
tar -C "$work" -xf bundles.tar
inject=/sys/kernel/debug/fabric_ext/inject

start()
{
	insmod "$FX_KMOD"
	modprobe vgem
	modprobe vivid n_devs=1 node_types=1 allocators=1 no_error_inj=1
	# shellcheck disable=SC2034 # run.sh uses it
	video=$(ls /dev/video* 2>/dev/null | head -n1)
}

# region N: makes the region on window and device N. Its memory goes online a
# moment after that: on 7.3 dax_cxl probes asynchronously.
region()
{
	local before i

	before=$(</sys/devices/system/node/has_memory)
	cxl create-region -d "decoder0.$1" -t ram -m "mem$1" >/dev/null 2>&1 || return
	for ((i = 0; i < 200; i++)); do
		[[ $(</sys/devices/system/node/has_memory) != "$before" ]] && return
		sleep 0.05
	done
	want "nodes with memory, 10 s after the region" "not $before" "$before"
}

regions()
{
	cxl list -R 2>/dev/null | jq -r '[.[].region] | sort | join(" ")'
}

no_regions()
{
	local r

	for r in $(regions); do
		cxl disable-region "$r" -f >/dev/null 2>&1
		cxl destroy-region "$r" -f >/dev/null 2>&1
	done
	[[ -z $(regions) ]]
}

finish()
{
	local g

	[[ -e $inject ]] && echo 0 >"$inject"
	for g in $(fabricctl list -j | jq -r '.[].graph'); do
		fabricctl detach "$g" >/dev/null 2>&1
	done
	no_regions
	rmmod fabric_ext
	rm -rf "$work"
}

# field PLACE NAME GRAPH: of a place
field()
{
	fabricctl show -j "$3" | jq -r ".places[] | select(.place == \"$1\") | .$2"
}

tier_of()
{
	local list

	list=$(grep -lx "$1" /sys/devices/virtual/memory_tiering/memory_tier*/nodelist) || return
	list=${list%/nodelist}
	echo "${list##*memory_tier}"
}
