// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Reading a bundle. Nothing in it is taken on trust: see bundle.h. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bundle.h"
#include "bundle_files.h"
#include "devices.h"
#include "diag.h"
#include "digest.h"
#include "json.h"
#include "names.h"
#include "util.h"

const struct fx_bundle_file fx_bundle_files[FX_BUNDLE_FILES] = {
	[FX_BUNDLE_SEAL] = { "manifest.sha256", 128 },
	[FX_BUNDLE_MANIFEST] = { "manifest.json", 1U << 20 },
	[FX_BUNDLE_EDGES] = { "edges.bin", 256U << 20 },
	[FX_BUNDLE_OBLIGATIONS] = { "obligations.json", 64U << 20 },
};

const char *const fx_bundle_sections[FX_SECTS] = {
	"places", "alias_sets", "edges", "instances", "after",
};

void fx_parts_free(struct fx_part *part, u32 n)
{
	for (u32 i = 0; i < n; i++) {
		free(part[i].path);
		free(part[i].data);
	}
	free(part);
}

enum fx_rc fx_bundle_unsound(const struct fx_bundle_source *s, const char *name,
			     const char *why)
{
	fx_err("%s/%s: %s; the bundle is not sound, compile it again", s->dir,
	       name, why);
	return FX_RC_INPUT;
}

static enum fx_rc unsound(const struct fx_bundle_source *s,
			  enum fx_bundle_file_id id, const char *why)
{
	return fx_bundle_unsound(s, fx_bundle_files[id].name, why);
}

static enum fx_rc read_file(const struct fx_bundle_source *s,
			    const struct fx_bundle_file *f, char **text,
			    size_t *len)
{
	int err = fx_read_at(s->fd, f->name, O_NOFOLLOW, f->max, text, len);

	switch (err) {
	case 0:
		return FX_RC_OK;
	case -ENOENT:
		return fx_bundle_unsound(s, f->name, "there is no such file");
	case -EFBIG:
		return fx_bundle_unsound(s, f->name, "the file is too large");
	case -ELOOP:
	case -EINVAL:
	case -EISDIR:
	case -ENOTDIR:
	case -ENXIO:	/* a socket */
		return fx_bundle_unsound(s, f->name, "this is no regular file");
	default:
		fx_err("%s/%s cannot be read: %s", s->dir, f->name,
		       strerror(-err));
		return FX_RC_SYSTEM;
	}
}

static struct json_object *parse_json(const char *text, size_t len)
{
	struct json_tokener *tok = json_tokener_new_ex(16);
	struct json_object *o = NULL;

	if (!tok)
		return NULL;
	json_tokener_set_flags(tok, JSON_TOKENER_STRICT);
	/* with the NUL, so that it sees where a number ends */
	o = json_tokener_parse_ex(tok, text, len + 1);
	if (json_tokener_get_error(tok) != json_tokener_success) {
		json_object_put(o);
		o = NULL;
	}
	json_tokener_free(tok);
	return o;
}

/* The object that a file's text is. */
static enum fx_rc take_json(const struct fx_bundle_source *s, enum fx_bundle_file_id id,
			    const char *text, size_t len, struct json_object **out)
{
	if (len > 0x7ffffffe || strlen(text) != len)
		*out = NULL;
	else
		*out = parse_json(text, len);
	if (*out && json_object_is_type(*out, json_type_object))
		return FX_RC_OK;
	return unsound(s, id, "this is no JSON object");
}

/* The manifest lists each other file with its size and digest. */
static enum fx_rc matches(const struct fx_bundle_source *s, const char *name,
			  const char *text, size_t len)
{
	struct json_object *files, *f;
	const char *want;
	u64 bytes;
	char *have;
	bool same;

	if (!json_object_object_get_ex(s->manifest, "files", &files) ||
	    !json_object_is_type(files, json_type_object) ||
	    !json_object_object_get_ex(files, name, &f) ||
	    !fx_json_get_u64(f, "bytes", &bytes) ||
	    !fx_json_get_str(f, "sha256", &want))
		return fx_bundle_unsound(s, name, "the manifest does not list it");
	have = fx_sha256(text, len);
	same = bytes == len && !strcmp(have, want);
	free(have);
	return same ? FX_RC_OK :
	       fx_bundle_unsound(s, name, "it is not the file that the manifest lists");
}

