// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <sys/stat.h>

#include "session_test.h"
#include "system.h"

char root[64];

int root_set_up(void **state)
{
	(void)state;
	snprintf(root, sizeof(root), "/tmp/fx-session-XXXXXX");
	if (!mkdtemp(root))
		return -1;
	fx_sys_root = root;
	return 0;
}

int root_tear_down(void **state)
{
	char *command = fx_asprintf("rm -rf '%s'", root);
	int err = system(command);

	(void)state;
	free(command);
	fx_sys_root = "";
	return err;
}

char *root_path(const char *path)
{
	char *whole = fx_asprintf("%s%s", root, path);

	for (char *c = whole + strlen(root) + 1; *c; c++) {
		if (*c != '/')
			continue;
		*c = 0;
		mkdir(whole, 0700);
		*c = '/';
	}
	return whole;
}
