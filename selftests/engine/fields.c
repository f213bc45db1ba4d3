// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Every field of every ioctl of /dev/fabric_ext: a wrong value is refused with
 * the right error, and the kernel log names the field.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>
#include <sys/ioctl.h>
#include <sys/stat.h>

#include "../kselftest_harness.h"
#include "util.h"

#define GRAPH	"engine-fields"

FIXTURE(fields)
{
	int dev, log, dmabuf;
};

FIXTURE_SETUP(fields)
{
	self->dev = open_fresh(GRAPH);
	ASSERT_LE(0, self->dev);
	self->dmabuf = heap_alloc(65536);
	ASSERT_LE(0, self->dmabuf);
	self->log = log_open();
	ASSERT_LE(0, self->log);
}

FIXTURE_TEARDOWN(fields)
{
	close(self->dmabuf);
	close(self->dev);
	close(self->log);
	EXPECT_EQ(0, fxgraph_unload(GRAPH));
}

/* The call fails with that error, and the log says why. */
#define REFUSED(error, text, cmd, arg)					\
do {									\
	errno = 0;							\
	EXPECT_EQ(-1, ioctl(self->dev, cmd, arg));			\
	EXPECT_EQ(error, errno);					\
	EXPECT_TRUE(log_says(self->log, text));				\
} while (0)

/* ---- the device ---- */

TEST(device_is_for_root_only)
{
	struct stat st;

	ASSERT_EQ(0, stat(DEVICE, &st));
	EXPECT_TRUE(S_ISCHR(st.st_mode));
	EXPECT_EQ(0600, st.st_mode & 07777);
	EXPECT_EQ(0, st.st_uid);
}

TEST_F(fields, unknown_command)
{
	char arg[64] = { 64 };

	EXPECT_EQ(-1, ioctl(self->dev, _IOW(FX_IOC_MAGIC, 7, arg), arg));
	EXPECT_EQ(ENOTTY, errno);
	/* known number, wrong direction */
	EXPECT_EQ(-1, ioctl(self->dev, _IOR(FX_IOC_MAGIC, 0, arg), arg));
	EXPECT_EQ(ENOTTY, errno);
	EXPECT_EQ(-1, ioctl(self->dev, _IOW('x', 0, arg), arg));
	EXPECT_EQ(ENOTTY, errno);
}

TEST_F(fields, bad_pointer)
{
	EXPECT_EQ(-1, ioctl(self->dev, FX_IOC_FREE, NULL));
	EXPECT_EQ(EFAULT, errno);
	EXPECT_EQ(-1, ioctl(self->dev, FX_IOC_FREE, (void *)-4096L));
	EXPECT_EQ(EFAULT, errno);
}

TEST_F(fields, before_a_graph)
{
	struct fx_ioc_free a = { .size = sizeof(a), .handle = 1 };
	int dev = open(DEVICE, O_RDWR);

	ASSERT_LE(0, dev);
	EXPECT_EQ(-1, ioctl(dev, FX_IOC_FREE, &a));
	EXPECT_EQ(ENOTCONN, errno);
	close(dev);
}

/* ---- size: every structure ---- */

static const struct {
	const char *name;
	unsigned long cmd;
	__u32 size;
} structs[] = {
	{ "graph", FX_IOC_GRAPH, sizeof(struct fx_ioc_graph) },
	{ "import", FX_IOC_IMPORT, sizeof(struct fx_ioc_import) },
	{ "export", FX_IOC_EXPORT, sizeof(struct fx_ioc_export) },
	{ "free", FX_IOC_FREE, sizeof(struct fx_ioc_free) },
	{ "tag", FX_IOC_TAG, sizeof(struct fx_ioc_tag) },
	{ "submit", FX_IOC_SUBMIT, sizeof(struct fx_ioc_submit) },
	{ "wait", FX_IOC_WAIT, sizeof(struct fx_ioc_wait) },
};

TEST_F(fields, size_too_small)
{
	__u32 arg[2048];
	char text[64];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(structs); i++) {
		snprintf(text, sizeof(text), "%s: size %u", structs[i].name,
			 structs[i].size - 1);
		memset(arg, 0, sizeof(arg));
		arg[0] = structs[i].size - 1;
		REFUSED(EINVAL, text, structs[i].cmd, arg);
	}
}

