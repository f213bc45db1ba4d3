// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "hold.h"
#include "util.h"

static int open_dir(const char *dir, const char *name, bool make)
{
	char *path = fx_asprintf("%s/%s", dir, name);
	int fd = -1;

	if (!make || !mkdir(path, 0700) || errno == EEXIST)
		fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	fd = fd < 0 ? -errno : fd;
	free(path);
	return fd;
}

int fx_hold_take(const char *dir, const char *name, u32 tries)
{
	int fd = open_dir(dir, name, true), err = 0;

	if (fd < 0)
		return fd;
	for (u32 i = 0; !err && flock(fd, LOCK_EX | LOCK_NB); i++) {
		if (errno != EWOULDBLOCK && errno != EINTR)
			err = -errno;
		else if (i >= tries)
			err = -EBUSY;
		else
			fx_pause_ms(10);
	}
	if (!err)
		return fd;
	close(fd);
	return err;
}

int fx_hold_is_held(const char *dir, const char *name)
{
	int fd = open_dir(dir, name, false), held = 0;

	if (fd < 0)
		return fd;
	if (flock(fd, LOCK_SH | LOCK_NB))
		held = errno == EWOULDBLOCK ? 1 : -errno;
	close(fd);
	return held;
}

bool fx_hold_counts(const char *dir, const char *name, int fd)
{
	char *path = fx_asprintf("%s/%s", dir, name);
	struct stat here, there;
	bool same;

	same = !fstat(fd, &here) && !lstat(path, &there) &&
	       here.st_ino == there.st_ino && here.st_dev == there.st_dev;
	free(path);
	return same;
}
