#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# fabricctl in front of a running module: who is in force, from when until when,
# and what a user is told.

# shellcheck source=selftests/scripts/ktap.sh
. "$FX_TOP/selftests/scripts/ktap.sh"

here=$(cd "$(dirname "$0")" && pwd -P)
pins=/sys/fs/bpf/fabric_ext/tiny-3%2e1
fabricctl=$FX_TOP/build/bin/fabricctl
readonly here pins fabricctl
EACCES=13

fx()
{
	"$fabricctl" "$@"
}

# try FX-ARGUMENTS: its exit status in rc, standard error in err, output in out.
try()
{
	local file

	file=$(mktemp)
	out=$(fx "$@" 2>"$file")
	rc=$?
	err=$(<"$file")
	rm -f "$file"
}

# field NAME JSON: the first value of a member, without quotes.
field()
{
	sed -nE "s/^ *\"$1\": ?\"?([^\",]*)\"?,?$/\1/p" <<<"$2" | head -n 1
}

import()
{
	local code=0

	"$here/import" "$@" || code=$?
	return $code
}

imports()
{
	local code=0

	import >/dev/null || code=$?
	want "import" "$1" "$code"
}

# Wait up to ten seconds for a command to succeed.
until_true()
{
	local i

	for ((i = 0; i < 100; i++)); do
		"$@" >/dev/null 2>&1 && return 0
		sleep 0.1
	done
	echo "never true: $*"
	return 1
}

attached()
{
	[[ $(field attached "$(fx list -j)") == true ]]
}

no_graph()
{
	want "graphs" "[]" "$(fx list -j | tr -d ' \n')"
}

clean()
{
	no_graph && want "pins" "" "$(ls -d "$pins" 2>/dev/null)" && return
	# the next test is not to fail for the same reason
	# shellcheck disable=SC2046
	kill $(jobs -p) 2>/dev/null
	sleep 1
	fx detach tiny-3.1 2>/dev/null
	return 1
}

# ---- in the foreground

foreground_ends_with_a_signal()
{
	local signal pid code bad=0

	for signal in INT TERM HUP; do
		"$fabricctl" attach "$here/bundles/deny" 2>/dev/null &
		pid=$!
		until_true attached || return 1
		imports $EACCES || bad=1
		# a shell's background command has INT switched off
		if [[ $signal == INT ]]; then
			kill -TERM $pid
		else
			kill -$signal $pid
		fi
		code=0
		wait $pid || code=$?
		want "exit status after $signal" 0 $code || bad=1
		clean || bad=1
		imports 0 || bad=1
	done
	return $bad
}

command_runs_under_the_policy()
{
	local bad=0

	try attach "$here/bundles/deny" -- "$here/import"
	want "exit status is the command's" $EACCES $rc || bad=1
	want "its output" "admitted 0 refused 1" "$out" || bad=1
	try attach "$here/bundles/observe" -- sh -c 'exit 7'
	want "exit status" 7 $rc || bad=1
	try attach "$here/bundles/observe" -- sh -c 'kill -KILL $$'
	want "killed by 9" 137 $rc || bad=1
	try attach "$here/bundles/observe" -- /no/such/program
	want "no such program" 127 $rc || bad=1
	clean || bad=1
	return $bad
}

killed_attach_ends_the_policy()
{
	local bad=0 pid

	"$fabricctl" attach "$here/bundles/deny" 2>/dev/null &
	pid=$!
	until_true attached || return 1
	imports $EACCES || bad=1
	kill -KILL $pid
	wait $pid 2>/dev/null
	until_true imports 0 || bad=1
	want "policy" null "$(field policy "$(fx list -j)")" || bad=1
	# the graph that it left behind is taken over, and goes this time
	try attach "$here/bundles/deny" -- "$here/import"
	want "second attach" $EACCES $rc || bad=1
	clean || bad=1
	return $bad
}

# The policy ends by an operator's word: the command that holds it says why.
bypass_is_told()
{
	local bad=0 file code=0 pid

	file=$(mktemp)
	"$fabricctl" attach "$here/bundles/deny" 2>"$file" &
	pid=$!
	until_true attached || return 1
	imports $EACCES || bad=1
	try bypass tiny-3.1
	want "bypass" 0 $rc || bad=1
	imports 0 || bad=1
	wait $pid || code=$?
	want "exit status" 2 $code || bad=1
	grep -q "policy 'deny' of graph 'tiny-3.1' ended: bypass" "$file" ||
		{ cat "$file"; bad=1; }
	grep -q "told_at_the_end" "$file" || { cat "$file"; bad=1; }
	rm -f "$file"
	clean || bad=1
	return $bad
}