TEST_F(fields, size_too_large)
{
	__u32 arg[2048];
	char text[64];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(structs); i++) {
		snprintf(text, sizeof(text), "%s: size 4294967295",
			 structs[i].name);
		memset(arg, 0, sizeof(arg));
		arg[0] = 0xffffffff;
		REFUSED(EINVAL, text, structs[i].cmd, arg);
	}
}

TEST_F(fields, size_of_a_later_version)
{
	__u8 arg[128] = {};
	char text[64];
	size_t i;

	/* what we do not know must not matter: zero is fine, else refused */
	for (i = 0; i < ARRAY_SIZE(structs); i++) {
		__u32 size = structs[i].size + 8;

		snprintf(text, sizeof(text), "%s: size %u: the bytes above",
			 structs[i].name, size);
		memset(arg, 0, sizeof(arg));
		memcpy(arg, &size, sizeof(size));
		arg[size - 1] = 1;
		REFUSED(EINVAL, text, structs[i].cmd, arg);
	}
	{
		struct {
			struct fx_ioc_free a;
			__u64 later;
		} b = { .a = { .size = sizeof(b), .handle = 77 } };

		/* far enough to look the handle up, by either number */
		REFUSED(ENOENT, "free: handle 77", FX_IOC_FREE, &b);
		REFUSED(ENOENT, "free: handle 77",
			_IOC(_IOC_WRITE, FX_IOC_MAGIC, 3, sizeof(b)), &b);
	}
}

/* ---- graph ---- */

TEST_F(fields, graph_flags)
{
	struct fx_ioc_graph a = { .size = sizeof(a), .flags = 1, .name = GRAPH };

	REFUSED(EINVAL, "graph: flags 0x1", FX_IOC_GRAPH, &a);
}

TEST_F(fields, graph_name_empty)
{
	struct fx_ioc_graph a = { .size = sizeof(a) };

	REFUSED(EINVAL, "graph: name", FX_IOC_GRAPH, &a);
}

TEST_F(fields, graph_name_without_nul)
{
	struct fx_ioc_graph a = { .size = sizeof(a) };

	memset(a.name, 'x', sizeof(a.name));
	REFUSED(EINVAL, "graph: name", FX_IOC_GRAPH, &a);
}

TEST_F(fields, graph_name_unknown)
{
	struct fx_ioc_graph a = { .size = sizeof(a), .name = "no-such" };

	REFUSED(ENOENT, "graph: name: no graph no-such", FX_IOC_GRAPH, &a);
}

TEST_F(fields, graph_twice)
{
	struct fx_ioc_graph a = { .size = sizeof(a), .name = GRAPH };

	REFUSED(EBUSY, "graph: the file is bound", FX_IOC_GRAPH, &a);
}

/* ---- import ---- */

#define IMPORT(...)							\
	((struct fx_ioc_import) {					\
		.size = sizeof(struct fx_ioc_import),			\
		.fd = self->dmabuf, .edge = FX_EDGE_NONE,		\
		.place = P_SRC, __VA_ARGS__ })

TEST_F(fields, import_good)
{
	struct fx_ioc_import a = IMPORT(.handle = 0);

	ASSERT_EQ(0, ioctl(self->dev, FX_IOC_IMPORT, &a));
	EXPECT_NE(0, a.handle);
	EXPECT_EQ(65536, a.bytes);
}

TEST_F(fields, import_flags)
{
	struct fx_ioc_import a = IMPORT(.flags = 0x80000000);

	REFUSED(EINVAL, "import: flags 0x80000000", FX_IOC_IMPORT, &a);
}

TEST_F(fields, import_reserved)
{
	struct fx_ioc_import a = IMPORT(.reserved = 1);

	REFUSED(EINVAL, "import: reserved", FX_IOC_IMPORT, &a);
}

TEST_F(fields, import_fd)
{
	struct fx_ioc_import a = IMPORT(.fd = -1);
	int fd = dup(self->dmabuf);

	REFUSED(EBADF, "import: fd -1", FX_IOC_IMPORT, &a);
	/* closed meanwhile */
	close(fd);
	a.fd = fd;
	REFUSED(EBADF, "import: fd", FX_IOC_IMPORT, &a);
	/* no dma-buf */
	a.fd = self->dev;
	REFUSED(EINVAL, "is no dma-buf", FX_IOC_IMPORT, &a);
}

