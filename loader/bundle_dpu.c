// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The parts of a bundle for DPUs: whether they are of this graph and place.
 * Whether they fit each other the DPU looks at, before it takes them.
 */
#include <stdlib.h>
#include <string.h>

#include "bundle.h"
#include "bundle_files.h"
#include "dpu.h"
#include "json.h"
#include "util.h"

static u32 find_dpu(const struct fx_bundle *b, const char *dpu)
{
	return fx_bundle_place(&b->image, FX_PLACE_DPU, FX_MATCH_DPU, dpu);
}

static const char *artifact_wrong(const struct fx_bundle *b, const struct fx_bundle_dpu *d,
				  const char *dpu)
{
	const struct fx_dpu_artifact *a = d->artifact;
	const struct fx_image_hdr *hdr = b->image.hdr;

	if (d->artifact_size < sizeof(*a) || a->magic != FX_DPU_MAGIC)
		return "this is no artifact";
	if (a->version != FX_DPU_VERSION || a->size != sizeof(*a))
		return "it is of another version";
	if (!memchr(a->dpu, 0, sizeof(a->dpu)) || strcmp(a->dpu, dpu) || a->place != d->place ||
	    memcmp(a->graph_digest, hdr->digest, sizeof(a->graph_digest)) ||
	    memcmp(a->graph, hdr->name, sizeof(a->graph)))
		return "it is for another DPU or graph";
	if (!memchr(a->policy, 0, sizeof(a->policy)) || !*a->policy)
		return "it does not say what the policy is";
	return NULL;
}

/* A file of the DPU's, or NULL after a sentence. */
static struct fx_part *part(const struct fx_bundle_source *s, struct fx_bundle *b,
			    const char *dpu, const char *file)
{
	char *path = fx_asprintf("dpu/%s/%s", dpu, file);
	struct fx_part *p = fx_bundle_part(s, b, path);

	free(path);
	return p;
}

static enum fx_rc read_dpu(const struct fx_bundle_source *s, struct fx_bundle *b,
			   const char *dpu)
{
	struct fx_part *artifact = part(s, b, dpu, "artifact.bin");
	struct fx_part *object = artifact ? part(s, b, dpu, "policy.bpf.o") : NULL;
	struct fx_part *flows = object ? part(s, b, dpu, "flows.bin") : NULL;
	struct fx_bundle_dpu *d = &b->dpu[b->n_dpu++];
	const char *why;

	if (!flows)
		return FX_RC_INPUT;
	*d = (struct fx_bundle_dpu){
		.place = find_dpu(b, dpu),
		.artifact = artifact->data, .artifact_size = artifact->size,
		.object = object->data, .object_size = object->size,
		.flow = flows->data, .n_flow = flows->size / sizeof(*d->flow),
	};
	why = artifact_wrong(b, d, dpu);
	if (why)
		return fx_bundle_unsound(s, artifact->path, why);
	if (!flows->size || flows->size % sizeof(*d->flow))
		why = "these are no flows of this version";
	if (!why)
		why = fx_bundle_flows_wrong(&b->image, d->place, flows->data, d->n_flow);
	return why ? fx_bundle_unsound(s, flows->path, why) : FX_RC_OK;
}

static bool known(const struct fx_bundle *b, u32 place)
{
	for (u32 i = 0; i < b->n_dpu; i++)
		if (b->dpu[i].place == place)
			return true;
	return false;
}

enum fx_rc fx_bundle_read_dpus(const struct fx_bundle_source *s, struct fx_bundle *b,
			       struct json_object *list)
{
	const char *manifest = fx_bundle_files[FX_BUNDLE_MANIFEST].name;
	enum fx_rc rc = FX_RC_OK;
	const char *dpu;
	size_t n;

	n = json_object_is_type(list, json_type_array) ?
	    json_object_array_length(list) : 0;
	if (!n || n > FX_MAX_PLACES)
		return fx_bundle_unsound(s, manifest, "its DPUs are no list of them");
	b->dpu = fx_calloc(n, sizeof(*b->dpu));
	for (size_t i = 0; i < n && rc == FX_RC_OK; i++) {
		struct json_object *o = json_object_array_get_idx(list, i);
		u32 place = FX_PLACE_NONE;

		if (json_object_is_type(o, json_type_object) &&
		    fx_json_get_str(o, "dpu", &dpu) && fx_dpu_name_ok(dpu))
			place = find_dpu(b, dpu);
		if (place == FX_PLACE_NONE || known(b, place))
			return fx_bundle_unsound(s, manifest, "it names a DPU that is not the graph's");
		rc = read_dpu(s, b, dpu);
	}
	return rc;
}

void fx_bundle_free_dpus(struct fx_bundle *b)
{
	free(b->dpu);
}