/* Read a file that the manifest lists with its size and digest. */
static enum fx_rc read_listed(const struct fx_bundle_source *s,
			      const struct fx_bundle_file *f, char **text, size_t *len)
{
	enum fx_rc rc = read_file(s, f, text, len);

	if (rc == FX_RC_OK)
		rc = matches(s, f->name, *text, *len);
	return rc;
}

/* What people read there is what the graph has. */
static bool counts_fit(const struct fx_bundle *b)
{
	struct json_object *counts;
	u64 n;

	if (!json_object_object_get_ex(b->manifest, "counts", &counts) ||
	    !json_object_is_type(counts, json_type_object))
		return false;
	for (u32 i = 0; i < FX_SECTS; i++)
		if (!fx_json_get_u64(counts, fx_bundle_sections[i], &n) ||
		    n != b->image.hdr->count[i])
			return false;
	return true;
}

static enum fx_rc read_image(const struct fx_bundle_source *s, struct fx_bundle *b)
{
	const char *name, *digest;
	enum fx_rc rc;
	char *data = NULL, *err = NULL, *hex = NULL;
	size_t len;

	rc = read_listed(s, &fx_bundle_files[FX_BUNDLE_EDGES], &data, &len);
	if (rc != FX_RC_OK)
		goto out;
	err = fx_image_open(data, len, &b->image);
	if (err) {
		rc = unsound(s, FX_BUNDLE_EDGES, err);
		goto out;
	}
	data = NULL;
	hex = fx_hex(b->image.hdr->digest, FX_DIGEST_LEN);
	if (!fx_json_get_str(b->manifest, "graph", &name) ||
	    strcmp(name, b->image.hdr->name) ||
	    !fx_json_get_str(b->manifest, "digest", &digest) ||
	    strcmp(digest, hex))
		rc = unsound(s, FX_BUNDLE_MANIFEST,
			     "it names another graph than edges.bin");
	else if (!counts_fit(b))
		rc = unsound(s, FX_BUNDLE_MANIFEST,
			     "it does not have the counts of edges.bin");
out:
	free(hex);
	free(err);
	free(data);
	return rc;
}

/* ---- devices ---------------------------------------------------------- */

struct fx_part *fx_bundle_part(const struct fx_bundle_source *s, struct fx_bundle *b,
			       const char *path)
{
	for (u32 i = 0; i < b->n_part; i++)
		if (!strcmp(b->part[i].path, path)) {
			b->part[i].taken = true;
			return &b->part[i];
		}
	fx_bundle_unsound(s, path, "the manifest does not list it");
	return NULL;
}

static bool is_base(const char *name)
{
	for (u32 i = 0; i < FX_BUNDLE_FILES; i++)
		if (!strcmp(fx_bundle_files[i].name, name))
			return true;
	return false;
}

/* All files that the manifest lists, which are the devices' and no others. */
static enum fx_rc read_parts(const struct fx_bundle_source *s, struct fx_bundle *b)
{
	const char *manifest = fx_bundle_files[FX_BUNDLE_MANIFEST].name;
	struct json_object *files;
	enum fx_rc rc = FX_RC_OK;

	if (!json_object_object_get_ex(s->manifest, "files", &files) ||
	    !json_object_is_type(files, json_type_object))
		return fx_bundle_unsound(s, manifest, "it lists no files");
	b->part = fx_calloc(json_object_object_length(files), sizeof(*b->part));
	json_object_object_foreach(files, path, about) {
		const struct fx_bundle_file *f = fx_device_file(path);
		struct fx_part *p = &b->part[b->n_part];
		struct fx_bundle_file file = { path, 0 };
		char *text = NULL;

		(void)about;
		if (is_base(path))
			continue;
		if (!f)
			return fx_bundle_unsound(s, manifest,
						 "it lists a file that no device has");
		file.max = f->max;
		rc = read_listed(s, &file, &text, &p->size);
		p->path = fx_strdup(path);
		p->data = text;
		b->n_part++;
		if (rc != FX_RC_OK)
			return rc;
	}
	return rc;
}

