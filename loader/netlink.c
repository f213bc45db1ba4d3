// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The client of the kernel's control plane: requests, dumps, events. */
#include <errno.h>
#include <linux/genetlink.h>
#include <linux/netlink.h>
#include <netlink/attr.h>
#include <netlink/genl/ctrl.h>
#include <netlink/genl/genl.h>
#include <netlink/msg.h>
#include <netlink/netlink.h>
#include <netlink/socket.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "diag.h"
#include "netlink.h"
#include "util.h"

#define CHUNK_BYTES	32760		/* of records in one message */
#define MSG_BYTES	65536		/* longest message of the kernel */
#define EVENT_BUFFER	(32 << 20)	/* of the socket, bytes */
#define EVENTS_MAX	1024		/* in one message: what MSG_BYTES holds */

struct fx_nl {
	struct nl_sock *sock;
	int family;
	char why[512];
	void *buf;			/* MSG_BYTES, for events */
};

/* The words of the YAML specification for what a request can carry. */
static const char *const attr_names[] = {
	[FX_A_NAME] = "name",	    [FX_A_DIGEST] = "digest",
	[FX_A_GOVERNS] = "governs", [FX_A_COUNTS] = "counts",
	[FX_A_SECTION] = "section", [FX_A_FIRST] = "first",
	[FX_A_DATA] = "data",
};

const char *fx_nl_why(const struct fx_nl *nl)
{
	return nl->why;
}

/* ---- one exchange ----------------------------------------------------- */

struct exchange {
	struct fx_nl *nl;
	struct nl_msg *request;
	bool done;
	bool got;			/* a row at least */
	int err;
	enum fx_cmd cmd;		/* of the rows */
	void *row;
	fx_nl_fn fn;
	void *arg;
};

/* The name of the attribute that lies at an offset of our request, or NULL. */
static const char *attr_at(struct nl_msg *request, u32 offset)
{
	struct nlmsghdr *h = nlmsg_hdr(request);
	struct nlattr *a;
	int rest;

	nla_for_each_attr(a, genlmsg_attrdata(nlmsg_data(h), 0),
			  genlmsg_attrlen(nlmsg_data(h), 0), rest)
		if ((u32)((char *)a - (char *)h) == offset &&
		    (u32)nla_type(a) < ARRAY_SIZE(attr_names))
			return attr_names[nla_type(a)];
	return NULL;
}

/* Keep the kernel's reason: what it says, of which attribute, or the errno. */
static void keep_reason(struct exchange *x, int err, struct nlattr *tlv, int len)
{
	const char *text = NULL, *attr = NULL;
	struct fx_nl *nl = x->nl;
	struct nlattr *a;
	u32 type;
	int rest;

	x->err = err;
	nla_for_each_attr(a, tlv, len, rest) {
		switch (nla_type(a)) {
		case NLMSGERR_ATTR_MSG:
			if (memchr(nla_data(a), 0, nla_len(a)))
				text = nla_get_string(a);
			break;
		case NLMSGERR_ATTR_OFFS:
			if (nla_len(a) == sizeof(u32))
				attr = attr_at(x->request, nla_get_u32(a));
			break;
		case NLMSGERR_ATTR_MISS_TYPE:
			type = nla_len(a) == sizeof(u32) ? nla_get_u32(a) : 0;
			if (type < ARRAY_SIZE(attr_names))
				attr = attr_names[type];
			break;
		}
	}
	if (text && attr && !strstr(text, attr))
		snprintf(nl->why, sizeof(nl->why), "%s: %s", attr, text);
	else if (text)
		snprintf(nl->why, sizeof(nl->why), "%s", text);
	else if (err == -EPERM)
		snprintf(nl->why, sizeof(nl->why),
			 "this needs CAP_NET_ADMIN in the initial user namespace");
	else if (attr)
		snprintf(nl->why, sizeof(nl->why), "%s: %s", attr, strerror(-err));
	else
		snprintf(nl->why, sizeof(nl->why), "%s", strerror(-err));
}

static int on_error(struct sockaddr_nl *from, struct nlmsgerr *e, void *arg)
{
	struct nlmsghdr *h = (struct nlmsghdr *)((char *)e - NLMSG_HDRLEN);
	struct exchange *x = arg;
	u64 skip = sizeof(*e), len = h->nlmsg_len - NLMSG_HDRLEN;

	(void)from;
	/* the request is repeated here, or only its header */
	if (!(h->nlmsg_flags & NLM_F_CAPPED))
		skip += NLMSG_ALIGN((u64)e->msg.nlmsg_len) - sizeof(e->msg);
	if (!(h->nlmsg_flags & NLM_F_ACK_TLVS) || skip > len)
		skip = len;
	keep_reason(x, e->error, (struct nlattr *)((char *)e + skip),
		    (int)(len - skip));
	x->done = true;
	return NL_STOP;
}

