// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The module's state as `fabricctl show` tells it. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <json-c/json.h>

#include "fxt.h"

#define SHOW_MAX	(256 * 1024)

static struct json_object *run(const char *graph)
{
	char *text = malloc(SHOW_MAX), command[128];
	struct json_object *o = NULL;
	size_t n = 0;
	FILE *f;

	snprintf(command, sizeof(command), "fabricctl show -j %s", graph);
	f = text ? popen(command, "r") : NULL;
	if (f) {
		n = fread(text, 1, SHOW_MAX - 1, f);
		text[n] = '\0';
		if (!pclose(f))
			o = json_tokener_parse(text);
	}
	if (!o)
		fprintf(stderr, "# `%s` said: %s\n", command, text ? text : "");
	free(text);
	return o;
}

static bool flag(struct json_object *o, const char *key)
{
	return json_object_get_boolean(json_object_object_get(o, key));
}

static __u64 number(struct json_object *o, const char *key)
{
	return json_object_get_uint64(json_object_object_get(o, key));
}

static void text(struct json_object *o, const char *key, char *to, size_t size)
{
	const char *s = json_object_get_string(json_object_object_get(o, key));

	snprintf(to, size, "%s", s ? s : "");
}

/* Operations are listed in their order; "not_hooked" names some of them. */
static void operations(struct json_object *o, struct fxt_show *out)
{
	struct json_object *all = json_object_object_get(o, "operations");
	struct json_object *missing = json_object_object_get(o, "not_hooked");
	size_t i, k;

	for (i = 0; i < FX_OPS; i++) {
		struct json_object *op = json_object_array_get_idx(all, i);
		const char *name = json_object_get_string(json_object_object_get(op, "op"));

		out->op[i].asked = number(op, "asked");
		out->op[i].refused = number(op, "refused");
		out->op[i].invalid = number(op, "invalid");
		for (k = 0; missing && k < json_object_array_length(missing); k++)
			if (!strcmp(name, json_object_get_string
				    (json_object_array_get_idx(missing, k))))
				out->missing |= FX_OP_BIT(i);
	}
}

int fxt_show(const char *graph, struct fxt_show *out)
{
	struct json_object *o = run(graph);

	memset(out, 0, sizeof(*out));
	if (!o)
		return -EIO;
	out->attached = flag(o, "attached");
	out->bypassed = flag(o, "bypassed");
	out->audit = flag(o, "audit");
	text(o, "exit", out->exit, sizeof(out->exit));
	text(o, "exit_message", out->message, sizeof(out->message));
	text(o, "exit_dump", out->dump, sizeof(out->dump));
	out->emitted = number(o, "events_emitted");
	out->lost = number(o, "events_lost");
	operations(o, out);
	json_object_put(o);
	return 0;
}

int fxt_show_ended(const char *graph, struct fxt_show *out)
{
	__u64 end = fxt_now_ms() + 2000;
	int err;

	/* the message follows the kind, from a work item */
	while (!(err = fxt_show(graph, out)) && !out->message[0] && fxt_now_ms() < end)
		;
	return err;
}

int fxt_hooked(void)
{
	FILE *f = fopen("/sys/kernel/tracing/enabled_functions", "r");
	char line[1024];
	int n = 0;

	if (!f)
		return -errno;
	while (fgets(line, sizeof(line), f))
		n += !!strstr(line, "[fabric_ext]");
	fclose(f);
	return n;
}

bool fxt_hooked_becomes(int n, unsigned int ms)
{
	__u64 end = fxt_now_ms() + ms;
	int now;

	while ((now = fxt_hooked()) != n && fxt_now_ms() < end)
		fxt_sleep_ms(20);
	if (now != n)
		fprintf(stderr, "# %d functions are hooked, not %d\n", now, n);
	return now == n;
}
