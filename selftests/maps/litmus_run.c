// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/bpf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "litmus_run.h"
#include "lower/map_class.h"
#include "maps_wire.h"

const char *const executor_name[EXECUTORS] = { "syscall", "xdp", "tc" };
char litmus_why[256];

static struct bpf_object *obj[EXECUTORS];
static int prog[EXECUTORS];
static struct fx_map_list known;
static struct fx_maps *maps;

int litmus_ask(u32 executor, struct litmus *l)
{
	LIBBPF_OPTS(bpf_test_run_opts, run);
	u8 packet[LITMUS_AT + sizeof(*l) + 16] = { 0 }, out[sizeof(packet)];

	if (executor == SYSCALL) {
		run.ctx_in = l;
		run.ctx_size_in = sizeof(*l);
	} else {
		memcpy(packet + LITMUS_AT, l, sizeof(*l));
		run.data_in = packet;
		run.data_size_in = sizeof(packet);
		run.data_out = out;
		run.data_size_out = sizeof(out);
	}
	if (bpf_prog_test_run_opts(prog[executor], &run))
		return -errno;
	if (executor != SYSCALL)
		memcpy(l, out + LITMUS_AT, sizeof(*l));
	return 0;
}

int litmus_fd(const char *map)
{
	struct fx_wired *w = fx_maps_find(maps, map);

	return w ? w->fd : bpf_map__fd(bpf_object__find_map_by_name(obj[SYSCALL], map));
}

int litmus_publish(u64 *table, u64 epoch)
{
	LIBBPF_OPTS(bpf_map_create_opts, opts, .map_flags = BPF_F_RDONLY_PROG);
	const u32 zero = 0;
	int fd, err = 0;

	for (u32 i = 0; i <= LITMUS_TABLE; i++)
		table[i] = epoch;
	fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "litmus", sizeof(zero),
			    (LITMUS_TABLE + 1) * sizeof(*table), 1, &opts);
	if (fd < 0)
		return -errno;
	if (bpf_map_update_elem(fd, &zero, table, BPF_ANY) ||
	    bpf_map_update_elem(litmus_fd("table"), &zero, &fd, BPF_ANY))
		err = -errno;
	close(fd);
	return err;
}

static int list_maps(struct bpf_object *o)
{
	struct fx_map_desc d;
	struct bpf_map *map;

	known.map = calloc(FX_MAPS_MAX, sizeof(*known.map));
	bpf_object__for_each_map(map, o) {
		if (!fx_map_class_of(bpf_object__btf(o), bpf_map__name(map)))
			continue;
		if (fx_map_describe(o, map, &d))
			return -EINVAL;
		known.map[known.n++] = d;
	}
	return 0;
}

/* The plain ones are shared by hand. */
static int share_plain(u32 i)
{
	static const char *const names[] = { "plain", "plain_table" };
	int err = 0;

	for (u32 j = 0; i && j < ARRAY_SIZE(names) && !err; j++)
		err = bpf_map__reuse_fd(bpf_object__find_map_by_name(obj[i], names[j]),
					litmus_fd(names[j]));
	return err;
}

static int load(u32 i)
{
	char path[512];
	int err;

	snprintf(path, sizeof(path), LITMUS_DIR "/litmus_%s.bpf.o", executor_name[i]);
	obj[i] = bpf_object__open_file(path, NULL);
	if (!obj[i])
		return -errno;
	err = i ? 0 : list_maps(obj[i]);
	if (!i)
		maps = fx_maps_new("litmus", &known, FX_MAPS_NEW);
	if (!err && fx_maps_before_load(maps, obj[i], executor_name[i]) != FX_RC_OK)
		err = -EINVAL;
	if (!err)
		err = share_plain(i);
	if (!err)
		err = bpf_object__load(obj[i]);
	if (!err && fx_maps_after_load(maps, obj[i]) != FX_RC_OK)
		err = -EINVAL;
	prog[i] = err ? -1 : bpf_program__fd(bpf_object__find_program_by_name(obj[i], "litmus_run"));
	return err;
}

int litmus_open(void)
{
	if (geteuid()) {
		snprintf(litmus_why, sizeof(litmus_why), "loading programs needs root");
		return 1;
	}
	for (u32 i = 0; i < EXECUTORS; i++) {
		int err = load(i);

		/* a kernel that cannot is one thing, a program that is wrong another */
		if (err == -EPERM) {
			snprintf(litmus_why, sizeof(litmus_why), "this kernel loads no programs: %s",
				 strerror(-err));
			return 1;
		}
		if (err) {
			fprintf(stderr, "litmus_%s.bpf.o: %s\n", executor_name[i], strerror(-err));
			return err;
		}
	}
	return fx_maps_begin(maps) == FX_RC_OK ? 0 : -EINVAL;
}

void litmus_close(void)
{
	for (u32 i = 0; i < EXECUTORS; i++)
		bpf_object__close(obj[i]);
	fx_maps_free(maps);
	fx_map_list_free(&known);
}
