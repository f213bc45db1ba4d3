// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The requests of the control socket. Whoever may write it may do all of this;
 * still every length, number and name is checked before it is used.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "dpu.h"

#define SEALS	(F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK)

/* An answer that grows; what does not fit is not written. */
struct answer {
	struct fx_dpu_reply *reply;
	size_t size;
};

static int refuse(struct answer *a, int err, const char *what)
{
	snprintf(a->reply->why, sizeof(a->reply->why), "%s", what);
	return err;
}

/* The name's bytes are the message's: it has an end, or it is none. */
static bool is_name(const char *name)
{
	return *name && memchr(name, 0, FX_NAME_LEN);
}

static int no_name(struct answer *a)
{
	return refuse(a, -EINVAL, "the request has a name without an end");
}

/* ---- descriptors ------------------------------------------------------ */

/* The bytes of a sealed memfd, at most @max, to free(). */
static int read_fd(int fd, size_t max, void **data, size_t *size)
{
	struct stat st;
	int seals = fcntl(fd, F_GET_SEALS);
	size_t got = 0;

	if (seals < 0 || (seals & SEALS) != SEALS || fstat(fd, &st) || !S_ISREG(st.st_mode))
		return -EINVAL;
	if (st.st_size <= 0 || (u64)st.st_size > max)
		return -EFBIG;
	*data = malloc(st.st_size);
	if (!*data)
		return -ENOMEM;
	while (got < (size_t)st.st_size) {
		ssize_t n = pread(fd, (char *)*data + got, st.st_size - got, got);

		if (n <= 0) {
			free(*data);
			*data = NULL;
			return -EIO;
		}
		got += n;
	}
	*size = got;
	return 0;
}

static int fd_failed(struct answer *a, const char *part, int err)
{
	const char *why = err == -EINVAL ? "this descriptor is no sealed memfd" :
			  err == -EFBIG ? "it is empty or too large" : strerror(-err);

	snprintf(a->reply->why, sizeof(a->reply->why), "%s: %s", part, why);
	return err;
}

/* ---- commands --------------------------------------------------------- */

static int do_info(struct fx_dpu_state *dpu, const struct fx_dpu_request *r, struct answer *a)
{
	struct fx_dpu_info *i = (void *)a->reply;

	(void)r;
	strcpy(i->dpu, dpu->name);
	i->pid = getpid();
	i->ports = dpu->ports;
	i->workers = dpu->workers;
	i->can = FX_DPU_CAN_QP | FX_DPU_CAN_DECIDING;
	i->life = dpu->life;
	i->loads = dpu->loads;
	if (dpu->loaded) {
		strcpy(i->graph, dpu->loaded->conf.graph);
		i->jit = !!dpu->loaded->prog.jit;
		i->flags = __atomic_load_n(&dpu->loaded->conf.flags, __ATOMIC_RELAXED);
		memcpy(i->object, dpu->loaded->conf.object, sizeof(i->object));
	}
	for (u32 w = 0; w < dpu->workers; w++) {
		i->received += __atomic_load_n(&dpu->traffic[w].received, __ATOMIC_RELAXED);
		i->sent += __atomic_load_n(&dpu->traffic[w].sent, __ATOMIC_RELAXED);
		i->unsent += __atomic_load_n(&dpu->traffic[w].unsent, __ATOMIC_RELAXED);
	}
	a->size = sizeof(*i);
	return 0;
}