enum fx_rc fx_bundle_read_kernel(const struct fx_bundle_source *s, struct fx_bundle *b,
				 struct json_object *about)
{
	struct json_object *ops;
	struct fx_part *object;
	const char *map;

	if (!fx_json_get_str(about, "ops_map", &map) || !*map ||
	    strspn(map, FX_WORD_CHARS) != strlen(map) || strlen(map) > 255 ||
	    !json_object_object_get_ex(about, "ops", &ops) ||
	    !json_object_is_type(ops, json_type_array))
		return unsound(s, FX_BUNDLE_MANIFEST,
			       "it does not say what the policy is");
	for (size_t i = 0; i < json_object_array_length(ops); i++) {
		struct json_object *o = json_object_array_get_idx(ops, i);
		int op = json_object_is_type(o, json_type_string) ?
			 fx_value(&fx_policy_ops, json_object_get_string(o)) :
			 -1;

		if (op < 0)
			return unsound(s, FX_BUNDLE_MANIFEST,
				       "it names an op that does not exist");
		b->ops |= 1ULL << op;
	}
	b->ops_map = fx_strdup(map);
	object = fx_bundle_part(s, b, "kernel/policy.bpf.o");
	if (!object)
		return FX_RC_INPUT;
	b->object = object->data;
	b->object_size = object->size;
	return FX_RC_OK;
}

/* A part that lies there for a device which the manifest does not speak of. */
static enum fx_rc check_taken(const struct fx_bundle_source *s, const struct fx_bundle *b)
{
	for (u32 i = 0; i < b->n_part; i++)
		for (u32 j = 0; j < fx_n_devices; j++) {
			const struct fx_device *d = &fx_devices[j];
			const char *path = b->part[i].path;
			size_t len = strlen(d->name);

			if (d->read && !b->part[i].taken && !strncmp(path, d->name, len) &&
			    path[len] == '/')
				return fx_bundle_unsound(s, path,
							 "the manifest says of no device that it takes this");
		}
	return FX_RC_OK;
}

/* What the manifest says of each device, which is one at least. */
static enum fx_rc read_devices(const struct fx_bundle_source *s, struct fx_bundle *b)
{
	enum fx_rc rc = FX_RC_OK;
	struct json_object *about;
	u32 found = 0;

	for (u32 i = 0; i < fx_n_devices && rc == FX_RC_OK; i++) {
		const struct fx_device *d = &fx_devices[i];

		if (!json_object_object_get_ex(s->manifest, d->key, &about))
			continue;
		found++;
		if (d->read)
			rc = d->read(s, b, about);
	}
	if (!found)
		return unsound(s, FX_BUNDLE_MANIFEST,
			       "it does not say what the policy is");
	return rc == FX_RC_OK ? check_taken(s, b) : rc;
}

/* Whether the objects have them so is looked at when they are opened. */
static enum fx_rc read_maps(const struct fx_bundle_source *s, struct fx_bundle *b)
{
	struct json_object *classes = NULL;
	const char *why;

	json_object_object_get_ex(s->manifest, "classes", &classes);
	why = fx_map_list_parse(classes, &b->maps);
	return why ? unsound(s, FX_BUNDLE_MANIFEST, why) : FX_RC_OK;
}

char *fx_bundle_seal(const char *manifest, size_t len)
{
	char *sha = fx_sha256(manifest, len);
	char *seal = fx_asprintf("%s  %s\n", sha, fx_bundle_files[FX_BUNDLE_MANIFEST].name);

	free(sha);
	return seal;
}

/* Damage to the manifest is found here, and damage to the rest by the manifest. */
static enum fx_rc check_seal(const struct fx_bundle_source *s, const char *manifest,
			     size_t size)
{
	char *text = NULL, *want;
	enum fx_rc rc;
	size_t len;

	rc = read_file(s, &fx_bundle_files[FX_BUNDLE_SEAL], &text, &len);
	if (rc != FX_RC_OK)
		return rc;
	want = fx_bundle_seal(manifest, size);
	if (len != strlen(want) || memcmp(text, want, len))
		rc = unsound(s, FX_BUNDLE_MANIFEST, "it is not what manifest.sha256 says");
	free(want);
	free(text);
	return rc;
}

