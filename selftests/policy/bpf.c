// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Policies attached by this process, so that a test can do it a thousand times. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "fxt.h"

/* libbpf's warnings as diagnosis of the test. */
static int say(enum libbpf_print_level level, const char *fmt, va_list ap)
{
	if (level != LIBBPF_WARN)
		return 0;
	fputs("# ", stderr);
	return vfprintf(stderr, fmt, ap);
}

static struct bpf_map *struct_ops_of(struct bpf_object *obj)
{
	struct bpf_map *map;

	bpf_object__for_each_map(map, obj)
		if (bpf_map__type(map) == BPF_MAP_TYPE_STRUCT_OPS)
			return map;
	return NULL;
}

static void *state_of(struct bpf_object *obj)
{
	struct bpf_map *map;
	size_t size;
	void *at;

	bpf_object__for_each_map(map, obj) {
		if (!strstr(bpf_map__name(map), ".bss"))
			continue;
		at = bpf_map__initial_value(map, &size);
		return size >= sizeof(struct fxt_state) ? at : NULL;
	}
	return NULL;
}

int fxt_policy_open(struct fxt_policy *p, const char *bundle, const char *graph)
{
	char path[256];
	size_t size;

	libbpf_set_print(say);
	memset(p, 0, sizeof(*p));
	snprintf(path, sizeof(path), "bundles/%s/kernel/policy.bpf.o", bundle);
	p->obj = bpf_object__open_file(path, NULL);
	if (!p->obj)
		return -errno;
	p->map = struct_ops_of(p->obj);
	p->ops = p->map ? bpf_map__initial_value(p->map, &size) : NULL;
	if (!p->ops || size != sizeof(*p->ops)) {
		fxt_policy_close(p);
		return -EPROTO;
	}
	snprintf(p->ops->graph, sizeof(p->ops->graph), "%s", graph);
	return 0;
}

int fxt_policy_load(struct fxt_policy *p)
{
	int err = bpf_object__load(p->obj);

	if (!err) {
		p->state = state_of(p->obj);
		err = p->state ? 0 : -EPROTO;
	}
	return err;
}

int fxt_policy_attach(struct fxt_policy *p)
{
	p->link = bpf_map__attach_struct_ops(p->map);
	return p->link ? 0 : -errno;
}

int fxt_policy_run(struct fxt_policy *p)
{
	int err = fxt_policy_load(p);

	return err ?: fxt_policy_attach(p);
}

int fxt_policy_replace(struct fxt_policy *old, struct fxt_policy *by)
{
	int err = bpf_link__update_map(old->link, by->map);

	if (err)
		return err;
	by->link = old->link;
	old->link = NULL;
	return 0;
}

void fxt_policy_detach(struct fxt_policy *p)
{
	bpf_link__destroy(p->link);
	p->link = NULL;
}

void fxt_policy_close(struct fxt_policy *p)
{
	fxt_policy_detach(p);
	bpf_object__close(p->obj);
	memset(p, 0, sizeof(*p));
}

int fxt_policy_start(struct fxt_policy *p, const char *bundle, const char *graph)
{
	int err = fxt_policy_open(p, bundle, graph);

	err = err ?: fxt_policy_run(p);
	if (err)
		fxt_policy_close(p);
	return err;
}

unsigned int fxt_bpf_objects(void)
{
	unsigned int n = 0;
	__u32 id = 0;

	while (!bpf_prog_get_next_id(id, &id))
		n++;
	id = 0;
	while (!bpf_map_get_next_id(id, &id))
		n++;
	return n;
}
