/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A bundle's DPUs while they are worked on: between the dpus*.c. */
#ifndef FX_DPUS_INT_H
#define FX_DPUS_INT_H

#include "bundle.h"
#include "dpu.h"
#include "pins.h"
#include "session.h"

/* The map in dpu-NAME/: struct fx_nic_conf. */
#define FX_DPUS_CONF	"fx_conf"

struct fx_dpus_one {
	const struct fx_bundle_dpu *part;
	struct fx_dpu *dpu;
	u32 replace;			/* enum fx_dpu_replace: what it has of the graph */
	bool pinned;			/* what it was given last is known */
	u32 flags;			/* of what it is given now */
	bool loaded;			/* by us, to be taken back */
	bool well;			/* repair: there is nothing to mend */
	bool noted;			/* repair: it was well, and is pinned again */
	bool failed;			/* repair: it cannot be mended */
	bool swapped;
};

struct fx_dpus {
	const struct fx_bundle *bundle;
	const struct fx_session_options *opt;
	struct fx_dpus_one *one;
	u32 n;
	bool keep;
};

const char *fx_dpus_graph(const struct fx_dpus *d);

/* dpus.c: of one; each prints one sentence when it fails. */
enum fx_rc fx_dpus_failed(const struct fx_dpus_one *o, int err);
enum fx_rc fx_dpus_load_one(const struct fx_dpus *d, struct fx_dpus_one *o);
/* The DPU undoes a load whose connection ends, unless it is told to keep it. */
enum fx_rc fx_dpus_keep_one(const struct fx_dpus *d, struct fx_dpus_one *o);
/* What stays when the DPU's process ends: which one, of which graph. */
enum fx_rc fx_dpus_write_down(const struct fx_dpus *d, const struct fx_dpus_one *o,
			      struct fx_pins *pins);

/* dpus_pinned.c: what was written down at attach, in @dir; 0 or -errno. */
int fx_dpus_read_conf(const char *dir, struct fx_nic_conf *conf);

#endif /* FX_DPUS_INT_H */
