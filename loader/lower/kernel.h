/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A policy for the kernel: one eBPF object with one struct fabric_ext_ops. */
#ifndef FX_LOWER_KERNEL_H
#define FX_LOWER_KERNEL_H

#include "../cmd.h"
#include "../devices.h"
#include "../names.h"

struct fx_kernel_policy {
	char *object;			/* the ELF file's bytes */
	size_t object_size;
	char *ops_map;			/* the variable, which names the map */
	char *graph;			/* its graph field; "" to be filled in */
	u64 ops;			/* bit per op of fx_policy_ops */
	char *prog[FX_POLICY_OPS];	/* which program each is, where it is known */
	bool portable;			/* made by FX_PORTABLE() */
};

/**
 * fx_lower_kernel() - compile a policy and look into the object
 * @in: the graph and the policy
 * @out: filled; release with fx_lowered_free(), also after an error
 *
 * clang's messages go to standard error, with -j also into the diagnostic's
 * notes. Return: FX_RC_OK, FX_RC_INPUT after
 * a diagnostic, FX_RC_SYSTEM after a sentence.
 */
enum fx_rc fx_lower_kernel(const struct fx_lower_in *in, struct fx_lowered *out);

/* Is there anything in the graph that only the kernel module enforces? */
bool fx_crosses_kernel(const struct fx_graph *g);

/*
 * calls.c: what a policy's ops call, by what each may. Return: FX_RC_OK, or
 * FX_RC_INPUT after diagnostics.
 */
enum fx_rc fx_check_calls(const char *source, const struct fx_kernel_policy *p);

/*
 * body.c: the guard of a portable policy before the verifier of the kernel that
 * runs here, which may load programs or not. Return: likewise, or FX_RC_SYSTEM.
 */
enum fx_rc fx_check_body(const struct fx_lower_in *in);

/* object.c: find the ops in an object that was just compiled. */
enum fx_rc fx_inspect_object(const char *source, struct fx_kernel_policy *p);

#endif /* FX_LOWER_KERNEL_H */
