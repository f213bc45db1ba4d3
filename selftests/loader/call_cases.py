# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What ops may not call, and guards that no verifier takes: each with a twin."""

HEAD = """\
#include <fabric_ext/policy.bpf.h>

extern int bpf_copy_from_user_str(void *dst, __u32 dst__sz, const void *unsafe, __u64 flags) __ksym;
extern int fx_bpf_teleport(struct fx_call *call) __ksym;

__u64 seen;

static __noinline int deep(__u64 n)
{
	__u64 x = n;

	%s
	return x;
}

static long round(__u32 i, void *ctx)
{
	__u64 x = i;

	%s
	return x & 1;
}
"""
END = "\nFX_POLICY(p, %s);\n\nchar LICENSE[] SEC(\"license\") = \"Dual BSD/GPL\";\n"
DEFINES = {"admit": "FX_ADMIT", "p2p_map": "FX_P2P_MAP", "tier": "FX_TIER", "route": "FX_ROUTE",
           "complete": "FX_COMPLETE", "init": "FX_INIT", "exit": "FX_EXIT", "dump": "FX_DUMP"}
VOID = ("complete", "exit", "dump")
COPY = "bpf_copy_from_user(&x, 8, 0);"
STRING = "bpf_copy_from_user_str(&x, 8, 0, 0);"
CALL = "seen = deep(args->call.op);"
LOOP = "bpf_loop(4, round, 0, 0);"


def policy(in_deep="", in_round="", **ops):
    """The bodies of ops, and of what they call."""
    text = HEAD % (in_deep, in_round)
    for name, body in ops.items():
        text += f"\n{DEFINES[name]}(args)\n{{\n\t__u64 x = 0;\n\n\t{body}\n"
        text += "\tseen = x;\n}\n" if name in VOID else "\tseen = x;\n\treturn 0;\n}\n"
    return text + END % ", ".join(f".{name} = (void *)fx_{name}" for name in ops)


PLAIN_EXIT = 'SEC("struct_ops/exit") void plain(unsigned long long *ctx)\n{\n\tseen = deep(ctx[0]);\n}\n'

OPS = [
    # a helper that may sleep: in the op itself, where it calls, where it calls back, in every op that decides
    *((3012, policy(**{name: COPY}), policy(**{name: "x = args->call.op;"}))
      for name in ("admit", "p2p_map", "tier", "route", "complete")),
    (3012, policy(COPY, admit=CALL), policy(COPY, exit=CALL, admit="x = 1;")),
    (3012, policy("", COPY, route=LOOP), policy("", COPY, dump=LOOP, route="x = 1;")),
    # a function of the kernel that may
    (3012, policy(admit=STRING), policy(init=STRING)),
    # an op that may sleep, by a program that may not
    (3012, policy(COPY, admit="x = 1;").replace("\nFX_POLICY(p, ", f"\n{PLAIN_EXIT}\nFX_POLICY(p, .exit = (void *)plain, "),
     policy(COPY, admit="x = 1;").replace("\nFX_POLICY(p, ", "\n" + PLAIN_EXIT.replace("ops/", "ops.s/") +
                                          "\nFX_POLICY(p, .exit = (void *)plain, ")),
    # what is for another type of programs
    *((3013, policy(admit=call), policy(admit="x = bpf_ktime_get_ns() + bpf_get_smp_processor_id();"))
      for call in ("x = bpf_skb_pull_data((void *)args, 4);", "x = bpf_xdp_adjust_head((void *)args, 4);",
                   "x = bpf_redirect(1, 0);", "bpf_sys_close(3);", "x = bpf_get_func_ip((void *)args);",
                   "bpf_sock_map_update((void *)args, 0, &x, 0);")),
    # functions of the module that are another op's; one that nobody knows is the kernel's to refuse
    (3013, policy(route="x = fx_bpf_dev_place((void *)args);"), policy(admit="x = fx_bpf_dev_place(args);")),
    (3013, policy(complete="x = fx_bpf_buf_place((void *)args);"), policy(admit="x = fx_bpf_buf_place(args);")),
    (3013, policy(tier="x = fx_bpf_buf_tag((void *)args, &x, 8);"),
     policy(admit="struct fx_buf_tag t; x = fx_bpf_buf_tag(args, &t, sizeof(t));")),
    (3013, policy(admit="fx_bpf_dump((void *)args, \"x\", 1);"), policy(dump="fx_bpf_dump(args, \"x\", 1);")),
    (3013, policy(admit="fx_bpf_dump((void *)args, \"x\", 1);"), policy(admit="x = fx_bpf_teleport(fx_call_of(args));")),
]

GUARD = """\
#include <fabric_ext/portable.bpf.h>

FX_MAP(local, a, __u64, 4);
struct {
	__uint(type, BPF_MAP_TYPE_LPM_TRIE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 4);
	__type(key, __u64);
	__type(value, __u64);
} trie SEC(".maps");

FX_GUARD(move)
{
	__u64 key = move->bytes, *n = fx_at(&a, move->edge);

	%s
	return fx_pass();
}

FX_PORTABLE(p, FX_MALFORMED_PASS);

char LICENSE[] SEC("license") = "Dual BSD/GPL";
"""


def guard(body):
    return GUARD % body


BODIES = [
    (3011, guard("*n = key;"), guard("if (n)\n\t\t*n = key;")),
    (3011, guard("if (n)\n\t\tn[1] = key;"), guard("if (n)\n\t\tn[0] = key;")),
    (3011, guard("while (fx_now() & 1)\n\t\tasm volatile(\"\");"),
     guard("for (int i = 0; i < 8 && fx_now() & 1; i++)\n\t\tasm volatile(\"\");")),
    (3011, guard("n = bpf_map_lookup_elem(&trie, &key);\n\t*n = key;"),
     guard("n = bpf_map_lookup_elem(&trie, &key);\n\tif (n)\n\t\t*n = key;")),
    (3012, guard("bpf_copy_from_user(&key, 8, 0);\n\tif (n)\n\t\t*n = key;"),
     # what is for a device alone is no fault of the others
     guard("if (move->device == FX_DEVICE_NIC)\n\t\treturn fx_redirect(1);")),
]


def line_of(text, part):
    return text[:text.index(part)].count("\n") + 1


def lines(kernel, nic):
    """(code, graph, policy, line, words)"""
    text = policy(COPY, admit=CALL)
    yield 3012, kernel, text, line_of(text, COPY), ["'admit'", "bpf_copy_from_user", "'kernel'", "map"]
    text = policy(route="x = bpf_redirect(1, 0);")
    yield 3013, kernel, text, line_of(text, "x = bpf_redirect"), ["'route'", "bpf_redirect", "'kernel'", "bpf_ktime_get_ns"]
    text = policy(tier="x = fx_bpf_dev_place((void *)args);")
    yield 3013, kernel, text, line_of(text, "x = fx_bpf_dev"), ["'tier'", "fx_bpf_dev_place", "'admit'"]
    text = guard("*n = key;")
    yield 3011, kernel, text, line_of(text, "*n = key;"), ["'admit'", "'kernel'", "NULL"]
    text = text.replace(text[text.index("struct {"):text.index("FX_GUARD")], "")
    yield 3010, nic, text, line_of(text, "*n = key;"), ["'nic'", "NULL"]
    text = text.replace("*n = key;", COPY.replace("x", "key"))
    yield 3010, nic, text, line_of(text, "bpf_copy_from"), ["the guard", "bpf_copy_from_user", "'nic'", "map"]
