/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A bundle's network devices while they are worked on: between the nic*.c. */
#ifndef FX_NIC_DEV_H
#define FX_NIC_DEV_H

#include <bpf/libbpf.h>

#include "bundle.h"
#include "pins.h"
#include "session.h"

/* The programs on a device. */
enum { FX_NIC_XDP, FX_NIC_TC_IN, FX_NIC_TC_OUT, FX_NIC_LINKS };

struct fx_nic_link {
	const char *pin;	/* its link's name below the device's directory */
	const char *prog;
	const char *what;
	u8 dir;			/* there when the device has flows this way */
};

/* The map of the numbers of links that a process holds, by their index. */
#define FX_NIC_LINK_IDS	"links"

extern const struct fx_nic_link fx_nic_links[FX_NIC_LINKS];

struct fx_nic_dev {
	const struct fx_bundle_nic *part;
	u32 ifindex;
	struct bpf_object *obj;
	struct bpf_link *link[FX_NIC_LINKS];
	int old_link[FX_NIC_LINKS];	/* replaced: the pinned one, or 0 */
	int old_prog[FX_NIC_LINKS];	/* and what it ran */
	bool was_bypassed;		/* what was pinned when this began */
	bool wants[FX_DIRS];
	bool repaired;
};

struct fx_nics {
	const struct fx_bundle *bundle;
	const struct fx_session_options *opt;
	struct fx_maps *maps;
	char *policy;
	struct fx_nic_dev *dev;
	u32 n;
	bool away;		/* repair: a device is still not there */
};

/* nic.c: attach and pin one device's programs */
enum fx_rc fx_nic_attach_dev(struct fx_nic_dev *d);
enum fx_rc fx_nic_pin_dev(const struct fx_nic_dev *d, struct fx_pins *pins);
/* Open an object and load it; counters go on in the pinned maps, if there are. */
enum fx_rc fx_nic_load_dev(struct fx_nics *n, struct fx_nic_dev *d);

/*
 * nic_swap.c: what was counted before stays counted, what a queue pair has sent
 * stays known, and sockets stay: the programs go on in the maps that are pinned.
 */
enum fx_rc fx_nic_keep_maps(const struct fx_nics *n, struct fx_nic_dev *d);
/* The flags that go on as well: a repair mends what was there, audit or not. */
u32 fx_nic_keep_flags(const struct fx_nics *n, const struct fx_nic_dev *d);

/* SHA-256 of a part's object. */
void fx_nic_digest(const struct fx_bundle_nic *part, u8 digest[FX_DIGEST_LEN]);
/* Close a descriptor, unless it is 0, which stands for none. */
void fx_close(int fd);

/* What is pinned says of itself; 0 or -errno. */
int fx_nic_conf_read(const char *graph, const char *sub, struct fx_nic_conf *conf);
/* The same of what is below @dir, as that of a replacement is. */
int fx_nic_conf_read_at(const char *dir, struct fx_nic_conf *conf);
/* Detach a pinned link, if it is there; 0 or -errno. */
int fx_nic_end_link(const char *graph_dir, const char *sub, const char *name);
/* What the kernel tells of a link: 0; -ENOENT, -ENOLINK when its process ended. */
int fx_nic_link_info(const char *graph_dir, const char *sub, u32 link,
		     struct bpf_link_info *info);
/* The device that it holds: its ifindex, 0 when that went away. */
u32 fx_nic_ifindex_of(const struct bpf_link_info *info);
/* The ifindex that a link holds, 0 when it holds none or ended, or -errno. */
int fx_nic_link_ifindex(const char *graph_dir, const char *sub, u32 link);

/* ---- nic_running.c: what is pinned, and what runs ---------------------- */

/* The maps and programs of a replacement, below the device's, until they count. */
#define FX_NIC_NEXT	"next"

/*
 * A replacement that was killed, or that goes on, has updated links, and has yet
 * to exchange what is pinned: then a link runs what lies in next/.
 */
enum fx_nic_runs {
	FX_NIC_RUNS_PINNED,	/* programs and maps are where they should be */
	FX_NIC_RUNS_NEXT,	/* its fx_conf is that in next/ */
	FX_NIC_RUNS_OTHER,	/* neither; or it is in place, and its program not */
};

/* What a link runs: enum fx_nic_runs, or -errno as fx_nic_link_info(). */
int fx_nic_link_runs(const char *graph_dir, const char *sub, u32 link);
/* The same of a device: the first of its links that runs other than is pinned. */
enum fx_nic_runs fx_nic_runs(const char *graph_dir, const char *sub);
/* Is what is pinned by-passed, and so is what is to take its place, if there is such? */
bool fx_nic_is_bypassed(const char *graph, const char *sub);
/* Set the flag in an fx_conf: whether it was not set before, or -errno. */
int fx_nic_conf_bypass(int fd);
/* Let what the link runs pass everything, wherever its fx_conf is; 0 or -errno. */
int fx_nic_link_bypass(const char *graph_dir, const char *sub, u32 link);

#endif /* FX_NIC_DEV_H */
