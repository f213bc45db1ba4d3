#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# The standard machine has the devices, file systems and rights that the other
# tests build on, on either kernel.

# shellcheck source=selftests/scripts/ktap.sh
. "$FX_TOP/selftests/scripts/ktap.sh"

pci_of()
{
	basename "$(readlink -f "/sys/class/nvme/$1/device")"
}

has_cxl_devices_in_order()
{
	want "volatile, volatile, persistent" "268435456 0|268435456 0|0 268435456" \
		"$(for i in 0 1 2; do
			printf '%d %d\n' "$(cat /sys/bus/cxl/devices/mem$i/ram/size)" \
				"$(cat /sys/bus/cxl/devices/mem$i/pmem/size)"
		done | paste -sd'|')" &&
	want windows 3 "$(ls -d /sys/bus/cxl/devices/decoder0.* | wc -l)"
}

nodes()
{
	ls -d /sys/devices/system/node/node[0-9]* | wc -l
}

# zone:pages of a node that has pages outside the movable zone.
unmovable_pages()
{
	awk -v node="$1," '$1 == "Node" { here = $2 == node && $4 != "Movable"; zone = $4 }
		here && $1 == "present" && $2 > 0 { print zone ":" $2 }' /proc/zoneinfo
}

# Each window is a memory node of its own, and its memory can go away again.
makes_and_removes_regions()
{
	local i bad=0

	for i in 0 1; do
		cxl create-region -t ram -d "decoder0.$i" -m "mem$i" || return 1
	done
	want "memory nodes" 3 "$(nodes)" || bad=1
	for i in 1 2; do
		want "pages of node $i" 262144 "$(awk '/MemTotal/ { print $4 }' \
			"/sys/devices/system/node/node$i/meminfo")" || bad=1
		want "unmovable pages of node $i" "" "$(unmovable_pages "$i")" || bad=1
	done
	for i in 0 1; do
		cxl destroy-region -f "region$i" || bad=1
	done
	want "memory nodes afterwards" 1 "$(nodes)" || bad=1
	return $bad
}

has_persistent_memory()
{
	cxl create-region -t pmem -d decoder0.2 -m mem2 &&
	want mode devdax "$(ndctl create-namespace -m devdax | jq -r .mode)" &&
	ndctl destroy-namespace -f all && cxl destroy-region -f region0
}

has_disks_in_order()
{
	want serials "fx-cmb fx-switch fx-root" \
		"$(cat /sys/class/nvme/nvme[012]/serial | xargs)"
}

# Below one switch a peer may write; across root ports it may not.
peers_as_the_bridges_allow()
{
	local provider

	provider=$(pci_of nvme0)
	if ! grep -q '^CONFIG_PCI_P2PDMA=y' "/boot/config-$(uname -r)"; then
		skip "this kernel is built without PCI_P2PDMA"
		return
	fi
	want "same switch, own root port" "moved EINVAL" \
		"$(printf '/dev/nvme%dn1\n' 1 2 | "$FX_TOP/selftests/lib/p2p.py" "$provider" | xargs)"
}

has_dma_buf_parties()
{
	modprobe vgem && [[ -c /dev/dma_heap/system && -c /dev/dri/card0 && -c /dev/udmabuf ]]
}

has_file_systems()
{
	local file_system

	for file_system in "bpf /sys/fs/bpf" "cgroup2 /sys/fs/cgroup" "tracefs /sys/kernel/tracing" \
		"debugfs /sys/kernel/debug" "tmpfs /dev/shm" "devpts /dev/pts"; do
		want "${file_system#* }" "${file_system% *}" \
			"$(findmnt -no FSTYPE "${file_system#* }")" || return 1
	done
	[[ -r /sys/kernel/btf/vmlinux ]]
}

is_the_pinned_kernel()
{
	want release "$("$FX_TOP/scripts/vm" release "$FX_KERNEL")" "$(uname -r)"
}

run_tests is_the_pinned_kernel has_file_systems has_cxl_devices_in_order \
	makes_and_removes_regions has_persistent_memory has_disks_in_order \
	peers_as_the_bridges_allow has_dma_buf_parties
