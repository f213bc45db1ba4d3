// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <dlfcn.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "executors.h"
#include "host.h"
#include "lower/dpu_object.h"
#include "maps.h"
#include "program.h"

/* here the one of libbpf is meant */
#undef bpf_map_lookup_elem

const char *const executor_name[EXECUTORS] = {
	[SYSCALL] = "kernel, syscall program", [XDP] = "kernel, XDP",
	[INTERPRETER] = "librte_bpf, interpreter", [JIT] = "librte_bpf, JIT",
	[HOST] = "native",
};

char executor_why[512];

struct executor {
	int which;
	/* the kernel's */
	struct bpf_object *obj;
	int prog;
	/* librte_bpf's */
	struct fx_dpu_object o;
	struct fx_dpu_maps maps;
	struct fx_dpu_program program;
	/* the host's */
	void *library;
	struct host_policy *host;
};

static int fail(const char *fmt, ...) fx_printf(1, 2);

static int fail(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(executor_why, sizeof(executor_why), fmt, ap);
	va_end(ap);
	return -1;
}

/* ---- the kernel ------------------------------------------------------- */

static int map_fd(struct executor *e, const char *name)
{
	struct bpf_map *m = bpf_object__find_map_by_name(e->obj, name);

	return m ? bpf_map__fd(m) : -1;
}

static int put(struct executor *e, const char *map, const void *key, const void *value)
{
	return bpf_map_update_elem(map_fd(e, map), key, value, BPF_ANY) ?
	       fail("%s: %s", map, strerror(errno)) : 0;
}

/* The maps of a network device: one flow per edge, by its UDP port. */
static int fill(struct executor *e, const struct test_edge *edges)
{
	const u32 zero = 0, number = FX_DIR_IN * FX_NIC_MAX_MASKS;
	struct fx_nic_conf conf = { .rows = PACKET_EDGES, .masks = { [FX_DIR_IN] = 1 } };
	struct fx_flow_key mask = { .family = 0xff, .proto = 0xff, .dport = 0xffff };

	if (put(e, "fx_conf", &zero, &conf) || put(e, "fx_masks", &number, &mask))
		return -1;
	for (u32 i = 0; i < PACKET_EDGES; i++) {
		struct fx_flow_key key = { .family = 4, .proto = 17, .mask = number,
					   .dport = PACKET_PORT + i };
		struct fx_nic_row row = { .edge = i, .dir = FX_DIR_IN, .bytes = edges[i].stated,
					  .priority = edges[i].priority };

		if (put(e, "fx_flows", &key, &i) || put(e, "fx_rows", &i, &row))
			return -1;
	}
	return 0;
}

static int open_kernel(struct executor *e, const char *path, const struct test_edge *edges)
{
	static const char *const sized[] = { "fx_flows", "fx_rows", "fx_counts" };
	struct bpf_program *prog;
	const char *name = e->which == XDP ? "fx_nic_in" : FX_DPU_FUNCTION;

	libbpf_set_print(NULL);
	e->obj = bpf_object__open_file(path, NULL);
	if (!e->obj)
		return fail("%s: %s", path, strerror(errno));
	for (u32 i = 0; e->which == XDP && i < sizeof(sized) / sizeof(*sized); i++)
		bpf_map__set_max_entries(bpf_object__find_map_by_name(e->obj, sized[i]),
					 PACKET_EDGES);
	bpf_object__for_each_program(prog, e->obj)
		bpf_program__set_autoload(prog, !strcmp(bpf_program__name(prog), name));
	if (bpf_object__load(e->obj))
		return fail("%s cannot be loaded: %s", path, strerror(errno));
	e->prog = bpf_program__fd(bpf_object__find_program_by_name(e->obj, name));
	return e->which == XDP ? fill(e, edges) : 0;
}

static int run_syscall(struct executor *e, const struct test_move *m, struct fx_verdict *v)
{
	struct fx_dpu_context ctx = { .move = m->move };
	struct bpf_test_run_opts opts = { .sz = sizeof(opts), .ctx_in = &ctx,
					  .ctx_size_in = sizeof(ctx) };

	if (bpf_prog_test_run_opts(e->prog, &opts) || opts.retval)
		return fail("the program cannot be run: %s", strerror(errno));
	*v = ctx.verdict;
	return 0;
}

/* Ethernet, IPv4 and UDP around as many bytes as the move has. */
static size_t packet(const struct fx_move *m, u8 *p)
{
	const u16 udp = 8 + m->bytes, ip = 20 + udp;

	memset(p, 0, 42 + m->bytes);
	p[12] = 8;
	p[14] = 0x45;
	p[15] = m->flow.dscp << 2;
	p[16] = ip >> 8;
	p[17] = ip;
	p[22] = 64;
	p[23] = m->flow.proto;
	memcpy(p + 26, m->flow.src, 4);
	memcpy(p + 30, m->flow.dst, 4);
	p[34] = m->flow.sport >> 8;
	p[35] = m->flow.sport;
	p[36] = m->flow.dport >> 8;
	p[37] = m->flow.dport;
	p[38] = udp >> 8;
	p[39] = udp;
	return 42 + m->bytes;
}

