// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Litmus tests of the map classes: one program per executor, which does what
 * it is asked to and says what it saw. Each question has a twin that goes
 * about it without the class: the test has to catch that one.
 */
#include <fabric_ext/portable.bpf.h>

#include "litmus.h"

struct wide {
	__u64 word[8];
};

FX_MAP(coherent, words, __u64, 4);
FX_MAP(counter, counts, __u64, 1);
FX_MAP(snapshot, table, __u64, LITMUS_TABLE);
FX_MAP(bounded, latest, struct wide, 1, 1000);

/* the same without a class */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 4);
	__type(key, __u32);
	__type(value, struct wide);
} plain SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct { __u64 word[LITMUS_TABLE]; });
} plain_table SEC(".maps");

/* So long that on two CPUs it meets somebody else. */
static __always_inline void dawdle(void)
{
	for (int i = 0; i < 64; i++)
		bpf_ktime_get_ns();
}

static __always_inline void add_plainly(volatile __u64 *at)
{
	__u64 n;

	if (!at)
		return;
	n = *at;
	dawdle();
	*at = n + 1;
}

static __always_inline void read_table(struct litmus *l)
{
	const struct fx_epoch_table *t = fx_snap(&table);

	if (!t)
		return;
	l->seen = t->epoch;
	l->bad += t->value[0] != t->epoch || t->value[LITMUS_TABLE / 2] != t->epoch ||
		  t->value[LITMUS_TABLE - 1] != t->epoch;
}

static __always_inline void read_table_plainly(struct litmus *l)
{
	volatile __u64 *word;
	__u32 zero = 0;

	word = bpf_map_lookup_elem(&plain_table, &zero);
	if (!word)
		return;
	l->seen = word[0];
	l->bad += word[LITMUS_TABLE / 2] != l->seen || word[LITMUS_TABLE - 1] != l->seen;
}

static __always_inline void check_wide(struct litmus *l, const struct wide *w)
{
	for (int i = 1; i < 8; i++)
		l->bad += w->word[i] != w->word[0];
	l->seen = w->word[0];
}

static __always_inline void get_plainly(struct litmus *l)
{
	__u32 key = 1;
	volatile __u64 *word = bpf_map_lookup_elem(&plain, &key);
	struct wide w;

	if (!word)
		return;
	for (int i = 0; i < 8; i++)
		w.word[i] = word[i];
	check_wide(l, &w);
}

static __always_inline void put_plainly(struct litmus *l)
{
	__u32 key = 1;
	volatile __u64 *word = bpf_map_lookup_elem(&plain, &key);

	if (!word)
		return;
	for (int i = 0; i < 8; i++) {
		word[i] = l->arg;
		if (i == 3)
			dawdle();
	}
}

static __always_inline void litmus(struct litmus *l)
{
	struct wide w;
	__u32 zero = 0;
	__u64 flag;

	switch (l->op) {
	case LITMUS_ADD:
		fx_add(&words, 0, 1);
		break;
	case LITMUS_ADD_PLAIN:
		add_plainly(bpf_map_lookup_elem(&plain, &zero));
		break;
	case LITMUS_COUNT:
		fx_count(&counts, 0, 1);
		break;
	case LITMUS_SEND:	/* data, then the flag */
		fx_store(&words, 1, l->arg);
		fx_store(&words, 2, l->arg);
		break;
	case LITMUS_SEND_PLAIN:	/* as if nothing were ordered */
		fx_store(&words, 2, l->arg);
		dawdle();
		fx_store(&words, 1, l->arg);
		break;
	case LITMUS_RECEIVE:
		flag = fx_load(&words, 2);
		l->seen = fx_load(&words, 1);
		l->bad += l->seen < flag;
		break;
	case LITMUS_TABLE_READ:
		read_table(l);
		break;
	case LITMUS_TABLE_READ_PLAIN:
		read_table_plainly(l);
		break;
	case LITMUS_PUT:
		for (int i = 0; i < 8; i++)
			w.word[i] = l->arg;
		fx_put(&latest, 0, &w);
		break;
	case LITMUS_GET:
		if (fx_get(&latest, 0, &w))
			check_wide(l, &w);
		else
			l->bad++;
		break;
	case LITMUS_PUT_PLAIN:
		put_plainly(l);
		break;
	case LITMUS_GET_PLAIN:
		get_plainly(l);
		break;
	}
}

#if defined(LITMUS_XDP) || defined(LITMUS_TC)

#define LITMUS_PACKET(ctx, pass)					\
({									\
	void *data = (void *)(long)(ctx)->data;				\
	void *end = (void *)(long)(ctx)->data_end;			\
	struct litmus *l = data + LITMUS_AT;				\
									\
	if ((void *)(l + 1) <= end)					\
		litmus(l);						\
	pass;								\
})

#ifdef LITMUS_XDP
SEC("xdp") int litmus_run(struct xdp_md *ctx)
{
	return LITMUS_PACKET(ctx, XDP_PASS);
}
#else
SEC("tc") int litmus_run(struct __sk_buff *ctx)
{
	return LITMUS_PACKET(ctx, 0);
}
#endif

#else

SEC("syscall") int litmus_run(struct litmus *l)
{
	litmus(l);
	return 0;
}

#endif

char LICENSE[] SEC("license") = "Dual BSD/GPL";
