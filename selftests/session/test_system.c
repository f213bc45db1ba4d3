// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What is found on a system, on systems that the tests make up. */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "cmd.h"
#include "kconfig.h"
#include "session_test.h"
#include "system.h"

/* Make a file with its directories; a NULL text makes a directory. */
static void make(const char *path, const char *text)
{
	char *whole = root_path(path);
	FILE *f;

	if (!text) {
		mkdir(whole, 0755);
	} else {
		f = fopen(whole, "w");
		assert_non_null(f);
		fputs(text, f);
		fclose(f);
	}
	free(whole);
}

static bool matches(u16 kind, const char *name, const char *shown)
{
	struct fx_place_desc p = { .match_kind = kind };
	struct fx_words found = { 0 };
	bool there;
	char *text;

	snprintf(p.match, sizeof(p.match), "%s", name);
	there = fx_sys_match(&p, &found);
	text = fx_words_text(&found, 4);
	if (shown)
		assert_string_equal(text, shown);
	free(text);
	fx_words_free(&found);
	return there;
}

static void places(void **state)
{
	(void)state;
	make("/sys/devices/system/node/node0", NULL);
	make("/sys/devices/system/node/node12", NULL);
	make("/sys/bus/cxl/devices/region0", NULL);
	make("/sys/bus/cxl/devices/region10", NULL);
	make("/sys/bus/cxl/devices/region9", NULL);
	make("/sys/bus/cxl/devices/mem0", NULL);
	make("/sys/bus/pci/devices/0000:03:00.0", NULL);
	make("/sys/bus/pci/drivers/nvme/0000:03:00.0", NULL);
	make("/sys/bus/pci/drivers/idle/module", NULL);
	make("/sys/bus/platform/devices/vgem", NULL);
	make("/sys/bus/platform/devices/PNP0B00:00", NULL);
	make("/sys/bus/dax/devices/dax1.0", NULL);
	make("/sys/class/net/eth0", NULL);
	make("/dev/dma_heap/system", "");

	assert_true(matches(FX_MATCH_NONE, "", "nothing"));
	assert_true(matches(FX_MATCH_EXPORTER, "anything", "nothing"));
	assert_true(matches(FX_MATCH_NODE, "0", "0, 12"));
	assert_true(matches(FX_MATCH_NODE, "12", NULL));
	assert_false(matches(FX_MATCH_NODE, "1", NULL));
	assert_true(matches(FX_MATCH_REGION, "region10", "region0, region9, region10"));
	assert_false(matches(FX_MATCH_REGION, "region1", NULL));
	assert_false(matches(FX_MATCH_REGION, "mem0", NULL));
	assert_true(matches(FX_MATCH_PCI, "0000:03:00.0", "0000:03:00.0"));
	assert_false(matches(FX_MATCH_PCI, "0000:03:00", NULL));
	assert_true(matches(FX_MATCH_DRIVER, "nvme", "nvme, vgem"));
	assert_true(matches(FX_MATCH_DRIVER, "vgem", NULL));
	assert_true(matches(FX_MATCH_DRIVER, "PNP0B00:00", NULL));
	assert_false(matches(FX_MATCH_DRIVER, "idle", NULL));
	assert_true(matches(FX_MATCH_DAX, "dax1.0", "dax1.0"));
	assert_true(matches(FX_MATCH_NETDEV, "eth0", "eth0"));
	assert_true(matches(FX_MATCH_HEAP, "system", "system"));
	assert_false(matches(FX_MATCH_HEAP, "cma", NULL));
	assert_false(matches(FX_MATCH_KINDS, "x", "nothing"));
}

static void an_empty_system(void **state)
{
	u64 caps;

	(void)state;
	for (u16 kind = FX_MATCH_NODE; kind < FX_MATCH_KINDS; kind++)
		if (kind != FX_MATCH_EXPORTER)
			assert_false(matches(kind, "0", "nothing"));
	assert_false(fx_sys_caps(&caps));
	assert_false(fx_sys_initial_userns());
	assert_false(fx_sys_bpffs());
	assert_null(fx_sys_line("/proc/none"));
}

