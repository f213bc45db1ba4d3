// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Writing a bundle: into a directory beside it that takes its name when it is
 * whole. Signals wait meanwhile, so that nothing half-made stays behind.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bundle.h"
#include "bundle_files.h"
#include "diag.h"
#include "json.h"
#include "util.h"

static bool is_ours(const char *name)
{
	if (!strcmp(name, ".") || !strcmp(name, "..") ||
	    !strcmp(name, "kernel") || !strcmp(name, "nic"))
		return true;
	for (u32 i = 0; i < FX_BUNDLE_FILES; i++)
		if (!strcmp(name, fx_bundle_files[i].name))
			return true;
	return false;
}

/* What is there may be replaced: nothing, an empty directory, a bundle. */
static enum fx_rc may_replace(const char *dir, bool *exists)
{
	struct dirent *e;
	bool empty = true, manifest = false;
	char *foreign = NULL;
	enum fx_rc rc = FX_RC_INPUT;
	struct stat st;
	DIR *d;

	*exists = false;
	if (lstat(dir, &st)) {
		if (errno == ENOENT)
			return FX_RC_OK;
		fx_err("%s cannot be looked at: %s", dir, strerror(errno));
		return FX_RC_SYSTEM;
	}
	*exists = true;
	d = S_ISDIR(st.st_mode) ? opendir(dir) : NULL;
	if (!d) {
		fx_err("%s exists and is no directory; give -o another name",
		       dir);
		return FX_RC_INPUT;
	}
	while ((e = readdir(d))) {
		bool dots = !strcmp(e->d_name, ".") || !strcmp(e->d_name, "..");

		empty = empty && dots;
		manifest = manifest || !strcmp(e->d_name, "manifest.json");
		if (!is_ours(e->d_name) && !foreign)
			foreign = fx_strdup(e->d_name);
	}
	closedir(d);
	if (empty || (manifest && !foreign))
		rc = FX_RC_OK;
	else if (foreign)
		fx_err("%s exists and holds '%s', which is not of a bundle; it is left alone, give -o another name",
		       dir, foreign);
	else
		fx_err("%s exists and is no bundle; it is left alone, give -o another name",
		       dir);
	free(foreign);
	return rc;
}

static int write_file(int dir, const char *name, const void *data, size_t len)
{
	const char *p = data;
	int fd, err = 0;

	fd = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	if (fd < 0)
		return -errno;
	while (len && !err) {
		ssize_t n = write(fd, p, len);

		if (n < 0 && errno != EINTR)
			err = -errno;
		if (n > 0) {
			p += n;
			len -= n;
		}
	}
	if (!err && fsync(fd))
		err = -errno;
	if (close(fd) && !err)
		err = -errno;
	return err;
}

static void list_file(struct json_object *files, const char *name,
		      const void *data, size_t len)
{
	struct json_object *f = fx_json_object();
	char *sha = fx_sha256(data, len);

	fx_json_u64(f, "bytes", len);
	fx_json_str(f, "sha256", sha);
	fx_json_put(files, name, f);
	free(sha);
}

static char *pretty(struct json_object *o)
{
	return fx_asprintf("%s\n",
			   json_object_to_json_string_ext(o,
							  JSON_C_TO_STRING_PRETTY |
							  JSON_C_TO_STRING_SPACED |
							  JSON_C_TO_STRING_NOSLASHESCAPE));
}

/* What a device's two files hold. */
static void nic_parts(const struct fx_bundle_nic *n, const void **data, size_t *size)
{
	data[0] = n->object;
	size[0] = n->object_size;
	data[1] = n->flow;
	size[1] = n->n_flow * sizeof(*n->flow);
}

static char *nic_path(const struct fx_bundle_nic *n, u32 file)
{
	return fx_asprintf("nic/%s/%s", n->netdev, fx_bundle_nic_files[file].name);
}

static void list_nics(struct json_object *files, const struct fx_bundle_parts *p)
{
	const void *data[FX_BUNDLE_NIC_FILES];
	size_t size[FX_BUNDLE_NIC_FILES];

	for (u32 i = 0; i < p->n_nic; i++) {
		nic_parts(&p->nic[i], data, size);
		for (u32 j = 0; j < FX_BUNDLE_NIC_FILES; j++) {
			char *path = nic_path(&p->nic[i], j);

			list_file(files, path, data[j], size[j]);
			free(path);
		}
	}
}

static int write_nic(int dir, const struct fx_bundle_nic *n)
{
	const void *data[FX_BUNDLE_NIC_FILES];
	size_t size[FX_BUNDLE_NIC_FILES];
	char *path = fx_asprintf("nic/%s", n->netdev);
	int err = mkdirat(dir, path, 0777) ? -errno : 0;

	free(path);
	nic_parts(n, data, size);
	for (u32 j = 0; j < FX_BUNDLE_NIC_FILES && !err; j++) {
		path = nic_path(n, j);
		err = write_file(dir, path, data[j], size[j]);
		free(path);
	}
	return err;
}

static int write_nics(int dir, const struct fx_bundle_parts *p)
{
	int err = 0;

	if (p->n_nic && mkdirat(dir, "nic", 0777))
		return -errno;
	for (u32 i = 0; i < p->n_nic && !err; i++)
		err = write_nic(dir, &p->nic[i]);
	return err;
}

