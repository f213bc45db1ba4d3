// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Bundles: written whole or not at all, read with distrust. */
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bundle.h"
#include "bundle_files.h"
#include "diag.h"
#include "json.h"
#include "loader_test.h"
#include "util.h"

static char top[32], dir[64], errors[64];

static const char policy[] = "the bytes of an object file";

static struct json_object *manifest(void)
{
	struct json_object *m = fx_json_object(), *p = fx_json_object(), *ops;
	struct json_object *built = fx_json_object(), *counts = fx_json_object();
	struct fx_image_hdr *h;
	size_t size;

	h = test_image(&size);
	fx_json_u64(m, "fabric_ext_bundle", FX_BUNDLE_FORMAT);
	fx_json_str(m, "graph", h->name);
	fx_json_hex(m, "digest", h->digest, sizeof(h->digest));
	fx_json_u64(built, "interface", FX_UAPI_VERSION);
	fx_json_put(m, "built_for", built);
	for (u32 i = 0; i < FX_SECTS; i++)
		fx_json_u64(counts, fx_bundle_sections[i], h->count[i]);
	fx_json_put(m, "counts", counts);
	fx_json_str(p, "ops_map", "my_policy");
	ops = fx_json_array();
	fx_json_add_str(ops, "admit");
	fx_json_add_str(ops, "route");
	fx_json_put(p, "ops", ops);
	fx_json_put(m, "policy", p);
	free(h);
	return m;
}

static enum fx_rc write_bundle(const char *where)
{
	const struct fx_part object = { "kernel/policy.bpf.o", (void *)policy, sizeof(policy) };
	struct fx_bundle_parts parts = {
		.part = &object, .n_part = 1,
		.manifest = manifest(), .obligations = fx_json_object(),
	};
	void *image = test_image(&parts.image_size);
	enum fx_rc rc;

	parts.image = image;
	rc = fx_bundle_write(where, &parts);
	json_object_put(parts.manifest);
	json_object_put(parts.obligations);
	free(image);
	return rc;
}

/* Standard error goes into a file, so that sentences can be counted. */
static u32 sentences(void)
{
	char *text;
	size_t len;
	u32 n = 0;

	fflush(stderr);
	assert_int_equal(fx_read_file(errors, 1 << 20, &text, &len), 0);
	for (size_t i = 0; i < len; i++)
		n += text[i] == '\n';
	free(text);
	assert_int_equal(ftruncate(STDERR_FILENO, 0), 0);
	lseek(STDERR_FILENO, 0, SEEK_SET);
	return n;
}

static enum fx_rc open_bundle(void)
{
	struct fx_bundle b;
	enum fx_rc rc = fx_bundle_open(dir, &b);

	if (rc == FX_RC_OK)
		fx_bundle_close(&b);
	return rc;
}

/* One sentence about a fault of the input, and nothing leaks. */
static void must_refuse(const char *what)
{
	enum fx_rc rc = open_bundle();
	u32 n = sentences();

	if (rc != FX_RC_INPUT || n != 1)
		fail_msg("%s: status %d and %u sentences", what, rc, n);
}

static void must_open(const char *what)
{
	enum fx_rc rc = open_bundle();

	if (rc != FX_RC_OK || sentences())
		fail_msg("%s: status %d", what, rc);
}

static char *path_of(const char *name)
{
	return fx_asprintf("%s/%s", dir, name);
}

static void put(const char *name, const void *data, size_t len)
{
	char *path = path_of(name);
	int fd;

	unlink(path);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, data, len), len);
	close(fd);
	free(path);
}

static char *get(const char *name, size_t *len)
{
	char *path = path_of(name), *text;

	assert_int_equal(fx_read_file(path, 1 << 20, &text, len), 0);
	free(path);
	return text;
}

static void whole(void **state)
{
	struct fx_bundle b;
	size_t size;
	void *image = test_image(&size);

	(void)state;
	assert_int_equal(write_bundle(dir), FX_RC_OK);
	assert_int_equal(fx_bundle_open(dir, &b), FX_RC_OK);
	assert_string_equal(b.dir, dir);
	assert_int_equal(b.image.size, size);
	assert_memory_equal(b.image.base, image, size);
	assert_int_equal(b.object_size, sizeof(policy));
	assert_memory_equal(b.object, policy, sizeof(policy));
	assert_string_equal(b.ops_map, "my_policy");
	assert_int_equal(b.ops, 1 << 0 | 1 << 3);
	fx_bundle_close(&b);
	free(image);
}

static u32 count_entries(const char *path)
{
	char *cmd = fx_asprintf("ls -A %s | wc -l", path);
	FILE *p = popen(cmd, "r");
	u32 n = 0;

	assert_int_equal(fscanf(p, "%u", &n), 1);
	pclose(p);
	free(cmd);
	return n;
}

