// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <net/if.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bpflog.h"
#include "diag.h"
#include "lower/nic.h"
#include "maps.h"
#include "nic.h"
#include "system.h"
#include "util.h"

#define FOUND_SHOWN	12	/* devices listed in one sentence */

enum { LINK_XDP, LINK_TC_IN, LINK_TC_OUT, LINKS };

/* Pinned under these names; which program, for which direction. */
static const struct {
	const char *pin, *prog, *what;
	u8 dir;
} links[LINKS] = {
	[LINK_XDP] = { "xdp", FX_NIC_PROG_IN, "XDP", FX_DIR_IN },
	[LINK_TC_IN] = { "tc_in", FX_NIC_PROG_MARK, "tcx ingress", FX_DIR_IN },
	[LINK_TC_OUT] = { "tc_out", FX_NIC_PROG_OUT, "tcx egress", FX_DIR_OUT },
};

struct device {
	const struct fx_bundle_nic *part;
	u32 ifindex;
	struct bpf_object *obj;
	struct bpf_link *link[LINKS];
	bool wants[FX_DIRS];
};

struct fx_nics {
	const struct fx_bundle *bundle;
	const struct fx_session_options *opt;
	struct fx_maps *maps;
	char *policy;
	struct device *dev;
	u32 n;
};

const char *fx_nics_policy(const struct fx_nics *n)
{
	return n->policy;
}

/* ---- devices ---------------------------------------------------------- */

static void absent(const struct fx_nics *n, const struct device *d)
{
	struct if_nameindex *all = if_nameindex();
	struct fx_words found = { 0 };
	const char *near;
	char *text;

	for (u32 i = 0; all && all[i].if_index; i++)
		fx_words_add(&found, all[i].if_name);
	if_freenameindex(all);
	text = fx_words_text(&found, FOUND_SHOWN);
	near = found.n ? fx_nearest_name(d->part->netdev,
					 (const char *const *)found.word,
					 found.n) : NULL;
	fx_err("place '%s' matches netdev '%s', which is not there; this network namespace has %s%s%s%s",
	       n->bundle->image.place[d->part->place].name, d->part->netdev, text,
	       near ? ": did you mean '" : "", near ? near : "", near ? "'?" : "");
	free(text);
	fx_words_free(&found);
}

/* All of them, before any is touched. */
static enum fx_rc find_devices(struct fx_nics *n)
{
	enum fx_rc rc = FX_RC_OK;

	for (u32 i = 0; i < n->n; i++) {
		struct device *d = &n->dev[i];

		d->part = &n->bundle->nic[i];
		d->ifindex = if_nametoindex(d->part->netdev);
		for (u32 j = 0; j < d->part->n_flow; j++)
			d->wants[d->part->flow[j].dir] = true;
		if (d->ifindex)
			continue;
		absent(n, d);
		rc = FX_RC_INPUT;
	}
	return rc;
}

/* ---- programs and maps ------------------------------------------------ */

static enum fx_rc unsound(const struct fx_nics *n, const struct device *d,
			  const char *what)
{
	fx_err("%s/nic/%s/policy.bpf.o: it has no '%s' as this fabricctl knows it; compile the bundle again",
	       n->bundle->dir, d->part->netdev, what);
	return FX_RC_INPUT;
}

static enum fx_rc refused(const struct fx_nics *n, const struct device *d, int err)
{
	char *why = fx_bpflog_reason(fx_bpflog_text());

	fx_err("netdev '%s': %s%s", d->part->netdev, why,
	       n->opt->verbose ? "" : "; attach -v prints the whole log");
	free(why);
	return err == -ENOMEM || err == -EPERM ? FX_RC_SYSTEM : FX_RC_INPUT;
}

