/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What bpftime takes, by its published sources and documentation
 * (github.com/eunomia-bpf/bpftime: runtime/src/bpf_helper.cpp, the device
 * functions of attach/nv_attach_impl/trampoline/, the page "available
 * features"): helpers and map types, on the CPU and in CUDA kernels.
 */
#ifndef FX_LOWER_GPU_RULES_H
#define FX_LOWER_GPU_RULES_H

#include "../types.h"

/* Map types of bpftime that live in the memory of a GPU. */
#define FX_BPFTIME_GPU_HASH		1501	/* one copy for all lanes, on the host */
#define FX_BPFTIME_GPU_PER_LANE_ARRAY	1502	/* one copy for each */
#define FX_BPFTIME_GPU_ARRAY		1503	/* one copy for all */
#define FX_BPFTIME_GPU_KERNEL_ARRAY	1504	/* the same, shared with the kernel */
#define FX_BPFTIME_GPU_RINGBUF		1527	/* one ring for each */

enum fx_helper_flag {
	FX_H_VARIES	= 1 << 0,	/* what it returns varies by lane */
	FX_H_FILLS	= 1 << 1,	/* fills three __u64 behind r1, r2, r3 */
	FX_H_SLOW	= 1 << 2,	/* a round trip to the host */
	FX_H_EXIT	= 1 << 3,	/* does not return */
	FX_H_RING	= 1 << 4,	/* puts out to GPU_RINGBUF_MAP alone */
};

struct fx_helper_rule {
	u32 id;
	const char *name;
	u32 flags;
	const char *what;	/* of a varying value: what it is */
};

struct fx_map_rule {
	u32 type;
	const char *name;
	bool per_lane;
	bool slow;		/* helpers 1 to 3 go to the host with it */
};

struct fx_device_rules {
	const char *device;		/* as users name it */
	const struct fx_helper_rule *helper;
	u32 n_helper;
	const struct fx_map_rule *map;
	u32 n_map;
	const char *const *glue;	/* maps of ours, up to NULL */
	const char *helpers_help, *maps_help;	/* the nearest that works */
};

extern const struct fx_device_rules fx_bpftime_rules;	/* on the CPU */
extern const struct fx_device_rules fx_cuda_rules;
extern const struct fx_device_rules fx_ptx_rules;	/* not bpftime's: ours */

/* The rule of a helper or of a map's type, or NULL: the device has it not. */
const struct fx_helper_rule *fx_helper_rule(const struct fx_device_rules *r, u32 id);
const struct fx_map_rule *fx_map_rule(const struct fx_device_rules *r, u32 type);

struct fx_bytecode;
struct fx_diags;
struct fx_code_line;
struct fx_pos;

/**
 * fx_check_rules() - which helpers and maps of an object a device has not
 * @c: the object
 * @r: the device's rules
 * @source: the policy's file
 * @d: where errors, and warnings about slow helpers, go
 *
 * Helpers that the device has not are errors of fx_simt_check() where lanes
 * run the object: @lanes.
 */
void fx_check_rules(const struct fx_bytecode *c, const struct fx_device_rules *r,
		    const char *source, bool lanes, struct fx_diags *d);

/* The name of a helper of the kernel, as policies write it, to free(). */
char *fx_helper_name(const struct fx_device_rules *r, u32 id);

/*
 * fx_code_pos() - where a diagnostic about @source points for a line
 * @aside: out: ", in FILE:LINE" when the line is in another file, to free();
 *	   otherwise NULL
 */
struct fx_pos fx_code_pos(const struct fx_code_line *l, const char *source,
			  char **aside);

/*
 * A line that was told already: one body is in many programs. fx_told() keeps
 * it, and says whether it was there.
 */
struct fx_told {
	struct fx_code_place {
		const char *file;
		u32 line, col, what;
	} *place;
	u32 n, cap;
};

bool fx_told(struct fx_told *t, const struct fx_code_line *l, u32 what);

#endif /* FX_LOWER_GPU_RULES_H */
