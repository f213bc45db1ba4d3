// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * fabricctl doctor: what this system has of what fabric_ext uses. Every check
 * is a row of a table; each gap says what it disables and how to close it.
 */
#include <bpf/libbpf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "cmd.h"
#include "diag.h"
#include "json.h"
#include "kconfig.h"
#include "system.h"
#include "util.h"

enum status {
	OK,
	GAP,		/* something is disabled, the rest works */
	MISSING,	/* nothing works without it */
	NOT_KNOWN,
};

enum answer { NO, YES, UNKNOWN };

struct finding {
	enum status status;
	char *detail;	/* what was seen */
};

struct doctor {
	struct utsname uts;
	struct fx_kconfig config;
	bool loaded;	/* the module is */
	char *insmod;	/* the command that would load it */
};

struct check {
	const char *id;
	enum status gap;	/* what its absence is: GAP or MISSING */
	enum answer (*run)(const struct doctor *d, char **detail);
	const char *disables;
	const char *fix;
};

/* ---- checks: YES when all is well, *detail says what was seen ---------- */

static enum answer yes(bool well)
{
	return well ? YES : NO;
}

static enum answer exists(const char *path, char **detail)
{
	bool there = fx_sys_exists(path);

	*detail = fx_asprintf("%s%s", there ? "" : "no ", path);
	return yes(there);
}

static enum answer check_kernel(const struct doctor *d, char **detail)
{
	unsigned int major = 0, minor = 0;

	*detail = fx_asprintf("%s, %s", d->uts.release, d->uts.machine);
	sscanf(d->uts.release, "%u.%u", &major, &minor);
	return yes((major > 6 || (major == 6 && minor >= 12)) &&
		   !strcmp(d->uts.machine, "x86_64"));
}

/* Options that the module or a part of it stands on. */
struct option {
	const char *name;
	bool needed;		/* by everything */
	bool builtin;		/* a module would not do */
	const char *disables;
};

static const struct option config_options[] = {
	{ "MODULES", true, true, "the module" },
	{ "BPF_SYSCALL", true, true, "policies" },
	{ "BPF_JIT", true, true, "policies" },
	{ "DEBUG_INFO_BTF", true, true, "policies" },
	{ "DEBUG_INFO_BTF_MODULES", true, true, "policies" },
	{ "DYNAMIC_FTRACE_WITH_ARGS", true, true, "hooks" },
	{ "KPROBES", true, true, "hooks" },
	{ "DMA_SHARED_BUFFER", true, true, "dma-buf operations" },
	{ "DMABUF_HEAPS_SYSTEM", false, false, "the demo's buffers" },
	{ "MEMORY_HOTPLUG", false, true, "places in CXL memory" },
	{ "NUMA", false, true, "places on memory nodes" },
	{ "CXL_REGION", false, false, "CXL regions" },
	{ "DEV_DAX_KMEM", false, false, "CXL memory as a memory node" },
	{ "PCI_P2PDMA", false, true, "the p2p_map op and P2P places" },
};

static enum answer check_options(const struct doctor *d, bool needed, char **detail)
{
	struct fx_words missing = { 0 };
	bool lacks;
	char *text;

	if (!d->config.text) {
		*detail = fx_asprintf("no configuration of %s in /proc, /boot or /lib/modules",
				      d->uts.release);
		return UNKNOWN;
	}
	for (u32 i = 0; i < ARRAY_SIZE(config_options); i++) {
		const struct option *o = &config_options[i];
		char v = fx_kconfig_value(&d->config, o->name);

		if (o->needed != needed || v == 'y' || (v == 'm' && !o->builtin))
			continue;
		text = fx_asprintf("%s (%s)", o->name, o->disables);
		fx_words_add(&missing, text);
		free(text);
	}
	text = fx_words_text(&missing, missing.n);
	lacks = missing.n;
	*detail = fx_asprintf("%s %s %s", d->config.path,
			      lacks ? "lacks" : "has all", lacks ? text : "of them");
	free(text);
	fx_words_free(&missing);
	return lacks ? NO : YES;
}

