/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Maps with a consistency class: what devices see of each other's writes. Only
 * portable.bpf.h includes this; Documentation/map-classes.rst has the
 * guarantees and why each is made of what it is.
 *
 *	FX_MAP(class, name, type, entries)
 *	FX_MAP(bounded, name, type, entries, ms)
 *
 * is an array of @entries values, each zero at first:
 *
 *	local	 each device its own:		  fx_at()
 *	counter	 __u64, only added to; the sum is
 *		 read from outside:		  fx_count()
 *	snapshot read only; published from outside,
 *		 whole:				  fx_snap(), fx_snap_at()
 *	bounded	 last writer wins; no reader is more
 *		 than @ms behind:		  fx_get(), fx_put()
 *	coherent __u64, one home, atomic, ordered: fx_load(), fx_store(),
 *		 fx_add(), fx_xchg(), fx_cmpxchg()
 *
 * Each class is an entry type of its own, so that an accessor of another class
 * does not compile.
 */
#ifndef FABRIC_EXT_MAPS_BPF_H
#define FABRIC_EXT_MAPS_BPF_H

#include <linux/fabric_ext_map.h>

/*
 * The module and network devices run in one kernel, over one coherent memory.
 * All others have their own, which fabricctl's agent copies from and to.
 */
#if defined(FX_FOR_DPU)
#define FX_OWN_MEMORY	"dpu"
#elif defined(FX_FOR_HOST)
#define FX_OWN_MEMORY	"host"
#elif defined(FX_FOR_BPFTIME)
#define FX_OWN_MEMORY	"bpftime"
#define FX_NO_AGENT
#elif defined(FX_FOR_CUDA)
#define FX_OWN_MEMORY	"cuda"
#define FX_NO_AGENT
#elif defined(FX_FOR_PTX) || defined(FX_FOR_LANES)
#define FX_OWN_MEMORY	"ptx"
#define FX_NO_AGENT
#endif

/* What FX1111 is made of: the map's name and line are clang's to tell. */
#define FX_MAP_CANNOT(true, name, what)					\
	_Static_assert(true, "FX1111: the map '" #name "' " what)

#define FX_MAP(class, name, type, ...)	FX_MAP_##class(name, type, __VA_ARGS__)

#define FX_MAP_TAG(class)						\
	SEC(".maps") __attribute__((btf_decl_tag("fx_class:" class)))

#define FX_MAP_OF(class, kind, name, val, entries)			\
	struct {							\
		__uint(type, kind);					\
		__uint(max_entries, entries);				\
		__type(key, __u32);					\
		__type(value, val);					\
	} name FX_MAP_TAG(class)

/* The entry's address, or NULL. */
#define fx_map_entry(map, i)						\
({									\
	__u32 fx_key = (i);						\
	(typeof((map)->value))bpf_map_lookup_elem(map, &fx_key);	\
})

/* ---- local ---- */

#define FX_MAP_local(name, type, entries)				\
	FX_MAP_OF("local", BPF_MAP_TYPE_ARRAY, name, type, entries)

/* A pointer to entry @i, or NULL when there is none. */
#define fx_at(map, i)							\
({									\
	_Static_assert(!fx_is(map, struct fx_counter) &&		\
		       !fx_is(map, struct fx_word),			\
		       "fx_at() is for maps of class 'local'");		\
	fx_map_entry(map, i);						\
})

#define fx_is(map, type)						\
	__builtin_types_compatible_p(typeof(*(map)->value), type)

/* ---- counter: a shard per device and CPU ---- */

struct fx_counter {
	__u64 n;
};

#define FX_MAP_counter(name, type, entries)				\
	FX_MAP_CANNOT(__builtin_types_compatible_p(type, __u64), name,	\
		      "of class 'counter' holds __u64 and nothing else"); \
	FX_MAP_OF("counter", BPF_MAP_TYPE_PERCPU_ARRAY, name,		\
		  struct fx_counter, entries)

/* One CPU's shard may still have two writers: a packet interrupts an op. */
#define fx_count(map, i, by)						\
({									\
	struct fx_counter *fx_shard = fx_map_entry(map, i);		\
									\
	if (fx_shard)							\
		__sync_fetch_and_add(&fx_shard->n, by);			\
})

/* ---- snapshot: a whole table at a time ---- */

/* The table, as fabricctl publishes it; 0 is no epoch. */
#define FX_EPOCH(name, type, entries)					\
	struct fx_epoch_##name {					\
		__u64 epoch;						\
		type value[entries];					\
	}