static int do_load(struct fx_dpu_state *dpu, const struct fx_dpu_request *r, struct answer *a)
{
	static const struct {
		const char *part;
		size_t max;
	} parts[FX_DPU_FDS] = {
		[FX_DPU_FD_ARTIFACT] = { "artifact.bin", sizeof(struct fx_dpu_artifact) +
					 FX_DPU_MAX_MAPS * sizeof(struct fx_dpu_map) },
		[FX_DPU_FD_OBJECT] = { "policy.bpf.o", FX_DPU_MAX_OBJECT },
		[FX_DPU_FD_FLOWS] = { "flows.bin", FX_NIC_MAX_FLOWS * sizeof(struct fx_nic_flow) },
		[FX_DPU_FD_NAMES] = { "names", FX_NIC_MAX_FLOWS * FX_NAME_LEN },
	};
	const struct fx_dpu_load *load = r->msg;
	struct fx_dpu_files f = { 0 };

	if (load->flags & ~(FX_NIC_F_AUDIT | FX_NIC_F_ALONE) || load->replace >= FX_DPU_REPLACES)
		return refuse(a, -EINVAL, "the request has flags of another version");
	for (u32 i = 0; i < FX_DPU_FDS; i++) {
		int err = read_fd(r->fd[i], parts[i].max, &f.data[i], &f.size[i]);

		if (!err)
			continue;
		fx_dpu_files_free(&f);
		return fd_failed(a, parts[i].part, err);
	}
	return fx_dpu_load(dpu, &f, load, r->client, a->reply->why);
}

/* What is loaded is the graph that is meant. */
static int check_loaded(struct fx_dpu_state *dpu, const char *graph, struct answer *a)
{
	if (!is_name(graph))
		return no_name(a);
	if (dpu->loaded && !strcmp(dpu->loaded->conf.graph, graph))
		return 0;
	snprintf(a->reply->why, sizeof(a->reply->why), "graph '%s' is not loaded there",
		 graph);
	return -ENOENT;
}

static int check_graph(struct fx_dpu_state *dpu, const struct fx_dpu_request *r,
		       struct answer *a)
{
	const struct fx_dpu_graph *g = r->msg;

	if (g->reserved || (g->undo && g->msg.cmd != FX_DPU_SETTLE) ||
	    g->undo > 1)
		return refuse(a, -EINVAL, "the request is of another version");
	return check_loaded(dpu, g->graph, a);
}

static int do_unload(struct fx_dpu_state *dpu, const struct fx_dpu_request *r,
		     struct answer *a)
{
	int err = check_graph(dpu, r, a);

	return err ? err : fx_dpu_unload(dpu, a->reply->why);
}

static int do_bypass(struct fx_dpu_state *dpu, const struct fx_dpu_request *r,
		     struct answer *a)
{
	int err = check_graph(dpu, r, a);

	if (!err)
		__atomic_fetch_or(&dpu->loaded->conf.flags, FX_NIC_F_BYPASS, __ATOMIC_RELAXED);
	/* it is of the graph as well, and may be put back */
	if (!err && dpu->before)
		__atomic_fetch_or(&dpu->before->conf.flags, FX_NIC_F_BYPASS, __ATOMIC_RELAXED);
	return err;
}

static int do_settle(struct fx_dpu_state *dpu, const struct fx_dpu_request *r,
		     struct answer *a)
{
	const struct fx_dpu_graph *g = r->msg;
	int err = check_graph(dpu, r, a);

	return err ? err : fx_dpu_settle(dpu, g->undo, r->client, a->reply->why);
}

static int do_tag(struct fx_dpu_state *dpu, const struct fx_dpu_request *r, struct answer *a)
{
	const struct fx_dpu_tag *t = r->msg;
	int err = check_loaded(dpu, t->graph, a);

	if (err)
		return err;
	if (t->reserved || (t->dir != FX_DIR_IN && t->dir != FX_DIR_OUT))
		return refuse(a, -EINVAL, "the request is of another version");
	if (t->qp && (t->qp < FX_QP_MIN || t->qp > FX_QP_MAX))
		return refuse(a, -ERANGE, "no connection has a queue pair of that number");
	return fx_dpu_tag(dpu, t->edge, t->dir, t->qp, a->reply->why);
}

