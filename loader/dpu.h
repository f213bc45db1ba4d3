/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A client of fabric-dpu: one connection to the control socket of a DPU that
 * runs on this machine. All calls are made by one thread at a time, wait for
 * at most FX_DPU_WAIT_MS and return 0 or -errno; fx_dpu_why() has the sentence.
 * After -ETIMEDOUT, -EPROTO or -EPIPE the connection is of no use any more.
 */
#ifndef FX_DPU_H
#define FX_DPU_H

#include <linux/fabric_ext_dpu.h>

#include "types.h"

#define FX_DPU_WAIT_MS		5000

struct fx_dpu;

/* May a DPU have this name, and so a socket? */
bool fx_dpu_name_ok(const char *name);

/**
 * fx_dpu_open() - connect to a running fabric-dpu
 * @name: as in `match: { dpu: NAME }`
 * @out: to fx_dpu_close(); also after an error, for fx_dpu_why()
 *
 * Return: 0; -ECONNREFUSED when none of that name is running; another -errno.
 */
int fx_dpu_open(const char *name, struct fx_dpu **out);
void fx_dpu_close(struct fx_dpu *d);

/**
 * fx_dpu_open_within() - the same, and wait no longer than that in each call
 * @name: as in `match: { dpu: NAME }`
 * @limit_ms: 0 for FX_DPU_WAIT_MS, after which the connection is of no use
 * @out: as above
 *
 * With a limit, for all calls since fx_dpu_again(), a call that finds no answer
 * in time returns -EAGAIN, and so do all until it has come: one that hangs is
 * not asked again and again.
 */
int fx_dpu_open_within(const char *name, u32 limit_ms, struct fx_dpu **out);

/*
 * Begin to wait anew: the limit is for all calls from here on together. The
 * answer to a call that returned -EAGAIN is that of the same call, made again.
 */
void fx_dpu_again(struct fx_dpu *d);

/* 0: no answer is owed; -EAGAIN: one is; what it says, when it has come now. */
int fx_dpu_owed(struct fx_dpu *d);

/* What went wrong in the last call that failed: a sentence. */
const char *fx_dpu_why(const struct fx_dpu *d);

/* The files of an artifact, and a name for each flow. */
struct fx_dpu_parts {
	const void *artifact, *object, *flows;
	size_t artifact_size, object_size, flows_size;
	const char (*names)[FX_NAME_LEN];	/* one per flow */
	u32 n_flow;
	u32 flags;			/* FX_NIC_F_AUDIT, FX_NIC_F_ALONE */
	u32 replace;			/* enum fx_dpu_replace */
};

int fx_dpu_info(struct fx_dpu *d, struct fx_dpu_info *info);
int fx_dpu_load(struct fx_dpu *d, const struct fx_dpu_parts *parts);
/* After a load with replace: drop what was loaded before, or put it back. */
int fx_dpu_settle(struct fx_dpu *d, const char *graph, bool undo);
/* -ENOENT when another graph is loaded, or none. */
int fx_dpu_unload(struct fx_dpu *d, const char *graph);
int fx_dpu_bypass(struct fx_dpu *d, const char *graph);
int fx_dpu_quit(struct fx_dpu *d);

/**
 * fx_dpu_tag() - bind a queue pair to an edge whose flow is `rocev2: tag`
 * @d: connection
 * @graph: what has to be loaded
 * @edge: instance
 * @dir: enum fx_dir: which of its crossings
 * @qp: or 0: none from here on
 *
 * Return: 0; -EEXIST when the queue pair is another edge's; -EOPNOTSUPP when
 * the fabric-dpu is of a version without; another -errno.
 */
int fx_dpu_tag(struct fx_dpu *d, const char *graph, u32 edge, u32 dir, u32 qp);
/* -EOPNOTSUPP after a sentence, unless the DPU finds flows by a queue pair. */
int fx_dpu_can_qp(struct fx_dpu *d, const struct fx_dpu_info *info);

/**
 * fx_dpu_stat() - what was counted, of one load
 * @d: connection
 * @head: filled in: conf, total, loads; its row[] is not used
 * @rows: conf.rows of them, to free(); NULL when nothing is loaded
 *
 * Return: 0; -ENOENT when nothing is loaded; -EAGAIN when it is loaded anew
 * again and again; another -errno.
 */
int fx_dpu_stat(struct fx_dpu *d, struct fx_dpu_stats *head, struct fx_dpu_row **rows);

/**
 * fx_dpu_map_info() - sizes and class of a map
 * @d: connection
 * @map: its name in the policy
 * @info: filled in
 * @epoch: how often it was published since it was loaded; or NULL
 */
int fx_dpu_map_info(struct fx_dpu *d, const char *map, struct fx_dpu_map *info, u64 *epoch);

/**
 * fx_dpu_map_read() - all values of a map
 * @d: connection
 * @map: its name in the policy
 * @buf: for entries * value_size bytes
 * @size: how many these are
 *
 * A map of class counter gives the sums over the workers. A map that is
 * published is read as of one epoch. Return: 0; -EINVAL when @size is not the
 * map's; another -errno.
 */
int fx_dpu_map_read(struct fx_dpu *d, const char *map, void *buf, size_t size);

/**
 * fx_dpu_map_write() - set one entry
 * @d: connection
 * @map: of class local or bounded
 * @index: entry
 * @value: its bytes; each aligned word of eight is stored whole
 * @size: how many these are, the map's value_size
 */
int fx_dpu_map_write(struct fx_dpu *d, const char *map, u32 index, const void *value,
		     size_t size);

/**
 * fx_dpu_map_publish() - set all entries at once
 * @d: connection
 * @map: of class snapshot
 * @buf: entries * value_size bytes
 * @size: how many these are
 *
 * A program that runs sees all of the old values or all of the new; when this
 * returns, no program sees the old ones any more.
 */
int fx_dpu_map_publish(struct fx_dpu *d, const char *map, const void *buf, size_t size);

#endif /* FX_DPU_H */
