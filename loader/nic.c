// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "bpflog.h"
#include "diag.h"
#include "lower/nic.h"
#include "maps.h"
#include "nic.h"
#include "nic_dev.h"
#include "nic_queues.h"
#include "system.h"
#include "util.h"

#define FOUND_SHOWN	12	/* devices listed in one sentence */

const struct fx_nic_link fx_nic_links[FX_NIC_LINKS] = {
	[FX_NIC_XDP] = { "xdp", FX_NIC_PROG_IN, "XDP", FX_DIR_IN },
	[FX_NIC_TC_IN] = { "tc_in", FX_NIC_PROG_MARK, "tcx ingress", FX_DIR_IN },
	[FX_NIC_TC_OUT] = { "tc_out", FX_NIC_PROG_OUT, "tcx egress", FX_DIR_OUT },
};

const char *fx_nics_policy(const struct fx_nics *n)
{
	return n->policy;
}

/* ---- devices ---------------------------------------------------------- */

static void absent(const struct fx_nics *n, const struct fx_nic_dev *d)
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

/* Every link that the part wants holds the device as it is now, and runs what decides. */
static bool is_well(const struct fx_nics *n, const struct fx_nic_dev *d)
{
	const char *graph = n->bundle->image.hdr->name;
	char *dir = fx_pins_dir(graph);
	char *sub = fx_pins_nic(d->part->netdev);
	struct fx_nic_conf conf;
	bool well;

	well = d->ifindex && fx_maps_listed(n->maps) && !fx_nic_conf_read(graph, sub, &conf) &&
	       !(conf.flags & FX_NIC_F_BYPASS);

	for (u32 i = 0; i < FX_NIC_LINKS && well; i++)
		if (d->wants[fx_nic_links[i].dir])
			well = fx_nic_link_ifindex(dir, sub, i) == (int)d->ifindex &&
			       fx_nic_link_runs(dir, sub, i) == FX_NIC_RUNS_PINNED;
	free(sub);
	free(dir);
	return well;
}

/* What is there: a bypass from here on is to outlive what this command does. */
static bool was_bypassed(const struct fx_nics *n, const struct fx_nic_dev *d)
{
	char *sub = fx_pins_nic(d->part->netdev);
	bool was = fx_nic_is_bypassed(n->bundle->image.hdr->name, sub);

	free(sub);
	return was;
}

/* Its frames begin with an Ethernet header, which is what the programs read. */
static bool is_ethernet(const char *netdev)
{
	struct ifreq req = { 0 };
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	bool ethernet = false;

	if (fd < 0)
		return false;
	memcpy(req.ifr_name, netdev, strnlen(netdev, sizeof(req.ifr_name) - 1));
	if (!ioctl(fd, SIOCGIFHWADDR, &req))
		ethernet = req.ifr_hwaddr.sa_family == ARPHRD_ETHER ||
			   req.ifr_hwaddr.sa_family == ARPHRD_LOOPBACK;
	close(fd);
	return ethernet;
}

/*
 * All of them, before any is touched; in a repair those that need one, and
 * what is away does not keep the others from it.
 */
static enum fx_rc find_devices(struct fx_nics *n)
{
	enum fx_rc rc = FX_RC_OK;

	for (u32 i = 0; i < n->bundle->n_nic; i++) {
		struct fx_nic_dev *d = &n->dev[n->n];

		*d = (struct fx_nic_dev){ .part = &n->bundle->nic[i] };
		d->ifindex = if_nametoindex(d->part->netdev);
		for (u32 j = 0; j < d->part->n_flow; j++)
			d->wants[d->part->flow[j].dir] = true;
		if (n->opt->repair && is_well(n, d))
			continue;
		d->was_bypassed = was_bypassed(n, d);
		if (d->ifindex && !is_ethernet(d->part->netdev)) {
			fx_err("netdev '%s' has no Ethernet headers, as tunnels have none, and flows are found behind those",
			       d->part->netdev);
			return FX_RC_INPUT;
		}
		if (d->ifindex) {
			n->n++;
			continue;
		}
		absent(n, d);
		n->away = true;
		rc = n->opt->repair ? FX_RC_OK : FX_RC_INPUT;
	}
	return rc;
}

