// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "diag.h"
#include "pins.h"
#include "system.h"
#include "util.h"

#define ROOT		"/sys/fs/bpf/fabric_ext"
#define LOCK_TRIES	100		/* of 100 ms: the longest attach */

static const char *const parts[] = { "maps", "progs" };

#define NIC		"nic-"
#define NEXT		"@next"	/* what is to take another's place */

/* A name as bpffs takes it, which keeps '.' for itself; to free(). */
static char *escape(const char *name)
{
	char *out = fx_alloc(3 * strlen(name) + 1), *to = out;

	for (; *name; name++) {
		if (fx_is_word(*name) || *name == '-')
			*to++ = *name;
		else
			to += sprintf(to, "%%%02x", (unsigned char)*name);
	}
	*to = 0;
	return out;
}

/* The opposite, to free(). */
static char *unescape(const char *name)
{
	char *out = fx_alloc(strlen(name) + 1), *to = out;
	unsigned int c;

	while (*name) {
		if (*name == '%' && strlen(name) >= 3 && sscanf(name + 1, "%2x", &c) == 1) {
			*to++ = c;
			name += 3;
		} else {
			*to++ = *name++;
		}
	}
	*to = 0;
	return out;
}

char *fx_pins_dir(const char *graph)
{
	char *name = escape(graph), *dir;

	/* no name is none of these either, and not the directory of all */
	dir = fx_asprintf("%s" ROOT "/%s", fx_sys_root, *name ? name : "%");
	free(name);
	return dir;
}

char *fx_pins_nic(const char *netdev)
{
	char *name = escape(netdev), *sub = fx_asprintf(NIC "%s", name);

	free(name);
	return sub;
}

/* What others may write says nothing about our graphs. */
bool fx_pins_is_ours(const char *path)
{
	struct stat st;

	return !lstat(path, &st) && S_ISDIR(st.st_mode) &&
	       st.st_uid == geteuid() && !(st.st_mode & 022);
}

static void list_subs(const char *graph, const char *prefix, struct fx_words *subs)
{
	char *root = fx_asprintf("%s" ROOT, fx_sys_root);
	char *dir = fx_pins_dir(graph);

	if (fx_pins_is_ours(root) && fx_pins_is_ours(dir))
		fx_sys_list(dir + strlen(fx_sys_root), prefix, subs);
	free(dir);
	free(root);
}

char *fx_pins_shared(const char *graph)
{
	char *root = fx_asprintf("%s" ROOT, fx_sys_root);
	char *dir = fx_pins_dir(graph);
	char *shared = fx_asprintf("%s/shared", dir);

	if (!fx_pins_is_ours(root) || !fx_pins_is_ours(dir) || !fx_pins_is_ours(shared)) {
		free(shared);
		shared = NULL;
	}
	free(dir);
	free(root);
	return shared;
}

void fx_pins_list_nics(const char *graph, struct fx_words *subs)
{
	list_subs(graph, NIC, subs);
}

void fx_pins_list_dpus(const char *graph, struct fx_words *subs)
{
	list_subs(graph, FX_PINS_DPU, subs);
}

void fx_pins_list_all(struct fx_words *graphs)
{
	struct fx_words all = { 0 };

	fx_sys_list(ROOT, "", &all);
	for (u32 i = 0; i < all.n; i++) {
		char *graph = unescape(all.word[i]);

		fx_words_add(graphs, graph);
		free(graph);
	}
	fx_words_free(&all);
}

void fx_pins_list_graphs(struct fx_words *graphs)
{
	struct fx_words all = { 0 };

	fx_pins_list_all(&all);
	for (u32 i = 0; i < all.n; i++) {
		struct fx_words subs = { 0 };

		fx_pins_list_nics(all.word[i], &subs);
		fx_pins_list_dpus(all.word[i], &subs);
		if (subs.n)
			fx_words_add(graphs, all.word[i]);
		fx_words_free(&subs);
	}
	fx_words_free(&all);
}

/* ---- the directory and its lock --------------------------------------- */

/* Make a directory, or with !@create find it; what is there must be ours alone. */
static enum fx_rc own_dir(const char *dir, bool create)
{
	struct stat st;

