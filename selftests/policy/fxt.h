/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the tests of policies have in common. */
#ifndef FXT_H
#define FXT_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include <linux/fabric_ext.h>

#include "lib/files.h"
#include "lib/fxgraph.h"
#include "modules/fx_exerciser.h"
#include "policies/life.h"

/* ---- fxt.c: modules and dma-bufs -------------------------------------- */

/* 0 or -errno; a module that is loaded or gone already is no error. */
int fxt_insmod(const char *path);
int fxt_rmmod(const char *name);
/* fxt_rmmod() again and again while the kernel still lets go of it. */
int fxt_rmmod_within(const char *name, unsigned int ms);
const char *fxt_test_module(const char *name);
/* Load fx_exerciser and fabric_ext. The program unloads them when it ends. */
int fxt_modules(void);
extern bool fxt_keep_modules;	/* unless this is set */
/*
 * Load a graph with @edges edges, in the place of one that a failed test has
 * left. It governs what @governs says and has a place of @exporter's buffers.
 */
int fxt_graph(const char *name, __u32 governs, const char *exporter, __u32 edges);
/* One that governs dma-bufs. */
#define fxt_small_graph(name)	fxt_graph(name, FX_GOVERNS_DMABUF, "nobody", 4)
/* References to a loaded module, or -errno. */
long fxt_refcount(const char *module);

/* A new dma-buf's descriptor, or -errno. */
int fxt_export(const struct fx_ex_export *how);
int fxt_export_plain(void);
/* Attach (and map) and detach as device @dev: 0 or the -errno of the attempt. */
int fxt_attach(int fd, __u32 dev, bool map);
struct fx_ex_counts fxt_counts(void);
/* DMA_BUF_IOCTL_SYNC for reading, begin and end: 0 or -errno of the begin. */
int fxt_sync(int fd);
/* A dma-buf of the system heap; vgem imports one as a GEM object and drops it. */
int fxt_heap_alloc(size_t bytes);
int fxt_vgem_import(int fd);
/* dma-bufs that exist in the system, or -errno. */
long fxt_dmabufs(void);

__u64 fxt_now_ms(void);
void fxt_sleep_ms(unsigned int ms);

/* ---- bpf.c: policies, without fabricctl ------------------------------- */

/**
 * struct fxt_policy - a policy in this process
 * @state: what it shares with us, mapped
 * @ops: its struct fabric_ext_ops; to be changed before it is loaded
 */
struct fxt_policy {
	struct bpf_object *obj;
	struct bpf_map *map;
	struct bpf_link *link;
	volatile struct fxt_state *state;
	struct fxt_ops *ops;
};

/* struct fabric_ext_ops as policy.bpf.h has it */
struct fxt_ops {
	void *op[8];
	__u64 hooks;
	__u64 flags;
	__u32 timeout_ms;
	__u32 invalid_budget;
	char graph[FX_NAME_LEN];
	char name[FX_NAME_LEN];
};

/* All return 0 or -errno. Open, change @ops, load, attach, detach. */
int fxt_policy_open(struct fxt_policy *p, const char *bundle, const char *graph);
int fxt_policy_load(struct fxt_policy *p);
int fxt_policy_attach(struct fxt_policy *p);
int fxt_policy_run(struct fxt_policy *p);	/* load and attach */
int fxt_policy_replace(struct fxt_policy *old, struct fxt_policy *by);
void fxt_policy_detach(struct fxt_policy *p);
void fxt_policy_close(struct fxt_policy *p);
/* Open, load and attach. */
int fxt_policy_start(struct fxt_policy *p, const char *bundle, const char *graph);
/* BPF programs and maps in the system. */
unsigned int fxt_bpf_objects(void);

/* ---- show.c: what the module tells, through fabricctl ------------------ */

struct fxt_show {
	bool attached;
	bool bypassed;
	bool audit;
	char exit[16];
	char message[160];
	char dump[1200];
	__u64 emitted;
	__u64 lost;
	__u64 missing;		/* FX_OP_BIT() */
	struct {
		__u64 asked;
		__u64 refused;
		__u64 invalid;
	} op[FX_OPS];
};

int fxt_show(const char *graph, struct fxt_show *out);
/* Until @graph shows an exit kind other than none, for 2 s at most. */
int fxt_show_ended(const char *graph, struct fxt_show *out);
/* How many functions this module has hooked, by the kernel's own list. */
int fxt_hooked(void);
/* Wait until it is @n: whether it became so. */
bool fxt_hooked_becomes(int n, unsigned int ms);

/* ---- load.c: others who attach meanwhile, and what they leave ---------- */

#define FXT_WORKERS	2	/* one on each processor */

/* One writer each, on cache lines of their own. */
struct fxt_work {
	volatile __u64 admitted;
	volatile __u64 refused;		/* -EACCES */
	volatile __u64 other;
	volatile __s32 last_other;
} __attribute__((aligned(64)));

/* Shared with the workers. */
struct fxt_load {
	struct fxt_work work[FXT_WORKERS];
	volatile int stop;
};

struct fxt_load *fxt_load_start(int fd, bool map);
/* Wait until each worker has done @n more attempts: whether they did in 10 s. */
bool fxt_load_progress(struct fxt_load *load, __u64 n);
__u64 fxt_load_sum(const struct fxt_load *load, size_t member);
void fxt_load_stop(struct fxt_load *load);

#define fxt_load_admitted(l)	fxt_load_sum(l, offsetof(struct fxt_work, admitted))
#define fxt_load_refused(l)	fxt_load_sum(l, offsetof(struct fxt_work, refused))
#define fxt_load_other(l)	fxt_load_sum(l, offsetof(struct fxt_work, other))

#define FXT_CACHES	256

/* What the kernel holds. */
struct fxt_census {
	long refcount;
	long dmabufs;
	unsigned int bpf;
	unsigned int vmallocs;
	unsigned int n;
	struct {
		char name[32];
		__u64 objects;
	} cache[FXT_CACHES];
};

int fxt_census(struct fxt_census *c);
/* Prints what grew by more than @most objects, and returns how many did. */
unsigned int fxt_census_grown(const struct fxt_census *from,
			      const struct fxt_census *to, __u64 most);

#endif
