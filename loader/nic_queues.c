// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "diag.h"
#include "lower/nic.h"
#include "nic_queues.h"
#include "util.h"

#define ONLINE		"/sys/devices/system/cpu/online"
#define ONLINE_MAX	(64 << 10)
#define QUEUE_PACKETS	2048	/* that wait for a CPU; what is more is dropped */

/* How many CPUs there can be, at least one. */
static u32 cpus(void)
{
	int n = libbpf_num_possible_cpus();

	return n < 1 ? 1 : n;
}

/* Does an edge that the device receives go to queues of this kind? */
static bool has_kind(const struct fx_bundle_nic *part, u8 kind)
{
	for (u32 i = 0; i < part->n_flow; i++)
		if (part->flow[i].dir == FX_DIR_IN && part->flow[i].redirect == kind)
			return true;
	return false;
}

/* Its keys and values are numbers. */
static struct bpf_map *find(struct bpf_object *obj, const char *name, u32 value)
{
	struct bpf_map *m = bpf_object__find_map_by_name(obj, name);

	return m && bpf_map__key_size(m) == sizeof(u32) && bpf_map__value_size(m) == value ?
	       m : NULL;
}

const char *fx_nic_size_queues(struct bpf_object *obj, const struct fx_bundle_nic *part)
{
	const u32 has = has_kind(part, FX_QUEUE_AF_XDP);
	struct bpf_map *m = find(obj, "fx_cpus", sizeof(struct bpf_cpumap_val));

	if (!m || bpf_map__set_max_entries(m, cpus()))
		return "fx_cpus";
	m = find(obj, "fx_sockets", sizeof(u32));
	if (!m || bpf_map__set_autocreate(m, has) ||
	    bpf_map__set_max_entries(m, FX_NIC_SLOTS * FX_NIC_RX_QUEUES))
		return "fx_sockets";
	/* without it the kernel leaves out what would use the map */
	m = bpf_object__find_map_by_name(obj, FX_NIC_SOCKETS);
	return !m || bpf_map__set_initial_value(m, &has, sizeof(has)) ? FX_NIC_SOCKETS : NULL;
}

/* Is @cpu in a list such as 0-3,6? */
static bool listed(const char *list, u32 cpu)
{
	while (*list) {
		char *end;
		unsigned long first = strtoul(list, &end, 10), last = first;

		if (end == list)
			return false;
		if (*end == '-')
			last = strtoul(end + 1, &end, 10);
		if (cpu >= first && cpu <= last)
			return true;
		list = *end == ',' ? end + 1 : "";
	}
	return false;
}

enum fx_rc fx_nic_open_queues(struct bpf_object *obj, const struct fx_bundle_nic *part)
{
	const struct bpf_cpumap_val val = { .qsize = QUEUE_PACKETS };
	int fd = bpf_object__find_map_fd_by_name(obj, "fx_cpus"), err;
	enum fx_rc rc = FX_RC_OK;
	char *online = NULL;
	size_t len;

	if (!bpf_object__find_map_by_name(obj, FX_NIC_QUEUES) || !has_kind(part, FX_QUEUE_CPU))
		return FX_RC_OK;
	err = fx_read_file(ONLINE, ONLINE_MAX, &online, &len);
	if (err) {
		fx_err(ONLINE ": %s", strerror(-err));
		return FX_RC_SYSTEM;
	}
	for (u32 cpu = 0; cpu < cpus() && rc == FX_RC_OK; cpu++) {
		if (!listed(online, cpu) ||
		    !bpf_map_update_elem(fd, &cpu, &val, BPF_ANY))
			continue;
		fx_err("netdev '%s': the policy redirects to queues, and that of CPU %u cannot be made: %s",
		       part->netdev, cpu, strerror(errno));
		rc = FX_RC_SYSTEM;
	}
	free(online);
	return rc;
}
