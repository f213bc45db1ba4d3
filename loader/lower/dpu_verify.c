// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <bpf/libbpf.h>
#include <errno.h>
#include <string.h>

#include "../bpflog.h"
#include "../util.h"
#include "dpu_verify.h"

static bool may_not(int err)
{
	return err == -EPERM || err == -EACCES;
}

int fx_dpu_verify(const void *object, size_t size, char **why)
{
	LIBBPF_OPTS(bpf_object_open_opts, opts, .object_name = "policy");
	struct bpf_program *prog;
	struct bpf_object *obj;
	int err;

	*why = NULL;
	fx_bpflog_start(false);
	obj = bpf_object__open_mem(object, size, &opts);
	err = obj ? 0 : -errno;
	/* a program of another type would be verified by other rules */
	if (!err)
		bpf_object__for_each_program(prog, obj)
			if (bpf_program__type(prog) != BPF_PROG_TYPE_SYSCALL)
				err = -EINVAL;
	if (!err)
		err = bpf_object__load(obj);
	bpf_object__close(obj);
	if (!err)
		return 0;
	/* the verifier says -EACCES too, of a program that it looked at */
	if (may_not(err) && !strstr(fx_bpflog_text(), "BEGIN PROG LOAD LOG")) {
		*why = fx_strdup("this process may not load BPF programs: it needs CAP_BPF and CAP_PERFMON");
		return -EPERM;
	}
	*why = fx_bpflog_reason(fx_bpflog_text());
	return may_not(err) ? -EINVAL : err;
}
