// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * What happens to a command just before one of its calls, for the tests that
 * preload this: FX_INTERRUPT is "CALL:N kill", "CALL:N fail" or "CALL:N run
 * COMMAND", and the Nth CALL is the one. A CALL is one of those below, of bpf()
 * the kind that is named.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static const char *const bpf_calls[BPF_LINK_DETACH + 1] = {
	[BPF_OBJ_PIN] = "obj_pin", [BPF_OBJ_GET] = "obj_get", [BPF_PROG_LOAD] = "prog_load",
	[BPF_LINK_CREATE] = "link_create", [BPF_LINK_UPDATE] = "link_update",
	[BPF_LINK_DETACH] = "link_detach",
};

/* The call as it is, not through here again. */
static long call(long number, const long *a)
{
	static long (*real)(long number, ...);

	if (!real)
		real = (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall");
	return real(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

/* Do what is asked for, when it is this call's turn: is the call to fail? */
static bool fails(const char *name)
{
	const char *how = getenv("FX_INTERRUPT");
	size_t len = strlen(name);
	static unsigned long seen;
	char *action;

	if (!how || strncmp(how, name, len) || how[len] != ':' ||
	    ++seen != strtoul(how + len + 1, &action, 10))
		return false;
	fprintf(stderr, "interrupted at %s\n", how);
	if (!strcmp(action, " kill"))
		kill(getpid(), SIGKILL);
	if (!strncmp(action, " run ", 5)) {
		action = strdup(action + 5);
		unsetenv("LD_PRELOAD");
		if (!action || system(action))
			abort();
		free(action);
		return false;
	}
	errno = ENOSPC;
	return true;
}

long syscall(long number, ...)
{
	va_list ap;
	long a[6];

	va_start(ap, number);
	for (int i = 0; i < 6; i++)
		a[i] = va_arg(ap, long);
	va_end(ap);
	if (number == SYS_bpf && a[0] >= 0 && a[0] <= BPF_LINK_DETACH && bpf_calls[a[0]] &&
	    fails(bpf_calls[a[0]]))
		return -1;
	return call(number, a);
}

int renameat2(int from_dir, const char *from, int to_dir, const char *to, unsigned int flags)
{
	const long a[6] = { from_dir, (long)from, to_dir, (long)to, flags };

	return fails("renameat2") ? -1 : (int)call(SYS_renameat2, a);
}

int unlinkat(int dir, const char *name, int flags)
{
	const long a[6] = { dir, (long)name, flags };

	return fails("unlinkat") ? -1 : (int)call(SYS_unlinkat, a);
}

int mkdir(const char *path, mode_t mode)
{
	const long a[6] = { AT_FDCWD, (long)path, mode };

	return fails("mkdir") ? -1 : (int)call(SYS_mkdirat, a);
}

int rmdir(const char *path)
{
	const long a[6] = { AT_FDCWD, (long)path, AT_REMOVEDIR };

	return fails("rmdir") ? -1 : (int)call(SYS_unlinkat, a);
}
