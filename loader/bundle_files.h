/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The files of a bundle, between its reader and its writer. */
#ifndef FX_BUNDLE_FILES_H
#define FX_BUNDLE_FILES_H

#include "cmd.h"
#include "types.h"

#define FX_WORD_CHARS \
	"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"

enum fx_bundle_file_id {
	FX_BUNDLE_MANIFEST,
	FX_BUNDLE_EDGES,
	FX_BUNDLE_OBLIGATIONS,
	FX_BUNDLE_POLICY,
	FX_BUNDLE_FILES,
};

struct fx_bundle_file {
	const char *name;
	u32 max;		/* bytes that are read of it */
};

/* The two files in nic/NETDEV/. */
#define FX_BUNDLE_NIC_FILES	2
extern const struct fx_bundle_file fx_bundle_nic_files[FX_BUNDLE_NIC_FILES];

/* Opening a bundle, for its files: what is read, and how they are. */
struct fx_bundle;
struct json_object;

struct fx_bundle_source {
	const char *dir;
	int fd;
	struct json_object *manifest;	/* once it was read */
};

/* Read a file that the manifest lists with its size and digest. */
enum fx_rc fx_bundle_read(const struct fx_bundle_source *s,
			  const struct fx_bundle_file *f, char **text, size_t *len);
/* FX_RC_INPUT, after the sentence about a file. */
enum fx_rc fx_bundle_unsound(const struct fx_bundle_source *s, const char *name,
			     const char *why);

/* bundle_nic.c: the parts for network devices, checked against the graph */
enum fx_rc fx_bundle_read_nics(const struct fx_bundle_source *s, struct fx_bundle *b);
void fx_bundle_free_nics(struct fx_bundle *b);
/* May a network device have this name, and so a directory? */
bool fx_netdev_name_ok(const char *name);

extern const struct fx_bundle_file fx_bundle_files[FX_BUNDLE_FILES];

char *fx_sha256(const void *data, size_t len);

#endif /* FX_BUNDLE_FILES_H */