/* Every map that is written from here, with its sizes; NULL when all is well. */
static const char *size_maps(struct device *d)
{
	const u32 rows = d->part->n_flow;
	const struct {
		const char *name;
		u32 key, value, entries;
	} want[] = {
		{ "fx_conf", 4, sizeof(struct fx_nic_conf), 1 },
		{ "fx_masks", 4, sizeof(struct fx_flow_key), FX_DIRS * FX_NIC_MAX_MASKS },
		{ "fx_flows", sizeof(struct fx_flow_key), 4, rows },
		{ "fx_rows", 4, sizeof(struct fx_nic_row), rows },
		{ "fx_counts", 4, sizeof(struct fx_nic_count), rows },
		{ "fx_totals", 4, sizeof(struct fx_nic_total), FX_DIRS },
	};

	for (u32 i = 0; i < ARRAY_SIZE(want); i++) {
		struct bpf_map *m = bpf_object__find_map_by_name(d->obj, want[i].name);

		if (!m || bpf_map__key_size(m) != want[i].key ||
		    bpf_map__value_size(m) != want[i].value ||
		    bpf_map__set_max_entries(m, want[i].entries))
			return want[i].name;
	}
	return NULL;
}

static int put(struct device *d, const char *map, const void *key, const void *value)
{
	struct bpf_map *m = bpf_object__find_map_by_name(d->obj, map);

	return bpf_map_update_elem(bpf_map__fd(m), key, value, BPF_ANY) ? -errno : 0;
}

/* The number of a flow's mask among its direction's, which grow as needed. */
static u32 number_of(struct fx_nic_conf *conf, struct fx_flow_key *mask,
		     const struct fx_nic_flow *f)
{
	u32 first = f->dir * FX_NIC_MAX_MASKS, i;

	for (i = 0; i < conf->masks[f->dir]; i++)
		if (!memcmp(&mask[first + i], &f->mask, sizeof(f->mask)))
			return first + i;
	/* the bundle was checked to have no more than fit */
	mask[first + i] = f->mask;
	conf->masks[f->dir]++;
	return first + i;
}

static int put_flow(const struct fx_nics *n, struct device *d, u32 i, u32 mask)
{
	const struct fx_nic_flow *f = &d->part->flow[i];
	struct fx_nic_row row = { .edge = f->edge, .cls = f->cls, .dir = f->dir,
				  .priority = f->priority, .bytes = f->bytes };
	struct fx_flow_key key = f->key;
	int err;

	key.mask = mask;
	memcpy(row.name, n->bundle->image.cls[f->cls].name, sizeof(row.name));
	err = put(d, "fx_flows", &key, &i);
	return err ? err : put(d, "fx_rows", &i, &row);
}

static int fill_maps(const struct fx_nics *n, struct device *d)
{
	struct fx_flow_key mask[FX_DIRS * FX_NIC_MAX_MASKS] = { 0 };
	const struct fx_image_hdr *hdr = n->bundle->image.hdr;
	struct fx_nic_conf conf = { .ifindex = d->ifindex,
				    .place = d->part->place,
				    .rows = d->part->n_flow };
	const u32 zero = 0;
	int err = 0;

	conf.flags = (n->opt->audit ? FX_NIC_F_AUDIT : 0) |
		     (n->bundle->object ? 0 : FX_NIC_F_ALONE);
	memcpy(conf.count, hdr->count, sizeof(conf.count));
	memcpy(conf.digest, hdr->digest, sizeof(conf.digest));
	memcpy(conf.graph, hdr->name, sizeof(conf.graph));
	memcpy(conf.netdev, d->part->netdev, sizeof(conf.netdev));
	memcpy(conf.policy, n->policy, strlen(n->policy));
	for (u32 i = 0; i < d->part->n_flow && !err; i++)
		err = put_flow(n, d, i, number_of(&conf, mask, &d->part->flow[i]));
	for (u32 i = 0; i < ARRAY_SIZE(mask) && !err; i++)
		err = put(d, "fx_masks", &i, &mask[i]);
	return err ? err : put(d, "fx_conf", &zero, &conf);
}

static enum fx_rc take_name(struct fx_nics *n, struct device *d)
{
	struct bpf_map *map = bpf_object__find_map_by_name(d->obj, FX_NIC_ABOUT);
	const struct fx_nic_policy *about;
	size_t size = 0;

	about = map ? bpf_map__initial_value(map, &size) : NULL;
	if (!about || size != sizeof(*about) || about->version != FX_NIC_VERSION ||
	    !memchr(about->name, 0, sizeof(about->name)))
		return unsound(n, d, FX_NIC_ABOUT);
	free(n->policy);
	n->policy = fx_strdup(about->name);
	return FX_RC_OK;
}

