#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# One policy in the kernel and on a network device. t0 is here, t1 in another
# network namespace, and attempt attaches dma-bufs.

# shellcheck source=selftests/scripts/ktap.sh
. "$FX_TOP/selftests/scripts/ktap.sh"
cd "$(dirname "$0")" || exit 1

readonly graph=together pins=/sys/fs/bpf/fabric_ext/together

wires()
{
	ip link add t0 type veth peer name t1 netns there &&
	echo 1 >/proc/sys/net/ipv6/conf/t0/disable_ipv6 &&
	ip address add 10.9.0.1/24 dev t0 && ip link set t0 up &&
	ip -n there address add 10.9.0.2/24 dev t1 && ip -n there link set t1 up &&
	ip -n there neighbour replace 10.9.0.1 lladdr "$(cat /sys/class/net/t0/address)" dev t1
}

# packets PORT N: N datagrams, from there to here
packets()
{
	local i

	for ((i = 0; i < $2; i++)); do
		ip netns exec there bash -c "echo -n 0123456789 >/dev/udp/10.9.0.1/$1" || return 1
	done
}

# counted: "PASSED REFUSED, ..." per edge of the device
counted()
{
	fabricctl stat -j $graph |
		jq -r '[.nic[0].edges[] | "\(.class) \(.packets) \(.refused)"] | join(", ")'
}

# counted_becomes TEXT: within 5 s
counted_becomes()
{
	local i

	for ((i = 0; i < 50; i++)); do
		[[ $(counted) == "$1" ]] && return 0
		sleep 0.1
	done
	want "packets per edge" "$1" "$(counted)"
}

states()
{
	fabricctl list -j | jq -r ".[] | select(.graph == \"$graph\") |
		\"\(.policy) \(.attached) \(.bypassed) \" + ([.nic[].state] | join(\",\"))"
}

nothing_is_left()
{
	local i

	want "graphs" "[]" "$(fabricctl list -j | jq -c .)" &&
	want "programs on devices" "0 0" "$(bpftool -j net | jq -r '.[0] | "\(.xdp | length) \(.tc | length)"')" ||
		return 1
	[[ ! -e $pins ]] || { echo "$pins is left"; return 1; }
	for ((i = 0; i < 100; i++)); do
		grep -q '\[fabric_ext\]' /sys/kernel/tracing/enabled_functions || return 0
		sleep 0.05
	done
	echo "functions are still hooked"
	return 1
}

fresh()
{
	fabricctl detach $graph >/dev/null 2>&1
	nothing_is_left
}

attached()
{
	fresh && fabricctl attach --pin "bundles/$1" >/dev/null
}

one_policy_decides_for_both()
{
	attached strict &&
	want "state" "strict true false attached" "$(states)" &&
	want "attaches" "-13 -13" "$(./attempt 2)" &&
	packets 7000 3 && packets 7001 2 && packets 7002 1 &&
	counted_becomes "urgent 3 0, bulk 0 2" &&
	fresh && want "attaches afterwards" "0 0" "$(./attempt 2)"
}

# What goes wrong on the device undoes what the module took, and the other way.
attach_is_all_or_nothing()
{
	local said code=0

	fresh && ip link set t0 name away || return 1
	said=$(fabricctl attach --pin bundles/strict 2>&1) || code=$?
	ip link set away name t0 && ip link set t0 up || return 1
	want "exit" 1 $code && one_sentence "$said" && [[ $said == *t0* ]] &&
	nothing_is_left && want "attaches" "0 0" "$(./attempt 2)" || return 1

	code=0
	said=$(fabricctl attach --pin bundles/too_long 2>&1) || code=$?
	want "exit" 1 $code && one_sentence "$said" && nothing_is_left || return 1

	ip link set dev t0 xdp obj bundles/open/nic/t0/policy.bpf.o sec xdp.frags 2>/dev/null ||
		{ echo "no foreign program can be put on t0"; return 1; }
	code=0
	said=$(fabricctl attach --pin bundles/strict 2>&1) || code=$?
	ip link set dev t0 xdp off
	want "exit" 1 $code && one_sentence "$said" && [[ $said == *XDP*t0* ]] &&
	nothing_is_left && want "attaches" "0 0" "$(./attempt 2)"
}

