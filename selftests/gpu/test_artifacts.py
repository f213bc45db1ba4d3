#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What fabricctl makes for bpftime, for CUDA kernels and as PTX: by the rules
that bpftime publishes, and as a module that needs nothing else."""

import copy
import hashlib
import json
import os
import re
import shutil
import signal
import struct
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "loader"))
sys.dont_write_bytecode = True
from fxtest import GRAPH, OUT, SANITIZED, TMP, TOP, Run, Skip, main, same, want, write  # noqa: E402

LIBRARY = OUT / "selftests/gpu/libfxcopy.so"
SCHEMA = TOP / "Documentation/bpftime-import.schema.json"
KV_GUARD = TOP / "bpf/policies/kv_guard.bpf.c"
CPU_HELPERS = {1, 2, 3, 4, 5, 6, 7, 8, 14, 15, 16, 25, 45, 112, 113, 114, 130, 131, 132, 133, 160, 174, 182}
CUDA_HELPERS = {1, 2, 3, 6, 14, 25, 501, 502, 503, 504, 505, 507, 508, 509, 510, 511}
CALL, LOAD64 = 0x85, 0x18

KV = """\
fabric_ext: 1
graph: kv
params: { layers: 4, size: 64KiB }
places:
  gpu0: { kind: gpu, match: { driver: vgem }, copies: %s }
  host: { kind: dram, match: { node: 0 } }
edges:
  - { edge: kv_in, for: i in layers, from: host, to: gpu0, bytes: size, owner: borrow, priority: 5 }
  - { edge: kv_out, from: gpu0, to: host, bytes: 2 * size, owner: borrow }
"""
FUNCTIONS = f"{{ library: {LIBRARY}, functions: [cudaMemcpy, {{ fx_put: in }}, {{ fx_get: out }}] }}"
KERNELS = "{ kernels: { _Z7kv_packPvS_m: kv_out, kv_fill: kv_in } }"

UNIFORM = """\
#include <fabric_ext/portable.bpf.h>

FX_MAP(local, most, __u64, 8);
FX_MAP(counter, seen, __u64, 2);

FX_GUARD(move)
{
	__u64 *limit = fx_at(&most, move->edge);

	fx_count(&seen, 0, move->bytes);
	if (!limit || !*limit || move->bytes <= *limit)
		return fx_pass();
	fx_count(&seen, 1, move->bytes);
	return fx_drop(ENOSPC);
}

FX_PORTABLE(p, FX_MALFORMED_PASS);

char LICENSE[] SEC("license") = "Dual BSD/GPL";
"""


def compiled(copies, device=None, policy=UNIFORM, graph=KV):
    """A bundle's directory."""
    out = write("artifacts/x", "").parent / "bundle"
    shutil.rmtree(out, ignore_errors=True)
    run = Run("compile", write("kv.yaml", graph % copies if copies else graph), write("p.bpf.c", policy), "-o", out,
              *(["-d", device] if device else []))
    same(run.rc, 0, run.out, run.err)
    return out