/* With the maps of other devices, or of this one when it was here before. */
static enum fx_rc load_object(struct fx_nics *n, struct device *d)
{
	char *sub = fx_pins_nic(d->part->netdev);
	enum fx_rc rc = fx_maps_before_load(n->maps, d->obj, sub);
	int err = 0;

	if (rc == FX_RC_OK)
		err = bpf_object__load(d->obj);
	if (err)
		rc = refused(n, d, err);
	else if (rc == FX_RC_OK)
		rc = fx_maps_after_load(n->maps, d->obj);
	free(sub);
	return rc;
}

static enum fx_rc load(struct fx_nics *n, struct device *d)
{
	LIBBPF_OPTS(bpf_object_open_opts, opts, .object_name = "policy");
	struct bpf_program *prog;
	const char *wrong;
	enum fx_rc rc;
	int err;

	fx_bpflog_start(n->opt->verbose);
	/* what was checked, not what lies in the file by now */
	d->obj = bpf_object__open_mem(d->part->object, d->part->object_size, &opts);
	if (!d->obj)
		return refused(n, d, -errno);
	rc = take_name(n, d);
	if (rc != FX_RC_OK)
		return rc;
	for (u32 i = 0; i < LINKS; i++) {
		prog = bpf_object__find_program_by_name(d->obj, links[i].prog);
		if (!prog)
			return unsound(n, d, links[i].prog);
		bpf_program__set_autoload(prog, d->wants[links[i].dir]);
	}
	wrong = size_maps(d);
	if (wrong)
		return unsound(n, d, wrong);
	rc = load_object(n, d);
	if (rc != FX_RC_OK)
		return rc;
	err = fill_maps(n, d);
	if (!err)
		return FX_RC_OK;
	fx_err("the flows of netdev '%s' cannot be written into its maps: %s",
	       d->part->netdev, strerror(-err));
	return FX_RC_SYSTEM;
}

enum fx_rc fx_nics_load(const struct fx_bundle *bundle,
			const struct fx_session_options *opt, struct fx_maps *maps,
			struct fx_nics **out)
{
	struct fx_nics *n = fx_calloc(1, sizeof(*n));
	enum fx_rc rc;

	*out = NULL;
	n->bundle = bundle;
	n->opt = opt;
	n->maps = maps;
	n->n = bundle->n_nic;
	n->dev = fx_calloc(n->n, sizeof(*n->dev));
	rc = find_devices(n);
	for (u32 i = 0; i < n->n && rc == FX_RC_OK; i++)
		rc = load(n, &n->dev[i]);
	if (rc == FX_RC_OK)
		*out = n;
	else
		fx_nics_close(n);
	return rc;
}

/* ---- attach ----------------------------------------------------------- */

static enum fx_rc attach_failed(const struct device *d, u32 i, int err)
{
	const char *why = strerror(-err);
	enum fx_rc rc = FX_RC_SYSTEM;

	if (err == -EBUSY || err == -EEXIST) {
		why = "another one is there; `bpftool net` shows whose";
		rc = FX_RC_INPUT;
	} else if (err == -ENODEV) {
		why = "the device went away meanwhile";
	} else if (err == -EINVAL && i != LINK_XDP) {
		why = "this kernel has no tcx, which 6.6 and later have";
	}
	fx_err("no %s program can be put on netdev '%s': %s", links[i].what,
	       d->part->netdev, why);
	return rc;
}

static enum fx_rc attach_device(struct device *d)
{
	for (u32 i = 0; i < LINKS; i++) {
		struct bpf_program *prog;

		if (!d->wants[links[i].dir])
			continue;
		prog = bpf_object__find_program_by_name(d->obj, links[i].prog);
		d->link[i] = i == LINK_XDP ?
			     bpf_program__attach_xdp(prog, d->ifindex) :
			     bpf_program__attach_tcx(prog, d->ifindex, NULL);
		if (!d->link[i])
			return attach_failed(d, i, -errno);
	}
	return FX_RC_OK;
}

static enum fx_rc pin_device(const struct device *d, struct fx_pins *pins)
{
	char *sub = fx_pins_nic(d->part->netdev);
	enum fx_rc rc = fx_pins_write(pins, sub, d->obj);

