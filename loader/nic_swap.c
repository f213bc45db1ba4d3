// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Programs on network devices in place of those that are pinned: a replacement
 * of all of them, between two packets each, or a repair of those whose device
 * went away and came back.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "diag.h"
#include "maps.h"
#include "nic.h"
#include "nic_dev.h"
#include "system.h"
#include "util.h"

/* ---- maps ------------------------------------------------------------- */

/*
 * Sockets that applications have put there stay where they are, but for those
 * of a device that went away: to these the kernel would drop what comes.
 */
static bool has_sockets(const char *graph, const char *sub, const struct fx_nic_dev *d)
{
	struct bpf_map *m = bpf_object__find_map_by_name(d->obj, "fx_sockets");
	struct fx_nic_conf conf;

	return m && bpf_map__autocreate(m) && !fx_nic_conf_read(graph, sub, &conf) &&
	       conf.ifindex == d->ifindex;
}

enum fx_rc fx_nic_keep_maps(const struct fx_nics *n, struct fx_nic_dev *d)
{
	static const char *const names[] = { "fx_counts", "fx_totals", "fx_qps", "fx_sockets" };
	const char *graph = n->bundle->image.hdr->name;
	char *dir = fx_pins_dir(graph);
	char *sub = fx_pins_nic(d->part->netdev);
	u32 kept = ARRAY_SIZE(names) - !has_sockets(graph, sub, d);
	enum fx_rc rc = FX_RC_OK;

	for (u32 i = 0; i < kept && rc == FX_RC_OK; i++) {
		struct bpf_map *m = bpf_object__find_map_by_name(d->obj, names[i]);
		char *path = fx_asprintf("%s/%s/maps/%s", dir, sub, names[i]);
		int fd = bpf_obj_get(path);

		/* without it they begin anew; a map of another size is no part of this */
		if (fd >= 0 && fx_map_fits(fd, m) && bpf_map__reuse_fd(m, fd)) {
			fx_err("%s cannot be used again: %s", path, strerror(errno));
			rc = FX_RC_SYSTEM;
		}
		if (fd >= 0)
			close(fd);
		free(path);
	}
	free(sub);
	free(dir);
	return rc;
}

/* ---- flags ------------------------------------------------------------ */

/*
 * Whose bundle it is: what is pinned, or what runs in its place since a
 * replacement was killed. 0, -ESTALE when it is of neither, another -errno.
 */
static int conf_of_bundle(const char *graph, const struct fx_bundle_nic *part,
			  struct fx_nic_conf *conf)
{
	char *graph_dir = fx_pins_dir(graph);
	char *sub = fx_pins_nic(part->netdev);
	char *next = fx_asprintf("%s/%s/" FX_NIC_NEXT, graph_dir, sub);
	u8 digest[FX_DIGEST_LEN];
	int err;

	fx_nic_digest(part, digest);
	err = fx_nic_runs(graph_dir, sub) == FX_NIC_RUNS_NEXT ?
	      fx_nic_conf_read_at(next, conf) : -ENOENT;
	if (err || memcmp(conf->object, digest, sizeof(digest)))
		err = fx_nic_conf_read(graph, sub, conf);
	if (!err && memcmp(conf->object, digest, sizeof(digest)))
		err = -ESTALE;
	free(next);
	free(sub);
	free(graph_dir);
	return err;
}

u32 fx_nic_keep_flags(const struct fx_nics *n, const struct fx_nic_dev *d)
{
	struct fx_nic_conf conf;

	if (!n->opt->repair || conf_of_bundle(n->bundle->image.hdr->name, d->part, &conf))
		return 0;
	return conf.flags & FX_NIC_F_AUDIT;
}

/*
 * What was by-passed before is in force again, as that is what was asked for; what
 * was by-passed since this command began stays so.
 */
static enum fx_rc keep_bypass(const struct fx_nic_dev *d, int old_conf)
{
	struct bpf_map *m = bpf_object__find_map_by_name(d->obj, "fx_conf");
	struct fx_nic_conf conf;
	const u32 zero = 0;
	int err;

