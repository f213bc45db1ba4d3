/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The queues of fx_redirect(): CPUs that go on with what a device received. */
#ifndef FX_NIC_QUEUES_H
#define FX_NIC_QUEUES_H

#include "cmd.h"
#include "types.h"

struct bpf_object;

/* How many there can be: one per possible CPU, at least one. */
u32 fx_nic_queues(void);

/**
 * fx_nic_open_queues() - make the queues that a loaded object asks for
 * @obj: loaded; one whose policy never redirects gets none
 * @netdev: its device, for messages
 *
 * CPUs that are offline get none: nobody would take what lies there.
 *
 * Return: FX_RC_OK, or FX_RC_SYSTEM after one sentence.
 */
enum fx_rc fx_nic_open_queues(struct bpf_object *obj, const char *netdev);

#endif /* FX_NIC_QUEUES_H */
