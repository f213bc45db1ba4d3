/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the tests of the data plane share: a graph with an edge for each thing
 * to try, source buffers from the system heap, one call per ioctl.
 */
#ifndef ENGINE_UTIL_H
#define ENGINE_UTIL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <linux/fabric_ext.h>

#include "files.h"
#include "fxgraph.h"

#define DEVICE		"/dev/fabric_ext"
#define EDGE_BYTES	(1u << 20)
#define SMALL_BYTES	(64u << 10)	/* capacity of the place `small` */
#define PIECE		4096u		/* of `gather` and `scatter` */
#define WAIT_NS		20000000000ULL

/* Places of the test graph, by index. */
enum {
	P_SRC,		/* where imported buffers lie; bound to nothing */
	P_HOST,		/* node 0 */
	P_SMALL,	/* node 0, SMALL_BYTES */
	P_FAR,		/* a CXL region that does not exist */
	P_HEAP,		/* buffers of the system heap */
	P_CARD,		/* buffers of an exporter that does not exist */
	P_NUM,
};

/* Classes of the test graph, two edges of EDGE_BYTES each. */
enum {
	C_MOVE,		/* src -> host */
	C_SUM,		/* with a checksum */
	C_VERIFY,	/* with a checksum that is verified */
	C_QUANTIZE,	/* bf16 to MXFP8, checksum */
	C_DEQUANTIZE,	/* host -> host, MXFP8 to bf16, checksum */
	C_AGAIN,	/* host -> host, opaque */
	C_GATHER,	/* pieces of PIECE, 2 * PIECE apart at the source */
	C_SCATTER,	/* likewise at the destination, checksum */
	C_SMALL,	/* src -> small */
	C_FAR,		/* src -> far */
	C_EITHER,	/* src -> host or small */
	C_COMPRESS,	/* a transform that the engine does not have */
	C_ORDERED,	/* src -> host, acq_rel */
	C_BACK,		/* host -> host, bf16 */
	C_URGENT,	/* src -> host, priority 7 */
	C_URGENT_ORDERED, /* likewise, release */
	C_NUM,
};

#define EDGE(cls)	(2u * (cls))
#define NO_SUCH_EDGE	(2u * C_NUM)

int load_graph(const char *name);
int open_bound(const char *graph);
/* The graph loaded anew, and a file that is bound to it: fd or -errno. */
int open_fresh(const char *graph);

int heap_alloc(size_t bytes);
__u8 *map_buf(int fd, size_t bytes);
void fill(__u8 *p, size_t bytes, __u32 seed);
/*
 * A buffer of the system heap, imported at `src` as @handle; with @map it is
 * mapped there and filled: its fd or -errno.
 */
int make_source(int dev, size_t bytes, __u32 seed, __u32 *handle, __u8 **map);

/* Each returns 0 or -errno. */
int fx_import(int dev, int dmabuf, __u16 place, __u32 edge,
	      __u32 *handle);
int fx_export(int dev, __u32 handle);	/* fd or -errno */
int fx_free(int dev, __u32 handle);
int fx_tag(int dev, int dmabuf, __u32 edge);
int fx_submit(int dev, struct fx_desc *d, __u32 n, __u32 *accepted);
int fx_wait(int dev, struct fx_completion *c, __u32 n, __u64 ns,
	    __u32 *got);

/* The buffer of a handle, mapped, or NULL; @size is a whole number of pages. */
__u8 *see(int dev, __u32 handle, size_t *size);

struct fx_desc desc_of(__u32 edge, __u32 src, __u64 bytes);
/* Submits one, waits for it. */
int fx_move(int dev, struct fx_desc d, struct fx_completion *c);

/* dma-bufs in the system, -1 where debugfs does not tell. */
int count_dmabufs(void);
/* Waits a moment for that many: files are closed a little after close(). */
bool dmabufs_are(int count);

/* The kernel log from the call on: is there a line of the module with @text? */
int log_open(void);
bool log_has(int log, const char *text);
/* Likewise; complains if there is none. */
bool log_says(int log, const char *text);

__u32 crc32c(const __u8 *p, size_t n);
double bf16_value(__u16 bits);
/* OCP MX v1.0: 32 bf16 elements to a scale and 32 E4M3 elements. */
void mxfp8_block(const __u16 *in, __u8 *out);
double mxfp8_value(__u8 scale, __u8 element);

#endif
