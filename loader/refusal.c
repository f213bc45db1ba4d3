// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <bpf/btf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bpflog.h"
#include "diag.h"
#include "refusal.h"
#include "system.h"
#include "util.h"

#define MODULE		"fabric_ext"
#define KFUNC_PREFIX	"fx_bpf_"
#define BYPASS		"/sys/module/" MODULE "/parameters/bypass"

/* kmod/ops.h */
#define FX_TIMEOUT_MS_MAX	30000

/* ---- an object that is not loaded ------------------------------------- */

/* The module's kfuncs, without their prefix. */
static void list_kfuncs(struct fx_words *w)
{
	struct btf *base = btf__load_vmlinux_btf();
	struct btf *btf = base ? btf__load_module_btf(MODULE, base) : NULL;
	const size_t prefix = strlen(KFUNC_PREFIX);
	u32 n = btf ? btf__type_cnt(btf) : 0;

	for (u32 id = btf ? btf__type_cnt(base) : 0; id < n; id++) {
		const struct btf_type *t = btf__type_by_id(btf, id);
		const char *name = btf__name_by_offset(btf, t->name_off);

		if (btf_is_func(t) && name && !strncmp(name, KFUNC_PREFIX, prefix))
			fx_words_add(w, name + prefix);
	}
	btf__free(btf);
	btf__free(base);
}

static void unknown_kfunc(const char *policy, const char *name)
{
	const size_t prefix = strlen(KFUNC_PREFIX);
	struct fx_words known = { 0 };
	const char *near = NULL;

	if (!strncmp(name, KFUNC_PREFIX, prefix)) {
		list_kfuncs(&known);
		near = fx_nearest_name(name + prefix,
				       (const char *const *)known.word, known.n);
	}
	fx_err("policy '%s' calls %s(), which neither this kernel nor the module has; %s%s%s",
	       policy, name,
	       near ? "did you mean " KFUNC_PREFIX :
		      "Documentation/policy-guide.rst lists what a policy may call",
	       near ? near : "", near ? "()?" : "");
	fx_words_free(&known);
}

enum fx_rc fx_refused_load(const char *bundle, const char *policy, int err,
			   bool verbose)
{
	const char *log = fx_bpflog_text();
	char *kfunc = fx_bpflog_unknown_kfunc(log), *why = NULL;

	if (!policy)
		policy = bundle;
	if (kfunc) {
		unknown_kfunc(policy, kfunc);
	} else if (strstr(log, "must have a GPL compatible license")) {
		fx_err("policy '%s' in %s has no licence that the kernel takes; give its source char LICENSE[] SEC(\"license\") = \"Dual BSD/GPL\"; and compile it again",
		       policy, bundle);
	} else {
		why = fx_bpflog_reason(log);
		fx_err("%s%s", why,
		       verbose ? "" : "; attach -v prints the whole log");
	}
	free(why);
	free(kfunc);
	return err == -ENOMEM || err == -EPERM ? FX_RC_SYSTEM : FX_RC_INPUT;
}

/* ---- a policy that is not attached ------------------------------------ */

static bool bypass_is_set(void)
{
	char *line = fx_sys_line(BYPASS);
	bool set = line && *line == 'Y';

	free(line);
	return set;
}

enum fx_rc fx_refused_attach(const char *policy, const char *graph,
			     u32 timeout_ms, int err)
{
	static const struct {
		int err;
		enum fx_rc rc;
		const char *why;
	} known[] = {
		{ -EPERM, FX_RC_SYSTEM, "it needs CAP_BPF, CAP_PERFMON and CAP_NET_ADMIN in the initial user namespace" },
		{ -ENOENT, FX_RC_SYSTEM, "the graph was removed meanwhile" },
		{ -EBUSY, FX_RC_SYSTEM, "another policy was attached meanwhile" },
		{ -EEXIST, FX_RC_SYSTEM, "another policy was attached meanwhile" },
		{ -EINVAL, FX_RC_INPUT, "a field of its struct fabric_ext_ops is out of range; the kernel's log names it" },
	};
	const char *why = strerror(-err);
	enum fx_rc rc = FX_RC_SYSTEM;
	char *text = NULL;

	for (u32 i = 0; i < ARRAY_SIZE(known); i++) {
		if (known[i].err != err)
			continue;
		why = known[i].why;
		rc = known[i].rc;
	}
	if (err == -ERANGE && timeout_ms > FX_TIMEOUT_MS_MAX) {
		text = fx_asprintf("its timeout_ms is %u, and %u is the most",
				   timeout_ms, FX_TIMEOUT_MS_MAX);
		rc = FX_RC_INPUT;
	} else if (err == -ECANCELED && bypass_is_set()) {
		text = fx_strdup("the module's parameter bypass is set, which keeps every policy out until `echo 0 >" BYPASS "`");
	}
	fx_err("policy '%s' cannot be attached to graph '%s': %s", policy, graph,
	       text ? text : why);
	free(text);
	return rc;
}
