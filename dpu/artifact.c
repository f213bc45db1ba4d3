// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Every check that fabricctl made is made again: the digests say that the
 * parts belong together, and what the manifest says of the object has to be
 * what the object is.
 */
#include <errno.h>
#include <sha256.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "artifact.h"
#include "flow_mask.h"

static int refuse(char *why, const char *part, const char *what)
{
	snprintf(why, FX_DPU_WHY_LEN, "%s: %s; compile the bundle again", part, what);
	return -EINVAL;
}

static bool ends(const char *s, size_t size)
{
	return memchr(s, 0, size);
}

static void digest_of(const void *data, size_t size, u8 digest[FX_DIGEST_LEN])
{
	SHA2_CTX sha;

	SHA256Init(&sha);
	SHA256Update(&sha, data, size);
	SHA256Final(digest, &sha);
}

static bool digest_is(const void *data, size_t size, const u8 want[FX_DIGEST_LEN])
{
	u8 have[FX_DIGEST_LEN];

	digest_of(data, size, have);
	return !memcmp(have, want, sizeof(have));
}

/* ---- the manifest ----------------------------------------------------- */

static const char *header_wrong(const struct fx_dpu_artifact *a, size_t size)
{
	struct fx_dpu_artifact zero;
	u8 digest[FX_DIGEST_LEN];
	SHA2_CTX sha;

	if (size < sizeof(*a) || a->magic != FX_DPU_MAGIC)
		return "this is no artifact";
	if (a->version != FX_DPU_VERSION || a->size != sizeof(*a))
		return "it is of another version";
	if (a->n_maps > FX_DPU_MAX_MAPS || size != sizeof(*a) + a->n_maps * sizeof(struct fx_dpu_map))
		return "it has another size than it says";
	zero = *a;
	memset(zero.digest, 0, sizeof(zero.digest));
	SHA256Init(&sha);
	SHA256Update(&sha, (const void *)&zero, sizeof(zero));
	SHA256Update(&sha, (const void *)(a + 1), size - sizeof(*a));
	SHA256Final(digest, &sha);
	if (memcmp(digest, a->digest, sizeof(digest)))
		return "its digest is not its own";
	return NULL;
}

static const char *fields_wrong(const struct fx_dpu_artifact *a, const char *dpu)
{
	if (a->flags & ~FX_DPU_F_ALL || a->reserved || a->reserved2 || a->malformed > 1)
		return "it asks for what this version does not have";
	if (!ends(a->dpu, sizeof(a->dpu)) || !ends(a->policy, sizeof(a->policy)) ||
	    !ends(a->graph, sizeof(a->graph)) || !ends(a->kernel, sizeof(a->kernel)) ||
	    !*a->graph || !*a->policy)
		return "it has names without an end";
	if (strcmp(a->dpu, dpu))
		return "it is for another DPU";
	if (!(a->flags & FX_DPU_F_VERIFIED))
		return "the kernel's verifier has not seen the program, as it was compiled without the privilege";
	if (a->insns > FX_DPU_MAX_INSNS || a->stack > FX_DPU_MAX_STACK)
		return "the program exceeds its budget";
	if (a->place >= FX_MAX_PLACES)
		return "it is for no place of a graph";
	return NULL;
}

/* ---- the object ------------------------------------------------------- */

static int check_object(struct fx_dpu_image *img, char *why)
{
	const struct fx_dpu_map *map = (const void *)(img->a + 1);
	const struct fx_dpu_artifact *a = img->a;
	const struct fx_dpu_object *o = &img->o;
	char text[sizeof(o->fault[0].what) + 32];

	if (img->object_size != a->object_size ||
	    !digest_is(img->object, img->object_size, a->object))
		return refuse(why, "policy.bpf.o", "it is not the object that the artifact names");
	if (fx_dpu_object_read(img->object, img->object_size, &img->o))
		return -ENOMEM;
	if (o->n_fault) {
		snprintf(text, sizeof(text), "the program %s", o->fault[0].what);
		return refuse(why, "policy.bpf.o", text);
	}
	if (o->n_insn != a->insns || o->stack != a->stack || o->helpers != a->helpers ||
	    strcmp(o->about.name, a->policy) || o->about.malformed != a->malformed)
		return refuse(why, "artifact.bin", "it says otherwise of the program than the object");
	if (o->n_map != a->n_maps || memcmp(o->map, map, a->n_maps * sizeof(*map)))
		return refuse(why, "artifact.bin", "it says otherwise of the maps than the object");
	return 0;
}