/* What the program did with the packet is what the body said. */
static int carried_out(const struct fx_verdict *v, u32 retval, const u8 *out, size_t meta)
{
	u32 word[3] = { 0 };
	const bool drops = v->action == FX_DROP, dropped = retval == XDP_DROP;

	if (drops != dropped)
		return fail("XDP returns %u for the action %u", retval, v->action);
	if (v->action != FX_MARK)
		return meta ? fail("XDP marks a packet that the body does not mark") : 0;
	if (meta != sizeof(word))
		return fail("XDP does not mark a packet that the body marks");
	memcpy(word, out, sizeof(word));
	return word[1] == v->mark && word[2] == v->priority ? 0 :
	       fail("XDP marks with %#x, %u", word[1], word[2]);
}

static int run_xdp(struct executor *e, const struct test_move *m, struct fx_verdict *v)
{
	u8 in[42 + PACKET_BYTES], out[sizeof(in) + 64];
	size_t size = packet(&m->move, in);
	struct xdp_md ctx = { .data_end = size };
	struct test_answer a = { 0 };
	const u32 zero = 0;
	struct bpf_test_run_opts opts = {
		.sz = sizeof(opts), .data_in = in, .data_size_in = size,
		.data_out = out, .data_size_out = sizeof(out),
		.ctx_in = &ctx, .ctx_size_in = sizeof(ctx),
		.ctx_out = &ctx, .ctx_size_out = sizeof(ctx),
	};
	struct fx_move want = m->move;

	if (put(e, "test_answer", &zero, &a))
		return -1;
	if (bpf_prog_test_run_opts(e->prog, &opts))
		return fail("a packet of %zu bytes cannot be tried: %s", size, strerror(errno));
	if (bpf_map_lookup_elem(map_fd(e, "test_answer"), &zero, &a) || a.asked != 1)
		return fail("the body is asked %llu times about one packet", a.asked);
	/* who asks, and by which of its masks it found the flow, is the device's */
	want.device = FX_DEVICE_NIC;
	if (memcmp(&a.move, &want, sizeof(want)))
		return fail("the packet is not the move that it was made of");
	*v = a.verdict;
	return carried_out(v, opts.retval, out, ctx.data - ctx.data_meta);
}

/* ---- librte_bpf ------------------------------------------------------- */

static int open_rte(struct executor *e, const char *path)
{
	FILE *f = fopen(path, "r");
	static u8 bytes[1 << 20];
	char why[FX_DPU_WHY_LEN];
	size_t size = f ? fread(bytes, 1, sizeof(bytes), f) : 0;

	if (f)
		fclose(f);
	if (!size || fx_dpu_object_read(bytes, size, &e->o))
		return fail("%s cannot be read", path);
	if (e->o.n_fault)
		return fail("%s %s", path, e->o.fault[0].what);
	if (fx_dpu_maps_init(&e->maps, e->o.map, e->o.n_map, 1))
		return fail("there is no memory for maps");
	if (fx_dpu_program_load(&e->program, bytes, size, &e->maps, sizeof(struct fx_dpu_context),
				why))
		return fail("%s: %s", path, why);
	if (e->which == JIT && !e->program.jit)
		return fail("librte_bpf has no JIT here");
	return 0;
}

static int run_rte(struct executor *e, const struct test_move *m, struct fx_verdict *v)
{
	struct fx_dpu_context ctx = { .move = m->move };

	fx_dpu_view_begin(&e->maps, 0);
	if (e->which == JIT)
		e->program.jit(&ctx);
	else
		fx_dpu_interpret(&e->program, &ctx);
	*v = ctx.verdict;
	return 0;
}

/* ---- the host --------------------------------------------------------- */

static void *host_values(struct executor *e, const char *name)
{
	for (size_t i = 0; i < e->host->n_map; i++)
		if (!strcmp(e->host->map[i].name, name))
			return *e->host->map[i].values;
	return NULL;
}

static int open_host(struct executor *e, const char *path)
{
	e->library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	e->host = e->library ? dlsym(e->library, "host_policy") : NULL;
	if (!e->host)
		return fail("%s", dlerror());
	for (size_t i = 0; i < e->host->n_map; i++) {
		struct host_map *m = &e->host->map[i];

		*m->values = calloc(m->entries, m->size);
		if (!*m->values)
			return fail("there is no memory for maps");
	}
	return 0;
}

static int run_host(struct executor *e, const struct test_move *m, struct fx_verdict *v)
{
	struct fx_dpu_context ctx = { .move = m->move };

	e->host->run(&ctx);
	*v = ctx.verdict;
	return 0;
}

/* ---- all -------------------------------------------------------------- */