bypass_of_all_and_of_none()
{
	local bad=0

	fx attach "$here/bundles/deny" --pin 2>/dev/null || return 1
	try bypass --all
	want "bypass --all" 0 $rc || bad=1
	imports 0 || bad=1
	want "state" bypass "$(field exit "$(fx list -j)")" || bad=1
	try bypass --all
	want "bypass --all of none in force" 0 $rc || bad=1
	[[ $err == *"no policy was in force"* ]] || { echo "$err"; bad=1; }
	try attach "$here/bundles/deny" --pin
	want "attach over it" 1 $rc || bad=1
	one_sentence "$err" || bad=1
	# another policy may take its place
	try attach "$here/bundles/deny" --replace
	want "replace it" 0 $rc || bad=1
	imports $EACCES || bad=1
	try bypass
	want "of none" 1 $rc || bad=1
	try bypass --all tiny-3.1
	want "of all and one" 1 $rc || bad=1
	try bypass no-such-graph
	want "of a graph that is not there" 1 $rc || bad=1
	one_sentence "$err" || bad=1
	try detach tiny-3.1
	want "detach" 0 $rc || bad=1
	clean || bad=1
	return $bad
}

parameter_keeps_policies_out()
{
	local bad=0 parameter=/sys/module/fabric_ext/parameters/bypass

	echo 1 >$parameter || return 1
	try attach "$here/bundles/deny" --pin
	echo 0 >$parameter || return 1
	want "attach" 2 $rc || bad=1
	one_sentence "$err" || bad=1
	[[ $err == *"echo 0 >$parameter"* ]] || { echo "$err"; bad=1; }
	clean || bad=1
	return $bad
}

# ---- pinned

modes()
{
	find "$pins" -printf '%y%m ' | tr ' ' '\n' | sort -u | paste -sd' ' | sed 's/^ //'
}

