#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# Policies through fabricctl: what it says of one that is refused, what becomes
# of one whose process dies, how one replaces another.

# shellcheck source=selftests/scripts/ktap.sh
. "$FX_TOP/selftests/scripts/ktap.sh"
cd "$(dirname "$0")" || exit 1

readonly graph=small pins=/sys/fs/bpf/fabric_ext/small

hooked()
{
	grep -c '\[fabric_ext\]' /sys/kernel/tracing/enabled_functions
}

# hooked_becomes N: within 5 s
hooked_becomes()
{
	local i

	for ((i = 0; i < 100; i++)); do
		[[ $(hooked) == "$1" ]] && return 0
		sleep 0.05
	done
	want "hooked functions" "$1" "$(hooked)"
}

shown()
{
	fabricctl show -j $graph | jq -r "$1"
}

# attempts N: so many attaches, and what each returned
attempts()
{
	./attempt "$1"
}

# Each test begins without what another has left.
fresh()
{
	fabricctl detach $graph >/dev/null 2>&1
	[[ ! -e $pins ]] && want "graphs" 0 "$(fabricctl list -j | jq length)"
}

# refused BUNDLE WORDS...: not attached, and the one line says so
refused()
{
	local bundle=$1 said code=0 word

	shift
	fresh && hooked_becomes 0 || return 1
	said=$(fabricctl attach "bundles/$bundle" 2>&1 </dev/null) || code=$?
	want "exit of attach $bundle" 1 $code || return 1
	one_sentence "$said" || return 1
	for word; do
		[[ $said == *"$word"* ]] && continue
		printf 'does not say "%s": %s\n' "$word" "$said"
		return 1
	done
	want "graphs afterwards" 0 "$(fabricctl list -j | jq length)" &&
	want "hooked functions" 0 "$(hooked)"
}

verifier_refuses_a_write_to_an_argument()
{
	# 6.12 passes on what the module says, 7.3 has words of its own
	refused writes_args writes_args.bpf.c: "args->bytes = 0; /* refused here */" \
		write
}

verifier_refuses_a_missing_null_check()
{
	local reason=or_null

	[[ $FX_KERNEL == newest ]] && reason="NULL check"
	refused no_null_check no_null_check.bpf.c: "/* refused here */" "$reason"
}

verifier_refuses_a_decision_that_sleeps()
{
	refused sleeps fx_sleeps admit
}

unknown_kfunc_is_refused()
{
	refused unknown_kfunc fx_bpf_teleport
}

second_attach_is_refused()
{
	local said code=0

	fresh && fabricctl attach --pin bundles/deny >/dev/null || return 1
	said=$(fabricctl attach bundles/answer 2>&1) || code=$?
	want "exit" 1 $code && one_sentence "$said" &&
	want "policy" deny "$(shown .policy)" &&
	want "outcomes" "-13 -13 -13" "$(attempts 3)" &&
	fabricctl detach $graph &&
	want "outcomes afterwards" "0 0 0" "$(attempts 3)"
}

# Root without one of the capabilities, and with all of them but elsewhere.
unprivileged_is_refused()
{
	local cap said code

	fresh || return 1
	for cap in bpf perfmon net_admin; do
		code=0
		said=$(setpriv --bounding-set "-$cap,-sys_admin" --inh-caps "-$cap,-sys_admin" \
			fabricctl attach bundles/deny 2>&1) || code=$?
		want "exit without $cap" 2 $code && one_sentence "$said" || return 1
	done
	code=0
	said=$(unshare --user --map-root-user "$(command -v fabricctl)" attach \
		bundles/deny 2>&1) || code=$?
	want "exit in a user namespace" 2 $code && one_sentence "$said" &&
	want "outcomes" 0 "$(attempts 1)"
}

