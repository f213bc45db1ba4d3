/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A policy for network devices: one eBPF object, and what each looks for. */
#ifndef FX_LOWER_NIC_H
#define FX_LOWER_NIC_H

#include <linux/fabric_ext_nic.h>

#include "../cmd.h"
#include "../types.h"

struct fx_graph;
struct json_object;

/* One device: a place of kind nic that an edge with a flow crosses. */
struct fx_nic_device {
	const char *netdev;		/* the graph's */
	u32 place;
	struct fx_nic_flow *flow;
	u32 n_flow;
};

struct fx_nic_policy_object {
	char *object;			/* the ELF file's bytes, for each device */
	size_t object_size;
	struct fx_nic_policy about;
	struct json_object *classes;	/* {map: class} */
	struct fx_nic_device *device;
	u32 n_device, cap_device;
};

/* The programs of an object, by name. */
#define FX_NIC_PROG_IN		"fx_nic_in"	/* XDP */
#define FX_NIC_PROG_MARK	"fx_nic_mark"	/* tcx, ingress */
#define FX_NIC_PROG_OUT		"fx_nic_out"	/* tcx, egress */

/* The section, and so the map, that says what the policy is. */
#define FX_NIC_ABOUT		".rodata.fx_policy"
/* There where the policy redirects to queues. */
#define FX_NIC_QUEUES		".rodata.fx_queues"

/* Does an edge with a flow cross a network device? */
bool fx_crosses_nic(const struct fx_graph *g);
/* Is there anything in the graph that only the kernel module enforces? */
bool fx_crosses_kernel(const struct fx_graph *g);

/**
 * fx_lower_nic() - compile a policy for the network devices of a graph
 * @g: the graph, which fx_crosses_nic()
 * @source: a C file
 * @include: a directory to search first, or NULL
 * @out: filled; release with fx_nic_policy_free(), also after an error
 *
 * Return: FX_RC_OK, FX_RC_INPUT after a diagnostic, FX_RC_SYSTEM after a
 * sentence.
 */
enum fx_rc fx_lower_nic(const struct fx_graph *g, const char *source,
			const char *include, struct fx_nic_policy_object *out);
void fx_nic_policy_free(struct fx_nic_policy_object *p);

#endif /* FX_LOWER_NIC_H */
