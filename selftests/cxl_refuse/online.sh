#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# Memory of a CXL region going online: without the module, without a policy,
# refused by one and in its audit.

# shellcheck source=selftests/cxl_refuse/region.sh
. "$FX_TOP/selftests/cxl_refuse/region.sh"

# ready N: a region whose memory is there and offline
ready()
{
	must offline $memory/auto_online_blocks &&
	make "$1" &&
	want "commit" stored "$(commit 1)" &&
	want "bind" stored "$(bind)" &&
	states_become "offline offline" || return
	mapfile -t block < <(blocks)
}

# online I [TYPE]: block I of the region
online()
{
	store "${2:-online_movable}" "$memory/${block[$1]}/state"
}

# What the kernel says to each write, right and wrong ones.
outcomes()
{
	ready 1 || return
	echo "nonsense: $(online 0 awake)"
	echo "offline once more: $(online 0 offline)"
	echo "online: $(online 0), $(states)"
	echo "online again: $(online 0)"
	echo "offline: $(online 0 offline), $(states)"
	echo "all: $(online 0), $(online 1), $(states)"
	works && fresh
}

readonly expected="nonsense: Invalid argument
offline once more: Invalid argument
online: stored, online offline
online again: Invalid argument
offline: stored, offline offline
all: stored, stored, online online"

unmodified_kernel_goes_online()
{
	fresh && want "outcomes" "$expected" "$(outcomes)"
}

no_policy_changes_nothing()
{
	insmod "$FX_KMOD" || return
	fresh && want "outcomes" "$expected" "$(outcomes)"
}

# no_memory BEFORE: the blocks are offline, the node has nothing
no_memory()
{
	want "states of the blocks" "offline offline" "$(states)" &&
	want "node has memory" no "$(node_has_memory)" &&
	want "memory of the node" 0 "$(node_memory)" &&
	same "$1" "$(state)" "refused"
}

# refused_and_then_not N: memory stays offline, and then it does not
refused_and_then_not()
{
	local before

	fresh && ready "$1" || return
	before=$(state)
	attach bundles/online &&
	want "online" "No space left on device" "$(online 0)" &&
	no_memory "$before" &&
	want "the other, as what the kernel likes" "No space left on device" "$(online 1 online)" &&
	no_memory "$before" &&
	want "asked and refused" "2 2" "$(counts mem_online)" &&
	want "event" '["mem_online","refused_policy",-28]' "$(event_of online 0)" &&
	no_memory "$before" &&
	detach &&
	want "online without the policy" stored "$(online 0)" &&
	want "states of the blocks" "online offline" "$(states)" &&
	want "the other" stored "$(online 1)" &&
	works &&
	fresh
}

memory_of_a_place_stays_offline()
{
	refused_and_then_not 0
}

memory_of_another_region_stays_offline()
{
	refused_and_then_not 1
}

# The kernel brings memory online as it is bound, gives up at the first block that
# is refused, and tells nobody: the region is there, its memory is not.
memory_is_not_brought_online_by_the_kernel()
{
	local before

	fresh && must online_movable $memory/auto_online_blocks && make 1 &&
	attach bundles/online &&
	want "commit" stored "$(commit 1)" &&
	want "bind" stored "$(bind)" &&
	states_become "offline offline" || return
	before=$(state)
	no_memory "$before" &&
	want "asked and refused" "1 1" "$(counts mem_online)" &&
	detach >/dev/null || return
	mapfile -t block < <(blocks)
	want "online without the policy" "stored stored" "$(online 0) $(online 1)" &&
	works &&
	fresh
}

# What is online stays so, and goes offline as ever; back it is asked about.
other_writes_are_not_asked_about()
{
	fresh && ready 1 &&
	want "online" stored "$(online 0)" &&
	attach bundles/online &&
	want "nonsense" "Invalid argument" "$(online 0 awake)" &&
	want "online again" "Invalid argument" "$(online 0)" &&
	want "offline" stored "$(online 0 offline)" &&
	want "asked and refused" "0 0" "$(counts mem_online)" &&
	want "online" "No space left on device" "$(online 0)" &&
	fresh
}

# turn I: offline, if it is not, and online again
turn()
{
	online "$1" offline
	online "$1"
}

audit_records_and_goes_online()
{
	fresh && ready 1 && attach --audit bundles/online &&
	want "online" stored "$(online 0)" &&
	want "asked and refused" "1 1" "$(counts mem_online)" &&
	want "event" '["mem_online","audit_refused",-28]' "$(event_of turn 1)" &&
	want "states of the blocks" "online online" "$(states)" &&
	works &&
	fresh
}

begin
run_tests unmodified_kernel_goes_online no_policy_changes_nothing \
	memory_of_a_place_stays_offline memory_of_another_region_stays_offline \
	memory_is_not_brought_online_by_the_kernel other_writes_are_not_asked_about \
	audit_records_and_goes_online
code=$?
finish
echo online_movable >$memory/auto_online_blocks
exit $code
