// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "nl.h"

#define BUFFER		65536

/* ---- messages ---------------------------------------------------------- */

void req_init(struct req *r, __u8 cmd)
{
	memset(&r->h, 0, sizeof(r->h));
	memset(&r->g, 0, sizeof(r->g));
	r->h.nlmsg_len = NLMSG_LENGTH(GENL_HDRLEN);
	r->h.nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK;
	r->g.cmd = cmd;
	r->g.version = FX_GENL_VERSION;
}

void req_put(struct req *r, __u16 type, const void *data, size_t len)
{
	struct nlattr *a = (void *)((char *)&r->h + NLMSG_ALIGN(r->h.nlmsg_len));

	a->nla_type = type;
	a->nla_len = (__u16)(NLA_HDRLEN + len);
	if (len)
		memcpy(nl_data(a), data, len);
	memset((char *)nl_data(a) + len, 0, NLA_ALIGN(len) - len);
	r->h.nlmsg_len = NLMSG_ALIGN(r->h.nlmsg_len) + NLA_ALIGN(a->nla_len);
}

void req_u32(struct req *r, __u16 type, __u32 v)
{
	req_put(r, type, &v, sizeof(v));
}

void req_str(struct req *r, __u16 type, const char *s)
{
	req_put(r, type, s, strlen(s) + 1);
}

static struct nlattr *next_attr(struct nlattr *attrs, size_t len, size_t *at)
{
	struct nlattr *a = (void *)((char *)attrs + *at);

	if (*at + NLA_HDRLEN > len || a->nla_len < NLA_HDRLEN ||
	    *at + a->nla_len > len)
		return NULL;
	*at += NLA_ALIGN(a->nla_len);
	return a;
}

struct nlattr *nl_find(struct nlattr *attrs, size_t len, __u16 type)
{
	struct nlattr *a;
	size_t at = 0;

	while ((a = next_attr(attrs, len, &at)))
		if ((a->nla_type & NLA_TYPE_MASK) == type)
			return a;
	return NULL;
}

__u32 nl_u32(struct nlattr *attrs, size_t len, __u16 type)
{
	struct nlattr *a = nl_find(attrs, len, type);
	__u32 v = 0xdeadbeef;

	if (a && nl_len(a) == sizeof(v))
		memcpy(&v, nl_data(a), sizeof(v));
	return v;
}

__u64 nl_u64(struct nlattr *attrs, size_t len, __u16 type)
{
	struct nlattr *a = nl_find(attrs, len, type);
	__u64 v = 0xdeadbeefdeadbeef;

	if (a && nl_len(a) == sizeof(v))
		memcpy(&v, nl_data(a), sizeof(v));
	return v;
}

/* ---- exchange ---------------------------------------------------------- */

/* Keep what an error or the end of a dump says; @at: where its TLVs begin. */
static void keep_ack(struct nl *nl, const struct req *r, struct nlmsghdr *h, size_t at)
{
	struct nlattr *tlv = (void *)((char *)h + at), *a, *q;
	size_t len = h->nlmsg_len > at ? h->nlmsg_len - at : 0, i = 0, off;

	nl->msg[0] = 0;
	nl->bad_attr = -1;
	nl->missing = -1;
	if (!(h->nlmsg_flags & NLM_F_ACK_TLVS))
		return;
	while ((a = next_attr(tlv, len, &i))) {
		switch (a->nla_type) {
		case NLMSGERR_ATTR_MSG:
			snprintf(nl->msg, sizeof(nl->msg), "%.*s",
				 (int)nl_len(a), (char *)nl_data(a));
			break;
		case NLMSGERR_ATTR_MISS_TYPE:
			nl->missing = (int)*(__u32 *)nl_data(a);
			break;
		case NLMSGERR_ATTR_OFFS:
			off = *(__u32 *)nl_data(a);
			if (r && off + NLA_HDRLEN <= r->h.nlmsg_len) {
				q = (void *)((char *)&r->h + off);
				nl->bad_attr = q->nla_type;
			}
			break;
		}
	}
}

static int send_req(struct nl *nl, struct req *r)
{
	struct sockaddr_nl to = { .nl_family = AF_NETLINK };

	if (!r->h.nlmsg_type)
		r->h.nlmsg_type = nl->family;
	r->h.nlmsg_seq = ++nl->seq;
	if (sendto(nl->fd, &r->h, r->h.nlmsg_len, 0, (void *)&to, sizeof(to)) < 0)
		return -errno;
	return 0;
}

static struct nlattr *answer_attrs(struct nlmsghdr *h, size_t *len)
{
	*len = h->nlmsg_len - NLMSG_LENGTH(GENL_HDRLEN);
	return (void *)((char *)h + NLMSG_LENGTH(GENL_HDRLEN));
}

