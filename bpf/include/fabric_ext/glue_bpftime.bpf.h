/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The guard of a portable policy on functions that copy to and from a GPU: a
 * uprobe at the entry of each, a uretprobe at its return. It uses what bpftime
 * has; libbpf loads the same object into the kernel. Only portable.bpf.h
 * includes this.
 *
 * fabricctl says what the graph knows, before anything else is included:
 *
 *	FX_COPY_PLACE		the GPU's place
 *	FX_COPY_N_ROWS		how many rows there are
 *	FX_COPY_ROWS(X)		X(row, dir, bytes, first, count, cls, priority,
 *				  alone): edges that a copy may be of
 *	FX_COPY_FUNCTIONS(X)	X(number, "uprobe/LIB:NAME", "uretprobe/...",
 *				  way, status)
 *
 * A copy is of the first row that goes its way and has its bytes; where a way
 * has one row, of that one. The instances of a row come in turn. A probe cannot
 * refuse: the verdict is counted and recorded, and the copy goes on.
 */
#ifndef FABRIC_EXT_GLUE_BPFTIME_BPF_H
#define FABRIC_EXT_GLUE_BPFTIME_BPF_H

#include <linux/fabric_ext_copy.h>
#include <stdbool.h>
#include <linux/ptrace.h>
#include <asm/ptrace.h>
#define __TARGET_ARCH_x86
#include <bpf/bpf_tracing.h>

#define FX_COPY_THREADS		8192
#define FX_COPY_RING		(256 * 1024)

/* as enum fx_copy_way of the compiler, and enum cudaMemcpyKind of CUDA */
enum { FX_WAY_ANY, FX_WAY_IN, FX_WAY_OUT, FX_WAY_KIND };
enum { FX_KIND_TO_DEVICE = 1, FX_KIND_TO_HOST = 2, FX_KIND_DEFAULT = 4 };

#define FX_COPY_NO_WAY		FX_DIRS
#define FX_COPY_NO_ROW		FX_COPY_N_ROWS

/*
 * How long a copy takes at most: a second, and one for each gigabyte. One that
 * was left by longjmp() or an exception, or whose thread is gone and its number
 * in use again, looks until then as if what is called further down were within
 * it. What it calls later than that is a copy of its own.
 */
#define FX_COPY_NS(bytes)	(1000000000ULL + (bytes))

/*
 * A probe runs in a thread that another may preempt on the same CPU, and so
 * within the same shard of a count.
 */
#define FX_COPY_ADD(count, by)	__sync_fetch_and_add(&(count), by)

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, FX_COPY_N_ROWS);
	__type(key, __u32);
	__type(value, struct fx_copy_count);
} fx_copy_counts SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct fx_copy_total);
} fx_copy_totals SEC(".maps");

/* how many copies of a row there were, for whose turn it is */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, FX_COPY_N_ROWS);
	__type(key, __u32);
	__type(value, __u64);
} fx_copy_turns SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, FX_COPY_RING);
} fx_copy_records SEC(".maps");

/* The copy that a thread is in. */
struct fx_copy_in {
	__u64 sp;			/* at the entry: what is called from there is below */
	__u64 until;			/* when it has returned, or never does */
	__u32 row;			/* or FX_COPY_NO_ROW */
	__u32 function;
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, FX_COPY_THREADS);
	__type(key, __u64);
	__type(value, struct fx_copy_in);
} fx_copy_threads SEC(".maps");

/* What the graph says of the row that a copy is of. */
struct fx_copy_edge {
	__u64 bytes;
	__u32 row, first, count;
	__u32 dir, priority;
	__u16 cls;
};

static __always_inline bool fx_find_copy(__u32 dir, __u64 bytes, struct fx_copy_edge *e)
{
#define FX_COPY_TRY(n, way, size, begin, instances, of, prio, alone)	\
	if ((dir == (way) && (bytes == (size) || (alone))) ||		\
	    (dir == FX_DIR_NONE && (bytes == (size) || FX_COPY_N_ROWS == 1))) { \
		e->row = n;						\
		e->dir = way;						\
		e->bytes = size;					\
		e->first = begin;					\
		e->count = instances;					\
		e->cls = of;						\
		e->priority = prio;					\
		return true;						\
	}
	FX_COPY_ROWS(FX_COPY_TRY)
#undef FX_COPY_TRY
	return false;
}

static __always_inline __u32 fx_copy_dir(struct pt_regs *ctx, __u32 way)
{
	if (way != FX_WAY_KIND)
		return way == FX_WAY_IN ? FX_DIR_IN :
		       way == FX_WAY_OUT ? FX_DIR_OUT : FX_DIR_NONE;
	switch ((__u32)PT_REGS_PARM4(ctx)) {
	case FX_KIND_TO_DEVICE:
		return FX_DIR_IN;
	case FX_KIND_TO_HOST:
		return FX_DIR_OUT;
	case FX_KIND_DEFAULT:
		return FX_DIR_NONE;
	default:	/* within the host, within the device */
		return FX_COPY_NO_WAY;
	}
}

/* The instance whose turn it is. */
static __always_inline __u32 fx_copy_turn(const struct fx_copy_edge *e)
{
	__u32 row = e->row;
	__u64 *n, turn = 0;

	n = bpf_map_lookup_elem(&fx_copy_turns, &row);
	if (n) {
		turn = *n;
		__sync_fetch_and_add(n, 1);
	}
	return e->first + turn % e->count;
}

