/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The queues of fx_redirect(): CPUs, and the AF_XDP sockets of applications. */
#ifndef FX_NIC_QUEUES_H
#define FX_NIC_QUEUES_H

#include "bundle.h"
#include "cmd.h"
#include "types.h"

struct bpf_object;

/**
 * fx_nic_size_queues() - make room for what an object may redirect to
 * @obj: not loaded
 * @part: its device, of whose flows depends whether there are sockets
 *
 * Return: NULL, or the name of a map that is not as this version knows it.
 */
const char *fx_nic_size_queues(struct bpf_object *obj, const struct fx_bundle_nic *part);

/**
 * fx_nic_open_queues() - make the queues of CPUs that a loaded object asks for
 * @obj: loaded; one whose policy never redirects gets none
 * @part: its device; one whose flows all have sockets gets none either
 *
 * CPUs that are offline get none: nobody would take what lies there.
 *
 * Return: FX_RC_OK, or FX_RC_SYSTEM after one sentence.
 */
enum fx_rc fx_nic_open_queues(struct bpf_object *obj, const struct fx_bundle_nic *part);

#endif /* FX_NIC_QUEUES_H */
