#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# perftest between two Soft-RoCE devices on a pair of veths: the bytes of each
# edge are those that perftest reports, also while another queue pair is denied.

# shellcheck source=selftests/scripts/ktap.sh
. "$FX_TOP/selftests/scripts/ktap.sh"

work=$(mktemp -d)
readonly work
readonly LIMIT_S=30	# for a run of perftest that nobody disturbs
readonly DENIED_S=8	# for one that cannot end
readonly TRIES=3	# to foretell a queue pair's number

# One namespace, two addresses: what goes from one to the other takes the wire.
devices()
{
	local n dev setting

	ip link add r0 type veth peer name r1 || return
	echo 0 >/proc/sys/net/ipv4/conf/all/rp_filter
	for n in 0 1; do
		dev=r$n
		ip link set "$dev" mtu 4200 up && ip addr add "10.99.0.$((n + 1))/24" dev "$dev" || return
		for setting in rp_filter=0 accept_local=1 arp_ignore=1; do
			echo "${setting#*=}" >"/proc/sys/net/ipv4/conf/$dev/${setting%=*}"
		done
	done
	for n in 0 1; do
		ip neigh replace "10.99.0.$((2 - n))" nud permanent dev "r$n" \
			lladdr "$(<"/sys/class/net/r$((1 - n))/address")" || return
		rdma link add "rxe$n" type rxe netdev "r$n" || return
	done
}

# perf NAME TEST PORT SECONDS [OPTIONS]: rxe0 writes to rxe1
perf()
{
	local name=$1 test=$2 port=$3 seconds=$4 server code i
	shift 4

	timeout -k 1 "$seconds" "$test" -F -d rxe1 -p "$port" "$@" >"$work/$name.server" 2>&1 &
	server=$!
	for ((i = 0; i < 100; i++)); do
		[[ -n $(ss -Hltn "sport = :$port") ]] && break
		sleep 0.05
	done
	timeout -k 1 "$seconds" "$test" -F -d rxe0 -p "$port" "$@" 10.99.0.2 >"$work/$name.client" 2>&1
	code=$?
	if ((code == 0)); then
		wait $server
		code=$?
	else
		kill "$server" 2>/dev/null
		wait $server
	fi
	return "$code"
}

# qp NAME SIDE: the queue pair that a run had at its end of the wire
qp()
{
	sed -nE 's/^ local address:.* QPN (0x[0-9a-f]+) .*/\1/p' "$work/$1.$2" | head -n1
}

# reported NAME: bytes that the run says it wrote, of size times iterations
reported()
{
	awk '/^ #bytes/ { next_line = 1; next } next_line { print $1 * $2; exit }' "$work/$1.client"
}

# The numbers of queue pairs are given one after the other: those of the next
# run follow those of the last.
foretell()
{
	next_client=$(($(qp "$1" client) + 1))
	next_server=$(($(qp "$1" server) + 1))
}

first_run()
{
	perf run ib_write_bw 18500 $LIMIT_S -s 4096 -n 5 || { cat "$work"/run.*; return 1; }
	foretell run
}

attach()
{
	fabricctl attach --pin bundle >/dev/null
}

tag()
{
	fabricctl tag wire "$@" >/dev/null
}

# What was counted before, that is, before what a test does.
before()
{
	fabricctl stat -j wire >"$work/before"
}

after()
{
	fabricctl stat -j wire >"$work/after"
}

# since DEV EDGE INSTANCE FIELDS...: how much each grew between before and after
since()
{
	jq -rn --slurpfile old "$work/before" --slurpfile new "$work/after" --arg dev "$1" --arg edge "$2" \
		--argjson at "$3" '
		def of($s): [$s[0].nic[] | select(.netdev == $dev) | .edges[] | select(.class == $edge)][$at];
		[$ARGS.positional[] as $f | of($new)[$f] - of($old)[$f]] | join(" ")' --args "${@:4}"
}

malformed()
{
	jq '[.nic[] | .in, .out | .malformed] | add' "$work/after"
}

