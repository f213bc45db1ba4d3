#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# Peer-to-peer DMA under a policy: how a mapping is typed and who maps peer
# memory. The provider is the NVMe device with a CMB, the client another one
# behind the same switch.

# shellcheck source=selftests/devices/devices.sh
. "$FX_TOP/selftests/devices/devices.sh"

ask()
{
	local answer

	echo "$1" >&"${peer[1]}"
	read -r -t 20 answer <&"${peer[0]}"
	echo "$answer"
}

have_p2p()
{
	[[ $cmb ]] && return
	skip "kernel $(uname -r) has no PCI_P2PDMA"
}

works_without_a_policy()
{
	have_p2p || return
	want "transfer" moved "$(ask "$disk")" && want "mapping" mapped "$(ask map)"
}

strangers_are_refused()
{
	have_p2p || return
	fabricctl attach --pin "$work/bundle.far" >/dev/null || return
	want "transfer" EINVAL "$(ask "$disk")" &&
	want "mapping" EPERM "$(ask map)" &&
	want "p2p_map refusals counted" true \
		"$(fabricctl stat -j far | jq '[.operations[] | select(.op == "p2p_map")][0].refused > 0')"
}

works_again_without_it()
{
	have_p2p || return
	fabricctl detach far >/dev/null || return
	want "transfer" moved "$(ask "$disk")" && want "mapping" mapped "$(ask map)"
}

start
cmb=$(for d in /sys/bus/pci/devices/*; do [[ -d $d/p2pmem ]] && basename "$d"; done | head -n1)
if [[ $cmb ]]; then
	disk=/dev/nvme1n1
	coproc peer { exec "$FX_TOP/selftests/lib/p2p.py" "$cmb"; }
fi
run_tests works_without_a_policy strangers_are_refused works_again_without_it
code=$?
if [[ $cmb ]]; then
	eval "exec ${peer[1]}>&-"
	# shellcheck disable=SC2154 # coproc sets it
	wait "$peer_PID"
fi
finish
exit $code