# A bundle that is refused does not take along what another attach has pinned.
a_refused_attach_leaves_the_policy()
{
	local said code=0

	attached kernel_only && want "attaches" "-13" "$(./attempt 1)" || return 1
	said=$(fabricctl attach --pin bundles/strict 2>&1) || code=$?
	want "exit" 1 $code && one_sentence "$said" &&
	want "attaches afterwards" "-13" "$(./attempt 1)" &&
	[[ -e $pins/link ]] || { echo "$pins/link is gone"; return 1; }
	code=0
	said=$(fabricctl attach --pin bundles/nic_only 2>&1) || code=$?
	want "exit" 1 $code && one_sentence "$said" &&
	want "attaches afterwards" "-13" "$(./attempt 1)" && fresh
}

replace_swaps_both()
{
	attached strict && packets 7001 1 && counted_becomes "urgent 0 0, bulk 0 1" &&
	fabricctl attach --replace bundles/open >/dev/null &&
	want "state" "open true false attached" "$(states)" &&
	want "attaches" "0 0" "$(./attempt 2)" &&
	packets 7001 2 && counted_becomes "urgent 0 0, bulk 2 1" &&
	fabricctl attach --replace bundles/strict >/dev/null &&
	want "attaches" "-13 -13" "$(./attempt 2)" &&
	packets 7001 1 && counted_becomes "urgent 0 0, bulk 2 2"
}

# The module refuses the new one after the device took it: the old one is back.
replace_is_all_or_nothing()
{
	local said code=0

	attached strict || return 1
	said=$(fabricctl attach --replace bundles/too_long 2>&1) || code=$?
	want "exit" 1 $code && one_sentence "$said" &&
	want "state" "strict true false attached" "$(states)" &&
	want "attaches" "-13" "$(./attempt 1)" &&
	packets 7001 1 && counted_becomes "urgent 0 0, bulk 0 1" &&
	want "pins of the other" "" "$(ls -d $pins/next $pins/*/next 2>/dev/null)"
}

repair_mends_both()
{
	attached strict && want "repaired" "" \
		"$(fabricctl attach --repair -j bundles/strict | jq -r '.repaired | join(" ")')" &&
	ip link del t0 && wires &&
	want "state" "strict true false its device is gone" "$(states)" &&
	want "repaired" "nic t0" \
		"$(fabricctl attach --repair -j bundles/strict | jq -r '.repaired | join(" ")')" &&
	packets 7001 1 && counted_becomes "urgent 0 0, bulk 0 1" &&
	fabricctl bypass $graph >/dev/null &&
	want "attaches when by-passed" "0" "$(./attempt 1)" &&
	want "repaired" "kernel nic t0" \
		"$(fabricctl attach --repair -j bundles/strict | jq -r '.repaired | join(" ")')" &&
	want "state" "strict true false attached" "$(states)" &&
	want "attaches" "-13" "$(./attempt 1)" &&
	packets 7001 1 && counted_becomes "urgent 0 0, bulk 0 2"
}

# interrupted HOW COMMAND...: fabricctl, before the call that HOW names; did it come to that?
interrupted()
{
	FX_INTERRUPT=$1 LD_PRELOAD=$PWD/interrupt.so fabricctl "${@:2}" 2>&1 >/dev/null |
		grep -q '^interrupted at'
}

# decides_alone POLICY REFUSED: in the module and on the device, with nothing half done
decides_alone()
{
	local refused=$2 before after

	before=$(fabricctl stat -j $graph | jq '[.nic[0].edges[].refused] | add')
	want "state" "$1 true false attached" "$(states)" &&
	want "attach" "$((refused * -13))" "$(./attempt 1)" &&
	packets 7001 1 && sleep 0.3 || return 1
	after=$(fabricctl stat -j $graph | jq '[.nic[0].edges[].refused] | add')
	want "packets refused" "$refused" "$((after - before))" &&
	want "pins of the other" "" "$(ls -d $pins/next $pins/*/next 2>/dev/null)"
}

# What is mended stays, though not everything can be.
a_repair_in_part_stays()
{
	local said code=0

	attached strict && ip link set t0 name away && fabricctl bypass $graph >/dev/null || return 1
	said=$(fabricctl attach --repair bundles/strict 2>&1) || code=$?
	ip link set away name t0 && ip link set t0 up || return 1
	want "exit" 1 $code && one_sentence "$said" && [[ $said == *t0* ]] &&
	want "attach" "-13" "$(./attempt 1)" &&
	want "repaired" "nic t0" \
		"$(fabricctl attach --repair -j bundles/strict | jq -r '.repaired | join(" ")')" &&
	decides_alone strict 1
}