/* ---- flows ------------------------------------------------------------ */

static const char *flow_wrong(const struct fx_nic_flow *f, const struct fx_dpu_artifact *a)
{
	static const u8 none[sizeof(f->reserved)];

	if (f->edge >= a->count[FX_SECT_EDGE] || f->cls >= a->count[FX_SECT_CLASS] ||
	    (f->dir != FX_DIR_IN && f->dir != FX_DIR_OUT) || f->priority > 7)
		return "a flow is of no edge of the graph";
	if (!fx_flow_mask_ok(f))
		return "a flow has a mask that cannot be";
	if (f->redirect || memcmp(f->reserved, none, sizeof(none)))
		return "a flow has a redirect, and a DPU has no queues for it";
	if (f->mask.qp && (f->mask.qp != ~0U || f->key.qp > FX_QP_MAX ||
			   (f->key.qp && f->key.qp < FX_QP_MIN)))
		return "a flow has a queue pair that cannot be";
	return NULL;
}

static int check_flows(struct fx_dpu_image *img, const struct fx_dpu_files *f, char *why)
{
	const struct fx_dpu_artifact *a = img->a;
	const size_t size = f->size[FX_DPU_FD_FLOWS];
	const char *wrong = NULL;

	if (!a->n_flows || a->n_flows > FX_NIC_MAX_FLOWS ||
	    size != a->n_flows * sizeof(*img->flow) || !digest_is(img->flow, size, a->flows))
		return refuse(why, "flows.bin", "these are not the flows that the artifact names");
	for (u32 i = 0; i < a->n_flows && !wrong; i++)
		wrong = flow_wrong(&img->flow[i], a);
	if (wrong)
		return refuse(why, "flows.bin", wrong);
	if (f->size[FX_DPU_FD_NAMES] != (size_t)a->n_flows * FX_NAME_LEN)
		return refuse(why, "names", "there is not one for each flow");
	for (u32 i = 0; i < a->n_flows; i++)
		if (!ends(img->name[i], FX_NAME_LEN))
			return refuse(why, "names", "one of them has no end");
	return 0;
}

int fx_dpu_image_open(const struct fx_dpu_files *f, const char *dpu, struct fx_dpu_image *img,
		      char *why)
{
	const char *wrong;
	int err;

	*img = (struct fx_dpu_image){
		.a = f->data[FX_DPU_FD_ARTIFACT],
		.object = f->data[FX_DPU_FD_OBJECT],
		.object_size = f->size[FX_DPU_FD_OBJECT],
		.flow = f->data[FX_DPU_FD_FLOWS],
		.name = f->data[FX_DPU_FD_NAMES],
	};
	wrong = header_wrong(img->a, f->size[FX_DPU_FD_ARTIFACT]);
	if (!wrong)
		wrong = fields_wrong(img->a, dpu);
	if (wrong)
		return refuse(why, "artifact.bin", wrong);
	err = check_object(img, why);
	if (!err)
		err = check_flows(img, f, why);
	if (err == -ENOMEM)
		snprintf(why, FX_DPU_WHY_LEN, "there is no memory to look into the object");
	if (err)
		fx_dpu_image_close(img);
	return err;
}

void fx_dpu_image_close(struct fx_dpu_image *img)
{
	fx_dpu_object_free(&img->o);
	memset(img, 0, sizeof(*img));
}
