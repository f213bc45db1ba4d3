// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The parts of a bundle for network devices. What flows.bin says of an edge
 * is said by edges.bin as well, and has to be the same.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "bundle.h"
#include "bundle_files.h"
#include "flow_mask.h"
#include "json.h"
#include "util.h"

bool fx_part_name_ok(const char *name)
{
	size_t len = strlen(name);

	if (!len || len >= FX_NIC_NAME_LEN || !strcmp(name, ".") ||
	    !strcmp(name, ".."))
		return false;
	for (; *name; name++)
		if (*name == '/' || *name == ':' || isspace((u8)*name))
			return false;
	return true;
}

/* ---- flows ------------------------------------------------------------ */

static bool crosses(const struct fx_class_desc *c, u8 dir, u32 place)
{
	if (dir == FX_DIR_IN)
		return c->from == place;
	for (u32 i = 0; dir == FX_DIR_OUT && i < c->n_to; i++)
		if (c->to[i] == place)
			return true;
	return false;
}

/* All of a queue pair's number or none, and one that is nobody's or can be. */
static bool qp_ok(const struct fx_nic_flow *f)
{
	return !f->mask.qp || (f->mask.qp == ~0U && f->key.qp <= FX_QP_MAX &&
			       (!f->key.qp || f->key.qp >= FX_QP_MIN));
}

static const char *flow_wrong(const struct fx_image *img, const struct fx_nic_flow *f,
			      u32 place)
{
	static const u8 none[sizeof(f->reserved)];
	const struct fx_class_desc *c;

	if (f->edge >= img->hdr->count[FX_SECT_EDGE] ||
	    f->cls != img->edge[f->edge].cls)
		return "a flow is of no edge of the graph";
	c = &img->cls[f->cls];
	if (!crosses(c, f->dir, place))
		return "a flow is of an edge that does not cross the device";
	if (f->bytes != img->edge[f->edge].bytes || f->priority != c->priority)
		return "a flow says other bytes or another priority than the graph";
	if (!fx_flow_mask_ok(f) || !qp_ok(f))
		return "a flow has a mask that cannot be";
	if (f->redirect >= FX_QUEUE_KINDS || (f->redirect && f->dir != FX_DIR_IN) ||
	    memcmp(f->reserved, none, sizeof(none)))
		return "a flow has a redirect that cannot be";
	return NULL;
}

/* Rows are in the order of the edges; each direction has few masks. */
static const char *flows_wrong(const struct fx_image *img, const struct fx_bundle_nic *n)
{
	struct fx_flow_key mask[FX_DIRS][FX_NIC_MAX_MASKS];
	u32 masks[FX_DIRS] = { 0 };
	const char *why = NULL;

	for (u32 i = 0; i < n->n_flow && !why; i++) {
		const struct fx_nic_flow *f = &n->flow[i];
		u32 j;

		why = flow_wrong(img, f, n->place);
		if (!why && i && (f->edge < f[-1].edge ||
				  (f->edge == f[-1].edge && f->dir <= f[-1].dir)))
			why = "its flows are not in order";
		if (why)
			break;
		for (j = 0; j < masks[f->dir]; j++)
			if (!memcmp(&mask[f->dir][j], &f->mask, sizeof(f->mask)))
				break;
		if (j == FX_NIC_MAX_MASKS)
			why = "its flows ask for too many sets of fields";
		else if (j == masks[f->dir])
			mask[f->dir][masks[f->dir]++] = f->mask;
	}
	return why;
}

const char *fx_bundle_flows_wrong(const struct fx_image *img, u32 place,
				  struct fx_nic_flow *flow, u32 n)
{
	const struct fx_bundle_nic as_nic = { .place = place, .flow = flow, .n_flow = n };

	return flows_wrong(img, &as_nic);
}

/* ---- files ------------------------------------------------------------ */

u32 fx_bundle_place(const struct fx_image *img, u32 kind, u32 match_kind,
		    const char *match)
{
	for (u32 i = 0; i < img->hdr->count[FX_SECT_PLACE]; i++)
		if (img->place[i].kind == kind && img->place[i].match_kind == match_kind &&
		    !strcmp(img->place[i].match, match))
			return i;
	return FX_PLACE_NONE;
}

static u32 find_netdev(const struct fx_bundle *b, const char *netdev)
{
	return fx_bundle_place(&b->image, FX_PLACE_NIC, FX_MATCH_NETDEV, netdev);
}

static enum fx_rc read_nic(const struct fx_bundle_source *s, struct fx_bundle *b,
			   const char *netdev)
{
	char *object_path = fx_asprintf("nic/%s/policy.bpf.o", netdev);
	char *flows_path = fx_asprintf("nic/%s/flows.bin", netdev);
	struct fx_bundle_nic *n = &b->nic[b->n_nic++];
	struct fx_part *object, *flows;
	enum fx_rc rc = FX_RC_INPUT;
	const char *why = NULL;

	*n = (struct fx_bundle_nic){ .place = find_netdev(b, netdev) };
	strcpy(n->netdev, netdev);
	object = fx_bundle_part(s, b, object_path);
	flows = object ? fx_bundle_part(s, b, flows_path) : NULL;
	if (!flows)
		goto out;
	n->object = object->data;
	n->object_size = object->size;
	if (!flows->size || flows->size % sizeof(*n->flow))
		why = "these are no flows of this version";
	if (!why) {
		n->n_flow = flows->size / sizeof(*n->flow);
		n->flow = flows->data;
		why = flows_wrong(&b->image, n);
	}
	rc = why ? fx_bundle_unsound(s, flows_path, why) : FX_RC_OK;
out:
	free(object_path);
	free(flows_path);
	return rc;
}

static bool known(const struct fx_bundle *b, const char *netdev)
{
	for (u32 i = 0; i < b->n_nic; i++)
		if (!strcmp(b->nic[i].netdev, netdev))
			return true;
	return false;
}

enum fx_rc fx_bundle_read_nics(const struct fx_bundle_source *s, struct fx_bundle *b,
			       struct json_object *about)
{
	const char *manifest = fx_bundle_files[FX_BUNDLE_MANIFEST].name;
	enum fx_rc rc = FX_RC_OK;
	struct json_object *o;
	const char *netdev;
	size_t n;

	n = json_object_is_type(about, json_type_array) ?
	    json_object_array_length(about) : 0;
	if (!n || n > FX_MAX_PLACES)
		return fx_bundle_unsound(s, manifest, "its network devices are no list of them");
	b->nic = fx_calloc(n, sizeof(*b->nic));
	for (size_t i = 0; i < n && rc == FX_RC_OK; i++) {
		o = json_object_array_get_idx(about, i);
		if (!json_object_is_type(o, json_type_object) ||
		    !fx_json_get_str(o, "netdev", &netdev) ||
		    !fx_part_name_ok(netdev) || known(b, netdev) ||
		    find_netdev(b, netdev) == FX_PLACE_NONE)
			return fx_bundle_unsound(s, manifest,
						 "it names a network device that is not the graph's");
		rc = read_nic(s, b, netdev);
	}
	return rc;
}

void fx_bundle_free_nics(struct fx_bundle *b)
{
	free(b->nic);
}
