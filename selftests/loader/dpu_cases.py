# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What a DPU cannot run: each rule broken by a policy, and a twin that keeps it."""

GRAPH = """\
fabric_ext: 1
graph: g
places:
  host: { kind: dram, match: { node: 0 } }
  dpu: { kind: dpu, match: { dpu: dpu0 } }
edges:
  - { edge: in, from: dpu, to: host, bytes: 1KiB, owner: borrow, flow: { udp: 5000 } }
"""

POLICY = """\
#include <fabric_ext/portable.bpf.h>

FX_MAP(local, sums, __u64, 64);
%s

FX_GUARD(move)
{
	__u64 *sum = fx_at(&sums, move->edge), n = move->bytes;

	if (!sum)
		return fx_pass();
%s
	return n > 1000 ? fx_drop(ENOSPC) : fx_pass();
}

FX_PORTABLE(p, FX_MALFORMED_PASS);

char LICENSE[] SEC("license") = "Dual BSD/GPL";
"""

RAW = "struct { __uint(type, BPF_MAP_TYPE_%s); __uint(max_entries, %s); __type(key, %s); __type(value, __u64); } m " \
      "SEC(\".maps\")%s;"
CLASS = " __attribute__((btf_decl_tag(\"fx_class:local\")))"
USE = "\t__u64 *x = bpf_map_lookup_elem(&m, &(%s){ 1 });\n\tif (x)\n\t\tn += *x;"


def many(n):
    return "\n".join(f"FX_MAP(local, m{i}, __u64, 1);" for i in range(n))


def long(n):
    return "\n".join(f"\t*(volatile __u64 *)sum += n ^ {i}001;" for i in range(n))


# (code, before the guard and in it with the fault, the same of the twin). @ is
# before the line where the error points; without one it is about the whole.
CASES = [
    (1121, ("SEC(\"syscall\") int other(void *ctx)\n{\n\treturn ctx != 0;\n}", ""), ("", "")),
    (1122, ("", "@\tfor (__u32 i = 0; i < move->priority; i++)\n\t\tn = n * 3 + (*(volatile __u64 *)sum);"),
     ("", "#pragma unroll\n\tfor (__u32 i = 0; i < 4; i++)\n\t\tn = n * 3 + (*(volatile __u64 *)sum);")),
    (1123, ("static __noinline __u64 twice(__u64 x)\n{\n\tasm volatile(\"\" : \"+r\"(x));\n\treturn 2 * x;\n}",
            "@\tn = twice(n);"),
     ("static __always_inline __u64 twice(__u64 x)\n{\n\tasm volatile(\"\" : \"+r\"(x));\n\treturn 2 * x;\n}",
      "\tn = twice(n);")),
    (1124, ("", "@\tn += __sync_fetch_and_add(sum, n);"), ("", "\t__sync_fetch_and_add(sum, n);")),
    (1124, ("", "@\tn += __sync_val_compare_and_swap(sum, 1, n);"), ("", "\t__sync_fetch_and_add((__u32 *)sum, 1);")),
    (1124, ("", "@\t__sync_fetch_and_or(sum, n);"), ("", "\t*sum |= n;")),
    (1125, ("static const __u32 table[8] = { 3, 1, 4, 1, 5, 9, 2, 6 };", "@\tn += table[n & 7];"),
     ("static const __u32 table[8] = { 3, 1, 4, 1, 5, 9, 2, 6 };", "\tn += table[3];")),
    (1126, ("static __u64 seen;", "@\tseen += n;"), ("", "\t*sum += n;")),
    (1126, ("__u64 limit = 7;", "@\tn += limit;"), ("", "\tn += 7;")),
    (1127, ("", "\tvolatile __u64 a[4] = { };\n@\ta[n & 3] = n;\n\tn += a[0];"),
     ("", "\tvolatile __u64 a[4] = { };\n\ta[3] = n;\n\tn += a[0];")),
    (1128, ("", "@\tn += bpf_get_prandom_u32();"), ("", "\tn += fx_now();")),
    (1128, ("extern __u64 bpf_cpumask_first(const void *m) __ksym;", "@\tn += bpf_cpumask_first(sum);"),
     ("", "\tn += *sum;")),
    (1129, (RAW % ("HASH", 4, "__u32", CLASS), USE % "__u32"), (RAW % ("ARRAY", 4, "__u32", CLASS), USE % "__u32")),
    (1129, (RAW % ("ARRAY", 4, "__u32", ""), USE % "__u32"), (RAW % ("ARRAY", 4, "__u32", CLASS), USE % "__u32")),
    (1129, ("FX_MAP(local, m, __u64, 3000000);", USE % "__u32"), ("FX_MAP(local, m, __u64, 2000000);", USE % "__u32")),
    (1129, ("FX_MAP(snapshot, m, __u64, 4096);", "\tn += !!fx_snap(&m);"),
     ("FX_MAP(snapshot, m, __u64, 4095);", "\tn += !!fx_snap(&m);")),
    (1130, ("", "@\tasm volatile(\".8byte 0x0000000000000016\");"), ("", "\tasm volatile(\".8byte 0x0000000000000015\");")),
    (1131, (many(16), ""), (many(15), "")),
    (1131, ("", long(1400)), ("", long(700))),
    (1133, ("", "@\tn += n / (*(volatile __u64 *)sum);"), ("", "\tn += n / 3 + (n >> (*(volatile __u64 *)sum & 63));")),
    (1133, ("", "@\tn += (__u32)n % *(volatile __u32 *)sum;"), ("", "\tn += (__u32)n % 7;")),
    # it points to where clang moves the question; on a kernel without the type the verifier is shown no such branch
    (1134, ("#include <bpf/bpf_core_read.h>\nstruct nowhere { int a; };",
            "\tif (bpf_core_type_exists(struct nowhere))\n\t\tn += *(volatile __u64 *)fx_at(&sums, 99);"),
     ("#include <bpf/bpf_core_read.h>\nstruct nowhere { int a; };",
      "\tif (sizeof(struct nowhere) == 4)\n\t\tn += *(volatile __u64 *)sum;")),
    (1132, ("", "\tsum = fx_at(&sums, move->cls);\n\tn += *sum;"),
     ("", "\tsum = fx_at(&sums, move->cls);\n\tif (sum)\n\t\tn += *sum;")),
]


def text(parts):
    """The policy, and the line that is marked in it, or None."""
    marked = POLICY % parts
    line = next((i for i, text in enumerate(marked.split("\n"), 1) if text.startswith("@")), None)
    return marked.replace("\n@", "\n"), line