	if (create && mkdir(dir, 0700) && errno != EEXIST) {
		fx_err("%s cannot be made: %s", dir, strerror(errno));
		return FX_RC_SYSTEM;
	}
	if (lstat(dir, &st)) {
		if (!create && (errno == ENOENT || errno == ENAMETOOLONG))
			return FX_RC_OK;
		fx_err("%s: %s", dir, strerror(errno));
		return FX_RC_SYSTEM;
	}
	if (!S_ISDIR(st.st_mode) || st.st_uid != geteuid() || st.st_mode & 022) {
		fx_err("%s is not a directory that only this user may write; remove it, somebody else made it",
		       dir);
		return FX_RC_SYSTEM;
	}
	return FX_RC_OK;
}

/* Whether the directory that is locked still is the one with that name. */
static bool still_there(const char *dir, int fd)
{
	struct stat a, b;

	return !fstat(fd, &a) && !lstat(dir, &b) && a.st_dev == b.st_dev &&
	       a.st_ino == b.st_ino;
}

/* Lock @dir: a descriptor; -ENOENT, -EAGAIN when it went away, -EBUSY. */
static int lock_dir(const char *dir, int tries)
{
	const struct timespec pause = { .tv_nsec = 100000000 };
	int fd = open(dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	int err = -EBUSY;

	if (fd < 0)
		return -errno;
	for (int i = 0; err == -EBUSY && i < tries; i++) {
		if (!flock(fd, LOCK_EX | LOCK_NB)) {
			if (still_there(dir, fd))
				return fd;
			err = -EAGAIN;
		} else if (errno != EWOULDBLOCK && errno != EINTR) {
			err = -errno;
		} else if (i + 1 < tries) {
			nanosleep(&pause, NULL);
		}
	}
	close(fd);
	return err;
}

enum fx_rc fx_pins_lock(const char *graph, bool create, struct fx_pins **out)
{
	char *root = fx_asprintf("%s" ROOT, fx_sys_root);
	char *dir = fx_pins_dir(graph);
	enum fx_rc rc = FX_RC_SYSTEM;
	int fd = -EAGAIN;

	*out = NULL;
	if (create && !fx_sys_bpffs()) {
		fx_err("no bpffs is mounted on /sys/fs/bpf, where what is attached is found again: `mount -t bpf bpf /sys/fs/bpf`");
		goto out;
	}
	/* another command may remove the directory while we wait for its lock */
	for (int i = 0; fd == -EAGAIN && i < 8; i++) {
		if (own_dir(root, create) != FX_RC_OK ||
		    own_dir(dir, create) != FX_RC_OK)
			goto out;
		fd = lock_dir(dir, LOCK_TRIES);
		if (fd == -ENOENT && create)
			fd = -EAGAIN;
		else if ((fd == -EAGAIN || fd == -ENAMETOOLONG) && !create)
			fd = -ENOENT;
	}
	if (fd == -ENOENT && !create) {
		rc = FX_RC_OK;
		goto out;
	}
	if (fd < 0) {
		fx_err("%s cannot be locked: %s", dir,
		       fd == -EBUSY || fd == -EAGAIN ?
		       "another fabricctl is working on this graph; try again when it is done" :
		       strerror(-fd));
		goto out;
	}
	*out = fx_alloc(sizeof(**out));
	(*out)->dir = dir;
	(*out)->fd = fd;
	free(root);
	return FX_RC_OK;
out:
	free(root);
	free(dir);
	return rc;
}

struct fx_pins *fx_pins_try_lock(const char *graph)
{
	char *root = fx_asprintf("%s" ROOT, fx_sys_root);
	char *dir = fx_pins_dir(graph);
	struct fx_pins *p = NULL;
	int fd = -1;

	if (fx_pins_is_ours(root) && fx_pins_is_ours(dir))
		fd = lock_dir(dir, 1);
	if (fd >= 0) {
		p = fx_alloc(sizeof(*p));
		*p = (struct fx_pins){ .dir = dir, .fd = fd };
		dir = NULL;
	}
	free(dir);
	free(root);
	return p;
}

void fx_pins_unlock(struct fx_pins *p)
{
	if (!p)
		return;
	close(p->fd);
	free(p->dir);
	free(p);
}

/* ---- pinning ---------------------------------------------------------- */

/* Pin at @dir/@name; the kernel's own maps are called .bss and the like. */
static enum fx_rc pin(const char *dir, const char *name, int fd)
{
	char *path = fx_asprintf("%s/%s", dir, name);
	enum fx_rc rc = FX_RC_OK;

	for (char *c = path + strlen(dir); *c; c++)
		if (*c == '.')
			*c = '_';
	if (bpf_obj_pin(fd, path)) {
		fx_err("%s cannot be pinned: %s", path, strerror(errno));
		rc = FX_RC_SYSTEM;
	}
	free(path);
	return rc;
}

/* Make a directory of ours, to free(), or NULL after one sentence. */
static char *make_dir(const char *in, const char *name)
{
	char *path = fx_asprintf("%s/%s", in, name);

	if (!mkdir(path, 0700))
		return path;
	fx_err("%s cannot be made: %s", path, strerror(errno));
	free(path);
	return NULL;
}

enum fx_rc fx_pins_make(struct fx_pins *p, const char *sub)
{
	char *dir = make_dir(p->dir, sub);

	free(dir);
	return dir ? FX_RC_OK : FX_RC_SYSTEM;
}

enum fx_rc fx_pins_write(struct fx_pins *p, const char *sub, struct bpf_object *obj)
{
	char *dir = *sub ? make_dir(p->dir, sub) : fx_strdup(p->dir);
	char *maps = dir ? make_dir(dir, "maps") : NULL;
	char *progs = maps ? make_dir(dir, "progs") : NULL;
	enum fx_rc rc = progs ? FX_RC_OK : FX_RC_SYSTEM;
	struct bpf_program *prog;
	struct bpf_map *map;

	bpf_object__for_each_map(map, obj)
		if (rc == FX_RC_OK && bpf_map__autocreate(map) && bpf_map__fd(map) >= 0)
			rc = pin(maps, bpf_map__name(map), bpf_map__fd(map));
	bpf_object__for_each_program(prog, obj)
		if (rc == FX_RC_OK && bpf_program__fd(prog) >= 0)
			rc = pin(progs, bpf_program__name(prog),
				 bpf_program__fd(prog));
	free(progs);
	free(maps);
	free(dir);
	return rc;
}

enum fx_rc fx_pins_write_link(struct fx_pins *p, int link)
{
	return pin(p->dir, "link", link);
}

enum fx_rc fx_pins_write_at(struct fx_pins *p, const char *sub, const char *name,
			    int fd)
{
	char *dir = fx_asprintf("%s/%s", p->dir, sub);
	enum fx_rc rc = pin(dir, name, fd);

	free(dir);
	return rc;
}

enum fx_rc fx_pins_replace_at(struct fx_pins *p, const char *sub, const char *name, int fd)
{
	char *next = fx_asprintf("%s/" NEXT, sub), *to = fx_asprintf("%s/%s", sub, name);
	enum fx_rc rc;

	/* of one that was killed */
	unlinkat(p->fd, next, 0);
	rc = fx_pins_write_at(p, sub, NEXT, fd);
	if (rc == FX_RC_OK && renameat(p->fd, next, p->fd, to)) {
		fx_err("%s/%s cannot take the place of %s: %s", p->dir, next, to,
		       strerror(errno));
		unlinkat(p->fd, next, 0);
		rc = FX_RC_SYSTEM;
	}
	free(to);
	free(next);
	return rc;
}

bool fx_pins_has(const char *graph, void (*list)(const char *graph, struct fx_words *subs))
{
	struct fx_words subs = { 0 };
	bool has;

	list(graph, &subs);
	has = subs.n;
	fx_words_free(&subs);
	return has;
}

bool fx_pins_empty(const struct fx_pins *p)
{
	DIR *d = opendir(p->dir);
	struct dirent *e;
	bool empty = true;

	while (d && (e = readdir(d)))
		empty = empty && (!strcmp(e->d_name, ".") || !strcmp(e->d_name, ".."));
	if (d)
		closedir(d);
	return d && empty;
}

int fx_pins_link(const struct fx_pins *p)
{
	char *path = fx_asprintf("%s/link", p->dir);
	int fd = bpf_obj_get(path);

	fd = fd < 0 ? -errno : fd;
	free(path);
	return fd;
}

int fx_pins_end_link(const struct fx_pins *p)
{
	int link = fx_pins_link(p);
	int err = 0;

	if (link < 0)
		return link == -ENOENT ? 0 : link;
	/* at once, and not when the last of its descriptors happens to close */
	if (bpf_link_detach(link) && errno != ENOLINK && errno != EINVAL)
		err = -errno;
	close(link);
	return err;
}

enum fx_rc fx_pins_swap(struct fx_pins *p, const char *from, const char *to)
{
	for (u32 i = 0; i < ARRAY_SIZE(parts); i++) {
		char *new = fx_asprintf("%s/%s", from, parts[i]);
		char *old = fx_asprintf("%s%s%s", to, *to ? "/" : "", parts[i]);
		int err = renameat2(p->fd, new, p->fd, old, RENAME_EXCHANGE);

		if (err && errno == ENOENT)
			err = renameat2(p->fd, new, p->fd, old, 0);
		if (err)
			fx_err("%s/%s cannot take the place of %s: %s", p->dir,
			       new, old, strerror(errno));
		free(old);
		free(new);
		if (err)
			return FX_RC_SYSTEM;
	}
	fx_pins_remove_sub(p, from);
	return FX_RC_OK;
}

/* ---- removing --------------------------------------------------------- */

static void remove_dir(int at, const char *name)
{
	int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *e;

	if (d) {
		while ((e = readdir(d)))
			if (strcmp(e->d_name, ".") && strcmp(e->d_name, ".."))
				unlinkat(fd, e->d_name, e->d_type == DT_DIR ?
					 AT_REMOVEDIR : 0);
		closedir(d);
	} else if (fd >= 0) {
		close(fd);
	}
	unlinkat(at, name, AT_REMOVEDIR);
}

void fx_pins_remove_sub(struct fx_pins *p, const char *sub)
{
	int fd = *sub ? openat(p->fd, sub, O_RDONLY | O_DIRECTORY | O_NOFOLLOW |
			       O_CLOEXEC) : p->fd;

	if (fd < 0)
		return;
	for (u32 i = 0; i < ARRAY_SIZE(parts); i++)
		remove_dir(fd, parts[i]);
	if (!*sub)
		return;
	close(fd);
	unlinkat(p->fd, sub, AT_REMOVEDIR);
}

/* All of a device's: its links lie beside the directories. */
void fx_pins_remove_nic(struct fx_pins *p, const char *sub)
{
	char *next = fx_asprintf("%s/next", sub);
	int fd = openat(p->fd, sub, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *e;

	while (d && (e = readdir(d)))
		if (e->d_type != DT_DIR)
			unlinkat(fd, e->d_name, 0);
	if (d)
		closedir(d);
	else if (fd >= 0)
		close(fd);
	fx_pins_remove_sub(p, next);
	fx_pins_remove_sub(p, sub);
	free(next);
}

static void remove_nics(struct fx_pins *p)
{
	int fd = openat(p->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *e;

	while (d && (e = readdir(d)))
		if (!strncmp(e->d_name, NIC, strlen(NIC)) ||
		    !strncmp(e->d_name, FX_PINS_DPU, strlen(FX_PINS_DPU)))
			fx_pins_remove_nic(p, e->d_name);
	if (d)
		closedir(d);
	else if (fd >= 0)
		close(fd);
}

enum fx_rc fx_pins_remove(struct fx_pins *p)
{
	remove_nics(p);
	/* what says that there are maps ends before they do */
	unlinkat(p->fd, "shared/@maps", 0);
	remove_dir(p->fd, "shared");
	unlinkat(p->fd, "link", 0);
	fx_pins_remove_sub(p, "next");
	fx_pins_remove_sub(p, "");
	/* last: while it is there, whoever finds it goes on */
	unlinkat(p->fd, "@owner", AT_REMOVEDIR);
	if (rmdir(p->dir) && errno != ENOENT) {
		fx_err("%s cannot be removed: %s", p->dir, strerror(errno));
		return FX_RC_SYSTEM;
	}
	return FX_RC_OK;
}