static void replace(void **state)
{
	char *extra = NULL, *other = fx_asprintf("%s/other", top), *slash;
	struct stat st;

	(void)state;
	/* a bundle is replaced */
	assert_int_equal(write_bundle(dir), FX_RC_OK);
	put("kernel/policy.bpf.o", "old", 3);
	assert_int_equal(write_bundle(dir), FX_RC_OK);
	must_open("replaced");
	/* also with slashes behind its name */
	slash = fx_asprintf("%s//", dir);
	assert_int_equal(write_bundle(slash), FX_RC_OK);
	free(slash);
	/* one with something foreign in it is left alone */
	extra = path_of("notes");
	put("notes", "mine", 4);
	assert_int_equal(write_bundle(dir), FX_RC_INPUT);
	assert_int_equal(sentences(), 1);
	assert_int_equal(access(extra, F_OK), 0);
	must_open("left alone");
	unlink(extra);
	/* so is a file, and a directory that is no bundle */
	assert_int_equal(mkdir(other, 0700), 0);
	assert_int_equal(write_bundle(other), FX_RC_OK);	/* empty */
	slash = fx_asprintf("%s/manifest.json", other);
	assert_int_equal(unlink(slash), 0);
	assert_int_equal(write_bundle(other), FX_RC_INPUT);
	assert_int_equal(write_bundle(errors), FX_RC_INPUT);
	assert_int_equal(stat(errors, &st), 0);
	assert_true(S_ISREG(st.st_mode));
	assert_int_equal(write_bundle("/nowhere/at/all"), FX_RC_SYSTEM);
	assert_int_equal(sentences(), 3);
	/* nothing half-made lies about: dir, other, errors */
	assert_int_equal(count_entries(top), 3);
	free(slash);
	free(extra);
	free(other);
}

/* A manifest that fits its seal, whatever it says. */
static void put_sealed(const char *text, size_t len)
{
	char *seal = fx_bundle_seal(text, len);

	put("manifest.json", text, len);
	put("manifest.sha256", seal, strlen(seal));
	free(seal);
}

/* Every file: absent, cut, longer, changed, no file at all. */
static void each_file(void **state)
{
	static const char *const names[] = {
		"manifest.sha256", "manifest.json", "edges.bin",
		"obligations.json", "kernel/policy.bpf.o",
	};

	(void)state;
	for (u32 i = 0; i < ARRAY_SIZE(names); i++) {
		const char *name = names[i];
		char *text, *path = path_of(name);
		size_t len;

		assert_int_equal(write_bundle(dir), FX_RC_OK);
		text = get(name, &len);
		for (size_t n = 0; n + 1 < len; n += 1 + n / 8) {
			put(name, text, n);
			must_refuse(name);
		}
		text = fx_realloc(text, len + 1, 1);
		text[len] = '}';
		put(name, text, len + 1);
		must_refuse(name);
		for (u32 j = 0; j < 50; j++) {
			size_t at = rnd_below(len);

			text[at] ^= 1;
			put(name, text, len);
			must_refuse(name);
			text[at] ^= 1;
		}
		put(name, text, len);
		must_open(name);
		unlink(path);
		must_refuse(name);
		assert_int_equal(symlink("/etc/passwd", path), 0);
		must_refuse(name);
		unlink(path);
		assert_int_equal(mkdir(path, 0700), 0);
		must_refuse(name);
		rmdir(path);
		assert_int_equal(mkfifo(path, 0600), 0);
		must_refuse(name);
		unlink(path);
		put(name, text, len);
		free(text);
		free(path);
	}
}

