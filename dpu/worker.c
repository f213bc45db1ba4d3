// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Packets: received, judged, sent on. What arrives at the first port comes
 * from the wire (FX_DIR_IN), what arrives at the second goes to it (FX_DIR_OUT);
 * each port sends what the other received. With one port packets are counted
 * and end here.
 */
#include <rte_cycles.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>
#include <rte_rcu_qsbr.h>

#include "context.h"
#include "dpu.h"

#define BURST		32
#define SEND_TRIES	64
#define IDLE_POLLS	1000	/* then it sleeps between them */
#define IDLE_US		50

struct burst {
	struct fx_dpu_state *dpu;
	struct fx_dpu_loaded *l;
	struct fx_dpu_shard *s;
	u32 dir;
};

/* Only this worker writes, others read: whole, in any order. */
static void count(__u64 *at, u64 n)
{
	__atomic_store_n(at, *at + n, __ATOMIC_RELAXED);
}

/* The headers of a packet in several pieces are copied together once. */
static int parse(struct rte_mbuf *m, struct fx_packet *p, struct fx_flow_key *key)
{
	const u16 vlan = m->ol_flags & RTE_MBUF_F_RX_VLAN_STRIPPED ?
			 m->vlan_tci & 0xfff : FX_VLAN_NONE;
	u8 head[FX_MAX_HEAD];
	u32 size;
	int rc;

	*key = (struct fx_flow_key){ .vlan = vlan };
	*p = (struct fx_packet){ .data = rte_pktmbuf_mtod(m, void *), .len = m->pkt_len };
	p->end = (char *)p->data + m->data_len;
	rc = fx_parse(p, key);
	if (rc != FX_PKT_SHORT || m->nb_segs == 1)
		return rc;
	size = m->pkt_len < sizeof(head) ? m->pkt_len : sizeof(head);
	*key = (struct fx_flow_key){ .vlan = vlan };
	*p = (struct fx_packet){ .data = head, .end = head + size, .len = m->pkt_len };
	for (u32 at = 0; m && at < size; m = m->next) {
		u32 n = m->data_len < size - at ? m->data_len : size - at;

		memcpy(head + at, rte_pktmbuf_mtod(m, void *), n);
		at += n;
	}
	return fx_parse(p, key);
}

/*
 * Who puts a value into a bounded map compares stamps first and stores two
 * words: two at once could leave the older value, or one under the other's
 * stamp. Taking turns makes one order of all that they put.
 */
static void run(const struct burst *b, struct fx_dpu_context *ctx)
{
	if (b->l->in_turn)
		pthread_mutex_lock(&b->dpu->turn);
	fx_dpu_run(&b->l->prog, ctx);
	if (b->l->in_turn)
		pthread_mutex_unlock(&b->dpu->turn);
}

/* Ask the program about a packet of row @i; does it pass? */
static bool ask(const struct burst *b, u32 i, const struct fx_flow_key *key, u64 bytes,
		struct rte_mbuf *m, bool audit)
{
	const struct fx_nic_row *row = &b->l->row[i];
	struct fx_nic_count *c = &b->s->count[i];
	struct fx_dpu_context ctx = {
		.move = {
			.edge = row->edge, .cls = row->cls, .place = b->l->conf.place,
			.device = FX_DEVICE_DPU, .op = FX_OP_MOVE, .bytes = bytes,
			.stated = row->bytes, .priority = row->priority, .dir = b->dir,
			.flow = *key,
		},
	};

	run(b, &ctx);
	if (ctx.verdict.action == FX_DROP) {
		count(&c->refused, 1);
		count(&c->refused_bytes, bytes);
		if (!audit)
			return false;
	} else if (ctx.verdict.action == FX_MARK && !audit) {
		/* where the MARK action of rte_flow puts it */
		m->hash.fdir.hi = ctx.verdict.mark;
		m->ol_flags |= RTE_MBUF_F_RX_FDIR | RTE_MBUF_F_RX_FDIR_ID;
		count(&c->marked, 1);
	}
	count(&c->packets, 1);
	count(&c->bytes, bytes);
	return true;
}

/* As fx_judge() does on a network device. */
static bool passes(const struct burst *b, struct rte_mbuf *m, u32 flags)
{
	struct fx_nic_total *t = &b->s->total[b->dir];
	const bool audit = flags & FX_NIC_F_AUDIT;
	struct fx_flow_key key;
	struct fx_packet p;
	u32 row = FX_DPU_NO_ROW;
	int parsed;

	count(&t->packets, 1);
	parsed = parse(m, &p, &key);
	if (parsed == FX_PKT_MALFORMED || parsed == FX_PKT_SHORT) {
		count(&t->malformed, 1);
		if (!b->l->img.a->malformed)
			return true;
		count(&t->malformed_refused, 1);
		return audit;
	}
	if (parsed == FX_PKT_FLOW)
		row = fx_dpu_flows_find(&b->l->flows, b->dir, &key);
	if (row == FX_DPU_NO_ROW) {
		count(&t->no_edge, 1);
		return true;
	}
	return ask(b, row, &key, p.bytes, m, audit);
}