TEST_F(fields, import_place)
{
	struct fx_ioc_import a = IMPORT(.place = P_NUM);

	REFUSED(ENOENT, "import: place 6", FX_IOC_IMPORT, &a);
	a.place = FX_PLACE_NONE;
	REFUSED(ENOENT, "import: place 65535", FX_IOC_IMPORT, &a);
}

TEST_F(fields, import_place_of_another_exporter)
{
	struct fx_ioc_import a = IMPORT(.place = P_CARD);

	REFUSED(EINVAL, "import: place 5: card", FX_IOC_IMPORT, &a);
	a.place = P_HEAP;
	EXPECT_EQ(0, ioctl(self->dev, FX_IOC_IMPORT, &a));
}

TEST_F(fields, import_edge)
{
	struct fx_ioc_import a = IMPORT(.edge = NO_SUCH_EDGE);

	REFUSED(ENOENT, "import: edge 32", FX_IOC_IMPORT, &a);
	a.edge = 0xfffffffe;
	REFUSED(ENOENT, "import: edge 4294967294", FX_IOC_IMPORT, &a);
	/* an edge that begins elsewhere */
	a.edge = EDGE(C_AGAIN);
	REFUSED(EINVAL, "import: place 0: edge", FX_IOC_IMPORT, &a);
}

/* ---- export ---- */

TEST_F(fields, export_flags)
{
	struct fx_ioc_export a = { .size = sizeof(a), .flags = O_NONBLOCK };

	REFUSED(EINVAL, "export: flags", FX_IOC_EXPORT, &a);
}

TEST_F(fields, export_handle)
{
	struct fx_ioc_export a = { .size = sizeof(a) };

	REFUSED(ENOENT, "export: handle 0", FX_IOC_EXPORT, &a);
	a.handle = 1;
	REFUSED(ENOENT, "export: handle 1", FX_IOC_EXPORT, &a);
	a.handle = 0xffffffff;
	REFUSED(ENOENT, "export: handle 4294967295", FX_IOC_EXPORT, &a);
}

/* ---- free ---- */

TEST_F(fields, free_flags)
{
	struct fx_ioc_free a = { .size = sizeof(a), .flags = 1, .handle = 1 };

	REFUSED(EINVAL, "free: flags", FX_IOC_FREE, &a);
}

TEST_F(fields, free_reserved)
{
	struct fx_ioc_free a = { .size = sizeof(a), .reserved = 1, .handle = 1 };

	REFUSED(EINVAL, "free: reserved", FX_IOC_FREE, &a);
}

TEST_F(fields, free_handle)
{
	struct fx_ioc_free a = { .size = sizeof(a) };
	__u32 handle;

	REFUSED(ENOENT, "free: handle 0", FX_IOC_FREE, &a);
	ASSERT_EQ(0, fx_import(self->dev, self->dmabuf, P_SRC, FX_EDGE_NONE,
			       &handle));
	EXPECT_EQ(0, fx_free(self->dev, handle));
	a.handle = handle;
	REFUSED(ENOENT, "free: handle", FX_IOC_FREE, &a);
}

/* ---- tag ---- */

#define TAG(...) ((struct fx_ioc_tag) {					\
	.size = sizeof(struct fx_ioc_tag), .fd = self->dmabuf,		\
	.edge = EDGE(C_MOVE), __VA_ARGS__ })

TEST_F(fields, tag_flags)
{
	struct fx_ioc_tag a = TAG(.flags = 2);

	REFUSED(EINVAL, "tag: flags", FX_IOC_TAG, &a);
}

TEST_F(fields, tag_fd)
{
	struct fx_ioc_tag a = TAG(.fd = 4095);

	REFUSED(EBADF, "tag: fd 4095", FX_IOC_TAG, &a);
	a.fd = self->log;
	REFUSED(EINVAL, "is no dma-buf", FX_IOC_TAG, &a);
}

