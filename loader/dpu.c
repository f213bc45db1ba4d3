// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "dpu.h"
#include "util.h"

#define TORN_TRIES	64	/* what changed while it was read is read again */

struct fx_dpu {
	char name[FX_NIC_NAME_LEN];
	int fd;
	u32 seq;
	u32 limit_ms;		/* 0: FX_DPU_WAIT_MS, and then it is given up */
	s64 until;		/* with a limit: when waiting ends, ms */
	bool owed;		/* an answer to the last request */
	bool late;		/* it has come since: in @in, and what it comes to */
	int late_err;
	size_t asked;		/* bytes of that request, in @before */
	u16 cmd;		/* that request's, and how long its answer is at least */
	size_t answer;
	char why[FX_DPU_WHY_LEN + 64];
	/* messages have fields of eight bytes */
	u64 in[FX_DPU_MAX_MSG / 8], out[FX_DPU_MAX_MSG / 8], before[FX_DPU_MAX_MSG / 8];
	/* with a limit: a map of several pages that is not read to its end */
	struct {
		char map[FX_NAME_LEN];
		char *rows;
		u32 first;
		u64 epoch, loads;
	} part;
};

bool fx_dpu_name_ok(const char *name)
{
	size_t len = strlen(name), i = 0;

	while (i < len && (fx_is_word(name[i]) || name[i] == '-'))
		i++;
	return len && len < FX_NIC_NAME_LEN && i == len && *name != '-';
}

static int fail(struct fx_dpu *d, int err, const char *fmt, ...) fx_printf(3, 4);

static int fail(struct fx_dpu *d, int err, const char *fmt, ...)
{
	va_list ap;
	int n;

	n = snprintf(d->why, sizeof(d->why), "dpu '%s': ", d->name);
	va_start(ap, fmt);
	vsnprintf(d->why + n, sizeof(d->why) - n, fmt, ap);
	va_end(ap);
	return err;
}

const char *fx_dpu_why(const struct fx_dpu *d)
{
	return d->why;
}

/* ---- the connection --------------------------------------------------- */

static int not_there(struct fx_dpu *d, int err)
{
	if (err == -ENOENT || err == -ECONNREFUSED)
		return fail(d, -ECONNREFUSED, "no fabric-dpu of this name is running; start it: fabric-dpu %s ...",
			    d->name);
	/* who is silent makes room sooner than that, so it does not look at who waits */
	if (err == -EAGAIN)
		return fail(d, -EAGAIN, "it does not answer, and others wait for it already: it hangs, or has more clients than it can serve; end it, or them");
	return fail(d, err, "its control socket cannot be reached: %s", strerror(-err));
}

static s64 now_ms(void)
{
	return fx_monotonic_ns() / 1000000;
}

void fx_dpu_again(struct fx_dpu *d)
{
	d->until = now_ms() + d->limit_ms;
}

int fx_dpu_open_within(const char *name, u32 limit_ms, struct fx_dpu **out)
{
	const u32 ms = limit_ms ? limit_ms : FX_DPU_WAIT_MS;
	const struct timeval limit = { .tv_sec = ms / 1000, .tv_usec = ms % 1000 * 1000 };
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	struct fx_dpu *d = fx_calloc(1, sizeof(*d));

	*out = d;
	d->fd = -1;
	d->limit_ms = limit_ms;
	fx_dpu_again(d);
	if (!fx_dpu_name_ok(name)) {
		snprintf(d->why, sizeof(d->why), "'%.64s' cannot name a DPU", name);
		return -EINVAL;
	}
	strcpy(d->name, name);
	snprintf(addr.sun_path, sizeof(addr.sun_path), FX_DPU_SOCKET, name);
	d->fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	/* the bound on connecting as well, should it not be answered */
	if (d->fd < 0 ||
	    setsockopt(d->fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit)) ||
	    connect(d->fd, (struct sockaddr *)&addr, sizeof(addr)))
		return not_there(d, -errno);
	return 0;
}

int fx_dpu_open(const char *name, struct fx_dpu **out)
{
	return fx_dpu_open_within(name, 0, out);
}

void fx_dpu_close(struct fx_dpu *d)
{
	if (!d)
		return;
	if (d->fd >= 0)
		close(d->fd);
	free(d->part.rows);
	free(d);
}

