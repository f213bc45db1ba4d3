#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# Memory of a CXL region that holds a buffer of the engine does not go offline,
# a block without one does, and all of it does once the buffer is gone.

# The status of a test is what result() takes.
# shellcheck disable=SC2319

here=$(cd "$(dirname "$0")" && pwd)
memory=/sys/devices/system/memory
inject=/sys/kernel/debug/fabric_ext/inject
n=0 failed=0 region='' holder=''

result()
{
	n=$((n + 1))
	if [ "$1" = 0 ]; then
		echo "ok $n $2"
	else
		echo "not ok $n $2"
		failed=1
	fi
}

skip()
{
	echo "1..0 # SKIP $1"
	exit 4
}

cleanup()
{
	[ -n "$holder" ] && exec 3>&- && wait "$holder"
	holder=''
	[ -n "$region" ] || return
	daxctl offline-memory all >/dev/null 2>&1
	cxl disable-region -f "$region" >/dev/null 2>&1
	cxl destroy-region -f "$region" >/dev/null 2>&1
}

# the memory block of a physical address, as memoryN
block_of()
{
	echo "memory$(($1 / 0x$(cat $memory/block_size_bytes)))"
}

# a refusal must come at once, not after endless tries
offline()
{
	timeout 20 sh -c "echo offline >$memory/$1/state" 2>/dev/null
}

[ -e /sys/module/fabric_ext ] || insmod "$FX_KMOD"
command -v cxl >/dev/null || skip "the cxl tool is not installed"
cxl list -M -m mem0 2>/dev/null | grep -q mem0 || skip "there is no CXL memory device mem0"
# never the normal zone: pages of the kernel would keep the region for ever
echo online_movable >$memory/auto_online_blocks
trap cleanup EXIT
region=$(cxl create-region -d decoder0.0 -t ram -m mem0 2>/dev/null |
	sed -n 's/.*"region":"\([^"]*\)".*/\1/p')
[ -n "$region" ] || skip "cxl create-region cannot make a region of mem0"

start=$(($(cat /sys/bus/cxl/devices/"$region"/resource)))
size=$(($(cat /sys/bus/cxl/devices/"$region"/size)))
first=$(block_of $start) last=$(block_of $((start + size - 1)))
for _ in $(seq 50); do
	grep -qs online $memory/"$last"/state && break
	sleep 0.2
done
[ "$(cat $memory/"$last"/state)" = online ] ||
	daxctl reconfigure-device --mode=system-ram all >/dev/null 2>&1
echo 1..9

[ "$(cat $memory/"$first"/state) $(cat $memory/"$last"/state)" = "online online" ]
result $? "memory of $region is online"

# a wrong node must be seen: hold_memory compares frames with the region
if [ -w $inject ]; then
	echo 2 >$inject
	"$here"/hold_memory "$region" $start $size $((1 << 20)) </dev/null >/dev/null 2>&1
	[ $? = 1 ]
	result $? "pages on a wrong node are noticed"
	echo 0 >$inject
else
	n=$((n + 1))
	echo "ok $n pages on a wrong node are noticed # SKIP no $inject"
fi

coproc HOLD { "$here"/hold_memory "$region" $start $size $((1 << 20)); }
holder=$HOLD_PID
exec 3>&"${HOLD[1]}" 4<&"${HOLD[0]}"
eval "exec ${HOLD[1]}>&-"
read -r -t 120 address <&4
[ -n "$address" ]
result $? "a buffer was moved there, frames by pagemap in the region"
held=$(block_of "$address")

offline "$held"
code=$?
[ $code = 1 ]
result $? "its block does not go offline (exit $code, 124 would be a time-out)"
[ "$(cat $memory/"$held"/state)" = online ]
result $? "and stays online"
dmesg | grep -q "fabric_ext: memory at .* stays online"
result $? "the log says why"

# its code is what frees the buffer
rmmod fabric_ext 2>/dev/null
[ $? = 1 ] && [ -d /sys/module/fabric_ext ]
result $? "the module stays, too"

other=$first
[ "$other" = "$held" ] && other=$last
offline "$other"
result $? "a block without buffers goes offline"

exec 3>&-
wait "$holder"
code=$?
holder=''
[ $code = 0 ] && offline "$held"
result $? "its block goes offline when the buffer is gone (holder exits $code)"
exit $failed