TEST_F(fields, tag_edge)
{
	struct fx_ioc_tag a = TAG(.edge = NO_SUCH_EDGE);

	REFUSED(ENOENT, "tag: edge 32", FX_IOC_TAG, &a);
	/* there is no tag to take away */
	a.edge = FX_EDGE_NONE;
	REFUSED(ENOENT, "has no tag", FX_IOC_TAG, &a);
}

/* ---- submit ---- */

#define SUBMIT(...) ((struct fx_ioc_submit) {				\
	.size = sizeof(struct fx_ioc_submit),				\
	.descs = (uintptr_t)&d, .n = 1, __VA_ARGS__ })

TEST_F(fields, submit_flags)
{
	struct fx_desc d = desc_of(0, 1, 1);
	struct fx_ioc_submit a = SUBMIT(.flags = 1);

	REFUSED(EINVAL, "submit: flags", FX_IOC_SUBMIT, &a);
}

TEST_F(fields, submit_n)
{
	struct fx_desc d = desc_of(0, 1, 1);
	struct fx_ioc_submit a = SUBMIT(.n = 0);

	REFUSED(EINVAL, "submit: n is 0", FX_IOC_SUBMIT, &a);
	a.n = FX_SUBMIT_MAX + 1;
	REFUSED(ERANGE, "submit: n 1025", FX_IOC_SUBMIT, &a);
	a.n = 0xffffffff;
	REFUSED(ERANGE, "submit: n 4294967295", FX_IOC_SUBMIT, &a);
}

TEST_F(fields, submit_descs)
{
	struct fx_desc d = desc_of(0, 1, 1);
	struct fx_ioc_submit a = SUBMIT(.descs = 0);

	EXPECT_EQ(-1, ioctl(self->dev, FX_IOC_SUBMIT, &a));
	EXPECT_EQ(EFAULT, errno);
	a.descs = -64ULL;
	EXPECT_EQ(-1, ioctl(self->dev, FX_IOC_SUBMIT, &a));
	EXPECT_EQ(EFAULT, errno);
}

/* ---- wait ---- */

#define WAIT(...) ((struct fx_ioc_wait) {				\
	.size = sizeof(struct fx_ioc_wait),				\
	.completions = (uintptr_t)&c, .n = 1, __VA_ARGS__ })

TEST_F(fields, wait_flags)
{
	struct fx_completion c;
	struct fx_ioc_wait a = WAIT(.flags = 1);

	REFUSED(EINVAL, "wait: flags", FX_IOC_WAIT, &a);
}

TEST_F(fields, wait_n)
{
	struct fx_completion c;
	struct fx_ioc_wait a = WAIT(.n = 0);

	REFUSED(EINVAL, "wait: n is 0", FX_IOC_WAIT, &a);
	a.n = FX_INFLIGHT_MAX + 1;
	REFUSED(ERANGE, "wait: n 4097", FX_IOC_WAIT, &a);
}

TEST_F(fields, wait_timeout)
{
	struct fx_completion c;
	struct fx_ioc_wait a = WAIT(.timeout_ns = FX_WAIT_MAX_NS + 1);

	REFUSED(ERANGE, "wait: timeout_ns 60000000001", FX_IOC_WAIT, &a);
	a.timeout_ns = ~0ULL;
	REFUSED(ERANGE, "wait: timeout_ns 18446744073709551615", FX_IOC_WAIT,
		&a);
}

TEST_F(fields, wait_completions)
{
	struct fx_completion c;
	struct fx_ioc_wait a = WAIT(.completions = 8, .timeout_ns = WAIT_NS);
	struct fx_desc d;
	__u32 src, n;

	ASSERT_EQ(0, fx_import(self->dev, self->dmabuf, P_SRC, FX_EDGE_NONE,
			       &src));
	d = desc_of(EDGE(C_MOVE), src, 4096);
	ASSERT_EQ(0, fx_submit(self->dev, &d, 1, &n));
	EXPECT_EQ(-1, ioctl(self->dev, FX_IOC_WAIT, &a));
	EXPECT_EQ(EFAULT, errno);
	/* it is not lost */
	EXPECT_EQ(0, fx_wait(self->dev, &c, 1, WAIT_NS, &n));
	EXPECT_EQ(1, n);
	EXPECT_EQ(0, c.error);
	EXPECT_EQ(d.cookie, c.cookie);
}

TEST_HARNESS_MAIN