# Killed anywhere, it can be done again. A repair takes it back until the module's
# pins have followed, and finishes it when all devices have the new policy: on the
# module and the device alike.
a_killed_replace_is_mended()
{
	local at

	for at in link_update:1 link_update:3 renameat2:1 renameat2:2 renameat2:3; do
		attached strict && interrupted "$at kill" attach --replace bundles/open &&
		fabricctl attach --replace bundles/open >/dev/null && decides_alone open 0 ||
			{ echo "again from $at"; return 1; }
		[[ $at == renameat2:3 ]] ||
			{ interrupted "$at kill" attach --replace bundles/strict &&
			fabricctl attach --repair bundles/open >/dev/null && decides_alone open 0; } ||
			{ echo "back from $at"; return 1; }
		[[ $at == link_update:* ]] ||
			{ interrupted "$at kill" attach --replace bundles/strict &&
			fabricctl attach --repair bundles/strict >/dev/null && decides_alone strict 1; } ||
			{ echo "forward from $at"; return 1; }
	done
}

# A bypass while a replacement goes on holds, wherever that stands.
a_bypass_meanwhile_holds()
{
	local at

	for at in link_update:1 link_update:3 renameat2:1; do
		attached strict &&
		interrupted "$at run fabricctl bypass $graph" attach --replace bundles/strict &&
		want "attach by-passed at $at" "0" "$(./attempt 1)" &&
		packets 7001 1 && counted_becomes "urgent 0 0, bulk 0 0" || return 1
	done
	fabricctl attach --replace bundles/strict >/dev/null && decides_alone strict 1
}

# What the module took is taken back when the pins cannot follow.
a_replace_that_fails_late_is_taken_back()
{
	local at

	for at in renameat2:1 renameat2:2; do
		attached strict && interrupted "$at fail" attach --replace bundles/open &&
		decides_alone strict 1 || { echo "at $at"; return 1; }
	done
}

repair_takes_the_policy_that_was_attached()
{
	local said code=0

	attached strict && said=$(fabricctl attach --repair bundles/open 2>&1) || code=$?
	want "exit" 1 $code && one_sentence "$said" && decides_alone strict 1 || return 1
	code=0
	fresh && fabricctl attach --pin bundles/kernel_only >/dev/null &&
	said=$(fabricctl attach --repair bundles/open_kernel_only 2>&1) || code=$?
	want "exit" 1 $code && one_sentence "$said" && want "attach" "-13" "$(./attempt 1)"
}

an_audit_is_repaired_as_one()
{
	fresh && fabricctl attach --pin --audit bundles/strict >/dev/null &&
	want "state" "strict true false audit" "$(states)" && want "attach" "0" "$(./attempt 1)" &&
	fabricctl bypass $graph >/dev/null && fabricctl attach --repair bundles/strict >/dev/null &&
	want "state" "strict true false audit" "$(states)" && want "attach" "0" "$(./attempt 1)" &&
	want "audit" "true" "$(fabricctl list -j | jq -r ".[] | select(.graph == \"$graph\") | .audit")"
}

events_have_one_vocabulary()
{
	local listener

	attached strict || return 1
	fabricctl events -j $graph >events.out 2>/dev/null &
	listener=$!
	sleep 2
	./attempt 2 >/dev/null && packets 7001 3 && counted_becomes "urgent 0 0, bulk 0 3" &&
	sleep 1
	kill -INT $listener
	wait $listener
	want "verdicts" "dmabuf_attach 2, move 3" "$(jq -rs '[.[] | select(.event == "verdict")] |
		group_by(.op) | map("\(.[0].op) \(map(.packets // 1) | add)") | join(", ")' events.out)" &&
	want "reasons" "refused_policy" \
		"$(jq -r 'select(.event == "verdict") | .reason' events.out | sort -u)"
}

leaves_nothing_and_unloads()
{
	local i

	fresh || return 1
	for ((i = 0; i < 100; i++)); do
		rmmod fabric_ext 2>/dev/null && break
		sleep 0.05
	done
	[[ ! -e /sys/module/fabric_ext ]] && rmmod fx_exerciser
}

insmod "$FX_TOP/build/kmod-test-$(uname -r)/fx_exerciser.ko" && insmod "$FX_KMOD" &&
	ip netns add there && wires || exit 1
cp -r bundles attempt interrupt.so /tmp && cd /tmp || exit 1

run_tests one_policy_decides_for_both attach_is_all_or_nothing \
	a_refused_attach_leaves_the_policy replace_swaps_both \
	replace_is_all_or_nothing repair_mends_both a_repair_in_part_stays a_killed_replace_is_mended a_bypass_meanwhile_holds \
	a_replace_that_fails_late_is_taken_back repair_takes_the_policy_that_was_attached \
	an_audit_is_repaired_as_one events_have_one_vocabulary \
	leaves_nothing_and_unloads
