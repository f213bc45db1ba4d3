# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# What the tests of this folder share: regions made by hand, step by step through
# sysfs, so that there is one to be refused, looked at, and tried again.
#
# The kernel undoes none of these steps by itself. What is left out when a region
# is taken apart stays, and the next one trips over it:
#
# - deleting a region detaches its decoders but leaves them their part of the
#   device (dpa_size), and a device of 256 MiB has no second part to give: any
#   other decoder of it gets ENOSPC;
# - `cxl destroy-region` gives it back, but only of decoders that are targets: of
#   a region that was left before its target was set it knows none, says ENXIO and
#   deletes nothing;
# - `cxl create-region` that fails at its commit takes its region back, and leaves
#   the decoder its part as well, which the next one takes over;
# - a port decodes regions in the order of their addresses: while one of window 1
#   has a target, none of window 0 below the same host bridge gets one (EBUSY);
# - deleting or decommitting a region unbinds its memory, which has one shot: a
#   block that is online then cannot be removed until the next boot, and its range
#   stays taken.
#
# Hence take_apart() goes backwards through all steps, and every test goes through
# it whether it failed or not.

# shellcheck source=selftests/scripts/ktap.sh
. "$FX_TOP/selftests/scripts/ktap.sh"
here=$(cd "$(dirname "$0")" && pwd) || exit 1
cd "$here" || exit 1

readonly cxl=/sys/bus/cxl/devices memory=/sys/devices/system/memory
readonly nodes=/sys/devices/system/node graph=refuse
readonly size=$((256 << 20))

region='' decoder='' window='' node=''

# store VALUE FILE: "stored", or the words of the errno that the kernel gave
store()
{
	local said

	if said=$({ echo "$1" >"$2"; } 2>&1); then
		echo stored
	elif [[ $said == *"write error: "* ]]; then
		echo "${said##*write error: }"
	else
		echo "not opened: $said"
	fi
}

# must VALUE FILE: a step that only prepares
must()
{
	want "$1 to $2" stored "$(store "$1" "$2")"
}

# First decoder of a memory device.
decoder_of()
{
	local port

	for port in "$cxl"/endpoint*; do
		[[ $(basename "$(readlink -f "$port/uport")") == "$1" ]] || continue
		echo "decoder${port##*/endpoint}.0"
		return
	done
	echo "no endpoint of $1" >&2
	return 1
}

# make_without_target N: a region of device N in window N
make_without_target()
{
	window=$cxl/decoder0.$1 node=$(($1 + 1))
	decoder=$(decoder_of "mem$1") && region=$(<"$window/create_ram_region") &&
	must "$region" "$window/create_ram_region" &&
	must 256 "$cxl/$region/interleave_granularity" &&
	must 1 "$cxl/$region/interleave_ways" &&
	must ram "$cxl/$decoder/mode" &&
	must $size "$cxl/$decoder/dpa_size" &&
	must $size "$cxl/$region/size"
}

# make N: a region that only its commit is missing
make()
{
	make_without_target "$1" && must "$decoder" "$cxl/$region/target0"
}

commit()
{
	store "$1" "$cxl/$region/commit"
}

bind()
{
	store "$region" /sys/bus/cxl/drivers/cxl_region/bind
}