static int on_ack(struct nl_msg *msg, void *arg)
{
	struct exchange *x = arg;

	(void)msg;
	x->done = true;
	return NL_STOP;
}

/* A dump that fails under way says so in its last message. */
static int on_finish(struct nl_msg *msg, void *arg)
{
	struct nlmsghdr *h = nlmsg_hdr(msg);
	int len = nlmsg_datalen(h) - (int)NLMSG_ALIGN(sizeof(int));
	struct exchange *x = arg;
	int err = 0;

	x->done = true;
	if (nlmsg_datalen(h) >= (int)sizeof(err))
		memcpy(&err, nlmsg_data(h), sizeof(err));
	if (err >= 0)
		return NL_STOP;
	if (!(h->nlmsg_flags & NLM_F_ACK_TLVS) || len < 0)
		len = 0;
	keep_reason(x, err,
		    (struct nlattr *)((char *)nlmsg_data(h) +
				      NLMSG_ALIGN(sizeof(int))), len);
	return NL_STOP;
}

static int foreign(struct exchange *x)
{
	x->err = -EPROTO;
	snprintf(x->nl->why, sizeof(x->nl->why),
		 "the kernel's answer is not of this version; module and fabricctl do not belong together");
	return x->err;
}

static int on_valid(struct nl_msg *msg, void *arg)
{
	struct genlmsghdr *g = nlmsg_data(nlmsg_hdr(msg));
	struct exchange *x = arg;

	if (!x->row || !genlmsg_valid_hdr(nlmsg_hdr(msg), 0) || g->cmd != x->cmd)
		return NL_SKIP;
	if (fx_nl_row(x->cmd, genlmsg_attrdata(g, 0), genlmsg_attrlen(g, 0),
		      x->row)) {
		foreign(x);
		return NL_SKIP;
	}
	x->got = true;
	if (x->fn)
		x->fn(x->row, x->arg);
	return NL_OK;
}

/* NULL for a name that no graph can have. */
static struct nl_msg *new_request(struct fx_nl *nl, enum fx_cmd cmd, int flags,
				  const char *graph, size_t room)
{
	struct nl_msg *m;

	if (graph && strlen(graph) >= FX_NAME_LEN)
		return NULL;
	m = nlmsg_alloc_size(room + 512);
	if (!m || !genlmsg_put(m, NL_AUTO_PORT, NL_AUTO_SEQ, nl->family, 0,
			       flags | NLM_F_REQUEST, cmd, FX_GENL_VERSION) ||
	    (graph && nla_put_string(m, FX_A_NAME, graph))) {
		fprintf(stderr, "fabricctl: out of memory\n");
		exit(FX_RC_SYSTEM);
	}
	return m;
}

/* Send @m, which is released, and read until its answer is complete. */
static int exchange(struct fx_nl *nl, struct nl_msg *m, struct exchange *x)
{
	struct nl_cb *cb;
	int err;

	x->nl = nl;
	x->request = m;
	nl->why[0] = 0;
	if (!m) {
		snprintf(nl->why, sizeof(nl->why),
			 "no graph has a name of %d characters or more", FX_NAME_LEN);
		return -ENOENT;
	}
	cb = nl_cb_alloc(NL_CB_CUSTOM);
	if (!cb) {
		err = -NLE_NOMEM;
		goto out;
	}
	nl_cb_err(cb, NL_CB_CUSTOM, on_error, x);
	nl_cb_set(cb, NL_CB_ACK, NL_CB_CUSTOM, on_ack, x);
	nl_cb_set(cb, NL_CB_FINISH, NL_CB_CUSTOM, on_finish, x);
	nl_cb_set(cb, NL_CB_VALID, NL_CB_CUSTOM, on_valid, x);

	err = nl_send_auto(nl->sock, m);
	while (err >= 0 && !x->done)
		err = nl_recvmsgs(nl->sock, cb);
out:
	if (err < 0 && !x->err) {
		x->err = -EIO;
		snprintf(nl->why, sizeof(nl->why), "netlink: %s",
			 nl_geterror(err));
	}
	nl_cb_put(cb);
	nlmsg_free(m);
	return x->err;
}

static int command(struct fx_nl *nl, struct nl_msg *m)
{
	struct exchange x = { 0 };

	return exchange(nl, m, &x);
}

/* ---- open ------------------------------------------------------------- */

static void set_option(struct nl_sock *sock, int option)
{
	int on = 1;

	/* an older kernel answers without: less is told, nothing fails */
	setsockopt(nl_socket_get_fd(sock), SOL_NETLINK, option, &on, sizeof(on));
}

/**
 * fx_nl_open() - connect to the control plane
 *
 * Return: the connection, or NULL after one sentence through fx_err().
 */
