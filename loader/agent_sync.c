// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * One round of copying. Each row that is written here has no other writer: of
 * a bounded map the second half of the rows, of a counter the shard that is
 * kept for a device. So nothing is locked, a round may end anywhere, and the
 * next one goes on from what lies in the maps.
 */
#include <bpf/bpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent.h"
#include "memory.h"
#include "util.h"

#define COUNT_MS	100	/* counters are read as often */
#define TABLE_MS	20	/* a new epoch is looked for as often */
#define RETRY_MS	200	/* a memory that is away is asked for as often */
/* What all memories together may hold up a round, where it is not about a bound. */
#define LIMIT_MS	100
#define LIMIT_MAX_MS	1000

/*
 * What is asked of a memory in a round, in this order: what it is, its maps,
 * then each map's rows or table, then each counter. A memory that has not
 * answered in time goes on where that was in a later round, so that a slow one
 * comes through all of it in as many rounds as that takes.
 */
#define STEP_LIFE	0
#define STEP_MAPS	1
#define STEP_BRING(map)	(2 + 2 * (map))
#define STEP_TAKE(map)	(STEP_BRING(map) + 1)
#define STEP_GIVE(map)	STEP_BRING(map)
#define STEP_COUNTS	(1U << 30)	/* no graph has as many maps */
#define STEP_COUNT(map)	(STEP_COUNTS + (map))

/* A memory, while it is there. */
struct remote {
	const struct fx_memory_ops *ops;
	const char *name, *device;
	void *memory;			/* NULL: it is away */
	bool here;			/* it answers; else nothing is asked of it */
	u32 from;			/* step of this round that it begins with */
	u64 life, retry;		/* life: 0 until it was asked */
	u64 counted;
	u32 looked;			/* at so many of its maps */
	bool *has;			/* per map */
	u32 *table;			/* per map: id of the table it was given */
	u32 giving, given;		/* map + 1 and id: publishing takes longer */
	int *shard;			/* per map: the pinned shard of a counter */
};

struct fx_sync {
	const char *graph;
	const struct fx_shared *s;
	struct fx_agent_life *life;
	int *home;			/* per map, -1 where nothing is to be copied */
	struct remote *remote;
	u32 limit_ms;			/* how long one memory may hold up a round */
	u8 *rows[3];			/* as many as the largest map has */
};

/* ---- opening ----------------------------------------------------------- */

static bool copied(const struct fx_map_desc *d)
{
	return (d->cls == FX_MAP_SNAPSHOT || d->cls == FX_MAP_BOUNDED) && d->raw_size;
}

static int open_shards(struct fx_sync *y, struct remote *r)
{
	for (u32 i = 0; i < y->s->maps.n; i++) {
		const struct fx_map_desc *d = &y->s->maps.map[i];
		char *file;

		r->shard[i] = -1;
		if (d->cls != FX_MAP_COUNTER)
			continue;
		file = fx_asprintf("%s@%s", d->name, r->device);
		r->shard[i] = fx_shared_get(y->s, file);
		free(file);
		/* the device's program may have been compiled without the map */
		if (r->shard[i] < 0 && r->shard[i] != -ENOENT)
			return r->shard[i];
	}
	return 0;
}

static int open_all(struct fx_sync *y)
{
	const u32 n = y->s->maps.n;
	size_t most = 1;

	for (u32 i = 0; i < n; i++) {
		const struct fx_map_desc *d = &y->s->maps.map[i];

		y->home[i] = copied(d) ? fx_shared_get(y->s, d->name) : -1;
		if (copied(d) && y->home[i] < 0)
			return y->home[i];
		if (copied(d) || d->cls == FX_MAP_COUNTER)
			most = fx_memory_bytes(d) > most ? fx_memory_bytes(d) : most;
	}
	for (u32 i = 0; i < ARRAY_SIZE(y->rows); i++)
		y->rows[i] = fx_calloc(1, most);
	for (u32 i = 0; i < y->s->n_remote; i++) {
		struct remote *r = &y->remote[i];
		int err;

		r->device = y->s->remote[i].device;
		r->ops = fx_memory_ops_of(r->device, &r->name);
		if (!r->ops)
			return -EPROTO;
		err = open_shards(y, r);
		if (err)
			return err;
	}
	return 0;
}

/*
 * A round in which a memory comes through all of its steps may take half of the
 * shortest bound. To wait longer than that harms no promise, as there is none
 * without that memory.
 */
