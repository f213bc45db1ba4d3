// SPDX-License-Identifier: GPL-2.0-only
/*
 * Pages of the engine cannot be migrated: they are on no LRU list and have no
 * mapping. offline_pages() would skip them and try again until a signal comes,
 * so a memory block that holds some is kept from going offline at the one
 * moment where the kernel asks.
 *
 * That moment and an allocation race:
 *
 *	offline_pages()			fx_node_hold()
 *	isolates the free pages
 *					has a page from before that
 *	MEM_GOING_OFFLINE: looks
 *					counts its page
 *
 * Both sides take fx_held's lock. Either the notifier sees the count and
 * refuses, or the allocation sees the range that is going and gives the page
 * back; as the free pages are isolated, its next page comes from elsewhere.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/memory.h>
#include <linux/mm.h>
#include <linux/nodemask.h>
#include <linux/notifier.h>
#include <linux/pfn.h>
#include <linux/printk.h>
#include <linux/xarray.h>

#include "node.h"

/*
 * Pages per memory section, as xarray values. An entry that was used once
 * stays, so that a count never needs memory: 8 bytes for each 128 MiB.
 */
static DEFINE_XARRAY(fx_held);

/* Pages that are going offline now, under fx_held's lock; hotplug is serial. */
static unsigned long fx_going_first, fx_going_count;

static unsigned long fx_held_in(unsigned long section)
{
	void *entry = xa_load(&fx_held, section);

	return entry ? xa_to_value(entry) : 0;
}

static void fx_held_set(unsigned long section, unsigned long pages)
{
	/* the slot was reserved, hence no allocation and no failure */
	__xa_store(&fx_held, section, xa_mk_value(pages), GFP_NOWAIT);
}

/**
 * fx_node_usable() - can pages be allocated on a memory node?
 * @node: memory node, unchecked
 *
 * The answer may be outdated when the caller has it; an allocation then fails.
 *
 * Return: true for an online node that has memory.
 */
bool fx_node_usable(int node)
{
	return node >= 0 && node < MAX_NUMNODES && node_state(node, N_MEMORY);
}

/**
 * fx_node_hold() - keep the memory block of a folio online
 * @folio: freshly allocated, not larger than a memory section
 *
 * Context: may sleep.
 * Return: 0; -EBUSY if the block is just going offline, -ENOMEM: the caller
 *	frees the folio, which was not counted.
 */
int fx_node_hold(struct folio *folio)
{
	unsigned long pfn = folio_pfn(folio);
	unsigned long section = pfn_to_section_nr(pfn);
	int err;

	err = xa_reserve(&fx_held, section, GFP_KERNEL);
	if (err)
		return err;

	xa_lock(&fx_held);
	if (pfn - fx_going_first < fx_going_count)
		err = -EBUSY;
	else
		fx_held_set(section,
			    fx_held_in(section) + folio_nr_pages(folio));
	xa_unlock(&fx_held);
	return err;
}

/**
 * fx_node_drop() - forget a folio that fx_node_hold() counted
 * @folio: about to be freed
 *
 * Context: any that may take a spinlock, not interrupts.
 */
void fx_node_drop(struct folio *folio)
{
	unsigned long section = pfn_to_section_nr(folio_pfn(folio));

	xa_lock(&fx_held);
	fx_held_set(section, fx_held_in(section) - folio_nr_pages(folio));
	xa_unlock(&fx_held);
}

/* Returns the pages that keep the range online; if none, the range is going. */
static unsigned long fx_going_offline(unsigned long first, unsigned long count)
{
	unsigned long section, last = pfn_to_section_nr(first + count - 1);
	unsigned long pages = 0;

	xa_lock(&fx_held);
	for (section = pfn_to_section_nr(first); section <= last; section++)
		pages += fx_held_in(section);
	if (!pages) {
		fx_going_first = first;
		fx_going_count = count;
	}
	xa_unlock(&fx_held);
	return pages;
}

static int fx_memory_event(struct notifier_block *nb, unsigned long action,
			   void *data)
{
	struct memory_notify *mem = data;
	unsigned long pages;

	switch (action) {
	case MEM_GOING_OFFLINE:
		pages = fx_going_offline(mem->start_pfn, mem->nr_pages);
		if (!pages)
			break;
		pr_notice_ratelimited("memory at 0x%llx stays online: %lu pages of movement buffers lie there; free their handles and close their dma-bufs\n",
				      (u64)PFN_PHYS(mem->start_pfn), pages);
		return NOTIFY_BAD;
	case MEM_CANCEL_OFFLINE:
	case MEM_OFFLINE:
		xa_lock(&fx_held);
		fx_going_count = 0;
		xa_unlock(&fx_held);
		break;
	}
	return NOTIFY_OK;
}

static struct notifier_block fx_memory_nb = {
	.notifier_call = fx_memory_event,
};

/**
 * fx_node_init() - hear of memory that is going offline
 *
 * Context: module init, before the first buffer is allocated; may sleep.
 * Return: 0 or -errno.
 */
int fx_node_init(void)
{
	return register_memory_notifier(&fx_memory_nb);
}

/**
 * fx_node_exit() - undo fx_node_init()
 *
 * Context: module exit, after the last buffer was freed; may sleep.
 */
void fx_node_exit(void)
{
	unsigned long section;
	void *entry;

	unregister_memory_notifier(&fx_memory_nb);
	xa_for_each(&fx_held, section, entry)
		WARN_ONCE(xa_to_value(entry), "%lu pages left in section %lu\n",
			  xa_to_value(entry), section);
	xa_destroy(&fx_held);
}