/* Parts of the same size may mean something else where the interface is another. */
static enum fx_rc check_built_for(const struct fx_bundle_source *s)
{
	struct json_object *built;
	u64 interface;

	if (!json_object_object_get_ex(s->manifest, "built_for", &built) ||
	    !json_object_is_type(built, json_type_object) ||
	    !fx_json_get_u64(built, "interface", &interface))
		return unsound(s, FX_BUNDLE_MANIFEST, "it does not say what it was built for");
	if (interface == FX_UAPI_VERSION)
		return FX_RC_OK;
	fx_err("%s: the bundle was built for version %llu of fabric_ext's interface, and this fabricctl has %d; compile it again",
	       s->dir, interface, FX_UAPI_VERSION);
	return FX_RC_INPUT;
}

static enum fx_rc read_manifest(struct fx_bundle_source *s, struct fx_bundle *b)
{
	char *text = NULL;
	enum fx_rc rc;
	size_t len;
	u64 format;

	rc = read_file(s, &fx_bundle_files[FX_BUNDLE_MANIFEST], &text, &len);
	if (rc == FX_RC_OK)
		rc = check_seal(s, text, len);
	if (rc == FX_RC_OK)
		rc = take_json(s, FX_BUNDLE_MANIFEST, text, len, &b->manifest);
	free(text);
	if (rc != FX_RC_OK)
		return rc;
	s->manifest = b->manifest;
	if (!fx_json_get_u64(b->manifest, "fabric_ext_bundle", &format))
		return unsound(s, FX_BUNDLE_MANIFEST,
			       "this is no manifest of a bundle");
	if (format != FX_BUNDLE_FORMAT) {
		fx_err("%s: the bundle has format %llu, and this fabricctl reads %d; compile it again",
		       s->dir, format, FX_BUNDLE_FORMAT);
		return FX_RC_INPUT;
	}
	return check_built_for(s);
}

static enum fx_rc read_obligations(const struct fx_bundle_source *s, struct fx_bundle *b)
{
	char *text = NULL;
	enum fx_rc rc;
	size_t len;

	rc = read_listed(s, &fx_bundle_files[FX_BUNDLE_OBLIGATIONS], &text, &len);
	/* what was checked, not what lies in the file by now */
	if (rc == FX_RC_OK)
		rc = take_json(s, FX_BUNDLE_OBLIGATIONS, text, len,
			       &b->obligations);
	free(text);
	return rc;
}

enum fx_rc fx_bundle_open(const char *dir, struct fx_bundle *out)
{
	static enum fx_rc (*const parts[])(const struct fx_bundle_source *s,
					   struct fx_bundle *b) = {
		read_image, read_parts, read_devices, read_maps, read_obligations,
	};
	struct fx_bundle_source s = { .dir = dir };
	enum fx_rc rc;

	memset(out, 0, sizeof(*out));
	s.fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (s.fd < 0) {
		if (errno == ENOENT || errno == ENOTDIR) {
			fx_err("%s is no bundle: there is no such directory; `fabricctl compile` makes one",
			       dir);
			return FX_RC_INPUT;
		}
		fx_err("%s cannot be opened: %s", dir, strerror(errno));
		return FX_RC_SYSTEM;
	}
	out->dir = fx_strdup(dir);
	rc = read_manifest(&s, out);
	for (u32 i = 0; i < ARRAY_SIZE(parts) && rc == FX_RC_OK; i++)
		rc = parts[i](&s, out);
	close(s.fd);
	if (rc != FX_RC_OK)
		fx_bundle_close(out);
	return rc;
}

void fx_bundle_close(struct fx_bundle *b)
{
	free(b->dir);
	free(b->ops_map);
	fx_bundle_free_nics(b);
	fx_map_list_free(&b->maps);
	fx_bundle_free_dpus(b);
	fx_parts_free(b->part, b->n_part);
	free(b->image.base);
	json_object_put(b->manifest);
	json_object_put(b->obligations);
	memset(b, 0, sizeof(*b));
}

/* fx_sha256() - a digest as hexadecimal digits, to free() */
char *fx_sha256(const void *data, size_t len)
{
	u8 digest[FX_DIGEST_LEN];

	fx_digest(data, len, digest);
	return fx_hex(digest, sizeof(digest));
}
