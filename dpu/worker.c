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
#include "packet.h"
#include "qps.h"

#define BURST		32
#define SEND_TRIES	64
#define IDLE_POLLS	1000	/* then it sleeps between them */
#define IDLE_US		50

struct burst {
	struct fx_dpu_state *dpu;
	struct fx_dpu_loaded *l;
	struct fx_dpu_shard *s;
	struct fx_dpu_qps *qps;		/* locked; NULL: no flow asks for a queue pair */
	u64 now;			/* ns */
	u32 dir;
	bool audit;
};

u64 fx_dpu_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ULL + t.tv_nsec;
}

/* Only this worker writes, others read: whole, in any order. */
static void count(__u64 *at, u64 n)
{
	__atomic_store_n(at, *at + n, __ATOMIC_RELAXED);
}

/* What a queue pair's packet is more than any other; its state, or NULL. */
static struct fx_qp *read_message(const struct burst *b, u32 row, const struct fx_dpu_packet *p,
				  struct fx_move *move)
{
	struct fx_qp_key key = { 0 };
	struct fx_qp *qp;

	move->rdma = p->roce.rdma;
	/* a datagram is sent once, and alone */
	if (p->roce.datagram)
		return NULL;
	fx_qp_key_of(&p->key, &p->roce, b->dir, &key);
	qp = fx_dpu_qps_find(b->qps, &key, b->now, b->l->bound[row]);
	if (!qp)
		count(&b->s->total[b->dir].untracked, 1);
	else if (fx_qp_begin(qp, &p->roce, b->now, &move->rdma))
		move->bytes = 0;
	return qp;
}

/*
 * Count a verdict, and carry it out; does the packet pass? As fx_account() on a
 * network device: a packet of a queue pair counts once as passed and once as
 * refused, and all further times as repeated.
 */
static bool account(const struct burst *b, struct fx_nic_count *c, const struct fx_dpu_packet *p,
		    u64 bytes, struct fx_qp *qp, bool dropped)
{
	const u32 psn = p->roce.rdma.psn;
	bool again = false;

	if (dropped) {
		again = qp && fx_qp_note(qp, psn, true);
		if (!again) {
			count(&c->refused, 1);
			count(&c->refused_bytes, bytes);
		}
		if (!b->audit) {
			count(&c->repeated, again);
			return false;
		}
	}
	if (qp && fx_qp_note(qp, psn, false)) {
		again = true;
	} else {
		count(&c->packets, 1);
		count(&c->bytes, bytes);
	}
	count(&c->repeated, again);
	return true;
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
static bool ask(const struct burst *b, u32 i, const struct fx_dpu_packet *p, struct rte_mbuf *m)
{
	const struct fx_nic_row *row = &b->l->row[i];
	const u64 bytes = row->roce ? p->roce.bytes : p->bytes;
	struct fx_nic_count *c = &b->s->count[i];
	struct fx_dpu_context ctx = {
		.move = {
			.edge = row->edge, .cls = row->cls, .place = b->l->conf.place,
			.device = FX_DEVICE_DPU, .op = FX_OP_MOVE, .bytes = bytes,
			.stated = row->bytes, .priority = row->priority, .dir = b->dir,
			.flow = p->key,
		},
	};
	struct fx_qp *qp = row->roce ? read_message(b, i, p, &ctx.move) : NULL;

	run(b, &ctx);
	if (!account(b, c, p, bytes, qp, ctx.verdict.action == FX_DROP))
		return false;
	if (ctx.verdict.action == FX_MARK && !b->audit) {
		/* where the MARK action of rte_flow puts it */
		m->hash.fdir.hi = ctx.verdict.mark;
		m->ol_flags |= RTE_MBUF_F_RX_FDIR | RTE_MBUF_F_RX_FDIR_ID;
		count(&c->marked, 1);
	}
	return true;
}

/* As fx_judge() does on a network device. */
static bool passes(const struct burst *b, struct rte_mbuf *m)
{
	struct fx_nic_total *t = &b->s->total[b->dir];
	struct fx_dpu_packet p;
	u32 row = FX_DPU_NO_ROW;
	int parsed;

	count(&t->packets, 1);
	parsed = fx_dpu_packet_read(m, b->qps, &p);
	if (parsed == FX_PKT_MALFORMED || parsed == FX_PKT_SHORT) {
		count(&t->malformed, 1);
		if (!b->l->img.a->malformed)
			return true;
		count(&t->malformed_refused, 1);
		return b->audit;
	}
	if (parsed == FX_PKT_FLOW)
		row = fx_dpu_flows_find(&b->l->flows, b->dir, &p.key);
	if (row == FX_DPU_NO_ROW) {
		count(&t->no_edge, 1);
		return true;
	}
	return ask(b, row, &p, m);
}

/* Those of a burst that pass, in order; how many. */
static u32 judge(const struct fx_dpu_worker *w, struct fx_dpu_loaded *l, u32 dir,
		 struct rte_mbuf **m, u32 n)
{
	const u32 flags = __atomic_load_n(&l->conf.flags, __ATOMIC_RELAXED);
	struct burst b = {
		.dpu = w->dpu, .l = l, .s = &l->shard[w->number], .qps = l->qps[dir],
		.dir = dir, .audit = flags & FX_NIC_F_AUDIT,
	};
	u32 kept = 0;

	if (flags & FX_NIC_F_BYPASS)
		return n;
	fx_dpu_view_begin(&l->maps, w->number);
	if (b.qps) {
		fx_dpu_qps_lock(b.qps);
		/* with the lock: not before what was bound */
		b.now = fx_dpu_now();
	}
	for (u32 i = 0; i < n; i++) {
		if (passes(&b, m[i]))
			m[kept++] = m[i];
		else
			rte_pktmbuf_free(m[i]);
	}
	if (b.qps)
		fx_dpu_qps_unlock(b.qps);
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
