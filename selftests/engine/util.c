// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <sys/syscall.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <linux/dma-heap.h>

#include "util.h"

#define CRC32C(v)	{ .kind = FX_XFORM_CHECKSUM, .arg = FX_CSUM_CRC32C, \
			  .flags = (v) ? FX_XFORM_F_VERIFY : 0 }
#define CLASS(n, ...)	{ .name = n, .alias = FX_ALIAS_NONE, \
			  .owner = FX_OWNER_TRANSFER, __VA_ARGS__ }

static const struct fx_class_desc classes[C_NUM] = {
	[C_MOVE] = CLASS("move", .from = P_SRC, .n_to = 1, .to = { P_HOST }),
	[C_SUM] = CLASS("sum", .from = P_SRC, .n_to = 1, .to = { P_HOST },
			.n_xforms = 1, .xform = { CRC32C(0) }),
	[C_VERIFY] = CLASS("verify", .from = P_SRC, .n_to = 1, .to = { P_HOST },
			   .n_xforms = 1, .xform = { CRC32C(1) }),
	[C_QUANTIZE] = CLASS("quantize", .from = P_SRC, .n_to = 1, .to = { P_HOST },
			     .element = FX_ELEM_BF16, .n_xforms = 2,
			     .xform = {
				{ .kind = FX_XFORM_QUANTIZE,
				  .arg = FX_ELEM_MXFP8 }, CRC32C(0) }),
	[C_DEQUANTIZE] = CLASS("dequantize", .from = P_HOST, .n_to = 1, .to = { P_HOST },
			       .element = FX_ELEM_MXFP8, .n_xforms = 2,
			       .xform = {
				{ .kind = FX_XFORM_DEQUANTIZE,
				  .arg = FX_ELEM_BF16 }, CRC32C(0) }),
	[C_AGAIN] = CLASS("again", .from = P_HOST, .n_to = 1, .to = { P_HOST }),
	[C_GATHER] = CLASS("gather", .from = P_SRC, .n_to = 1, .to = { P_HOST },
			   .chunk = PIECE, .stride = 2 * PIECE),
	[C_SCATTER] = CLASS("scatter", .from = P_SRC, .n_to = 1, .to = { P_HOST },
			    .chunk = PIECE, .to_stride = 2 * PIECE,
			    .n_xforms = 1, .xform = { CRC32C(1) }),
	[C_SMALL] = CLASS("small", .from = P_SRC, .n_to = 1, .to = { P_SMALL }),
	[C_FAR] = CLASS("far", .from = P_SRC, .n_to = 1, .to = { P_FAR }),
	[C_EITHER] = CLASS("either", .from = P_SRC, .n_to = 2,
			   .to = { P_HOST, P_SMALL }),
	[C_COMPRESS] = CLASS("compress", .from = P_SRC, .n_to = 1, .to = { P_HOST },
			     .n_xforms = 1,
			     .xform = { { .kind = FX_XFORM_COMPRESS } }),
	[C_ORDERED] = CLASS("ordered", .from = P_SRC, .n_to = 1, .to = { P_HOST },
			    .order = FX_ORDER_ACQ_REL),
	[C_BACK] = CLASS("back", .from = P_HOST, .n_to = 1, .to = { P_HOST },
			 .element = FX_ELEM_BF16, .n_xforms = 1,
			 .xform = { { .kind = FX_XFORM_QUANTIZE,
				      .arg = FX_ELEM_MXFP8 } }),
	[C_URGENT] = CLASS("urgent", .from = P_SRC, .n_to = 1, .to = { P_HOST },
			   .priority = 7),
	[C_URGENT_ORDERED] = CLASS("urgent_ordered", .from = P_SRC,
				   .n_to = 1, .to = { P_HOST }, .priority = 7,
				   .order = FX_ORDER_RELEASE),
};

/* ---- set-up ---- */

/* Each program inserts the module when it is not there (FX_KMOD). */
__attribute__((constructor)) static void insert_module(void)
{
	const char *path = getenv("FX_KMOD");
	int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;

	if (fd < 0)
		return;
	/* one that is there already is as good; the tests tell of the rest */
	if (syscall(SYS_finit_module, fd, "", 0) && errno != EEXIST)
		perror("fabric_ext.ko");
	close(fd);
}