	for (u32 i = 0; i < LINKS && rc == FX_RC_OK; i++)
		if (d->link[i])
			rc = fx_pins_write_at(pins, sub, links[i].pin,
					      bpf_link__fd(d->link[i]));
	free(sub);
	return rc;
}

enum fx_rc fx_nics_attach(struct fx_nics *n, struct fx_pins *pins)
{
	enum fx_rc rc = FX_RC_OK;

	/* what goes wrong at a device goes wrong before anything is pinned */
	for (u32 i = 0; i < n->n && rc == FX_RC_OK; i++)
		rc = attach_device(&n->dev[i]);
	for (u32 i = 0; i < n->n && pins && rc == FX_RC_OK; i++)
		rc = pin_device(&n->dev[i], pins);
	return rc;
}

void fx_nics_close(struct fx_nics *n)
{
	if (!n)
		return;
	for (u32 i = 0; i < n->n; i++) {
		/* what is pinned outlives its descriptor */
		for (u32 j = 0; j < LINKS; j++)
			bpf_link__destroy(n->dev[i].link[j]);
		bpf_object__close(n->dev[i].obj);
	}
	free(n->dev);
	free(n->policy);
	free(n);
}

/* ---- what is pinned --------------------------------------------------- */

bool fx_map_is(int fd, u32 key, u32 value)
{
	struct bpf_map_info info = { 0 };
	u32 len = sizeof(info);

	return !bpf_map_get_info_by_fd(fd, &info, &len) && info.key_size == key &&
	       info.value_size == value;
}

bool fx_nics_pinned(const char *graph)
{
	struct fx_words subs = { 0 };
	bool pinned;

	fx_pins_list_nics(graph, &subs);
	pinned = subs.n;
	fx_words_free(&subs);
	return pinned;
}

static int end_link(const char *dir, const char *sub, const char *name)
{
	char *path = fx_asprintf("%s/%s/%s", dir, sub, name);
	int fd = bpf_obj_get(path);
	int err = 0;

	free(path);
	if (fd < 0)
		return errno == ENOENT ? 0 : -errno;
	/* at once, and not when the last of its descriptors happens to close */
	if (bpf_link_detach(fd) && errno != ENOLINK && errno != EINVAL)
		err = -errno;
	close(fd);
	return err;
}

enum fx_rc fx_nics_detach(const char *graph, const struct fx_pins *pins)
{
	struct fx_words subs = { 0 };
	enum fx_rc rc = FX_RC_OK;

	fx_pins_list_nics(graph, &subs);
	for (u32 i = 0; i < subs.n; i++) {
		for (u32 j = 0; j < LINKS; j++) {
			int err = end_link(pins->dir, subs.word[i], links[j].pin);

			if (!err)
				continue;
			fx_err("%s/%s/%s cannot be detached: %s", pins->dir,
			       subs.word[i], links[j].pin, strerror(-err));
			rc = FX_RC_SYSTEM;
		}
	}
	fx_words_free(&subs);
	return rc;
}

static int bypass(const char *path)
{
	struct fx_nic_conf conf;
	const u32 zero = 0;
	int fd = bpf_obj_get(path);
	int err = 0;

	if (fd < 0)
		return -errno;
	if (!fx_map_is(fd, sizeof(zero), sizeof(conf)))
		err = -EPROTO;
	else if (bpf_map_lookup_elem(fd, &zero, &conf))
		err = -errno;
	conf.flags |= FX_NIC_F_BYPASS;
	if (!err && bpf_map_update_elem(fd, &zero, &conf, BPF_EXIST))
		err = -errno;
	close(fd);
	return err;
}

int fx_nics_bypass(const char *graph)
{
	char *dir = fx_pins_dir(graph);
	struct fx_words subs = { 0 };
	int err = 0;

	fx_pins_list_nics(graph, &subs);
	for (u32 i = 0; i < subs.n; i++) {
		char *path = fx_asprintf("%s/%s/maps/fx_conf", dir, subs.word[i]);
		int rc = bypass(path);

		err = err ? err : rc;
		free(path);
	}
	fx_words_free(&subs);
	free(dir);
	return err;
}
