// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * litmus-far OBJECT GRAPH: the syscall programs of litmus_far.bpf.c on the maps
 * of a graph that is attached, as its device "kernel". Reads lines:
 *
 *	PROGRAM TIMES MESSAGE	run it so often; answers "ok"
 *	map NAME		answers with the bytes of a local map, in hex
 *	epoch NAME		publishes the next one; answers when, from and to
 *	bare BYTES TIMES	answers with what an update of an array takes, in ns
 *
 * Exits 1 after a sentence.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "maps.h"
#include "util.h"

#define DEVICE	"kernel"

/* The shard of a counter is this device's own: what `fabricctl map` adds up has it. */
static int pin_shards(const struct fx_shared *s, struct bpf_object *obj)
{
	int err = 0;

	for (u32 i = 0; i < s->maps.n && !err; i++) {
		const char *name = s->maps.map[i].name;
		char *path = fx_asprintf("%s/%s@" DEVICE, s->dir, name);

		if (s->maps.map[i].cls == FX_MAP_COUNTER)
			err = bpf_obj_pin(bpf_object__find_map_fd_by_name(obj, name), path);
		free(path);
	}
	return err ? -errno : 0;
}

/* The maps that devices share are the graph's, as attach would wire them. */
static int load(struct bpf_object *obj, const char *graph)
{
	struct fx_maps *maps;
	struct fx_shared s;
	int err = fx_shared_open(graph, &s);

	if (err) {
		fx_shared_close(&s);
		return err;
	}
	maps = fx_maps_new(graph, &s.maps, FX_MAPS_REPAIR);
	if (fx_maps_before_load(maps, obj, DEVICE) != FX_RC_OK)
		err = -EINVAL;
	if (!err)
		err = bpf_object__load(obj);
	if (!err && fx_maps_after_load(maps, obj) != FX_RC_OK)
		err = -EINVAL;
	if (!err)
		err = pin_shards(&s, obj);
	fx_maps_free(maps);
	fx_shared_close(&s);
	return err;
}

static int run(struct bpf_object *obj, const char *name, u32 times, u64 message)
{
	LIBBPF_OPTS(bpf_test_run_opts, opts, .ctx_in = &message,
		    .ctx_size_in = sizeof(message));
	struct bpf_program *prog = bpf_object__find_program_by_name(obj, name);
	int err = prog ? 0 : -ENOENT;

	for (u32 i = 0; i < times && !err; i++)
		err = bpf_prog_test_run_opts(bpf_program__fd(prog), &opts) ? -errno : 0;
	if (!err)
		puts("ok");
	return err;
}

static int print_map(struct bpf_object *obj, const char *name)
{
	struct bpf_map *map = bpf_object__find_map_by_name(obj, name);
	u32 size = map ? bpf_map__value_size(map) : 0;
	u8 *value = fx_calloc(1, size + 1);
	int err = map ? 0 : -ENOENT;

	for (u32 i = 0; !err && i < bpf_map__max_entries(map); i++) {
		char *hex;

		if (bpf_map_lookup_elem(bpf_map__fd(map), &i, value)) {
			err = -errno;
			break;
		}
		hex = fx_hex(value, size);
		fputs(hex, stdout);
		free(hex);
	}
	if (!err)
		puts("");
	free(value);
	return err;
}

static int publish(const char *graph, const char *name)
{
	const struct fx_map_desc *d;
	void *values = NULL;
	struct fx_shared s;
	u64 epoch, from;
	int err = fx_shared_open(graph, &s);

	d = err ? NULL : fx_map_find(&s.maps, name);
	if (!err && (!d || d->cls != FX_MAP_SNAPSHOT))
		err = -ENOENT;
	if (!err) {
		values = fx_calloc(d->entries, d->value_size);
		from = fx_monotonic_ns();
		err = fx_shared_publish(&s, d, values, &epoch);
	}
	if (!err)
		printf("%llu %llu\n", from, fx_monotonic_ns());
	free(values);
	fx_shared_close(&s);
	return err;
}

static int by_size(const void *a, const void *b)
{
	const u64 *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static int bare(u32 bytes, u32 times)
{
	u64 *ns = fx_calloc(times, sizeof(*ns));
	void *value = fx_calloc(1, bytes);
	const u32 zero = 0;
	int err = 0, fd;

	fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "bare", sizeof(zero), bytes, 1, NULL);
	if (fd < 0)
		err = -errno;
	for (u32 i = 0; i < times && !err; i++) {
		u64 from = fx_monotonic_ns();

		err = bpf_map_update_elem(fd, &zero, value, BPF_ANY) ? -errno : 0;
		ns[i] = fx_monotonic_ns() - from;
	}
	qsort(ns, times, sizeof(*ns), by_size);
	if (!err && times)
		printf("%llu\n", ns[times / 2]);
	if (fd >= 0)
		close(fd);
	free(value);
	free(ns);
	return err;
}

static int serve(struct bpf_object *obj, const char *graph)
{
	unsigned int times, bytes;
	unsigned long long message;
	char line[256], name[64];
	int err = 0;

	puts("ready");
	while (!err && !fflush(stdout) && fgets(line, sizeof(line), stdin)) {
		if (sscanf(line, "map %63s", name) == 1)
			err = print_map(obj, name);
		else if (sscanf(line, "epoch %63s", name) == 1)
			err = publish(graph, name);
		else if (sscanf(line, "bare %u %u", &bytes, &times) == 2)
			err = bare(bytes, times);
		else if (sscanf(line, "%63s %u %llu", name, &times, &message) == 3)
			err = run(obj, name, times, message);
		else
			err = -EINVAL;
	}
	return err;
}

int main(int argc, char **argv)
{
	struct bpf_object *obj;
	int err;

	if (argc != 3)
		return 2;
	obj = bpf_object__open_file(argv[1], NULL);
	err = obj ? load(obj, argv[2]) : -errno;
	if (!err)
		err = serve(obj, argv[2]);
	if (err)
		fprintf(stderr, "litmus-far: %s\n", strerror(-err));
	bpf_object__close(obj);
	return err ? 1 : 0;
}
