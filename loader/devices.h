/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The devices that a policy is compiled for: a row each. What compiles, writes
 * and reads bundles goes through the table and knows none by name.
 */
#ifndef FX_DEVICES_H
#define FX_DEVICES_H

#include "bundle_files.h"
#include "cmd.h"
#include "types.h"

struct fx_bundle;
struct fx_graph;
struct fx_part;
struct json_object;

/* What is compiled. */
struct fx_lower_in {
	const struct fx_graph *g;
	const char *policy;		/* a C file */
	const char *include;		/* a directory to search first, or NULL */
	const char *text;		/* C in place of what @policy holds, or NULL */
};

/* What came of it; release with fx_lowered_free(), also after an error. */
struct fx_lowered {
	struct fx_part *part;		/* the device's files */
	u32 n, cap;
	struct json_object *about;	/* for the manifest, under the device's key */
	struct json_object *classes;	/* {map: class} of the policy's maps, or NULL */
	char *text;			/* for the summary: "nic eth0 (3 flows)" */
};

#define FX_DEVICE_FILES	4

struct fx_device {
	const char *name;		/* as --device and the bundle's directory say */
	const char *key;		/* of the manifest */
	const char *crossed;		/* how an edge crosses it, in a sentence */
	bool named;			/* files are NAME/OBJECT/FILE, not NAME/FILE */
	bool flows;			/* knows edges by their flows */
	const char *loads;		/* who loads it, where `attach` does not, or NULL */
	struct fx_bundle_file file[FX_DEVICE_FILES];	/* up to one without name */

	/* Is there anything in the graph for the device to decide? */
	bool (*crosses)(const struct fx_graph *g);
	/* FX_RC_OK, FX_RC_INPUT after a diagnostic, FX_RC_SYSTEM after a sentence */
	enum fx_rc (*lower)(const struct fx_lower_in *in, struct fx_lowered *out);
	/*
	 * Take what @about and the files in @b->part say; NULL where nothing of
	 * it is looked at before a runtime does. FX_RC_OK or fx_bundle_unsound().
	 */
	enum fx_rc (*read)(const struct fx_bundle_source *s, struct fx_bundle *b,
			   struct json_object *about);
};

#define FX_MAX_DEVICES	16

/* The first is the kernel, which takes any graph when it is asked for. */
extern const struct fx_device fx_devices[];
extern const u32 fx_n_devices;

/*
 * Does the bundle have a part that `attach` puts in place? If not, that was
 * told by a sentence.
 */
bool fx_devices_attach(const struct fx_bundle *b);

/* The row of a name, or NULL. */
const struct fx_device *fx_device(const char *name);
/* "kernel, nic": all of them, to free(). */
char *fx_device_names(void);

/*
 * The device's file that a path of a bundle names, with the most bytes that
 * are read of it; NULL when no device has such a file.
 */
const struct fx_bundle_file *fx_device_file(const char *path);

/* Add a file: @path and @data are the part's from here on. */
void fx_lowered_add(struct fx_lowered *l, char *path, void *data, size_t size);
void fx_lowered_free(struct fx_lowered *l);

#endif /* FX_DEVICES_H */
