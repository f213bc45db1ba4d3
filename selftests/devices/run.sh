#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# `fabricctl run` on a small graph: that it holds, that it follows the graph,
# and that each of its checks notices the fault it is there for.

# shellcheck source=selftests/devices/devices.sh
. "$FX_TOP/selftests/devices/devices.sh"

# where GRAPH: "PLACE MOVES" of kv_out, as run reports them
where()
{
	fabricctl run -j "$1" | jq -r \
		'[.rows[] | select(.class == "kv_out") | "\(.place) \(.moves)"] | join(", ")'
}

attach()
{
	fabricctl attach --pin "$work/bundle.$1" >/dev/null
}

far_reuse_goes_to_cxl()
{
	attach far && region 0 &&
	want "kv_out" "cxl0 6" "$(where far)"
}

everything_is_verified()
{
	local out

	out=$(fabricctl run --stranger "$video" far) || return
	[[ $out == *"run: 12 moves, "*", all verified"* ]] || { echo "$out"; return 1; }
	[[ $out == *"6 destinations"*"6 back, 1 strangers refused"* ]] || { echo "$out"; return 1; }
	want "bytes of the engine left at the place" 0 "$(field cxl0 used far)"
}

# A movement's event has the process that asked for it, not the engine's worker.
events_name_who_moved()
{
	local listener runner i

	fabricctl events -j far >"$work/events" 2>/dev/null &
	listener=$!
	for ((i = 0; i < 100; i++)); do
		[[ $(ls -l /proc/$listener/fd 2>/dev/null) == *socket:* ]] && break
		sleep 0.05
	done
	sleep 0.5
	fabricctl run far >/dev/null &
	runner=$!
	wait $runner
	sleep 0.5
	kill -INT $listener
	wait $listener
	want "processes" "$runner" \
		"$(jq -r 'select(.event == "move") | .pid' "$work/events" | sort -u)"
}

# notices FAULT BIT WORDS [OPTIONS]: run fails with these words
notices()
{
	local words=$1 out
	shift

	out=$(fabricctl run "$@" far 2>&1) && { echo "not noticed: $out"; return 1; }
	echo 0 >"$inject"
	[[ $out == *"$words"* ]] || { echo "$out"; return 1; }
}

notices_a_flipped_byte()	{ echo 1 >"$inject"; notices "failed_checksum"; }
notices_a_wrong_node()		{ echo 2 >"$inject"; notices "a page that should be at place 'cxl0'"; }
notices_a_skipped_refusal()	{ echo 4 >"$inject"; notices "was not refused with EACCES" --stranger "$video"; }
notices_a_wrong_source()	{ echo 8 >"$inject"; notices "of what mxfp8 may be"; }
notices_a_missing_count()	{ echo 16 >"$inject"; notices "counted 0 moves"; }
notices_a_missing_event()	{ echo 32 >"$inject"; notices "0 of 12 moves"; }

holds_without_faults_again()
{
	fabricctl run far >/dev/null
}

near_reuse_stays_in_dram()
{
	fabricctl detach far >/dev/null && attach near || return
	# the budget of 1 MiB holds four blocks
	want "kv_out" "host 4, cxl0 2" "$(where near)"
	fabricctl detach near >/dev/null
}

often_written_stays_in_dram()
{
	attach rw || return
	want "kv_out" "host 4, cxl0 2" "$(where rw)"
	fabricctl detach rw >/dev/null
}

# The policy that network devices run as well, on movements of the engine.
portable_policy_keeps_the_budget()
{
	local out

	attach guard && want "kv_out" "host 6" "$(where far)" &&
	fabricctl detach far >/dev/null && attach tight || return
	out=$(fabricctl run far 2>&1) && { echo "nothing was refused: $out"; return 1; }
	fabricctl detach far >/dev/null
	[[ $out == *refused_policy* ]] || { echo "$out"; return 1; }
}

start
run_tests far_reuse_goes_to_cxl everything_is_verified events_name_who_moved \
	notices_a_flipped_byte notices_a_wrong_node notices_a_skipped_refusal \
	notices_a_wrong_source notices_a_missing_count notices_a_missing_event \
	holds_without_faults_again near_reuse_stays_in_dram often_written_stays_in_dram \
	portable_policy_keeps_the_budget
code=$?
finish
exit $code