static enum answer check_needed(const struct doctor *d, char **detail)
{
	return check_options(d, true, detail);
}

static enum answer check_optional(const struct doctor *d, char **detail)
{
	return check_options(d, false, detail);
}

static enum answer check_kernel_btf(const struct doctor *d, char **detail)
{
	(void)d;
	return exists("/sys/kernel/btf/vmlinux", detail);
}

static enum answer check_ftrace(const struct doctor *d, char **detail)
{
	char *on = fx_sys_line("/proc/sys/kernel/ftrace_enabled");
	bool ok = on && !strcmp(on, "1");

	(void)d;
	*detail = fx_asprintf("kernel.ftrace_enabled %s", on ? on : "is not there");
	free(on);
	return yes(ok);
}

static enum answer check_caps(const struct doctor *d, char **detail)
{
	struct fx_words missing = { 0 };
	u64 caps = 0;
	char *text;
	bool ok;

	(void)d;
	fx_sys_caps(&caps);
	for (u32 i = 0; i < fx_n_caps_needed; i++)
		if (!(caps >> fx_caps_needed[i].bit & 1))
			fx_words_add(&missing, fx_caps_needed[i].name);
	ok = !missing.n && fx_sys_initial_userns();
	text = fx_words_text(&missing, missing.n);
	*detail = missing.n ? fx_asprintf("this process lacks %s", text) :
		  fx_strdup(ok ? "CAP_BPF, CAP_PERFMON, CAP_NET_ADMIN" :
				 "they count in this user namespace only");
	free(text);
	fx_words_free(&missing);
	return yes(ok);
}

static enum answer check_libbpf(const struct doctor *d, char **detail)
{
	u32 major = libbpf_major_version(), minor = libbpf_minor_version();

	(void)d;
	*detail = fx_asprintf("%u.%u", major, minor);
	return yes(major > 1 || (major == 1 && minor >= 4));
}

static enum answer check_bpffs(const struct doctor *d, char **detail)
{
	bool there = fx_sys_bpffs();

	(void)d;
	*detail = fx_strdup(there ? "/sys/fs/bpf" : "none on /sys/fs/bpf");
	return yes(there);
}

static enum answer check_module(const struct doctor *d, char **detail)
{
	*detail = fx_strdup(d->loaded ? "loaded" : "not loaded");
	return yes(d->loaded);
}

static enum answer check_module_btf(const struct doctor *d, char **detail)
{
	bool there = fx_sys_exists("/sys/kernel/btf/fabric_ext");

	*detail = fx_strdup(there ? "/sys/kernel/btf/fabric_ext" :
			    d->loaded ? "the module is loaded and has none" :
					"not known until the module is loaded");
	return d->loaded || there ? yes(there) : UNKNOWN;
}

/* 5 bytes: attributes, then 1 when it is on. */
static bool secure_boot(void)
{
	char *path = fx_asprintf("%s/sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c",
				 fx_sys_root);
	FILE *f = fopen(path, "re");
	unsigned char v[5] = { 0 };
	bool on;

	free(path);
	if (!f)
		return false;
	on = fread(v, 1, sizeof(v), f) == sizeof(v) && v[4] == 1;
	fclose(f);
	return on;
}

/* Unsigned modules are refused by lockdown, and by sig_enforce. */
static enum answer check_signing(const struct doctor *d, char **detail)
{
	char *lockdown = fx_sys_line("/sys/kernel/security/lockdown");
	char *enforce = fx_sys_line("/sys/module/module/parameters/sig_enforce");
	bool locked = lockdown && !strstr(lockdown, "[none]");
	bool enforced = enforce && *enforce == 'Y';

	*detail = fx_asprintf("Secure Boot %s, lockdown %s, sig_enforce %s",
			      secure_boot() ? "on" : "off",
			      lockdown ? lockdown : "not built",
			      enforce ? enforce : "not built");
	free(lockdown);
	free(enforce);
	return yes(d->loaded || (!locked && !enforced));
}

