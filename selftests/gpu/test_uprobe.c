// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The object for bpftime, loaded by plain libbpf, on the functions of a real
 * process: what it records and counts is what was called. Runs on any kernel
 * with uprobes, also in a machine: scripts/vm run newest -- build/tests/native/gpu_uprobe
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <dlfcn.h>
#include <errno.h>
#include <linux/fabric_ext_copy.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "fxcopy.h"
#include "util.h"

#define SIZE		65536U
#define LAYERS		4
#define EDGES		(LAYERS + 1)
#define TIMES		2
#define MAX_CALLS	64
#define MAX_THREADS	4
#define PER_THREAD	200

enum { PASS, DROP, MARK };

/* functions, as the graph below lists them */
enum { CUDA, PUT, GET, ANY, PUT_ALL, ANY_ALL, FUNCTIONS };

static const char graph[] =
	"fabric_ext: 1\n"
	"graph: kv-copy\n"
	"params: { layers: 4, size: 64KiB }\n"
	"places:\n"
	"  gpu0: { kind: gpu, match: { driver: vgem }, copies: { library: %s,\n"
	"          functions: [cudaMemcpy, { fx_put: in }, { fx_get: out }, fx_any, { fx_put_all: in },\n"
	"          fx_any_all] } }\n"
	"  host: { kind: dram, match: { node: 0 } }\n"
	"edges:\n"
	"  - { edge: kv_in, for: i in layers, from: host, to: gpu0, bytes: size, owner: borrow, priority: 5 }\n"
	"  - { edge: kv_out, from: gpu0, to: host, bytes: 2 * size, owner: borrow }\n";

/* the shipped policy, with a budget that is soon used up and never renewed */
static const char policy[] =
	"#define KV_TIMES 2\n"
	"#define KV_WINDOW_NS (1ULL << 60)\n"
	"#include \"%s/bpf/policies/kv_guard.bpf.c\"\n";

/* What is called in the other process; a child shares it with us. */
struct called {
	u64 to, from, bytes;
	u32 function;
	int kind;
};

struct script {
	struct called call[MAX_CALLS];
	u32 n;
};

static struct script *script;
static struct bpf_object *obj;
static struct bpf_link *link_of[2 * FUNCTIONS];
static char dir[32];
static struct fx_copy_record record[4096];
static u32 n_record;

static char *in_dir(const char *name)
{
	return fx_asprintf("%s/%s", dir, name);
}

static void put_file(const char *path, const char *fmt, const char *arg)
{
	FILE *f = fopen(path, "we");

	assert_non_null(f);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
	fprintf(f, fmt, arg);
#pragma GCC diagnostic pop
	assert_int_equal(fclose(f), 0);
}

