// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "diag.h"
#include "dpus.h"
#include "json.h"
#include "nic.h"
#include "nic_dev.h"
#include "nic_rows.h"
#include "owner.h"
#include "pins.h"
#include "system.h"
#include "util.h"

static const char *const dir_name[FX_DIRS] = {
	[FX_DIR_NONE] = "-", [FX_DIR_IN] = "in", [FX_DIR_OUT] = "out",
};

/* ---- reading ---------------------------------------------------------- */

static int open_map(const char *dir, const char *name, u32 value)
{
	char *path = fx_asprintf("%s/maps/%s", dir, name);
	int fd = bpf_obj_get(path), err = fd < 0 ? -errno : 0;

	free(path);
	if (!err && !fx_map_is(fd, sizeof(u32), value)) {
		close(fd);
		err = -EPROTO;
	}
	return err ? err : fd;
}

/* Entries 0 to @n of an array. */
static int read_array(const char *dir, const char *name, u32 n, void *values, u32 size)
{
	int fd = open_map(dir, name, size), err = 0;

	if (fd < 0)
		return fd;
	for (u32 i = 0; i < n && !err; i++)
		if (bpf_map_lookup_elem(fd, &i, (char *)values + (size_t)i * size))
			err = -errno;
	close(fd);
	return err;
}

/* The same of a per-CPU array of u64s, summed. */
static int read_sums(const char *dir, const char *name, u32 n, void *sums, u32 size)
{
	int cpus = libbpf_num_possible_cpus(), fd, err = 0;
	const u32 words = size / sizeof(u64);
	u64 *each;

	if (cpus < 1)
		return -EINVAL;
	fd = open_map(dir, name, size);
	if (fd < 0)
		return fd;
	each = fx_calloc(cpus, size);
	for (u32 i = 0; i < n && !err; i++) {
		u64 *sum = (u64 *)((char *)sums + (size_t)i * size);

		if (bpf_map_lookup_elem(fd, &i, each))
			err = -errno;
		for (u32 j = 0; j < words * cpus && !err; j++)
			sum[j % words] += each[j];
	}
	free(each);
	close(fd);
	return err;
}

static int read_counts(const char *dir, struct fx_nic_view *v)
{
	struct fx_nic_conf *c = &v->conf;
	int err;

	v->row = fx_calloc(c->rows + 1, sizeof(*v->row));
	v->count = fx_calloc(c->rows + 1, sizeof(*v->count));
	err = read_array(dir, "fx_rows", c->rows, v->row, sizeof(*v->row));
	if (!err)
		err = read_sums(dir, "fx_counts", c->rows, v->count,
				sizeof(*v->count));
	if (!err)
		err = read_sums(dir, "fx_totals", FX_DIRS, v->total,
				sizeof(v->total[0]));
	for (u32 i = 0; i < c->rows; i++) {
		v->row[i].name[FX_NAME_LEN - 1] = '\0';
		if (v->row[i].dir >= FX_DIRS)
			v->row[i].dir = FX_DIR_NONE;
	}
	return err;
}

/* What the links hold and run, beside what is pinned. */
static void look_at_links(const char *graph_dir, const char *sub, struct fx_nic_view *v)
{
	const u32 named = if_nametoindex(v->conf.netdev);

	/* all that are pinned hold a device, and one is */
	for (u32 i = 0; i < FX_NIC_LINKS; i++) {
		int holds = fx_nic_link_ifindex(graph_dir, sub, i);

		v->attached = v->attached || holds > 0;
		v->linked = v->linked || holds >= 0;
		if (holds > 0 && (u32)holds != named)
			v->amiss = "its device has another name by now, or is in another network namespace";
		if (!holds) {
			v->attached = false;
			break;
		}
	}
}

static int read_from(const char *dir, struct fx_nic_view *v)
{
	struct fx_nic_conf *c = &v->conf;
	int err = read_array(dir, "fx_conf", 1, c, sizeof(*c));

	if (err)
		return err;
	/* whoever may write the maps may do worse; still, ends are ends */
	c->graph[FX_NAME_LEN - 1] = '\0';
	c->policy[FX_NAME_LEN - 1] = '\0';
	c->netdev[FX_NIC_NAME_LEN - 1] = '\0';
	return c->rows > FX_NIC_MAX_FLOWS ? -EPROTO : read_counts(dir, v);
}

static void free_counts(struct fx_nic_view *v)
{
	free(v->row);
	free(v->count);
	v->row = NULL;
	v->count = NULL;
}