static int fill(int dir, const struct fx_bundle_parts *p)
{
	char *obligations = pretty(p->obligations), *manifest = NULL;
	struct json_object *files = fx_json_object();
	const void *data[FX_BUNDLE_FILES] = {
		[FX_BUNDLE_EDGES] = p->image,
		[FX_BUNDLE_OBLIGATIONS] = obligations,
		[FX_BUNDLE_POLICY] = p->object,
	};
	size_t size[FX_BUNDLE_FILES] = {
		[FX_BUNDLE_EDGES] = p->image_size,
		[FX_BUNDLE_OBLIGATIONS] = strlen(obligations),
		[FX_BUNDLE_POLICY] = p->object_size,
	};
	int err = 0;

	for (u32 i = 0; i < FX_BUNDLE_FILES; i++)
		if (data[i])
			list_file(files, fx_bundle_files[i].name, data[i], size[i]);
	list_nics(files, p);
	fx_json_put(p->manifest, "files", files);
	manifest = pretty(p->manifest);
	data[FX_BUNDLE_MANIFEST] = manifest;
	size[FX_BUNDLE_MANIFEST] = strlen(manifest);
	if (p->object && mkdirat(dir, "kernel", 0777))
		err = -errno;
	for (u32 i = 0; i < FX_BUNDLE_FILES && !err; i++)
		if (data[i])
			err = write_file(dir, fx_bundle_files[i].name, data[i],
					 size[i]);
	if (!err)
		err = write_nics(dir, p);
	free(manifest);
	free(obligations);
	return err;
}

/* The devices' directories; what else is in them stays, and so do they. */
static void remove_nics(int dir)
{
	int fd = openat(dir, "nic", O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *e;

	if (!d) {
		if (fd >= 0)
			close(fd);
		return;
	}
	while ((e = readdir(d))) {
		if (!fx_netdev_name_ok(e->d_name))
			continue;
		for (u32 j = 0; j < FX_BUNDLE_NIC_FILES; j++) {
			char *path = fx_asprintf("%s/%s", e->d_name,
						 fx_bundle_nic_files[j].name);

			unlinkat(fd, path, 0);
			free(path);
		}
		unlinkat(fd, e->d_name, AT_REMOVEDIR);
	}
	closedir(d);
	unlinkat(dir, "nic", AT_REMOVEDIR);
}

/* Only what a bundle holds; a directory with more stays. */
static void remove_bundle(const char *path)
{
	int dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);

	if (dir < 0)
		return;
	for (u32 i = 0; i < FX_BUNDLE_FILES; i++)
		unlinkat(dir, fx_bundle_files[i].name, 0);
	unlinkat(dir, "kernel", AT_REMOVEDIR);
	remove_nics(dir);
	close(dir);
	rmdir(path);
}

static int publish(const char *tmp, const char *dir, bool exists)
{
	int err = 0;

	if (!exists)
		err = rename(tmp, dir);
	else
		err = renameat2(AT_FDCWD, tmp, AT_FDCWD, dir, RENAME_EXCHANGE);
	if (err)
		return -errno;
	if (exists)
		remove_bundle(tmp);	/* which is the old one now */
	return 0;
}

static enum fx_rc write_in(char *tmp, const char *dir, bool exists,
			   const struct fx_bundle_parts *p)
{
	mode_t mask = umask(0);
	int fd, err;

	umask(mask);
	if (!mkdtemp(tmp)) {
		fx_err("no directory can be made beside %s: %s", dir,
		       strerror(errno));
		return FX_RC_SYSTEM;
	}
	fd = open(tmp, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	err = fd < 0 ? -errno : fill(fd, p);
	if (!err && (fchmod(fd, 0777 & ~mask) || fsync(fd)))
		err = -errno;
	if (fd >= 0)
		close(fd);
	if (!err)
		err = publish(tmp, dir, exists);
	if (!err)
		return FX_RC_OK;
	remove_bundle(tmp);
	fx_err("the bundle %s cannot be written: %s; %s", dir,
	       exists && err == -EINVAL ?
	       "this file system cannot swap it with the old one, remove that first" :
	       strerror(-err),
	       exists ? "the old one stays" : "nothing is left of it");
	return FX_RC_SYSTEM;
}

enum fx_rc fx_bundle_write(const char *dir, const struct fx_bundle_parts *parts)
{
	size_t len = strlen(dir);
	char *path, *tmp, *slash;
	sigset_t all, before;
	bool exists;
	enum fx_rc rc;

	while (len > 1 && dir[len - 1] == '/')
		len--;
	path = fx_strndup(dir, len);
	slash = strrchr(path, '/');
	tmp = fx_asprintf("%.*s.%s.XXXXXX", slash ? (int)(slash - path + 1) : 0,
			  path, slash ? slash + 1 : path);
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, &before);
	rc = may_replace(path, &exists);
	if (rc == FX_RC_OK)
		rc = write_in(tmp, path, exists, parts);
	sigprocmask(SIG_SETMASK, &before, NULL);
	free(tmp);
	free(path);
	return rc;
}