static __always_inline void fx_copy_record(struct pt_regs *ctx, __u32 function,
					   const struct fx_move *m,
					   const struct fx_verdict *v,
					   struct fx_copy_total *total)
{
	__u64 thread = bpf_get_current_pid_tgid();
	struct fx_copy_record *r;

	r = bpf_ringbuf_reserve(&fx_copy_records, sizeof(*r), 0);
	if (!r) {
		FX_COPY_ADD(total->lost, 1);
		return;
	}
	r->ns = bpf_ktime_get_ns();
	r->bytes = m->bytes;
	r->to = PT_REGS_PARM1(ctx);
	r->from = PT_REGS_PARM2(ctx);
	r->pid = thread >> 32;
	r->tid = thread;
	r->edge = m->edge;
	r->cls = m->cls;
	r->function = function;
	r->action = v->action;
	r->error = v->error;
	r->mark = v->mark;
	r->priority = v->priority;
	bpf_ringbuf_submit(r, 0);
}

static __always_inline int fx_copy_begin(struct pt_regs *ctx, __u32 function, __u32 way,
					 struct fx_verdict (*guard)(const struct fx_move *))
{
	__u64 thread = bpf_get_current_pid_tgid();
	struct fx_copy_in in = { .sp = PT_REGS_SP(ctx), .row = FX_COPY_NO_ROW,
				 .function = function }, *outer;
	struct fx_copy_count *count;
	struct fx_copy_total *total;
	struct fx_copy_edge e = { };
	struct fx_move m = { };
	struct fx_verdict v;
	__u32 zero = 0;

	total = bpf_map_lookup_elem(&fx_copy_totals, &zero);
	if (!total)
		return 0;
	in.until = bpf_ktime_get_ns();
	outer = bpf_map_lookup_elem(&fx_copy_threads, &thread);
	if (outer && outer->sp > in.sp && outer->until > in.until) {
		FX_COPY_ADD(total->nested, 1);
		return 0;
	}
	FX_COPY_ADD(total->calls, 1);
	m.bytes = PT_REGS_PARM3(ctx);
	in.until += FX_COPY_NS(m.bytes);
	if (!fx_find_copy(fx_copy_dir(ctx, way), m.bytes, &e)) {
		FX_COPY_ADD(total->no_edge, 1);
		/* what it calls is part of it all the same */
		if (bpf_map_update_elem(&fx_copy_threads, &thread, &in, BPF_ANY))
			FX_COPY_ADD(total->lost, 1);
		return 0;
	}
	in.row = e.row;
	count = bpf_map_lookup_elem(&fx_copy_counts, &in.row);
	if (!count)
		return 0;
	m.edge = fx_copy_turn(&e);
	m.cls = e.cls;
	m.place = FX_COPY_PLACE;
	m.device = FX_DEVICE_CPU;
	m.op = FX_OP_MOVE;
	m.stated = e.bytes;
	m.priority = e.priority;
	m.dir = e.dir;
	v = guard(&m);
	FX_COPY_ADD(count->copies, 1);
	FX_COPY_ADD(count->bytes, m.bytes);
	if (v.action == FX_DROP) {
		FX_COPY_ADD(count->refused, 1);
		FX_COPY_ADD(count->refused_bytes, m.bytes);
	} else if (v.action == FX_MARK) {
		FX_COPY_ADD(count->marked, 1);
	}
	fx_copy_record(ctx, function, &m, &v, total);
	if (bpf_map_update_elem(&fx_copy_threads, &thread, &in, BPF_ANY))
		FX_COPY_ADD(total->lost, 1);
	return 0;
}

static __always_inline int fx_copy_end(struct pt_regs *ctx, __u32 function, bool status)
{
	__u64 thread = bpf_get_current_pid_tgid();
	struct fx_copy_count *count;
	struct fx_copy_in *in;
	__u32 row;

	in = bpf_map_lookup_elem(&fx_copy_threads, &thread);
	/* what was called from within returns further down */
	if (!in || in->function != function || in->sp >= PT_REGS_SP(ctx))
		return 0;
	row = in->row;
	bpf_map_delete_elem(&fx_copy_threads, &thread);
	if (row == FX_COPY_NO_ROW)
		return 0;
	count = bpf_map_lookup_elem(&fx_copy_counts, &row);
	if (!count)
		return 0;
	if (status && (__u32)PT_REGS_RC(ctx))
		FX_COPY_ADD(count->failed, 1);
	else
		FX_COPY_ADD(count->completed, 1);
	return 0;
}

#define FX_COPY_PROGS(n, entry, ret, way, status)			\
SEC(entry) int fx_copy_##n(struct pt_regs *ctx)				\
{									\
	return fx_copy_begin(ctx, n, way, fx_guard);			\
}									\
									\
SEC(ret) int fx_copied_##n(struct pt_regs *ctx)				\
{									\
	return fx_copy_end(ctx, n, status);				\
}

/*
 * FX_PORTABLE(name, malformed, ...): the programs. Further arguments are for
 * the kernel.
 */
#define FX_PORTABLE(policy, drops, ...)	FX_COPY_FUNCTIONS(FX_COPY_PROGS)

#endif