pinned_outlives_the_command()
{
	local bad=0

	try attach "$here/bundles/deny" --pin
	want "attach --pin" 0 $rc || bad=1
	imports $EACCES || bad=1
	want "modes of the pins" "d700 f600" "$(modes)" || bad=1
	want "mode of the parent" 700 "$(stat -c %a "${pins%/*}")" || bad=1
	for file in link maps/deny progs/fx_admit progs/fx_dump; do
		[[ -e $pins/$file ]] || { echo "$file is not pinned"; bad=1; }
	done

	try attach "$here/bundles/deny" --pin
	want "second attach" 1 $rc || bad=1
	one_sentence "$err" || bad=1
	[[ $err == *--replace* ]] || { echo "$err"; bad=1; }
	try attach "$here/bundles/deny"
	want "second attach without --pin" 1 $rc || bad=1

	# it holds the module
	rmmod fabric_ext 2>/dev/null && { echo "rmmod was not refused"; bad=1; }
	imports $EACCES || bad=1

	try detach tiny-3.1
	want "detach" 0 $rc || bad=1
	imports 0 || bad=1
	clean || bad=1
	try detach tiny-3.1
	want "detach again" 1 $rc || bad=1
	one_sentence "$err" || bad=1
	return $bad
}

# Words that no graph is called by are no way to one's pins, or to all of them.
names_that_no_graph_has()
{
	local bad=0 name

	fx attach "$here/bundles/deny" --pin 2>/dev/null || return 1
	for name in "" . .. / tiny-3.1/maps tiny-3.1/ "../fabric_ext/tiny-3.1" \
		"$(printf 'x%.0s' {1..64})" "$(printf 'x%.0s' {1..5000})"; do
		for command in detach show bypass; do
			try "$command" "$name"
			want "$command '${name:0:80}'" 1 $rc || { echo "${err:0:200}"; bad=1; }
			one_sentence "$err" || bad=1
		done
	done
	want pins "link maps progs" "$(find "$pins" -mindepth 1 -maxdepth 1 -printf '%f\n' | sort | xargs)" || bad=1
	imports $EACCES || bad=1
	fx detach tiny-3.1 2>/dev/null || bad=1
	clean || bad=1
	return $bad
}

detach_leaves_a_foreground_policy_alone()
{
	local bad=0 pid

	"$fabricctl" attach "$here/bundles/deny" 2>/dev/null &
	pid=$!
	until_true attached || return 1
	try detach tiny-3.1
	want "detach" 1 $rc || bad=1
	one_sentence "$err" || bad=1
	imports $EACCES || bad=1
	try attach "$here/bundles/deny" --replace
	want "replace" 1 $rc || bad=1
	one_sentence "$err" || bad=1
	kill -TERM $pid
	wait $pid || bad=1
	clean || bad=1
	return $bad
}

link_id()
{
	bpftool link show pinned "$pins/link" | sed -n '1s/:.*//p'
}

# Not one import may be admitted while one denying policy follows another.
replace_leaves_no_gap()
{
	local bad=0 file pid i before

	fx attach "$here/bundles/deny" --pin 2>/dev/null || return 1
	before=$(link_id)
	file=$(mktemp)
	import 12 >"$file" &
	pid=$!
	for ((i = 0; i < 10; i++)); do
		try attach "$here/bundles/deny" --replace
		want "replace $i" 0 $rc || { bad=1; echo "$err"; }
	done
	wait $pid
	grep -q '^admitted 0 refused [1-9]' "$file" || { cat "$file"; bad=1; }
	rm -f "$file"
	want "the link stays" "$before" "$(link_id)" || bad=1
	want "nothing is left of the exchange" "link maps progs" \
		"$(find "$pins" -mindepth 1 -maxdepth 1 -printf '%f\n' | sort | paste -sd' ')" || bad=1
	want "pinned map is the new one" "$(bpftool map show pinned "$pins/maps/deny" | sed -n '1s/:.*//p')" \
		"$(bpftool -j link show pinned "$pins/link" | sed -nE 's/.*"map_id":([0-9]+).*/\1/p')" || bad=1

	# only for the same graph
	try attach "$here/bundles/other" --replace
	want "another graph" 1 $rc || bad=1
	one_sentence "$err" || bad=1
	imports $EACCES || bad=1
	# a policy that is refused leaves the one in force alone
	try attach "$here/bundles/unsafe" --replace
	want "a refused policy" 1 $rc || bad=1
	imports $EACCES || bad=1
	want "link after a refusal" "$before" "$(link_id)" || bad=1

	try attach "$here/bundles/observe" --replace
	want "replace by observe" 0 $rc || bad=1
	imports 0 || bad=1
	[[ -e $pins/maps/counts && ! -e $pins/progs/fx_dump ]] || { ls -R "$pins"; bad=1; }
	try detach tiny-3.1
	want "detach" 0 $rc || bad=1
	try attach "$here/bundles/observe" --replace
	want "nothing to replace" 1 $rc || bad=1
	one_sentence "$err" || bad=1
	clean || bad=1
	return $bad
}

audit_refuses_nothing()
{
	local bad=0 file pid

	file=$(mktemp)
	fx attach "$here/bundles/deny" --pin --audit 2>/dev/null || return 1
	"$fabricctl" events tiny-3.1 -j --count 1 --timeout 20s >"$file" 2>/dev/null &
	pid=$!
	sleep 1
	imports 0 || bad=1
	want "state" true "$(field audit "$(fx list -j)")" || bad=1
	wait $pid || bad=1
	grep -q '"reason": *"audit_refused"' "$file" || { cat "$file"; bad=1; }
	rm -f "$file"
	try attach "$here/bundles/deny" --replace
	want "enforce" 0 $rc || bad=1
	want "state" false "$(field audit "$(fx list -j)")" || bad=1
	imports $EACCES || bad=1
	fx detach tiny-3.1 2>/dev/null || bad=1
	clean || bad=1
	return $bad
}

two_attach_at_once()
{
	local bad=0 i one two codes

	for ((i = 0; i < 3; i++)); do
		one=0 two=0
		"$fabricctl" attach "$here/bundles/deny" --pin 2>/dev/null &
		fx attach "$here/bundles/observe" --pin 2>/dev/null || two=$?
		wait $! || one=$?
		codes=$(printf '%d\n' $one $two | sort | paste -sd' ')
		want "one of two" "0 1" "$codes" || bad=1
		attached || bad=1
		fx detach tiny-3.1 2>/dev/null || bad=1
		clean || return 1
	done
	return $bad
}

# ---- what is refused, and how

verifier_refusal_names_the_line()
{
	local bad=0 line

	line=$(grep -n 'the line that is reported' "$here/policies/unsafe.bpf.c" | cut -d: -f1)
	try attach "$here/bundles/unsafe"
	want "exit status" 1 $rc || bad=1
	one_sentence "$err" || bad=1
	# newer verifiers tell the column too
	[[ $err == *"unsafe.bpf.c:$line:"*" the kernel's verifier refuses 'fx_admit'"* ]] ||
		{ echo "$err"; bad=1; }
	clean || bad=1
	try attach -v "$here/bundles/unsafe"
	[[ $err == *"processed "*" insns"* ]] || { echo "-v prints no log"; bad=1; }
	try attach "$here/bundles/unsafe" --pin
	want "with --pin" 1 $rc || bad=1
	clean || bad=1
	return $bad
}

other_refusals_are_one_sentence()
{
	local bad=0

	try attach "$here/bundles/stranger"
	want "unknown kfunc" 1 $rc || bad=1
	one_sentence "$err" || bad=1
	[[ $err == *"policy 'stranger' calls fx_bpf_no_such_thing(), which neither"* ]] || { echo "$err"; bad=1; }
	clean || bad=1
	try attach "$here/bundles/misspelt"
	want "misspelt kfunc" 1 $rc || bad=1
	[[ $err == *"did you mean fx_bpf_class()?" ]] || { echo "$err"; bad=1; }
	clean || bad=1
	try attach "$here/bundles/patient" --pin
	want "a timeout of an hour" 1 $rc || bad=1
	[[ $err == *"timeout_ms is 3600000, and 30000 is the most" ]] || { echo "$err"; bad=1; }
	one_sentence "$err" || bad=1
	clean || bad=1
	try attach /no/such/bundle
	[[ $rc -ne 0 ]] || bad=1
	one_sentence "$err" || bad=1
	return $bad
}

absent_places_are_listed()
{
	local bad=0

	try attach "$here/bundles/absent"
	want "exit status" 1 $rc || bad=1
	want "sentences" 2 "$(wc -l <<<"$err")" || bad=1
	[[ $err == *"place 'gpu0' matches driver 'no_such_driver'"*"this system has: "*vgem* ||
	   $err == *"place 'gpu0' matches driver 'no_such_driver'"*" more "* ]] || { echo "$err"; bad=1; }
	[[ $err == *"place 'cxl7' matches region 'region7'"* ]] || { echo "$err"; bad=1; }
	no_graph || bad=1
	return $bad
}

another_graph_of_that_name()
{
	local bad=0 pid

	"$fabricctl" attach "$here/bundles/observe" 2>/dev/null &
	pid=$!
	until_true attached || return 1
	kill -KILL $pid
	wait $pid 2>/dev/null
	until_true test "$(field policy "$(fx list -j)")" == null
	try attach "$here/bundles/other"
	want "another graph under the name" 1 $rc || bad=1
	one_sentence "$err" || bad=1
	try detach tiny-3.1
	want "detach a graph without policy" 0 $rc || bad=1
	clean || bad=1
	return $bad
}

# shellcheck disable=SC2317
unprivileged()
{
	setpriv --reuid 65534 --regid 65534 --clear-groups "$fabricctl" "$@"
}

needs_privileges()
{
	local bad=0 command

	for command in "attach $here/bundles/deny" list "show x" "stat x" events \
		"bypass --all" "detach x"; do
		# shellcheck disable=SC2086
		err=$(unprivileged $command 2>&1) && { echo "$command went through"; bad=1; }
		one_sentence "$err" || { echo "$command"; bad=1; }
		[[ $err == *CAP_* ]] || { echo "$command: $err"; bad=1; }
	done
	# one of the three is not enough
	err=$(setpriv --bounding-set -perfmon --inh-caps -perfmon \
		"$fabricctl" attach "$here/bundles/deny" 2>&1) &&
		{ echo "attached without CAP_PERFMON"; bad=1; }
	[[ $err == *CAP_PERFMON* ]] || { echo "$err"; bad=1; }
	clean || bad=1
	return $bad
}

needs_bpffs_for_pins_only()
{
	local bad=0

	err=$(unshare -m sh -c "umount /sys/fs/bpf; exec '$fabricctl' attach '$here/bundles/deny' --pin" 2>&1)
	want "exit status" 2 $? || bad=1
	one_sentence "$err" || bad=1
	[[ $err == *"mount -t bpf"* ]] || { echo "$err"; bad=1; }
	unshare -m sh -c "umount /sys/fs/bpf; exec '$fabricctl' attach '$here/bundles/deny' -- '$here/import'" >/dev/null 2>&1
	want "without --pin" $EACCES $? || bad=1
	clean || bad=1
	return $bad
}

others_cannot_take_the_pins()
{
	local bad=0

	rmdir "${pins%/*}" 2>/dev/null
	mkdir -m 777 "${pins%/*}" || return 1
	chmod 777 "${pins%/*}"
	try attach "$here/bundles/deny" --pin
	want "directory of all" 2 $rc || bad=1
	one_sentence "$err" || bad=1
	chmod 700 "${pins%/*}"
	chown 65534 "${pins%/*}"
	try attach "$here/bundles/deny" --pin
	want "directory of another" 2 $rc || bad=1
	# nor is anything removed there
	mkdir "$pins" && ln -s "$here" "$pins/maps"
	try detach tiny-3.1
	want "detach in it" 2 $rc || bad=1
	one_sentence "$err" || bad=1
	rm -f "$pins/maps"
	rmdir "$pins"
	chown 0 "${pins%/*}"
	clean || bad=1
	return $bad
}

# ---- what is shown

shows_what_is_loaded()
{
	local bad=0 shown

	fx attach "$here/bundles/deny" --pin 2>/dev/null || return 1
	import >/dev/null
	shown=$(fx show tiny-3.1 -j --edges)
	want places "gpu0 host cxl0" "$(sed -nE 's/^ *"place": "(.*)",$/\1/p' <<<"$shown" | paste -sd' ')" || bad=1
	want "kernel's node" 0 "$(field node "$shown")" || bad=1
	want edges 4 "$(grep -c '"alias_at"' <<<"$shown")" || bad=1
	want refused 1 "$(fx stat tiny-3.1 -j | grep -A2 '"dmabuf_attach"' | sed -nE 's/.*"refused": ([0-9]+),/\1/p')" || bad=1
	want "named edges" 4 "$(jq '[.edges[] | select(.edge_name | test("\\["))] | length' <<<"$shown")" || bad=1
	want "operations without --all" dmabuf_attach \
		"$(fx stat tiny-3.1 | sed '1,/^OPERATION/d' | awk '/^[a-z]/ { print $1 }' | paste -sd' ')" || bad=1
	want "operations with it" 14 "$(fx stat tiny-3.1 --all | sed '1,/^OPERATION/d' | grep -c '^[a-z]')" || bad=1
	fx show tiny-3.1 | grep -q '^gpu0 .* driver vgem' || { fx show tiny-3.1; bad=1; }
	fx list | grep -q '^tiny-3.1 .* deny .* attached$' || { fx list; bad=1; }
	want "reports" 2 "$(fx stat tiny-3.1 -j -i 50ms -n 2 | wc -l)" || bad=1
	for command in "show no" "stat no" "events no --timeout 1s"; do
		# shellcheck disable=SC2086
		try $command
		want "$command" 1 $rc || bad=1
		one_sentence "$err" || bad=1
	done
	fx detach tiny-3.1 2>/dev/null || bad=1
	return $bad
}

# received + lost = emitted, with lost 0
events_are_complete()
{
	local bad=0 file pid i emitted

	file=$(mktemp)
	fx attach "$here/bundles/deny" --pin 2>/dev/null || return 1
	emitted=$(field events_emitted "$(fx list -j)")
	"$fabricctl" events tiny-3.1 -j --timeout 60s >"$file" 2>"$file.err" &
	pid=$!
	sleep 1
	for ((i = 0; i < 20; i++)); do
		import >/dev/null
	done
	sleep 1
	emitted=$(($(field events_emitted "$(fx list -j)") - emitted))
	kill -TERM $pid
	wait $pid
	want "exit status" 0 $? || bad=1
	want received "$emitted" "$(wc -l <"$file")" || bad=1
	want totals "events: $emitted received, 0 lost" "$(<"$file.err")" || bad=1
	want refusals 20 "$(grep -c '"refused_policy"' "$file")" || bad=1
	want "refusals of no class" 0 "$(jq -c 'select(.edge != null and .class == null)' "$file" | wc -l)" || bad=1
	fx detach tiny-3.1 2>/dev/null || bad=1
	rm -f "$file" "$file.err"
	return $bad
}

doctor_is_content()
{
	local bad=0

	try doctor -j
	want "exit status" 0 $rc || { echo "$out"; bad=1; }
	want "ok" true "$(field ok "$out")" || bad=1
	grep -q '"missing"' <<<"$out" && { echo "$out"; bad=1; }
	return $bad
}

# Without its BTF the module loads, with nothing for policies in it.
module_without_btf()
{
	local bad=0 file

	rmmod fabric_ext || return 1
	file=$(mktemp -d)/fabric_ext.ko
	objcopy --remove-section .BTF --remove-section .BTF.base --remove-section .BTF_ids \
		"$FX_KMOD" "$file"
	if insmod "$file" 2>/dev/null; then
		try doctor
		want "doctor" 1 $rc || bad=1
		[[ $out == *"missing  module_btf"* ]] || { echo "$out"; bad=1; }
		try attach "$here/bundles/deny"
		[[ $rc -ne 0 ]] || { echo "attached"; bad=1; }
		one_sentence "$err" || bad=1
		[[ $err == *BTF* ]] || { echo "$err"; bad=1; }
		rmmod fabric_ext || bad=1
	fi
	try list
	want "without the module" 2 $rc || bad=1
	one_sentence "$err" || bad=1
	insmod "$FX_KMOD" || bad=1
	rm -rf "${file%/*}"
	return $bad
}

# The kernel's own client reads the family by nothing but our specification.
ynl()
{
	local ynl=/usr/src/linux-source-6.12/tools/net/ynl bad=0 got

	[[ -e $ynl/cli.py ]] || { skip "no tools/net/ynl in /usr/src/linux-source-6.12"; return; }
	fx attach "$here/bundles/deny" --pin 2>/dev/null || return 1
	spec()
	{
		python3 -B $ynl/cli.py --no-schema \
			--spec "$FX_TOP/Documentation/netlink/specs/fabric_ext.yaml" "$@" 2>&1
	}
	got=$(spec --dump graph-get)
	[[ $got == *"'name': 'tiny-3.1'"* && $got == *"'policy': 'deny'"* ]] ||
		{ echo "$got"; bad=1; }
	got=$(spec --do graph-get --json '{"name": "tiny-3.1"}')
	[[ $got == *"'edge': 4"* ]] || { echo "$got"; bad=1; }
	got=$(spec --dump place-get --json '{"name": "tiny-3.1"}')
	[[ $got == *"'index': 2"* && $got == *"'capacity': 67108864"* ]] || { echo "$got"; bad=1; }
	got=$(spec --dump counter-get --json '{"name": "tiny-3.1"}')
	want "ops" 14 "$(grep -o "'index'" <<<"$got" | wc -l)" || bad=1
	got=$(spec --do graph-get --json '{"name": "nobody"}')
	[[ $got == *"no graph of this name is loaded"* ]] || { echo "$got"; bad=1; }
	spec --do bypass --json '{"name": "tiny-3.1"}' >/dev/null || bad=1
	imports 0 || bad=1
	fx detach tiny-3.1 2>/dev/null || bad=1
	return $bad
}

attach_many_times()
{
	local i bad=0 slab

	slab=$(awk '/^VmallocUsed/ { print $2 }' /proc/meminfo)
	for ((i = 0; i < 20; i++)); do
		fx attach "$here/bundles/deny" -- true 2>/dev/null || bad=1
	done
	clean || bad=1
	slab=$(($(awk '/^VmallocUsed/ { print $2 }' /proc/meminfo) - slab))
	[[ $slab -lt 2048 ]] || { echo "$slab KiB of vmalloc stay"; bad=1; }
	return $bad
}

modprobe vgem
loaded=
[[ -e /sys/module/fabric_ext ]] || { insmod "$FX_KMOD" && loaded=1; }

run_tests foreground_ends_with_a_signal command_runs_under_the_policy \
	killed_attach_ends_the_policy bypass_is_told bypass_of_all_and_of_none parameter_keeps_policies_out \
	pinned_outlives_the_command names_that_no_graph_has \
	detach_leaves_a_foreground_policy_alone \
	replace_leaves_no_gap audit_refuses_nothing two_attach_at_once \
	verifier_refusal_names_the_line other_refusals_are_one_sentence \
	absent_places_are_listed another_graph_of_that_name needs_privileges \
	needs_bpffs_for_pins_only others_cannot_take_the_pins shows_what_is_loaded \
	events_are_complete doctor_is_content module_without_btf ynl attach_many_times
code=$?
[[ -z $loaded ]] || rmmod fabric_ext
exit $code
