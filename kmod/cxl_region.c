// SPDX-License-Identifier: GPL-2.0-only
/*
 * What a CXL region tells of itself.
 *
 * The headers of drivers/cxl are private, but its sysfs attributes are ABI:
 * a region's device type carries them, and showing one takes the subsystem's
 * own locks. So the range of a region is read the way user space reads it.
 */
#include <linux/cleanup.h>
#include <linux/device.h>
#include <linux/device/bus.h>
#include <linux/errno.h>
#include <linux/gfp.h>
#include <linux/kstrtox.h>
#include <linux/limits.h>
#include <linux/memory_hotplug.h>
#include <linux/string.h>
#include "compat.h"
#include "place.h"

#ifdef FX_HAVE_CXL

FX_IMPORT_NS(CXL);

static struct device_attribute *fx_find_attr(const struct device *dev, const char *name)
{
	const struct attribute_group **grp;
	struct attribute **a;

	if (!dev->type || !dev->type->groups)
		return NULL;
	for (grp = dev->type->groups; *grp; grp++)
		for (a = (*grp)->attrs; a && *a; a++)
			if (!strcmp((*a)->name, name))
				return container_of(*a, struct device_attribute, attr);
	return NULL;
}

/*
 * Value of a region's numeric attribute: 1; 0 if it has none (yet); -EINTR when
 * a signal came while CXL's lock was waited for, which says nothing of either.
 */
static int fx_region_u64(struct device *dev, const char *name, char *page, u64 *out)
{
	struct device_attribute *attr = fx_find_attr(dev, name);
	ssize_t n;

	if (!attr || !attr->show)
		return 0;
	n = attr->show(dev, attr, page);
	if (n == -EINTR || n == -ERESTARTSYS)
		return -EINTR;
	if (n <= 0 || n >= PAGE_SIZE)
		return 0;
	page[n] = '\0';
	return !kstrtou64(strim(page), 0, out);
}

struct fx_region_search {
	const char *name;	/* NULL: any */
	u64 phys;		/* U64_MAX: any */
	int node;		/* NUMA_NO_NODE: any */
	char *page;		/* sysfs_emit() wants a whole one */
	struct fx_region *out;
};

static int fx_region_match(struct device *dev, void *data)
{
	struct fx_region_search *s = data;
	struct fx_region r = {};
	int has;

	if (!strstarts(dev_name(dev), "region") ||
	    (s->name && strcmp(dev_name(dev), s->name)))
		return 0;
	has = fx_region_u64(dev, "resource", s->page, &r.start);
	if (has > 0)
		has = fx_region_u64(dev, "size", s->page, &r.size);
	if (has <= 0)
		return has;
	if (r.start == U64_MAX || !r.size)
		return 0;
	if (s->phys != U64_MAX && (s->phys < r.start || s->phys - r.start >= r.size))
		return 0;
	if (s->node != NUMA_NO_NODE && phys_to_target_node(r.start) != s->node)
		return 0;
	strscpy(r.name, dev_name(dev), sizeof(r.name));
	*s->out = r;
	return 1;
}

static int fx_region_find(struct fx_region_search *s)
{
	int found;

	s->page = (char *)__get_free_page(GFP_KERNEL);
	if (!s->page)
		return -ENOMEM;
	found = bus_for_each_dev(&cxl_bus_type, NULL, s, fx_region_match);
	free_page((unsigned long)s->page);
	return found;
}

/**
 * fx_cxl_region_by_name() - find a region that has an address range
 * @name: as in sysfs, "region0"
 * @out: filled in when it is found
 *
 * Context: may sleep; takes the CXL region lock for reading.
 * Return: 1; 0 if there is none; -EINTR or -ENOMEM when that is not known.
 */
int fx_cxl_region_by_name(const char *name, struct fx_region *out)
{
	struct fx_region_search s = {
		.name = name, .phys = U64_MAX, .node = NUMA_NO_NODE, .out = out,
	};

	return fx_region_find(&s);
}

/**
 * fx_cxl_region_by_phys() - find the region that covers an address
 * @phys: physical address
 * @out: filled in when it is found
 *
 * Context: may sleep; takes the CXL region lock for reading.
 * Return: 1; 0 if there is none; -EINTR or -ENOMEM when that is not known.
 */
int fx_cxl_region_by_phys(u64 phys, struct fx_region *out)
{
	struct fx_region_search s = { .phys = phys, .node = NUMA_NO_NODE, .out = out };

	return fx_region_find(&s);
}

/**
 * fx_cxl_region_by_node() - find a region whose memory is a node
 * @node: memory node, which need not be online
 * @out: filled in when it is found
 *
 * Context: may sleep; takes the CXL region lock for reading.
 * Return: 1; 0 if there is none; -EINTR or -ENOMEM when that is not known.
 */
int fx_cxl_region_by_node(int node, struct fx_region *out)
{
	struct fx_region_search s = { .phys = U64_MAX, .node = node, .out = out };

	return fx_region_find(&s);
}

#else /* a kernel without CXL has no regions */

int fx_cxl_region_by_name(const char *name, struct fx_region *out)
{
	return 0;
}

int fx_cxl_region_by_phys(u64 phys, struct fx_region *out)
{
	return 0;
}

int fx_cxl_region_by_node(int node, struct fx_region *out)
{
	return 0;
}

#endif
