// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "frames.h"
#include "../util.h"

#define BATCH	512	/* pagemap entries per read */

/* Documentation/admin-guide/mm/pagemap.rst */
#define PRESENT	(1ULL << 63)
#define FRAME	((1ULL << 55) - 1)

static int read_number(const char *path, int base, u64 *out)
{
	char *text, *end;
	size_t len;
	int err = fx_read_file(path, 65536, &text, &len);

	if (err)
		return err;
	errno = 0;
	*out = strtoull(text, &end, base);
	if (errno || end == text)
		err = -EINVAL;
	free(text);
	return err;
}

/**
 * fx_where_is() - find a place in sysfs
 * @place: one that matches a region or a memory node
 * @w: out
 *
 * Return: 0; -ENOTSUP for another match; -errno if sysfs does not have it.
 */
int fx_where_is(const struct fx_place_desc *place, struct fx_where *w)
{
	char *path;
	int err;

	memset(w, 0, sizeof(*w));
	switch (place->match_kind) {
	case FX_MATCH_REGION:
		path = fx_asprintf("/sys/bus/cxl/devices/%s/resource", place->match);
		err = read_number(path, 0, &w->start);
		free(path);
		if (err)
			return err;
		path = fx_asprintf("/sys/bus/cxl/devices/%s/size", place->match);
		err = read_number(path, 0, &w->size);
		free(path);
		return err ? err : w->size ? 0 : -ENODEV;
	case FX_MATCH_NODE:
		w->node = atoi(place->match);
		return read_number("/sys/devices/system/memory/block_size_bytes", 16,
				   &w->block);
	}
	return -ENOTSUP;
}

static bool is_within(u64 phys, const struct fx_where *w)
{
	char *path;
	bool there;

	if (w->size)
		return phys >= w->start && phys - w->start < w->size;
	path = fx_asprintf("/sys/devices/system/node/node%d/memory%llu", w->node,
			   phys / w->block);
	there = !access(path, F_OK);
	free(path);
	return there;
}

/**
 * fx_frames_within() - whether all pages of a mapping lie in a place
 * @map: page aligned
 * @bytes: of the mapping; each page is read once, so that it is there
 * @w: the place
 * @stray: out: physical address of the first page that does not
 *
 * Return: 1 or 0; -errno when pagemap does not tell (it needs CAP_SYS_ADMIN).
 */
int fx_frames_within(const void *map, size_t bytes, const struct fx_where *w,
		     u64 *stray)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), n = (bytes + page - 1) / page;
	u64 entry[BATCH], last_block = ~0ULL;
	const char *p = map;
	int rc = 1, fd;

	for (size_t i = 0; i < n; i++)
		(void)*(volatile const char *)(p + i * page);
	fd = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	for (size_t i = 0; i < n && rc == 1; i += BATCH) {
		size_t k = n - i < BATCH ? n - i : BATCH;
		off_t at = (off_t)(((size_t)p / page + i) * sizeof(u64));

		if (pread(fd, entry, k * sizeof(u64), at) != (ssize_t)(k * sizeof(u64))) {
			rc = -EIO;
			break;
		}
		for (size_t j = 0; j < k && rc == 1; j++) {
			u64 phys = (entry[j] & FRAME) * page;

			if (!(entry[j] & PRESENT) || !phys) {
				rc = -EPERM;
				break;
			}
			/* neighbours of one memory block are looked up once */
			if (w->block && phys / w->block == last_block)
				continue;
			if (!is_within(phys, w)) {
				*stray = phys;
				rc = 0;
			} else if (w->block) {
				last_block = phys / w->block;
			}
		}
	}
	close(fd);
	return rc;
}
