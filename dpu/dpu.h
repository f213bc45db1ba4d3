/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * fabric-dpu: workers, one per lcore but the main one, take packets from ports
 * and run the program on them; the main lcore serves the control socket.
 *
 * What is loaded is one structure that the main lcore builds and puts in place
 * by one store. Workers look at it anew for each burst and say when a burst is
 * over, so that the main lcore knows when they are done with the old one.
 */
#ifndef FX_DPU_DPU_H
#define FX_DPU_DPU_H

#include <linux/fabric_ext_dpu.h>
#include <pthread.h>

#include "artifact.h"
#include "flows.h"
#include "maps.h"
#include "program.h"
#include "types.h"

#define FX_DPU_MAX_WORKERS	16
#define FX_DPU_MAX_PORTS	2

struct fx_dpu_qps;
struct rte_rcu_qsbr;

/* What one worker counts of what is loaded; nobody else writes it. */
struct fx_dpu_shard {
	struct fx_nic_count *count;	/* per row */
	struct fx_nic_total total[FX_DIRS];
};

/* What is loaded. */
struct fx_dpu_loaded {
	struct fx_dpu_files files;
	struct fx_dpu_image img;
	struct fx_dpu_maps maps;
	struct fx_dpu_program prog;
	struct fx_dpu_flows flows;	/* with FX_NIC_F_ROCE under the locks of all qps */
	struct fx_dpu_qps *qps[FX_DIRS];	/* with FX_NIC_F_ROCE */
	struct fx_nic_conf conf;	/* flags: atomic */
	struct fx_nic_row *row;
	u64 *bound;			/* per row: when it got its queue pair, ns */
	struct fx_dpu_shard shard[FX_DPU_MAX_WORKERS];
	u32 workers;
	bool in_turn;			/* of the workers one at a time runs it */
	struct fx_dpu_shard before;	/* counted by what it took the place of */
	u64 client;			/* ends with this connection; 0: it was settled */
	u64 left;			/* what to wait for since it was taken out */
	struct fx_dpu_loaded *next;	/* of those that a worker still uses */
};

struct fx_dpu_traffic {
	u64 received, sent, unsent;
};

struct fx_dpu_state {
	const char *name;
	u32 ports, workers;
	struct fx_dpu_loaded *loaded;	/* atomic; NULL: everything passes */
	struct fx_dpu_loaded *before;	/* replaced, until it is settled */
	struct fx_dpu_loaded *lingering;	/* done with, but for a worker that is away */
	struct rte_rcu_qsbr *seen;	/* who still uses an old one */
	void *retired;			/* values that a worker may still see */
	u64 retired_at;			/* what to wait for with them */
	pthread_mutex_t turn;		/* of programs that run in_turn */
	u64 life;			/* random, not 0 */
	u64 loads;
	bool quit;			/* atomic */
	struct fx_dpu_traffic traffic[FX_DPU_MAX_WORKERS];
};

/* worker.c: an lcore's life; @arg is its struct fx_dpu_worker. */
struct fx_dpu_worker {
	struct fx_dpu_state *dpu;
	u32 number;
};

int fx_dpu_worker_main(void *arg);
/* ns of CLOCK_MONOTONIC */
u64 fx_dpu_now(void);
/* Add counters up, @size bytes of them. */
void fx_dpu_add_up(void *sum, const void *one, size_t size);
/* Counted: the sum over the workers of a row, of a direction. */
void fx_dpu_sum_row(const struct fx_dpu_loaded *l, u32 row, struct fx_nic_count *sum);
void fx_dpu_sum_total(const struct fx_dpu_loaded *l, u32 dir, struct fx_nic_total *sum);

/* loaded.c: one sentence in @why, of FX_DPU_WHY_LEN, after each error. */

/**
 * fx_dpu_load() - take an artifact into service
 * @dpu: state
 * @f: its files, which are the state's from here on, also after an error
 * @load: the request
 * @client: whose connection it ends with, until it is settled
 * @why: out
 *
 * Nothing changes for the packets until all of it is ready. Return: 0 or
 * -errno.
 */
int fx_dpu_load(struct fx_dpu_state *dpu, struct fx_dpu_files *f,
		const struct fx_dpu_load *load, u64 client, char *why);
int fx_dpu_unload(struct fx_dpu_state *dpu, char *why);
/* After a load: it outlives its client and what it replaced, or that is put back. */
int fx_dpu_settle(struct fx_dpu_state *dpu, bool undo, u64 client, char *why);
/* A connection ended: with it what it loaded and did not settle. */
void fx_dpu_client_gone(struct fx_dpu_state *dpu, u64 client);

/**
 * fx_dpu_tag() - bind a queue pair to an edge whose flow is `rocev2: tag`
 * @dpu: state, in which something is loaded
 * @edge: instance
 * @dir: in which direction it crosses
 * @qp: or 0: none from here on
 * @why: out
 *
 * From one burst to the next; what was seen of the number before, and of the
 * one that it had, is forgotten. Return: 0; -ENOENT, no such edge; -EPERM, it
 * is not for tagging; -EEXIST, the queue pair is another's; another -errno.
 */
int fx_dpu_tag(struct fx_dpu_state *dpu, u32 edge, u32 dir, u32 qp, char *why);
/* -EBUSY while a worker may still see what a publish before has replaced. */
int fx_dpu_publish(struct fx_dpu_state *dpu, struct fx_dpu_mem *m, const void *values, char *why);
void fx_dpu_files_free(struct fx_dpu_files *f);

/* control.c: serve the socket until somebody says QUIT or a signal arrives. */
int fx_dpu_control(struct fx_dpu_state *dpu);

/* command.c: one request, and its answer. */
struct fx_dpu_request {
	const void *msg;		/* aligned; of msg_size bytes, a header at least */
	size_t size;
	int fd[FX_DPU_FDS];
	u32 n_fd;
	u64 client;			/* the connection's number, from 1 on */
};

/* Write the answer to @out, of FX_DPU_MAX_MSG bytes; returns its size. */
size_t fx_dpu_command(struct fx_dpu_state *dpu, const struct fx_dpu_request *r, void *out);

#endif /* FX_DPU_DPU_H */
