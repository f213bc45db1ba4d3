// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What the logs of libbpf and the verifier come down to. */
#include "bpflog.h"
#include "session_test.h"

#define LOG(prog, log)						\
	"libbpf: prog '" prog "': BPF program load failed: Permission denied\n" \
	"libbpf: prog '" prog "': -- BEGIN PROG LOAD LOG --\n"	\
	log							\
	"-- END PROG LOAD LOG --\n"				\
	"libbpf: prog '" prog "': failed to load: -13\n"	\
	"libbpf: failed to load object 'policy'\n"

static const struct {
	const char *log;
	const char *reason;
} cases[] = {
	/* 6.12 */
	{ LOG("fx_admit",
	      "0: R1=ctx() R10=fp0\n"
	      "; FX_ADMIT(args) @ unsafe.bpf.c:5\n"
	      "0: (79) r1 = *(u64 *)(r1 +0)\n"
	      "func 'admit' arg0 has btf_id 135129 type STRUCT 'fabric_ext_admit_args'\n"
	      "1: R1_w=trusted_ptr_fabric_ext_admit_args()\n"
	      "; struct fx_edge *e = fx_bpf_edge(fx_call_of(args), 0); @ unsafe.bpf.c:7\n"
	      "1: (b4) w2 = 0                        ; R2_w=0\n"
	      "2: (85) call fx_bpf_edge#135231       ; R0_w=trusted_ptr_or_null_fx_edge(id=1)\n"
	      "; return e->desc.bytes > 1 ? -EACCES : 0; @ unsafe.bpf.c:9\n"
	      "3: (79) r1 = *(u64 *)(r0 +0)\n"
	      "R0 invalid mem access 'trusted_ptr_or_null_'\n"
	      "processed 4 insns (limit 1000000) max_states_per_insn 0 total_states 0 peak_states 0 mark_read 0\n"),
	  "unsafe.bpf.c:9: the kernel's verifier refuses 'fx_admit': R0 invalid mem access 'trusted_ptr_or_null_' (at `return e->desc.bytes > 1 ? -EACCES : 0;`)" },
	/* 7.3 explains */
	{ LOG("fx_admit",
	      "0: R1=ctx() R10=fp0\n"
	      "; return e->desc.bytes > 1 ? -EACCES : 0; @ unsafe.bpf.c:9\n"
	      "3: (79) r1 = *(u64 *)(r0 +0)\n"
	      "R0 invalid mem access 'trusted_ptr_or_null_'\n"
	      "\n"
	      "Verification failed: Register Type Safety: Invalid dereference\n"
	      "\n"
	      "Reason:\n"
	      "  R0 may be NULL here (a nullable kernel object pointer). The program could dereference NULL on this\n"
	      "  path, so the verifier cannot prove this access is safe.\n"
	      "\n"
	      "At:\n"
	      "  fx_admit @ unsafe.bpf.c:9:17\n"
	      "  Source context:\n"
	      "       7 |         struct fx_edge *e = fx_bpf_edge(fx_call_of(args), 0);\n"
	      "  >>>  9 |         return e->desc.bytes > 1 ? -EACCES : 0;\n"
	      "\n"
	      "Causal path:\n"
	      "  fx_admit @ unsafe.bpf.c:7:22\n"
	      "\n"
	      "Suggestion:\n"
	      "  Add a NULL check before the access and dereference the pointer only on the non-NULL path.\n"
	      "\n"
	      "processed 4 insns (limit 1000000) max_states_per_insn 0 total_states 0 peak_states 0 mark_read 0\n"),
	  "unsafe.bpf.c:9:17: the kernel's verifier refuses 'fx_admit': R0 may be NULL here (a nullable kernel object pointer) (at `return e->desc.bytes > 1 ? -EACCES : 0;`); to put it right: Add a NULL check before the access and dereference the pointer only on the non-NULL path" },
	/* an explanation without a place or a suggestion */
	{ LOG("p",
	      "Verification failed: Program Structure\n"
	      "\n"
	      "Reason:\n"
	      "  The program has 2000000 instructions\n"
	      "  and one million is the limit.\n"
	      "\n"
	      "processed 0 insns\n"),
	  "the kernel's verifier refuses 'p': The program has 2000000 instructions and one million is the limit" },
	/* " @ " in the source itself, and a line that is indented */
	{ LOG("p",
	      ";         x = \"a @ b\"; @ a.bpf.c:31\n"
	      "7: (79) r1 = *(u64 *)(r0 +0)\n"
	      "invalid access to map value, value_size=8 off=8 size=8\n"
	      "R0 min value is outside of the allowed memory range\n"
	      "processed 9 insns (limit 1000000)\n"),
	  "a.bpf.c:31: the kernel's verifier refuses 'p': R0 min value is outside of the allowed memory range (at `x = \"a @ b\";`)" },
	/* before 6.11 the place is not told */
	{ LOG("p",
	      "; for (;;)\n"
	      "back-edge from insn 5 to 3\n"
	      "processed 3 insns (limit 1000000)\n"),
	  "the kernel's verifier refuses 'p': back-edge from insn 5 to 3 (at `for (;;)`)" },
	/* states and statistics are no reasons */
	{ LOG("p",
	      "; f(x); @ a.bpf.c:3\n"
	      "R1 type=scalar expected=fp\n"
	      "12: R1=scalar() R10=fp0\n"
	      "frame1: R1=scalar()\n"
	      "mark_precise: frame0: last_idx 7\n"
	      "from 3 to 9: R0=0\n"
	      "verification time 12 usec\n"
	      "stack depth 8\n"
	      "processed 3 insns (limit 1000000)\n"),
	  "a.bpf.c:3: the kernel's verifier refuses 'p': R1 type=scalar expected=fp (at `f(x);`)" },
	/* nor are the two that a loop came back to */
	{ LOG("p",
	      "; while (1) @ loop.bpf.c:7\n"
	      "9: (05) goto pc-1\n"
	      "infinite loop detected at insn 9\n"
	      "cur state: R1=scalar(id=1) R10=fp0\n"
	      "old state: R1=scalar(id=1) R10=fp0\n"
	      "processed 11 insns (limit 1000000)\n"),
	  "loop.bpf.c:7: the kernel's verifier refuses 'p': infinite loop detected at insn 9 (at `while (1)`)" },
	/* the log was cut off */
	{ "libbpf: prog 'p': -- BEGIN PROG LOAD LOG --\n; f(x); @ a.bpf.c:3\nR1 !read_ok",
	  "a.bpf.c:3: the kernel's verifier refuses 'p': R1 !read_ok (at `f(x);`)" },
	/* refused before it was verified: libbpf's first complaint */
	{ LOG("p", ""), "prog 'p': BPF program load failed: Permission denied" },
	{ LOG("p", "processed 0 insns\n"), "prog 'p': BPF program load failed: Permission denied" },
	{ "libbpf: extern (func ksym) 'fx_bpf_x': not found in kernel or module BTFs\nlibbpf: failed to load object 'policy'\n",
	  "extern (func ksym) 'fx_bpf_x': not found in kernel or module BTFs" },
	{ "\n\n  \nlibbpf: map 'm': failed to create: -EPERM",
	  "map 'm': failed to create: -EPERM" },
	{ "", "libbpf gives no reason" },
	{ "\n", "libbpf gives no reason" },
	/* marks alone */
	{ "-- BEGIN PROG LOAD LOG --", "-- BEGIN PROG LOAD LOG --" },
	{ "-- BEGIN PROG LOAD LOG --\nwhy\n-- END PROG LOAD LOG --\n",
	  "the kernel's verifier refuses '?': why" },
	{ LOG("p", "; @ \nwhy\n"), "the kernel's verifier refuses 'p': why (at `@`)" },
	{ LOG("p", ";  @ a.c:1\nwhy\n"), "a.c:1: the kernel's verifier refuses 'p': why" },
};

