// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Moves: nine of ten are packets of 64 edges, the rest what the kernel's
 * engine and hooks ask about, with sizes over all powers of two, edges that
 * the policies do not know and none. Recorded ones are the KV of the requests
 * of a trace, whose lengths in tokens and times are real.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "moves.h"

#define SEED		0x5eed5eed5eed5eedULL
#define MS		1000000ULL
#define KV_PER_TOKEN	131072ULL	/* 32 layers, 8 heads of 128, bf16, K and V */
#define TRACE		"traces/mooncake-conversation.jsonl"

static u64 state = SEED;

static u64 rnd(void)
{
	/* xorshift64*: Vigna, "An experimental exploration of Marsaglia's xorshift" */
	state ^= state >> 12;
	state ^= state << 25;
	state ^= state >> 27;
	return state * 0x2545f4914f6cdd1dULL;
}

static u64 below(u64 n)
{
	return rnd() % n;
}

/* Any number of bits, each as often. */
static u64 any(void)
{
	return rnd() >> below(64);
}

static void make_packet(const struct moves *m, struct test_move *t)
{
	u32 edge = below(PACKET_EDGES);
	u32 host = (u32)rnd();

	t->packet = true;
	t->move = (struct fx_move){
		.edge = edge, .device = FX_DEVICE_DPU, .op = FX_OP_MOVE,
		.bytes = below(8) ? below(PACKET_BYTES + 1) : below(2),
		.stated = m->edge[edge].stated, .priority = m->edge[edge].priority,
		.dir = FX_DIR_IN,
		.flow = { .family = 4, .proto = 17, .vlan = FX_VLAN_NONE, .dscp = below(64),
			  .sport = rnd(), .dport = PACKET_PORT + edge },
	};
	memcpy(t->move.flow.src, &host, sizeof(host));
	host = ~host;
	memcpy(t->move.flow.dst, &host, sizeof(host));
}

static void make_other(struct test_move *t)
{
	static const u32 edges[] = { 100, 101, 255, 256, 16383, 16384, 0x7fffffff, FX_EDGE_NONE };

	t->move = (struct fx_move){
		.edge = below(2) ? 64 + below(64) : edges[below(8)],
		.cls = rnd(), .place = rnd(), .device = FX_DEVICE_DPU,
		.op = below(4) ? FX_OP_MOVE : below(FX_OPS),
		.bytes = any(), .stated = any(), .priority = below(8), .dir = below(FX_DIRS),
	};
}

/* A request is a move of its prompt's KV. */
static int take_line(const char *line, struct test_move *t, u64 began)
{
	const char *in = strstr(line, "\"input_length\":"), *at = strstr(line, "\"timestamp\":");
	const char *id = strstr(line, "\"hash_ids\":");

	if (!in || !at || !id)
		return -1;
	t->now = began + strtoull(at + 12, NULL, 10) * MS;
	t->move = (struct fx_move){
		.edge = 128 + strtoull(id + 12 + (id[11] == ' '), NULL, 10) % 64,
		.device = FX_DEVICE_DPU, .op = FX_OP_MOVE, .priority = 5,
		.bytes = strtoull(in + 15, NULL, 10) * KV_PER_TOKEN,
		.stated = 1024 * KV_PER_TOKEN,
	};
	return 0;
}

static void record(struct moves *m, u64 began)
{
	const char *data = getenv("FX_DATA");
	char path[4096], *line = NULL;
	size_t room = 0;
	FILE *f;

	snprintf(path, sizeof(path), "%s/" TRACE, data ? data : "../shared/data");
	f = fopen(path, "r");
	if (!f) {
		m->why = "there is no " TRACE " below ../shared/data; FX_DATA=DIR says where";
		return;
	}
	while (m->recorded < RECORDED && getline(&line, &room, f) > 0)
		if (!take_line(line, &m->move[m->n], began)) {
			m->n++;
			m->recorded++;
		}
	free(line);
	fclose(f);
	if (!m->recorded)
		m->why = TRACE " has no requests";
}

int moves_make(struct moves *m)
{
	u64 now = 1000 * MS;

	memset(m, 0, sizeof(*m));
	m->move = calloc(GENERATED + RECORDED, sizeof(*m->move));
	if (!m->move)
		return -1;
	for (u32 i = 0; i < PACKET_EDGES; i++)
		m->edge[i] = (struct test_edge){ .stated = 1 + below(128), .priority = i % 8 };
	for (m->n = 0; m->n < GENERATED; m->n++) {
		struct test_move *t = &m->move[m->n];

		/* now and then a pause that is longer than a window */
		now += below(500) ? below(2 * MS) : 1500 * MS;
		t->now = now;
		if (below(10))
			make_packet(m, t);
		else
			make_other(t);
	}
	record(m, now);
	return 0;
}

void moves_free(struct moves *m)
{
	free(m->move);
	m->move = NULL;
}
