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
#include "devices.h"
#include "diag.h"
#include "json.h"
#include "util.h"

static bool is_ours(const char *name)
{
	if (!strcmp(name, ".") || !strcmp(name, "..") || fx_device(name))
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

/* A device's file, after the directories that it stands in. */
static int write_part(int dir, const struct fx_part *p)
{
	char *path = fx_strdup(p->path);
	int err = 0;

	for (char *slash = strchr(path, '/'); slash && !err;
	     slash = strchr(slash + 1, '/')) {
		*slash = 0;
		if (mkdirat(dir, path, 0777) && errno != EEXIST)
			err = -errno;
		*slash = '/';
	}
	free(path);
	return err ? err : write_file(dir, p->path, p->data, p->size);
}

static int fill(int dir, const struct fx_bundle_parts *p)
{
	char *obligations = pretty(p->obligations), *manifest, *seal;
	struct json_object *files = fx_json_object();
	const void *data[FX_BUNDLE_FILES] = {
		[FX_BUNDLE_EDGES] = p->image,
		[FX_BUNDLE_OBLIGATIONS] = obligations,
	};
	size_t size[FX_BUNDLE_FILES] = {
		[FX_BUNDLE_EDGES] = p->image_size,
		[FX_BUNDLE_OBLIGATIONS] = strlen(obligations),
	};
	int err = 0;

	for (u32 i = 0; i < FX_BUNDLE_FILES; i++)
		if (data[i])
			list_file(files, fx_bundle_files[i].name, data[i], size[i]);
	for (u32 i = 0; i < p->n_part; i++)
		list_file(files, p->part[i].path, p->part[i].data, p->part[i].size);
	fx_json_put(p->manifest, "files", files);
	manifest = pretty(p->manifest);
	data[FX_BUNDLE_MANIFEST] = manifest;
	size[FX_BUNDLE_MANIFEST] = strlen(manifest);
	seal = fx_bundle_seal(manifest, strlen(manifest));
	data[FX_BUNDLE_SEAL] = seal;
	size[FX_BUNDLE_SEAL] = strlen(seal);
	for (u32 i = 0; i < FX_BUNDLE_FILES && !err; i++)
		err = write_file(dir, fx_bundle_files[i].name, data[i], size[i]);
	for (u32 i = 0; i < p->n_part && !err; i++)
		err = write_part(dir, &p->part[i]);
	free(seal);
	free(manifest);
	free(obligations);
	return err;
}

static void remove_files(int dir, const struct fx_device *d)
{
	for (u32 i = 0; i < FX_DEVICE_FILES && d->file[i].name; i++)
		unlinkat(dir, d->file[i].name, 0);
}

/* A device's directory; what else is in it stays, and so does it. */
static void remove_device(int bundle, const struct fx_device *dev)
{
	int fd = openat(bundle, dev->name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *e;

	if (!d) {
		if (fd >= 0)
			close(fd);
		return;
	}
	if (!dev->named)
		remove_files(fd, dev);
	while (dev->named && (e = readdir(d))) {
		int sub = fx_part_name_ok(e->d_name) ?
			  openat(fd, e->d_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW) :
			  -1;

		if (sub < 0)
			continue;
		remove_files(sub, dev);
		close(sub);
		unlinkat(fd, e->d_name, AT_REMOVEDIR);
	}
	closedir(d);
	unlinkat(bundle, dev->name, AT_REMOVEDIR);
}

/* Only what a bundle holds; a directory with more stays. */
static void remove_bundle(const char *path)
{
	int dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);

	if (dir < 0)
		return;
	for (u32 i = 0; i < FX_BUNDLE_FILES; i++)
		unlinkat(dir, fx_bundle_files[i].name, 0);
	for (u32 i = 0; i < fx_n_devices; i++)
		remove_device(dir, &fx_devices[i]);
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
