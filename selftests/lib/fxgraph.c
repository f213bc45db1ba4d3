// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* A graph over generic netlink, with nothing but sockets. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/socket.h>
#include <linux/genetlink.h>
#include <linux/netlink.h>

#include "fxgraph.h"

#define MSG_MAX		65536

struct msg {
	union {
		struct nlmsghdr nlh;
		char bytes[MSG_MAX];
	};
};

static void full(const char *table)
{
	fprintf(stderr, "fxgraph: too many %s, raise its limit\n", table);
	abort();
}

/* ---- construction ---- */

void fxgraph_init(struct fxgraph *g, const char *name)
{
	memset(g, 0, sizeof(*g));
	g->hdr.magic = FX_IMAGE_MAGIC;
	g->hdr.version = FX_UAPI_VERSION;
	g->hdr.size = sizeof(g->hdr);
	snprintf(g->hdr.name, sizeof(g->hdr.name), "%s", name);
}

__u16 fxgraph_place(struct fxgraph *g, const char *name, __u16 kind,
		    __u16 match_kind, const char *match, __u64 capacity)
{
	__u32 i = g->hdr.count[FX_SECT_PLACE]++;
	struct fx_place_desc *p = &g->places[i];

	if (i >= FXG_PLACES)
		full("places");
	snprintf(p->name, sizeof(p->name), "%s", name);
	snprintf(p->match, sizeof(p->match), "%s", match);
	p->kind = kind;
	p->match_kind = match_kind;
	p->capacity = capacity;
	return i;
}

__u16 fxgraph_alias(struct fxgraph *g, const char *name, __u64 bytes)
{
	__u32 i = g->hdr.count[FX_SECT_ALIAS]++;

	if (i >= FXG_ALIASES)
		full("alias sets");
	snprintf(g->aliases[i].name, sizeof(g->aliases[i].name), "%s", name);
	g->aliases[i].bytes = bytes;
	return i;
}

__u32 fxgraph_class(struct fxgraph *g, const struct fx_class_desc *cls,
		    __u32 count, __u64 bytes)
{
	__u32 i = g->hdr.count[FX_SECT_CLASS]++;
	__u32 first = g->hdr.count[FX_SECT_EDGE], e;
	struct fx_class_desc *c = &g->classes[i];

	if (i >= FXG_CLASSES)
		full("classes");
	if (count > FXG_EDGES - first)
		full("edges");
	*c = *cls;
	c->first = first;
	c->count = count;
	if (count > 1)
		c->dim[0] = count;
	g->hdr.count[FX_SECT_EDGE] += count;
	for (e = first; e < first + count; e++) {
		g->edges[e].bytes = bytes;
		g->edges[e].reuse = FX_REUSE_UNKNOWN;
		g->edges[e].cls = i;
		if (c->alias != FX_ALIAS_NONE)
			g->edges[e].alias_at = (e - first) * bytes;
	}
	return first;
}

void fxgraph_after(struct fxgraph *g, __u32 edge, __u32 on)
{
	__u32 i = g->hdr.count[FX_SECT_AFTER]++;

	if (i >= FXG_AFTER)
		full("after entries");
	g->after[i] = on;
	g->edges[edge].after = i;
	g->edges[edge].n_after = 1;
}

/* ---- netlink ---- */

static void begin(struct msg *m, __u16 type, __u8 cmd, __u8 version)
{
	struct genlmsghdr *genl = NLMSG_DATA(&m->nlh);

	m->nlh = (struct nlmsghdr) {
		.nlmsg_len = NLMSG_LENGTH(GENL_HDRLEN),
		.nlmsg_type = type,
		.nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK,
	};
	*genl = (struct genlmsghdr) { .cmd = cmd, .version = version };
}

static void put(struct msg *m, __u16 type, const void *data, size_t len)
{
	struct nlattr *a = (void *)(m->bytes + NLMSG_ALIGN(m->nlh.nlmsg_len));

	a->nla_type = type;
	a->nla_len = NLA_HDRLEN + len;
	memset((char *)a + NLA_HDRLEN, 0, NLA_ALIGN(len));
	memcpy((char *)a + NLA_HDRLEN, data, len);
	m->nlh.nlmsg_len = NLMSG_ALIGN(m->nlh.nlmsg_len) + NLA_ALIGN(a->nla_len);
}

static const struct nlattr *find(const void *from, size_t len, __u16 type)
{
	const char *at = from, *end = at + len;

	while (at + NLA_HDRLEN <= end) {
		const struct nlattr *a = (const void *)at;

		if (a->nla_len < NLA_HDRLEN || at + a->nla_len > end)
			return NULL;
		if ((a->nla_type & NLA_TYPE_MASK) == type)
			return a;
		at += NLA_ALIGN(a->nla_len);
	}
	return NULL;
}

static void say(const struct nlmsghdr *nlh)
{
	const struct nlmsgerr *e = NLMSG_DATA(nlh);
	size_t head = NLMSG_LENGTH(sizeof(*e));
	const struct nlattr *text;

	/* nothing to remove is what most tests begin with */
	if (!e->error || e->error == -ENOENT)
		return;
	text = find((const char *)nlh + head, nlh->nlmsg_len - head,
		    NLMSGERR_ATTR_MSG);
	fprintf(stderr, "# fxgraph: %s: %s\n", strerror(-e->error),
		text ? (const char *)text + NLA_HDRLEN : "(nothing said)");
}