	if (d->was_bypassed || old_conf < 0 ||
	    !fx_map_is(old_conf, sizeof(zero), sizeof(conf)) ||
	    bpf_map_lookup_elem(old_conf, &zero, &conf) || !(conf.flags & FX_NIC_F_BYPASS))
		return FX_RC_OK;
	err = fx_nic_conf_bypass(bpf_map__fd(m));
	if (err >= 0)
		return FX_RC_OK;
	fx_err("the policy of netdev '%s' was by-passed meanwhile, and what takes its place cannot be: %s",
	       d->part->netdev, strerror(-err));
	return FX_RC_SYSTEM;
}

/* The pinned fx_conf of a device, or -1. */
static int open_conf(const struct fx_nic_dev *d, const struct fx_pins *pins)
{
	char *sub = fx_pins_nic(d->part->netdev);
	char *path = fx_asprintf("%s/%s/maps/fx_conf", pins->dir, sub);
	int fd = bpf_obj_get(path);

	free(path);
	free(sub);
	return fd;
}

/* ---- replacing -------------------------------------------------------- */

static bool is_pinned_for(const struct fx_words *subs, const char *netdev)
{
	char *sub = fx_pins_nic(netdev);
	bool found = false;

	for (u32 i = 0; i < subs->n; i++)
		found = found || !strcmp(subs->word[i], sub);
	free(sub);
	return found;
}

enum fx_rc fx_nics_check_graph(const struct fx_bundle *b)
{
	const struct fx_image_hdr *hdr = b->image.hdr;
	struct fx_words subs = { 0 };
	struct fx_nic_conf conf;
	enum fx_rc rc = FX_RC_OK;

	fx_pins_list_nics(hdr->name, &subs);
	for (u32 i = 0; i < subs.n && rc == FX_RC_OK; i++) {
		/* what cannot be read is no graph's, and can be mended */
		if (fx_nic_conf_read(hdr->name, subs.word[i], &conf) ||
		    !memcmp(conf.digest, hdr->digest, sizeof(conf.digest)))
			continue;
		fx_err("the bundle's graph '%s' is not the one whose policy is on %s; detach first, or compile the bundle from the same graph file",
		       hdr->name, subs.word[i]);
		rc = FX_RC_INPUT;
	}
	fx_words_free(&subs);
	return rc;
}

enum fx_rc fx_nics_check_repair(const struct fx_bundle *b)
{
	const char *graph = b->image.hdr->name;
	enum fx_rc rc = fx_nics_check_graph(b);
	struct fx_nic_conf conf;

	for (u32 i = 0; i < b->n_nic && rc == FX_RC_OK; i++) {
		if (conf_of_bundle(graph, &b->nic[i], &conf) != -ESTALE)
			continue;
		fx_err("the policy '%s' on netdev '%s' is not the bundle's; repair with the bundle that was attached, or attach --replace",
		       conf.policy, b->nic[i].netdev);
		rc = FX_RC_INPUT;
	}
	return rc;
}

enum fx_rc fx_nics_check_replace(const struct fx_bundle *b)
{
	const char *graph = b->image.hdr->name;
	struct fx_words subs = { 0 };
	enum fx_rc rc = FX_RC_OK;
	bool same;

	fx_pins_list_nics(graph, &subs);
	same = subs.n == b->n_nic;
	for (u32 i = 0; i < b->n_nic && same; i++)
		same = is_pinned_for(&subs, b->nic[i].netdev);
	if (!same) {
		fx_err("the bundle is for %u network devices, and the policy of graph '%s' is on %u, or on others; `fabricctl detach %s`, then attach",
		       b->n_nic, graph, subs.n, graph);
		rc = FX_RC_INPUT;
	}
	fx_words_free(&subs);
	return rc == FX_RC_OK ? fx_nics_check_graph(b) : rc;
}

/*
 * Open what is pinned as link @i of a device, and what it runs. 0; -ENODEV when
 * it holds another device by now, as after a change of names; another -errno.
 */
