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

u32 fx_nic_queues(void)
{
	int n = libbpf_num_possible_cpus();

	return n < 1 ? 1 : n;
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

enum fx_rc fx_nic_open_queues(struct bpf_object *obj, const char *netdev)
{
	const struct bpf_cpumap_val val = { .qsize = QUEUE_PACKETS };
	int fd = bpf_object__find_map_fd_by_name(obj, "fx_cpus"), err;
	enum fx_rc rc = FX_RC_OK;
	char *online = NULL;
	size_t len;

	if (!bpf_object__find_map_by_name(obj, FX_NIC_QUEUES))
		return FX_RC_OK;
	err = fx_read_file(ONLINE, ONLINE_MAX, &online, &len);
	if (err) {
		fx_err(ONLINE ": %s", strerror(-err));
		return FX_RC_SYSTEM;
	}
	for (u32 cpu = 0; cpu < fx_nic_queues() && rc == FX_RC_OK; cpu++) {
		if (!listed(online, cpu) ||
		    !bpf_map_update_elem(fd, &cpu, &val, BPF_ANY))
			continue;
		fx_err("netdev '%s': the policy redirects to queues, and that of CPU %u cannot be made: %s",
		       netdev, cpu, strerror(errno));
		rc = FX_RC_SYSTEM;
	}
	free(online);
	return rc;
}
