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
#include "json.h"
#include "util.h"

bool fx_netdev_name_ok(const char *name)
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

/* The mask has whole bytes, and the key nothing where the mask has none. */
static bool key_ok(const struct fx_nic_flow *f)
{
	const u8 *key = (const u8 *)&f->key, *mask = (const u8 *)&f->mask;

	for (size_t i = 0; i < sizeof(f->key); i++)
		if ((mask[i] && mask[i] != 0xff) || key[i] & ~mask[i])
			return false;
	if (f->mask.qp && (f->mask.qp != ~0U || f->key.qp > FX_QP_MAX ||
			   (f->key.qp && f->key.qp < FX_QP_MIN)))
		return false;
	return !f->mask.mask && !f->mask.reserved;
}

static const char *flow_wrong(const struct fx_image *img, const struct fx_nic_flow *f,
			      u32 place)
{
	const struct fx_class_desc *c;

	if (f->edge >= img->hdr->count[FX_SECT_EDGE] ||
	    f->cls != img->edge[f->edge].cls)
		return "a flow is of no edge of the graph";
	c = &img->cls[f->cls];
	if (!crosses(c, f->dir, place))
		return "a flow is of an edge that does not cross the device";
	if (f->bytes != img->edge[f->edge].bytes || f->priority != c->priority)
		return "a flow says other bytes or another priority than the graph";
	if (!key_ok(f))
		return "a flow has a mask that cannot be";
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

/* ---- files ------------------------------------------------------------ */

/* The place of the graph that is the device, or FX_PLACE_NONE. */
static u32 find_place(const struct fx_image *img, const char *netdev)
{
	for (u32 i = 0; i < img->hdr->count[FX_SECT_PLACE]; i++)
		if (img->place[i].kind == FX_PLACE_NIC &&
		    img->place[i].match_kind == FX_MATCH_NETDEV &&
		    !strcmp(img->place[i].match, netdev))
			return i;
	return FX_PLACE_NONE;
}

static enum fx_rc read_nic(const struct fx_bundle_source *s, struct fx_bundle *b,
			   const char *netdev)
{
	char *path[FX_BUNDLE_NIC_FILES], *flows = NULL;
	struct fx_bundle_nic *n = &b->nic[b->n_nic++];
	struct fx_bundle_file f[FX_BUNDLE_NIC_FILES];
	const char *why = NULL;
	enum fx_rc rc;
	size_t len;

	*n = (struct fx_bundle_nic){ .place = find_place(&b->image, netdev) };
	strcpy(n->netdev, netdev);
	for (u32 i = 0; i < FX_BUNDLE_NIC_FILES; i++) {
		path[i] = fx_asprintf("nic/%s/%s", netdev, fx_bundle_nic_files[i].name);
		f[i] = (struct fx_bundle_file){ path[i], fx_bundle_nic_files[i].max };
	}
	rc = fx_bundle_read(s, &f[0], &n->object, &n->object_size);
	if (rc == FX_RC_OK)
		rc = fx_bundle_read(s, &f[1], &flows, &len);
	if (rc != FX_RC_OK)
		goto out;
	if (!len || len % sizeof(*n->flow))
		why = "these are no flows of this version";
	if (!why) {
		n->n_flow = len / sizeof(*n->flow);
		n->flow = fx_alloc(len);
		memcpy(n->flow, flows, len);
		why = flows_wrong(&b->image, n);
	}
	if (why)
		rc = fx_bundle_unsound(s, path[1], why);
out:
	for (u32 i = 0; i < FX_BUNDLE_NIC_FILES; i++)
		free(path[i]);
	free(flows);
	return rc;
}

static bool known(const struct fx_bundle *b, const char *netdev)
{
	for (u32 i = 0; i < b->n_nic; i++)
		if (!strcmp(b->nic[i].netdev, netdev))
			return true;
	return false;
}

enum fx_rc fx_bundle_read_nics(const struct fx_bundle_source *s, struct fx_bundle *b)
{
	const char *manifest = fx_bundle_files[FX_BUNDLE_MANIFEST].name;
	struct json_object *list, *o;
	enum fx_rc rc = FX_RC_OK;
	const char *netdev;
	size_t n;

	if (!json_object_object_get_ex(s->manifest, "nic", &list))
		return FX_RC_OK;
	n = json_object_is_type(list, json_type_array) ?
	    json_object_array_length(list) : 0;
	if (!n || n > FX_MAX_PLACES)
		return fx_bundle_unsound(s, manifest, "its network devices are no list of them");
	b->nic = fx_calloc(n, sizeof(*b->nic));
	for (size_t i = 0; i < n && rc == FX_RC_OK; i++) {
		o = json_object_array_get_idx(list, i);
		if (!json_object_is_type(o, json_type_object) ||
		    !fx_json_get_str(o, "netdev", &netdev) ||
		    !fx_netdev_name_ok(netdev) || known(b, netdev) ||
		    find_place(&b->image, netdev) == FX_PLACE_NONE)
			return fx_bundle_unsound(s, manifest,
						 "it names a network device that is not the graph's");
		rc = read_nic(s, b, netdev);
	}
	return rc;
}

void fx_bundle_free_nics(struct fx_bundle *b)
{
	for (u32 i = 0; i < b->n_nic; i++) {
		free(b->nic[i].object);
		free(b->nic[i].flow);
	}
	free(b->nic);
}