# Its link closes with it: the policy ends, the hooks leave, the graph is free.
sigkill_ends_the_policy()
{
	local pid i

	fresh || return 1
	fabricctl attach bundles/deny >/dev/null 2>&1 &
	pid=$!
	for ((i = 0; i < 100; i++)); do
		[[ $(attempts 1) == -13 ]] && break
		sleep 0.05
	done
	want "outcome" -13 "$(attempts 1)" || { kill $pid; return 1; }
	kill -KILL $pid
	wait $pid 2>/dev/null
	for ((i = 0; i < 100; i++)); do
		[[ $(attempts 1) == 0 ]] && break
		sleep 0.05
	done
	want "outcome afterwards" 0 "$(attempts 1)" &&
	want "exit kind" unreg "$(shown .exit)" &&
	hooked_becomes 0 &&
	fabricctl attach --pin bundles/deny >/dev/null &&
	want "outcome again" -13 "$(attempts 1)"
}

# Deny replaces deny, again and again, while an attach is tried without end.
replace_under_load()
{
	local i load bad=0

	fresh && fabricctl attach --pin bundles/deny >/dev/null || return 1
	: >/tmp/outcomes
	./attempt forever >/tmp/outcomes &
	load=$!
	for ((i = 0; i < 5; i++)); do
		fabricctl attach --replace bundles/deny >/dev/null || bad=1
	done
	kill -TERM $load
	wait $load
	[[ $bad == 0 ]] &&
	want "outcomes other than refusal" 0 "$(awk '{ print $2 }' /tmp/outcomes)" &&
	[[ $(awk '{ print $1 }' /tmp/outcomes) -gt 50 ]]
}

# The bundle is in force as audit: recorded, not enforced.
audit_is_not_enforced()
{
	fresh && fabricctl attach --pin --audit bundles/deny >/dev/null &&
	want "outcomes" "0 0 0" "$(attempts 3)" &&
	want "refused, on paper" 3 \
		"$(shown '.operations[] | select(.op == "dmabuf_attach") | .refused')"
}

# Every event is received or counted as lost; a reader that comes too late for
# some sees it in the numbers.
events_received_and_lost_are_those_emitted()
{
	local i pid before after received lost total

	fresh && fabricctl attach --pin bundles/deny >/dev/null || return 1
	before=$(shown .events_emitted)
	fabricctl events -j $graph >/tmp/events 2>/tmp/events.sum &
	pid=$!
	for ((i = 0; i < 100; i++)); do
		attempts 1 >/dev/null
		[[ -s /tmp/events ]] && break
		sleep 0.05
	done
	./attempt 6000 >/dev/null
	# what comes after a pause shows what was lost before it
	sleep 0.5
	attempts 1 >/dev/null
	# numbers begin with 0; what it has not read by now it has not received
	for ((i = 0; i < 300; i++)); do
		[[ $(tail -n 1 /tmp/events | jq .seq) -ge $(($(shown .events_emitted) - 1)) ]] && break
		sleep 0.1
	done
	kill -INT $pid
	wait $pid
	after=$(shown .events_emitted)
	received=$(wc -l </tmp/events)
	lost=$(sed -nE 's/.* ([0-9]+) lost.*/\1/p' /tmp/events.sum)
	total=$(head -n 1 /tmp/events | jq .seq)
	echo "$received received, $lost lost; $before to $after, the first was $total"
	[[ $received -gt 0 ]] &&
	want "received and lost" $((after - total)) $((received + lost)) &&
	want "kinds" '["verdict","refused_policy","dmabuf_attach",-13]' \
		"$(jq -c '[.event, .reason, .op, .error]' /tmp/events | sort -u)" &&
	want "asked" "$(shown '.operations[1].asked')" "$(shown '.operations[1].refused')" &&
	want "numbers in order" "" "$(jq .seq /tmp/events | awk 'NR > 1 && $1 <= last; { last = $1 }')"
}

