// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../bpflog.h"
#include "../util.h"
#include "verify.h"

/* Said of the call to the function that does, over three lines. */
#define SLEEPS	"functions that may sleep"

static bool may_not(int err)
{
	return err == -EPERM || err == -EACCES;
}

/* What libbpf prints with a log, which it does not when the buffer is ours. */
static char *with_log(const char *said, const char *log)
{
	const char *name = strstr(said, "prog '"), *end;

	name = name ? name + strlen("prog '") : "?";
	end = strchr(name, '\'');
	return fx_asprintf("%slibbpf: prog '%.*s': -- BEGIN PROG LOAD LOG --\n%s-- END PROG LOAD LOG --\n",
			   said, (int)(end ? end - name : 1), name, log);
}

static char *of_another_type(const struct bpf_program *prog, int type)
{
	const char *has = libbpf_bpf_prog_type_str(bpf_program__type(prog));
	const char *wants = libbpf_bpf_prog_type_str(type);

	return fx_asprintf("the program '%s' is of type %s, and all have to be of type %s",
			   bpf_program__name(prog), has ? has : "?", wants ? wants : "?");
}

/*
 * What the verifier saw of a program is what the file has, but for where maps
 * are. What else libbpf changes, it changes for the kernel that runs here.
 */
static bool is_same(const struct bpf_program *prog, const struct bpf_insn *as, size_t n)
{
	const struct bpf_insn *seen = bpf_program__insns(prog);
	struct bpf_insn insn;

	if (bpf_program__insn_cnt(prog) != n)
		return false;
	for (size_t i = 0; i < n; i++) {
		insn = as[i];
		if (insn.code == (BPF_LD | BPF_IMM | BPF_DW) &&
		    seen[i].src_reg == BPF_PSEUDO_MAP_FD) {
			insn.src_reg = seen[i].src_reg;
			insn.imm = seen[i].imm;
		}
		if (memcmp(&insn, &seen[i], sizeof(insn)))
			return false;
	}
	return true;
}

/*
 * The log's end, which the reason stands at. A buffer of libbpf's grows until
 * all fits, with the program verified anew each time.
 */
#define LOG_BYTES	(256 << 10)

int fx_verify_as(const void *object, size_t size, int type, const struct bpf_insn *as, size_t n,
		 char **why)
{
	char *log = fx_calloc(1, LOG_BYTES), *all;

	LIBBPF_OPTS(bpf_object_open_opts, opts, .object_name = "policy",
		    .kernel_log_buf = log, .kernel_log_size = LOG_BYTES);
	struct bpf_program *prog;
	struct bpf_object *obj;
	bool looked_at;
	int err;

	*why = NULL;
	fx_bpflog_start(false);
	obj = bpf_object__open_mem(object, size, &opts);
	err = obj ? 0 : -errno;
	/* a program of another type would be verified by other rules */
	if (!err && type >= 0) {
		bpf_object__for_each_program(prog, obj)
			if (!*why && (int)bpf_program__type(prog) != type)
				*why = of_another_type(prog, type);
		if (*why)
			err = -EINVAL;
	}
	if (!err)
		err = bpf_object__load(obj);
	if (!err && as) {
		bpf_object__for_each_program(prog, obj)
			if (!*why && !is_same(prog, as, n))
				*why = fx_asprintf("libbpf changed the program '%s' for this kernel, so that the verifier did not see what the file has",
						   bpf_program__name(prog));
		if (*why)
			err = -EINVAL;
	}
	bpf_object__close(obj);
	log[LOG_BYTES - 1] = '\0';
	looked_at = *log;
	all = with_log(fx_bpflog_text(), log);
	free(log);
	if (!err || *why)
		goto out;
	/* the verifier says -EACCES too, of a program that it looked at */
	if (may_not(err) && !looked_at) {
		*why = fx_strdup("this process may not load BPF programs: it needs CAP_BPF and CAP_PERFMON");
		err = -EPERM;
		goto out;
	}
	*why = strstr(all, SLEEPS) ?
	       fx_strdup("it calls a helper that may sleep, such as bpf_copy_from_user()") :
	       fx_bpflog_reason(looked_at ? all : fx_bpflog_text());
	err = !looked_at ? -EOPNOTSUPP : may_not(err) ? -EINVAL : err;
out:
	free(all);
	return err;
}

int fx_verify(const void *object, size_t size, int type, char **why)
{
	return fx_verify_as(object, size, type, NULL, 0, why);
}

struct fx_pos fx_verify_pos(char **why, const char *source)
{
	const char *slash = strrchr(source, '/'), *name = slash ? slash + 1 : source;
	const size_t len = strlen(name);
	struct fx_pos pos = { 0 };
	unsigned long line;
	char *end;

	/* FILE:LINE: or FILE:LINE:COLUMN: as bpflog.c has it of the verifier */
	if (strncmp(*why, name, len) || (*why)[len] != ':')
		return pos;
	line = strtoul(*why + len + 1, &end, 10);
	if (*end == ':' && end[1] != ' ')
		strtoul(end + 1, &end, 10);
	if (!line || line > INT32_MAX || strncmp(end, ": ", 2))
		return pos;
	pos = (struct fx_pos){ line, 1 };
	end = fx_strdup(end + 2);
	free(*why);
	*why = end;
	return pos;
}
