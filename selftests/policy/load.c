// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Processes that attach and detach meanwhile, and a census of the kernel. */
#include <dirent.h>
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "fxt.h"

static pid_t worker[FXT_WORKERS];

static void __attribute__((noreturn)) work(struct fxt_load *load, int i, int fd, bool map)
{
	struct fxt_work *w = &load->work[i];
	cpu_set_t cpus;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	CPU_ZERO(&cpus);
	CPU_SET(i, &cpus);
	sched_setaffinity(0, sizeof(cpus), &cpus);
	while (!load->stop) {
		int err = fxt_attach(fd, i % FX_EX_DEVICES, map);

		if (!err) {
			w->admitted++;
		} else if (err == -EACCES) {
			w->refused++;
		} else {
			w->last_other = err;
			w->other++;
		}
	}
	_exit(0);
}

struct fxt_load *fxt_load_start(int fd, bool map)
{
	struct fxt_load *load = mmap(NULL, sizeof(*load), PROT_READ | PROT_WRITE,
				     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int i;

	if (load == MAP_FAILED)
		return NULL;
	for (i = 0; i < FXT_WORKERS; i++) {
		worker[i] = fork();
		if (!worker[i])
			work(load, i, fd, map);
		if (worker[i] < 0) {
			fxt_load_stop(load);
			return NULL;
		}
	}
	return load;
}

static __u64 attempts(const struct fxt_load *load, int i)
{
	return load->work[i].admitted + load->work[i].refused + load->work[i].other;
}

bool fxt_load_progress(struct fxt_load *load, __u64 n)
{
	__u64 end = fxt_now_ms() + 10000;
	__u64 from[FXT_WORKERS];
	int i;

	for (i = 0; i < FXT_WORKERS; i++)
		from[i] = attempts(load, i);
	for (i = 0; i < FXT_WORKERS; i++) {
		while (attempts(load, i) - from[i] < n) {
			if (fxt_now_ms() > end)
				return false;
			fxt_sleep_ms(1);
		}
	}
	return true;
}

__u64 fxt_load_sum(const struct fxt_load *load, size_t member)
{
	__u64 sum = 0;
	int i;

	for (i = 0; i < FXT_WORKERS; i++)
		sum += *(const volatile __u64 *)((const char *)&load->work[i] + member);
	return sum;
}

void fxt_load_stop(struct fxt_load *load)
{
	int i;

	load->stop = 1;
	for (i = 0; i < FXT_WORKERS; i++)
		if (worker[i] > 0)
			waitpid(worker[i], NULL, 0);
	for (i = 0; i < FXT_WORKERS; i++)
		if (load->work[i].other)
			printf("# worker %d: %llu other outcomes, the last %s\n", i,
			       load->work[i].other, strerror(-load->work[i].last_other));
}

/* ---- census ----------------------------------------------------------- */

/* Free objects that a processor keeps for itself count as used: take them back. */
static void give_back(const char *cache)
{
	char path[320];

	snprintf(path, sizeof(path), "/sys/kernel/slab/%s/shrink", cache);
	write_text(path, "1");
}

static int slabs(struct fxt_census *c)
{
	FILE *f = fopen("/proc/slabinfo", "r");
	unsigned long long objects;
	char line[512], name[32];

	if (!f)
		return -errno;
	while (fgets(line, sizeof(line), f) && c->n < FXT_CACHES) {
		if (sscanf(line, "%31s %llu", name, &objects) != 2 ||
		    strncmp(name, "kmalloc-", 8))
			continue;
		snprintf(c->cache[c->n].name, sizeof(c->cache[0].name), "%s", name);
		c->cache[c->n++].objects = objects;
	}
	fclose(f);
	return c->n ? 0 : -EIO;
}

static unsigned int vmallocs(void)
{
	FILE *f = fopen("/proc/vmallocinfo", "r");
	char line[512];
	unsigned int n = 0;

	while (f && fgets(line, sizeof(line), f))
		n++;
	if (f)
		fclose(f);
	return n;
}

static int give_all_back(void)
{
	DIR *d = opendir("/sys/kernel/slab");
	struct dirent *e;

	if (!d)
		return -errno;
	while ((e = readdir(d)))
		if (!strncmp(e->d_name, "kmalloc-", 8))
			give_back(e->d_name);
	closedir(d);
	return 0;
}

int fxt_census(struct fxt_census *c)
{
	int err;

	memset(c, 0, sizeof(*c));
	/* what is freed after grace periods */
	fxt_sleep_ms(500);
	err = give_all_back();
	c->refcount = fxt_refcount("fabric_ext");
	c->dmabufs = fxt_dmabufs();
	c->bpf = fxt_bpf_objects();
	c->vmallocs = vmallocs();
	return err ?: slabs(c);
}

unsigned int fxt_census_grown(const struct fxt_census *from,
			      const struct fxt_census *to, __u64 most)
{
	unsigned int i, k, bad = 0;

	for (i = 0; i < to->n; i++) {
		for (k = 0; k < from->n; k++)
			if (!strcmp(from->cache[k].name, to->cache[i].name))
				break;
		if (k == from->n || to->cache[i].objects <= from->cache[k].objects + most)
			continue;
		printf("# %s: %llu objects more\n", to->cache[i].name,
		       to->cache[i].objects - from->cache[k].objects);
		bad++;
	}
	return bad;
}
