// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The control socket. A client costs one descriptor and nothing that grows: a
 * message is answered before the next is read, and who does not take the
 * answer is closed.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "dpu.h"

#define FIRST_CLIENT	2	/* in the table of poll(), after socket and signals */
#define SLOTS		(FIRST_CLIENT + FX_DPU_MAX_CLIENTS)
/* Who was silent for as long makes room for who waits, sooner than that gives up. */
#define SILENT_MS	2000

struct server {
	struct fx_dpu_state *dpu;
	struct sockaddr_un addr;
	int lock;
	struct pollfd fd[SLOTS];
	u64 client[SLOTS];	/* number of the connection in each */
	s64 heard[SLOTS];	/* when it asked last, or came; in ms */
	u64 clients;		/* so far */
	/* messages have fields of eight bytes */
	u64 in[FX_DPU_MAX_MSG / 8], out[FX_DPU_MAX_MSG / 8];
};

/* ---- the socket ------------------------------------------------------- */

static int complain(const char *path, const char *what)
{
	fprintf(stderr, "fabric-dpu: %s: %s\n", path, what);
	return -1;
}

/* The directory is ours alone, or somebody else could take our names. */
static int own_directory(void)
{
	struct stat st;

	if (mkdir(FX_DPU_RUN_DIR, 0700) && errno != EEXIST)
		return complain(FX_DPU_RUN_DIR, strerror(errno));
	if (lstat(FX_DPU_RUN_DIR, &st))
		return complain(FX_DPU_RUN_DIR, strerror(errno));
	if (!S_ISDIR(st.st_mode) || st.st_uid != geteuid() || st.st_mode & 022)
		return complain(FX_DPU_RUN_DIR, "this is not a directory that only this user may write; remove it");
	return 0;
}

/* Held as long as the process lives: whoever has it may remove the socket. */
static int take_lock(const char *name)
{
	char path[sizeof(FX_DPU_RUN_DIR) + 64];
	int fd;

	snprintf(path, sizeof(path), FX_DPU_RUN_DIR "/.dpu-%s.lock", name);
	fd = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return complain(path, strerror(errno));
	if (flock(fd, LOCK_EX | LOCK_NB)) {
		close(fd);
		return complain(path, "a fabric-dpu of this name is running; give this one another");
	}
	return fd;
}

static int listen_at(struct server *s)
{
	int fd, rc;
	mode_t mask;

	s->addr.sun_family = AF_UNIX;
	snprintf(s->addr.sun_path, sizeof(s->addr.sun_path), FX_DPU_SOCKET, s->dpu->name);
	if (own_directory())
		return -1;
	s->lock = take_lock(s->dpu->name);
	if (s->lock < 0)
		return -1;
	unlink(s->addr.sun_path);
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return complain(s->addr.sun_path, strerror(errno));
	mask = umask(0177);
	rc = bind(fd, (struct sockaddr *)&s->addr, sizeof(s->addr));
	umask(mask);
	if (!rc && !listen(fd, FX_DPU_MAX_CLIENTS))
		return fd;
	complain(s->addr.sun_path, strerror(errno));
	close(fd);
	return -1;
}

/* ---- clients ---------------------------------------------------------- */

static bool may_ask(int fd)
{
	struct ucred peer;
	socklen_t len = sizeof(peer);

	return !getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) &&
	       (!peer.uid || peer.uid == geteuid());
}

static void drop(struct server *s, u32 slot)
{
	close(s->fd[slot].fd);
	s->fd[slot].fd = -1;
	fx_dpu_client_gone(s->dpu, s->client[slot]);
}

static s64 now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000LL + now.tv_nsec / 1000000;
}

/* Whose connection a policy hangs on is waited for, whatever it is silent about. */
static bool may_go(const struct server *s, u32 slot)
{
	const struct fx_dpu_loaded *l = s->dpu->loaded;

	return s->fd[slot].fd >= 0 && !(l && l->client == s->client[slot]);
}

/* Who was silent for longest, and in how many ms that is too long; 0: nobody. */
static u32 most_silent(const struct server *s, s64 *left)
{
	u32 found = 0;

	for (u32 i = FIRST_CLIENT; i < SLOTS; i++)
		if (may_go(s, i) && (!found || s->heard[i] < s->heard[found]))
			found = i;
	*left = found ? s->heard[found] + SILENT_MS - now_ms() : 0;
	return found;
}

static bool is_full(const struct server *s)
{
	for (u32 i = FIRST_CLIENT; i < SLOTS; i++)
		if (s->fd[i].fd < 0)
			return false;
	return true;
}

