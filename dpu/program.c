// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <errno.h>
#include <rte_bpf.h>
#include <rte_errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "program.h"
#include "reason.h"

/*
 * A call's number is an index into the table of symbols, so that helper N is
 * symbol N. Numbers between them are variables, which cannot be called.
 */
static void helpers(struct rte_bpf_xsym *sym, size_t value)
{
	const struct rte_bpf_arg none = { .type = RTE_BPF_ARG_PTR, .size = 1 };
	const struct rte_bpf_arg map = { .type = RTE_BPF_ARG_PTR, .size = 1 };
	const struct rte_bpf_arg key = { .type = RTE_BPF_ARG_PTR, .size = sizeof(u32) };
	static u8 nobody[FX_DPU_HELPERS];

	for (u32 i = 0; i < FX_DPU_HELPERS; i++)
		sym[i] = (struct rte_bpf_xsym){ .name = "", .type = RTE_BPF_XTYPE_VAR,
						.var = { .val = &nobody[i], .desc = none } };
	sym[FX_DPU_HELPER_LOOKUP] = (struct rte_bpf_xsym){
		.name = "bpf_map_lookup_elem", .type = RTE_BPF_XTYPE_FUNC,
		.func = { .val = fx_dpu_lookup, .nb_args = 2, .args = { map, key },
			  /* how much of it is there, the kernel's verifier checked */
			  .ret = { .type = RTE_BPF_ARG_PTR, .size = value } },
	};
	sym[FX_DPU_HELPER_CLOCK] = (struct rte_bpf_xsym){
		.name = "bpf_ktime_get_ns", .type = RTE_BPF_XTYPE_FUNC,
		.func = { .val = fx_dpu_clock, .nb_args = 0,
			  .ret = { .type = RTE_BPF_ARG_RAW, .size = sizeof(u64) } },
	};
}

/* librte_bpf reads files: what was checked becomes one that nobody else has. */
static int as_file(const void *object, size_t size)
{
	int fd = memfd_create("policy.bpf.o", MFD_CLOEXEC);

	if (fd < 0)
		return -errno;
	if (write(fd, object, size) == (ssize_t)size)
		return fd;
	close(fd);
	return -ENOMEM;
}

int fx_dpu_program_load(struct fx_dpu_program *p, const void *object, size_t size,
			struct fx_dpu_maps *maps, size_t context, char *why)
{
	struct rte_bpf_xsym sym[FX_DPU_HELPERS + FX_DPU_MAX_MAPS] = { 0 };
	struct rte_bpf_prm prm = {
		.xsym = sym, .nb_xsym = FX_DPU_HELPERS + maps->n,
		.prog_arg = { .type = RTE_BPF_ARG_PTR, .size = context },
	};
	struct rte_bpf_jit jit = { 0 };
	size_t value = sizeof(u64);
	char path[64];
	int fd;

	memset(p, 0, sizeof(*p));
	for (u32 i = 0; i < maps->n; i++) {
		if (value < maps->map[i].desc.value_size)
			value = maps->map[i].desc.value_size;
		sym[FX_DPU_HELPERS + i] = (struct rte_bpf_xsym){
			.name = maps->map[i].desc.name, .type = RTE_BPF_XTYPE_VAR,
			/* of a map's memory a program sees values alone */
			.var = { .val = &maps->map[i],
				 .desc = { .type = RTE_BPF_ARG_PTR, .size = 1 } },
		};
	}
	helpers(sym, value);
	fd = as_file(object, size);
	if (fd < 0) {
		snprintf(why, FX_DPU_WHY_LEN, "there is no memory for the program");
		return fd;
	}
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	fx_dpu_reason_begin();
	p->bpf = rte_bpf_elf_load(&prm, path, FX_DPU_SECTION);
	fx_dpu_reason_end();
	close(fd);
	if (!p->bpf) {
		int err = rte_errno ? -rte_errno : -EINVAL;

		fx_dpu_reason(object, size, why);
		return err;
	}
	if (!rte_bpf_get_jit(p->bpf, &jit))
		p->jit = jit.func;
	return 0;
}

void fx_dpu_program_free(struct fx_dpu_program *p)
{
	rte_bpf_destroy(p->bpf);
	memset(p, 0, sizeof(*p));
}

void fx_dpu_interpret(const struct fx_dpu_program *p, void *context)
{
	rte_bpf_exec(p->bpf, context);
}
