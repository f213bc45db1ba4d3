/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* An edge at one device, whose queue pair is bound there; for tag.c alone. */
#ifndef FX_TAG_DEV_H
#define FX_TAG_DEV_H

#include "cmd.h"
#include "nic_rows.h"

#define FX_TAG_MAPS	3

struct fx_dpu;
struct fx_tag_kind;

struct fx_tag_at {
	const char *graph, *edge;	/* as it was named */
	const struct fx_tag_kind *kind;
	const struct fx_nic_view *view;
	u32 row;
	int fd[FX_TAG_MAPS];		/* of a network device */
	struct fx_dpu *dpu;		/* of a DPU */
};

/* The kinds of devices. */
struct fx_tag_kind {
	const char *noun;
	/* Reach it; FX_RC_OK or after one sentence. To close() in any case. */
	enum fx_rc (*open)(struct fx_tag_at *at);
	/* Is the queue pair @qp free there, or the edge's already? After a sentence, if not. */
	enum fx_rc (*check)(const struct fx_tag_at *at, u32 qp);
	/* Let the edge have @qp in place of @old; 0 or -errno. */
	int (*bind)(const struct fx_tag_at *at, u32 old, u32 qp);
	/* Say why bind() failed. */
	enum fx_rc (*tell)(const struct fx_tag_at *at, int err);
	void (*close)(struct fx_tag_at *at);
};

extern const struct fx_tag_kind fx_tag_nic, fx_tag_dpu;

/* @qp is that of row @other; FX_RC_INPUT after a sentence. */
enum fx_rc fx_tag_taken(const struct fx_tag_at *at, u32 qp, u32 other);

#endif /* FX_TAG_DEV_H */
