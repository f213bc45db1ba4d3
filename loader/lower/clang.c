// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Runs clang on a policy, without a shell and within a time limit. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../diag.h"
#include "../graph/codes.h"
#include "../util.h"
#include "clang.h"
#include "map_errors.h"

#define CLANG_SECONDS	120
#define MAX_OBJECT	(64U << 20)
#define MAX_SOURCE	(16U << 20)
#define MAX_MESSAGES	(16U << 20)

/*
 * Where the headers are, from the directory of fabricctl: installed, as built
 * in the tree, and as built in the tree for the tests.
 */
static const struct {
	const char *policy, *uapi;
} headers[] = {
	{ "../include", "../include" },
	{ "../../bpf/include", "../../uapi" },
	{ "../../../bpf/include", "../../../uapi" },
};

struct includes {
	char *dir[4];		/* passed to clang in this order */
	u32 n;
};

static void add_dir(struct includes *inc, char *dir)
{
	inc->dir[inc->n++] = dir;
}

static bool has_header(const char *dir, const char *header)
{
	char *path = fx_asprintf("%s/%s", dir, header);
	bool there = !access(path, R_OK);

	free(path);
	return there;
}

static void find_headers(struct includes *inc)
{
	char exe[4096];
	ssize_t n = readlink("/proc/self/exe", exe, sizeof(exe) - 1);
	struct utsname u;
	char *slash;

	exe[n > 0 ? n : 0] = '\0';
	slash = strrchr(exe, '/');
	if (slash)
		*slash = '\0';
	for (u32 i = 0; i < ARRAY_SIZE(headers); i++) {
		char *policy = fx_asprintf("%s/%s", exe, headers[i].policy);

		if (has_header(policy, "fabric_ext/policy.bpf.h")) {
			add_dir(inc, policy);
			add_dir(inc, fx_asprintf("%s/%s", exe, headers[i].uapi));
			break;
		}
		free(policy);
	}
	/* Debian keeps asm/types.h here, where -target bpf does not look */
	if (!uname(&u)) {
		char *arch = fx_asprintf("/usr/include/%s-linux-gnu", u.machine);

		if (has_header(arch, "asm/types.h"))
			add_dir(inc, arch);
		else
			free(arch);
	}
}

bool fx_clang_is_header(const char *include, const char *path)
{
	struct includes inc = { 0 };
	bool is = false;

	if (include)
		add_dir(&inc, fx_strdup(include));
	find_headers(&inc);
	for (u32 i = 0; i < inc.n; i++) {
		size_t n = strlen(inc.dir[i]);

		is = is || (!strncmp(path, inc.dir[i], n) && path[n] == '/');
		free(inc.dir[i]);
	}
	return is;
}

/* Returns the wait status, or -errno. */
static int wait_for(pid_t pid)
{
	const struct timespec tick = { .tv_nsec = 5000000 };
	int status;

	for (u32 i = 0; i < CLANG_SECONDS * 200; i++) {
		pid_t got = waitpid(pid, &status, WNOHANG);

		if (got == pid)
			return status;
		if (got < 0)
			return -errno;
		nanosleep(&tick, NULL);
	}
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	return -ETIMEDOUT;
}

/* @header: to include first, or NULL; @messages: where what clang says goes */
static int run_clang(const char *source, const char *header, const char *object,
		     const struct includes *inc, const struct fx_clang_target *to,
		     int messages)
{
	const char *argv[40] = {
		"clang", "-O2", "-Wall", "-Wno-unused-function",
		"-Werror=incompatible-pointer-types", "-o", object,
	};
	sigset_t none;
	u32 n = 7;
	pid_t pid;

	for (u32 i = 0; to->args[i] && i < FX_CLANG_ARGS; i++)
		argv[n++] = to->args[i];
	if (!fx_json_mode && isatty(STDERR_FILENO))
		argv[n++] = "-fcolor-diagnostics";
	for (u32 i = 0; i < inc->n; i++) {
		argv[n++] = "-I";
		argv[n++] = inc->dir[i];
	}
	if (to->define)
		argv[n++] = to->define;
	if (header) {
		argv[n++] = "-include";
		argv[n++] = header;
	}
	argv[n++] = "--";
	argv[n++] = source;
	pid = fork();
	if (pid < 0)
		return -errno;
	if (!pid) {
		dup2(messages, STDOUT_FILENO);
		dup2(messages, STDERR_FILENO);
		sigemptyset(&none);
		sigprocmask(SIG_SETMASK, &none, NULL);
		execvp(argv[0], (char *const *)argv);
		_exit(errno == ENOENT ? 127 : 126);
	}
	return wait_for(pid);
}