static void reasons(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char *log = fx_strdup(cases[i].log);	/* on the heap: ASan sees */
		char *got = fx_bpflog_reason(log);

		assert_string_equal(got, cases[i].reason);
		free(got);
		free(log);
	}
}

static void unknown_kfuncs(void **state)
{
	static const struct {
		const char *log, *name;
	} known[] = {
		{ "libbpf: extern (func ksym) 'fx_bpf_x': not found in kernel or module BTFs\nlibbpf: failed\n",
		  "fx_bpf_x" },
		{ "libbpf: extern (func ksym) 'f': func_proto [3] incompatible with vmlinux [4]\n", NULL },
		{ "libbpf: extern (func ksym) '': not found", NULL },
		{ "libbpf: extern (func ksym) 'x", NULL },
		{ "libbpf: extern (func ksym) '", NULL },
		{ "", NULL },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(known); i++) {
		char *log = fx_strdup(known[i].log);	/* on the heap: ASan sees */
		char *got = fx_bpflog_unknown_kfunc(log);

		if (known[i].name)
			assert_string_equal(got, known[i].name);
		else
			assert_null(got);
		free(got);
		free(log);
	}
}

/* However a log is cut and mangled, there is one sentence and no overrun. */
static void mangled(void **state)
{
	u64 seed = 1;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		size_t len = strlen(cases[i].log);

		for (size_t cut = 0; cut <= len; cut++) {
			char *log = fx_strndup(cases[i].log, cut), *got;

			for (int k = 0; cut && k < 3; k++) {
				seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
				log[(seed >> 33) % cut] = " \n;@:'-.R0"[(seed >> 20) % 10];
			}
			got = fx_bpflog_reason(log);
			assert_non_null(got);
			assert_true(*got);
			assert_null(strchr(got, '\n'));
			free(got);
			free(log);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reasons),
		cmocka_unit_test(unknown_kfuncs),
		cmocka_unit_test(mangled),
	};

	return RUN(tests);
}
