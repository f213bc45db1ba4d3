// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Asks for more time than a policy may have: the module must refuse it. */
#include <fabric_ext/policy.bpf.h>

FX_ADMIT(args)
{
	return 0;
}

FX_POLICY(patient, .admit = (void *)fx_admit, .timeout_ms = 3600000);

char LICENSE[] SEC("license") = "Dual BSD/GPL";