/* @said: clang's messages, which are printed already; NULL: not known */
static enum fx_rc complain(const char *source, const struct fx_clang_target *to, int status,
			   const char *said)
{
	static const struct fx_pos whole;
	char device[64] = "";
	struct fx_diags *d;
	struct fx_diag *g;

	if (status == -ETIMEDOUT) {
		fx_err("clang did not finish %s within %d seconds and was stopped",
		       source, CLANG_SECONDS);
		return FX_RC_SYSTEM;
	}
	if (status < 0) {
		fx_err("clang cannot be run: %s", strerror(-status));
		return FX_RC_SYSTEM;
	}
	if (WIFSIGNALED(status)) {
		fx_err("clang was ended by signal %d (%s) while compiling %s",
		       WTERMSIG(status), strsignal(WTERMSIG(status)), source);
		return FX_RC_SYSTEM;
	}
	if (WEXITSTATUS(status) == 127 || WEXITSTATUS(status) == 126) {
		fx_err("clang is needed to compile %s and cannot be run; install the package clang",
		       source);
		return FX_RC_SYSTEM;
	}
	if (said && fx_map_errors(source, said))
		return FX_RC_INPUT;
	if (to->device)
		snprintf(device, sizeof(device), " for the device '%s'", to->device);
	d = fx_diags_new(source, NULL, 0);
	g = fx_diag(d, FX_E_POLICY_CLANG, whole,
		    "the policy does not compile%s; clang's messages stand %s",
		    device, fx_json_mode ? "in the notes" : "above");
	if (fx_json_mode && said && *said)
		fx_diag_note(g, whole, "%s", said);
	fx_diag_help(g, "see Documentation/policy-guide.rst for what a policy includes");
	fx_diags_print(d);
	fx_diags_free(d);
	return FX_RC_INPUT;
}

/* What clang said goes to people, with -j too; to free(), or NULL. */
static char *pass_on(const char *path)
{
	char *said = NULL;
	size_t len;

	if (fx_read_file(path, MAX_MESSAGES, &said, &len))
		return NULL;
	fwrite(said, 1, len, stderr);
	return said;
}

/* A text as a file of the directory: its path, to free(), or NULL after a sentence. */
static char *put_text(const char *dir, const char *name, const char *text)
{
	char *path = fx_asprintf("%s/%s", dir, name);
	FILE *f = fopen(path, "we");
	bool ok = f && fputs(text, f) >= 0;

	ok = (!f || !fclose(f)) && ok;
	if (ok)
		return path;
	fx_err("%s cannot be written: %s; set TMPDIR to where there is room", path,
	       strerror(errno));
	unlink(path);
	free(path);
	return NULL;
}

static void remove_text(char *path)
{
	if (path)
		unlink(path);
	free(path);
}

/* The object in a file of its own, which is gone when this returns. */
static enum fx_rc compile(const char *source, const struct includes *inc,
			  const struct fx_clang_target *to, char **out, size_t *size)
{
	const char *where = getenv("TMPDIR");
	char *dir = fx_asprintf("%s/fabricctl.XXXXXX",
				where && *where ? where : "/tmp");
	char *object = NULL, *messages = NULL, *said = NULL, *header = NULL, *text = NULL;
	enum fx_rc rc = FX_RC_SYSTEM;
	int status, err, fd;

	if (!mkdtemp(dir)) {
		fx_err("%s cannot be made: %s; set TMPDIR to where there is room",
		       dir, strerror(errno));
		free(dir);
		return FX_RC_SYSTEM;
	}
	object = fx_asprintf("%s/policy.bpf.o", dir);
	messages = fx_asprintf("%s/messages", dir);
	fd = open(messages, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	if (fd < 0) {
		fx_err("%s cannot be made: %s; set TMPDIR to where there is room",
		       messages, strerror(errno));
		goto out;
	}
	if (to->header)
		header = put_text(dir, "device.h", to->header);
	if (to->text)
		text = put_text(dir, "policy.c", to->text);
	if ((to->header && !header) || (to->text && !text)) {
		close(fd);
		goto out;
	}
	status = run_clang(text ? text : source, header, object, inc, to, fd);
	close(fd);
	said = pass_on(messages);
	if (status) {
		rc = complain(source, to, status, said);
		goto out;
	}
	err = fx_read_file(object, MAX_OBJECT, out, size);
	if (err) {
		fx_err("the object that clang made of %s cannot be read: %s",
		       source, strerror(-err));
		goto out;
	}
	rc = FX_RC_OK;
out:
	remove_text(header);
	remove_text(text);
	unlink(messages);
	unlink(object);
	rmdir(dir);
	free(said);
	free(messages);
	free(object);
	free(dir);
	return rc;
}

static enum fx_rc check_source(const char *source)
{
	char *text = NULL;
	size_t len;
	int err = fx_read_file(source, MAX_SOURCE, &text, &len);

	free(text);
	return err ? fx_read_failed("the policy", source, err) : FX_RC_OK;
}

enum fx_rc fx_clang_for(const char *source, const char *include,
			const struct fx_clang_target *to, char **object, size_t *size)
{
	struct includes inc = { 0 };
	sigset_t stop, before;
	enum fx_rc rc;

	*object = NULL;
	*size = 0;
	rc = check_source(source);
	if (rc != FX_RC_OK)
		return rc;
	if (include)
		add_dir(&inc, fx_strdup(include));
	find_headers(&inc);

	/* an interrupt ends clang, and then us, with nothing left behind */
	sigemptyset(&stop);
	sigaddset(&stop, SIGINT);
	sigaddset(&stop, SIGTERM);
	sigaddset(&stop, SIGHUP);
	sigprocmask(SIG_BLOCK, &stop, &before);
	rc = compile(source, &inc, to, object, size);
	sigprocmask(SIG_SETMASK, &before, NULL);

	for (u32 i = 0; i < inc.n; i++)
		free(inc.dir[i]);
	return rc;
}

enum fx_rc fx_clang(const char *source, const char *include, const char *define,
		    char **object, size_t *size)
{
	static const char *const bpf[] = { FX_CLANG_BPF, "-mcpu=" FX_BPF_CPU, NULL };
	const struct fx_clang_target to = {
		.device = define ? "nic" : NULL, .args = bpf, .define = define,
	};

	return fx_clang_for(source, include, &to, object, size);
}