static void privileges(void **state)
{
	u64 caps = 0;

	(void)state;
	make("/proc/self/status", "Name:\tx\nCapInh:\t1\nCapEff:\t000001ffffffffff\n");
	make("/proc/self/uid_map", "         0          0 4294967295\n");
	assert_true(fx_sys_caps(&caps));
	assert_true(caps == 0x1ffffffffffULL);
	assert_true(fx_sys_initial_userns());
	make("/proc/self/uid_map", "         0       1000          1\n");
	assert_false(fx_sys_initial_userns());
	make("/proc/self/uid_map", "");
	assert_false(fx_sys_initial_userns());
}

static void words(void **state)
{
	struct fx_words w = { 0 };
	char *text, name[16];

	(void)state;
	text = fx_words_text(&w, 3);
	assert_string_equal(text, "nothing");
	free(text);
	for (int i = 0; i < 10; i++) {
		snprintf(name, sizeof(name), "w%d", i);
		fx_words_add(&w, name);
	}
	text = fx_words_text(&w, 3);
	assert_string_equal(text, "w0, w1, w2 and 7 more");
	free(text);
	fx_words_free(&w);
	assert_int_equal(w.n, 0);
}

static void configurations(void **state)
{
	struct fx_kconfig k;
	char *command;

	(void)state;
	fx_kconfig_read("1.2.3", &k);
	assert_null(k.text);
	assert_int_equal(fx_kconfig_value(&k, "NUMA"), 'n');
	fx_kconfig_free(&k);

	make("/lib/modules/1.2.3/build/.config", "CONFIG_NUMA=y\n");
	fx_kconfig_read("1.2.3", &k);
	assert_int_equal(fx_kconfig_value(&k, "NUMA"), 'y');
	fx_kconfig_free(&k);

	make("/boot/config-1.2.3",
	     "# CONFIG_NUMA is not set\nCONFIG_CXL_BUS=m\nCONFIG_CXL_BUS_X=y\n"
	     "CONFIG_NAME=\"CONFIG_KPROBES=y\"\nXCONFIG_BPF=y\nCONFIG_LAST=m");
	fx_kconfig_read("1.2.3", &k);
	assert_int_equal(fx_kconfig_value(&k, "NUMA"), 'n');
	assert_int_equal(fx_kconfig_value(&k, "CXL_BUS"), 'm');
	assert_int_equal(fx_kconfig_value(&k, "CXL_BUS_X"), 'y');
	assert_int_equal(fx_kconfig_value(&k, "CXL"), 'n');
	assert_int_equal(fx_kconfig_value(&k, "KPROBES"), 'n');
	assert_int_equal(fx_kconfig_value(&k, "BPF"), 'n');
	assert_int_equal(fx_kconfig_value(&k, "LAST"), 'm');
	fx_kconfig_free(&k);

	/* the running kernel's own comes first, and is packed */
	make("/proc/config", "CONFIG_NUMA=y\n");
	command = fx_asprintf("gzip -c '%s/proc/config' >'%s/proc/config.gz'", root, root);
	assert_int_equal(system(command), 0);
	free(command);
	fx_kconfig_read("1.2.3", &k);
	assert_int_equal(fx_kconfig_value(&k, "NUMA"), 'y');
	assert_int_equal(fx_kconfig_value(&k, "CXL_BUS"), 'n');
	fx_kconfig_free(&k);
	make("/proc/config.gz", "this is not packed");
	fx_kconfig_read("1.2.3", &k);
	assert_int_equal(fx_kconfig_value(&k, "CXL_BUS"), 'm');
	fx_kconfig_free(&k);
}

/* ---- doctor ------------------------------------------------------------ */

extern const struct fx_command fx_cmd_doctor;

/* What it prints about this system. */
static char *doctor(enum fx_rc *rc)
{
	char *path = fx_asprintf("%s/doctor.out", root), *text;
	int out = dup(STDOUT_FILENO), fd;
	size_t len;

	fflush(stdout);
	fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
	dup2(fd, STDOUT_FILENO);
	close(fd);
	*rc = fx_cmd_doctor.run(NULL);
	fflush(stdout);
	dup2(out, STDOUT_FILENO);
	close(out);
	assert_int_equal(fx_read_file(path, 1 << 20, &text, &len), 0);
	free(path);
	return text;
}