static u32 limit_of(const struct fx_shared *s)
{
	u32 bound = 0, ms;

	for (u32 i = 0; i < s->maps.n; i++)
		if (s->maps.map[i].cls == FX_MAP_BOUNDED &&
		    (!bound || s->maps.map[i].ms < bound))
			bound = s->maps.map[i].ms;
	ms = bound / 2 < LIMIT_MAX_MS ? bound / 2 : LIMIT_MAX_MS;
	ms = ms > LIMIT_MS ? ms : LIMIT_MS;
	ms /= s->n_remote ? s->n_remote : 1;
	return ms ? ms : 1;
}

struct fx_sync *fx_sync_new(const char *graph, const struct fx_shared *s,
			    struct fx_agent_life *life, int *err)
{
	struct fx_sync *y = fx_calloc(1, sizeof(*y));

	y->graph = graph;
	y->s = s;
	y->limit_ms = limit_of(s);
	y->life = life;
	y->home = fx_calloc(s->maps.n + 1, sizeof(*y->home));
	y->remote = fx_calloc(s->n_remote + 1, sizeof(*y->remote));
	for (u32 i = 0; i < s->maps.n; i++)
		y->home[i] = -1;
	for (u32 i = 0; i < s->n_remote; i++) {
		y->remote[i].has = fx_calloc(s->maps.n + 1, sizeof(bool));
		y->remote[i].table = fx_calloc(s->maps.n + 1, sizeof(u32));
		y->remote[i].shard = fx_calloc(s->maps.n + 1, sizeof(int));
		memset(y->remote[i].shard, -1, s->maps.n * sizeof(int));
	}
	*err = s->maps.n ? open_all(y) : -ENOENT;
	if (!*err)
		return y;
	fx_sync_free(y);
	return NULL;
}

static void let_go(struct remote *r)
{
	if (r->memory)
		r->ops->close(r->memory);
	r->memory = NULL;
	r->here = false;
	r->from = STEP_LIFE;
	r->life = 0;
	r->giving = 0;
	r->retry = fx_monotonic_ns() + RETRY_MS * 1000000ULL;
}

void fx_sync_free(struct fx_sync *y)
{
	if (!y)
		return;
	for (u32 i = 0; i < y->s->n_remote; i++) {
		struct remote *r = &y->remote[i];

		let_go(r);
		for (u32 j = 0; j < y->s->maps.n; j++)
			if (r->shard[j] >= 0)
				close(r->shard[j]);
		free(r->has);
		free(r->table);
		free(r->shard);
	}
	for (u32 i = 0; i < y->s->maps.n; i++)
		if (y->home[i] >= 0)
			close(y->home[i]);
	for (u32 i = 0; i < ARRAY_SIZE(y->rows); i++)
		free(y->rows[i]);
	free(y->remote);
	free(y->home);
	free(y);
}

/* ---- who is there ------------------------------------------------------ */

static int look_at_maps(struct fx_sync *y, struct remote *r)
{
	for (; r->looked < y->s->maps.n; r->looked++) {
		const u32 i = r->looked;
		const struct fx_map_desc *d = &y->s->maps.map[i];
		int err = -ENOENT;

		fx_agent_life_beat(y->life);
		if (copied(d) || r->shard[i] >= 0)
			err = r->ops->has(r->memory, d);
		if (err && err != -ENOENT)
			return err;
		r->has[i] = !err;
		r->table[i] = 0;
	}
	return 0;
}

/*
 * After an error at a step: one that has not answered in time is left alone
 * until it has, so that it holds up the others once and not in every round.
 */
static void leave(struct remote *r, u32 step, int err)
{
	if (err == -EAGAIN) {
		r->here = false;
		r->from = step;
	} else {
		let_go(r);
	}
}

static void check(struct remote *r, u32 step, int err)
{
	if (err)
		leave(r, step, err);
}

/* Is it there, and has not yet come through this step? */
static bool turn(const struct remote *r, u32 step)
{
	return r->here && step >= r->from;
}

/* Has it answered meanwhile? */
static bool catch_up(struct remote *r)
{
	int err = r->ops->owed(r->memory);

	if (err == -EAGAIN)
		return false;
	if (!err && r->giving)
		r->table[r->giving - 1] = r->given;
	r->giving = 0;
	r->ops->again(r->memory);
	return true;
}

static int ask_life(struct fx_sync *y, struct remote *r)
{
	u64 life = 0;
	int err = r->ops->life(r->memory, y->graph, &life);

	/* one that began anew has none of what it was given */
	if (!err && life != r->life) {
		r->life = life;
		r->looked = 0;
		r->counted = 0;
	}
	return err;
}