static void accept_one(struct server *s)
{
	int fd = accept4(s->fd[0].fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

	if (fd < 0)
		return;
	for (u32 i = FIRST_CLIENT; i < SLOTS && may_ask(fd); i++) {
		if (s->fd[i].fd >= 0)
			continue;
		s->fd[i] = (struct pollfd){ .fd = fd, .events = POLLIN };
		s->client[i] = ++s->clients;
		s->heard[i] = now_ms();
		return;
	}
	close(fd);
}

/* Take the descriptors of a message; more than any command has is an error. */
static bool take_fds(struct msghdr *h, struct fx_dpu_request *r)
{
	bool ok = !(h->msg_flags & MSG_CTRUNC);

	for (struct cmsghdr *c = CMSG_FIRSTHDR(h); c; c = CMSG_NXTHDR(h, c)) {
		u32 n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);

		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		for (u32 i = 0; i < n; i++) {
			int fd;

			memcpy(&fd, CMSG_DATA(c) + i * sizeof(fd), sizeof(fd));
			if (r->n_fd < FX_DPU_FDS) {
				r->fd[r->n_fd++] = fd;
			} else {
				close(fd);
				ok = false;
			}
		}
	}
	return ok;
}

/* One message: false when the client is to be closed. */
static bool serve(struct server *s, u32 slot)
{
	const int fd = s->fd[slot].fd;
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(FX_DPU_FDS * sizeof(int))];
	} control;
	struct iovec iov = { s->in, sizeof(s->in) };
	struct msghdr h = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = &control,
			    .msg_controllen = sizeof(control) };
	struct fx_dpu_request r = { .msg = s->in, .client = s->client[slot] };
	ssize_t n = recvmsg(fd, &h, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	bool ok;

	if (n < 0)
		return errno == EAGAIN || errno == EINTR;
	ok = take_fds(&h, &r);
	/* what has no header, or more than fits, cannot be answered in order */
	if (n < (ssize_t)sizeof(struct fx_dpu_msg) || h.msg_flags & MSG_TRUNC || !ok) {
		ok = false;
		goto out;
	}
	r.size = n;
	n = fx_dpu_command(s->dpu, &r, s->out);
	s->heard[slot] = now_ms();
	ok = send(fd, s->out, n, MSG_DONTWAIT | MSG_NOSIGNAL) == n;
out:
	for (u32 i = 0; i < r.n_fd; i++)
		close(r.fd[i]);
	return ok;
}

static bool step(struct server *s)
{
	const bool full = is_full(s);
	u32 silent = 0;
	s64 left = 0;

	/* who finds no room waits in the queue of the socket, up to its own limit */
	if (full)
		silent = most_silent(s, &left);
	s->fd[0].events = !full || (silent && left <= 0) ? POLLIN : 0;
	if (poll(s->fd, SLOTS, left > 0 ? left : -1) < 0)
		return errno == EINTR;
	if (s->fd[1].revents)
		return false;
	for (u32 i = FIRST_CLIENT; i < SLOTS; i++) {
		if (s->fd[i].fd < 0 || !s->fd[i].revents)
			continue;
		/* what is asked by one who waits no longer is not done */
		if (s->fd[i].revents & (POLLHUP | POLLERR) || !serve(s, i))
			drop(s, i);
	}
	if (s->fd[0].revents && is_full(s)) {
		silent = most_silent(s, &left);
		if (silent && left <= 0)
			drop(s, silent);
	}
	if (s->fd[0].revents && !is_full(s))
		accept_one(s);
	return !s->dpu->quit;
}

int fx_dpu_control(struct fx_dpu_state *dpu)
{
	struct server *s = calloc(1, sizeof(*s));
	sigset_t ends;
	int rc = -1;

	if (!s)
		return complain("control socket", "there is no memory");
	s->dpu = dpu;
	for (u32 i = 0; i < SLOTS; i++)
		s->fd[i] = (struct pollfd){ .fd = -1, .events = POLLIN };
	s->lock = -1;
	sigemptyset(&ends);
	sigaddset(&ends, SIGINT);
	sigaddset(&ends, SIGTERM);
	sigaddset(&ends, SIGHUP);
	s->fd[1].fd = signalfd(-1, &ends, SFD_CLOEXEC);
	s->fd[0].fd = listen_at(s);
	if (s->fd[0].fd < 0 || s->fd[1].fd < 0)
		goto out;
	fprintf(stderr, "fabric-dpu: '%s' is ready: %u port%s, %u worker%s, %s\n", dpu->name,
		dpu->ports, dpu->ports == 1 ? "" : "s", dpu->workers,
		dpu->workers == 1 ? "" : "s", s->addr.sun_path);
	while (step(s))
		;
	rc = 0;
	unlink(s->addr.sun_path);
out:
	for (u32 i = 0; i < SLOTS; i++)
		if (s->fd[i].fd >= 0)
			close(s->fd[i].fd);
	if (s->lock >= 0)
		close(s->lock);
	free(s);
	return rc;
}
