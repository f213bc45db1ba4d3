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

/* SHA-256 of a part's object. */
void fx_nic_digest(const struct fx_bundle_nic *part, u8 digest[FX_DIGEST_LEN]);
/* Close a descriptor, unless it is 0, which stands for none. */
void fx_close(int fd);

/* What is pinned says of itself; 0 or -errno. */
int fx_nic_conf_read(const char *graph, const char *sub, struct fx_nic_conf *conf);
/* Detach a pinned link, if it is there; 0 or -errno. */
int fx_nic_end_link(const char *graph_dir, const char *sub, const char *name);
/* The ifindex that a link holds, 0 when it holds none or ended, or -errno. */
int fx_nic_link_ifindex(const char *graph_dir, const char *sub, u32 link);

#endif /* FX_NIC_DEV_H */