static void visit(struct fx_sync *y, struct remote *r)
{
	u32 step = STEP_LIFE;
	int err = 0;

	r->here = false;
	if (!r->memory && fx_monotonic_ns() < r->retry)
		return;
	fx_agent_life_beat(y->life);
	if (!r->memory)
		err = r->ops->open(r->name, y->graph, y->limit_ms, &r->memory);
	if (!err && !catch_up(r))
		return;
	if (!err && r->from <= STEP_LIFE)
		err = ask_life(y, r);
	if (!err) {
		step = STEP_MAPS;
		err = look_at_maps(y, r);
	}
	r->here = !err;
	check(r, step, err);
}

/* ---- counters ---------------------------------------------------------- */

/* Each entry says by itself which life of the memory it is of. */
static int keep_count(int shard, u32 i, u64 n, u64 life)
{
	struct fx_remote_count c = { 0 };

	if (bpf_map_lookup_elem(shard, &i, &c) && errno != ENOENT)
		return -errno;
	if (c.life == life && c.last == n)
		return 0;
	if (c.life != life || n < c.last)
		c.base += c.last;
	c.last = n;
	c.life = life;
	return bpf_map_update_elem(shard, &i, &c, BPF_ANY) ? -errno : 0;
}

static void count(struct fx_sync *y, struct remote *r, u64 now)
{
	u64 *sums = (u64 *)y->rows[0];

	for (u32 i = 0; i < y->s->maps.n && r->here; i++) {
		const struct fx_map_desc *d = &y->s->maps.map[i];
		int err;

		if (r->shard[i] < 0 || !r->has[i] || !turn(r, STEP_COUNT(i)))
			continue;
		fx_agent_life_beat(y->life);
		err = r->ops->read(r->memory, d, sums);
		for (u32 j = 0; j < d->entries && !err; j++)
			err = keep_count(r->shard[i], j, sums[j], r->life);
		check(r, STEP_COUNT(i), err);
	}
	if (r->here)
		r->counted = now;
}

/* ---- snapshots --------------------------------------------------------- */

static void give_table(struct fx_sync *y, u32 map)
{
	const struct fx_map_desc *d = &y->s->maps.map[map];
	const u32 zero = 0;
	void *table = NULL;
	u32 id;

	/* before the first epoch there is no entry */
	if (bpf_map_lookup_elem(y->home[map], &zero, &id))
		return;
	for (u32 i = 0; i < y->s->n_remote; i++) {
		struct remote *r = &y->remote[i];
		int err;

		if (!turn(r, STEP_GIVE(map)) || !r->has[map] || r->table[map] == id)
			continue;
		/* it may be newer than @id, and is then given again: the same */
		if (!table && (fx_shared_snapshot(y->s, d, &table) || !table))
			return;
		fx_agent_life_beat(y->life);
		err = r->ops->publish(r->memory, d, table);
		if (!err) {
			r->table[map] = id;
			continue;
		}
		leave(r, STEP_GIVE(map), err);
		/* it waits for its workers, and says when they have it */
		r->giving = err == -EAGAIN ? map + 1 : 0;
		r->given = id;
	}
	free(table);
}

/* ---- bounded ----------------------------------------------------------- */

static u64 stamp_of(const struct fx_map_desc *d, const u8 *row)
{
	u64 stamp;

	memcpy(&stamp, row + d->stamp_at, sizeof(stamp));
	return stamp;
}

static u8 *row_at(const struct fx_map_desc *d, u8 *rows, u32 i)
{
	return rows + (size_t)i * d->raw_size;
}

/* Stamp and value, whoever wrote them. */
static bool same_row(const struct fx_map_desc *d, const u8 *a, const u8 *b)
{
	return stamp_of(d, a) == stamp_of(d, b) &&
	       !memcmp(a + d->value_at, b + d->value_at, d->value_size);
}

/*
 * A row of a memory that stores words may have been read while it was written:
 * a new value with the old stamp, as stamps are stored last and read first. It
 * is brought early, and again under its own stamp.
 */
static bool take_newer(const struct fx_map_desc *d, u8 *best, const u8 *row)
{
	if (!stamp_of(d, row) || stamp_of(d, row) < stamp_of(d, best) ||
	    same_row(d, row, best))
		return false;
	memcpy(best + d->value_at, row + d->value_at, d->value_size);
	memcpy(best + d->stamp_at, row + d->stamp_at, sizeof(u64));
	return true;
}

static int write_home(struct fx_sync *y, u32 map, u32 row, const u8 *value)
{
	const struct fx_map_desc *d = &y->s->maps.map[map];

	return bpf_map_update_elem(y->home[map], &row, value, d->locked ? BPF_F_LOCK : 0) ?
	       -errno : 0;
}

