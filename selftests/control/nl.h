/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A generic netlink client that can say anything: the tests send what no
 * library would.
 */
#ifndef FX_TEST_NL_H
#define FX_TEST_NL_H

#include <linux/fabric_ext.h>
#include <linux/genetlink.h>
#include <linux/netlink.h>
#include <stdbool.h>
#include <stddef.h>

struct nl {
	int fd;
	__u16 family;
	__u32 events;		/* the multicast group */
	__u32 seq;
	/* of the last answer */
	char msg[512];		/* the kernel's words, or empty */
	int bad_attr;		/* type of the attribute that it points at, or -1 */
	int missing;		/* type of the attribute that it misses, or -1 */
};

/* A request under construction. */
struct req {
	struct nlmsghdr h;
	struct genlmsghdr g;
	char attrs[65536];
};

/* 0 or -errno; -ENOENT when the kernel has no such family. */
int nl_open(struct nl *nl);
void nl_close(struct nl *nl);

void req_init(struct req *r, __u8 cmd);
void req_put(struct req *r, __u16 type, const void *data, size_t len);
void req_u32(struct req *r, __u16 type, __u32 v);
void req_str(struct req *r, __u16 type, const char *s);

/* Send and wait for the acknowledgment: 0 or -errno. */
int nl_do(struct nl *nl, struct req *r);

/* Send and hand each answer to @fn: 0 or -errno, at the end of a dump too. */
typedef void (*nl_fn)(struct nlattr *attrs, size_t len, void *arg);
int nl_dump(struct nl *nl, struct req *r, nl_fn fn, void *arg);

/* The two halves of nl_dump(): read one datagram; 1: more, 0: end, -errno. */
int nl_dump_start(struct nl *nl, struct req *r);
int nl_dump_more(struct nl *nl, nl_fn fn, void *arg);

/* Read one datagram of events: 0 or -errno. */
int nl_join(struct nl *nl);
int nl_events(struct nl *nl, nl_fn fn, void *arg);

/* The attribute of a type, or NULL. */
struct nlattr *nl_find(struct nlattr *attrs, size_t len, __u16 type);
#define nl_data(a)	((void *)((char *)(a) + NLA_HDRLEN))
#define nl_len(a)	((size_t)(a)->nla_len - NLA_HDRLEN)
__u32 nl_u32(struct nlattr *attrs, size_t len, __u16 type);
__u64 nl_u64(struct nlattr *attrs, size_t len, __u16 type);

/* The usual requests. */
struct graph;
int nl_name(struct nl *nl, __u8 cmd, const char *graph);
int nl_begin(struct nl *nl, const struct graph *g);
int nl_chunk(struct nl *nl, __u32 section, __u32 first, const void *data, size_t len);
int nl_sections(struct nl *nl, const struct graph *g);
int nl_bare(struct nl *nl, __u8 cmd);
int nl_load(struct nl *nl, const struct graph *g);

/*
 * A graph: places host (node 0) and gpu0, one alias set, class 0 with edges
 * 0..n-2 into it and class 1 with the last edge, which comes after edge 0.
 */
struct graph {
	struct fx_image_hdr hdr;
	struct fx_place_desc place[2];
	struct fx_alias_desc alias[1];
	struct fx_class_desc cls[2];
	struct fx_edge_desc *edge;
	__u32 *after;
};

#define EDGE_BYTES	4096
#define CHUNK_MAX	32760	/* bytes of records in one message */

void graph_make(struct graph *g, const char *name, __u32 edges);
void graph_free(struct graph *g);
void *graph_record(struct graph *g, __u32 section, __u32 i, size_t *size);

/* Insert the module when it is not there (FX_KMOD); 0 or -errno. */
int module_load(void);
int module_unload(void);

/* A line of /proc/meminfo in bytes. */
long meminfo(const char *key);

#endif /* FX_TEST_NL_H */