class Object:
    """An eBPF object: its programs by section, and its symbols."""

    def __init__(self, path):
        self.bytes = path.read_bytes()
        want(self.bytes[:6] == b"\x7fELF\x02\x01", path)
        (at,) = struct.unpack_from("<Q", self.bytes, 40)
        size, count, names = struct.unpack_from("<HHH", self.bytes, 58)
        heads = [struct.unpack_from("<IIQQQQIIQQ", self.bytes, at + i * size) for i in range(count)]
        text = heads[names][4]
        self.names = [self.string(text + head[0]) for head in heads]
        self.section = {name: self.bytes[head[4]:head[4] + head[5]]
                        for name, head in zip(self.names, heads) if head[1] == 1 and head[2] & 4 and head[5]}
        table = next(head for head in heads if head[1] == 2)
        strings = heads[table[6]][4]
        self.functions = {}
        for i in range(table[5] // 24):
            name, info, _, home, _, _ = struct.unpack_from("<IBBHQQ", self.bytes, table[4] + i * 24)
            if info & 15 == 2:
                self.functions[self.string(strings + name)] = self.names[home]

    def string(self, at):
        return self.bytes[at:self.bytes.index(b"\0", at)].decode()

    def helpers(self):
        return {h for code in self.section.values() for h in helpers(code)}

    def map_types(self):
        """Of all maps, by what bpftool says of the object's BTF."""
        path = write("object.o", self.bytes)
        done = subprocess.run(["bpftool", "-j", "btf", "dump", "file", path], capture_output=True, text=True, check=True)
        types = {t["id"]: t for t in json.loads(done.stdout)["types"]}
        found = set()
        maps = next(t for t in types.values() if t["kind"] == "DATASEC" and t["name"] == ".maps")
        for var in maps["vars"]:
            member = next(m for m in types[types[var["type_id"]]["type_id"]]["members"] if m["name"] == "type")
            found.add(types[types[member["type_id"]]["type_id"]]["nr_elems"])
        return found


def helpers(code):
    at = 0
    while at < len(code):
        op, regs, _, imm = struct.unpack_from("<BBhi", code, at)
        if op == CALL:
            same(regs, 0, "a call of a function that is not inlined")
            yield imm
        at += 16 if op == LOAD64 else 8


def bpftime_object():
    o = Object(compiled(FUNCTIONS, "bpftime") / "bpftime/policy.bpf.o")
    same(set(o.section), {f"{kind}/{LIBRARY}:{name}" for kind in ("uprobe", "uretprobe")
                          for name in ("cudaMemcpy", "fx_put", "fx_get")})
    want(o.helpers() <= CPU_HELPERS, o.helpers())
    same(o.map_types(), {1, 2, 6, 27})
    # the functions of CUDA, where none are named
    o = Object(compiled("{ }", "bpftime") / "bpftime/policy.bpf.o")
    same(sorted(name for name in o.section if name.startswith("uprobe")),
         ["uprobe/libcuda.so.1:cuMemcpyDtoHAsync_v2", "uprobe/libcuda.so.1:cuMemcpyDtoH_v2",
          "uprobe/libcuda.so.1:cuMemcpyHtoDAsync_v2", "uprobe/libcuda.so.1:cuMemcpyHtoD_v2",
          "uprobe/libcudart.so.12:cudaMemcpy", "uprobe/libcudart.so.12:cudaMemcpyAsync"])
    # those of C, of a library that is named
    o = Object(compiled("{ library: libkv.so }", "bpftime") / "bpftime/policy.bpf.o")
    same(sorted(name for name in o.section if name.startswith("uprobe")),
         ["uprobe/libkv.so:memcpy", "uprobe/libkv.so:memmove"])


def chosen_at_load():
    """A probe on the name of an IFUNC sees no call. Of versions, what counts is the default one."""
    found = refused("{ library: libc.so.6 }", "bpftime", UNIFORM, "FX1421", "IFUNC")
    same(len(found), 2, "memcpy and memmove of C")
    want("'memcpy'" in found[0]["message"] and "'memmove'" in found[1]["message"], found)
    source = """
        __asm__(".symver old, fx_any@ONE"); __asm__(".symver new, fx_any@@TWO"); __asm__(".symver last, fx_any@THREE");
        void *old(void *to, const void *from, unsigned long n) { (void)from; (void)n; return to; }
        void *new(void *to, const void *from, unsigned long n) { (void)n; (void)to; return (void *)from; }
        void *last(void *to, const void *from, unsigned long n) { (void)n; (void)from; return (char *)to + 1; }
        void *fx_put(void *to, const void *from, unsigned long n) { (void)from; (void)n; return to; }
        void *choose(void) { return fx_put; }
        void *fx_get(void *to, const void *from, unsigned long n) __attribute__((ifunc("choose")));
    """
    library, versions = TMP / "libversions.so", write("versions.map", "ONE { };\nTWO { } ONE;\nTHREE { } TWO;\n")
    subprocess.run(["cc", "-w", "-shared", "-fPIC", f"-Wl,--version-script={versions}", "-o", library, write("versions.c", source)], check=True)
    refused(f"{{ library: {library}, functions: [fx_any, fx_get] }}", "bpftime", UNIFORM, "FX1421", "'fx_get'")
    out = compiled(f"{{ library: {library}, functions: [fx_any, fx_put] }}", "bpftime")
    form = json.loads((out / "bpftime/import.json").read_text(encoding="utf-8"))
    symbols = subprocess.run(["nm", "-D", library], capture_output=True, text=True, check=True).stdout
    at = {name: int(value, 16) for value, name in re.findall(r"^([0-9a-f]+) T (\S+)$", symbols, re.M)}
    same({e["attr"]["offset"] for e in form.values() if e["type"] == "bpf_perf_event_handler"},
         {at["fx_any@@TWO"], at["fx_put"]}, at)


def import_form():
    try:
        import jsonschema
    except ImportError as error:
        raise Skip("python3-jsonschema is not installed") from error
    schema = json.loads(SCHEMA.read_text(encoding="utf-8"))
    check = jsonschema.Draft202012Validator
    check.check_schema(schema)
    path = compiled(FUNCTIONS, "bpftime") / "bpftime/import.json"
    form = json.loads(path.read_text(encoding="utf-8"))
    same([e.message for e in check(schema).iter_errors(form)], [])
    kinds = {}
    for key, value in form.items():
        kinds.setdefault(value["type"], {})[int(key)] = value
    maps, programs, events = (kinds[f"bpf_{k}_handler"] for k in ("map", "prog", "perf_event"))
    same((len(programs), len(events)), (6, 6))
    want({"most", "seen", "fx_copy_counts", "fx_copy_records"} <= {m["name"] for m in maps.values()}, maps)
    # functions at the offsets that the library has
    symbols = subprocess.run(["nm", "-D", LIBRARY], capture_output=True, text=True, check=True).stdout
    at = {name: int(value, 16) for value, name in re.findall(r"^([0-9a-f]+) T (\w+)$", symbols, re.M)}
    same({(e["attr"]["type"], e["attr"]["offset"]) for e in events.values()},
         {(kind, at[name]) for kind in (6, 7) for name in ("cudaMemcpy", "fx_put", "fx_get")})
    for program in programs.values():
        code = bytes.fromhex(program["attr"]["insns"])
        same(len(code), 8 * program["attr"]["cnt"])
        want(set(helpers(code)) <= CPU_HELPERS, program["name"])
        want(set(program["attr"]["attach_fds"]) <= set(events), program["name"])
        place = 0
        while place < len(code):
            op, regs, _, imm = struct.unpack_from("<BBhi", code, place)
            if op == LOAD64 and regs >> 4 == 1:
                want(imm in maps, program["name"])
            place += 16 if op == LOAD64 else 8
    # what the schema is for: each of these is found
    for key, change in ((next(iter(maps)), ("attr", "map_extra")), (next(iter(maps)), ("name",)),
                        (next(iter(programs)), ("attr", "insns")), (next(iter(events)), ("enabled",)),
                        (next(iter(events)), ("attr", "_module_name"))):
        other = copy.deepcopy(form)
        inner = other[str(key)]
        for step in change[:-1]:
            inner = inner[step]
        del inner[change[-1]]
        want(list(check(schema).iter_errors(other)), "not found:", change)
    other = copy.deepcopy(form)
    other[str(next(iter(maps)))]["attr"]["map_type"] = 1502
    want(list(check(schema).iter_errors(other)), "a map of a GPU")


def import_left_out():
    """Without the library there are no offsets; with constants, no place for them."""
    out = compiled("{ }", "bpftime")
    want(not (out / "bpftime/import.json").exists(), "functions of a library that is not here")
    table = UNIFORM.replace("FX_GUARD(", "static const __u64 sizes[8] = { 1, 2, 5, 9, 4, 7, 3, 8 };\n\nFX_GUARD(", 1) \
        .replace("if (!limit", "if (sizes[move->edge & 7] == move->bytes || !limit")
    out = compiled(FUNCTIONS, "bpftime", table)
    want(not (out / "bpftime/import.json").exists(), "constants in memory")
    want((out / "bpftime/policy.bpf.o").exists(), "the object")
    # a program of the policy's own is on no function of the graph, however it is named
    own = UNIFORM.replace("FX_GUARD(", "SEC(\"uprobe/libm.so.6:cos\") int my_0(void *ctx) { return 0; }\n\nFX_GUARD(", 1)
    out = compiled(FUNCTIONS, "bpftime", own)
    want(not (out / "bpftime/import.json").exists(), "a program of the policy's own")


def cuda_object():
    o = Object(compiled(KERNELS, "cuda") / "cuda/policy.bpf.o")
    same(o.functions, {"cuda__copy_0": "kprobe/_Z7kv_packPvS_m", "cuda__copy_1": "kprobe/kv_fill"})
    want(o.helpers() <= CUDA_HELPERS, o.helpers())
    same(o.map_types(), {1502, 1503})
    want(not [n for n in o.names if n.startswith((".rodata", ".data", ".bss")) and n in o.section], o.names)


def kv_guard_on_lanes():
    """It decides by the clock, which each lane reads for itself."""
    run = Run("compile", "-j", "-d", "cuda", write("kv.yaml", KV % KERNELS), KV_GUARD, "-o", write("x/y", "").parent / "b")
    same(run.rc, 1)
    source = KV_GUARD.read_text(encoding="utf-8").splitlines()
    found = {d["code"]: d for d in run.json["diagnostics"]}
    same(set(found), {"FX1401", "FX1403"})
    same(len(run.json["diagnostics"]), 2, "one body is in two programs, and told once")
    want("now - w->since >= KV_WINDOW_NS" in source[found["FX1401"]["line"] - 1], found["FX1401"])
    want("w->since = now" in source[found["FX1403"]["line"] - 1], found["FX1403"])
    want("the clock" in found["FX1401"]["notes"][0]["message"], found["FX1401"])


def warnings_in_json():
    slow = UNIFORM.replace("FX_GUARD(", "static __u64 (* const pid)(void) = (void *)14;\n\nFX_GUARD(", 1) \
        .replace("	fx_count(&seen, 0", "	pid();\n	fx_count(&seen, 0", 1)
    run = Run("compile", "-j", "-d", "cuda", write("kv.yaml", KV % KERNELS), write("slow.bpf.c", slow), "-o",
              write("x/y", "").parent / "b")
    same(run.rc, 0, run.err)
    same([(w["code"], w["severity"]) for w in run.json["warnings"]], [("FX1413", "warning")])


def classes_elsewhere():
    """No agent of ours gets to these devices."""
    for cls in ("snapshot", "bounded", "coherent"):
        more = ", 100" if cls == "bounded" else ""
        policy = UNIFORM.replace("FX_GUARD(", f"FX_MAP({cls}, far, __u64, 4{more});\n\nFX_GUARD(", 1)
        for copies, device in ((FUNCTIONS, "bpftime"), (KERNELS, "cuda"), ("{ ptx: sm_90 }", "ptx")):
            run = Run("compile", "-d", device, write("kv.yaml", KV % copies), write("p.bpf.c", policy), "-o",
                      write("x/y", "").parent / "b")
            same(run.rc, 1, cls, device, run.out)
            want("'far'" in run.err and cls in run.err and "nearest" in run.err, run.err)


def refused(copies, device, policy, code, *words, others=False):
    """The policy does not compile for the device, by errors of that kind, which come first."""
    run = Run("compile", "-j", "-d", device, write("kv.yaml", KV % copies), write("p.bpf.c", policy), "-o",
              write("x/y", "").parent / "b")
    same(run.rc, 1, device, run.out, run.err)
    found = run.json["diagnostics"]
    same(found[0]["code"], code, run.out)
    want(others or {d["code"] for d in found} == {code}, run.out)
    for word in words:
        want(word in found[0]["message"], word, run.out)
    return found


def another_type():
    """A program of another type, or a map that cannot be, does not keep the rest from being looked at."""
    other = "SEC(\"%s\") int other(void *ctx) { return 0; }\n\nFX_GUARD("
    for copies, device, twin in ((FUNCTIONS, "bpftime", "uprobe/libm.so.6:cos"), (KERNELS, "cuda", "kprobe/cos"),
                                 ("{ ptx: sm_90 }", "ptx", "syscall")):
        refused(copies, device, UNIFORM.replace("FX_GUARD(", other % "xdp", 1), "FX1414", "'other'", "xdp")
        compiled(copies, device, UNIFORM.replace("FX_GUARD(", other % twin, 1))
    run = Run("compile", "-d", "ptx", write("kv.yaml", KV % "{ ptx: sm_90 }"), write("p.bpf.c", UNIFORM), "-o",
              write("x/y", "").parent / "b")
    if "is not verified" in run.err:
        return
    huge = UNIFORM.replace("FX_MAP(local, most, __u64, 8)", "FX_MAP(local, most, struct { __u64 n[1 << 24]; }, 1 << 20)", 1) \
        .replace("__u64 *limit = fx_at(&most, move->edge)", "__u64 *limit = (__u64 *)fx_at(&most, move->edge)", 1)
    refused("{ ptx: sm_90 }", "ptx", huge, "FX1414", "most")


# What one target has and the other has not: in neither, or in both and refused.
IN_NEITHER = [
    "#ifndef __bpf__\n	__nvvm_bar_sync(0);\n#endif",
    "#ifdef __NVPTX__\n	for (;;)\n		asm volatile(\"\");\n#endif",
    "#ifdef bpf_map_lookup_elem\n	for (;;)\n		asm volatile(\"\");\n#endif",
]
IN_BOTH = [
    "#ifdef FX_FOR_PTX\n	asm volatile(\"bar.sync 0;\");\n#endif",
    "#ifdef FX_FOR_PTX\n	for (;;)\n		asm volatile(\"\");\n#endif",
    "#ifndef FX_FOR_LANES\n	for (;;)\n		asm volatile(\"\");\n#endif",
    "	if (FX_FOR_PTX)\n		for (;;)\n			asm volatile(\"\");",
    "#define HASH #\nHASH ifdef __NVPTX__\n	for (;;)\n		asm volatile(\"\");\nHASH endif",
    "	asm volatile(\"{ .reg .pred p; @p call.uni foo; }\");",
    "	asm volatile(\"exit;\");",
]
TWO_SIDED = [
    "#ifdef FX_FOR_PTX\n	fx_count(&seen, 1, 1);\n#endif",
    "#define TWICE(n) fx_count(&seen, 1, n); fx_count(&seen, 1, n)\n	TWICE(move->edge);",
    "	asm volatile(\"\" : : : \"memory\");",
    "	for (__u32 i = 0; i < 8; i++) {\n		asm volatile(\"\" : : \"r\"(i));\n		fx_count(&seen, 1, fx_now() & i);\n	}",
    "	switch (move->op) {\n	case 0: fx_count(&seen, 0, 1); break;\n	case 1: fx_count(&seen, 1, 3); break;\n	case 2: return fx_drop(EPERM);\n"
    "	case 3: return fx_mark(7, 3);\n	case 5: return fx_drop(EBUSY);\n	case 6: fx_count(&seen, 1, move->bytes / 12); break;\n	}",
]


def ptx_of_one_text():
    """The eBPF that is checked and the PTX that is shipped are made of one text."""
    text = (compiled("{ ptx: sm_90 }", "ptx") / "ptx/policy.ptx").read_text(encoding="utf-8")
    blocks = len(re.findall(r"^.L__BB.*:", text, re.M))
    want(blocks, text)
    for lines in IN_NEITHER:
        text = (compiled("{ ptx: sm_90 }", "ptx", UNIFORM.replace("	fx_count(&seen, 0", lines + "\n	fx_count(&seen, 0", 1))
                / "ptx/policy.ptx").read_text(encoding="utf-8")
        same(re.findall(r"bar\.", text), [], lines)
        same(len(re.findall(r"^.L__BB.*:", text, re.M)), blocks, lines)
    for lines in IN_BOTH:
        policy = UNIFORM.replace("	fx_count(&seen, 0", lines + "\n	fx_count(&seen, 0", 1)
        run = Run("compile", "-d", "ptx", write("kv.yaml", KV % "{ ptx: sm_90 }"), write("p.bpf.c", policy), "-o",
                  write("x/y", "").parent / "b")
        same(run.rc, 1, lines, run.out, run.err)
    for lines in TWO_SIDED:
        compiled("{ ptx: sm_90 }", "ptx", UNIFORM.replace("	fx_count(&seen, 0", lines + "\n	fx_count(&seen, 0", 1))
    # a header of the policy's own is part of the text, one of the system is not
    policy = '#include <linux/types.h>\n#include "own.h"\n' + UNIFORM.replace("	fx_count(&seen, 0", "	MORE;\n	fx_count(&seen, 0", 1)
    for own, rc in (("fx_count(&seen, 1, 2)", 0), ("for (;;) asm volatile(\"\")", 1)):
        write("own.h", f"#ifdef FX_FOR_LANES\n#define MORE (void)0\n#else\n#define MORE {own}\n#endif\n")
        run = Run("compile", "-d", "ptx", write("kv.yaml", KV % "{ ptx: sm_90 }"), write("p.bpf.c", policy), "-o",
                  write("x/y", "").parent / "b")
        same(run.rc, rc, run.out, run.err)
    # lines are the policy's
    found = refused("{ ptx: sm_90 }", "ptx", UNIFORM.replace("	fx_count(&seen, 0", "	bpf_get_prandom_u32();\n	fx_count(&seen, 0", 1), "FX1407")
    same(found[0]["line"], 1 + UNIFORM.splitlines().index("	fx_count(&seen, 0, move->bytes);"), found)


def cuda_as_it_is():
    """What the kernel's verifier sees is what lanes run, with its helpers and its maps."""
    run = Run("compile", "-d", "cuda", write("kv.yaml", KV % KERNELS), write("p.bpf.c", UNIFORM), "-o",
              write("x/y", "").parent / "b")
    if "is not verified" in run.err:
        raise Skip("BPF programs may not be loaded here, so that nothing is verified")
    at = "	__u32 key = %s;\n	__u64 x, y, z, *l = bpf_map_lookup_elem(&%s, &key);\n\n%s\n	fx_count(&seen, 0"
    for key, name, faulty, twin in (
            (3, "most", "#ifdef FX_FOR_CUDA\n	if (l)\n		l[1000000] = 5;\n#endif", "#ifdef FX_FOR_CUDA\n	if (l)\n		l[0] = 5;\n#endif"),
            (0, "seen", "	if (l)\n		l[bpf_get_lane_id()] = bpf_get_lane_id();", "	if (l)\n		l[0] = bpf_get_lane_id();"),
            ("move->bytes & 1", "seen", "	bpf_get_thread_idx(l, &y, &z);", "	if (l)\n		bpf_get_thread_idx(l, &y, &z);"),
            ("move->bytes & 1", "most", "	bpf_get_sm_id();\n	*l = 7;", "	bpf_get_sm_id();\n	if (l)\n		*l = 7;")):
        found = refused(KERNELS, "cuda", UNIFORM.replace("	fx_count(&seen, 0", at % (key, name, faulty), 1), "FX1414", "verifier")
        want(found[0].get("line"), found)
        compiled(KERNELS, "cuda", UNIFORM.replace("	fx_count(&seen, 0", at % (key, name, twin), 1))
    ring = UNIFORM.replace("FX_GUARD(", MINE % 1527, 1).replace(
        "	fx_count(&seen, 0", "	__u64 n = 1;\n\n	bpf_perf_event_output((void *)move, &%s, 0, &n, %u);\n	fx_count(&seen, 0", 1)
    refused(KERNELS, "cuda", ring % ("most", 8), "FX1414")
    refused(KERNELS, "cuda", ring % ("mine", 800), "FX1414", others=True)
    compiled(KERNELS, "cuda", ring % ("mine", 8))


def classes_evaded():
    """Neither a name like the glue's nor a section like the constants' stands for a class."""
    mine = """struct { __uint(type, BPF_MAP_TYPE_ARRAY); __uint(max_entries, 4); __type(key, __u32); __type(value, __u64); } %s SEC(".maps")%s;

FX_GUARD("""
    use = UNIFORM.replace("	fx_count(&seen, 0", "	__u64 *mine = fx_map_entry(&%s, 1);\n\n	if (mine)\n		*mine = 1;\n	fx_count(&seen, 0", 1)
    tag = ' __attribute__((btf_decl_tag("fx_class:local")))'
    for copies, device in ((FUNCTIONS, "bpftime"), (KERNELS, "cuda"), ("{ ptx: sm_90 }", "ptx")):
        for name in ["fx_copy_mine", *(["fx_copy_totals"] if device != "bpftime" else [])]:
            refused(copies, device, (use % name).replace("FX_GUARD(", mine % (name, ""), 1), "FX3008", f"'{name}'")
        if device != "ptx":
            compiled(copies, device, (use % "fx_copy_mine").replace("FX_GUARD(", mine % ("fx_copy_mine", tag), 1))
        variable = UNIFORM.replace("FX_GUARD(", '%s SEC("%s");\n\nFX_GUARD(', 1).replace("!*limit", "!*limit || count == 3", 1)
        refused(copies, device, (variable % ("__u64 count", ".data.rodata")).replace("	fx_count(&seen, 0", "	count++;\n	fx_count(&seen, 0", 1),
                "FX3008", ".data.rodata", others=True)
        if device == "bpftime":
            compiled(copies, device, variable % ("const volatile __u64 count", ".rodata.mine"))


def constants_in_memory():
    """A CUDA kernel has no place for them: that is said, and not a map's name that nobody wrote."""
    text = UNIFORM.replace("	fx_count(&seen, 0", "	bpf_printk(\"%d\", move->edge);\n	fx_count(&seen, 0", 1)
    table = UNIFORM.replace("FX_GUARD(", "static const __u64 sizes[8] = { 1, 2, 5, 9, 4, 7, 3, 8 };\n\nFX_GUARD(", 1) \
        .replace("if (!limit", "if (sizes[move->bytes & 7] == move->bytes || !limit", 1)
    for policy in (text, table):
        found = refused(KERNELS, "cuda", policy, "FX1412", "constants in memory", others=True)
        want("bpf_printk()" in found[0]["help"], found)
        compiled(FUNCTIONS, "bpftime", policy)
    # text that the program stores itself is printed
    own = UNIFORM.replace("	fx_count(&seen, 0", "	char text[4] = \"%d\";\n\n	bpf_trace_printk(text, sizeof(text), move->edge);\n	fx_count(&seen, 0", 1)
    compiled(KERNELS, "cuda", own)


MINE = """struct { __uint(type, %s); __uint(max_entries, 8); __type(key, __u32); __type(value, __u64); } mine SEC(".maps")
	__attribute__((btf_decl_tag("fx_class:local")));

FX_GUARD("""


def maps_of_the_host():
    """bpftime's hash for GPUs is on the host: a warning for each such map."""
    text = UNIFORM.replace("	fx_count(&seen, 0", "	__u32 at = move->edge;\n\n	bpf_map_lookup_elem(&mine, &at);\n	fx_count(&seen, 0", 1)
    for kind, code in ((1501, ["FX1413"]), (1503, [])):
        run = Run("compile", "-j", "-d", "cuda", write("kv.yaml", KV % KERNELS), write("p.bpf.c", text.replace("FX_GUARD(", MINE % kind, 1)),
                  "-o", write("x/y", "").parent / "b")
        same(run.rc, 0, run.out, run.err)
        same([w["code"] for w in run.json.get("warnings", [])], code, run.out)
        want(not code or "'mine'" in run.json["warnings"][0]["message"], run.out)


def put_out():
    """Only a ring takes what is put out; into other maps the call fails."""
    text = UNIFORM.replace("	fx_count(&seen, 0", "	__u64 bytes = move->bytes;\n\n	bpf_perf_event_output((void *)move, &mine, 0, &bytes, sizeof(bytes));\n	fx_count(&seen, 0", 1)
    refused(KERNELS, "cuda", text.replace("FX_GUARD(", MINE % 1503, 1), "FX1411", "bpf_perf_event_output", "1527")
    compiled(KERNELS, "cuda", text.replace("FX_GUARD(", MINE % 1527, 1))


def stopped():
    """Ended while clang runs, as by a time limit: nothing is left behind."""
    tools, tmp, clang = TMP / "tools", TMP / "tools-tmp", shutil.which("clang")
    tools.mkdir()
    (tools / "clang").write_text(f'#!/bin/sh\nkill -TERM $PPID\nexec {clang} "$@"\n', encoding="utf-8")
    (tools / "clang").chmod(0o755)
    for copies, device in ((FUNCTIONS, "bpftime"), (KERNELS, "cuda"), ("{ ptx: sm_90 }", "ptx")):
        tmp.mkdir()
        done = subprocess.run([SANITIZED, "compile", "-d", device, write("kv.yaml", KV % copies), write("p.bpf.c", UNIFORM),
                               "-o", TMP / "stopped"], capture_output=True, check=False,
                              env={**os.environ, "PATH": f"{tools}:{os.environ['PATH']}", "TMPDIR": str(tmp)})
        same(done.returncode, -signal.SIGTERM, done.stderr)
        tmp.rmdir()  # refuses when there is anything in it


def ptx_module():
    text = (compiled("{ ptx: sm_90 }", "ptx", KV_GUARD.read_text(encoding="utf-8")) / "ptx/policy.ptx").read_text(encoding="utf-8")
    want(re.search(r"^\.version \d+\.\d+$", text, re.M), "version")
    same(re.findall(r"^\.target (.*)$", text, re.M), ["sm_90"])
    same(re.findall(r"^\.address_size (\d+)$", text, re.M), ["64"])
    same(re.findall(r"^\.visible \.entry (\w+)\($", text, re.M), ["fx_guard_moves"])
    same(re.findall(r"^\s*(?:call|\.extern|bar\.|barrier).*$", text, re.M), [])
    # the policy's maps, with as many bytes as their entries have
    same({name: int(size) for name, size in re.findall(r"^\.visible \.global \.align 8 \.b8 (\w+)\[(\d+)\];$", text, re.M)},
         {"windows": 16384 * 16 + 16, "kv_bytes": 2 * 8 + 16})
    # lanes add to what they share, and neither load nor store alone
    same(len(re.findall(r"atom\.(?:\w+\.)*add\.u64", text)), 3)
    want(re.search(r"^\.target sm_80$", (compiled("{ ptx: sm_80 }", "ptx") / "ptx/policy.ptx").read_text(encoding="utf-8"),
                   re.M), "another architecture")


def ptx_assembles():
    ptxas = shutil.which("ptxas")
    if not ptxas:
        raise Skip("ptxas is not installed")
    path = compiled("{ ptx: sm_90 }", "ptx", KV_GUARD.read_text(encoding="utf-8")) / "ptx/policy.ptx"
    done = subprocess.run([ptxas, "-arch=sm_90", "-o", path.parent / "policy.cubin", path], capture_output=True, text=True,
                          check=False)
    same(done.returncode, 0, done.stderr)


def without_copies():
    out = write("artifacts/x", "").parent / "bundle"
    graph, policy = write("g.yaml", GRAPH), write("p.bpf.c", UNIFORM)
    run = Run("compile", "-j", graph, policy, "-o", out)
    same((run.rc, run.json["devices"]), (0, "kernel"), run.err)
    for device in ("bpftime", "cuda", "ptx"):
        run = Run("compile", "-j", "-d", device, graph, policy, "-o", out)
        same((run.rc, [d["code"] for d in run.json["diagnostics"]]), (1, ["FX3009"]))
        want("copies" in run.json["diagnostics"][0]["help"], run.out)


def all_devices():
    """In one bundle; a byte of any part is missed."""
    copies = f"{{ library: {LIBRARY}, functions: [{{ fx_put: in }}], kernels: {{ kv_pack: kv_out }}, ptx: sm_90 }}"
    out = compiled(copies)
    manifest = json.loads((out / "manifest.json").read_text(encoding="utf-8"))
    files = {"kernel/policy.bpf.o", "bpftime/policy.bpf.o", "bpftime/import.json", "cuda/policy.bpf.o", "ptx/policy.ptx"}
    want(files <= set(manifest["files"]), manifest["files"])
    same([f["name"] for f in manifest["bpftime"]["functions"]], ["fx_put"])
    same([(r["edge"], r["way"], r["bytes"], r["first"], r["count"]) for r in manifest["bpftime"]["rows"]],
         [("kv_in", "in", 65536, 0, 4), ("kv_out", "out", 131072, 4, 1)])
    same(manifest["cuda"]["kernels"], [{"name": "kv_pack", "edge": "kv_out"}])
    same(sorted(manifest["cuda"]["per_lane"]), ["fx_copy_counts", "seen"])
    same(manifest["ptx"], {"arch": "sm_90", "kernel": "fx_guard_moves"})
    for name in sorted(files):
        path = out / name
        whole = path.read_bytes()
        digest = hashlib.sha256(whole).hexdigest()
        path.write_bytes(whole[:-2] + bytes([whole[-2] ^ 1]) + whole[-1:])
        run = Run("attach", out)
        same(run.rc, 1)
        want(name in run.err and "manifest" in run.err, run.err)
        path.write_bytes(whole)
        same(hashlib.sha256(path.read_bytes()).hexdigest(), digest)


def nothing_to_attach():
    for copies, device in ((FUNCTIONS, "bpftime"), (KERNELS, "cuda"), ("{ ptx: sm_90 }", "ptx")):
        run = Run("attach", compiled(copies, device), timeout=20)
        same((run.rc, run.err.count("\n")), (1, 1), run.err)
        want(device in run.err, run.err)


def rows():
    """Sizes by which copies are told apart: as many as fit, and one more."""
    for n, rc in ((64, 0), (65, 1)):
        graph = KV.replace("bytes: size,", "bytes: size + i,").replace("layers: 4", f"layers: {n - 1}") % "{ }"
        run = Run("compile", "-j", write("rows.yaml", graph))
        same(run.rc, rc, run.out, run.err)
        if rc:
            same([d["code"] for d in run.json["diagnostics"]], ["FX1201"])


sys.exit(main([
    ("bpftime: sections, helpers, map types", bpftime_object), ("bpftime: the form of bpftimetool import", import_form),
    ("bpftime: the form is left out", import_left_out), ("bpftime: chosen at load", chosen_at_load), ("cuda: sections, names, helpers, map types", cuda_object),
    ("cuda: kv_guard decides by the clock", kv_guard_on_lanes), ("cuda: warnings with -j", warnings_in_json),
    ("stopped by a signal", stopped), ("classes evaded", classes_evaded),
    ("ptx: one text", ptx_of_one_text), ("cuda: as it is", cuda_as_it_is),
    ("cuda: constants in memory", constants_in_memory), ("cuda: maps of the host", maps_of_the_host),
    ("cuda: what is put out", put_out), ("map classes", classes_elsewhere), ("programs of another type", another_type), ("ptx: a module", ptx_module), ("ptx: ptxas", ptx_assembles),
    ("without copies", without_copies), ("all devices in a bundle", all_devices), ("nothing to attach", nothing_to_attach),
    ("rows of edges", rows),
]))
