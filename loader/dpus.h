/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A policy on DPUs: from the parts of a bundle to running fabric-dpus. */
#ifndef FX_DPUS_H
#define FX_DPUS_H

#include "bundle.h"
#include "nic_rows.h"
#include "pins.h"
#include "session.h"

struct fx_dpus;
struct fx_words;

/**
 * fx_dpus_open() - find the DPUs of a bundle, and see that they can take it
 * @bundle: opened; borrowed until fx_dpus_close()
 * @opt: how
 * @out: to fx_dpus_close(); NULL unless FX_RC_OK is returned
 *
 * The kernel verifies the programs once more; nothing is loaded yet. Return:
 * FX_RC_OK; FX_RC_INPUT or FX_RC_SYSTEM after one sentence.
 */
enum fx_rc fx_dpus_open(const struct fx_bundle *bundle,
			const struct fx_session_options *opt, struct fx_dpus **out);

/**
 * fx_dpus_attach() - load the programs into the DPUs
 * @d: opened
 * @pins: where it is written down, or NULL: they end with fx_dpus_close()
 */
enum fx_rc fx_dpus_attach(struct fx_dpus *d, struct fx_pins *pins);
/* From here on they outlive fx_dpus_close() and this process. */
enum fx_rc fx_dpus_keep(struct fx_dpus *d);
void fx_dpus_close(struct fx_dpus *d);

/* Is what is pinned on DPUs the bundle's? Else after one sentence. */
enum fx_rc fx_dpus_check_repair(const struct fx_bundle *b);
/* May a bundle replace it? When it is for the same graph and the same DPUs. */
enum fx_rc fx_dpus_check_replace(const struct fx_bundle *b);

/**
 * fx_dpus_replace() - put the programs in the place of those that are loaded
 * @d: opened with the option `replace`
 *
 * Each is swapped between two bursts of packets, and all are or none; counts
 * go on. fx_dpus_settle() has to follow, with @undo when something else failed;
 * without, it is written down in @pins.
 */
enum fx_rc fx_dpus_replace(struct fx_dpus *d);
enum fx_rc fx_dpus_settle(struct fx_dpus *d, bool undo, struct fx_pins *pins);

/**
 * fx_dpus_repair() - load DPUs that were started anew, or pass everything
 * @d: opened with the option `repair`: those that have the policy and decide
 *     are left out
 * @pins: the graph's
 *
 * Mends what can be. Return: FX_RC_OK when all is well now; else one sentence
 * per DPU was printed.
 */
enum fx_rc fx_dpus_repair(struct fx_dpus *d, struct fx_pins *pins);
/* "dpu NAME" of each that was mended. */
void fx_dpus_repaired(const struct fx_dpus *d, struct fx_words *names);

/* The policy's name, as the artifacts have it. */
const char *fx_dpus_policy(const struct fx_dpus *d);

/* Was a graph attached to DPUs, and pinned? */
bool fx_dpus_pinned(const char *graph);
/* Take it off those that still run. */
enum fx_rc fx_dpus_detach(const char *graph);
/* Let them pass everything from here on; 0 or -errno, after a sentence. */
int fx_dpus_bypass(const char *graph);

/* Add a view for each of a graph's DPUs; 0 or -errno after one sentence. */
int fx_dpu_views_read(const char *graph, struct fx_nic_views *v);

#endif /* FX_DPUS_H */
