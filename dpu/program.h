/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A program in librte_bpf: compiled where it can be, interpreted elsewhere. */
#ifndef FX_DPU_PROGRAM_H
#define FX_DPU_PROGRAM_H

#include "maps.h"

struct rte_bpf;

struct fx_dpu_program {
	struct rte_bpf *bpf;
	uint64_t (*jit)(void *context);	/* NULL: fx_dpu_interpret() */
};

/**
 * fx_dpu_program_load() - hand an object to librte_bpf
 * @p: filled; to fx_dpu_program_free(), also after an error
 * @object: ELF file that fx_dpu_object_read() finds no fault with
 * @size: its bytes
 * @maps: the object's, which must outlive the program
 * @context: size of struct fx_dpu_context
 * @why: of FX_DPU_WHY_LEN: after an error a sentence, with librte_bpf's reason,
 *	 the policy's line and the way out as far as they are known
 *
 * From one thread at a time. Return: 0 or -errno.
 */
int fx_dpu_program_load(struct fx_dpu_program *p, const void *object, size_t size,
			struct fx_dpu_maps *maps, size_t context, char *why);
void fx_dpu_program_free(struct fx_dpu_program *p);

void fx_dpu_interpret(const struct fx_dpu_program *p, void *context);

/* Run it once, on a context whose move is filled in. */
static inline void fx_dpu_run(const struct fx_dpu_program *p, void *context)
{
	if (p->jit)
		p->jit(context);
	else
		fx_dpu_interpret(p, context);
}

#endif /* FX_DPU_PROGRAM_H */