/* ---- programs and maps ------------------------------------------------ */

static enum fx_rc unsound(const struct fx_nics *n, const struct fx_nic_dev *d,
			  const char *what)
{
	fx_err("%s/nic/%s/policy.bpf.o: it has no '%s' as this fabricctl knows it; compile the bundle again",
	       n->bundle->dir, d->part->netdev, what);
	return FX_RC_INPUT;
}

static enum fx_rc refused(const struct fx_nics *n, const struct fx_nic_dev *d, int err)
{
	char *why = fx_bpflog_reason(fx_bpflog_text());

	fx_err("netdev '%s': %s%s", d->part->netdev, why,
	       n->opt->verbose ? "" : "; attach -v prints the whole log");
	free(why);
	return err == -ENOMEM || err == -EPERM ? FX_RC_SYSTEM : FX_RC_INPUT;
}

/* How many queue pairs its programs keep; without flows of such, none. */
static u32 queue_pairs(const struct fx_nic_dev *d)
{
	u32 n = 0;

	for (u32 i = 0; i < d->part->n_flow; i++)
		n += !!d->part->flow[i].mask.qp;
	if (!n)
		return 1;
	return 2 * n > FX_NIC_QPS ? 2 * n : FX_NIC_QPS;
}

/* Every map that is written from here, with its sizes; NULL when all is well. */
static const char *size_maps(struct fx_nic_dev *d)
{
	const u32 rows = d->part->n_flow, roce = queue_pairs(d);
	const struct {
		const char *name;
		u32 key, value, entries;
	} want[] = {
		{ "fx_conf", 4, sizeof(struct fx_nic_conf), 1 },
		{ "fx_masks", 4, sizeof(struct fx_flow_key), FX_DIRS * FX_NIC_MAX_MASKS },
		/* one more: a queue pair is bound before the old one is let go */
		{ "fx_flows", sizeof(struct fx_flow_key), 4, rows + 1 },
		{ "fx_rows", 4, sizeof(struct fx_nic_row), rows },
		{ "fx_counts", 4, sizeof(struct fx_nic_count), rows },
		{ "fx_totals", 4, sizeof(struct fx_nic_total), FX_DIRS },
		{ "fx_qps", sizeof(struct fx_qp_key), 0, roce },
	};

	for (u32 i = 0; i < ARRAY_SIZE(want); i++) {
		struct bpf_map *m = bpf_object__find_map_by_name(d->obj, want[i].name);

		if (!m || bpf_map__key_size(m) != want[i].key ||
		    (want[i].value && bpf_map__value_size(m) != want[i].value) ||
		    bpf_map__set_max_entries(m, want[i].entries))
			return want[i].name;
	}
	return fx_nic_size_queues(d->obj, d->part);
}

static int put(struct fx_nic_dev *d, const char *map, const void *key, const void *value)
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

/* The rows that were pinned before, or -1; they know which queue pairs are tagged. */
static int open_old_rows(const struct fx_nics *n, const struct fx_nic_dev *d)
{
	char *dir = fx_pins_dir(n->bundle->image.hdr->name);
	char *sub = fx_pins_nic(d->part->netdev);
	char *path = fx_asprintf("%s/%s/maps/fx_rows", dir, sub);
	int fd = n->opt->replace || n->opt->repair ? bpf_obj_get(path) : -1;

	if (fd >= 0 && !fx_map_is(fd, sizeof(u32), sizeof(struct fx_nic_row))) {
		close(fd);
		fd = -1;
	}
	free(path);
	free(sub);
	free(dir);
	return fd;
}

/* The queue pair that `fabricctl tag` bound the row's edge to, or 0. */
static u32 old_tag(int rows, u32 i, const struct fx_nic_row *row)
{
	struct fx_nic_row old;

	if (rows < 0 || bpf_map_lookup_elem(rows, &i, &old) || !old.tagged ||
	    old.edge != row->edge || old.dir != row->dir)
		return 0;
	return old.key.qp;
}

