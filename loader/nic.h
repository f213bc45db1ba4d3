/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A policy on network devices: from the parts of a bundle to pinned links. */
#ifndef FX_NIC_H
#define FX_NIC_H

#include "bundle.h"
#include "pins.h"
#include "session.h"

struct fx_maps;
struct fx_nics;
struct fx_words;

/**
 * fx_nics_load() - load the programs of a bundle's devices, and fill the maps
 * @bundle: opened; borrowed until fx_nics_close()
 * @opt: how
 * @maps: of the graph; borrowed for the call
 * @out: to fx_nics_close(); NULL unless FX_RC_OK is returned
 *
 * Nothing is attached yet. Return: FX_RC_OK; FX_RC_INPUT or FX_RC_SYSTEM after
 * one sentence (per device that is not there).
 */
enum fx_rc fx_nics_load(const struct fx_bundle *bundle,
			const struct fx_session_options *opt, struct fx_maps *maps,
			struct fx_nics **out);

/**
 * fx_nics_attach() - put them on their devices
 * @n: loaded
 * @pins: where they are pinned; without the option `pin` all but the links, which
 *	  end with fx_nics_close()
 *
 * After an error, fx_nics_close() and fx_pins_remove() undo what was done.
 */
enum fx_rc fx_nics_attach(struct fx_nics *n, struct fx_pins *pins);
void fx_nics_close(struct fx_nics *n);

/* Is what is pinned on devices of the bundle's graph? Else after one sentence. */
enum fx_rc fx_nics_check_graph(const struct fx_bundle *b);
/* The same, and of the bundle's policy. */
enum fx_rc fx_nics_check_repair(const struct fx_bundle *b);
/**
 * fx_nics_check_replace() - whether a bundle may replace what is on devices
 * @b: opened
 *
 * It may when it is for the same graph and the same devices.
 */
enum fx_rc fx_nics_check_replace(const struct fx_bundle *b);

/**
 * fx_nics_replace() - put loaded programs in the place of the pinned ones
 * @n: loaded with the option `replace`, so that counters go on
 * @pins: the graph's
 *
 * Each program is swapped between two packets, and all are or none. What
 * follows may fail: then fx_nics_replace_undo(), else fx_nics_replace_done().
 */
enum fx_rc fx_nics_replace(struct fx_nics *n, struct fx_pins *pins);
void fx_nics_replace_undo(struct fx_nics *n, struct fx_pins *pins);
enum fx_rc fx_nics_replace_done(struct fx_nics *n, struct fx_pins *pins);

/**
 * fx_nics_repair() - put programs on devices that lost them
 * @n: loaded with the option `repair`: devices that are well are left out
 * @pins: the graph's
 *
 * Mends what can be. Return: FX_RC_OK when all is well now; else one sentence
 * per device was printed.
 */
enum fx_rc fx_nics_repair(struct fx_nics *n, struct fx_pins *pins);
/* "nic v0" of each that was mended. */
void fx_nics_repaired(const struct fx_nics *n, struct fx_words *names);

/* The policy's name, as the bundle's objects have it. */
const char *fx_nics_policy(const struct fx_nics *n);

/* Has a graph pinned programs on devices? */
bool fx_nics_pinned(const char *graph);

/* Take a graph's pinned programs off their devices; the pins stay. */
enum fx_rc fx_nics_detach(const char *graph, const struct fx_pins *pins);

/* Were all of a graph's pinned programs by-passed? Not when there are none. */
bool fx_nics_bypassed(const char *graph);
/* Let pinned programs pass everything from here on; 0 or -errno. */
int fx_nics_bypass(const char *graph);

/* Is this pinned map of the sizes that this version knows? */
bool fx_map_is(int fd, u32 key, u32 value);
/*
 * The one entry of the map that is pinned at @path: 0; -EPROTO when its value is not
 * @size bytes, as another version's may be; another -errno.
 */
int fx_map_read(const char *path, void *value, u32 size);

#endif /* FX_NIC_H */