/* The line about a check: "missing  name ...". */
static void expect(const char *text, const char *status, const char *check)
{
	char want[64];

	snprintf(want, sizeof(want), "%-8s %-16s", status, check);
	if (!strstr(text, want))
		fail_msg("'%s' is not in:\n%s", want, text);
}

static void make_config(const char *text)
{
	struct utsname u;
	char *path;

	uname(&u);
	path = fx_asprintf("/boot/config-%s", u.release);
	make(path, text);
	free(path);
}

static void doctor_of_nothing(void **state)
{
	enum fx_rc rc;
	char *text = doctor(&rc);

	(void)state;
	assert_int_equal(rc, FX_RC_INPUT);
	expect(text, "unknown", "config");
	expect(text, "missing", "kernel_btf");
	expect(text, "missing", "ftrace");
	expect(text, "missing", "capabilities");
	expect(text, "ok", "signing");
	expect(text, "unknown", "module_btf");
	expect(text, "gap", "module");
	expect(text, "gap", "bpffs");
	expect(text, "unknown", "options");
	expect(text, "gap", "cxl");
	expect(text, "gap", "memory_online");
	expect(text, "gap", "p2p");
	expect(text, "gap", "dma_heap");
	free(text);
}

static void doctor_of_a_good_system(void **state)
{
	enum fx_rc rc;
	char *text;

	(void)state;
	make_config("CONFIG_MODULES=y\nCONFIG_BPF_SYSCALL=y\nCONFIG_BPF_JIT=y\nCONFIG_DEBUG_INFO_BTF=y\n"
		    "CONFIG_DEBUG_INFO_BTF_MODULES=y\nCONFIG_DYNAMIC_FTRACE_WITH_ARGS=y\n"
		    "CONFIG_KPROBES=y\nCONFIG_DMA_SHARED_BUFFER=y\nCONFIG_DMABUF_HEAPS_SYSTEM=m\n"
		    "CONFIG_MEMORY_HOTPLUG=y\nCONFIG_NUMA=y\nCONFIG_CXL_REGION=y\n"
		    "CONFIG_DEV_DAX_KMEM=m\nCONFIG_PCI_P2PDMA=y\n");
	make("/sys/kernel/btf/vmlinux", "");
	make("/sys/kernel/btf/fabric_ext", "");
	make("/sys/module/fabric_ext", NULL);
	make("/proc/sys/kernel/ftrace_enabled", "1\n");
	make("/proc/self/status", "CapEff:\t000001ffffffffff\n");
	make("/proc/self/uid_map", "0 0 4294967295\n");
	make("/sys/bus/cxl/devices/mem0", NULL);
	make("/sys/bus/cxl/devices/decoder0.0", NULL);
	make("/sys/devices/system/memory/auto_online_blocks", "online_movable\n");
	make("/sys/bus/pci/devices/0000:03:00.0/p2pmem", NULL);
	make("/dev/dma_heap/system", "");
	text = doctor(&rc);
	for (const char *const *c = (const char *const[]){
		     "config", "kernel_btf", "ftrace", "libbpf", "capabilities",
		     "signing", "confidentiality", "module_btf", "module",
		     "options", "cxl", "memory_online", "p2p", "dma_heap", NULL }; *c; c++)
		expect(text, "ok", *c);
	/* bpffs cannot be made up: it is known by the file system's number */
	expect(text, "gap", "bpffs");
	free(text);
}

