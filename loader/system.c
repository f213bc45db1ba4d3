// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <dirent.h>
#include <errno.h>
#include <linux/capability.h>
#include <linux/fabric_ext_dpu.h>
#include <linux/magic.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "diag.h"
#include "system.h"
#include "util.h"

const char *fx_sys_root = "";

const struct fx_cap fx_caps_needed[] = {
	{ "CAP_BPF", CAP_BPF },
	{ "CAP_PERFMON", CAP_PERFMON },
	{ "CAP_NET_ADMIN", CAP_NET_ADMIN },
};

const u32 fx_n_caps_needed = ARRAY_SIZE(fx_caps_needed);

/* ---- words ------------------------------------------------------------ */

void fx_words_add(struct fx_words *w, const char *word)
{
	fx_grow(w->word, w->n, w->cap);
	w->word[w->n++] = fx_strdup(word);
}

void fx_words_free(struct fx_words *w)
{
	for (u32 i = 0; i < w->n; i++)
		free(w->word[i]);
	free(w->word);
	memset(w, 0, sizeof(*w));
}

char *fx_words_text(const struct fx_words *w, u32 most)
{
	u32 shown = w->n > most ? most : w->n;
	char *text = NULL;
	size_t size;
	FILE *out;

	if (!w->n)
		return fx_strdup("nothing");
	out = open_memstream(&text, &size);
	if (!out)
		return fx_strdup("?");
	for (u32 i = 0; i < shown; i++)
		fprintf(out, "%s%s", i ? ", " : "", w->word[i]);
	if (shown < w->n)
		fprintf(out, " and %u more", w->n - shown);
	if (fclose(out) || !text)
		return fx_strdup("?");
	return text;
}

static int by_name(const void *a, const void *b)
{
	return strverscmp(*(char *const *)a, *(char *const *)b);
}

/* ---- files ------------------------------------------------------------ */

static char *rooted(const char *path)
{
	return fx_asprintf("%s%s", fx_sys_root, path);
}

bool fx_sys_exists(const char *path)
{
	char *p = rooted(path);
	bool there = !access(p, F_OK);

	free(p);
	return there;
}

char *fx_sys_line(const char *path)
{
	char *p = rooted(path), *line = NULL;
	FILE *f = fopen(p, "re");
	size_t size = 0;

	free(p);
	if (!f)
		return NULL;
	if (getline(&line, &size, f) < 0) {
		free(line);
		line = NULL;
	} else {
		line[strcspn(line, "\n")] = 0;
	}
	fclose(f);
	return line;
}

void fx_sys_list(const char *dir, const char *prefix, struct fx_words *w)
{
	char *p = rooted(dir);
	DIR *d = opendir(p);
	u32 before = w->n;
	struct dirent *e;

	free(p);
	if (!d)
		return;
	while ((e = readdir(d)))
		if (e->d_name[0] != '.' &&
		    !strncmp(e->d_name, prefix, strlen(prefix)))
			fx_words_add(w, e->d_name);
	closedir(d);
	if (w->n > before)
		qsort(w->word + before, w->n - before, sizeof(*w->word), by_name);
}

/* ---- privileges ------------------------------------------------------- */

bool fx_sys_caps(u64 *caps)
{
	char *p = rooted("/proc/self/status"), *line = NULL;
	FILE *f = fopen(p, "re");
	bool found = false;
	size_t size = 0;

	free(p);
	if (!f)
		return false;
	while (!found && getline(&line, &size, f) > 0)
		if (!strncmp(line, "CapEff:", 7)) {
			*caps = strtoull(line + 7, NULL, 16);
			found = true;
		}
	free(line);
	fclose(f);
	return found;
}

/* The initial user namespace maps every id to itself. */
bool fx_sys_initial_userns(void)
{
	char *line = fx_sys_line("/proc/self/uid_map");
	unsigned int inside, outside, n;
	bool initial;

	initial = line && sscanf(line, "%u %u %u", &inside, &outside, &n) == 3 &&
		  !inside && !outside && n == U32_MAX;
	free(line);
	return initial;
}

bool fx_sys_module(void)
{
	return fx_sys_exists("/sys/module/fabric_ext");
}

bool fx_sys_bpffs(void)
{
	char *p = rooted("/sys/fs/bpf");
	struct statfs fs;
	bool mounted = !statfs(p, &fs) && (u32)fs.f_type == BPF_FS_MAGIC;

	free(p);
	return mounted;
}

/* ---- signals ---------------------------------------------------------- */

static void signal_set(sigset_t *set, bool child)
{
	struct sigaction hup;

	sigemptyset(set);
	sigaddset(set, SIGINT);
	sigaddset(set, SIGTERM);
	/* nohup switches it off, and blocked signals are not switched off */
	if (!sigaction(SIGHUP, NULL, &hup) && hup.sa_handler != SIG_IGN)
		sigaddset(set, SIGHUP);
	if (child)
		sigaddset(set, SIGCHLD);
}

int fx_sys_signals(bool child)
{
	sigset_t set;
	int fd;

	signal_set(&set, child);
	sigprocmask(SIG_BLOCK, &set, NULL);
	fd = signalfd(-1, &set, SFD_CLOEXEC);
	if (fd < 0)
		fx_err("signals cannot be received: %s", strerror(errno));
	return fd;
}

