/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The SIMT check. On a GPU, 32 lanes execute one instruction at a time. A
 * policy that all lanes of a kernel run must decide alike in all of them: what
 * differs from lane to lane must not decide a branch, select an entry of a
 * shared map or get out of the lane, other than through maps that are per
 * lane. And it ends, after a bounded number of instructions.
 */
#ifndef FX_LOWER_SIMT_H
#define FX_LOWER_SIMT_H

#include "../types.h"

struct fx_bytecode;
struct fx_device_rules;
struct fx_diags;

/* Instructions that a lane executes at most, loops counted. */
#define FX_SIMT_BUDGET	65536

/**
 * fx_simt_check() - check all programs of an object
 * @c: the object
 * @r: helpers and per-lane maps of the device
 * @source: the policy's file, to which diagnostics point
 * @apart: each lane has a move of its own, so that lanes may decide apart; what
 *	   is left is that they end, wait for nobody and call nothing unknown
 * @d: where they go, one for each place a varying value gets to, with its path
 *
 * An abstract interpretation over registers and the stack, loops round by round.
 * Sound for control flow that all lanes share, which it proves: a branch on
 * what varies is an error, so that nothing after it needs to be looked at as
 * if some lanes were elsewhere. Not looked at are races between warps.
 */
void fx_simt_check(const struct fx_bytecode *c, const struct fx_device_rules *r,
		   const char *source, bool apart, struct fx_diags *d);

#endif /* FX_LOWER_SIMT_H */