static int run(const char *const *argv)
{
	pid_t pid = fork();
	int status;

	if (!pid) {
		/* standard output is for the results */
		dup2(STDERR_FILENO, STDOUT_FILENO);
		execv(argv[0], (char *const *)argv);
		_exit(127);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
		return -1;
	return WEXITSTATUS(status);
}

static int take_record(void *ctx, void *data, size_t size)
{
	(void)ctx;
	assert_true(size >= sizeof(record[0]));
	assert_true(n_record < ARRAY_SIZE(record));
	memcpy(&record[n_record++], data, sizeof(record[0]));
	return 0;
}

/* Why the kernel here takes no uprobes, for the skip. */
static const char *why_not;

static int quiet(enum libbpf_print_level level, const char *fmt, va_list ap)
{
	(void)level;
	(void)fmt;
	(void)ap;
	return 0;
}

/* Anything else that keeps a program from being attached is a fault of ours. */
static const char *no_uprobes(int err)
{
	if (err == EPERM || err == EACCES)
		return "uprobes are not permitted here";
	if (access("/sys/bus/event_source/devices/uprobe/type", R_OK))
		return "the kernel here has no uprobes";
	return NULL;
}

static int compile_and_attach(void **state)
{
	char *yaml = in_dir("graph.yaml"), *source = in_dir("policy.bpf.c");
	char *bundle = in_dir("bundle"), *object = in_dir("bundle/bpftime/policy.bpf.o");
	const char *const compile[] = { FX_CTL, "compile", yaml, source, "-o", bundle,
					"--device", "bpftime", NULL };
	struct bpf_program *prog;
	int rc = -1;
	u32 n = 0;

	(void)state;
	put_file(yaml, graph, FX_COPY_LIB);
	put_file(source, policy, FX_TOP);
	if (run(compile))
		goto out;
	script = mmap(NULL, sizeof(*script), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		      -1, 0);
	assert_true(script != MAP_FAILED);
	libbpf_set_print(quiet);
	obj = bpf_object__open_file(object, NULL);
	assert_non_null(obj);
	rc = 0;
	if (bpf_object__load(obj)) {
		why_not = errno == EPERM ? "programs for uprobes may not be loaded here" :
			"the kernel refuses the object";
		rc = errno == EPERM ? 0 : -1;
		goto out;
	}
	bpf_object__for_each_program(prog, obj) {
		assert_true(n < ARRAY_SIZE(link_of));
		link_of[n] = bpf_program__attach(prog);
		if (!link_of[n]) {
			why_not = no_uprobes(errno);
			print_message("# %s is not attached: %s\n", bpf_program__name(prog),
				      strerror(errno));
			rc = why_not ? 0 : -1;
			goto out;
		}
		n++;
	}
	assert_int_equal(n, ARRAY_SIZE(link_of));
out:
	free(yaml);
	free(source);
	free(bundle);
	free(object);
	return rc;
}

static int clean(void **state)
{
	const char *const arg[] = { "/bin/rm", "-rf", dir, NULL };

	(void)state;
	for (u32 i = 0; i < ARRAY_SIZE(link_of); i++)
		bpf_link__destroy(link_of[i]);
	bpf_object__close(obj);
	return run(arg);
}

/* In the child: the library, as any program finds it, and the calls. */
static int play(void)
{
	void *lib = dlopen(FX_COPY_LIB, RTLD_NOW);
	__typeof__(fx_put) *plain[FUNCTIONS] = { 0 };
	__typeof__(cudaMemcpy) *cuda;

	if (!lib)
		return 1;
	*(void **)&cuda = dlsym(lib, "cudaMemcpy");
	*(void **)&plain[PUT] = dlsym(lib, "fx_put");
	*(void **)&plain[GET] = dlsym(lib, "fx_get");
	*(void **)&plain[ANY] = dlsym(lib, "fx_any");
	*(void **)&plain[PUT_ALL] = dlsym(lib, "fx_put_all");
	*(void **)&plain[ANY_ALL] = dlsym(lib, "fx_any_all");
	for (u32 i = 0; i < script->n; i++) {
		struct called *c = &script->call[i];
		char *from = malloc(c->bytes), *to = malloc(c->bytes);

		if (!from || !to)
			return 1;
		memset(from, i, c->bytes);
		c->to = (uintptr_t)to;
		c->from = (uintptr_t)from;
		if (c->function == CUDA && c->kind < 0) {
			c->kind = -c->kind;
			c->to = 0;
			if (!cuda(NULL, from, c->bytes, c->kind))
				return 2;
		} else if (c->function == CUDA) {
			cuda(to, from, c->bytes, c->kind);
		} else {
			plain[c->function](to, from, c->bytes);
		}
		/* advice: the copy is made whatever the verdict */
		if (c->to && memcmp(to, from, c->bytes))
			return 3;
		free(from);
		free(to);
	}
	dlclose(lib);
	return 0;
}

/*
 * From 6.13 a program of this type with 64 bytes of stack or more has them per
 * CPU (BPF_PRIV_STACK_MIN_SIZE of the kernel's verifier), also on a uprobe,
 * where a thread that is preempted within the program leaves its stack to the
 * next one of its CPU. There, no two threads share a CPU.
 */
static bool stack_is_per_cpu(void)
{
	unsigned int major, minor;
	struct utsname u;

	return !uname(&u) && sscanf(u.release, "%u.%u", &major, &minor) == 2 &&
	       (major > 6 || (major == 6 && minor >= 13));
}

/* How many threads there are, and where stack_is_per_cpu(): the CPU of each. */
static u32 own_cpu[MAX_THREADS];
static u32 threads;

static void plan_threads(void)
{
	cpu_set_t set;

	threads = 0;
	if (!stack_is_per_cpu()) {
		threads = MAX_THREADS;
		return;
	}
	assert_int_equal(sched_getaffinity(0, sizeof(set), &set), 0);
	for (u32 i = 0; i < CPU_SETSIZE && threads < MAX_THREADS; i++)
		if (CPU_ISSET(i, &set))
			own_cpu[threads++] = i;
}

struct puts {
	__typeof__(fx_put) *put;
	u32 number;
};

static void *many_puts(void *arg)
{
	__typeof__(fx_put) *put = ((struct puts *)arg)->put;
	static char from[SIZE];
	char *to = malloc(SIZE);
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(own_cpu[((struct puts *)arg)->number], &set);
	if (stack_is_per_cpu() && sched_setaffinity(0, sizeof(set), &set)) {
		free(to);
		return NULL;
	}
	for (u32 i = 0; to && i < PER_THREAD; i++)
		put(to, from, SIZE);
	free(to);
	return NULL;
}

static int play_threads(void)
{
	void *lib = dlopen(FX_COPY_LIB, RTLD_NOW);
	pthread_t thread[MAX_THREADS];
	void *put = lib ? dlsym(lib, "fx_put") : NULL;
	struct puts puts[MAX_THREADS];

	if (!put)
		return 1;
	for (u32 i = 0; i < threads; i++) {
		puts[i] = (struct puts){ .put = put, .number = i };
		if (pthread_create(&thread[i], NULL, many_puts, &puts[i]))
			return 1;
	}
	for (u32 i = 0; i < threads; i++)
		pthread_join(thread[i], NULL);
	return 0;
}

/* Copies are left as by a fault: the handler does not return to them. */
static sigjmp_buf left;

static void on_fault(int sig)
{
	(void)sig;
	siglongjmp(left, 1);
}

#define DEEP		4		/* frames, of which each is larger than a page */
#define PUTS_DEEP	10

static __attribute__((noinline)) void puts_from_deep(__typeof__(fx_put) *put, u32 frames)
{
	static char from[SIZE], to[SIZE];
	char frame[4096];

	/* it has to be there, before and after */
	memset(frame, frames, sizeof(frame));
	__asm__ volatile("" : : "r"(frame) : "memory");
	if (frames)
		puts_from_deep(put, frames - 1);
	else
		for (u32 i = 0; i < PUTS_DEEP; i++)
			put(to, from, SIZE);
	__asm__ volatile("" : : "r"(frame) : "memory");
}

/* Longer than a copy of so many bytes takes. */
#define LEFT_FOR_US	1500000

static int play_left(void)
{
	void *lib = dlopen(FX_COPY_LIB, RTLD_NOW);
	void *put = lib ? dlsym(lib, "fx_put") : NULL;
	struct sigaction act = { .sa_handler = on_fault, .sa_flags = SA_NODEFER };
	static char from[SIZE];

	if (!put || sigaction(SIGSEGV, &act, NULL))
		return 1;
	if (!sigsetjmp(left, 1)) {
		/* the first page is nobody's */
		((__typeof__(fx_put) *)put)((void *)8, from, SIZE);
		return 2;
	}
	usleep(LEFT_FOR_US);
	puts_from_deep(put, DEEP);
	return 0;
}

static pid_t in_child(int (*what)(void))
{
	struct ring_buffer *rb;
	struct bpf_map *map = bpf_object__find_map_by_name(obj, "fx_copy_records");
	pid_t pid = fork();
	int status;

	if (!pid)
		_exit(what());
	assert_true(pid > 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
	n_record = 0;
	rb = ring_buffer__new(bpf_map__fd(map), take_record, NULL, NULL);
	assert_non_null(rb);
	assert_true(ring_buffer__consume(rb) >= 0);
	ring_buffer__free(rb);
	return pid;
}

static u32 sum_up(const char *name, u32 key, u64 *out, u32 words)
{
	struct bpf_map *map = bpf_object__find_map_by_name(obj, name);
	int cpus = libbpf_num_possible_cpus();
	u64 *per_cpu;

	assert_non_null(map);
	assert_true(cpus > 0);
	per_cpu = fx_calloc(cpus * words, sizeof(*per_cpu));
	assert_int_equal(bpf_map_lookup_elem(bpf_map__fd(map), &key, per_cpu), 0);
	memset(out, 0, words * sizeof(*out));
	for (int i = 0; i < cpus * (int)words; i++)
		out[i % words] += per_cpu[i];
	free(per_cpu);
	return bpf_map__max_entries(map);
}

static struct fx_copy_count count_of(u32 row)
{
	struct fx_copy_count c;

	assert_int_equal(sum_up("fx_copy_counts", row, (u64 *)&c, sizeof(c) / 8), 2);
	return c;
}

static struct fx_copy_total total(void)
{
	struct fx_copy_total t;

	sum_up("fx_copy_totals", 0, (u64 *)&t, sizeof(t) / 8);
	return t;
}

static void call(u32 function, u64 bytes, int kind)
{
	assert_true(script->n < MAX_CALLS);
	script->call[script->n++] = (struct called){
		.function = function, .bytes = bytes, .kind = kind };
}

/* What should come of a call, by the graph and the policy, told otherwise. */
static u64 carried[EDGES], turn[2];

static s32 row_of(const struct called *c)
{
	int way = c->function == CUDA ? c->kind : c->function == PUT ||
		  c->function == PUT_ALL ? 1 : c->function == GET ? 2 : 4;

	if (way == 1 || way == 2)
		return way - 1;
	if (way != 4)
		return -1;
	return c->bytes == SIZE ? 0 : c->bytes == 2 * SIZE ? 1 : -1;
}

static void calls(void **state)
{
	struct fx_copy_count before[2] = { 0 }, want[2] = { 0 };
	u32 r = 0, no_edge = 0;
	struct fx_copy_total t;
	pid_t pid;

	(void)state;
	if (why_not) {
		print_message("# %s\n", why_not);
		skip();
	}
	for (u32 round = 0; round < 3; round++) {
		for (u32 i = 0; i < LAYERS; i++)
			call(PUT, SIZE, 0);
		call(GET, 2 * SIZE, 0);
		call(CUDA, SIZE, 1);
		call(CUDA, 2 * SIZE, 2);
		call(CUDA, SIZE, 3);		/* within the device */
		call(CUDA, SIZE, 0);		/* within the host */
		call(CUDA, SIZE, 4);		/* whichever way: by its bytes */
		call(CUDA, 1000, 4);		/* of which there is none */
		call(ANY, 2 * SIZE, 0);
		call(ANY, 123, 0);
		call(PUT, 1000, 0);		/* in parts: one edge goes in */
		call(PUT_ALL, SIZE, 0);		/* once, not three times */
	}
	call(CUDA, SIZE, -1);			/* fails */
	pid = in_child(play);
	for (u32 i = 0; i < script->n; i++) {
		const struct called *c = &script->call[i];
		s32 row = row_of(c);
		u32 edge, action;
		u64 stated;

		if (row < 0) {
			no_edge++;
			continue;
		}
		stated = row ? 2 * SIZE : SIZE;
		edge = row ? LAYERS : turn[row]++ % LAYERS;
		action = carried[edge] + c->bytes > TIMES * stated ? DROP : row ? PASS : MARK;
		if (action != DROP)
			carried[edge] += c->bytes;
		assert_true(r < n_record);
		assert_int_equal(record[r].edge, edge);
		assert_int_equal(record[r].cls, row);
		assert_int_equal(record[r].bytes, c->bytes);
		assert_int_equal(record[r].function, c->function);
		assert_int_equal(record[r].to, c->to);
		assert_int_equal(record[r].from, c->from);
		assert_int_equal(record[r].pid, pid);
		assert_int_equal(record[r].action, action);
		assert_int_equal(record[r].error, action == DROP ? -ENOSPC : 0);
		assert_int_equal(record[r].mark, action == MARK ? 0x4b560005 : 0);
		assert_true(!r || record[r].ns >= record[r - 1].ns);
		want[row].copies++;
		want[row].bytes += c->bytes;
		want[row].refused += action == DROP;
		want[row].refused_bytes += action == DROP ? c->bytes : 0;
		want[row].marked += action == MARK;
		want[row].completed += !!c->to;
		want[row].failed += !c->to;
		r++;
	}
	assert_int_equal(n_record, r);
	for (u32 i = 0; i < 2; i++) {
		before[i] = count_of(i);
		assert_memory_equal(&before[i], &want[i], sizeof(want[i]));
		assert_true(want[i].refused && want[i].copies > want[i].refused);
	}
	t = total();
	assert_int_equal(t.calls, script->n);
	assert_int_equal(t.no_edge, no_edge);
	assert_int_equal(t.nested, 2 * 3);
	assert_int_equal(t.lost, 0);
}

/* Nothing is lost or taken for another thread's. */
static void many_threads(void **state)
{
	struct fx_copy_count before, after;

	(void)state;
	if (why_not) {
		print_message("# %s\n", why_not);
		skip();
	}
	plan_threads();
	before = count_of(0);
	in_child(play_threads);
	after = count_of(0);
	assert_int_equal(after.copies - before.copies, threads * PER_THREAD);
	assert_int_equal(after.bytes - before.bytes, (u64)threads * PER_THREAD * SIZE);
	assert_int_equal(after.completed - before.completed, threads * PER_THREAD);
	assert_int_equal(n_record, threads * PER_THREAD);
	assert_int_equal(total().lost, 0);
}

/* What comes after a copy that never returned is asked about again. */
static void left_by_fault(void **state)
{
	struct fx_copy_count before, after;
	struct fx_copy_total t;

	(void)state;
	if (why_not) {
		print_message("# %s\n", why_not);
		skip();
	}
	before = count_of(0);
	t = total();
	in_child(play_left);
	after = count_of(0);
	assert_int_equal(after.copies - before.copies, 1 + PUTS_DEEP);
	assert_int_equal(after.completed - before.completed, PUTS_DEEP);
	assert_int_equal(total().calls - t.calls, 1 + PUTS_DEEP);
	assert_int_equal(total().nested - t.nested, 0);
}

/* Of no edge as a whole, and so are the parts, one of which has an edge's bytes. */
static void parts_of_no_edge(void **state)
{
	struct fx_copy_count before[2], after;
	struct fx_copy_total t;

	(void)state;
	if (why_not) {
		print_message("# %s\n", why_not);
		skip();
	}
	for (u32 i = 0; i < 2; i++)
		before[i] = count_of(i);
	t = total();
	script->n = 0;
	call(ANY_ALL, 2 * SIZE + 2, 0);
	call(PUT, SIZE, 0);
	in_child(play);
	assert_int_equal(total().calls - t.calls, 2);
	assert_int_equal(total().no_edge - t.no_edge, 1);
	assert_int_equal(total().nested - t.nested, 3);
	assert_int_equal(total().lost, 0);
	after = count_of(0);
	assert_int_equal(after.copies - before[0].copies, 1);
	assert_int_equal(after.completed - before[0].completed, 1);
	after = count_of(1);
	assert_memory_equal(&after, &before[1], sizeof(after));
	assert_int_equal(n_record, 1);
}

/* Gone with its links: calls are no longer seen. */
static void detached(void **state)
{
	struct fx_copy_total before;

	(void)state;
	if (why_not) {
		print_message("# %s\n", why_not);
		skip();
	}
	before = total();
	for (u32 i = 0; i < ARRAY_SIZE(link_of); i++) {
		bpf_link__destroy(link_of[i]);
		link_of[i] = NULL;
	}
	script->n = 0;
	call(PUT, SIZE, 0);
	in_child(play);
	assert_int_equal(n_record, 0);
	assert_int_equal(total().calls, before.calls);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(calls), cmocka_unit_test(many_threads),
		cmocka_unit_test(left_by_fault), cmocka_unit_test(parts_of_no_edge),
		cmocka_unit_test(detached),
	};

	strcpy(dir, "/tmp/gpu_uprobe.XXXXXX");
	if (!mkdtemp(dir))
		return 1;
	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name(__FILE__, tests, compile_and_attach, clean);
}
