# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# The few lines of KTAP that the shell tests here print.  A test is a function;
# it passes when it returns 0, and what it prints becomes its diagnosis.  It
# skips by `skip REASON`.

skip()
{
	skip_reason=$*
	return 4
}

run_tests()
{
	local number=0 name code failed=0 said

	said=$(mktemp)
	echo "KTAP version 1"
	echo "1..$#"
	for name in "$@"; do
		number=$((number + 1))
		skip_reason=
		code=0
		"$name" >"$said" 2>&1 || code=$?
		case $code in
		0)	echo "ok $number $name" ;;
		4)	echo "ok $number $name # SKIP ${skip_reason:-}" ;;
		*)	sed 's/^/# /' "$said"
			echo "not ok $number $name"
			failed=1 ;;
		esac
	done
	rm -f "$said"
	return $failed
}

# want WHAT EXPECTED GOT: compare, and say what was different.
want()
{
	[[ $2 == "$3" ]] && return 0
	printf '%s: expected "%s", got "%s"\n' "$1" "$2" "$3"
	return 1
}

# one_sentence TEXT: an error is one line, and says more than a code.
one_sentence()
{
	[[ $(wc -l <<<"$1") -eq 1 && $(wc -w <<<"$1") -ge 5 ]] && return 0
	printf 'not one sentence: %s\n' "$1"
	return 1
}