#ifndef FX_OWN_MEMORY

/*
 * One pointer to a table that nobody writes any more: whoever reads it keeps
 * it (RCU) until the program ends.
 */
#define FX_MAP_snapshot(name, of, entries)				\
	FX_EPOCH(name, of, entries);					\
	struct fx_table_##name {					\
		__uint(type, BPF_MAP_TYPE_ARRAY);			\
		__uint(max_entries, 1);					\
		__uint(map_flags, BPF_F_RDONLY_PROG);			\
		__type(key, __u32);					\
		/* clang leaves out of BTF what only a pointer names */	\
		__type(value, struct { struct fx_epoch_##name table; });	\
	};								\
	struct {							\
		__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);		\
		__uint(max_entries, 1);					\
		__type(key, __u32);					\
		__array(values, struct fx_table_##name);		\
	} name FX_MAP_TAG("snapshot")

/*
 * The newest epoch, or NULL before there is one. Ask once per decision and
 * hand it on: asked twice, it may be two.
 */
#define fx_snap(map)							\
({									\
	__u32 fx_zero = 0;						\
	void *fx_table = bpf_map_lookup_elem(map, &fx_zero);		\
									\
	if (fx_table)							\
		fx_table = bpf_map_lookup_elem(fx_table, &fx_zero);	\
	(const typeof((map)->values[0]->value->table) *)fx_table;	\
})

#elif defined(FX_NO_AGENT)

#define FX_MAP_UNREACHED(name, class)					\
	FX_MAP_CANNOT(0, name, "of class '" class "' cannot be on the device '" \
		      FX_OWN_MEMORY "', whose memory no agent reaches; the nearest class that works is 'local'")

#define FX_MAP_snapshot(name, of, entries)	FX_MAP_UNREACHED(name, "snapshot")

#else

#define FX_MAP_snapshot(name, of, entries)				\
	FX_EPOCH(name, of, entries);					\
	FX_MAP_OF("snapshot", BPF_MAP_TYPE_ARRAY, name,			\
		  struct fx_epoch_##name, 1)

/*
 * An entry that is not there is what has no epoch: librte_bpf takes a pointer
 * for one only where a helper gave it, and not a 0 in its place.
 */
#define fx_snap(map)							\
({									\
	const typeof(*(map)->value) *fx_table = fx_map_entry(map, 0);	\
									\
	(const typeof(*(map)->value) *)					\
	fx_map_entry(map, fx_table && fx_table->epoch ? 0 : 1);		\
})

#endif

/*
 * The verifier knows a bound of the register that was compared, which need not
 * be the one that the compiler then uses: so compare where it cannot choose.
 * librte_bpf does not draw from an unsigned bound that there is a signed one,
 * and asks for both: so a mask, which gives both, and nothing more to compare
 * when it is the bound.
 */
#ifndef __bpf__
#define fx_clamp(n, most)	((void)0)
#elif defined(FX_FOR_DPU)
#define fx_clamp(n, most)						\
({									\
	asm volatile("%0 &= %1" : "+r"(n) : "i"(FX_ONES(most)));	\
	if (FX_ONES(most) != (most))					\
		asm volatile("if %0 > %1 goto +1\n"			\
			     "if %0 s<= %1 goto +1\n%0 = 0"		\
			     : "+r"(n) : "i"(most));			\
})
#else
#define fx_clamp(n, most)						\
	asm volatile("if %0 <= %1 goto +1\n%0 = 0" : "+r"(n) : "i"(most))
#endif

/* The least 2^k - 1 that is @n or more: a mask that leaves 0 to @n alone. */
#define FX_ONES(n)	((n) ? (~0ULL >> __builtin_clzll((n) | !(n))) : 0)

/* A pointer to const to entry @i of what fx_snap() gave, or NULL. */
#define fx_snap_at(snap, i)						\
({									\
	const __u64 fx_n = sizeof((snap)->value) / sizeof((snap)->value[0]); \
	typeof(&(snap)->value[0]) fx_entry = 0;				\
	__u64 fx_nth = (i);						\
									\
	if (fx_nth < fx_n) {						\
		fx_clamp(fx_nth, sizeof((snap)->value) /		\
				 sizeof((snap)->value[0]) - 1);		\
		fx_entry = &(snap)->value[fx_nth];			\
	}								\
	fx_entry;							\
})

/* ---- bounded: two registers per entry, each with one kind of writer ---- */

/*
 * Row i of @entries is what was put here, row @entries + i what the agent
 * brought from other memories; the newer one counts. The last row's stamp says
 * up to when the agent has brought everything.
 */
#ifndef FX_OWN_MEMORY
#define FX_ROW_LOCK		struct bpf_spin_lock
#define FX_BOUNDED_MAX		FX_MAP_BOUNDED_MAX
#define FX_BOUNDED_TEXT		"of class 'bounded' holds values of at most 64 bytes; use 'snapshot'"
#define fx_row_lock(row)	bpf_spin_lock(&(row)->lock)
#define fx_row_unlock(row)	bpf_spin_unlock(&(row)->lock)
#else
/* a word is stored whole, and there is no lock to store more */
#define FX_ROW_LOCK		__u32
#define FX_BOUNDED_MAX		8
#define FX_BOUNDED_TEXT		"of class 'bounded' holds values of at most 8 bytes on the device '" \
				FX_OWN_MEMORY "', which stores no more in one piece; use 'snapshot'"
#define fx_row_lock(row)	asm volatile("" : : : "memory")
#define fx_row_unlock(row)	asm volatile("" : : : "memory")
#endif

#ifdef FX_NO_AGENT
#define FX_MAP_bounded(name, type, entries, ms)	FX_MAP_UNREACHED(name, "bounded")
#else
#define FX_MAP_bounded(name, type, entries, ms)				\
	FX_MAP_CANNOT(sizeof(type) <= FX_BOUNDED_MAX, name, FX_BOUNDED_TEXT); \
	FX_MAP_CANNOT((ms) >= FX_MAP_MS_MIN && (ms) <= FX_MAP_MS_MAX, name, \
		      "of class 'bounded' has a bound of 10 to 3600000 ms"); \
	struct fx_row_##name {						\
		FX_ROW_LOCK lock;					\
		__u32 writer;						\
		type value __attribute__((aligned(8)));			\
		__u64 stamp;						\
		char fx_ms[0][ms];					\
	};								\
	FX_MAP_OF("bounded", BPF_MAP_TYPE_ARRAY, name, struct fx_row_##name, \
		  2 * (entries) + 1)
#endif

#define fx_bounded_rows(map)	((sizeof(*(map)->max_entries) / sizeof(int) - 1) / 2)
#define fx_bounded_ns(map)	(sizeof((map)->value->fx_ms[0]) * 1000000ULL)

/* A copy of a row: the stamp before the value, see map-classes.rst. */
#define fx_row_read(row, out)						\
({									\
	__u64 fx_at_ns;							\
									\
	fx_row_lock(row);						\
	fx_at_ns = (row)->stamp;					\
	asm volatile("" : : : "memory");				\
	*(out) = (row)->value;						\
	fx_row_unlock(row);						\
	fx_at_ns;							\
})

/*
 * Copy entry @i to *@out. True when no write of a device is missing in it that
 * is older than the map's ms; else *@out is not to be used.
 */
#define fx_get(map, i, out)						\
({									\
	__u32 fx_entries = fx_bounded_rows(map), fx_i = (i);		\
	typeof((map)->value) fx_here = 0, fx_there = 0, fx_sync;	\
	typeof((map)->value->value) fx_far;				\
	_Bool fx_fresh = 0;						\
	__u64 fx_synced, fx_mine;					\
									\
	fx_sync = fx_map_entry(map, 2 * fx_entries);			\
	if (fx_i < fx_entries) {					\
		fx_here = fx_map_entry(map, fx_i);			\
		fx_there = fx_map_entry(map, fx_entries + fx_i);	\
	}								\
	if (fx_sync && fx_here && fx_there) {				\
		fx_synced = *(volatile __u64 *)&fx_sync->stamp;		\
		fx_mine = fx_row_read(fx_here, out);			\
		if (fx_row_read(fx_there, &fx_far) > fx_mine)		\
			*(out) = fx_far;				\
		/* two who read one clock may differ a little */	\
		fx_fresh = fx_synced == FX_MAP_SYNCED_ALWAYS ||		\
			   (__s64)(fx_now() - fx_synced) <= (__s64)fx_bounded_ns(map); \
	}								\
	fx_fresh;							\
})

/* Write entry @i from *@in. */
#define fx_put(map, i, in)						\
({									\
	__u32 fx_entries = fx_bounded_rows(map), fx_i = (i);		\
	typeof((map)->value) fx_here = 0;				\
	__u64 fx_when = fx_now();					\
									\
	if (fx_i < fx_entries)						\
		fx_here = fx_map_entry(map, fx_i);			\
	if (fx_here) {							\
		fx_row_lock(fx_here);					\
		/* who came first to the clock may come last to the lock */ \
		if (fx_when >= fx_here->stamp) {			\
			fx_here->value = *(in);				\
			asm volatile("" : : : "memory");		\
			fx_here->stamp = fx_when;			\
		}							\
		fx_row_unlock(fx_here);					\
	}								\
})

/* ---- coherent: one word that all see change in one order ---- */

struct fx_word {
	__u64 word;
};

#ifndef FX_OWN_MEMORY

#define FX_MAP_coherent(name, type, entries)				\
	FX_MAP_CANNOT(__builtin_types_compatible_p(type, __u64), name,	\
		      "of class 'coherent' holds __u64 and nothing else; values of up to 64 bytes go into 'bounded'"); \
	FX_MAP_OF("coherent", BPF_MAP_TYPE_ARRAY, name, struct fx_word, entries)

/*
 * All of these fetch, and what fetches is fully ordered in eBPF: what was
 * written before a store is seen by who loads what was stored. An entry that
 * is not there reads as 0 and takes no writes.
 */
#define fx_atomic(map, i, op, ...)					\
({									\
	struct fx_word *fx_home = fx_map_entry(map, i);			\
	__u64 fx_before = 0;						\
									\
	if (fx_home)							\
		fx_before = op(&fx_home->word, ##__VA_ARGS__);		\
	/* an unused result would make it one that does not fetch */	\
	asm volatile("" : : "r"(fx_before) : "memory");			\
	fx_before;							\
})

#define fx_load(map, i)		fx_atomic(map, i, __sync_fetch_and_or, 0ULL)
#define fx_store(map, i, new)	((void)fx_xchg(map, i, new))

/* These return what was there before. */
#define fx_add(map, i, by)	fx_atomic(map, i, __sync_fetch_and_add, (__u64)(by))
#define fx_xchg(map, i, new)	fx_atomic(map, i, __sync_lock_test_and_set, (__u64)(new))
#define fx_cmpxchg(map, i, old, new)					\
	fx_atomic(map, i, __sync_val_compare_and_swap, (__u64)(old), (__u64)(new))

#else

#define FX_MAP_coherent(name, type, entries)				\
	FX_MAP_CANNOT(0, name, "of class 'coherent' cannot be on the device '" \
		      FX_OWN_MEMORY "', which shares no coherent memory with the others; the nearest class that works is '" \
		      FX_NEAR_COHERENT "'")
#ifdef FX_NO_AGENT
#define FX_NEAR_COHERENT	"local"
#else
#define FX_NEAR_COHERENT	"bounded"
#endif

#endif

#endif