struct fx_nl *fx_nl_open(void)
{
	struct fx_nl *nl = fx_calloc(1, sizeof(*nl));
	int err;

	nl->sock = nl_socket_alloc();
	if (!nl->sock) {
		fx_err("netlink: %s", nl_geterror(NLE_NOMEM));
		goto fail;
	}
	err = genl_connect(nl->sock);
	if (err < 0) {
		fx_err("a generic netlink socket cannot be opened: %s",
		       nl_geterror(err));
		goto fail;
	}
	set_option(nl->sock, NETLINK_EXT_ACK);
	set_option(nl->sock, NETLINK_CAP_ACK);
	nl_socket_set_msg_buf_size(nl->sock, MSG_BYTES);
	nl_socket_set_buffer_size(nl->sock, 4 * MSG_BYTES, 4 * MSG_BYTES);
	nl->family = genl_ctrl_resolve(nl->sock, FX_GENL_NAME);
	if (nl->family == -NLE_OBJ_NOTFOUND) {
		fx_err("what is asked for is on no network device or DPU, and the module fabric_ext is not loaded: `insmod fabric_ext.ko` and stay in the initial network namespace; `fabricctl doctor` tells what it needs");
		goto fail;
	}
	if (nl->family < 0) {
		fx_err("the netlink family %s cannot be looked up: %s",
		       FX_GENL_NAME, nl_geterror(nl->family));
		goto fail;
	}
	return nl;
fail:
	fx_nl_close(nl);
	return NULL;
}

void fx_nl_close(struct fx_nl *nl)
{
	if (!nl)
		return;
	nl_socket_free(nl->sock);
	free(nl->buf);
	free(nl);
}

int fx_nl_fd(const struct fx_nl *nl)
{
	return nl_socket_get_fd(nl->sock);
}

/* ---- commands --------------------------------------------------------- */

static void put(struct nl_msg *m, int attr, const void *data, size_t len)
{
	if (nla_put(m, attr, (int)len, data)) {
		fprintf(stderr, "fabricctl: out of memory\n");
		exit(FX_RC_SYSTEM);
	}
}

static int send_section(struct fx_nl *nl, const struct fx_image *img, u32 sect)
{
	const char *data = fx_image_section(img, sect);
	u32 size = fx_section_record(sect), n;
	struct nl_msg *m;
	int err;

	for (u32 first = 0; first < img->hdr->count[sect]; first += n) {
		n = img->hdr->count[sect] - first;
		if (n > CHUNK_BYTES / size)
			n = CHUNK_BYTES / size;
		m = new_request(nl, FX_CMD_GRAPH_CHUNK, NLM_F_ACK, NULL,
				CHUNK_BYTES);
		put(m, FX_A_SECTION, &sect, sizeof(sect));
		put(m, FX_A_FIRST, &first, sizeof(first));
		put(m, FX_A_DATA, data + (size_t)first * size, (size_t)n * size);
		err = command(nl, m);
		if (err)
			return err;
	}
	return 0;
}

/**
 * fx_nl_upload() - load a graph: all of it or nothing
 * @nl: connection
 * @img: checked image
 *
 * Return: 0 or -errno: -EEXIST when a graph of this name is loaded.
 */
int fx_nl_upload(struct fx_nl *nl, const struct fx_image *img)
{
	struct nl_msg *m;
	char why[sizeof(nl->why)];
	int err;

	m = new_request(nl, FX_CMD_GRAPH_BEGIN, NLM_F_ACK, img->hdr->name, 0);
	put(m, FX_A_DIGEST, img->hdr->digest, sizeof(img->hdr->digest));
	put(m, FX_A_GOVERNS, &img->hdr->governs, sizeof(img->hdr->governs));
	put(m, FX_A_COUNTS, img->hdr->count, sizeof(img->hdr->count));
	err = command(nl, m);
	if (err)
		return err;

	for (u32 sect = 0; !err && sect < FX_SECTS; sect++)
		err = send_section(nl, img, sect);
	if (!err)
		err = command(nl, new_request(nl, FX_CMD_GRAPH_COMMIT,
					      NLM_F_ACK, NULL, 0));
	if (err) {
		memcpy(why, nl->why, sizeof(why));
		command(nl, new_request(nl, FX_CMD_GRAPH_ABORT, NLM_F_ACK, NULL,
					0));
		memcpy(nl->why, why, sizeof(why));
	}
	return err;
}

int fx_nl_remove(struct fx_nl *nl, const char *graph)
{
	return command(nl, new_request(nl, FX_CMD_GRAPH_DEL, NLM_F_ACK, graph, 0));
}

