/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Files of /proc and /sys. */
#ifndef FILES_H
#define FILES_H

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

/* 0 or -errno, which is what the file makes of @text. */
static inline int write_text(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	int err = 0;

	if (fd < 0)
		return -errno;
	if (write(fd, text, strlen(text)) < 0)
		err = -errno;
	close(fd);
	return err;
}

#endif