# exact WAYS TEST OPTIONS...: a run, all of whose bytes are of its edges, and no more
exact()
{
	local ways=$1 bytes i told=
	shift

	for ((i = 0; i < TRIES && !told; i++)); do
		before && tag 'sent[0]' --qp "$next_server" && tag good --qp "$next_server" &&
			tag back --qp "$next_client" || return
		perf run "$1" 18501 $LIMIT_S "${@:2}" || { cat "$work"/run.*; return 1; }
		[[ $(qp run server) -eq $next_server && $(qp run client) -eq $next_client ]] && told=1
		foretell run
	done
	after
	[[ $told ]] || { echo "the numbers of queue pairs cannot be foretold"; return 1; }
	bytes=$(reported run)
	[[ $bytes -gt 0 ]] || { cat "$work/run.client"; return 1; }
	want "sent" "$bytes 0" "$(since r0 sent 0 bytes refused_bytes)" &&
	want "arrived" "$bytes 0" "$(since r1 good 0 bytes refused_bytes)" &&
	want "written back" "$((bytes * (ways - 1))) 0" "$(since r0 back 0 bytes refused_bytes)" &&
	want "malformed" 0 "$(malformed)"
}

single_packets()	{ exact 1 ib_write_bw -s 4096 -n 50; }
long_messages()		{ exact 1 ib_write_bw -s 50000 -n 20; }
short_messages()	{ exact 1 ib_write_bw -s 37 -n 40; }
both_ways()		{ exact 2 ib_write_lat -s 64 -n 40; }

# Two runs at once, one queue pair of which is refused where it arrives.
one_is_denied()
{
	local denied first bytes refused again i n told=

	for ((i = 0; i < TRIES && !told; i++)); do
		first=$next_server
		before && tag 'sent[0]' --qp "$first" && tag bad --qp "$first" &&
			tag 'sent[1]' --qp $((first + 1)) && tag good --qp $((first + 1)) || return
		perf denied ib_write_bw 18502 $DENIED_S -s 4096 -n 50 &
		denied=$!
		for ((n = 0; n < 100; n++)); do
			[[ $(qp denied client) ]] && break
			sleep 0.05
		done
		perf run ib_write_bw 18503 $LIMIT_S -s 4096 -n 80 || { cat "$work"/run.*; return 1; }
		wait $denied && { echo "the run that is denied ends well"; return 1; }
		[[ $(qp denied server) -eq $first && $(qp run server) -eq $((first + 1)) ]] && told=1
		foretell run
	done
	after
	tag bad --none && tag 'sent[1]' --none || return
	[[ $told ]] || { echo "the numbers of queue pairs cannot be foretold"; return 1; }
	bytes=$(reported run)
	want "reported" $((80 * 4096)) "$bytes" &&
	want "the other one sent" "$bytes 0" "$(since r0 sent 1 bytes refused_bytes)" &&
	want "the other one arrived" "$bytes 0" "$(since r1 good 0 bytes refused_bytes)" || return
	# what could not arrive was sent again and again, and counts once
	refused=$(since r1 bad 0 refused)
	want "bytes that were refused" "0 $((refused * 4096))" "$(since r1 bad 0 bytes refused_bytes)" &&
	want "sent of these" "$((refused * 4096)) 0" "$(since r0 sent 0 bytes refused_bytes)" || return
	((refused > 0 && refused <= 50)) || { echo "$refused packets refused"; return 1; }
	again=$(since r1 bad 0 repeated)
	((again > 0)) || { echo "nothing was sent again"; return 1; }
	want "sent again, and arrived again" "$(since r0 sent 0 repeated)" "$again"
}

# The queue pair that was denied is gone: a new one is as good as any.
then_it_works_again()
{
	single_packets
}

if ! modprobe -a veth rdma_rxe; then
	echo "1..0 # SKIP this kernel has no modules veth and rdma_rxe"
	exit 4
fi
run_tests devices first_run attach single_packets long_messages short_messages both_ways one_is_denied then_it_works_again
code=$?
fabricctl detach wire >/dev/null 2>&1
rdma link delete rxe0
rdma link delete rxe1
ip link delete r0
rm -rf "$work"
exit $code
