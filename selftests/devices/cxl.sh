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
	region_by_another_name && region 0 || return
	want "place with its region" true "$(field cxl0 bound far)" &&
	want "node" 1 "$(field cxl0 node far)" &&
	want "range" "$(($(cat /sys/bus/cxl/devices/region0/resource)))" \
		"$(field cxl0 region_start far)" &&
	want "memory tier by the policy: 1500 / 128" 11 "$(tier_of 1)"
}

# The kernel reads a number, so "region00" is region0, which the graph has.
region_by_another_name()
{
	local decoder=/sys/bus/cxl/devices/decoder0.0

	want "the next region" region0 "$(cat $decoder/create_ram_region)" || return
	echo region00 >$decoder/create_ram_region || return
	# `cxl list` passes over one that has no memory yet
	want "regions" region0 "$(basename /sys/bus/cxl/devices/region*)" &&
	echo region0 >$decoder/delete_region
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

start
run_tests tier_without_policy region_of_the_graph region_outside_the_graph \
	place_leaves_with_its_region
code=$?
finish
exit $code
