/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A policy for what moves data to a GPU and from it: the functions that copy
 * (bpftime), kernels of the GPU (cuda), and the guard itself as a kernel (ptx).
 */
#ifndef FX_LOWER_GPU_H
#define FX_LOWER_GPU_H

#include "../cmd.h"
#include "../devices.h"

struct fx_bytecode;
struct fx_device_rules;
struct fx_diags;

/* Does an edge cross a GPU with `copies`, as this device sees them? */
bool fx_crosses_bpftime(const struct fx_graph *g);
bool fx_crosses_cuda(const struct fx_graph *g);
bool fx_crosses_ptx(const struct fx_graph *g);

/**
 * fx_lower_bpftime() - compile a policy for the functions that copy
 * fx_lower_cuda() - compile a policy for kernels of a GPU
 * fx_lower_ptx() - compile a policy as a kernel of a GPU
 * @in: the graph and the policy
 * @out: filled; release with fx_lowered_free(), also after an error
 *
 * Return: FX_RC_OK, FX_RC_INPUT after a diagnostic, FX_RC_SYSTEM after a
 * sentence.
 */
enum fx_rc fx_lower_bpftime(const struct fx_lower_in *in, struct fx_lowered *out);
enum fx_rc fx_lower_cuda(const struct fx_lower_in *in, struct fx_lowered *out);
enum fx_rc fx_lower_ptx(const struct fx_lower_in *in, struct fx_lowered *out);

/* How lanes of a GPU run a program. */
enum fx_lanes {
	FX_LANES_NONE,		/* they do not */
	FX_LANES_ALIKE,		/* all of a kernel, on one move */
	FX_LANES_APART,		/* each on a move of its own */
};

/*
 * fx_gpu_compile() - compile a policy with C text before all else
 * @in: the graph and the policy
 * @device: as users name it, for messages
 * @header: the text
 * @target: as fx_clang_for() has it, or NULL for eBPF
 * @object: out: to free()
 * @size: out: how many bytes
 */
enum fx_rc fx_gpu_compile(const struct fx_lower_in *in, const char *device,
			  const char *header, const char *const *target,
			  char **object, size_t *size);

/*
 * fx_gpu_inspect() - is the object one for the device?
 * @prog: a program that it has, when the policy is a portable one
 * @lanes: how lanes of a GPU run it
 * @c: out: its code; release with fx_bytecode_close(), also after an error
 */
enum fx_rc fx_gpu_inspect(const struct fx_lower_in *in, const struct fx_device_rules *r,
			  const char *object, size_t size, const char *prog,
			  enum fx_lanes lanes, struct fx_bytecode *c);

/**
 * fx_gpu_body() - the guard alone as eBPF, checked by the kernel's verifier
 * @in: the graph and the policy
 * @r: the device's rules, by which the body is checked as one that each lane runs
 *     on a move of its own
 *
 * No device around a GPU checks memory as the kernel does, so the body has to
 * pass there; where it may not be loaded, that is told. Return: as
 * fx_lower_cuda().
 */
enum fx_rc fx_gpu_body(const struct fx_lower_in *in, const struct fx_device_rules *r);

/*
 * fx_cuda_verify() - put the programs for CUDA kernels before the kernel's verifier
 * @c: the object's code, without errors of fx_gpu_inspect()
 *
 * Return: FX_RC_OK, also where none may be loaded, which is told; FX_RC_INPUT
 * after a diagnostic.
 */
enum fx_rc fx_cuda_verify(const struct fx_lower_in *in, const struct fx_bytecode *c);

/*
 * Put an object's programs, all of a type, before the kernel's verifier. That it
 * did not get to see them is an error, too, unless this process may not load
 * any, or the kernel has none of the type.
 */
enum fx_rc fx_gpu_verify(const struct fx_lower_in *in, const char *device,
			 const char *object, size_t size, int type);

/**
 * fx_bpftime_json() - the object as `bpftimetool import` takes it
 * @c: its code
 * @g: the graph with the functions
 * @why: out: NULL, or why there is none, for a sentence; to free()
 *
 * Return: the text, to free(), or NULL.
 */
char *fx_bpftime_json(const struct fx_bytecode *c, const struct fx_graph *g, char **why);

#endif /* FX_LOWER_GPU_H */
