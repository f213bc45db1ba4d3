// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Whether a graph's agent lives. A lock says that there is a process, and ends
 * with it however that ends; a record beside it says which one, and when it last
 * did something: one that was stopped has the lock, too.
 */
#include <bpf/bpf.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent.h"
#include "hold.h"
#include "json.h"
#include "util.h"

#define LOCK		"@agent"
#define RECORD		"@life"
#define LOCK_TRIES	20		/* of 10 ms: somebody may only look */
#define KILLED_MS	5000		/* for a process to end that was killed */

/* The record: an array of one. */
struct record {
	u64 beat;		/* ns, CLOCK_MONOTONIC */
	u64 born;
	u64 pid_ns;		/* where pid counts */
	u64 started;		/* of the process, clock ticks since boot: pids come again */
	u32 pid;
	u32 reserved;
};

struct fx_agent_life {
	struct record record;
	int lock, map;
};

bool fx_agent_runs(const struct fx_shared *s)
{
	int held = fx_hold_is_held(s->dir, LOCK);

	return held && held != -ENOENT;
}

bool fx_agent_needed(const struct fx_shared *s)
{
	for (u32 i = 0; i < s->maps.n; i++)
		if (s->n_remote && (s->maps.map[i].cls == FX_MAP_COUNTER ||
				    s->maps.map[i].cls == FX_MAP_SNAPSHOT ||
				    s->maps.map[i].cls == FX_MAP_BOUNDED))
			return true;
	return false;
}

/* ---- of this process --------------------------------------------------- */

static u64 pid_namespace(void)
{
	struct stat st;

	return stat("/proc/self/ns/pid", &st) ? 0 : st.st_ino;
}

/* When a process began, in ticks since boot as proc(5) has it; 0 when there is none. */
static u64 start_of(u32 pid)
{
	char *path = fx_asprintf("/proc/%u/stat", pid), *text = NULL, *at;
	FILE *f = fopen(path, "re");
	unsigned long long ticks = 0;
	size_t room = 0;

	/* its second field is a name in parentheses, in which there may be others */
	if (f && getline(&text, &room, f) > 0) {
		at = strrchr(text, ')');
		if (!at || sscanf(at + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d %llu",
				  &ticks) != 1)
			ticks = 0;
	}
	if (f)
		fclose(f);
	free(text);
	free(path);
	return ticks;
}

/* The record's map, of this version's size: a descriptor or -errno. */
static int open_record(const struct fx_shared *s)
{
	int fd = fx_shared_get(s, RECORD);

	if (fd < 0 || fx_map_sized(fd, sizeof(struct record), 1))
		return fd;
	close(fd);
	return -EPROTO;
}

static int make_record(const struct fx_shared *s)
{
	char *path = fx_asprintf("%s/" RECORD, s->dir);
	int fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "fx_life", sizeof(u32),
				sizeof(struct record), 1, NULL);

	if (fd >= 0) {
		int err = bpf_obj_pin(fd, path) ? -errno : 0;

		if (err) {
			close(fd);
			fd = err;
		}
	} else {
		fd = -errno;
	}
	free(path);
	return fd;
}

/* One of another version's size makes room; one that another agent made is as good. */
static int get_record(const struct fx_shared *s)
{
	char *path = fx_asprintf("%s/" RECORD, s->dir);
	int fd = open_record(s);

	if (fd == -EPROTO)
		unlink(path);
	if (fd == -EPROTO || fd == -ENOENT)
		fd = make_record(s);
	if (fd == -EEXIST)
		fd = open_record(s);
	free(path);
	return fd;
}

void fx_agent_life_beat(struct fx_agent_life *l)
{
	const u32 zero = 0;

	l->record.beat = fx_monotonic_ns();
	bpf_map_update_elem(l->map, &zero, &l->record, BPF_ANY);
}

int fx_agent_life_begin(const struct fx_shared *s, struct fx_agent_life **out)
{
	struct fx_agent_life *l;
	int lock, map;

	/* what is pinned is, before anybody can tell that we run, and detach */
	map = get_record(s);
	if (map < 0)
		return map;
	close(map);
	lock = fx_hold_take(s->dir, LOCK, LOCK_TRIES);
	if (lock < 0)
		return lock;
	/* who had the lock before may have made another */
	map = open_record(s);
	if (map < 0) {
		close(lock);
		return map;
	}
	l = fx_calloc(1, sizeof(*l));
	*l = (struct fx_agent_life){
		.lock = lock, .map = map,
		.record = { .born = fx_monotonic_ns(), .pid = getpid(),
			    .pid_ns = pid_namespace(), .started = start_of(getpid()) },
	};
	fx_agent_life_beat(l);
	*out = l;
	return 0;
}

