// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Without a policy, or with one that has ended, hooked calls do what they do
 * on a kernel without the module, and nothing is hooked.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <fcntl.h>
#include <unistd.h>
#include <kselftest_harness.h>
#include "fxt.h"

#define DMABUFS		10000
#define IMPORTS		500

struct outcome {
	__s32 export;
	__s32 attach;
	__s32 sync;
};

struct outcomes {
	struct outcome plain[DMABUFS];
	struct outcome import[IMPORTS];
	__s32 no_fd;
	__s32 no_dmabuf;
	__s32 no_size;
};

/* An exporter's errors, with some that the module itself refuses with. */
static const int errors[] = {
	0, -EPERM, 0, -ENOMEM, -EACCES, 0, -EBUSY, -ENOSPC, -EINTR, 0, -ENODEV, -EINVAL, 0,
};

static struct fx_ex_export nth(int i)
{
	const int n = ARRAY_SIZE(errors);

	return (struct fx_ex_export){
		.bytes = 4096U << i % 3,
		.attach_err = errors[i % n],
		.map_err = errors[i / n % n],
		.cpu_err = errors[i / 7 % n],
	};
}

static void try_all(struct outcomes *o)
{
	const struct fx_ex_export nothing = { .bytes = 0 };
	int i, fd;

	memset(o, 0x55, sizeof(*o));
	for (i = 0; i < DMABUFS; i++) {
		const struct fx_ex_export how = nth(i);

		fd = fxt_export(&how);
		o->plain[i].export = fd < 0 ? fd : 0;
		o->plain[i].attach = fxt_attach(fd, i % FX_EX_DEVICES, i & 1);
		o->plain[i].sync = fxt_sync(fd);
		close(fd);
	}
	for (i = 0; i < IMPORTS; i++) {
		fd = fxt_heap_alloc(4096);
		o->import[i].export = fd < 0 ? fd : 0;
		o->import[i].attach = fxt_vgem_import(fd);
		o->import[i].sync = fxt_sync(fd);
		close(fd);
	}
	o->no_fd = fxt_attach(9999, 0, false);
	fd = open("/dev/null", O_RDONLY);
	o->no_dmabuf = fxt_attach(fd, 0, false);
	close(fd);
	o->no_size = fxt_export(&nothing);
}

/* What the exporter was told to answer is what its callers got. */
static int expected(const struct outcomes *o)
{
	int i, bad = 0;

	for (i = 0; i < DMABUFS; i++) {
		const struct fx_ex_export how = nth(i);
		int attach = how.attach_err ?: i & 1 ? how.attach_err ?: how.map_err : 0;

		bad += o->plain[i].export || o->plain[i].attach != attach ||
		       o->plain[i].sync != how.cpu_err;
	}
	for (i = 0; i < IMPORTS; i++)
		bad += o->import[i].export || o->import[i].attach || o->import[i].sync;
	return bad + (o->no_fd != -EBADF) + (o->no_dmabuf != -EINVAL) + (o->no_size != -EINVAL);
}

/* The first difference, for the reader of a failed test. */
static int differences(const char *when, const struct outcomes *was, const struct outcomes *is)
{
	const struct outcome *a = was->plain, *b = is->plain;
	int i;

	if (!memcmp(was, is, sizeof(*was)))
		return 0;
	for (i = 0; i < DMABUFS + IMPORTS; i++)
		if (memcmp(&a[i], &b[i], sizeof(*a)))
			break;
	if (i < DMABUFS + IMPORTS)
		printf("# %s: dma-buf %d: export %d, attach %d, sync %d; before %d, %d, %d\n",
		       when, i, b[i].export, b[i].attach, b[i].sync, a[i].export, a[i].attach,
		       a[i].sync);
	return 1;
}

FIXTURE(nopolicy) {
	struct outcomes *was, *is;
};

FIXTURE_SETUP(nopolicy)
{
	self->was = malloc(sizeof(*self->was));
	self->is = malloc(sizeof(*self->is));
	ASSERT_NE(NULL, self->was);
	ASSERT_NE(NULL, self->is);
	ASSERT_EQ(0, system("modprobe vgem"));
	ASSERT_EQ(0, fxt_insmod(fxt_test_module("fx_exerciser")));
}

FIXTURE_TEARDOWN(nopolicy)
{
	free(self->was);
	free(self->is);
}

/* Module absent, loaded, with a graph, with a policy that ended. */
TEST_F_TIMEOUT(nopolicy, ten_thousand_dma_bufs_as_without_the_module, 100)
{
	struct fxt_policy p;

	ASSERT_EQ(0, fxt_rmmod_within("fabric_ext", 5000));
	try_all(self->was);
	ASSERT_EQ(0, expected(self->was));

	ASSERT_EQ(0, fxt_modules());
	try_all(self->is);
	EXPECT_EQ(0, differences("module loaded", self->was, self->is));
	EXPECT_EQ(0, fxt_hooked());

	ASSERT_EQ(0, fxt_small_graph("nopolicy"));
	try_all(self->is);
	EXPECT_EQ(0, differences("graph loaded", self->was, self->is));
	EXPECT_EQ(0, fxt_hooked());

	ASSERT_EQ(0, fxt_policy_start(&p, "answer", "nopolicy"));
	EXPECT_LT(0, fxt_hooked());
	try_all(self->is);
	EXPECT_EQ(0, differences("policy admits all", self->was, self->is));
	EXPECT_EQ(DMABUFS + IMPORTS, p.state->asked[FX_OP_DMABUF_EXPORT]);

	EXPECT_EQ(0, system("fabricctl bypass nopolicy"));
	p.state->answer[FX_OP_DMABUF_ATTACH] = -EACCES;
	p.state->answer[FX_OP_DMABUF_CPU] = -EACCES;
	try_all(self->is);
	EXPECT_EQ(0, differences("policy by-passed", self->was, self->is));
	fxt_policy_close(&p);
	EXPECT_EQ(0, fxgraph_unload("nopolicy"));
}

TEST_HARNESS_MAIN