static int put_flow(const struct fx_nics *n, struct fx_nic_dev *d, u32 i, u32 mask,
		    int old_rows)
{
	const struct fx_nic_flow *f = &d->part->flow[i];
	struct fx_nic_row row = { .edge = f->edge, .cls = f->cls, .dir = f->dir,
				  .priority = f->priority, .bytes = f->bytes,
				  .redirect = f->redirect };
	int err = 0;

	row.key = f->key;
	row.key.mask = mask;
	row.roce = !!f->mask.qp;
	row.tagged = row.roce && !f->key.qp;
	memcpy(row.name, n->bundle->image.cls[f->cls].name, sizeof(row.name));
	if (row.tagged)
		row.key.qp = old_tag(old_rows, i, &row);
	/* without its queue pair it finds nothing */
	if (!row.tagged || row.key.qp)
		err = put(d, "fx_flows", &row.key, &i);
	return err ? err : put(d, "fx_rows", &i, &row);
}

static int fill_maps(const struct fx_nics *n, struct fx_nic_dev *d)
{
	struct fx_flow_key mask[FX_DIRS * FX_NIC_MAX_MASKS] = { 0 };
	const struct fx_image_hdr *hdr = n->bundle->image.hdr;
	struct fx_nic_conf conf = { .ifindex = d->ifindex,
				    .place = d->part->place,
				    .rows = d->part->n_flow };
	const int old_rows = open_old_rows(n, d);
	const u32 zero = 0;
	int err = 0;

	fx_nic_digest(d->part, conf.object);
	conf.flags = (n->opt->audit ? FX_NIC_F_AUDIT : 0) |
		     (n->bundle->object ? 0 : FX_NIC_F_ALONE) | fx_nic_keep_flags(n, d);
	memcpy(conf.count, hdr->count, sizeof(conf.count));
	memcpy(conf.digest, hdr->digest, sizeof(conf.digest));
	memcpy(conf.graph, hdr->name, sizeof(conf.graph));
	memcpy(conf.netdev, d->part->netdev, sizeof(conf.netdev));
	memcpy(conf.policy, n->policy, strlen(n->policy));
	for (u32 i = 0; i < d->part->n_flow && !err; i++) {
		conf.flags |= d->part->flow[i].mask.qp ? FX_NIC_F_ROCE : 0;
		err = put_flow(n, d, i, number_of(&conf, mask, &d->part->flow[i]),
			       old_rows);
	}
	fx_close(old_rows);
	for (u32 i = 0; i < ARRAY_SIZE(mask) && !err; i++)
		err = put(d, "fx_masks", &i, &mask[i]);
	return err ? err : put(d, "fx_conf", &zero, &conf);
}

static enum fx_rc take_name(struct fx_nics *n, struct fx_nic_dev *d)
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
static enum fx_rc load_object(struct fx_nics *n, struct fx_nic_dev *d)
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

enum fx_rc fx_nic_load_dev(struct fx_nics *n, struct fx_nic_dev *d)
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
	for (u32 i = 0; i < FX_NIC_LINKS; i++) {
		prog = bpf_object__find_program_by_name(d->obj, fx_nic_links[i].prog);
		if (!prog)
			return unsound(n, d, fx_nic_links[i].prog);
		bpf_program__set_autoload(prog, d->wants[fx_nic_links[i].dir]);
	}
	wrong = size_maps(d);
	if (wrong)
		return unsound(n, d, wrong);
	if (n->opt->replace || n->opt->repair)
		rc = fx_nic_keep_maps(n, d);
	if (rc != FX_RC_OK)
		return rc;
	rc = load_object(n, d);
	if (rc != FX_RC_OK)
		return rc;
	err = fill_maps(n, d);
	if (!err)
		return fx_nic_open_queues(d->obj, d->part);
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
	n->dev = fx_calloc(bundle->n_nic, sizeof(*n->dev));
	rc = find_devices(n);
	for (u32 i = 0; i < n->n && rc == FX_RC_OK; i++)
		rc = fx_nic_load_dev(n, &n->dev[i]);
	if (rc == FX_RC_OK)
		*out = n;
	else
		fx_nics_close(n);
	return rc;
}

/* ---- attach ----------------------------------------------------------- */

static enum fx_rc attach_failed(const struct fx_nic_dev *d, u32 i, int err)
{
	const char *why = strerror(-err);
	enum fx_rc rc = FX_RC_SYSTEM;