/* What the memories wrote, into the kernel's far rows, of which @home is a copy. */
static int bring(struct fx_sync *y, struct remote *r, u32 map, u8 *home, u8 *theirs)
{
	const struct fx_map_desc *d = &y->s->maps.map[map];
	int err;

	fx_agent_life_beat(y->life);
	err = r->ops->read(r->memory, d, theirs);
	for (u32 i = 0; i < d->entries && !err; i++) {
		u8 *far = row_at(d, home, d->entries + i);

		if (take_newer(d, far, row_at(d, theirs, i)))
			err = write_home(y, map, d->entries + i, far);
	}
	return err;
}

/* What everybody wrote, into a memory's far rows. */
static int take(struct fx_sync *y, struct remote *r, u32 map, u8 *home, u8 *theirs)
{
	const struct fx_map_desc *d = &y->s->maps.map[map];
	int err;

	fx_agent_life_beat(y->life);
	err = r->ops->read(r->memory, d, theirs);
	for (u32 i = 0; i < d->entries && !err; i++) {
		u8 *far = row_at(d, theirs, d->entries + i);
		bool newer = take_newer(d, far, row_at(d, home, i));

		newer |= take_newer(d, far, row_at(d, home, d->entries + i));
		if (newer)
			fx_agent_life_beat(y->life);
		if (newer)
			err = r->ops->write(r->memory, d, d->entries + i, far);
	}
	return err;
}

/* Has everybody been asked for everything, so that nothing can be missing? */
static bool all_there(const struct fx_sync *y)
{
	for (u32 i = 0; i < y->s->n_remote; i++)
		if (!y->remote[i].here || y->remote[i].from > STEP_MAPS)
			return false;
	return true;
}

static void sync_bounded(struct fx_sync *y, u32 map)
{
	const struct fx_map_desc *d = &y->s->maps.map[map];
	u8 *home = y->rows[0], *theirs = y->rows[1], *row = y->rows[2];
	/* all that was written before this is read below */
	const u64 since = fx_monotonic_ns();
	int err;

	err = fx_map_rows(y->home[map], d, 0, 2 * d->entries, home);
	if (err)
		return;
	for (u32 i = 0; i < y->s->n_remote; i++) {
		struct remote *r = &y->remote[i];

		if (turn(r, STEP_BRING(map)) && r->has[map])
			check(r, STEP_BRING(map), bring(y, r, map, home, theirs));
	}
	for (u32 i = 0; i < y->s->n_remote; i++) {
		struct remote *r = &y->remote[i];

		if (turn(r, STEP_TAKE(map)) && r->has[map])
			check(r, STEP_TAKE(map), take(y, r, map, home, theirs));
	}
	if (!all_there(y))
		return;
	memset(row, 0, d->raw_size);
	memcpy(row + d->stamp_at, &since, sizeof(since));
	for (u32 i = 0; i < y->s->n_remote; i++) {
		struct remote *r = &y->remote[i];

		fx_agent_life_beat(y->life);
		if (r->here && r->has[map])
			check(r, STEP_TAKE(map) + 1,
			      r->ops->write(r->memory, d, 2 * d->entries, row));
	}
	write_home(y, map, 2 * d->entries, row);
}

/* ---- a round ----------------------------------------------------------- */

void fx_sync_round(struct fx_sync *y)
{
	const u64 now = fx_monotonic_ns();

	for (u32 i = 0; i < y->s->n_remote; i++)
		visit(y, &y->remote[i]);
	for (u32 i = 0; i < y->s->maps.n; i++) {
		if (y->home[i] < 0)
			continue;
		if (y->s->maps.map[i].cls == FX_MAP_BOUNDED)
			sync_bounded(y, i);
		else
			give_table(y, i);
	}
	for (u32 i = 0; i < y->s->n_remote; i++) {
		struct remote *r = &y->remote[i];

		if (r->here && now - r->counted >= COUNT_MS * 1000000ULL)
			count(y, r, now);
		/* it came to the end */
		if (r->here)
			r->from = STEP_LIFE;
	}
}

u32 fx_sync_interval_ms(const struct fx_sync *y)
{
	u32 ms = COUNT_MS;

	for (u32 i = 0; i < y->s->maps.n; i++) {
		const struct fx_map_desc *d = &y->s->maps.map[i];
		u32 want = d->cls == FX_MAP_SNAPSHOT ? TABLE_MS :
			   d->cls == FX_MAP_BOUNDED ? d->ms / 5 : COUNT_MS;

		ms = want < ms ? want : ms;
	}
	/* there is a CPU to leave to others */
	return ms < 2 ? 2 : ms;
}