/* Those of a burst that pass, in order; how many. */
static u32 judge(const struct fx_dpu_worker *w, struct fx_dpu_loaded *l, u32 dir,
		 struct rte_mbuf **m, u32 n)
{
	const u32 flags = __atomic_load_n(&l->conf.flags, __ATOMIC_RELAXED);
	const struct burst b = {
		.dpu = w->dpu, .l = l, .s = &l->shard[w->number], .dir = dir,
	};
	u32 kept = 0;

	if (flags & FX_NIC_F_BYPASS)
		return n;
	fx_dpu_view_begin(&l->maps, w->number);
	for (u32 i = 0; i < n; i++) {
		if (passes(&b, m[i], flags))
			m[kept++] = m[i];
		else
			rte_pktmbuf_free(m[i]);
	}
	return kept;
}

static void send_on(struct fx_dpu_traffic *t, u16 port, struct rte_mbuf **m, u32 n)
{
	u32 sent = 0;

	for (u32 i = 0; i < n; i++)
		if (m[i]->ol_flags & RTE_MBUF_F_RX_VLAN_STRIPPED)
			m[i]->ol_flags |= RTE_MBUF_F_TX_VLAN;
	for (u32 i = 0; i < SEND_TRIES && sent < n; i++) {
		sent += rte_eth_tx_burst(port, 0, m + sent, n - sent);
		if (sent < n)
			rte_delay_us_sleep(IDLE_US);
	}
	count(&t->sent, sent);
	count(&t->unsent, n - sent);
	rte_pktmbuf_free_bulk(m + sent, n - sent);
}

static u32 poll_port(struct fx_dpu_worker *w, u16 port)
{
	struct fx_dpu_state *dpu = w->dpu;
	struct fx_dpu_loaded *l = __atomic_load_n(&dpu->loaded, __ATOMIC_ACQUIRE);
	struct fx_dpu_traffic *t = &dpu->traffic[w->number];
	struct rte_mbuf *m[BURST];
	u32 n = rte_eth_rx_burst(port, 0, m, BURST), kept = n;

	if (!n)
		return 0;
	count(&t->received, n);
	if (l)
		kept = judge(w, l, port ? FX_DIR_OUT : FX_DIR_IN, m, n);
	if (dpu->ports > 1)
		send_on(t, !port, m, kept);
	else
		rte_pktmbuf_free_bulk(m, kept);
	return n;
}

int fx_dpu_worker_main(void *arg)
{
	struct fx_dpu_worker *w = arg;
	struct fx_dpu_state *dpu = w->dpu;
	u32 idle = 0;

	rte_rcu_qsbr_thread_register(dpu->seen, w->number);
	rte_rcu_qsbr_thread_online(dpu->seen, w->number);
	while (!__atomic_load_n(&dpu->quit, __ATOMIC_RELAXED)) {
		u32 n = 0;

		for (u32 port = w->number; port < dpu->ports; port += dpu->workers)
			n += poll_port(w, port);
		rte_rcu_qsbr_quiescent(dpu->seen, w->number);
		idle = n ? 0 : idle + 1;
		if (idle > IDLE_POLLS)
			rte_delay_us_sleep(IDLE_US);
	}
	rte_rcu_qsbr_thread_offline(dpu->seen, w->number);
	rte_rcu_qsbr_thread_unregister(dpu->seen, w->number);
	return 0;
}

void fx_dpu_add_up(void *sum, const void *one, size_t size)
{
	const u64 *o = one;
	u64 *s = sum;

	for (size_t i = 0; i < size / sizeof(*s); i++)
		s[i] += __atomic_load_n(&o[i], __ATOMIC_RELAXED);
}

void fx_dpu_sum_row(const struct fx_dpu_loaded *l, u32 row, struct fx_nic_count *sum)
{
	*sum = l->before.count[row];
	for (u32 i = 0; i < l->workers; i++)
		fx_dpu_add_up(sum, &l->shard[i].count[row], sizeof(*sum));
}

void fx_dpu_sum_total(const struct fx_dpu_loaded *l, u32 dir, struct fx_nic_total *sum)
{
	*sum = l->before.total[dir];
	for (u32 i = 0; i < l->workers; i++)
		fx_dpu_add_up(sum, &l->shard[i].total[dir], sizeof(*sum));
}