static enum answer check_confidentiality(const struct doctor *d, char **detail)
{
	char *lockdown = fx_sys_line("/sys/kernel/security/lockdown");
	bool ok = !lockdown || !strstr(lockdown, "[confidentiality]");

	(void)d;
	*detail = fx_asprintf("lockdown %s", lockdown ? lockdown : "not built");
	free(lockdown);
	return yes(ok);
}

static enum answer check_cxl(const struct doctor *d, char **detail)
{
	struct fx_words decoders = { 0 }, devices = { 0 };
	bool ok;

	(void)d;
	fx_sys_list("/sys/bus/cxl/devices", "mem", &devices);
	fx_sys_list("/sys/bus/cxl/devices", "decoder0.", &decoders);
	ok = devices.n && decoders.n;
	*detail = fx_asprintf("%u memory devices, %u root decoders", devices.n,
			      decoders.n);
	fx_words_free(&devices);
	fx_words_free(&decoders);
	return yes(ok);
}

static enum answer check_online(const struct doctor *d, char **detail)
{
	char *how = fx_sys_line("/sys/devices/system/memory/auto_online_blocks");
	bool ok = how && (!strcmp(how, "offline") || !strcmp(how, "online_movable"));

	(void)d;
	*detail = fx_asprintf("auto_online_blocks %s", how ? how : "is not there");
	free(how);
	return yes(ok);
}

static enum answer check_p2p(const struct doctor *d, char **detail)
{
	struct fx_words devices = { 0 };
	u32 providers = 0;
	char *path;

	fx_sys_list("/sys/bus/pci/devices", "", &devices);
	for (u32 i = 0; i < devices.n; i++) {
		path = fx_asprintf("/sys/bus/pci/devices/%s/p2pmem",
				   devices.word[i]);
		providers += fx_sys_exists(path);
		free(path);
	}
	fx_words_free(&devices);
	*detail = fx_asprintf("%u providers, CONFIG_PCI_P2PDMA=%c", providers,
			      d->config.text ?
			      fx_kconfig_value(&d->config, "PCI_P2PDMA") : '?');
	return yes(providers);
}

static enum answer check_heap(const struct doctor *d, char **detail)
{
	(void)d;
	return exists("/dev/dma_heap/system", detail);
}

static const struct check checks[] = {
	{ "kernel", MISSING, check_kernel, "everything",
	  "boot Linux 6.12 or newer on x86-64" },
	{ "config", MISSING, check_needed, "what stands next to each option",
	  "boot a kernel that is built with these; Debian 13's are" },
	{ "kernel_btf", MISSING, check_kernel_btf, "policies",
	  "boot a kernel with CONFIG_DEBUG_INFO_BTF=y" },
	{ "ftrace", MISSING, check_ftrace, "every hook",
	  "sysctl kernel.ftrace_enabled=1" },
	{ "libbpf", MISSING, check_libbpf, "attach",
	  "install libbpf 1.4 or newer" },
	{ "capabilities", MISSING, check_caps, "attach, and reading the control plane",
	  "run as root in the initial user namespace" },
	{ "signing", MISSING, check_signing, "loading an unsigned module",
	  "sign fabric_ext.ko with an enrolled key, or turn Secure Boot off" },
	{ "confidentiality", MISSING, check_confidentiality,
	  "policies: BPF may not read kernel memory",
	  "boot with lockdown=integrity, or without" },
	{ "module_btf", MISSING, check_module_btf,
	  "policies: without BTF the module has no ops and no kfuncs",
	  "build it again with pahole installed and vmlinux in the headers" },
	{ "module", GAP, check_module, "everything until it is loaded",
	  NULL /* insmod_command() */ },
	{ "bpffs", GAP, check_bpffs, "attach --pin",
	  "mount -t bpf bpf /sys/fs/bpf" },
	{ "options", GAP, check_optional, "what stands next to each option",
	  "boot a kernel that is built with these" },
	{ "cxl", GAP, check_cxl, "CXL places and the ops about regions",
	  "modprobe cxl_acpi cxl_pci cxl_mem, on a machine with CXL memory" },
	{ "memory_online", GAP, check_online,
	  "safe removal of CXL regions: the kernel would put its own data there",
	  "echo online_movable >/sys/devices/system/memory/auto_online_blocks before a region is made" },
	{ "p2p", GAP, check_p2p, "P2P places and the p2p_map op",
	  "needs CONFIG_PCI_P2PDMA and a device that offers memory, such as an NVMe with a CMB" },
	{ "dma_heap", GAP, check_heap, "`fabricctl run`, whose buffers come from it",
	  "modprobe system_heap, or boot a kernel with CONFIG_DMABUF_HEAPS_SYSTEM" },
};