# All regions, backwards; does what it can, and says what it could not.
take_apart()
{
	local block file bad=0

	for file in "$cxl"/region[0-9]*; do
		[[ -e $file ]] || continue
		region=${file##*/} window=$(dirname "$(readlink -f "$file")")
		for block in $(blocks); do
			[[ $(<"$memory/$block/state") == offline ]] ||
				must offline "$memory/$block/state" || bad=1
		done
		must 0 "$file/commit" && must '' "$file/target0" || bad=1
		must "$region" "$window/delete_region" || bad=1
	done
	for file in "$cxl"/decoder*/dpa_size; do
		(($(<"$file"))) || continue
		must 0 "$file" || bad=1
	done
	return $bad
}

# The memory blocks of the region, as memoryN.
blocks()
{
	local start block_size i

	start=$(($(<"$cxl/$region/resource")))
	block_size=$((0x$(<$memory/block_size_bytes)))
	for ((i = start / block_size; i < (start + size) / block_size; i++)); do
		[[ -e $memory/memory$i ]] && echo "memory$i"
	done
}

states()
{
	local block out=''

	for block in $(blocks); do
		out+="$(<"$memory/$block/state") "
	done
	echo "${out% }"
}

# states_become WANTED: the kernel brings memory online when it is bound; some
# of it comes later
states_become()
{
	local i

	for ((i = 0; i < 100; i++)); do
		[[ $(states) == "$1" ]] && return 0
		sleep 0.05
	done
	want "states of the blocks" "$1" "$(states)"
}

# The node's memory in KiB; 0: it has none, or is not there.
node_memory()
{
	sed -nE 's/.* MemTotal: +([0-9]+) kB/\1/p' "$nodes/node$node/meminfo" 2>/dev/null |
		grep . || echo 0
}

# node_has_memory: does the kernel allocate from it?
node_has_memory()
{
	local part

	for part in $(tr , ' ' <$nodes/has_memory); do
		((node >= ${part%-*} && node <= ${part#*-})) && echo yes && return
	done
	echo no
}

# works: the region's memory is the node's, and holds what is written to it
works()
{
	want "node has memory" yes "$(node_has_memory)" &&
	want "memory of the node" $((size >> 10)) "$(node_memory)" &&
	./on_node "$node" "$(<"$cxl/$region/resource")" $size
}

# What regions take: addresses, parts of the devices, decoders.
taken()
{
	(
		cd $cxl || exit
		grep -s . decoder*/{region,dpa_size,dpa_resource} {port,endpoint}*/decoders_committed \
			region*/{commit,mode,size,resource,target0,interleave_ways}
		grep -iE 'cxl|region|dax|kmem' /proc/iomem
	)
}

# All that sysfs tells of it. Without a region this is no state to come back to:
# the kernel leaves start, size, targets and mode of a decoder as they were last.
state()
{
	taken
	grep -s . $cxl/decoder*/{start,size,mode,locked,target_list,interleave_ways,interleave_granularity}
}

# same BEFORE NOW WHAT: two states
same()
{
	diff <(echo "$1") <(echo "$2") && return
	echo "$3: the devices are in another state"
	return 1
}

committed()	# decoders on the way to the device, the device's included
{
	(cd $cxl && awk '{ n += $1 } END { print n }' {port,endpoint}*/decoders_committed)
}

attach()
{
	fabricctl attach --pin "$@" >/dev/null
}

detach()
{
	[[ -e /sys/module/fabric_ext ]] || return 0
	[[ $(fabricctl list -j | jq length) == 0 ]] || fabricctl detach $graph
}

# counts OP: "asked refused"
counts()
{
	fabricctl show -j $graph |
		jq -r ".operations[] | select(.op == \"$1\") | \"\(.asked) \(.refused)\""
}

# event_of COMMAND...: the verdict that it makes the module tell, without what
# only says when. The command is repeated until the reader hears.
event_of()
{
	local pid i

	: >/tmp/events
	fabricctl events -j $graph >/tmp/events 2>/dev/null &
	pid=$!
	for ((i = 0; i < 100; i++)); do
		"$@" >/dev/null
		grep -q '"verdict"' /tmp/events && break
		sleep 0.1
	done
	kill -INT $pid
	wait $pid
	jq -c 'select(.event == "verdict") | [.op, .reason, .error]' /tmp/events | sort -u
}

# Each test begins and ends without policy and region, in the state of the boot;
# what one that failed has left does not fail the next.
fresh()
{
	detach && take_apart && same "$at_boot" "$(taken)" "without regions"
}

begin()
{
	command -v cxl >/dev/null || { echo "1..0 # SKIP the cxl tool is not installed"; exit 4; }
	[[ -e $cxl/decoder0.1 ]] || { echo "1..0 # SKIP there are no CXL devices"; exit 4; }
	[[ ! -e /sys/module/fabric_ext ]] || rmmod fabric_ext || exit 1
	at_boot=$(taken)
}

finish()
{
	{ detach; take_apart; rmmod fabric_ext; } 2>&1 | sed 's/^/# /'
}