static int send_request(struct fx_dpu *d, const int *fds, u32 n_fd)
{
	const struct fx_dpu_msg *m = (const void *)d->out;
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(FX_DPU_FDS * sizeof(int))];
	} control = { 0 };
	struct iovec iov = { d->out, m->size };
	struct msghdr h = { .msg_iov = &iov, .msg_iovlen = 1 };
	struct cmsghdr *c;

	if (n_fd) {
		h.msg_control = &control;
		h.msg_controllen = CMSG_SPACE(n_fd * sizeof(int));
		c = CMSG_FIRSTHDR(&h);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(n_fd * sizeof(int));
		memcpy(CMSG_DATA(c), fds, n_fd * sizeof(int));
	}
	return sendmsg(d->fd, &h, MSG_NOSIGNAL) == (ssize_t)m->size ? 0 : -errno;
}

static int gone(struct fx_dpu *d, int err)
{
	struct ucred who = { 0 };
	socklen_t len = sizeof(who);

	/* a socket that listens has the process's number, whether it answers or not */
	if ((err == -EAGAIN || err == -ETIMEDOUT) &&
	    !getsockopt(d->fd, SOL_SOCKET, SO_PEERCRED, &who, &len) && who.pid)
		return fail(d, -ETIMEDOUT, "it does not answer within %d s: process %d hangs, or is stopped or busy; `kill -9 %d` ends it, and what it has loaded",
			    FX_DPU_WAIT_MS / 1000, who.pid, who.pid);
	if (err == -EAGAIN || err == -ETIMEDOUT)
		return fail(d, -ETIMEDOUT, "it does not answer within %d s", FX_DPU_WAIT_MS / 1000);
	return fail(d, -EPIPE, "it ended while it was asked; start it again: fabric-dpu %s ...",
		    d->name);
}

static int receive(struct fx_dpu *d, int ms, ssize_t *n)
{
	struct pollfd p = { .fd = d->fd, .events = POLLIN };
	int ready = poll(&p, 1, ms);

	if (!ready && d->limit_ms)
		return fail(d, -EAGAIN, "it has not answered yet");
	if (ready <= 0)
		return gone(d, ready ? -errno : -ETIMEDOUT);
	*n = recv(d->fd, d->in, sizeof(d->in), MSG_DONTWAIT | MSG_TRUNC);
	return *n > 0 ? 0 : gone(d, *n ? -errno : -EPIPE);
}

/* How long to wait for an answer now. */
static int wait_ms(const struct fx_dpu *d)
{
	s64 left = d->until - now_ms();

	if (!d->limit_ms)
		return FX_DPU_WAIT_MS;
	return left > 0 ? left : 0;
}

static int hang_up(struct fx_dpu *d, int err)
{
	/* an answer that comes late would be taken for the next one's */
	close(d->fd);
	d->fd = -1;
	d->owed = false;
	return err;
}

/* The answer to the last request, into d->in. */
static int take_answer(struct fx_dpu *d, int ms)
{
	struct fx_dpu_reply *r = (void *)d->in;
	ssize_t n = 0;
	int err = receive(d, ms, &n);

	d->owed = err == -EAGAIN;
	if (d->owed)
		return err;
	if (err)
		return hang_up(d, err);
	if (n < (ssize_t)sizeof(*r) || n > (ssize_t)sizeof(d->in) || r->msg.size != n ||
	    r->msg.version != FX_DPU_VERSION || r->msg.cmd != d->cmd ||
	    r->msg.seq != d->seq || r->error > 0 || (!r->error && (size_t)n < d->answer))
		return fail(d, -EPROTO, "its answer is none of this version's; use fabricctl and fabric-dpu of one version");
	r->why[sizeof(r->why) - 1] = '\0';
	return r->error ? fail(d, r->error, "%s", r->why) : 0;
}

/* Is the answer that came late the one to this request, of d->out? */
static bool is_late(const struct fx_dpu *d, u16 cmd, size_t size, u32 n_fd)
{
	const size_t head = sizeof(struct fx_dpu_msg);

	return d->late && !n_fd && d->cmd == cmd && d->asked == size &&
	       !memcmp((const char *)d->out + head, (const char *)d->before + head, size - head);
}

/*
 * Ask: the request stands in d->out, its answer in d->in, with at least
 * @answer bytes unless it is an error.
 */
