/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Control plane: generic netlink family "fabric_ext". genl.c has the family,
 * its policies and the commands; genl_upload.c the transactions that load a
 * graph; genl_dump.c what can be read back.
 */
#ifndef FX_GENL_H
#define FX_GENL_H

#include <linux/types.h>

struct fx_graph;
struct genl_family;
struct genl_info;
struct netlink_callback;
struct sk_buff;

/*
 * Bytes of records in one chunk: a netlink policy's ranges are 16 bit and
 * signed, and a record is a multiple of 8 bytes.
 */
#define FX_GENL_CHUNK_MAX	32760

/* Transactions open at once on the whole machine. */
#define FX_UPLOADS_MAX		16

int fx_genl_init(void);
void fx_genl_exit(void);
void fx_genl_deliver(struct fx_graph *g);

/* ---- between the files of the control plane ---- */
extern struct genl_family fx_genl_family;

int fx_genl_need(const struct genl_info *info, const u16 *attrs, size_t n);
struct fx_graph *fx_genl_graph(const struct genl_info *info);

int fx_upload_begin(struct sk_buff *skb, struct genl_info *info);
int fx_upload_chunk(struct sk_buff *skb, struct genl_info *info);
int fx_upload_commit(struct sk_buff *skb, struct genl_info *info);
int fx_upload_abort(struct sk_buff *skb, struct genl_info *info);
int fx_uploads_init(void);
void fx_uploads_exit(void);

int fx_genl_get_graph(struct sk_buff *skb, struct genl_info *info);
int fx_dump_graphs_start(struct netlink_callback *cb);
int fx_dump_graphs(struct sk_buff *skb, struct netlink_callback *cb);
int fx_dump_graphs_done(struct netlink_callback *cb);
int fx_dump_table_start(struct netlink_callback *cb);
int fx_dump_table(struct sk_buff *skb, struct netlink_callback *cb);
int fx_dump_table_done(struct netlink_callback *cb);

#endif
