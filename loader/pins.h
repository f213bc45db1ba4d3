/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What outlives the command that attached a policy:
 *
 *	/sys/fs/bpf/fabric_ext/GRAPH/		0700
 *		link				0600, the policy lives as long
 *		maps/NAME  progs/NAME		0600
 *		maps/@conf			0600, whose these are: session_int.h
 *		next/				0700, the same of a replacement that goes on
 *		nic-NETDEV/xdp tc_in tc_out	0600, links of a network device
 *		nic-NETDEV/links		0600, instead of these: which ones the
 *						process has that holds the pins
 *		nic-NETDEV/maps/  progs/	0600
 *		nic-NETDEV/next/		0700, the same of a replacement that goes on
 *		shared/				0700, see maps.h
 *		dpu-NAME/fx_conf		0600, what the DPU was given; @next, until
 *						that takes its place
 *		@owner/				0700, locked by that process: owner.h
 *
 * bpffs keeps '.' in names for itself, so it is written %2e; so is all that no
 * graph's name has, % and / before others, as names come from command lines.
 * On some systems everybody may make directories in bpffs: ours are used only
 * when no one else can write them, and no link is followed out of them. A lock on
 * the graph's directory lets one command change it at a time.
 */
#ifndef FX_PINS_H
#define FX_PINS_H

#include "cmd.h"
#include "types.h"

struct bpf_object;
struct fx_words;

struct fx_pins {
	char *dir;
	int fd;			/* of dir, locked */
};

/**
 * fx_pins_lock() - lock a graph's directory
 * @graph: name
 * @create: make it when it is not there
 * @out: to fx_pins_unlock(); NULL when it is not there and not made
 *
 * Return: FX_RC_OK; FX_RC_SYSTEM after one sentence through fx_err().
 */
enum fx_rc fx_pins_lock(const char *graph, bool create, struct fx_pins **out);
void fx_pins_unlock(struct fx_pins *p);
/* The same at once and in silence: NULL when it is not there, or locked. */
struct fx_pins *fx_pins_try_lock(const char *graph);
/* Is it a directory that none but this user may write? */
bool fx_pins_is_ours(const char *path);

/* All below return FX_RC_OK, or FX_RC_SYSTEM after one sentence. */

/* Pin an object's maps and programs under maps/ and progs/ of @sub. */
enum fx_rc fx_pins_write(struct fx_pins *p, const char *sub, struct bpf_object *obj);
enum fx_rc fx_pins_write_link(struct fx_pins *p, int link);
/* Put what is under @from in place of the maps and programs under @to, or "". */
enum fx_rc fx_pins_swap(struct fx_pins *p, const char *from, const char *to);

/* Is nothing pinned for the graph? */
bool fx_pins_empty(const struct fx_pins *p);
/* The pinned link, -ENOENT or another -errno. */
int fx_pins_link(const struct fx_pins *p);
/* End the policy of the pinned link, if there is one; 0 or -errno. */
int fx_pins_end_link(const struct fx_pins *p);

/* Remove what is pinned, and the directory; silent about what is not there. */
void fx_pins_remove_sub(struct fx_pins *p, const char *sub);
void fx_pins_remove_nic(struct fx_pins *p, const char *sub);
enum fx_rc fx_pins_remove(struct fx_pins *p);

/* Pin anything as @name below @sub, which is there. */
enum fx_rc fx_pins_write_at(struct fx_pins *p, const char *sub, const char *name,
			    int fd);
/* The same in the place of what has the name, if anything: one or the other is there. */
enum fx_rc fx_pins_replace_at(struct fx_pins *p, const char *sub, const char *name, int fd);

/* Directory of a graph's pins, to free(). */
char *fx_pins_dir(const char *graph);
/* "nic-" and the device's name as a directory bears it, to free(). */
char *fx_pins_nic(const char *netdev);
/* Does a graph have any that @list, one of those below, finds? */
bool fx_pins_has(const char *graph, void (*list)(const char *graph, struct fx_words *subs));
/* The directories of devices below a graph's, by their file names. */
void fx_pins_list_nics(const char *graph, struct fx_words *subs);
/* Where a graph's shared maps are (maps.h), to free(); NULL when there are none. */
char *fx_pins_shared(const char *graph);
/* The same of DPUs, whose names need no escaping: dpu-NAME. */
#define FX_PINS_DPU	"dpu-"
void fx_pins_list_dpus(const char *graph, struct fx_words *subs);
/* Make a directory for one. */
enum fx_rc fx_pins_make(struct fx_pins *p, const char *sub);
/* All graphs that have a directory, by their own names. */
void fx_pins_list_all(struct fx_words *graphs);
/* Those that have directories of devices. */
void fx_pins_list_graphs(struct fx_words *graphs);

#endif /* FX_PINS_H */