/* ---- the report -------------------------------------------------------- */

static const char *const status_words[] = {
	[OK] = "ok", [GAP] = "gap", [MISSING] = "missing",
	[NOT_KNOWN] = "unknown",
};

/* What only a loaded module can show begins with loading it. */
static const char *fix_of(const struct doctor *d, const struct check *c)
{
	return !d->loaded && (c->run == check_module || c->run == check_module_btf) ?
		d->insmod : c->fix;
}

/* FX_KMOD: where the machines of scripts/vm have the module. */
static char *insmod_command(void)
{
	const char *path = getenv("FX_KMOD");

	return fx_asprintf("insmod %s", path && *path ? path : "fabric_ext.ko");
}

static struct json_object *finding_json(const struct doctor *d,
					const struct check *c,
					const struct finding *f)
{
	struct json_object *o = fx_json_object();

	fx_json_str(o, "check", c->id);
	fx_json_str(o, "status", status_words[f->status]);
	fx_json_str(o, "detail", f->detail);
	if (f->status != OK) {
		fx_json_str(o, "disables", c->disables);
		fx_json_str(o, "fix", fix_of(d, c));
	}
	return o;
}

static void finding_print(const struct doctor *d, const struct check *c,
			  const struct finding *f)
{
	printf("%-8s %-16s %s\n", status_words[f->status], c->id, f->detail);
	if (f->status == OK)
		return;
	printf("%25s disables: %s\n", "", c->disables);
	printf("%25s to get it: %s\n", "", fix_of(d, c));
}

static enum fx_rc run(const void *config)
{
	struct json_object *o = NULL, *list = NULL;
	struct doctor d = { 0 };
	u32 missing = 0, gaps = 0;

	(void)config;
	uname(&d.uts);
	fx_kconfig_read(d.uts.release, &d.config);
	d.insmod = insmod_command();
	d.loaded = fx_sys_exists("/sys/module/fabric_ext");
	if (fx_json_mode)
		list = fx_json_array();

	for (u32 i = 0; i < ARRAY_SIZE(checks); i++) {
		struct finding f = { 0 };

		switch (checks[i].run(&d, &f.detail)) {
		case YES:
			f.status = OK;
			break;
		case NO:
			f.status = checks[i].gap;
			break;
		case UNKNOWN:
			f.status = NOT_KNOWN;
			break;
		}
		missing += f.status == MISSING;
		gaps += f.status == GAP;
		if (list)
			fx_json_add(list, finding_json(&d, &checks[i], &f));
		else
			finding_print(&d, &checks[i], &f);
		free(f.detail);
	}
	if (list) {
		o = fx_json_object();
		fx_json_bool(o, "ok", !missing);
		fx_json_put(o, "checks", list);
		fx_json_print(o);
	} else {
		printf("\n%u of %zu missing, %u gap%s\n", missing,
		       ARRAY_SIZE(checks), gaps, gaps == 1 ? "" : "s");
	}
	free(d.insmod);
	fx_kconfig_free(&d.config);
	return missing ? FX_RC_INPUT : FX_RC_OK;
}

struct config {
	char unused;	/* a structure has a member */
};

const struct fx_command fx_cmd_doctor = {
	.name = "doctor",
	.summary = "check what this system has of what fabric_ext uses",
	.details =
	"exit status: 0 when what everything needs is there, 1 when not; gaps disable\n"
	"a part and leave the rest.\n",
	.config_size = sizeof(struct config),
	.run = run,
};