void fx_sys_signals_default(void)
{
	sigset_t set;

	signal_set(&set, true);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
}

/* ---- what places match ------------------------------------------------ */

static bool have(const struct fx_words *w, const char *word)
{
	for (u32 i = 0; i < w->n; i++)
		if (!strcmp(w->word[i], word))
			return true;
	return false;
}

/* Whether a driver has a device: beside its own files, a link to each. */
static bool has_device(const char *bus, const char *driver)
{
	struct fx_words files = { 0 };
	bool has = false;
	char *path;

	path = fx_asprintf("/sys/bus/%s/drivers/%s", bus, driver);
	fx_sys_list(path, "", &files);
	free(path);
	for (u32 i = 0; !has && i < files.n; i++) {
		path = fx_asprintf("/sys/bus/%s/devices/%s", bus, files.word[i]);
		has = fx_sys_exists(path);
		free(path);
	}
	fx_words_free(&files);
	return has;
}

/* Drivers of a bus that have a device, and the names of its devices. */
static void list_bus(const char *bus, struct fx_words *drivers, struct fx_words *devices)
{
	struct fx_words all = { 0 };
	char *dir;

	dir = fx_asprintf("/sys/bus/%s/drivers", bus);
	fx_sys_list(dir, "", &all);
	free(dir);
	for (u32 i = 0; i < all.n; i++)
		if (has_device(bus, all.word[i]) && !have(drivers, all.word[i]))
			fx_words_add(drivers, all.word[i]);
	fx_words_free(&all);
	dir = fx_asprintf("/sys/bus/%s/devices", bus);
	fx_sys_list(dir, "", devices);
	free(dir);
}

/*
 * As the module matches: the name of a device's driver, or of the device. Of
 * the many devices only those that are called by a word are worth showing.
 */
static bool match_driver(const char *name, struct fx_words *found)
{
	struct fx_words buses = { 0 }, devices = { 0 };
	bool there;

	fx_sys_list("/sys/bus", "", &buses);
	for (u32 i = 0; i < buses.n; i++)
		list_bus(buses.word[i], found, &devices);
	there = have(found, name) || have(&devices, name);
	for (u32 i = 0; i < devices.n; i++)
		if (!strpbrk(devices.word[i], ":.") && !have(found, devices.word[i]) &&
		    !strpbrk(devices.word[i], "0123456789"))
			fx_words_add(found, devices.word[i]);
	fx_words_free(&devices);
	fx_words_free(&buses);
	return there;
}

/* The sockets of DPUs that run, or did: dpu-NAME.sock. */
static bool match_dpu(const char *name, struct fx_words *found)
{
	const size_t before = strlen("dpu-"), after = strlen(".sock");

	fx_sys_list(FX_DPU_RUN_DIR, "dpu-", found);
	for (u32 i = 0; i < found->n; i++) {
		char *word = found->word[i];
		size_t len = strlen(word);

		if (len < before + after)
			continue;
		memmove(word, word + before, len - before - after);
		word[len - before - after] = '\0';
	}
	return have(found, name);
}

/* The directory that has an entry for each object of a kind. */
static const struct {
	const char *dir;
	const char *prefix;
} where[FX_MATCH_KINDS] = {
	[FX_MATCH_NODE]		= { "/sys/devices/system/node", "node" },
	[FX_MATCH_HEAP]		= { "/dev/dma_heap", "" },
	[FX_MATCH_PCI]		= { "/sys/bus/pci/devices", "" },
	[FX_MATCH_REGION]	= { "/sys/bus/cxl/devices", "region" },
	[FX_MATCH_DAX]		= { "/sys/bus/dax/devices", "" },
	[FX_MATCH_NETDEV]	= { "/sys/class/net", "" },
};

/**
 * fx_sys_match() - whether a place finds its object on the running system
 * @p: the place
 * @found: gets what there is of that kind, to fx_words_free()
 *
 * An exporter is known by its buffers only, so it is always there; so is the
 * place that matches nothing.
 *
 * Return: whether it is there.
 */
bool fx_sys_match(const struct fx_place_desc *p, struct fx_words *found)
{
	const char *prefix;
	bool there;
	char *name;

	switch (p->match_kind) {
	case FX_MATCH_NONE:
	case FX_MATCH_EXPORTER:
		return true;
	case FX_MATCH_DRIVER:
		return match_driver(p->match, found);
	case FX_MATCH_DPU:
		return match_dpu(p->match, found);
	}
	if (p->match_kind >= FX_MATCH_KINDS)
		return false;
	prefix = where[p->match_kind].prefix;
	fx_sys_list(where[p->match_kind].dir, prefix, found);
	if (p->match_kind != FX_MATCH_NODE)
		return have(found, p->match);

	/* directories are node0, places say 0 */
	name = fx_asprintf("%s%lu", prefix, strtoul(p->match, NULL, 10));
	there = have(found, name);
	free(name);
	for (u32 i = 0; i < found->n; i++)
		memmove(found->word[i], found->word[i] + strlen(prefix),
			strlen(found->word[i] + strlen(prefix)) + 1);
	return there;
}
