#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# scripts/devroot, seen from the host: run by the top Makefile before it enters
# the root.  What would make a root does so below a scratch directory, and is
# made to fail before it has fetched anything.

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd -P)
# shellcheck source=selftests/scripts/ktap.sh
. "$top/selftests/scripts/ktap.sh"
devroot=$top/scripts/devroot
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

refuses_in_one_sentence()
{
	local said code=0

	said=$(XDG_CACHE_HOME=$scratch/cache "$@" 2>&1) || code=$?
	said=$(grep -v '^devroot: \[' <<<"$said")
	[[ $code -ne 0 ]] || { echo "exits 0"; return 1; }
	one_sentence "$said" || return 1
	want "left behind" "" "$(find "$scratch/cache" -mindepth 2 ! -name lock 2>/dev/null)"
	refused=$said
}

passes_exit_code_and_directory()
{
	local code=0 said

	said=$(cd "$top/scripts" && "$devroot" run sh -c 'pwd; exit 7') || code=$?
	want "exit code" 7 $code && want "directory" "$top/scripts" "$said"
}

leaves_no_mounts()
{
	local before

	before=$(cat /proc/self/mountinfo)
	"$devroot" run true
	want mounts "$before" "$(cat /proc/self/mountinfo)"
}

cannot_be_changed_from_inside()
{
	[[ $("$devroot" path) != / ]] || { skip "the host is the root itself"; return; }
	! "$devroot" run touch /usr/changed 2>/dev/null &&
	[[ ! -e $("$devroot" path)/usr/changed ]]
}

shows_the_checkout_and_bin()
{
	"$devroot" run sh -c 'case $PATH in "$1"/build/bin:*) ;; *) exit 1 ;; esac
		touch "$1/build/outside-test"' sh "$top" &&
	[[ -e $top/build/outside-test ]] && rm "$top/build/outside-test"
}

# Without a network, without a word; and quick: processor time, in which the
# aim is 200 ms, and a busy machine takes more of that too.
does_nothing_the_second_time()
{
	local TIMEFORMAT='%U %S' used

	want "what it says" "" "$(unshare -n "$devroot" ensure 2>&1)" || return 1
	used=$({ time for _ in 1 2 3 4 5; do "$devroot" run true; done; } 2>&1 |
		awk '{ print int(($1 + $2) * 200) }')
	echo "$used ms of processor time a call"
	[[ $used -lt 1000 ]]
}

asks_for_root()
{
	# The scripts alone, where another user can read them.
	mkdir -p "$scratch/open/scripts"
	cp "$devroot" "$top/scripts/packages.list" "$scratch/open/scripts/"
	chmod -R a+rX "$scratch"
	chmod 755 "$scratch"
	refuses_in_one_sentence setpriv --reuid=65534 --regid=65534 --clear-groups \
		"$scratch/open/scripts/devroot" run true && [[ $refused == *root* ]]
}

needs_space()
{
	# shellcheck disable=SC2016
	refuses_in_one_sentence unshare -m sh -c 'mkdir -p "$XDG_CACHE_HOME" &&
		mount -t tmpfs -o size=16M small "$XDG_CACHE_HOME" && exec "$@"' sh "$devroot" ensure &&
	[[ $refused == *MiB* ]]
}

needs_the_registry()
{
	command -v mmdebstrap >/dev/null || { skip "mmdebstrap is not installed here"; return; }
	refuses_in_one_sentence unshare -n "$devroot" ensure && [[ $refused == *reached* ]]
}

needs_mmdebstrap()
{
	local tool

	mkdir -p "$scratch/bin"
	for tool in bash env dirname sed sort uname sha256sum cut id mkdir df awk findmnt \
		mountpoint flock mktemp rm tail grep head wc basename dpkg-query; do
		ln -sf "$(command -v "$tool")" "$scratch/bin/$tool"
	done
	PATH=$scratch/bin refuses_in_one_sentence "$devroot" ensure && [[ $refused == *mmdebstrap* ]]
}

if [[ $("$devroot" path) == / ]]; then
	tests=(passes_exit_code_and_directory leaves_no_mounts shows_the_checkout_and_bin)
else
	tests=(passes_exit_code_and_directory leaves_no_mounts cannot_be_changed_from_inside
		shows_the_checkout_and_bin does_nothing_the_second_time asks_for_root needs_space
		needs_the_registry needs_mmdebstrap)
fi
run_tests "${tests[@]}"
