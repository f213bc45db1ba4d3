// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "diag.h"
#include "hold.h"
#include "owner.h"
#include "session.h"
#include "system.h"
#include "util.h"

#define OWNER		"@owner"
#define TAKE_TRIES	20	/* of 10 ms: somebody may only look */

enum fx_holder fx_owner_of(const char *graph)
{
	char *dir = fx_pins_dir(graph);
	char *path = fx_asprintf("%s/" OWNER, dir);
	enum fx_holder owner = FX_HOLDER_NONE;
	int held;

	if (!fx_pins_is_ours(path))
		goto out;
	held = fx_hold_is_held(dir, OWNER);
	/* only who was seen to let go has died */
	if (held != -ENOENT)
		owner = held ? FX_HOLDER_LIVES : FX_HOLDER_DIED;
out:
	free(path);
	free(dir);
	return owner;
}

enum fx_rc fx_owner_take(const struct fx_pins *p, int *fd)
{
	*fd = fx_hold_take(p->dir, OWNER, TAKE_TRIES);
	if (*fd >= 0)
		return FX_RC_OK;
	fx_err("%s/" OWNER " cannot be taken: %s", p->dir, strerror(-*fd));
	return FX_RC_SYSTEM;
}

bool fx_owner_counts(const struct fx_pins *p, int fd)
{
	return fx_hold_counts(p->dir, OWNER, fd);
}

void fx_owner_sweep(const char *graph)
{
	struct fx_pins *pins;

	if (fx_owner_of(graph) != FX_HOLDER_DIED)
		return;
	/* who has the lock may be the owner, about to take it, or sweeps as well */
	pins = fx_pins_try_lock(graph);
	if (pins && fx_owner_of(graph) == FX_HOLDER_DIED)
		fx_session_unpin(graph, pins);
	fx_pins_unlock(pins);
}

void fx_owner_sweep_all(void)
{
	struct fx_words graphs = { 0 };

	fx_pins_list_all(&graphs);
	for (u32 i = 0; i < graphs.n; i++)
		fx_owner_sweep(graphs.word[i]);
	fx_words_free(&graphs);
}