void fx_agent_life_end(struct fx_agent_life *l)
{
	if (!l)
		return;
	close(l->map);
	close(l->lock);
	free(l);
}

bool fx_agent_life_counts(const struct fx_agent_life *l, const struct fx_shared *s)
{
	return fx_hold_counts(s->dir, LOCK, l->lock);
}

/* ---- of another -------------------------------------------------------- */

static int read_record(const struct fx_shared *s, struct record *r)
{
	int fd = open_record(s), err = fd < 0 ? fd : 0;
	const u32 zero = 0;

	if (!err && bpf_map_lookup_elem(fd, &zero, r))
		err = -errno;
	if (fd >= 0)
		close(fd);
	return err;
}

void fx_agent_look(const char *graph, struct fx_agent_view *v)
{
	struct record r = { 0 };
	struct fx_shared s;
	int err = fx_shared_open(graph, &s);

	memset(v, 0, sizeof(*v));
	if (err) {
		/* its directory is there, and the list is between two names */
		v->state = err == -ENOENT && s.dir ? FX_AGENT_UNKNOWN : FX_AGENT_NONE;
		goto out;
	}
	if (!fx_agent_needed(&s))
		goto out;
	v->state = fx_agent_runs(&s) ? FX_AGENT_RUNS : FX_AGENT_GONE;
	/* one that has just taken the lock writes it at once */
	if (read_record(&s, &r))
		goto out;
	v->pid = r.pid;
	v->born = r.born;
	/* who has the lock, and is not who wrote this, is about to write */
	if (v->state == FX_AGENT_RUNS &&
	    (r.pid_ns != pid_namespace() || start_of(r.pid) == r.started) &&
	    fx_monotonic_ns() > r.beat + FX_AGENT_HANGS_MS * 1000000ULL)
		v->state = FX_AGENT_HANGS;
out:
	fx_shared_close(&s);
}

const char *fx_agent_text(const struct fx_agent_view *v)
{
	static const char *const text[] = {
		[FX_AGENT_NONE] = "",
		[FX_AGENT_UNKNOWN] = "",
		[FX_AGENT_RUNS] = "runs",
		[FX_AGENT_HANGS] = "it hangs: attach --repair ends it and starts another",
		[FX_AGENT_GONE] = "it has ended: attach --repair starts another",
	};

	return text[v->state];
}

void fx_agent_put(struct json_object *o, const struct fx_agent_view *v)
{
	struct json_object *a;

	if (!*fx_agent_text(v))
		return;
	a = fx_json_object();
	if (v->pid)
		fx_json_u64(a, "pid", v->pid);
	fx_json_str(a, "state", fx_agent_text(v));
	fx_json_put(o, "agent", a);
}

int fx_agent_grab(const char *graph)
{
	struct record r, again;
	struct fx_shared s;
	int fd = -1;

	if (!fx_shared_open(graph, &s) && !read_record(&s, &r) && r.pid &&
	    r.pid_ns == pid_namespace())
		fd = pidfd_open((pid_t)r.pid, 0);
	/* the number is the agent's, not of one that came after it */
	if (fd >= 0 && (start_of(r.pid) != r.started || !fx_agent_runs(&s) ||
			read_record(&s, &again) || again.pid != r.pid ||
			again.born != r.born)) {
		close(fd);
		fd = -1;
	}
	fx_shared_close(&s);
	return fd < 0 ? -ESRCH : fd;
}

int fx_agent_finish(int pidfd, u32 ms)
{
	struct pollfd p = { .fd = pidfd, .events = POLLIN };
	int err = 0;

	if (pidfd < 0)
		return -ESRCH;
	/* it may die at any moment: what it keeps, it keeps in the maps */
	if (poll(&p, 1, (int)ms) <= 0) {
		if (pidfd_send_signal(pidfd, SIGKILL, NULL, 0) && errno != ESRCH)
			err = -errno;
		else if (poll(&p, 1, KILLED_MS) <= 0)
			err = -ETIMEDOUT;
	}
	close(pidfd);
	return err;
}