int load_graph(const char *name)
{
	static struct fxgraph g;
	int i;

	fxgraph_init(&g, name);
	fxgraph_place(&g, "src", FX_PLACE_GPU, FX_MATCH_NONE, "", 0);
	fxgraph_place(&g, "host", FX_PLACE_DRAM, FX_MATCH_NODE, "0", 0);
	fxgraph_place(&g, "small", FX_PLACE_DRAM, FX_MATCH_NODE, "0",
		      SMALL_BYTES);
	fxgraph_place(&g, "far", FX_PLACE_CXL, FX_MATCH_REGION, "region99", 0);
	fxgraph_place(&g, "heap", FX_PLACE_DRAM, FX_MATCH_HEAP, "system", 0);
	fxgraph_place(&g, "card", FX_PLACE_GPU, FX_MATCH_EXPORTER, "none", 0);
	for (i = 0; i < C_NUM; i++)
		fxgraph_class(&g, &classes[i], 2, EDGE_BYTES);
	return fxgraph_load(&g);
}

int open_bound(const char *graph)
{
	struct fx_ioc_graph a = { .size = sizeof(a) };
	int dev = open(DEVICE, O_RDWR | O_CLOEXEC);

	if (dev < 0)
		return -errno;
	snprintf(a.name, sizeof(a.name), "%s", graph);
	if (ioctl(dev, FX_IOC_GRAPH, &a)) {
		int err = -errno;

		close(dev);
		return err;
	}
	return dev;
}

int open_fresh(const char *graph)
{
	int err;

	fxgraph_unload(graph);
	err = load_graph(graph);
	return err ? err : open_bound(graph);
}

int heap_alloc(size_t bytes)
{
	struct dma_heap_allocation_data a = {
		.len = bytes,
		.fd_flags = O_RDWR | O_CLOEXEC,
	};
	int heap = open("/dev/dma_heap/system", O_RDWR | O_CLOEXEC);

	if (heap < 0)
		return -errno;
	if (ioctl(heap, DMA_HEAP_IOCTL_ALLOC, &a)) {
		int err = -errno;

		close(heap);
		return err;
	}
	close(heap);
	return a.fd;
}

__u8 *map_buf(int fd, size_t bytes)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	return p == MAP_FAILED ? NULL : p;
}

void fill(__u8 *p, size_t bytes, __u32 seed)
{
	__u32 x = seed * 2654435761u + 1;
	size_t i;

	for (i = 0; i < bytes; i++) {
		x = x * 1664525u + 1013904223u;
		p[i] = x >> 24;
	}
}

/* ---- ioctls ---- */

static int call(int dev, unsigned long cmd, void *arg)
{
	return ioctl(dev, cmd, arg) ? -errno : 0;
}

int make_source(int dev, size_t bytes, __u32 seed, __u32 *handle, __u8 **map)
{
	int fd = heap_alloc(bytes), err = 0;

	if (fd < 0)
		return fd;
	if (map) {
		*map = map_buf(fd, bytes);
		if (*map)
			fill(*map, bytes, seed);
		else
			err = -ENOMEM;
	}
	if (!err)
		err = fx_import(dev, fd, P_SRC, FX_EDGE_NONE, handle);
	if (err)
		close(fd);
	return err ? err : fd;
}

int fx_import(int dev, int dmabuf, __u16 place, __u32 edge,
	      __u32 *handle)
{
	struct fx_ioc_import a = {
		.size = sizeof(a),
		.fd = dmabuf,
		.edge = edge,
		.place = place,
	};
	int err = call(dev, FX_IOC_IMPORT, &a);

	*handle = a.handle;
	return err;
}

int fx_export(int dev, __u32 handle)
{
	struct fx_ioc_export a = {
		.size = sizeof(a),
		.flags = O_CLOEXEC,
		.handle = handle,
		.fd = -1,
	};
	int err = call(dev, FX_IOC_EXPORT, &a);

	return err ? err : a.fd;
}

int fx_free(int dev, __u32 handle)
{
	struct fx_ioc_free a = { .size = sizeof(a), .handle = handle };

	return call(dev, FX_IOC_FREE, &a);
}

int fx_tag(int dev, int dmabuf, __u32 edge)
{
	struct fx_ioc_tag a = { .size = sizeof(a), .fd = dmabuf, .edge = edge };

	return call(dev, FX_IOC_TAG, &a);
}

int fx_submit(int dev, struct fx_desc *d, __u32 n, __u32 *accepted)
{
	struct fx_ioc_submit a = {
		.size = sizeof(a),
		.descs = (uintptr_t)d,
		.n = n,
		.accepted = ~0u,
	};
	int err = call(dev, FX_IOC_SUBMIT, &a);

	*accepted = a.accepted;
	return err;
}