static int ask(struct fx_dpu *d, u16 cmd, size_t size, const int *fds, u32 n_fd, size_t answer)
{
	struct fx_dpu_msg *m = (void *)d->out;
	int err;

	if (fx_dpu_owed(d) == -EAGAIN)
		return -EAGAIN;
	if (d->fd < 0)
		return fail(d, -EPIPE, "it is not connected");
	/* what was asked before, and is answered by now */
	if (is_late(d, cmd, size, n_fd)) {
		d->late = false;
		return d->late_err;
	}
	d->late = false;
	*m = (struct fx_dpu_msg){
		.size = size, .version = FX_DPU_VERSION, .cmd = cmd, .seq = ++d->seq,
	};
	d->cmd = cmd;
	d->answer = answer;
	err = send_request(d, fds, n_fd);
	if (err)
		return hang_up(d, gone(d, err));
	err = take_answer(d, wait_ms(d));
	if (d->owed) {
		/* descriptors are not compared: such a request is never the same */
		d->asked = n_fd ? 0 : size;
		memcpy(d->before, d->out, size);
	}
	return err;
}

int fx_dpu_owed(struct fx_dpu *d)
{
	int err;

	if (!d->owed)
		return 0;
	err = take_answer(d, 0);
	d->late = !d->owed && d->fd >= 0;
	d->late_err = err;
	return err;
}

/* ---- requests --------------------------------------------------------- */

int fx_dpu_info(struct fx_dpu *d, struct fx_dpu_info *info)
{
	int err = ask(d, FX_DPU_INFO, sizeof(struct fx_dpu_msg), NULL, 0, sizeof(*info));

	if (err)
		return err;
	memcpy(info, d->in, sizeof(*info));
	info->dpu[sizeof(info->dpu) - 1] = '\0';
	info->graph[sizeof(info->graph) - 1] = '\0';
	return 0;
}

static int put_graph(struct fx_dpu *d, char *to, const char *graph)
{
	if (!*graph || strlen(graph) >= FX_NAME_LEN)
		return fail(d, -EINVAL, "'%.64s' is no name of a graph", graph);
	strcpy(to, graph);
	return 0;
}

static int about_graph(struct fx_dpu *d, u16 cmd, const char *graph, bool undo)
{
	struct fx_dpu_graph *g = (void *)d->out;
	int err;

	memset(g, 0, sizeof(*g));
	g->undo = undo;
	err = put_graph(d, g->graph, graph);
	if (err)
		return err;
	return ask(d, cmd, sizeof(*g), NULL, 0, sizeof(struct fx_dpu_reply));
}

int fx_dpu_unload(struct fx_dpu *d, const char *graph)
{
	return about_graph(d, FX_DPU_UNLOAD, graph, false);
}

int fx_dpu_bypass(struct fx_dpu *d, const char *graph)
{
	return about_graph(d, FX_DPU_BYPASS, graph, false);
}

int fx_dpu_settle(struct fx_dpu *d, const char *graph, bool undo)
{
	return about_graph(d, FX_DPU_SETTLE, graph, undo);
}

static int cannot_qp(struct fx_dpu *d)
{
	return fail(d, -EOPNOTSUPP,
		    "its fabric-dpu is older, and finds no flow by a queue pair (rocev2); end it, and start the fabric-dpu of this version");
}

int fx_dpu_can_qp(struct fx_dpu *d, const struct fx_dpu_info *info)
{
	return info->can & FX_DPU_CAN_QP ? 0 : cannot_qp(d);
}

int fx_dpu_tag(struct fx_dpu *d, const char *graph, u32 edge, u32 dir, u32 qp)
{
	struct fx_dpu_tag *t = (void *)d->out;
	int err;

	memset(t, 0, sizeof(*t));
	err = put_graph(d, t->graph, graph);
	if (err)
		return err;
	t->edge = edge;
	t->dir = dir;
	t->qp = qp;
	err = ask(d, FX_DPU_TAG, sizeof(*t), NULL, 0, sizeof(struct fx_dpu_reply));
	return err == -EOPNOTSUPP ? cannot_qp(d) : err;
}

int fx_dpu_quit(struct fx_dpu *d)
{
	return ask(d, FX_DPU_QUIT, sizeof(struct fx_dpu_msg), NULL, 0,
		   sizeof(struct fx_dpu_reply));
}

/* A memfd with these bytes that nobody changes any more, or -errno. */
static int sealed(const void *data, size_t size)
{
	int fd = memfd_create("fabric_ext", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	int err = 0;

	if (fd < 0)
		return -errno;
	for (size_t at = 0; at < size && !err;) {
		ssize_t n = write(fd, (const char *)data + at, size - at);

		if (n < 0)
			err = -errno;
		else
			at += n;
	}
	if (!err && fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK))
		err = -errno;
	if (!err)
		return fd;
	close(fd);
	return err;
}