/* Of what runs: in a replacement, and after one that was killed, that is the next. */
static int read_view(const char *graph_dir, const char *sub, struct fx_nic_view *v)
{
	enum fx_nic_runs runs = fx_nic_runs(graph_dir, sub);
	char *dir = fx_asprintf("%s/%s%s", graph_dir, sub,
				runs == FX_NIC_RUNS_NEXT ? "/" FX_NIC_NEXT : "");
	int err = read_from(dir, v);

	/* it took its place under our eyes */
	if (err == -ENOENT && runs == FX_NIC_RUNS_NEXT) {
		free(dir);
		free_counts(v);
		memset(v, 0, sizeof(*v));
		dir = fx_asprintf("%s/%s", graph_dir, sub);
		runs = fx_nic_runs(graph_dir, sub);
		err = read_from(dir, v);
	}
	if (!err && runs != FX_NIC_RUNS_PINNED)
		v->amiss = "half replaced: attach --repair mends that";
	if (!err)
		look_at_links(graph_dir, sub, v);
	free(dir);
	return err;
}

int fx_nic_views_read(const char *graph, struct fx_nic_views *v)
{
	char *dir = fx_pins_dir(graph);
	struct fx_words subs = { 0 };
	int err = 0;

	memset(v, 0, sizeof(*v));
	fx_pins_list_nics(graph, &subs);
	for (u32 i = 0; i < subs.n && !err; i++) {
		fx_grow(v->view, v->n, v->cap);
		memset(&v->view[v->n], 0, sizeof(*v->view));
		err = read_view(dir, subs.word[i], &v->view[v->n++]);
		/* detached under our eyes, or half of an attach that was killed */
		if (err == -ENOENT) {
			free_counts(&v->view[--v->n]);
			err = 0;
		} else if (err) {
			fx_err("%s/%s cannot be read: %s", dir, subs.word[i],
			       err == -EPROTO ? "it is of another version of fabricctl" :
			       strerror(-err));
		}
	}
	if (!err)
		err = fx_dpu_views_read(graph, v);
	for (u32 i = 0; i < v->n && fx_owner_of(graph) == FX_HOLDER_DIED; i++) {
		v->view[i].attached = false;
		v->view[i].gone = "the command that attached it has ended";
	}
	if (!err)
		fx_agent_look(graph, &v->agent);
	if (err)
		fx_nic_views_free(v);
	fx_words_free(&subs);
	free(dir);
	return err;
}

void fx_nic_views_free(struct fx_nic_views *v)
{
	for (u32 i = 0; i < v->n; i++)
		free_counts(&v->view[i]);
	free(v->view);
	memset(v, 0, sizeof(*v));
}

bool fx_nic_views_alone(const struct fx_nic_views *v)
{
	return v->n && v->view[0].conf.flags & FX_NIC_F_ALONE;
}

static void subtract(void *old, const void *now, size_t size)
{
	const u64 *n = now;
	u64 *o = old;

	for (size_t i = 0; i < size / sizeof(*o); i++)
		o[i] = n[i] - o[i];
}

void fx_nic_views_diff(struct fx_nic_views *old, const struct fx_nic_views *now)
{
	for (u32 i = 0; i < old->n && i < now->n; i++) {
		struct fx_nic_view *o = &old->view[i];
		const struct fx_nic_view *n = &now->view[i];

		subtract(o->total, n->total, sizeof(o->total));
		for (u32 j = 0; j < o->conf.rows && j < n->conf.rows; j++)
			subtract(&o->count[j], &n->count[j], sizeof(o->count[j]));
	}
}

/* ---- telling ---------------------------------------------------------- */

const char *fx_nic_state(const struct fx_nic_view *v)
{
	if (v->gone)
		return v->gone;
	if (!v->attached)
		return "its device is gone";
	if (v->conf.flags & FX_NIC_F_BYPASS)
		return "by-passed";
	if (v->amiss)
		return v->amiss;
	return v->conf.flags & FX_NIC_F_AUDIT ? "audit" : "attached";
}

void fx_nic_count_put(struct json_object *o, const struct fx_nic_count *c)
{
	fx_json_u64(o, "packets", c->packets);
	fx_json_u64(o, "bytes", c->bytes);
	fx_json_u64(o, "refused", c->refused);
	fx_json_u64(o, "refused_bytes", c->refused_bytes);
	fx_json_u64(o, "marked", c->marked);
	fx_json_u64(o, "redirected", c->redirected);
	fx_json_u64(o, "failed", c->failed);
	fx_json_u64(o, "repeated", c->repeated);
}

static struct json_object *edge_json(const struct fx_nic_row *r,
				     const struct fx_nic_count *c)
{
	struct json_object *o = fx_json_object();

	fx_json_str(o, "class", r->name);
	fx_json_u64(o, "edge", r->edge);
	fx_json_str(o, "dir", dir_name[r->dir]);
	if (r->roce && r->key.qp)
		fx_json_u64(o, "qp", r->key.qp);
	fx_nic_count_put(o, c);
	return o;
}