static void doctor_finds_each_gap(void **state)
{
	static const struct {
		const char *path;
		const char *text;
		const char *status;
		const char *check;
		const char *says;
	} cases[] = {
		{ "/proc/sys/kernel/ftrace_enabled", "0\n", "missing", "ftrace", "sysctl kernel.ftrace_enabled=1" },
		{ "/proc/self/status", "CapEff:\t0000000000001000\n", "missing", "capabilities", "lacks CAP_BPF, CAP_PERFMON" },
		{ "/proc/self/status", "CapEff:\t000001ffffffffff\n", "missing", "capabilities", "this user namespace only" },
		{ "/sys/kernel/security/lockdown", "none [integrity] confidentiality\n", "missing", "signing", "[integrity]" },
		{ "/sys/kernel/security/lockdown", "none integrity [confidentiality]\n", "missing", "confidentiality", "BPF may not read" },
		{ "/sys/kernel/security/lockdown", "[none] integrity confidentiality\n", "ok", "signing", "lockdown [none]" },
		{ "/sys/module/module/parameters/sig_enforce", "Y\n", "missing", "signing", "sig_enforce Y" },
		{ "/sys/devices/system/memory/auto_online_blocks", "online\n", "gap", "memory_online", "echo online_movable" },
		{ "/sys/devices/system/memory/auto_online_blocks", "offline\n", "ok", "memory_online", "offline" },
		/* loaded, and without BTF: what platform.md warns of */
		{ "/sys/module/fabric_ext/refcnt", "0\n", "missing", "module_btf", "is loaded and has none" },
	};
	enum fx_rc rc;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char *text;

		make(cases[i].path, cases[i].text);
		text = doctor(&rc);
		expect(text, cases[i].status, cases[i].check);
		if (!strstr(text, cases[i].says))
			fail_msg("'%s' is not in:\n%s", cases[i].says, text);
		free(text);
	}
	assert_int_equal(rc, FX_RC_INPUT);
}

static void doctor_names_options(void **state)
{
	enum fx_rc rc;
	char *text;

	(void)state;
	make_config("CONFIG_BPF_SYSCALL=y\nCONFIG_BPF_JIT=y\nCONFIG_DEBUG_INFO_BTF=y\n"
		    "CONFIG_KPROBES=m\nCONFIG_PCI_P2PDMA=m\nCONFIG_CXL_REGION=m\n");
	text = doctor(&rc);
	assert_int_equal(rc, FX_RC_INPUT);
	expect(text, "missing", "config");
	assert_non_null(strstr(text, "KPROBES (hooks)"));
	assert_null(strstr(text, "BPF_JIT ("));
	expect(text, "gap", "options");
	assert_non_null(strstr(text, "PCI_P2PDMA (the p2p_map op"));
	assert_null(strstr(text, "CXL_REGION ("));
	free(text);
}

static void secure_boot(void **state)
{
	static const char path[] =
		"/sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c";
	enum fx_rc rc;
	char *text, *whole;
	FILE *f;

	(void)state;
	make(path, "");
	for (int on = 0; on < 2; on++) {
		whole = fx_asprintf("%s%s", root, path);
		f = fopen(whole, "w");
		fwrite((char[]){ 6, 0, 0, 0, (char)on }, 1, 5, f);
		fclose(f);
		free(whole);
		text = doctor(&rc);
		assert_non_null(strstr(text, on ? "Secure Boot on" : "Secure Boot off"));
		free(text);
	}
}

/* Whether a signal to this process arrives at the descriptor. */
static bool arrives(int fd, int signal)
{
	char info[128];	/* struct signalfd_siginfo */
	struct pollfd p = { .fd = fd, .events = POLLIN };

	kill(getpid(), signal);
	return poll(&p, 1, 100) == 1 && read(fd, info, sizeof(info)) == sizeof(info);
}

/* A terminal that hangs up ends a command in order, unless nohup is before it. */
static void signals(void **state)
{
	struct sigaction old, ignore = { .sa_handler = SIG_IGN };
	int fd;

	(void)state;
	sigaction(SIGHUP, NULL, &old);
	for (int nohup = 0; nohup < 2; nohup++) {
		sigaction(SIGHUP, nohup ? &ignore : &old, NULL);
		fd = fx_sys_signals(false);
		assert_true(fd >= 0);
		assert_true(arrives(fd, SIGINT));
		assert_true(arrives(fd, SIGTERM));
		assert_int_equal(arrives(fd, SIGHUP), !nohup && old.sa_handler != SIG_IGN);
		close(fd);
		fx_sys_signals_default();
	}
	sigaction(SIGHUP, &old, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		ON_A_SYSTEM(places), ON_A_SYSTEM(an_empty_system), ON_A_SYSTEM(privileges), ON_A_SYSTEM(words),
		ON_A_SYSTEM(configurations), ON_A_SYSTEM(doctor_of_nothing), ON_A_SYSTEM(doctor_of_a_good_system),
		ON_A_SYSTEM(doctor_finds_each_gap), ON_A_SYSTEM(doctor_names_options), ON_A_SYSTEM(secure_boot),
		ON_A_SYSTEM(signals),
	};

	return RUN(tests);
}