# A process that ends takes its policy along, and --pin keeps it.
pin_outlives_the_command()
{
	fresh && fabricctl attach bundles/deny -- true >/dev/null 2>&1 &&
	want "outcome without --pin" 0 "$(attempts 1)" &&
	fabricctl attach --pin bundles/deny >/dev/null &&
	want "outcome with --pin" -13 "$(attempts 1)" &&
	want "rights of the pins" "600" "$(stat -c %a $pins/link)" &&
	fabricctl detach $graph &&
	want "outcome" 0 "$(attempts 1)" &&
	[[ ! -e $pins ]]
}

# peer: what becomes of a transfer to the memory of a device below the same switch
peer()
{
	echo /dev/nvme1n1 |
		"$FX_TOP/selftests/lib/p2p.py" "$(basename "$(readlink -f /sys/class/nvme/nvme0/device)")"
}

p2p_refusals()
{
	shown '.operations[] | select(.op == "p2p_map") | .refused'
}

# It would go past the host bridge: denied, counted, and in an audit counted only.
host_bridge_only_denies_a_shorter_way()
{
	if ! grep -qw pci_p2pdma_map_type /proc/kallsyms; then
		skip "this kernel is built without PCI_P2PDMA"
		return
	fi
	fresh && want "transfer without a policy" moved "$(peer)" &&
	fabricctl attach --pin bundles/host_bridge >/dev/null &&
	want "transfer" EINVAL "$(peer)" &&
	[[ $(p2p_refusals) -gt 0 ]] &&
	fresh && fabricctl attach --pin --audit bundles/host_bridge >/dev/null &&
	want "transfer in an audit" moved "$(peer)" &&
	[[ $(p2p_refusals) -gt 0 ]]
}

# A function is found by its name: another one of that name could be meant.
hooked_names_are_unique()
{
	local name times n=0 hooks=12 without=0

	# seven of dma-buf, three of CXL, and two of P2P, which stable is built without
	[[ $FX_KERNEL == stable ]] && hooks=10 without=2
	fresh && fabricctl attach --pin bundles/everywhere >/dev/null || return 1
	for name in $(sed -n '/\[fabric_ext\]/s/ .*//p' \
			/sys/kernel/tracing/enabled_functions); do
		n=$((n + 1))
		times=$(awk -v name="$name" '$3 == name && $2 ~ /[tTwW]/ { n++ } END { print n + 0 }' \
			/proc/kallsyms)
		want "functions named $name" 1 "$times" || return 1
	done
	want "operations without a hook" $without "$(shown '.not_hooked | length')" &&
	want "hooked functions" $hooks $n
}

rmmod_is_refused_while_pinned()
{
	local said

	fresh && fabricctl attach --pin bundles/deny >/dev/null || return 1
	said=$(rmmod fabric_ext 2>&1) && return 1
	[[ $said == *"in use"* ]] || { echo "rmmod said: $said"; return 1; }
	fabricctl detach $graph
}

leaves_nothing_and_unloads()
{
	fresh && hooked_becomes 0 || return 1
	for ((i = 0; i < 100; i++)); do
		rmmod fabric_ext 2>/dev/null && break
		sleep 0.05
	done
	[[ ! -e /sys/module/fabric_ext ]] && rmmod fx_exerciser
}

insmod "$FX_TOP/build/kmod-test-$(uname -r)/fx_exerciser.ko" && insmod "$FX_KMOD" || exit 1

run_tests verifier_refuses_a_write_to_an_argument verifier_refuses_a_missing_null_check \
	verifier_refuses_a_decision_that_sleeps unknown_kfunc_is_refused \
	second_attach_is_refused unprivileged_is_refused sigkill_ends_the_policy \
	replace_under_load audit_is_not_enforced \
	events_received_and_lost_are_those_emitted pin_outlives_the_command \
	host_bridge_only_denies_a_shorter_way hooked_names_are_unique \
	rmmod_is_refused_while_pinned leaves_nothing_and_unloads