/* Sends @m; the answer, unless it only confirms, is in @reply. */
static int ask(int fd, const struct msg *m, struct msg *reply)
{
	for (;;) {
		ssize_t n;

		if (m && send(fd, m, m->nlh.nlmsg_len, 0) < 0)
			return -errno;
		m = NULL;
		n = recv(fd, reply->bytes, sizeof(reply->bytes), 0);
		if (n < 0)
			return -errno;
		if (reply->nlh.nlmsg_type == NLMSG_ERROR) {
			say(&reply->nlh);
			return ((struct nlmsgerr *)NLMSG_DATA(&reply->nlh))->error;
		}
		if (!(reply->nlh.nlmsg_flags & NLM_F_MULTI) &&
		    reply->nlh.nlmsg_type == GENL_ID_CTRL)
			return 0;
	}
}

static int family(int fd, struct msg *m, struct msg *reply)
{
	const struct nlattr *id;
	size_t head = NLMSG_LENGTH(GENL_HDRLEN);
	int err;

	begin(m, GENL_ID_CTRL, CTRL_CMD_GETFAMILY, 1);
	m->nlh.nlmsg_flags = NLM_F_REQUEST;
	put(m, CTRL_ATTR_FAMILY_NAME, FX_GENL_NAME, sizeof(FX_GENL_NAME));
	err = ask(fd, m, reply);
	if (err)
		return err;
	id = find(reply->bytes + head, reply->nlh.nlmsg_len - head,
		  CTRL_ATTR_FAMILY_ID);
	return id ? *(const __u16 *)((const char *)id + NLA_HDRLEN) : -ENOENT;
}

static int open_socket(void)
{
	int one = 1, fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC,
				 NETLINK_GENERIC);
	struct sockaddr_nl addr = { .nl_family = AF_NETLINK };

	if (fd < 0)
		return -errno;
	setsockopt(fd, SOL_NETLINK, NETLINK_EXT_ACK, &one, sizeof(one));
	setsockopt(fd, SOL_NETLINK, NETLINK_CAP_ACK, &one, sizeof(one));
	if (connect(fd, (void *)&addr, sizeof(addr))) {
		int err = -errno;

		close(fd);
		return err;
	}
	return fd;
}

static int send_section(int fd, int type, struct msg *m, struct msg *reply,
			__u32 section, const void *data, size_t size, __u32 n)
{
	const __u32 most = 16384 / size;
	__u32 first, some;
	int err = 0;

	for (first = 0; !err && first < n; first += some) {
		some = n - first < most ? n - first : most;
		begin(m, type, FX_CMD_GRAPH_CHUNK, FX_GENL_VERSION);
		put(m, FX_A_SECTION, &section, sizeof(section));
		put(m, FX_A_FIRST, &first, sizeof(first));
		put(m, FX_A_DATA, (const char *)data + first * size,
		    some * size);
		err = ask(fd, m, reply);
	}
	return err;
}

static int upload(int fd, int type, const struct fxgraph *g, struct msg *m,
		  struct msg *reply)
{
	const struct {
		const void *data;
		size_t size;
	} sections[FX_SECTS] = {
		[FX_SECT_PLACE] = { g->places, sizeof(g->places[0]) },
		[FX_SECT_ALIAS] = { g->aliases, sizeof(g->aliases[0]) },
		[FX_SECT_CLASS] = { g->classes, sizeof(g->classes[0]) },
		[FX_SECT_EDGE] = { g->edges, sizeof(g->edges[0]) },
		[FX_SECT_AFTER] = { g->after, sizeof(g->after[0]) },
	};
	__u32 s;
	int err;

	begin(m, type, FX_CMD_GRAPH_BEGIN, FX_GENL_VERSION);
	put(m, FX_A_NAME, g->hdr.name, strlen(g->hdr.name) + 1);
	put(m, FX_A_DIGEST, g->hdr.digest, sizeof(g->hdr.digest));
	put(m, FX_A_GOVERNS, &g->hdr.governs, sizeof(g->hdr.governs));
	put(m, FX_A_COUNTS, g->hdr.count, sizeof(g->hdr.count));
	err = ask(fd, m, reply);
	for (s = 0; !err && s < FX_SECTS; s++)
		err = send_section(fd, type, m, reply, s, sections[s].data,
				   sections[s].size, g->hdr.count[s]);
	if (err)
		return err;
	begin(m, type, FX_CMD_GRAPH_COMMIT, FX_GENL_VERSION);
	return ask(fd, m, reply);
}

static int with_socket(const struct fxgraph *g, const char *unload)
{
	struct msg *m = calloc(2, sizeof(*m));
	int fd = open_socket();
	int err = fd, type;

	if (!m || fd < 0)
		goto out;
	type = family(fd, &m[0], &m[1]);
	err = type;
	if (type < 0)
		goto out;
	if (g) {
		err = upload(fd, type, g, &m[0], &m[1]);
	} else {
		begin(&m[0], type, FX_CMD_GRAPH_DEL, FX_GENL_VERSION);
		put(&m[0], FX_A_NAME, unload, strlen(unload) + 1);
		err = ask(fd, &m[0], &m[1]);
	}
out:
	if (fd >= 0)
		close(fd);
	free(m);
	return err;
}

int fxgraph_load(const struct fxgraph *g)
{
	return with_socket(g, NULL);
}

int fxgraph_unload(const char *name)
{
	return with_socket(NULL, name);
}