static int open_old(struct fx_nic_dev *d, const char *dir, u32 i)
{
	struct bpf_link_info info = { 0 };
	char *sub = fx_pins_nic(d->part->netdev);
	char *path = fx_asprintf("%s/%s/%s", dir, sub, fx_nic_links[i].pin);
	u32 len = sizeof(info);
	int fd = bpf_obj_get(path), err = fd < 0 ? -errno : 0;

	free(path);
	free(sub);
	if (err)
		return err;
	d->old_link[i] = fd;
	if (bpf_link_get_info_by_fd(fd, &info, &len))
		return -errno;
	if (fx_nic_ifindex_of(&info) != d->ifindex)
		return -ENODEV;
	fd = bpf_prog_get_fd_by_id(info.prog_id);
	if (fd < 0)
		return -errno;
	d->old_prog[i] = fd;
	return 0;
}

static enum fx_rc not_replaced(const struct fx_nics *n, const struct fx_nic_dev *d,
			       u32 i, int err)
{
	const char *graph = n->bundle->image.hdr->name;

	if (err == -ENOLINK || err == -ENODEV)
		fx_err("netdev '%s' went away and took its programs along; when it is back, attach --repair puts them on again",
		       d->part->netdev);
	else if (err == -ENOENT)
		fx_err("the pins of netdev '%s' are incomplete; `fabricctl detach %s`, then attach",
		       d->part->netdev, graph);
	else
		fx_err("the %s program of netdev '%s' cannot be replaced: %s",
		       fx_nic_links[i].what, d->part->netdev, strerror(-err));
	return err == -ENOLINK || err == -ENODEV || err == -ENOENT ? FX_RC_INPUT :
								    FX_RC_SYSTEM;
}

static bool wants(const struct fx_nic_dev *d, u32 i)
{
	return d->wants[fx_nic_links[i].dir];
}

static enum fx_rc replace_link(struct fx_nics *n, struct fx_nic_dev *d,
			       const char *dir, u32 i)
{
	struct bpf_program *prog;
	int err;

	prog = bpf_object__find_program_by_name(d->obj, fx_nic_links[i].prog);
	err = open_old(d, dir, i);
	if (!err && bpf_link_update(d->old_link[i], bpf_program__fd(prog), NULL)) {
		err = -errno;
		/* it runs what it ran: there is nothing to take back */
		fx_close(d->old_prog[i]);
		d->old_prog[i] = 0;
	}
	return err ? not_replaced(n, d, i, err) : FX_RC_OK;
}

/* Where the new maps and programs are pinned until they count; to free(). */
static char *next_of(const struct fx_nic_dev *d)
{
	char *sub = fx_pins_nic(d->part->netdev);
	char *next = fx_asprintf("%s/" FX_NIC_NEXT, sub);

	free(sub);
	return next;
}

/* Pin the new maps and programs beside those that are there. */
static enum fx_rc pin_next(struct fx_nic_dev *d, struct fx_pins *pins)
{
	char *sub = fx_pins_nic(d->part->netdev), *next = next_of(d);
	enum fx_rc rc = FX_RC_OK;
	int old;

	/* what one that was killed has put in force is what is to be replaced */
	if (fx_nic_runs(pins->dir, sub) == FX_NIC_RUNS_NEXT)
		rc = fx_pins_swap(pins, next, sub);
	fx_pins_remove_sub(pins, next);
	if (rc == FX_RC_OK)
		rc = fx_pins_write(pins, next, d->obj);
	/* from here on a bypass finds both; before, it may have found the old one */
	old = open_conf(d, pins);
	if (rc == FX_RC_OK)
		rc = keep_bypass(d, old);
	fx_close(old);
	free(next);
	free(sub);
	return rc;
}

enum fx_rc fx_nics_replace(struct fx_nics *n, struct fx_pins *pins)
{
	enum fx_rc rc = FX_RC_OK;

