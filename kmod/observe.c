// SPDX-License-Identifier: GPL-2.0-only
/*
 * Events: a ring per graph. A writer never waits for a reader; a reader that
 * is too slow finds records gone and counted, never half a record.
 */
#include <linux/cleanup.h>
#include <linux/irq_work.h>
#include <linux/ktime.h>
#include <linux/mutex.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>
#include "graph.h"
#include "observe.h"
#define CREATE_TRACE_POINTS
#include "trace.h"

/**
 * struct fx_ring - the last FX_RING_SLOTS events of a graph
 * @lock: writers and readers, held for the copy of one record; irq-safe
 * @head: sequence number of the next event
 * @lost: overwritten before the multicast reader took them
 * @taken: first event that the multicast reader has not taken
 * @slot: event n is in slot n modulo FX_RING_SLOTS
 */
struct fx_ring {
	raw_spinlock_t lock;
	u64 head;
	u64 lost;
	u64 taken;
	struct fx_event slot[FX_RING_SLOTS];
};

static DEFINE_MUTEX(fx_deliver_lock);			/* fx_deliver */
static void (*fx_deliver)(struct fx_graph *g);
static struct workqueue_struct *fx_deliver_wq;
static struct irq_work fx_deliver_kick;

static void fx_deliver_all(struct work_struct *work)
{
	struct fx_graph *g = NULL;

	guard(mutex)(&fx_deliver_lock);
	if (!fx_deliver)
		return;
	while ((g = fx_graph_next(g)))
		fx_deliver(g);
}

static DECLARE_WORK(fx_deliver_work, fx_deliver_all);

/* A hook may stand under a scheduler or timer lock: queue from an interrupt. */
static void fx_deliver_irq(struct irq_work *work)
{
	queue_work(fx_deliver_wq, &fx_deliver_work);
}

/**
 * fx_ring_new() - make an empty ring
 *
 * Return: the ring, charged to the caller's memory cgroup, or NULL.
 */
struct fx_ring *fx_ring_new(void)
{
	struct fx_ring *ring = kvzalloc(sizeof(*ring), GFP_KERNEL_ACCOUNT);

	if (ring)
		raw_spin_lock_init(&ring->lock);
	return ring;
}

/**
 * fx_ring_free() - the opposite of fx_ring_new()
 * @ring: ring that nobody writes or reads any more
 */
void fx_ring_free(struct fx_ring *ring)
{
	kvfree(ring);
}

/**
 * fx_emit() - record an event and have it sent to the multicast group
 * @g: its graph
 * @ev: the event; seq and ns are filled in here, and pid with the current
 *	process unless it is set
 *
 * Context: any but NMI, where no hooked function runs.
 */
void fx_emit(struct fx_graph *g, struct fx_event *ev)
{
	struct fx_ring *ring = g->ring;
	unsigned long flags;

	ev->ns = ktime_get_mono_fast_ns();
	if (!ev->pid)
		ev->pid = task_tgid_nr(current);
	raw_spin_lock_irqsave(&ring->lock, flags);
	ev->seq = ring->head++;
	if (ev->seq - ring->taken >= FX_RING_SLOTS) {
		ring->taken++;
		ring->lost++;
	}
	ring->slot[ev->seq % FX_RING_SLOTS] = *ev;
	raw_spin_unlock_irqrestore(&ring->lock, flags);

	trace_fabric_ext_event(g->image.name, ev);
	irq_work_queue(&fx_deliver_kick);
}

/**
 * fx_ring_read() - copy events out
 * @ring: ring
 * @pos: in: the first event wanted; out: the one after the last copied. NULL
 *	for the one multicast reader, whose place the ring keeps
 * @out: room for @n events
 * @n: events
 *
 * Events older than the ring are skipped: the reader sees it in the sequence
 * numbers, and for the multicast reader the ring counts them as lost.
 *
 * Context: process.
 * Return: how many were copied.
 */
u32 fx_ring_read(struct fx_ring *ring, u64 *pos, struct fx_event *out, u32 n)
{
	u64 *next = pos ?: &ring->taken;
	u32 got = 0;

	while (got < n) {
		raw_spin_lock_irq(&ring->lock);
		if (ring->head - *next > FX_RING_SLOTS)
			*next = ring->head - FX_RING_SLOTS;
		if (*next == ring->head) {
			raw_spin_unlock_irq(&ring->lock);
			break;
		}
		out[got++] = ring->slot[(*next)++ % FX_RING_SLOTS];
		raw_spin_unlock_irq(&ring->lock);
	}
	return got;
}

/**
 * fx_ring_totals() - how many events there were
 * @ring: ring
 * @emitted: out: all of them
 * @lost: out: those that the multicast reader did not get
 */
void fx_ring_totals(struct fx_ring *ring, u64 *emitted, u64 *lost)
{
	raw_spin_lock_irq(&ring->lock);
	*emitted = ring->head;
	*lost = ring->lost;
	raw_spin_unlock_irq(&ring->lock);
}

/**
 * fx_observe_flush() - wait until what was emitted so far is delivered
 *
 * Context: may sleep; bounded by the rings' size.
 */
void fx_observe_flush(void)
{
	irq_work_sync(&fx_deliver_kick);
	flush_work(&fx_deliver_work);
}

/**
 * fx_observe_to() - say who delivers
 * @deliver: sends what one graph's ring has, may sleep; NULL: nobody does
 *
 * Context: may sleep; when it returns, the one before does not run any more.
 */
void fx_observe_to(void (*deliver)(struct fx_graph *g))
{
	guard(mutex)(&fx_deliver_lock);
	fx_deliver = deliver;
}

/**
 * fx_observe_init() - be ready for events
 *
 * Return: 0 or -ENOMEM.
 */
int fx_observe_init(void)
{
	init_irq_work(&fx_deliver_kick, fx_deliver_irq);
	fx_deliver_wq = alloc_ordered_workqueue("fabric_ext_events", 0);
	return fx_deliver_wq ? 0 : -ENOMEM;
}

/**
 * fx_observe_exit() - the opposite of fx_observe_init()
 *
 * Context: may sleep; nobody emits any more.
 */
void fx_observe_exit(void)
{
	irq_work_sync(&fx_deliver_kick);
	destroy_workqueue(fx_deliver_wq);
}
