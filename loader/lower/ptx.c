// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A policy as a kernel of a GPU, by LLVM's back end for NVIDIA's. Each lane has
 * a move of its own, so lanes may decide apart, and what they share is added to
 * atomically; what has to hold all the same (an end, no barrier, no helper that
 * is not there) is checked in eBPF that is made of the same body.
 */
#include <stdlib.h>
#include <string.h>

#include "../diag.h"
#include "../graph/codes.h"
#include "../graph/copies.h"
#include "../graph/graph.h"
#include "../json.h"
#include "../util.h"
#include "gpu.h"
#include "gpu_rules.h"
#include "gpu_text.h"
#include "ptx_scan.h"

#define DEFINES	"#define FX_FOR_GPU 1\n#define FX_FOR_PTX 1\n"
#define ENTRY	".entry fx_guard_moves("

/* What clang made is a module that needs nothing else. */
static enum fx_rc check_ptx(const struct fx_lower_in *in, const char *ptx, const char *arch)
{
	static const struct fx_pos whole;
	char *target = fx_asprintf(".target %s", arch);
	enum fx_rc rc = FX_RC_OK;
	struct fx_diags *d;
	char *wrong;

	if (!strstr(ptx, target))
		wrong = fx_strdup("is for another architecture");
	else if (!strstr(ptx, ENTRY))
		wrong = fx_strdup("has no kernel fx_guard_moves()");
	else
		wrong = fx_ptx_scan(ptx);
	if (wrong) {
		d = fx_diags_new(in->policy, NULL, 0);
		fx_diag_help(fx_diag(d, FX_E_GPU_HELPER, whole,
				     "the policy as PTX for %s %s", arch, wrong),
			     "%s", fx_ptx_rules.helpers_help);
		fx_diags_print(d);
		fx_diags_free(d);
		rc = FX_RC_INPUT;
	}
	free(wrong);
	free(target);
	return rc;
}

enum fx_rc fx_lower_ptx(const struct fx_lower_in *in, struct fx_lowered *out)
{
	const char *arch = fx_copy_place(in->g)->copies.ptx;
	char *march = fx_asprintf("-march=%s", arch), *ptx = NULL, *text;
	struct fx_lower_in one = *in;
	const char *const target[] = {
		"--target=nvptx64-nvidia-cuda", march, "-ffreestanding", "-nostdlib",
		"-S", NULL,
	};
	enum fx_rc rc;
	size_t size;

	/* the same body as eBPF, which has lines, and helpers by number */
	rc = fx_gpu_text(in, "ptx", DEFINES, &text);
	one.text = text;
	if (rc == FX_RC_OK)
		rc = fx_gpu_body(&one, &fx_ptx_rules);
	if (rc == FX_RC_OK)
		rc = fx_gpu_compile(&one, "ptx", DEFINES, target, &ptx, &size);
	if (rc == FX_RC_OK)
		rc = check_ptx(in, ptx, arch);
	if (rc == FX_RC_OK) {
		out->about = fx_json_object();
		fx_json_str(out->about, "arch", arch);
		fx_json_str(out->about, "kernel", "fx_guard_moves");
		out->text = fx_asprintf("ptx %s", arch);
		fx_lowered_add(out, fx_strdup("ptx/policy.ptx"), ptx, size);
		ptx = NULL;
	}
	free(text);
	free(ptx);
	free(march);
	return rc;
}
