// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The guard of a portable policy before a verifier, without the module: it is
 * compiled once more, as a program that needs no module.
 */
#include <errno.h>
#include <linux/bpf.h>
#include <stdlib.h>
#include <string.h>

#include "../diag.h"
#include "../graph/codes.h"
#include "../util.h"
#include "clang.h"
#include "kernel.h"
#include "verify.h"

/* Which functions of the kernel may be called depends on the program's type. */
#define TYPES_CALLS	"calling kernel function"

enum fx_rc fx_check_body(const struct fx_lower_in *in)
{
	static const char *const bpf[] = { FX_CLANG_BPF, "-mcpu=" FX_BPF_CPU, NULL };
	const struct fx_clang_target to = { .args = bpf, .define = "-DFX_FOR_BODY" };
	char *object = NULL, *why = NULL;
	struct fx_diags *d;
	struct fx_pos pos;
	enum fx_rc rc;
	size_t size;
	int err;

	rc = fx_clang_for(in->policy, in->include, &to, &object, &size);
	if (rc != FX_RC_OK)
		return rc;
	err = fx_verify(object, size, BPF_PROG_TYPE_SCHED_CLS, &why);
	/* who may not load programs hears of it from attach */
	if (err && err != -EPERM && err != -EOPNOTSUPP && !strstr(why, TYPES_CALLS)) {
		pos = fx_verify_pos(&why, in->policy);
		d = fx_diags_new(in->policy, NULL, 0);
		fx_diag_help(fx_diag(d, FX_E_POLICY_BODY, pos,
				     "the guard is no program for the ops 'admit' and 'route' of the device 'kernel': %s",
				     why),
			     "loops need a bound that the verifier sees (or bpf_for()), and pointers, as fx_at() returns them, a check against NULL");
		fx_diags_print(d);
		fx_diags_free(d);
		rc = FX_RC_INPUT;
	}
	free(why);
	free(object);
	return rc;
}