/* Something in the manifest, in other words. */
static void manifests(void **state)
{
	static const struct {
		const char *from, *to;
	} cases[] = {
		{ "\"fabric_ext_bundle\": 1", "\"fabric_ext_bundle\": 2" },
		{ "\"fabric_ext_bundle\": 1", "\"fabric_ext_bundle\": -1" },
		{ "\"fabric_ext_bundle\": 1", "\"fabric_ext_bundle\": \"1\"" },
		{ "\"fabric_ext_bundle\": 1", "\"fabric_ext_bundle\": null" },
		{ "\"fabric_ext_bundle\": 1", "\"fabric_ext\": 1" },
		{ "\"graph\": \"test-1.0\"", "\"graph\": \"test-1.1\"" },
		{ "\"graph\": \"test-1.0\"", "\"graph\": 7" },
		{ "\"graph\": \"test-1.0\"", "\"graf\": \"test-1.0\"" },
		{ "\"digest\": \"", "\"digest\": \"00" },
		{ "\"digest\"", "\"tsegid\"" },
		{ "\"built_for\": {", "\"built\": {" },
		{ "\"interface\": 1", "\"interface\": 2" },
		{ "\"interface\": 1", "\"interface\": 0" },
		{ "\"interface\": 1", "\"interface\": 257" },
		{ "\"interface\": 1", "\"interface\": 4294967297" },
		{ "\"interface\": 1", "\"interface\": \"1\"" },
		{ "\"interface\"", "\"device\"" },
		{ "\"counts\": {", "\"count\": {" },
		{ "\"places\": ", "\"places\": 1" },
		{ "\"edges\": ", "\"edges\": 1" },
		{ "\"instances\": ", "\"instances\": -" },
		{ "\"after\"", "\"before\"" },
		{ "\"alias_sets\": ", "\"alias_sets\": 42949672960" },
		{ "\"policy\": {", "\"policies\": {" },
		{ "\"ops_map\": \"my_policy\"", "\"ops_map\": \"\"" },
		{ "\"ops_map\": \"my_policy\"", "\"ops_map\": \"../my_policy\"" },
		{ "\"ops_map\": \"my_policy\"", "\"ops_map\": [ ]" },
		{ "\"ops_map\"", "\"map\"" },
		{ "\"admit\"", "\"admitt\"" },
		{ "\"admit\"", "0" },
		{ "\"ops\": [", "\"opps\": [" },
		{ "\"files\": {", "\"file\": {" },
		{ "\"edges.bin\": {", "\"edge.bin\": {" },
		{ "\"kernel/policy.bpf.o\": {", "\"kernel/../edges.bin\": {" },
		{ "\"kernel/policy.bpf.o\": {", "\"kernel/policy.o\": {" },
		{ "\"kernel/policy.bpf.o\": {", "\"/etc/passwd\": {" },
		{ "\"bytes\": ", "\"bytes\": 1" },
		{ "\"bytes\"", "\"byte\"" },
		{ "\"sha256\": \"", "\"sha256\": \"f" },
		{ "\"sha256\": \"", "\"sha1\": \"" },
		{ "{", "[" },
		{ "{", "" },
		{ "{", "{{" },
		{ "}", "" },
		{ "\"graph\"", "graph" },
	};
	char *text, *at, *changed;
	size_t len;

	(void)state;
	assert_int_equal(write_bundle(dir), FX_RC_OK);
	text = get("manifest.json", &len);
	for (u32 i = 0; i < ARRAY_SIZE(cases); i++) {
		at = strstr(text, cases[i].from);
		if (!at)
			fail_msg("the manifest has no %s", cases[i].from);
		changed = fx_asprintf("%.*s%s%s", (int)(at - text), text,
				      cases[i].to, at + strlen(cases[i].from));
		put_sealed(changed, strlen(changed));
		must_refuse(cases[i].to);
		free(changed);
	}
	/* deep nesting, a number without end, a NUL inside */
	changed = fx_alloc(1 << 16);
	memset(changed, '[', 1 << 16);
	put_sealed(changed, 1 << 16);
	must_refuse("[[[[");
	memset(changed, '9', 1 << 16);
	put_sealed(changed, 1 << 16);
	must_refuse("9999");
	memcpy(changed, text, len);
	changed[len / 2] = '\0';
	put_sealed(changed, len);
	must_refuse("a NUL");
	put_sealed(text, len);
	must_open("as it was");
	free(changed);
	free(text);
}

/* Random damage to the manifest: refused, or what was changed did not matter. */
static void damage(void **state)
{
	u32 refused = 0;
	char *text, *copy;
	size_t len;

	(void)state;
	assert_int_equal(write_bundle(dir), FX_RC_OK);
	text = get("manifest.json", &len);
	copy = fx_alloc(len);
	for (u32 i = 0; i < 2000; i++) {
		enum fx_rc rc;
		u32 n;

		memcpy(copy, text, len);
		for (u32 j = 0; j <= rnd_below(3); j++)
			copy[rnd_below(len)] = rnd();
		put_sealed(copy, len);
		rc = open_bundle();
		n = sentences();
		assert_int_not_equal(rc, FX_RC_SYSTEM);
		assert_int_equal(n, rc == FX_RC_INPUT);
		refused += rc == FX_RC_INPUT;
	}
	assert_true(refused > 1000);
	free(copy);
	free(text);
}

static void none(void **state)
{
	struct fx_bundle b;

	(void)state;
	assert_int_equal(fx_bundle_open("/nowhere", &b), FX_RC_INPUT);
	assert_int_equal(fx_bundle_open("/etc/passwd", &b), FX_RC_INPUT);
	assert_int_equal(fx_bundle_open(top, &b), FX_RC_INPUT);
	assert_int_equal(sentences(), 3);
}

static int cleanup(void **state)
{
	char *cmd = fx_asprintf("rm -rf %s", top);
	int rc = system(cmd);

	(void)state;
	free(cmd);
	/* what fx_err() kept for the JSON report */
	fx_report_end(FX_RC_OK);
	return rc;
}

static int prepare(void **state)
{
	(void)state;
	snprintf(top, sizeof(top), "/tmp/loader_bundle.XXXXXX");
	if (!mkdtemp(top))
		return -1;
	snprintf(dir, sizeof(dir), "%s/bundle", top);
	snprintf(errors, sizeof(errors), "%s/errors", top);
	return freopen(errors, "w+", stderr) ? 0 : -1;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(whole),
		cmocka_unit_test(replace),
		cmocka_unit_test(each_file),
		cmocka_unit_test(manifests),
		cmocka_unit_test(damage),
		cmocka_unit_test(none),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("bundle", tests, prepare, cleanup);
}
