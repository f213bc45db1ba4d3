// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kconfig.h"
#include "system.h"
#include "util.h"

#define CONFIG_MAX	(4U << 20)

static char *read_all(FILE *f)
{
	char *text = fx_alloc(CONFIG_MAX + 1);
	size_t n = fread(text, 1, CONFIG_MAX, f);

	text[n] = 0;
	if (n)
		return text;
	free(text);
	return NULL;
}

/* What gzip unpacks; the kernel offers its configuration in this form. */
static char *read_gzip(const char *path)
{
	char *text = NULL;
	int fds[2];
	pid_t pid;
	FILE *f;

	if (access(path, R_OK) || pipe(fds))
		return NULL;
	pid = fork();
	if (!pid) {
		int null = open("/dev/null", O_WRONLY);

		dup2(fds[1], STDOUT_FILENO);
		if (null >= 0)
			dup2(null, STDERR_FILENO);
		close(fds[0]);
		close(fds[1]);
		execlp("gzip", "gzip", "-dc", "--", path, (char *)NULL);
		_exit(127);
	}
	close(fds[1]);
	f = fdopen(fds[0], "r");
	if (f) {
		text = pid > 0 ? read_all(f) : NULL;
		fclose(f);
	} else {
		close(fds[0]);
	}
	if (pid > 0)
		waitpid(pid, NULL, 0);
	return text;
}

static char *read_plain(const char *path)
{
	FILE *f = fopen(path, "re");
	char *text;

	if (!f)
		return NULL;
	text = read_all(f);
	fclose(f);
	return text;
}

/**
 * fx_kconfig_read() - find the configuration of a kernel
 * @release: as `uname -r` says it
 * @k: filled; text is NULL when there is none anywhere
 */
void fx_kconfig_read(const char *release, struct fx_kconfig *k)
{
	static const struct {
		const char *before;
		const char *after;	/* NULL: packed, and no release in it */
	} places[] = {
		{ "/proc/config.gz", NULL },
		{ "/boot/config-", "" },
		{ "/lib/modules/", "/config" },
		{ "/lib/modules/", "/build/.config" },
	};

	memset(k, 0, sizeof(*k));
	for (u32 i = 0; !k->text && i < ARRAY_SIZE(places); i++) {
		const char *after = places[i].after;

		free(k->path);
		k->path = fx_asprintf("%s%s%s%s", fx_sys_root, places[i].before,
				      after ? release : "", after ? after : "");
		k->text = after ? read_plain(k->path) : read_gzip(k->path);
	}
	if (!k->text) {
		free(k->path);
		k->path = NULL;
	}
}

void fx_kconfig_free(struct fx_kconfig *k)
{
	free(k->text);
	free(k->path);
	memset(k, 0, sizeof(*k));
}

char fx_kconfig_value(const struct fx_kconfig *k, const char *option)
{
	size_t len = strlen(option);

	for (const char *l = k->text; l; l = strchr(l, '\n')) {
		l += *l == '\n';
		if (!strncmp(l, "CONFIG_", 7) && !strncmp(l + 7, option, len) &&
		    l[7 + len] == '=')
			return l[8 + len];
		if (!*l)
			break;
	}
	return 'n';
}