int fx_dpu_load(struct fx_dpu *d, const struct fx_dpu_parts *p)
{
	const struct {
		const void *data;
		size_t size;
	} part[FX_DPU_FDS] = {
		[FX_DPU_FD_ARTIFACT] = { p->artifact, p->artifact_size },
		[FX_DPU_FD_OBJECT] = { p->object, p->object_size },
		[FX_DPU_FD_FLOWS] = { p->flows, p->flows_size },
		[FX_DPU_FD_NAMES] = { p->names, (size_t)p->n_flow * FX_NAME_LEN },
	};
	struct fx_dpu_load *l = (void *)d->out;
	int fd[FX_DPU_FDS], err = 0;
	u32 n;

	for (n = 0; n < FX_DPU_FDS; n++) {
		fd[n] = sealed(part[n].data, part[n].size);
		if (fd[n] >= 0)
			continue;
		err = fail(d, fd[n], "the artifact cannot be handed over: %s", strerror(-fd[n]));
		goto out;
	}
	memset(l, 0, sizeof(*l));
	l->flags = p->flags;
	l->replace = p->replace;
	err = ask(d, FX_DPU_LOAD, sizeof(*l), fd, n, sizeof(struct fx_dpu_reply));
out:
	while (n)
		close(fd[--n]);
	return err;
}

/* One page of rows, at their place in *rows. */
static int stat_page(struct fx_dpu *d, u32 first, struct fx_dpu_stats *head,
		     struct fx_dpu_row **rows)
{
	struct fx_dpu_stat *s = (void *)d->out;
	const struct fx_dpu_stats *got = (const void *)d->in;
	int err;

	memset(s, 0, sizeof(*s));
	s->first = first;
	err = ask(d, FX_DPU_STAT, sizeof(*s), NULL, 0, sizeof(*got));
	if (err)
		return err;
	if (got->first != first || got->conf.rows > FX_NIC_MAX_FLOWS ||
	    got->n > got->conf.rows - first || (!got->n && first < got->conf.rows) ||
	    got->reply.msg.size != sizeof(*got) + got->n * sizeof(got->row[0]))
		return fail(d, -EPROTO, "its rows are none of this version's");
	if (!first) {
		*head = *got;
		*rows = fx_calloc(got->conf.rows, sizeof(**rows));
	} else if (got->loads != head->loads || got->conf.rows != head->conf.rows) {
		return -EAGAIN;
	}
	memcpy(*rows + first, got->row, got->n * sizeof(got->row[0]));
	return got->n;
}

int fx_dpu_stat(struct fx_dpu *d, struct fx_dpu_stats *head, struct fx_dpu_row **rows)
{
	int n = -EAGAIN;

	*rows = NULL;
	for (u32 i = 0; i < TORN_TRIES && n == -EAGAIN; i++) {
		u32 first = 0;

		free(*rows);
		*rows = NULL;
		do {
			n = stat_page(d, first, head, rows);
			first += n > 0 ? n : 0;
		} while (n > 0 && first < head->conf.rows);
	}
	if (n < 0) {
		free(*rows);
		*rows = NULL;
		return n == -EAGAIN ? fail(d, n, "it is loaded anew while it is read") : n;
	}
	return 0;
}

/* ---- maps ------------------------------------------------------------- */

static int about_map(struct fx_dpu *d, const char *map, u32 first, u32 n)
{
	struct fx_dpu_map_io *io = (void *)d->out;

	memset(io, 0, sizeof(*io));
	if (!*map || strlen(map) >= sizeof(io->map))
		return fail(d, -EINVAL, "'%.64s' is no name of a map", map);
	strcpy(io->map, map);
	io->first = first;
	io->n = n;
	return 0;
}

/* Entries from @first on into d->in, as many as fit. */
static int map_page(struct fx_dpu *d, const char *map, u32 first, u32 n)
{
	struct fx_dpu_map_data *got = (void *)d->in;
	int err = about_map(d, map, first, n);

	if (!err)
		err = ask(d, FX_DPU_MAP_READ, sizeof(struct fx_dpu_map_io), NULL, 0, sizeof(*got));
	if (err)
		return err;
	got->map.name[FX_NAME_LEN - 1] = '\0';
	got->map.cls[FX_DPU_CLASS_LEN - 1] = '\0';
	if (got->first != first || got->n > n || !got->map.value_size || !got->map.entries ||
	    got->map.value_size > FX_DPU_MAX_VALUE || (!got->n && n) ||
	    (u64)got->map.value_size * got->map.entries > FX_DPU_MAX_MAP ||
	    got->reply.msg.size != sizeof(*got) + (u64)got->n * got->map.value_size)
		return fail(d, -EPROTO, "its map is none of this version's");
	return 0;
}