	/* what can fail for other reasons than a device's comes first */
	for (u32 i = 0; i < n->n && rc == FX_RC_OK; i++)
		rc = pin_next(&n->dev[i], pins);
	for (u32 i = 0; i < n->n; i++)
		for (u32 j = 0; j < FX_NIC_LINKS && rc == FX_RC_OK; j++)
			if (wants(&n->dev[i], j))
				rc = replace_link(n, &n->dev[i], pins->dir, j);
	if (rc != FX_RC_OK)
		fx_nics_replace_undo(n, pins);
	return rc;
}

void fx_nics_replace_undo(struct fx_nics *n, struct fx_pins *pins)
{
	for (u32 i = 0; i < n->n; i++) {
		struct fx_nic_dev *d = &n->dev[i];
		char *next = next_of(d);

		for (u32 j = 0; j < FX_NIC_LINKS; j++)
			if (d->old_prog[j] &&
			    bpf_link_update(d->old_link[j], d->old_prog[j], NULL) &&
			    errno != ENOLINK)
				fx_err("the %s program of netdev '%s' cannot be put back: %s; attach --replace again",
				       fx_nic_links[j].what, d->part->netdev,
				       strerror(errno));
		fx_pins_remove_sub(pins, next);
		free(next);
	}
}

enum fx_rc fx_nics_replace_done(struct fx_nics *n, struct fx_pins *pins)
{
	enum fx_rc rc = FX_RC_OK;

	/* it is in force on all: one whose pins are not in place is no others' matter */
	for (u32 i = 0; i < n->n; i++) {
		char *sub = fx_pins_nic(n->dev[i].part->netdev);
		char *next = next_of(&n->dev[i]);

		if (fx_pins_swap(pins, next, sub) != FX_RC_OK)
			rc = FX_RC_SYSTEM;
		free(next);
		free(sub);
	}
	if (rc != FX_RC_OK)
		fx_err("the new policy of graph '%s' is in force all the same; attach --repair with its bundle puts the pins in order",
		       n->bundle->image.hdr->name);
	return rc;
}

/* ---- repairing -------------------------------------------------------- */

/* Let go of what a device still holds: half of its programs help nobody. */
static void let_go(const struct fx_nic_dev *d, const struct fx_pins *pins)
{
	char *sub = fx_pins_nic(d->part->netdev);

	for (u32 i = 0; i < FX_NIC_LINKS; i++)
		fx_nic_end_link(pins->dir, sub, fx_nic_links[i].pin);
	free(sub);
}

/* A replacement that was killed before it was in force has left what it pinned. */
static void forget_next(const struct fx_nics *n, struct fx_pins *pins)
{
	for (u32 i = 0; i < n->bundle->n_nic; i++) {
		char *sub = fx_pins_nic(n->bundle->nic[i].netdev);
		char *next = fx_asprintf("%s/" FX_NIC_NEXT, sub);

		fx_pins_remove_sub(pins, next);
		free(next);
		free(sub);
	}
}

enum fx_rc fx_nics_repair(struct fx_nics *n, struct fx_pins *pins)
{
	enum fx_rc rc = n->away ? FX_RC_INPUT : FX_RC_OK, one;

	for (u32 i = 0; i < n->n; i++) {
		struct fx_nic_dev *d = &n->dev[i];
		char *sub = fx_pins_nic(d->part->netdev);
		int old = open_conf(d, pins);

		let_go(d, pins);
		one = fx_nic_attach_dev(d);
		if (one == FX_RC_OK) {
			/* the maps that count on are held by the new programs */
			fx_pins_remove_nic(pins, sub);
			one = fx_nic_pin_dev(d, pins);
		}
		if (one == FX_RC_OK)
			one = keep_bypass(d, old);
		fx_close(old);
		d->repaired = one == FX_RC_OK;
		if (one != FX_RC_OK)
			rc = one;
		free(sub);
	}
	if (rc == FX_RC_OK)
		forget_next(n, pins);
	return rc;
}

void fx_nics_repaired(const struct fx_nics *n, struct fx_words *names)
{
	for (u32 i = 0; i < n->n; i++) {
		char *name = fx_asprintf("nic %s", n->dev[i].part->netdev);

		if (n->dev[i].repaired)
			fx_words_add(names, name);
		free(name);
	}
}