/* 1: go on, 0: it ended well, or -errno */
static int take(struct nl *nl, const struct req *r, struct nlmsghdr *h, nl_fn fn,
		void *arg)
{
	struct nlmsgerr *e;
	struct nlattr *a;
	size_t len;
	int err;

	switch (h->nlmsg_type) {
	case NLMSG_ERROR:
		e = NLMSG_DATA(h);
		/* NETLINK_CAP_ACK: the request is not repeated */
		keep_ack(nl, r, h, NLMSG_HDRLEN + sizeof(*e));
		return e->error;
	case NLMSG_DONE:
		memcpy(&err, NLMSG_DATA(h), sizeof(err));
		keep_ack(nl, r, h, NLMSG_HDRLEN + NLMSG_ALIGN(sizeof(err)));
		return err < 0 ? err : 0;
	default:
		if (h->nlmsg_type != nl->family ||
		    h->nlmsg_len < NLMSG_LENGTH(GENL_HDRLEN))
			return 1;
		a = answer_attrs(h, &len);
		if (fn)
			fn(a, len, arg);
		return 1;
	}
}

static int receive(struct nl *nl, const struct req *r, nl_fn fn, void *arg)
{
	static __thread char buf[BUFFER] __attribute__((aligned(8)));
	struct nlmsghdr *h = (void *)buf;
	ssize_t got = recv(nl->fd, buf, sizeof(buf), 0);
	int ret = 1;

	if (got < 0)
		return -errno;
	for (; ret == 1 && NLMSG_OK(h, got); h = NLMSG_NEXT(h, got))
		ret = take(nl, r, h, fn, arg);
	return ret;
}

int nl_do(struct nl *nl, struct req *r)
{
	return nl_dump(nl, r, NULL, NULL);
}

int nl_dump(struct nl *nl, struct req *r, nl_fn fn, void *arg)
{
	int ret = send_req(nl, r);

	if (ret)
		return ret;
	do {
		ret = receive(nl, r, fn, arg);
	} while (ret == 1);
	return ret;
}

int nl_dump_start(struct nl *nl, struct req *r)
{
	r->h.nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
	return send_req(nl, r);
}

int nl_dump_more(struct nl *nl, nl_fn fn, void *arg)
{
	return receive(nl, NULL, fn, arg);
}

/* ---- open -------------------------------------------------------------- */

static void on_family(struct nlattr *attrs, size_t len, void *arg)
{
	struct nlattr *id = nl_find(attrs, len, CTRL_ATTR_FAMILY_ID);
	struct nlattr *groups = nl_find(attrs, len, CTRL_ATTR_MCAST_GROUPS);
	struct nlattr *group, *gid;
	struct nl *nl = arg;
	size_t at = 0;

	if (id)
		memcpy(&nl->family, nl_data(id), sizeof(nl->family));
	while (groups && (group = next_attr(nl_data(groups), nl_len(groups), &at))) {
		gid = nl_find(nl_data(group), nl_len(group), CTRL_ATTR_MCAST_GRP_ID);
		if (gid)
			memcpy(&nl->events, nl_data(gid), sizeof(nl->events));
	}
}

int nl_open(struct nl *nl)
{
	struct sockaddr_nl me = { .nl_family = AF_NETLINK };
	int on = 1, buffer = 4 * BUFFER, err;
	struct req *r;

	memset(nl, 0, sizeof(*nl));
	nl->fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_GENERIC);
	if (nl->fd < 0)
		return -errno;
	if (bind(nl->fd, (void *)&me, sizeof(me)) ||
	    setsockopt(nl->fd, SOL_NETLINK, NETLINK_EXT_ACK, &on, sizeof(on)) ||
	    setsockopt(nl->fd, SOL_NETLINK, NETLINK_CAP_ACK, &on, sizeof(on)) ||
	    setsockopt(nl->fd, SOL_SOCKET, SO_SNDBUF, &buffer, sizeof(buffer))) {
		err = -errno;
		goto fail;
	}
	r = malloc(sizeof(*r));
	nl->family = GENL_ID_CTRL;
	req_init(r, CTRL_CMD_GETFAMILY);
	r->h.nlmsg_type = GENL_ID_CTRL;
	r->g.version = 2;
	req_str(r, CTRL_ATTR_FAMILY_NAME, FX_GENL_NAME);
	err = nl_dump(nl, r, on_family, nl);
	free(r);
	if (!err)
		return 0;
fail:
	nl_close(nl);
	return err;
}

void nl_close(struct nl *nl)
{
	if (nl->fd >= 0)
		close(nl->fd);
	nl->fd = -1;
}

/* ---- events ------------------------------------------------------------ */

int nl_join(struct nl *nl)
{
	return setsockopt(nl->fd, SOL_NETLINK, NETLINK_ADD_MEMBERSHIP,
			  &nl->events, sizeof(nl->events)) ? -errno : 0;
}

int nl_events(struct nl *nl, nl_fn fn, void *arg)
{
	int ret = receive(nl, NULL, fn, arg);

	return ret == 1 ? 0 : ret;
}
