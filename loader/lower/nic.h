/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A policy for network devices: one eBPF object, and what each looks for. */
#ifndef FX_LOWER_NIC_H
#define FX_LOWER_NIC_H

#include "../cmd.h"
#include "../devices.h"

/* The programs of an object, by name. */
#define FX_NIC_PROG_IN		"fx_nic_in"	/* XDP */
#define FX_NIC_PROG_MARK	"fx_nic_mark"	/* tcx, ingress */
#define FX_NIC_PROG_OUT		"fx_nic_out"	/* tcx, egress */

/* The section, and so the map, that says what the policy is. */
#define FX_NIC_ABOUT		".rodata.fx_policy"
/* There where the policy redirects to queues. */
#define FX_NIC_QUEUES		".rodata.fx_queues"
/* Whether an edge of the device has sockets to redirect to: a u32. */
#define FX_NIC_SOCKETS		".rodata.fx_sockets"

/* Does an edge with a flow cross a network device? */
bool fx_crosses_nic(const struct fx_graph *g);

/**
 * fx_lower_nic() - compile a policy for the network devices of a graph
 * @in: the graph and the policy
 * @out: filled; release with fx_lowered_free(), also after an error
 *
 * Return: FX_RC_OK, FX_RC_INPUT after a diagnostic, FX_RC_SYSTEM after a
 * sentence.
 */
enum fx_rc fx_lower_nic(const struct fx_lower_in *in, struct fx_lowered *out);

#endif /* FX_LOWER_NIC_H */
