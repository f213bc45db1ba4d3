// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <stdlib.h>
#include <string.h>

#include "clang.h"
#include "kernel.h"

enum fx_rc fx_lower_kernel(const char *source, const char *include,
			   struct fx_kernel_policy *out)
{
	enum fx_rc rc;

	memset(out, 0, sizeof(*out));
	rc = fx_clang(source, include, NULL, &out->object, &out->object_size);
	return rc == FX_RC_OK ? fx_inspect_object(source, out) : rc;
}

void fx_kernel_policy_free(struct fx_kernel_policy *p)
{
	free(p->object);
	free(p->ops_map);
	free(p->graph);
	memset(p, 0, sizeof(*p));
}
