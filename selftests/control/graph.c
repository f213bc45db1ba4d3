// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The graph that the tests load, the requests that load it, the module. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "nl.h"

#define CHUNK	CHUNK_MAX

static void put_class(struct fx_class_desc *c, const char *name, __u16 from, __u16 to,
		      __u32 first, __u32 count)
{
	snprintf(c->name, sizeof(c->name), "%s", name);
	c->from = from;
	c->n_to = 1;
	c->to[0] = to;
	c->alias = FX_ALIAS_NONE;
	c->first = first;
	c->count = count;
	c->dim[0] = count;
}

void graph_make(struct graph *g, const char *name, __u32 edges)
{
	memset(g, 0, sizeof(*g));
	snprintf(g->hdr.name, sizeof(g->hdr.name), "%s", name);
	for (size_t i = 0; i < sizeof(g->hdr.digest); i++)
		g->hdr.digest[i] = (__u8)(i * 7 + (__u8)name[0]);
	g->hdr.count[FX_SECT_PLACE] = 2;
	g->hdr.count[FX_SECT_ALIAS] = 1;
	g->hdr.count[FX_SECT_CLASS] = 2;
	g->hdr.count[FX_SECT_EDGE] = edges;
	g->hdr.count[FX_SECT_AFTER] = 1;

	strcpy(g->place[0].name, "host");
	g->place[0].kind = FX_PLACE_DRAM;
	g->place[0].match_kind = FX_MATCH_NODE;
	strcpy(g->place[0].match, "0");
	strcpy(g->place[1].name, "gpu0");
	g->place[1].kind = FX_PLACE_GPU;
	g->place[1].match_kind = FX_MATCH_DRIVER;
	strcpy(g->place[1].match, "vgem");

	strcpy(g->alias[0].name, "kv");
	g->alias[0].bytes = (__u64)(edges - 1) * EDGE_BYTES;

	put_class(&g->cls[0], "kv_out", 1, 0, 0, edges - 1);
	g->cls[0].alias = 0;
	g->cls[0].element = FX_ELEM_BF16;
	g->cls[0].n_xforms = 1;
	g->cls[0].xform[0].kind = FX_XFORM_CHECKSUM;
	g->cls[0].xform[0].arg = FX_CSUM_CRC32C;
	put_class(&g->cls[1], "last", 0, 1, edges - 1, 1);

	g->edge = calloc(edges, sizeof(*g->edge));
	g->after = calloc(1, sizeof(*g->after));
	for (__u32 i = 0; i < edges; i++) {
		g->edge[i].bytes = EDGE_BYTES;
		g->edge[i].reuse = FX_REUSE_UNKNOWN;
		g->edge[i].alias_at = (__u64)i * EDGE_BYTES;
	}
	g->edge[edges - 1].cls = 1;
	g->edge[edges - 1].alias_at = 0;
	g->edge[edges - 1].n_after = 1;
}

void graph_free(struct graph *g)
{
	free(g->edge);
	free(g->after);
	g->edge = NULL;
	g->after = NULL;
}

void *graph_record(struct graph *g, __u32 section, __u32 i, size_t *size)
{
	switch (section) {
	case FX_SECT_PLACE:
		*size = sizeof(*g->place);
		return &g->place[i];
	case FX_SECT_ALIAS:
		*size = sizeof(*g->alias);
		return &g->alias[i];
	case FX_SECT_CLASS:
		*size = sizeof(*g->cls);
		return &g->cls[i];
	case FX_SECT_EDGE:
		*size = sizeof(*g->edge);
		return &g->edge[i];
	default:
		*size = sizeof(*g->after);
		return &g->after[i];
	}
}

/* ---- requests ---------------------------------------------------------- */

int nl_name(struct nl *nl, __u8 cmd, const char *graph)
{
	struct req *r = malloc(sizeof(*r));
	int err;

	req_init(r, cmd);
	if (graph)
		req_str(r, FX_A_NAME, graph);
	err = nl_do(nl, r);
	free(r);
	return err;
}

int nl_bare(struct nl *nl, __u8 cmd)
{
	return nl_name(nl, cmd, NULL);
}

int nl_begin(struct nl *nl, const struct graph *g)
{
	struct req *r = malloc(sizeof(*r));
	int err;

	req_init(r, FX_CMD_GRAPH_BEGIN);
	req_str(r, FX_A_NAME, g->hdr.name);
	req_put(r, FX_A_DIGEST, g->hdr.digest, sizeof(g->hdr.digest));
	req_u32(r, FX_A_GOVERNS, g->hdr.governs);
	req_put(r, FX_A_COUNTS, g->hdr.count, sizeof(g->hdr.count));
	err = nl_do(nl, r);
	free(r);
	return err;
}

int nl_chunk(struct nl *nl, __u32 section, __u32 first, const void *data, size_t len)
{
	struct req *r = malloc(sizeof(*r));
	int err;

	req_init(r, FX_CMD_GRAPH_CHUNK);
	req_u32(r, FX_A_SECTION, section);
	req_u32(r, FX_A_FIRST, first);
	req_put(r, FX_A_DATA, data, len);
	err = nl_do(nl, r);
	free(r);
	return err;
}

int nl_sections(struct nl *nl, const struct graph *g)
{
	int err = 0;

	for (__u32 s = 0; s < FX_SECTS; s++) {
		__u32 n = g->hdr.count[s], step;
		size_t size;
		char *base = graph_record((struct graph *)g, s, 0, &size);

		for (__u32 i = 0; i < n && !err; i += step) {
			step = n - i < CHUNK / size ? n - i : (__u32)(CHUNK / size);
			err = nl_chunk(nl, s, i, base + i * size, step * size);
		}
	}
	return err;
}

int nl_load(struct nl *nl, const struct graph *g)
{
	int err = nl_begin(nl, g);

	if (!err)
		err = nl_sections(nl, g);
	if (!err)
		err = nl_bare(nl, FX_CMD_GRAPH_COMMIT);
	return err;
}

/* ---- the system -------------------------------------------------------- */

int module_load(void)
{
	const char *path = getenv("FX_KMOD");
	int fd, err = 0;

	if (!access("/sys/module/fabric_ext", F_OK))
		return 0;
	if (!path)
		return -ENOENT;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (syscall(SYS_finit_module, fd, "", 0))
		err = -errno;
	close(fd);
	return err;
}

int module_unload(void)
{
	return syscall(SYS_delete_module, "fabric_ext", O_NONBLOCK) ? -errno : 0;
}

long meminfo(const char *key)
{
	FILE *f = fopen("/proc/meminfo", "r");
	char name[64];
	long kb = -1, v;

	while (f && fscanf(f, "%63[^:]: %ld%*[^\n]\n", name, &v) == 2)
		if (!strcmp(name, key))
			kb = v;
	if (f)
		fclose(f);
	return kb * 1024;
}