static int do_stat(struct fx_dpu_state *dpu, const struct fx_dpu_request *r, struct answer *a)
{
	const struct fx_dpu_stat *s = r->msg;
	struct fx_dpu_stats *out = (void *)a->reply;
	const struct fx_dpu_loaded *l = dpu->loaded;
	u32 room = (FX_DPU_MAX_MSG - sizeof(*out)) / sizeof(out->row[0]);

	if (s->reserved)
		return refuse(a, -EINVAL, "the request is of another version");
	if (!l)
		return refuse(a, -ENOENT, "nothing is loaded");
	if (s->first > l->conf.rows)
		return refuse(a, -ERANGE, "there is no such row");
	out->conf = l->conf;
	out->loads = dpu->loads;
	for (u32 i = 0; i < FX_DIRS; i++)
		fx_dpu_sum_total(l, i, &out->total[i]);
	out->first = s->first;
	out->n = l->conf.rows - s->first < room ? l->conf.rows - s->first : room;
	for (u32 i = 0; i < out->n; i++) {
		out->row[i].row = l->row[s->first + i];
		fx_dpu_sum_row(l, s->first + i, &out->row[i].count);
	}
	a->size = sizeof(*out) + out->n * sizeof(out->row[0]);
	return 0;
}

/* The map that a request is about, or NULL after the sentence. */
static struct fx_dpu_mem *find_map(struct fx_dpu_state *dpu, const struct fx_dpu_map_io *io,
				   struct answer *a, int *err)
{
	struct fx_dpu_mem *m;

	if (!is_name(io->map)) {
		*err = no_name(a);
		return NULL;
	}
	m = dpu->loaded ? fx_dpu_maps_find(&dpu->loaded->maps, io->map) : NULL;
	if (m)
		return m;
	snprintf(a->reply->why, sizeof(a->reply->why), dpu->loaded ?
		 "the policy has no map '%s'" : "nothing is loaded that has a map '%s'", io->map);
	*err = -ENOENT;
	return NULL;
}

static bool class_is(const struct fx_dpu_mem *m, const char *class)
{
	return !strcmp(m->desc.cls, class);
}

static int do_map_read(struct fx_dpu_state *dpu, const struct fx_dpu_request *r,
		       struct answer *a)
{
	const struct fx_dpu_map_io *io = r->msg;
	struct fx_dpu_map_data *out = (void *)a->reply;
	struct fx_dpu_mem *m;
	int err = 0;
	u32 room;

	m = find_map(dpu, io, a, &err);
	if (!m)
		return err;
	if (io->first > m->desc.entries)
		return refuse(a, -ERANGE, "the map has no such entry");
	room = (FX_DPU_MAX_MSG - sizeof(*out)) / m->desc.value_size;
	out->map = m->desc;
	out->epoch = m->epoch;
	out->loads = dpu->loads;
	out->first = io->first;
	out->n = m->desc.entries - io->first;
	out->n = out->n < io->n ? out->n : io->n;
	out->n = out->n < room ? out->n : room;
	fx_dpu_mem_read(m, out->first, out->n, out->value);
	a->size = sizeof(*out) + (size_t)out->n * m->desc.value_size;
	return 0;
}

static int do_map_write(struct fx_dpu_state *dpu, const struct fx_dpu_request *r,
			struct answer *a)
{
	const struct fx_dpu_map_io *io = r->msg;
	struct fx_dpu_mem *m;
	int err = 0;

	m = find_map(dpu, io, a, &err);
	if (!m)
		return err;
	if (class_is(m, "counter") || class_is(m, "snapshot"))
		return refuse(a, -EPERM, class_is(m, "counter") ?
			      "a map of class counter is the policy's to add to" :
			      "a map of class snapshot is published as a whole");
	if (io->n != 1 || io->first >= m->desc.entries)
		return refuse(a, -ERANGE, "the map has no such entry");
	if (r->size != sizeof(*io) + m->desc.value_size)
		return refuse(a, -EINVAL, "the value has another size than the map's");
	fx_dpu_mem_write(m, io->first, io + 1);
	return 0;
}

static int do_map_publish(struct fx_dpu_state *dpu, const struct fx_dpu_request *r,
			  struct answer *a)
{
	const struct fx_dpu_map_io *io = r->msg;
	struct fx_dpu_mem *m;
	void *values = NULL;
	int err = 0;
	size_t size, want;

