// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <string.h>

#include "../util.h"
#include "sleep.h"

/* Helpers with might_sleep, in the kernels from 6.12 on. */
static const struct {
	u32 id;
	const char *name;
} helpers[] = {
	{ BPF_FUNC_copy_from_user, "bpf_copy_from_user" },
	{ BPF_FUNC_copy_from_user_task, "bpf_copy_from_user_task" },
	{ BPF_FUNC_ima_inode_hash, "bpf_ima_inode_hash" },
	{ BPF_FUNC_ima_file_hash, "bpf_ima_file_hash" },
};

/* Functions of the kernel with KF_SLEEPABLE in all of these. */
static const char *const kfuncs[] = {
	"bpf_copy_from_user_str", "bpf_copy_from_user_task_str",
	"bpf_copy_from_user_dynptr", "bpf_copy_from_user_str_dynptr",
	"bpf_copy_from_user_task_dynptr", "bpf_copy_from_user_task_str_dynptr",
	"bpf_crypto_ctx_create", "bpf_get_file_xattr", "bpf_get_dentry_xattr",
	"bpf_lookup_user_key", "bpf_verify_pkcs7_signature",
};

const char *fx_may_sleep(const struct fx_code_prog *p, u32 at)
{
	const struct bpf_insn *insn = &p->insn[at];

	if (insn->code != (BPF_JMP | BPF_CALL))
		return NULL;
	for (u32 i = 0; i < ARRAY_SIZE(helpers) && !insn->src_reg; i++)
		if (insn->imm == (s32)helpers[i].id && !p->outside[at])
			return helpers[i].name;
	for (u32 i = 0; i < ARRAY_SIZE(kfuncs) && p->outside[at]; i++)
		if (!strcmp(kfuncs[i], p->outside[at]))
			return kfuncs[i];
	return NULL;
}
