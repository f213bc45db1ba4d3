#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# CXL regions under a policy: made, tiered and bound when the graph has them as
# places, refused without a trace when not.

# shellcheck source=selftests/devices/devices.sh
. "$FX_TOP/selftests/devices/devices.sh"

tier_without_policy()
{
	region 0 || return
	want "memory tier of CXL by the kernel" 22 "$(tier_of 1)"
	no_regions
}

region_of_the_graph()
{
	fabricctl attach --pin "$work/bundle.far" >/dev/null || return
	want "place before its region" false "$(field cxl0 bound far)" || return
	region 0 || return
	want "place with its region" true "$(field cxl0 bound far)" &&
	want "node" 1 "$(field cxl0 node far)" &&
	want "range" "$(($(cat /sys/bus/cxl/devices/region0/resource)))" \
		"$(field cxl0 region_start far)" &&
	want "memory tier by the policy: 1500 / 128" 11 "$(tier_of 1)"
}

region_outside_the_graph()
{
	local out

	out=$(cxl create-region -d decoder0.1 -t ram -m mem1 2>&1) && return 1
	[[ $out == *"Operation not permitted"* ]] || { echo "$out"; return 1; }
	want "regions left" region0 "$(regions)"
	# the device was not taken either: without the policy it makes a region
}

place_leaves_with_its_region()
{
	no_regions &&
	want "place without its region" false "$(field cxl0 bound far)"
}

# First free endpoint decoder of a memory device.
endpoint_decoder()
{
	local port

	for port in /sys/bus/cxl/devices/endpoint*; do
		[[ $(basename "$(readlink -f "$port/uport")") == "$1" ]] || continue
		basename "$(ls -d "$port"/decoder*.0)"
		return
	done
	echo "no endpoint for $1" >&2
	return 1
}

# A region made by hand up to its commit while there was no policy.
commit_is_refused_too()
{
	local dir=/sys/bus/cxl/devices r e out

	fabricctl detach far >/dev/null
	r=$(cat $dir/decoder0.1/create_ram_region) || return
	if [[ $r == region0 ]]; then
		skip "the kernel names the next region region0, which is a place"
		return
	fi
	e=$(endpoint_decoder mem1) &&
	echo "$r" >$dir/decoder0.1/create_ram_region &&
	echo 256 >"$dir/$r/interleave_granularity" &&
	echo 1 >"$dir/$r/interleave_ways" &&
	echo ram >"$dir/$e/mode" &&
	echo $((256 << 20)) >"$dir/$e/dpa_size" &&
	echo $((256 << 20)) >"$dir/$r/size" &&
	echo "$e" >"$dir/$r/target0" &&
	fabricctl attach --pin "$work/bundle.far" >/dev/null || return

	out=$({ echo 1 >"$dir/$r/commit"; } 2>&1)
	want "commit afterwards" 0 "$(cat "$dir/$r/commit")" || return
	[[ $out == *"Operation not permitted"* ]] || { echo "$out"; return 1; }
	fabricctl detach far >/dev/null
	echo 1 >"$dir/$r/commit" || return
	no_regions
}

memory_goes_online_only_with_leave()
{
	local policy=/sys/devices/system/memory/auto_online_blocks old block out

	fabricctl detach far >/dev/null 2>&1
	old=$(cat $policy)
	echo offline >$policy
	region 1
	echo "$old" >$policy
	block=$(grep -l offline /sys/devices/system/memory/memory*/state | head -n1)
	[[ $block ]] || { echo "no offline block"; return 1; }
	fabricctl attach --pin "$work/bundle.far" >/dev/null || return
	if [[ $(regions) == region0 ]]; then
		skip "the kernel named the region region0, which is a place"
		return
	fi
	out=$({ echo online_movable >"$block"; } 2>&1) && return 1
	want "state" offline "$(cat "$block")" &&
	fabricctl detach far >/dev/null &&
	echo online_movable >"$block" &&
	want "state without the policy" online "$(cat "$block")"
	no_regions
}

start
run_tests tier_without_policy region_of_the_graph region_outside_the_graph \
	place_leaves_with_its_region commit_is_refused_too \
	memory_goes_online_only_with_leave
code=$?
finish
exit $code