	m = find_map(dpu, io, a, &err);
	if (!m)
		return err;
	if (!class_is(m, "snapshot"))
		return refuse(a, -EPERM, "only a map of class snapshot is published");
	want = (size_t)m->desc.entries * m->desc.value_size;
	err = read_fd(r->fd[0], want, &values, &size);
	if (err)
		return fd_failed(a, "values", err);
	if (size == want)
		err = fx_dpu_publish(dpu, m, values, a->reply->why);
	else
		err = refuse(a, -EINVAL, "the values have another size than the map's");
	free(values);
	return err;
}

static int do_quit(struct fx_dpu_state *dpu, const struct fx_dpu_request *r, struct answer *a)
{
	(void)r;
	(void)a;
	__atomic_store_n(&dpu->quit, true, __ATOMIC_RELAXED);
	return 0;
}

static const struct {
	size_t size;
	bool longer;		/* what follows is the command's to check */
	u32 fds;
	int (*run)(struct fx_dpu_state *dpu, const struct fx_dpu_request *r, struct answer *a);
} commands[FX_DPU_CMDS] = {
	[FX_DPU_INFO] = { sizeof(struct fx_dpu_msg), .run = do_info },
	[FX_DPU_LOAD] = { sizeof(struct fx_dpu_load), .fds = FX_DPU_FDS, .run = do_load },
	[FX_DPU_UNLOAD] = { sizeof(struct fx_dpu_graph), .run = do_unload },
	[FX_DPU_STAT] = { sizeof(struct fx_dpu_stat), .run = do_stat },
	[FX_DPU_MAP_READ] = { sizeof(struct fx_dpu_map_io), .run = do_map_read },
	[FX_DPU_MAP_WRITE] = { sizeof(struct fx_dpu_map_io), .longer = true, .run = do_map_write },
	[FX_DPU_MAP_PUBLISH] = { sizeof(struct fx_dpu_map_io), .fds = 1, .run = do_map_publish },
	[FX_DPU_BYPASS] = { sizeof(struct fx_dpu_graph), .run = do_bypass },
	[FX_DPU_SETTLE] = { sizeof(struct fx_dpu_graph), .run = do_settle },
	[FX_DPU_TAG] = { sizeof(struct fx_dpu_tag), .run = do_tag },
	[FX_DPU_QUIT] = { sizeof(struct fx_dpu_msg), .run = do_quit },
};

static int dispatch(struct fx_dpu_state *dpu, const struct fx_dpu_request *r, struct answer *a)
{
	const struct fx_dpu_msg *m = r->msg;

	if (m->size != r->size)
		return refuse(a, -EINVAL, "the message has another size than it says");
	if (m->version != FX_DPU_VERSION || m->reserved)
		return refuse(a, -EPROTO, "the message is of another version");
	if (m->cmd >= FX_DPU_CMDS || !commands[m->cmd].run)
		return refuse(a, -EOPNOTSUPP, "there is no such command");
	if (r->size < commands[m->cmd].size ||
	    (r->size > commands[m->cmd].size && !commands[m->cmd].longer))
		return refuse(a, -EINVAL, "the message has not the size of its command");
	if (r->n_fd != commands[m->cmd].fds)
		return refuse(a, -EINVAL, "the message has not the descriptors of its command");
	return commands[m->cmd].run(dpu, r, a);
}

size_t fx_dpu_command(struct fx_dpu_state *dpu, const struct fx_dpu_request *r, void *out)
{
	struct answer a = { .reply = out, .size = sizeof(struct fx_dpu_reply) };
	const struct fx_dpu_msg *m = r->msg;

	memset(out, 0, FX_DPU_MAX_MSG);
	a.reply->error = dispatch(dpu, r, &a);
	if (a.reply->error) {
		/* what was begun of an answer is none */
		a.size = sizeof(*a.reply);
		if (!*a.reply->why)
			snprintf(a.reply->why, sizeof(a.reply->why), "%s",
				 strerror(-a.reply->error));
	}
	a.reply->msg = (struct fx_dpu_msg){ .size = a.size, .version = FX_DPU_VERSION,
					    .cmd = m->cmd, .seq = m->seq };
	return a.size;
}
