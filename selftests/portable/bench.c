// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * What one call of a shipped body costs: built natively with its maps beside
 * it, in librte_bpf's JIT and in its interpreter. All take turns in one run, so
 * that they see the same machine; the least of many rounds is what it costs
 * without interruptions. All read the same clock, each time they are asked to.
 */
#include <bpf/libbpf.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define FX_FOR_HOST
#include <fabric_ext/portable.bpf.h>

#include "host.h"
#include "lower/dpu_object.h"
#include "maps.h"
#include "program.h"

#define CONTEXTS	1024
#define BURST		32
#define CALLS		(1U << 17)	/* per round */
#define ROUNDS		41

enum { NATIVE, JIT, INTERPRETER, WAYS };

static const char *const way_name[WAYS] = { "native", "JIT", "interpreter" };

struct bench {
	struct fx_dpu_context ctx[CONTEXTS];
	struct host_policy *host;
	struct fx_dpu_object o;
	struct fx_dpu_maps maps;
	struct fx_dpu_program program;
};

static u64 clock_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ULL + t.tv_nsec;
}

static void run(struct bench *b, int way)
{
	for (u32 i = 0; i < CALLS; i++) {
		struct fx_dpu_context *ctx = &b->ctx[i % CONTEXTS];

		if (!(i % BURST))
			fx_dpu_view_begin(&b->maps, 0);
		if (way == NATIVE)
			b->host->run(ctx);
		else if (way == JIT)
			b->program.jit(ctx);
		else
			fx_dpu_interpret(&b->program, ctx);
	}
}

static int open_all(struct bench *b, const char *policy)
{
	static u8 bytes[1 << 20];
	char path[4096];
	void *library;
	size_t size;
	char why[FX_DPU_WHY_LEN];
	FILE *f;

	snprintf(path, sizeof(path), OBJECTS "/%s.bare.so", policy);
	library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	b->host = library ? dlsym(library, "host_policy") : NULL;
	for (size_t i = 0; b->host && i < b->host->n_map; i++) {
		*b->host->map[i].values = calloc(b->host->map[i].entries, b->host->map[i].size);
		if (!*b->host->map[i].values)
			return -1;
	}
	snprintf(path, sizeof(path), OBJECTS "/%s.bare.o", policy);
	f = fopen(path, "r");
	size = f ? fread(bytes, 1, sizeof(bytes), f) : 0;
	if (f)
		fclose(f);
	if (!b->host || !size || fx_dpu_object_read(bytes, size, &b->o) || b->o.n_fault ||
	    fx_dpu_maps_init(&b->maps, b->o.map, b->o.n_map, 1) ||
	    fx_dpu_program_load(&b->program, bytes, size, &b->maps, sizeof(b->ctx[0]), why) ||
	    !b->program.jit)
		return -1;
	return 0;
}

static int measure(const char *policy)
{
	struct bench *b = calloc(1, sizeof(*b));
	double least[WAYS] = { 0 };

	if (!b || open_all(b, policy)) {
		fprintf(stderr, "bench: %s cannot be loaded\n", policy);
		return -1;
	}
	for (u32 i = 0; i < CONTEXTS; i++)
		b->ctx[i].move = (struct fx_move){
			.edge = i % 64, .device = FX_DEVICE_DPU, .op = FX_OP_MOVE,
			.bytes = 64 + i % 1400, .stated = 1 << 20, .priority = i % 8,
			.dir = FX_DIR_IN, .flow = { .family = 4, .proto = 17, .dport = 5000 + i % 64 },
		};
	for (u32 round = 0; round < ROUNDS; round++)
		for (int way = 0; way < WAYS; way++) {
			u64 began = clock_ns();
			double ns;

			run(b, way);
			ns = (double)(clock_ns() - began) / CALLS;
			if (!round || ns < least[way])
				least[way] = ns;
		}
	printf("%-10s %4u instructions ", policy, b->o.n_insn);
	for (int way = 0; way < WAYS; way++)
		printf("  %s %.2f ns", way_name[way], least[way]);
	printf("  JIT/native %.2f  interpreter/JIT %.2f\n", least[JIT] / least[NATIVE],
	       least[INTERPRETER] / least[JIT]);
	return 0;
}

int main(void)
{
	int rc = 0;

	libbpf_set_print(NULL);
	rc |= measure("kv_guard");
	rc |= measure("verdicts");
	return rc ? 1 : 0;
}