struct executor *executor_open(int which, const char *policy, const struct test_edge *edges)
{
	struct executor *e = calloc(1, sizeof(*e));
	char path[4096];
	int err;

	if (!e)
		return NULL;
	e->which = which;
	snprintf(path, sizeof(path), OBJECTS "/%s.%s", policy,
		 which == XDP ? "nic.o" : which == HOST ? "so" : "dpu.o");
	err = which == HOST ? open_host(e, path) :
	      which == INTERPRETER || which == JIT ? open_rte(e, path) :
	      open_kernel(e, path, edges);
	if (!err)
		return e;
	executor_close(e);
	return NULL;
}

void executor_close(struct executor *e)
{
	if (!e)
		return;
	bpf_object__close(e->obj);
	if (e->program.bpf)
		fx_dpu_program_free(&e->program);
	fx_dpu_maps_free(&e->maps);
	fx_dpu_object_free(&e->o);
	for (size_t i = 0; e->host && i < e->host->n_map; i++)
		free(*e->host->map[i].values);
	if (e->library)
		dlclose(e->library);
	free(e);
}

static int set_clock(struct executor *e, u64 now)
{
	const u32 zero = 0;
	struct fx_dpu_mem *mem;
	u64 *value;

	switch (e->which) {
	case SYSCALL:
	case XDP:
		return put(e, "test_clock", &zero, &now);
	case HOST:
		value = host_values(e, "test_clock");
		*value = now;
		return 0;
	default:
		mem = fx_dpu_maps_find(&e->maps, "test_clock");
		fx_dpu_mem_write(mem, 0, &now);
		return 0;
	}
}

int executor_run(struct executor *e, const struct test_move *m, struct fx_verdict *v)
{
	static int (*const run[EXECUTORS])(struct executor *e, const struct test_move *m,
					   struct fx_verdict *v) = {
		[SYSCALL] = run_syscall, [XDP] = run_xdp, [INTERPRETER] = run_rte,
		[JIT] = run_rte, [HOST] = run_host,
	};

	memset(v, 0xa5, sizeof(*v));
	return set_clock(e, m->now) ? -1 : run[e->which](e, m, v);
}

/* A map of the kernel's: of one per CPU, the sums. */
static int kernel_map(struct executor *e, const char *map, char *values, size_t size, u32 entries)
{
	struct bpf_map *m = bpf_object__find_map_by_name(e->obj, map);
	int cpus = bpf_map__type(m) == BPF_MAP_TYPE_PERCPU_ARRAY ? libbpf_num_possible_cpus() : 1;
	u64 each[1024];

	if (cpus < 1 || (cpus > 1 && size != sizeof(u64)) || (u32)cpus * size > sizeof(each))
		return fail("%s: this test reads no such map", map);
	memset(values, 0, size * entries);
	for (u32 i = 0; i < entries; i++) {
		if (bpf_map_lookup_elem(bpf_map__fd(m), &i, each))
			return fail("%s: %s", map, strerror(errno));
		if (cpus == 1)
			memcpy(values + i * size, each, size);
		for (int cpu = 0; cpus > 1 && cpu < cpus; cpu++)
			((u64 *)values)[i] += each[cpu];
	}
	return 0;
}

/* Where programs reach the table by a pointer, to one that is made for it. */
static int publish_kernel(struct executor *e, const char *map, const void *table, size_t size)
{
	LIBBPF_OPTS(bpf_map_create_opts, opts, .map_flags = BPF_F_RDONLY_PROG);
	const u32 zero = 0;
	int inner, err;

	if (e->which == SYSCALL)
		return put(e, map, &zero, table);
	inner = bpf_map_create(BPF_MAP_TYPE_ARRAY, "table", sizeof(zero), size, 1, &opts);
	if (inner < 0)
		return fail("%s: %s", map, strerror(errno));
	err = bpf_map_update_elem(inner, &zero, table, BPF_ANY) ?
	      fail("%s: %s", map, strerror(errno)) : put(e, map, &zero, &inner);
	close(inner);
	return err;
}

int executor_publish(struct executor *e, const char *map, const void *table, size_t size)
{
	void *old;

	if (e->which == SYSCALL || e->which == XDP)
		return publish_kernel(e, map, table, size);
	if (e->which == HOST) {
		memcpy(host_values(e, map), table, size);
		return 0;
	}
	if (fx_dpu_mem_publish(fx_dpu_maps_find(&e->maps, map), table, &old))
		return fail("%s: there is no memory", map);
	free(old);
	return 0;
}

int executor_map(struct executor *e, const char *map, void *values, size_t size, u32 entries)
{
	if (e->which == SYSCALL || e->which == XDP)
		return kernel_map(e, map, values, size, entries);
	if (e->which == HOST)
		memcpy(values, host_values(e, map), size * entries);
	else
		fx_dpu_mem_read(fx_dpu_maps_find(&e->maps, map), 0, entries, values);
	return 0;
}