/* fx_nl_bypass() - end the policy of @graph, or of every graph with NULL */
int fx_nl_bypass(struct fx_nl *nl, const char *graph)
{
	return command(nl, new_request(nl, FX_CMD_BYPASS, NLM_F_ACK, graph, 0));
}

/**
 * fx_nl_graph_get() - one graph
 * @nl: connection
 * @graph: its name
 * @out: filled
 *
 * Return: 0, -ENOENT or another -errno.
 */
int fx_nl_graph_get(struct fx_nl *nl, const char *graph, struct fx_nl_graph *out)
{
	struct exchange x = { .cmd = FX_CMD_GRAPH_GET, .row = out };
	int err = exchange(nl, new_request(nl, FX_CMD_GRAPH_GET, NLM_F_ACK,
					   graph, 0), &x);

	/* done without an answer: @out is as it was */
	return !err && !x.got ? foreign(&x) : err;
}

/**
 * fx_nl_dump() - all rows of a table
 * @nl: connection
 * @cmd: FX_CMD_GRAPH_GET, PLACE_GET, CLASS_GET, EDGE_GET or COUNTER_GET
 * @graph: of which graph; NULL for GRAPH_GET
 * @fn: called for each row
 * @arg: its argument
 *
 * Return: 0, -ENOENT or another -errno.
 */
int fx_nl_dump(struct fx_nl *nl, enum fx_cmd cmd, const char *graph, fx_nl_fn fn,
	       void *arg)
{
	struct exchange x = { .cmd = cmd, .fn = fn, .arg = arg };
	int err;

	x.row = fx_calloc(1, fx_nl_row_size(cmd));
	err = exchange(nl, new_request(nl, cmd, NLM_F_DUMP, graph, 0), &x);
	free(x.row);
	return err;
}

/* ---- events ----------------------------------------------------------- */

/**
 * fx_nl_subscribe() - make this connection receive events, and nothing else
 * @nl: connection
 *
 * Return: 0 or -errno.
 */
int fx_nl_subscribe(struct fx_nl *nl)
{
	int fd = nl_socket_get_fd(nl->sock), size = EVENT_BUFFER, group, err;

	group = genl_ctrl_resolve_grp(nl->sock, FX_GENL_NAME,
				      FX_GENL_MCGRP_EVENTS);
	if (group < 0) {
		snprintf(nl->why, sizeof(nl->why), "no multicast group %s: %s",
			 FX_GENL_MCGRP_EVENTS, nl_geterror(group));
		return -ENOENT;
	}
	/* a burst must fit until we come to read it; privilege lifts the limit */
	if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof(size)))
		setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof(size));
	if (setsockopt(fd, SOL_NETLINK, NETLINK_ADD_MEMBERSHIP, &group,
		       sizeof(group))) {
		err = -errno;
		snprintf(nl->why, sizeof(nl->why), "%s",
			 err == -EPERM ? "events need CAP_NET_ADMIN in the initial user namespace" :
			 strerror(-err));
		return err;
	}
	nl->buf = fx_alloc(MSG_BYTES);
	return 0;
}

/**
 * fx_nl_events_read() - hand out the events of what has arrived
 * @nl: connection that fx_nl_subscribe() prepared; its descriptor is readable
 * @fn: called for each message
 * @arg: its argument
 *
 * Return: 0; -ENOBUFS when the socket overflowed and messages are missing,
 * which sequence numbers show; -EINTR and other -errno.
 */
int fx_nl_events_read(struct fx_nl *nl,
		      void (*fn)(const struct fx_nl_events *msg, void *arg),
		      void *arg)
{
	struct fx_event *room;
	struct fx_nl_events msg;
	struct sockaddr_nl from;
	socklen_t from_len = sizeof(from);
	struct nlmsghdr *h;
	ssize_t got;
	int rest;

	got = recvfrom(fx_nl_fd(nl), nl->buf, MSG_BYTES, 0,
		       (struct sockaddr *)&from, &from_len);
	if (got < 0) {
		snprintf(nl->why, sizeof(nl->why), "%s", strerror(errno));
		return -errno;
	}
	/* only the kernel is believed */
	if (from_len != sizeof(from) || from.nl_pid)
		return 0;

	room = fx_calloc(EVENTS_MAX, sizeof(*room));
	rest = (int)got;
	for (h = nl->buf; nlmsg_ok(h, rest); h = nlmsg_next(h, &rest)) {
		struct genlmsghdr *g = nlmsg_data(h);

		if (h->nlmsg_type != nl->family || !genlmsg_valid_hdr(h, 0) ||
		    g->cmd != FX_CMD_EVENT)
			continue;
		if (!fx_nl_events_row(genlmsg_attrdata(g, 0),
				      genlmsg_attrlen(g, 0), room, EVENTS_MAX,
				      &msg))
			fn(&msg, arg);
	}
	free(room);
	return 0;
}