int fx_dpu_map_info(struct fx_dpu *d, const char *map, struct fx_dpu_map *info, u64 *epoch)
{
	const struct fx_dpu_map_data *got = (const void *)d->in;
	int err = map_page(d, map, 0, 0);

	if (err)
		return err;
	*info = got->map;
	if (epoch)
		*epoch = got->epoch;
	return 0;
}

static int wrong_size(struct fx_dpu *d, const char *map, u64 want, size_t size)
{
	return fail(d, -EINVAL, "the map '%s' takes %llu bytes, and %zu were given", map, want, size);
}

/* Go on where an answer came late, if it was this map's. */
static u32 take_part(struct fx_dpu *d, const char *map, char *buf, size_t size, u64 *epoch,
		     u64 *loads)
{
	u32 first = 0;

	if (d->part.rows && !strcmp(d->part.map, map)) {
		memcpy(buf, d->part.rows, size);
		first = d->part.first;
		*epoch = d->part.epoch;
		*loads = d->part.loads;
	}
	free(d->part.rows);
	d->part.rows = NULL;
	return first;
}

static void keep_part(struct fx_dpu *d, const char *map, const char *buf, size_t size, u32 first,
		      u64 epoch, u64 loads)
{
	/* map_page() has looked at the name */
	strcpy(d->part.map, map);
	d->part.rows = memcpy(fx_calloc(1, size), buf, size);
	d->part.first = first;
	d->part.epoch = epoch;
	d->part.loads = loads;
}

/*
 * All pages, of one epoch: -ESTALE when another began meanwhile. The first says
 * how many entries there are.
 */
static int read_all(struct fx_dpu *d, const char *map, char *buf, size_t size)
{
	const struct fx_dpu_map_data *got = (const void *)d->in;
	u64 epoch = 0, loads = 0;
	u32 first = take_part(d, map, buf, size, &epoch, &loads), entries;

	do {
		int err = map_page(d, map, first, FX_DPU_MAX_MAP);

		if (err == -EAGAIN && first)
			keep_part(d, map, buf, size, first, epoch, loads);
		if (err)
			return err;
		if (size != (u64)got->map.entries * got->map.value_size)
			return wrong_size(d, map, (u64)got->map.entries * got->map.value_size,
					  size);
		if (first && (got->epoch != epoch || got->loads != loads))
			return -ESTALE;
		entries = got->map.entries;
		if (first >= entries || got->n > entries - first)
			return fail(d, -EPROTO, "its map is none of this version's");
		epoch = got->epoch;
		loads = got->loads;
		memcpy(buf + (size_t)first * got->map.value_size, got->value,
		       (size_t)got->n * got->map.value_size);
		first += got->n;
	} while (first < entries);
	return 0;
}

int fx_dpu_map_read(struct fx_dpu *d, const char *map, void *buf, size_t size)
{
	int err = -ESTALE;

	for (u32 i = 0; i < TORN_TRIES && err == -ESTALE; i++)
		err = read_all(d, map, buf, size);
	return err == -ESTALE ?
	       fail(d, -EAGAIN, "the map '%s' is published anew while it is read", map) : err;
}

int fx_dpu_map_write(struct fx_dpu *d, const char *map, u32 index, const void *value,
		     size_t size)
{
	struct fx_dpu_map_io *io = (void *)d->out;
	int err = about_map(d, map, index, 1);

	if (err)
		return err;
	if (!size || size > FX_DPU_MAX_VALUE)
		return fail(d, -EINVAL, "an entry has 1 to %d bytes, not %zu", FX_DPU_MAX_VALUE, size);
	memcpy(io + 1, value, size);
	return ask(d, FX_DPU_MAP_WRITE, sizeof(struct fx_dpu_map_io) + size, NULL, 0,
		   sizeof(struct fx_dpu_reply));
}

int fx_dpu_map_publish(struct fx_dpu *d, const char *map, const void *buf, size_t size)
{
	int err = about_map(d, map, 0, 0), fd;

	if (err)
		return err;
	fd = sealed(buf, size);
	if (fd < 0)
		return fail(d, fd, "the values cannot be handed over: %s", strerror(-fd));
	err = ask(d, FX_DPU_MAP_PUBLISH, sizeof(struct fx_dpu_map_io), &fd, 1,
		  sizeof(struct fx_dpu_reply));
	close(fd);
	return err;
}
