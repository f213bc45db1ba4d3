/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The files of a bundle, between its reader and its writer. */
#ifndef FX_BUNDLE_FILES_H
#define FX_BUNDLE_FILES_H

#include <linux/fabric_ext.h>

#include "cmd.h"
#include "types.h"

#define FX_WORD_CHARS \
	"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"

/* What every bundle has, beside the devices' files. */
enum fx_bundle_file_id {
	FX_BUNDLE_SEAL,
	FX_BUNDLE_MANIFEST,
	FX_BUNDLE_EDGES,
	FX_BUNDLE_OBLIGATIONS,
	FX_BUNDLE_FILES,
};

struct fx_bundle_file {
	const char *name;
	u32 max;		/* bytes that are read of it */
};

extern const struct fx_bundle_file fx_bundle_files[FX_BUNDLE_FILES];

/* What manifest.json calls the sections of the graph's image, in "counts". */
extern const char *const fx_bundle_sections[FX_SECTS];

struct fx_image;
struct fx_nic_flow;

/* Opening a bundle, for the devices: what is read, and how it is refused. */
struct fx_bundle;
struct fx_part;
struct json_object;

struct fx_bundle_source {
	const char *dir;
	int fd;
	struct json_object *manifest;	/* once it was read */
};

/* FX_RC_INPUT, after the sentence about a file. */
enum fx_rc fx_bundle_unsound(const struct fx_bundle_source *s, const char *name,
			     const char *why);
/* One of the devices' files, as checked; NULL after the sentence that it is none. */
struct fx_part *fx_bundle_part(const struct fx_bundle_source *s, struct fx_bundle *b,
			       const char *path);

/* Readers of the devices' parts, for the table of devices. */
enum fx_rc fx_bundle_read_kernel(const struct fx_bundle_source *s, struct fx_bundle *b,
				 struct json_object *about);
enum fx_rc fx_bundle_read_nics(const struct fx_bundle_source *s, struct fx_bundle *b,
			       struct json_object *about);
void fx_bundle_free_nics(struct fx_bundle *b);
/* The place of the graph that a device is, or FX_PLACE_NONE. */
u32 fx_bundle_place(const struct fx_image *img, u32 kind, u32 match_kind,
		    const char *match);
/* What is wrong with the flows of a place, or NULL. */
const char *fx_bundle_flows_wrong(const struct fx_image *img, u32 place,
				  struct fx_nic_flow *flow, u32 n);
enum fx_rc fx_bundle_read_dpus(const struct fx_bundle_source *s, struct fx_bundle *b,
			       struct json_object *about);
void fx_bundle_free_dpus(struct fx_bundle *b);

/* May something on a device have this name, and so a directory? */
bool fx_part_name_ok(const char *name);

char *fx_sha256(const void *data, size_t len);
/* What manifest.sha256 holds, as sha256sum -c takes it; to free(). */
char *fx_bundle_seal(const char *manifest, size_t len);

#endif /* FX_BUNDLE_FILES_H */