	if (err == -EBUSY || err == -EEXIST) {
		why = "another one is there; `bpftool net` shows whose";
		rc = FX_RC_INPUT;
	} else if (err == -ENODEV) {
		why = "the device went away meanwhile";
	} else if (err == -EINVAL && i != FX_NIC_XDP) {
		why = "this kernel has no tcx, which 6.6 and later have";
	}
	fx_err("no %s program can be put on netdev '%s': %s", fx_nic_links[i].what,
	       d->part->netdev, why);
	return rc;
}

enum fx_rc fx_nic_attach_dev(struct fx_nic_dev *d)
{
	for (u32 i = 0; i < FX_NIC_LINKS; i++) {
		struct bpf_program *prog;

		if (!d->wants[fx_nic_links[i].dir])
			continue;
		prog = bpf_object__find_program_by_name(d->obj, fx_nic_links[i].prog);
		d->link[i] = i == FX_NIC_XDP ?
			     bpf_program__attach_xdp(prog, d->ifindex) :
			     bpf_program__attach_tcx(prog, d->ifindex, NULL);
		if (!d->link[i])
			return attach_failed(d, i, -errno);
	}
	return FX_RC_OK;
}

enum fx_rc fx_nic_pin_dev(const struct fx_nic_dev *d, struct fx_pins *pins)
{
	char *sub = fx_pins_nic(d->part->netdev);
	enum fx_rc rc = fx_pins_write(pins, sub, d->obj);

	for (u32 i = 0; i < FX_NIC_LINKS && rc == FX_RC_OK; i++)
		if (d->link[i])
			rc = fx_pins_write_at(pins, sub, fx_nic_links[i].pin,
					      bpf_link__fd(d->link[i]));
	free(sub);
	return rc;
}

/* The links end with this process: pinned is only which they are. */
static enum fx_rc pin_owned(const struct fx_nic_dev *d, struct fx_pins *pins)
{
	char *sub = fx_pins_nic(d->part->netdev);
	enum fx_rc rc = fx_pins_write(pins, sub, d->obj);
	struct bpf_link_info info;
	u32 len = sizeof(info);
	int fd, err = 0;

	fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "fx_links", sizeof(u32), sizeof(u32),
			    FX_NIC_LINKS, NULL);
	for (u32 i = 0; i < FX_NIC_LINKS && fd >= 0 && !err; i++) {
		memset(&info, 0, sizeof(info));
		if (d->link[i])
			err = bpf_link_get_info_by_fd(bpf_link__fd(d->link[i]), &info, &len);
		if (!err && info.id)
			err = bpf_map_update_elem(fd, &i, &info.id, BPF_ANY);
	}
	if (fd < 0 || err) {
		fx_err("the links of netdev '%s' cannot be written down: %s",
		       d->part->netdev, strerror(errno));
		rc = FX_RC_SYSTEM;
	}
	if (rc == FX_RC_OK)
		rc = fx_pins_write_at(pins, sub, FX_NIC_LINK_IDS, fd);
	if (fd >= 0)
		close(fd);
	free(sub);
	return rc;
}

enum fx_rc fx_nics_attach(struct fx_nics *n, struct fx_pins *pins)
{
	enum fx_rc rc = FX_RC_OK;

	/* what goes wrong at a device goes wrong before anything is pinned */
	for (u32 i = 0; i < n->n && rc == FX_RC_OK; i++)
		rc = fx_nic_attach_dev(&n->dev[i]);
	for (u32 i = 0; i < n->n && pins && rc == FX_RC_OK; i++)
		rc = n->opt->pin ? fx_nic_pin_dev(&n->dev[i], pins) :
				   pin_owned(&n->dev[i], pins);
	return rc;
}

void fx_nics_close(struct fx_nics *n)
{
	if (!n)
		return;
	for (u32 i = 0; i < n->n; i++) {
		/* what is pinned outlives its descriptor */
		for (u32 j = 0; j < FX_NIC_LINKS; j++) {
			bpf_link__destroy(n->dev[i].link[j]);
			fx_close(n->dev[i].old_link[j]);
			fx_close(n->dev[i].old_prog[j]);
		}
		bpf_object__close(n->dev[i].obj);
	}
	free(n->dev);
	free(n->policy);
	free(n);
}
