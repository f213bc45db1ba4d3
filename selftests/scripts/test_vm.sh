#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# scripts/vm: what comes out of the machine, and what counts as a failure.

top=$(cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/../.." && pwd -P)
# shellcheck source=selftests/scripts/ktap.sh
. "$top/selftests/scripts/ktap.sh"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

vm()
{
	"$top/scripts/vm" run --timeout "${seconds:-120}" "$@" >"$scratch/out" 2>"$scratch/err"
}

passes_output_and_exit_code()
{
	local code=0 token=$RANDOM$RANDOM bad=0

	# shellcheck disable=SC2016	# the guest's shell expands these
	FX_TEST_TOKEN=$token vm stable -- sh -c \
		'echo "on stdout $FX_TEST_TOKEN"; echo "on stderr" >&2
		 echo "$FX_KERNEL $(uname -r)" >"$FX_RESULTS/vm-test"
		 printf "%s|" "$@"; exit 7' sh 'two words' "it's" '$HOME' || code=$?
	want "exit code" 7 $code || bad=1
	want stdout "on stdout $token" "$(head -n 1 "$scratch/out")" || bad=1
	# shellcheck disable=SC2016
	want arguments 'two words|it'\''s|$HOME|' "$(tail -n 1 "$scratch/out")" || bad=1
	grep -qx "on stderr" "$scratch/err" || { echo "stderr is lost"; bad=1; }
	want "result share" "stable $("$top/scripts/vm" release stable)" \
		"$(cat "$top/build/vm-results/vm-test")" || bad=1
	rm -f "$top/build/vm-results/vm-test"
	grep -q 'Command line: .*console=ttyS0' "$top/build/vm/stable.log" ||
		{ echo "the log lacks the kernel's first lines"; bad=1; }
	return $bad
}

# A program's success does not cover a warning of the kernel.
fails_on_a_warning()
{
	local code=0

	vm stable -- sh -c 'printf "<4>%s\n" "------------[ cut here ]------------" \
		"WARNING: CPU: 0 PID: 1 at test.c:1 tested+0x1/0x2" "Call Trace:" \
		"---[ end trace 0000000000000000 ]---" | while read -r l; do echo "$l" >/dev/kmsg; done' || code=$?
	want "exit code" 99 $code && grep -q 'kernel log: .*tested+0x1' "$scratch/err"
}

fails_on_a_panic()
{
	local code=0

	vm newest -- sh -c 'echo c >/proc/sysrq-trigger; sleep 100' || code=$?
	want "exit code" 99 $code && grep -q 'Kernel panic' "$scratch/err"
}

ends_when_time_is_up()
{
	local code=0

	seconds=5 vm newest -- sh -c 'echo begun; sleep 1000' || code=$?
	want "exit code" 124 $code && want stdout begun "$(cat "$scratch/out")" &&
	grep -q '^vm: .* 5 seconds are up' "$scratch/err" &&
	grep -q 'vm-guest: time is up' "$top/build/vm/newest.log"
}

leaves_nothing_behind()
{
	local left

	left=$(find "$top/build/vm" -maxdepth 1 -name 'run-*')
	want "run directories" "" "$left" &&
	want "processes" "" "$(pgrep -f "path=$top/build/vm/run-")"
}

refuses_bad_arguments()
{
	local code arguments

	while read -r arguments; do
		code=0
		# shellcheck disable=SC2086	# a list of arguments
		"$top/scripts/vm" $arguments >"$scratch/out" 2>&1 || code=$?
		want "exit code of 'vm $arguments'" 125 $code && one_sentence "$(cat "$scratch/out")" || return 1
	done <<-'E'
		run oldest -- true
		run stable
		run stable --
		run --timeout 0 stable -- true
		run --timeout 99999999999999999999 stable -- true
		run --mem lots stable -- true
		run --cpu max;reboot stable -- true
		run --nothing stable -- true
		fly stable
	E
}

# vm-log without a machine: an entry covers a whole report and nothing else.
allow_list_covers_one_report()
{
	local bad=0

	cat >"$scratch/log" <<-'E'
		[    1.0] ------------[ cut here ]------------
		[    1.0] WARNING: CPU: 0 PID: 1 at a.c:1 known+0x1/0x2
		[    1.0] Call Trace:
		[    1.0] ---[ end trace 0000000000000000 ]---
	E
	printf 'known\\+0x  # a test\n' >"$scratch/allow"
	: >"$scratch/nothing"
	"$top/scripts/vm-log" "$scratch/allow" "$scratch/log" >/dev/null || { echo "not allowed"; bad=1; }
	"$top/scripts/vm-log" "$scratch/nothing" "$scratch/log" >/dev/null && { echo "allowed"; bad=1; }
	echo "[    2.0] BUG: sleeping function called from invalid context at b.c:2" >>"$scratch/log"
	"$top/scripts/vm-log" "$scratch/allow" "$scratch/log" >/dev/null && { echo "covers too much"; bad=1; }
	echo "no reason" >"$scratch/allow"
	"$top/scripts/vm-log" "$scratch/allow" "$scratch/log" >/dev/null 2>&1 && { echo "takes an entry without a reason"; bad=1; }
	return $bad
}

knows_each_complaint()
{
	local line

	while read -r line; do
		echo "[    3.14] $line" >"$scratch/log"
		"$top/scripts/vm-log" "$scratch/nothing" "$scratch/log" >/dev/null &&
			{ echo "not noticed: $line"; return 1; }
	done <<-'E'
		BUG: unable to handle page fault for address: 0000000000000008
		BUG: KASAN: slab-use-after-free in f+0x1/0x2
		kernel BUG at mm/slub.c:1!
		Oops: general protection fault, probably for non-canonical address 0xdead: 0000 [#1]
		WARNING: possible circular locking dependency detected
		WARNING: suspicious RCU usage
		WARNING: CPU: 1 PID: 77 at kernel/f.c:7 f+0x1/0x2
		rcu: INFO: rcu_preempt detected stalls on CPUs/tasks:
		INFO: task insmod:77 blocked for more than 60 seconds.
		UBSAN: array-index-out-of-bounds in f.c:7:7
		watchdog: BUG: soft lockup - CPU#0 stuck for 22s!
		refcount_t: underflow; use-after-free.
		list_del corruption. prev->next should be 0, but was 1
		Kernel panic - not syncing: Fatal exception
		Call Trace:
	E
	while read -r line; do
		echo "[    3.14] $line" >"$scratch/log"
		"$top/scripts/vm-log" "$scratch/nothing" "$scratch/log" ||
			{ echo "wrongly noticed: $line"; return 1; }
	done <<-'E'
		fabric_ext: loading out-of-tree module taints kernel.
		debug: warnings are on
		kselftest: Running tests in hooks
	E
}

: >"$scratch/nothing"
run_tests refuses_bad_arguments allow_list_covers_one_report knows_each_complaint \
	passes_output_and_exit_code fails_on_a_warning fails_on_a_panic \
	ends_when_time_is_up leaves_nothing_behind