int fx_wait(int dev, struct fx_completion *c, __u32 n, __u64 ns,
	    __u32 *got)
{
	struct fx_ioc_wait a = {
		.size = sizeof(a),
		.completions = (uintptr_t)c,
		.n = n,
		.got = ~0u,
		.timeout_ns = ns,
	};
	int err = call(dev, FX_IOC_WAIT, &a);

	*got = a.got;
	return err;
}

__u8 *see(int dev, __u32 handle, size_t *size)
{
	int fd = fx_export(dev, handle);
	__u8 *p;

	if (fd < 0)
		return NULL;
	*size = lseek(fd, 0, SEEK_END);
	p = map_buf(fd, *size);
	close(fd);
	return p;
}

struct fx_desc desc_of(__u32 edge, __u32 src, __u64 bytes)
{
	return (struct fx_desc) {
		.size = sizeof(struct fx_desc),
		.version = FX_UAPI_VERSION,
		.cookie = 0xc00c1e,
		.edge = edge,
		.src = src,
		.bytes = bytes,
		.xforms = FX_DESC_XFORMS_EDGE,
	};
}

int fx_move(int dev, struct fx_desc d, struct fx_completion *c)
{
	__u32 n;
	int err = fx_submit(dev, &d, 1, &n);

	memset(c, 0, sizeof(*c));
	return err ? err : fx_wait(dev, c, 1, WAIT_NS, &n);
}

/* ---- leaks ---- */

int count_dmabufs(void)
{
	FILE *f = fopen("/sys/kernel/debug/dma_buf/bufinfo", "r");
	char line[256];
	int n = -1;

	if (!f)
		return -1;
	while (fgets(line, sizeof(line), f))
		sscanf(line, "Total %d objects", &n);
	fclose(f);
	return n;
}

bool dmabufs_are(int count)
{
	int i;

	for (i = 0; i < 100; i++) {
		if (count_dmabufs() == count)
			return true;
		usleep(50000);
	}
	fprintf(stderr, "# %d dma-bufs, not %d\n", count_dmabufs(), count);
	return false;
}

/* ---- kernel log ---- */

int log_open(void)
{
	int log = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);

	if (log >= 0)
		lseek(log, 0, SEEK_END);
	return log;
}

bool log_has(int log, const char *text)
{
	char line[8192];
	ssize_t n;

	for (;;) {
		n = read(log, line, sizeof(line) - 1);
		if (n < 0 && errno == EPIPE)
			continue;	/* overwritten before we read it */
		if (n <= 0)
			return false;
		line[n] = '\0';
		if (strstr(line, "fabric_ext: ") && strstr(line, text))
			return true;
	}
}

bool log_says(int log, const char *text)
{
	bool says = log_has(log, text);

	if (!says)
		fprintf(stderr, "# the log does not say \"%s\"\n", text);
	return says;
}

/* ---- references, from the definitions ---- */

__u32 crc32c(const __u8 *p, size_t n)
{
	__u32 crc = 0xffffffff;
	int i;

	while (n--) {
		crc ^= *p++;
		for (i = 0; i < 8; i++)
			crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78 : 0);
	}
	return ~crc;
}

double bf16_value(__u16 bits)
{
	int exponent = bits >> 7 & 0xff, fraction = bits & 0x7f;
	double v = exponent ? ldexp(128 + fraction, exponent - 134) :
			      ldexp(fraction, -133);

	return bits & 0x8000 ? -v : v;
}

double mxfp8_value(__u8 scale, __u8 element)
{
	int exponent = element >> 3 & 0xf, fraction = element & 7;
	double v = exponent ? ldexp(8 + fraction, exponent - 10) :
			      ldexp(fraction, -9);

	return ldexp(element & 0x80 ? -v : v, scale - 127);
}

/* The nearest of all elements, the even one of two that are as near. */
static __u8 nearest(double v, __u8 scale)
{
	__u8 best = 0, e;

	for (e = 1; e < 0x7f; e++) {
		double old = fabs(fabs(v) - mxfp8_value(scale, best));
		double new = fabs(fabs(v) - mxfp8_value(scale, e));

		if (new < old || (new == old && !(e & 1)))
			best = e;
	}
	return signbit(v) ? best | 0x80 : best;
}

void mxfp8_block(const __u16 *in, __u8 *out)
{
	double largest = 0;
	int i, exponent;

	for (i = 0; i < 32; i++)
		largest = fmax(largest, fabs(bf16_value(in[i])));
	exponent = largest > 0 ? ilogb(largest) - 8 : -127;
	out[0] = (exponent < -127 ? -127 : exponent) + 127;
	for (i = 0; i < 32; i++)
		out[1 + i] = nearest(bf16_value(in[i]), out[0]);
}