static struct json_object *total_json(const struct fx_nic_total *t)
{
	struct json_object *o = fx_json_object();

	fx_json_u64(o, "packets", t->packets);
	fx_json_u64(o, "no_edge", t->no_edge);
	fx_json_u64(o, "malformed", t->malformed);
	fx_json_u64(o, "malformed_refused", t->malformed_refused);
	fx_json_u64(o, "untracked", t->untracked);
	return o;
}

static struct json_object *views_json(const struct fx_nic_views *v, bool dpu)
{
	struct json_object *all = fx_json_array(), *o, *edges;

	for (u32 i = 0; i < v->n; i++) {
		const struct fx_nic_view *d = &v->view[i];

		if (d->dpu != dpu)
			continue;
		o = fx_json_object();
		fx_json_str(o, dpu ? "dpu" : "netdev", d->conf.netdev);
		fx_json_u64(o, "place", d->conf.place);
		fx_json_str(o, "policy", d->conf.policy);
		fx_json_str(o, "state", fx_nic_state(d));
		for (u32 dir = FX_DIR_IN; dir < FX_DIRS; dir++)
			fx_json_put(o, dir_name[dir], total_json(&d->total[dir]));
		edges = fx_json_array();
		for (u32 j = 0; j < d->conf.rows; j++)
			fx_json_add(edges, edge_json(&d->row[j], &d->count[j]));
		fx_json_put(o, "edges", edges);
		fx_json_add(all, o);
	}
	return all;
}

void fx_nic_views_put(struct json_object *o, const struct fx_nic_views *v)
{
	static const char *const key[] = { "nic", "dpu" };

	for (u32 dpu = 0; dpu < ARRAY_SIZE(key); dpu++)
		for (u32 i = 0; i < v->n; i++)
			if (v->view[i].dpu == dpu) {
				fx_json_put(o, key[dpu], views_json(v, dpu));
				break;
			}
	fx_agent_put(o, &v->agent);
}

struct json_object *fx_nic_graph_json(const struct fx_nic_views *v)
{
	const struct fx_nic_conf *c = &v->view[0].conf;
	struct json_object *o = fx_json_object();
	bool attached = false;

	for (u32 i = 0; i < v->n; i++)
		attached = attached || v->view[i].attached;
	fx_json_str(o, "graph", c->graph);
	fx_json_hex(o, "digest", c->digest, sizeof(c->digest));
	fx_json_str(o, "policy", c->policy);
	fx_json_bool(o, "attached", attached);
	fx_json_bool(o, "bypassed", c->flags & FX_NIC_F_BYPASS);
	fx_json_bool(o, "audit", c->flags & FX_NIC_F_AUDIT);
	fx_nic_views_put(o, v);
	return o;
}

void fx_nic_views_print(const struct fx_nic_views *v)
{
	printf("%-15s %-3s %-24s %8s %14s %18s %12s %16s %10s %10s %10s %8s\n",
	       "NETDEV", "DIR", "CLASS", "EDGE", "PACKETS", "BYTES", "REFUSED",
	       "REFUSED BYTES", "MARKED", "REDIRECTED", "REPEATED", "QP");
	for (u32 i = 0; i < v->n; i++) {
		const struct fx_nic_view *d = &v->view[i];

		for (u32 j = 0; j < d->conf.rows; j++) {
			const struct fx_nic_row *r = &d->row[j];
			const struct fx_nic_count *c = &d->count[j];

			printf("%-15s %-3s %-24s %8u %14llu %18llu %12llu %16llu %10llu %10llu %10llu",
			       d->conf.netdev, dir_name[r->dir], r->name, r->edge,
			       c->packets, c->bytes, c->refused,
			       c->refused_bytes, c->marked, c->redirected,
			       c->repeated);
			if (r->roce && r->key.qp)
				printf(" %8u\n", r->key.qp);
			else
				printf(" %8s\n", r->roce ? "none" : "-");
		}
	}
	printf("\n%-15s %-3s %14s %14s %14s %14s  %s\n", "NETDEV", "DIR", "PACKETS",
	       "NO EDGE", "MALFORMED", "OF IT REFUSED", "STATE");
	for (u32 i = 0; i < v->n; i++) {
		const struct fx_nic_view *d = &v->view[i];

		for (u32 dir = FX_DIR_IN; dir < FX_DIRS; dir++)
			printf("%-15s %-3s %14llu %14llu %14llu %14llu  %s\n",
			       d->conf.netdev, dir_name[dir], d->total[dir].packets,
			       d->total[dir].no_edge, d->total[dir].malformed,
			       d->total[dir].malformed_refused, fx_nic_state(d));
	}
	if (*fx_agent_text(&v->agent))
		printf("\nagent %u: %s\n", v->agent.pid, fx_agent_text(&v->agent));
}
