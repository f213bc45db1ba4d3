#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# Committing a CXL region: without the module, without a policy, refused by one
# and in its audit.

# shellcheck source=selftests/cxl_refuse/region.sh
. "$FX_TOP/selftests/cxl_refuse/region.sh"

# What the kernel says to each write, right and wrong ones.
outcomes()
{
	make_without_target 1 || return
	echo "nonsense: $(commit maybe)"
	echo "without a target: $(commit 1)"
	must "$decoder" "$cxl/$region/target0" || return
	echo "undone before it was done: $(commit 0)"
	echo "bound before it: $(bind)"
	echo "done: $(commit 1), $(<"$cxl/$region/commit")"
	echo "done again: $(commit 1)"
	echo "bound: $(bind)"
	states_become "online online" && works || return
	fresh
}

readonly expected="nonsense: Invalid argument
without a target: No such device or address
undone before it was done: stored
bound before it: No such device or address
done: stored, 1
done again: stored
bound: stored"

unmodified_kernel_commits()
{
	fresh && want "outcomes" "$expected" "$(outcomes)"
}

no_policy_changes_nothing()
{
	insmod "$FX_KMOD" || return
	fresh && want "outcomes" "$expected" "$(outcomes)"
}

# not_committed BEFORE: neither the region nor a decoder on its way
not_committed()
{
	want "commit" 0 "$(<"$cxl/$region/commit")" &&
	want "decoders that are committed" 0 "$(committed)" &&
	want "bind" "No such device or address" "$(bind)" &&
	same "$1" "$(state)" "refused"
}

# refused_and_then_not N: a region is not committed, and then the same one is
refused_and_then_not()
{
	local before

	fresh && make "$1" || return
	before=$(state)
	attach bundles/commit &&
	want "commit" "Permission denied" "$(commit 1)" &&
	not_committed "$before" &&
	want "commit again" "Permission denied" "$(commit 1)" &&
	not_committed "$before" &&
	want "asked and refused" "2 2" "$(counts cxl_commit)" &&
	want "event" '["cxl_commit","refused_policy",-13]' "$(event_of commit 1)" &&
	not_committed "$before" &&
	detach &&
	want "commit without the policy" stored "$(commit 1)" &&
	want "committed" 1 "$(<"$cxl/$region/commit")" &&
	want "decoders that are committed" 2 "$(committed)" &&
	want "bind" stored "$(bind)" &&
	states_become "online online" && works &&
	fresh
}

commit_of_a_place_is_refused()
{
	refused_and_then_not 0
}

commit_of_another_region_is_refused()
{
	refused_and_then_not 1
}

# Neither nonsense nor taking a region apart is the policy's business.
other_writes_are_not_asked_about()
{
	fresh && make 1 &&
	want "commit" stored "$(commit 1)" &&
	attach bundles/commit &&
	want "nonsense" "Invalid argument" "$(commit maybe)" &&
	want "decommit" stored "$(commit 0)" &&
	want "commit afterwards" 0 "$(<"$cxl/$region/commit")" &&
	want "asked and refused" "0 0" "$(counts cxl_commit)" &&
	want "commit" "Permission denied" "$(commit 1)" &&
	fresh
}

# The cxl tool takes its region back and can make it later.
cxl_create_region_is_refused_at_its_commit()
{
	local out

	fresh && attach bundles/commit || return
	out=$(cxl create-region -d decoder0.1 -t ram -m mem1 2>&1) &&
		{ echo "not refused: $out"; return 1; }
	[[ $out == *"failed to commit decode: Permission denied"* ]] || { echo "$out"; return 1; }
	want "regions to be made and to be committed" "1 0, 1 1" \
		"$(counts cxl_create), $(counts cxl_commit)" &&
	want "regions left" "" "$(compgen -G "$cxl/region[0-9]*")" &&
	want "decoders that are committed" 0 "$(committed)" &&
	detach >/dev/null || return
	out=$(cxl create-region -d decoder0.1 -t ram -m mem1 2>&1) || { echo "$out"; return 1; }
	region=$(basename "$(echo $cxl/region[0-9]*)") node=2
	want "committed" 1 "$(<"$cxl/$region/commit")" &&
	states_become "online online" && works &&
	fresh
}

audit_records_and_commits()
{
	fresh && make 1 && attach --audit bundles/commit &&
	want "commit" stored "$(commit 1)" &&
	want "committed" 1 "$(<"$cxl/$region/commit")" &&
	want "decoders that are committed" 2 "$(committed)" &&
	want "asked and refused" "1 1" "$(counts cxl_commit)" &&
	want "event" '["cxl_commit","audit_refused",-13]' "$(event_of commit 1)" &&
	want "bind" stored "$(bind)" &&
	states_become "online online" && works &&
	fresh
}

begin
run_tests unmodified_kernel_commits no_policy_changes_nothing \
	commit_of_a_place_is_refused commit_of_another_region_is_refused \
	other_writes_are_not_asked_about cxl_create_region_is_refused_at_its_commit \
	audit_records_and_commits
code=$?
finish
exit $code
