/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* An artifact as it arrives, and as it is taken. */
#ifndef FX_DPU_ARTIFACT_H
#define FX_DPU_ARTIFACT_H

#include "lower/dpu_object.h"

/* What was sent, of which nothing is trusted. */
struct fx_dpu_files {
	void *data[FX_DPU_FDS];		/* in the order of the descriptors */
	size_t size[FX_DPU_FDS];
};

/* What was checked; pointers lead into the files. */
struct fx_dpu_image {
	const struct fx_dpu_artifact *a;
	const void *object;
	size_t object_size;
	const struct fx_nic_flow *flow;
	const char (*name)[FX_NAME_LEN];	/* one per flow */
	struct fx_dpu_object o;
};

/**
 * fx_dpu_image_open() - check an artifact
 * @f: its files, which must outlive the image
 * @dpu: our name
 * @img: filled; to fx_dpu_image_close()
 * @why: out: a sentence that names the part, FX_DPU_WHY_LEN bytes
 *
 * Return: 0; -EINVAL when a part is not what it should be; -ENOMEM.
 */
int fx_dpu_image_open(const struct fx_dpu_files *f, const char *dpu, struct fx_dpu_image *img,
		      char *why);
void fx_dpu_image_close(struct fx_dpu_image *img);

#endif /* FX_DPU_ARTIFACT_H */
