/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A bundle is a directory that `fabricctl compile` writes and `attach` reads:
 *
 *	manifest.sha256		SHA-256 of manifest.json, as sha256sum writes it
 *	manifest.json		format version, names, SHA-256 of each file
 *	edges.bin		struct fx_image_hdr and the five tables
 *	obligations.json	what was proved, is checked at run time, assumed
 *	kernel/policy.bpf.o	the policy for the kernel
 *	nic/NETDEV/policy.bpf.o	the policy for a network device
 *	nic/NETDEV/flows.bin	struct fx_nic_flow of each edge it looks for
 *	dpu/NAME/artifact.bin	struct fx_dpu_artifact, for a DPU
 *	dpu/NAME/policy.bpf.o  flows.bin
 *
 * It has parts for one device or more; devices.c lists the files of each.
 *
 * fx_bundle_open() trusts none of it: sizes, digests, ranges and indices are
 * checked before anything is handed out.
 */
#ifndef FX_BUNDLE_H
#define FX_BUNDLE_H

#include <linux/fabric_ext_dpu.h>

#include "cmd.h"
#include "graph/image.h"
#include "maps.h"
#include "types.h"

#define FX_BUNDLE_FORMAT	1

struct json_object;

/* A file of a device, by its path in the bundle. */
struct fx_part {
	char *path;
	void *data;
	size_t size;
	bool taken;	/* by the device that it is for, as the manifest tells of that */
};

void fx_parts_free(struct fx_part *part, u32 n);

/* The part for one network device. */
struct fx_bundle_nic {
	char netdev[FX_NIC_NAME_LEN];
	u32 place;
	const void *object;		/* nic/NETDEV/policy.bpf.o */
	size_t object_size;
	struct fx_nic_flow *flow;	/* as checked against the graph */
	u32 n_flow;
};

/* The part for one DPU. */
struct fx_bundle_dpu {
	u32 place;
	const struct fx_dpu_artifact *artifact;	/* dpu/NAME/artifact.bin */
	size_t artifact_size;
	const void *object;		/* dpu/NAME/policy.bpf.o */
	size_t object_size;
	const struct fx_nic_flow *flow;	/* as checked against the graph */
	u32 n_flow;
};

struct fx_bundle {
	char *dir;
	struct fx_image image;		/* .hdr->name, .hdr->digest, tables */
	struct fx_part *part;		/* the devices' files, with the right digests */
	u32 n_part;
	const void *object;		/* kernel/policy.bpf.o, or NULL */
	size_t object_size;
	char *ops_map;			/* its map of type fabric_ext_ops */
	u64 ops;			/* bit per op of fx_policy_ops */
	struct fx_bundle_nic *nic;
	u32 n_nic;
	struct fx_map_list maps;	/* with a class, as the manifest lists them */
	struct fx_bundle_dpu *dpu;
	u32 n_dpu;
	struct json_object *manifest;
	struct json_object *obligations;
};

/**
 * fx_bundle_open() - read and check a bundle
 * @dir: the directory
 * @out: filled; close with fx_bundle_close()
 *
 * Return: FX_RC_OK; FX_RC_INPUT when it is no sound bundle, FX_RC_SYSTEM when
 * it cannot be read; both after one sentence through fx_err().
 */
enum fx_rc fx_bundle_open(const char *dir, struct fx_bundle *out);
void fx_bundle_close(struct fx_bundle *b);

/* What fx_bundle_write() puts together. */
struct fx_bundle_parts {
	const void *image;		/* header and tables */
	size_t image_size;
	const struct fx_part *part;	/* the devices' files */
	u32 n_part;
	struct json_object *manifest;	/* borrowed; digests are added */
	struct json_object *obligations;
};

/**
 * fx_bundle_write() - write a bundle, whole or not at all
 * @dir: where; an existing bundle is replaced, anything else is refused
 * @parts: what
 */
enum fx_rc fx_bundle_write(const char *dir, const struct fx_bundle_parts *parts);

#endif /* FX_BUNDLE_H */
