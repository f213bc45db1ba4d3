// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The client of fabric-dpu, for tests: dpu-client DPU info | quit |
 * read MAP | write MAP INDEX HEX | publish MAP HEX | epochs MAP N |
 * tag GRAPH EDGE DIR QP; and dpu-client FILE verify: what is wrong with an
 * object, and what of it the kernel's verifier sees, looked at each for itself
 *
 * Prints what it got, or the sentence and -errno; exits 1 then.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dpu.h"
#include "lower/dpu_object.h"
#include "lower/verify.h"
#include "util.h"

static void print_hex(const u8 *p, size_t n)
{
	char *hex = fx_hex(p, n);

	puts(hex);
	free(hex);
}

static u8 *from_hex(const char *hex, size_t *n)
{
	u8 *p = fx_alloc(strlen(hex) / 2 + 1);

	*n = strlen(hex) / 2;
	for (size_t i = 0; i < *n; i++) {
		unsigned int byte = 0;

		sscanf(hex + 2 * i, "%2x", &byte);
		p[i] = byte;
	}
	return p;
}

static int do_info(struct fx_dpu *d)
{
	struct fx_dpu_info i;
	int err = fx_dpu_info(d, &i);

	if (!err)
		printf("{\"dpu\": \"%s\", \"graph\": \"%s\", \"pid\": %u, \"ports\": %u, \"workers\": %u, \"jit\": %u, \"flags\": %u, \"can\": %u, \"life\": %llu, \"loads\": %llu, \"received\": %llu, \"sent\": %llu, \"unsent\": %llu}\n",
		       i.dpu, i.graph, i.pid, i.ports, i.workers, i.jit, i.flags, i.can, i.life, i.loads,
		       i.received, i.sent, i.unsent);
	return err;
}

static int do_read(struct fx_dpu *d, const char *map)
{
	struct fx_dpu_map info;
	u64 epoch;
	int err = fx_dpu_map_info(d, map, &info, &epoch);
	size_t size;
	u8 *buf;

	if (err)
		return err;
	size = (size_t)info.entries * info.value_size;
	buf = fx_alloc(size);
	err = fx_dpu_map_read(d, map, buf, size);
	if (!err) {
		printf("%s %u %u %llu\n", info.cls, info.entries, info.value_size, epoch);
		print_hex(buf, size);
	}
	free(buf);
	return err;
}

/* Values that are all the number of their epoch, again and again. */
static int do_epochs(struct fx_dpu *d, const char *map, u32 n)
{
	struct fx_dpu_map info;
	int err = fx_dpu_map_info(d, map, &info, NULL);
	u64 *values;
	u32 words;

	if (err)
		return err;
	words = info.entries * info.value_size / sizeof(*values);
	values = fx_calloc(words, sizeof(*values));
	for (u64 epoch = 1; epoch <= n && !err; epoch++) {
		for (u32 i = 0; i < words; i++)
			values[i] = epoch;
		err = fx_dpu_map_publish(d, map, values, words * sizeof(*values));
	}
	free(values);
	return err;
}

static int do_verify(const char *path)
{
	char *why = NULL, *bytes = NULL;
	struct fx_dpu_object o;
	size_t size = 0;
	int err = 2;

	if (fx_read_file(path, FX_DPU_MAX_OBJECT, &bytes, &size))
		goto out;
	if (fx_dpu_object_read(bytes, size, &o))
		goto out;
	err = fx_verify_as(bytes, size, BPF_PROG_TYPE_SYSCALL, o.insn, o.n_insn, &why);
	printf("{\"fault\": \"%s\", \"verify\": %d, \"why\": \"%s\"}\n",
	       o.n_fault ? o.fault[0].what : "", err, why ? why : "");
	fx_dpu_object_free(&o);
	err = 0;
out:
	free(bytes);
	free(why);
	return err;
}

static int run(struct fx_dpu *d, int argc, char **argv)
{
	u8 *bytes = NULL;
	int err = -EINVAL;
	size_t n;

	if (!strcmp(argv[2], "info"))
		return do_info(d);
	if (!strcmp(argv[2], "quit"))
		return fx_dpu_quit(d);
	if (argc == 4 && !strcmp(argv[2], "read"))
		return do_read(d, argv[3]);
	if (argc == 5 && !strcmp(argv[2], "epochs"))
		return do_epochs(d, argv[3], strtoul(argv[4], NULL, 10));
	if (argc == 7 && !strcmp(argv[2], "tag"))
		return fx_dpu_tag(d, argv[3], strtoul(argv[4], NULL, 10), strtoul(argv[5], NULL, 10),
				  strtoul(argv[6], NULL, 10));
	if (argc == 6 && !strcmp(argv[2], "write")) {
		bytes = from_hex(argv[5], &n);
		err = fx_dpu_map_write(d, argv[3], strtoul(argv[4], NULL, 10), bytes, n);
	} else if (argc == 5 && !strcmp(argv[2], "publish")) {
		bytes = from_hex(argv[4], &n);
		err = fx_dpu_map_publish(d, argv[3], bytes, n);
	}
	free(bytes);
	return err;
}

int main(int argc, char **argv)
{
	struct fx_dpu *d;
	int err;

	if (argc < 3)
		return 2;
	if (!strcmp(argv[2], "verify"))
		return do_verify(argv[1]);
	err = fx_dpu_open(argv[1], &d);
	if (!err)
		err = run(d, argc, argv);
	if (err)
		printf("%d %s\n", err, fx_dpu_why(d));
	fx_dpu_close(d);
	return err ? 1 : 0;
}
