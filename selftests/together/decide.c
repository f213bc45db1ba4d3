// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * One body as struct_ops of the module and as C of this program: 10,000
 * movements of the engine, and for each the same verdict, byte for byte, and a
 * completion that is what the verdict says.
 */
#include <dlfcn.h>
#include <libgen.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>
#include <bpf/bpf.h>

#define FX_FOR_HOST
#include <fabric_ext/portable.bpf.h>

#include "../kselftest_harness.h"
#include "host.h"
#include "util.h"

#define GRAPH	"decide"
#define MOVES	10000
#define EDGES	32	/* of decide.yaml: 24 plain, 8 urgent */
#define PLAIN	24
#define BYTES	16384u

/* As wrap.bpf.c has it. */
struct test_answer {
	struct fx_move move;
	struct fx_verdict verdict;
	__u64 asked;
};

FIXTURE(decide)
{
	struct host_policy *host;
	int dev, dmabuf, answers;
	__u32 src;
	__u8 *in;
};

static struct host_policy *open_host(void)
{
	char self[PATH_MAX] = "", path[PATH_MAX + 16];
	void *lib;

	if (readlink("/proc/self/exe", self, sizeof(self) - 1) < 0)
		return NULL;
	snprintf(path, sizeof(path), "%s/decide.so", dirname(self));
	lib = dlopen(path, RTLD_NOW);
	if (!lib)
		fprintf(stderr, "%s\n", dlerror());
	return lib ? dlsym(lib, "host_policy") : NULL;
}

FIXTURE_SETUP(decide)
{
	self->host = open_host();
	ASSERT_NE(NULL, self->host);
	for (size_t i = 0; i < self->host->n_map; i++) {
		*self->host->map[i].values = calloc(self->host->map[i].entries,
						    self->host->map[i].size);
		ASSERT_NE(NULL, *self->host->map[i].values);
	}
	self->answers = bpf_obj_get("/sys/fs/bpf/fabric_ext/" GRAPH "/maps/test_answer");
	ASSERT_LE(0, self->answers);
	self->dev = open_bound(GRAPH);
	ASSERT_LE(0, self->dev);
	self->dmabuf = make_source(self->dev, BYTES, 9, &self->src, &self->in);
	ASSERT_LE(0, self->dmabuf);
}

FIXTURE_TEARDOWN(decide)
{
	close(self->dmabuf);
	close(self->dev);
	close(self->answers);
}

static __u32 next(__u32 *state)
{
	*state = *state * 1664525 + 1013904223;
	return *state >> 8;
}

TEST_F_TIMEOUT(decide, as_on_the_host, 240)
{
	__u32 seed = 7, kinds[8] = { 0 }, zero = 0;
	struct fx_dpu_context ctx;
	struct test_answer a;
	struct fx_completion c;
	__u64 before;

	/* importing the source was put to it as well, once at most */
	ASSERT_EQ(0, (bpf_map_lookup_elem)(self->answers, &zero, &a));
	before = a.asked;
	ASSERT_GE(1, before);
	if (before) {
		memset(&ctx, 0, sizeof(ctx));
		ctx.move = a.move;
		self->host->run(&ctx);
		ASSERT_EQ(0, memcmp(&ctx.verdict, &a.verdict, sizeof(a.verdict)));
	}
	for (__u32 i = 0; i < MOVES; i++) {
		__u32 edge = next(&seed) % EDGES, bytes = 1 + next(&seed) % BYTES;

		ASSERT_EQ(0, fx_move(self->dev, desc_of(edge, self->src, bytes), &c));
		ASSERT_EQ(0, (bpf_map_lookup_elem)(self->answers, &zero, &a));
		ASSERT_EQ(before + i + 1, a.asked);

		/* what was asked is what was submitted */
		ASSERT_EQ(edge, a.move.edge);
		ASSERT_EQ(bytes, a.move.bytes);
		ASSERT_EQ(FX_OP_MOVE, a.move.op);
		ASSERT_EQ(FX_DEVICE_KERNEL, a.move.device);
		ASSERT_EQ(edge < PLAIN ? 65536 : 49152, a.move.stated);
		ASSERT_EQ(edge < PLAIN ? 0 : 7, a.move.priority);

		memset(&ctx, 0, sizeof(ctx));
		ctx.move = a.move;
		self->host->run(&ctx);
		ASSERT_EQ(0, memcmp(&ctx.verdict, &a.verdict, sizeof(a.verdict)))
			TH_LOG("move %u: action %u error %d, and the host says %u %d", i,
			       a.verdict.action, a.verdict.error, ctx.verdict.action,
			       ctx.verdict.error);

		/* and what it says is what becomes of it */
		if (a.verdict.action == FX_DROP) {
			ASSERT_EQ(FX_REFUSED_POLICY, c.reason);
			ASSERT_EQ(a.verdict.error, c.error);
			kinds[4 + (a.verdict.error & 3)]++;
		} else {
			ASSERT_EQ(FX_APPLIED, c.reason);
			ASSERT_EQ(bytes, c.bytes_out);
			ASSERT_EQ(0, fx_free(self->dev, c.dst));
			kinds[a.verdict.action]++;
		}
	}
	/* -1, -13, -16 and -28 are 3, 3, 0 and 0 of four */
	EXPECT_LE(MOVES / 100, kinds[FX_PASS]);
	EXPECT_LE(MOVES / 100, kinds[FX_MARK]);
	EXPECT_LE(MOVES / 100, kinds[4 + (-EPERM & 3)]);
	EXPECT_LE(MOVES / 100, kinds[4 + (-EBUSY & 3)]);
}

TEST_HARNESS_MAIN
