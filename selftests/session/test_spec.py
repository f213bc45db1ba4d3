#!/usr/bin/python3 -B
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The netlink specification says what the header says.

The C compiler reads the header: what the specification says becomes static
assertions.  Types stand in the header's comments only, so these are read here.
"""

import re
import subprocess
import sys
import tempfile
from pathlib import Path

import yaml

TOP = Path(__file__).resolve().parents[2]
HEADER = TOP / "uapi/linux/fabric_ext.h"
SPEC = TOP / "Documentation/netlink/specs/fabric_ext.yaml"
SIZES = {"u8": 1, "s8": 1, "u16": 2, "s16": 2, "u32": 4, "s32": 4, "u64": 8, "s64": 8}


def c_name(prefix, name):
    return (prefix + name).upper().replace("-", "_")


def compile_asserts(asserts):
    """Lines that the compiler finds to be false, or an error of its own."""
    source = "#include <stddef.h>\n#include <linux/fabric_ext.h>\n"
    source += "\n".join(f'_Static_assert({cond}, "{text}");' for cond, text in asserts) + "\n"
    with tempfile.NamedTemporaryFile("w", suffix=".c") as f:
        f.write(source)
        f.flush()
        run = subprocess.run(["cc", "-std=c11", "-fsyntax-only", f"-I{TOP}/uapi", f.name],
                             capture_output=True, text=True, check=False)
    if run.returncode == 0:
        return []
    return re.findall(r"error: (.*)", run.stderr) or [run.stderr]


def enumerators(header, name):
    """(name, comment) of an enum's members in the header's order."""
    body = re.search(rf"^enum {name} \{{\n(.*?)^\}};", header, re.M | re.S)[1]
    body = re.sub(r"\*/\s*", "*/\n", body)
    return re.findall(r"^\s*(\w+)\s*(?:= *\w+)?,(?:[ \t]*/\*(.*?)\*/)?", body, re.M | re.S)


def attributes(spec):
    return spec["attribute-sets"][0]["attributes"]


def values_of_attributes(spec, header):
    asserts = [(f"{c_name('fx-a-', a['name'])} == {i}", a["name"])
               for i, a in enumerate(attributes(spec), 1)]
    asserts.append((f"FX_A_MAX == {len(attributes(spec))}", "the header has more attributes"))
    return compile_asserts(asserts)


def types_of_attributes(spec, header):
    said = {name: comment for name, comment in enumerators(header, "fx_attr") if comment}
    wrong = []
    for a in attributes(spec):
        if a["type"] == "pad":
            continue
        comment = said.get(c_name("fx-a-", a["name"]))
        word = re.match(r"\s*(\w+)", comment or "")
        if not word or word[1] != a["type"]:
            wrong.append(f"{a['name']} is {a['type']}, the header says {comment}")
        struct = re.search(r"struct (\w+)", comment or "")
        if struct and a.get("struct") != struct[1]:
            wrong.append(f"{a['name']} holds {a.get('struct')}, the header says {struct[1]}")
    return wrong


def values_of_commands(spec, header):
    ops = spec["operations"]["list"]
    asserts = [(f"{c_name('fx-cmd-', o['name'])} == {i}", o["name"])
               for i, o in enumerate(ops, 1)]
    asserts.append((f"FX_CMD_MAX == {len(ops)}", "the header has more commands"))
    return compile_asserts(asserts)


def attributes_of_commands(spec, header):
    """The header's comments list what a command takes."""
    wrong = []
    for op, (name, comment) in zip(spec["operations"]["list"],
                                   enumerators(header, "fx_cmd")[1:]):
        takes = {a.lower().replace("_", "-") for a in re.findall(r"\bA_(\w+)", comment)}
        kind = "do" if "do" in op else "dump"
        if "event" in op:
            continue
        said = set(op[kind].get("request", {}).get("attributes", ()))
        if takes != said:
            wrong.append(f"{name}: the specification has {sorted(said)}, the header {sorted(takes)}")
        if ("dump" in comment) != ("dump" in op):
            wrong.append(f"{name}: dump or not")
    return wrong


def values_of_enums(spec, header):
    asserts = []
    counts = {"section": "FX_SECTS", "exit-kind": "FX_EXITS", "op": "FX_OPS",
              "event-type": "FX_EV_TYPES"}
    alls = {"governs": "FX_GOVERNS_ALL"}
    for d in spec["definitions"]:
        if d["type"] not in ("enum", "flags"):
            continue
        names = [e["name"] if isinstance(e, dict) else e for e in d["entries"]]
        for i, name in enumerate(names):
            value = 1 << i if d["type"] == "flags" else i
            asserts.append((f"{c_name(d['name-prefix'], name)} == {value}", f"{d['name']}: {name}"))
        if d["name"] in counts:
            asserts.append((f"{counts[d['name']]} == {len(names)}", f"{d['name']} has more"))
        if d["name"] in alls:
            asserts.append((f"{alls[d['name']]} == {(1 << len(names)) - 1}", f"{d['name']} has more"))
    return compile_asserts(asserts)


def layout_of_structs(spec, header):
    """Members stand where the header has them, and leave no byte out."""
    asserts = []
    for d in spec["definitions"]:
        if d["type"] != "struct":
            continue
        at = 0
        for m in d["members"]:
            size = SIZES.get(m["type"]) or m["len"]
            if d["name"].startswith("fx_"):
                asserts.append((f"offsetof(struct {d['name']}, {m['name']}) == {at}",
                                f"{d['name']}.{m['name']} is not at {at}"))
                asserts.append((f"sizeof(((struct {d['name']} *)0)->{m['name']}) == {size}",
                                f"{d['name']}.{m['name']} has not {size} bytes"))
            at += size
        if d["name"].startswith("fx_"):
            asserts.append((f"sizeof(struct {d['name']}) == {at}", f"{d['name']} has not {at} bytes"))
        else:
            asserts.append((f"sizeof(__u32[FX_SECTS]) == {at}", f"{d['name']} has not {at} bytes"))
    return compile_asserts(asserts)


def constants(spec, header):
    kmod = (TOP / "kmod/genl.h").read_text(encoding="utf-8")
    chunk = int(re.search(r"FX_GENL_CHUNK_MAX\s+(\d+)", kmod)[1])
    consts = {d["name"]: d["value"] for d in spec["definitions"] if d["type"] == "const"}
    wrong = compile_asserts([(f"FX_DIGEST_LEN == {consts['digest-len']}", "digest-len"),
                             (f"FX_NAME_LEN == {64}", "name-len"),
                             (f"FX_MATCH_LEN == {64}", "match-len"),
                             (f"FX_GENL_VERSION == {spec['version']}", "version")])
    if consts["chunk-max"] != chunk:
        wrong.append(f"chunk-max is {consts['chunk-max']}, the module takes {chunk}")
    if f'"{spec["name"]}"' not in re.search(r"FX_GENL_NAME.*", header)[0]:
        wrong.append("the family's name")
    if f'"{spec["mcast-groups"]["list"][0]["name"]}"' not in \
            re.search(r"FX_GENL_MCGRP_EVENTS.*", header)[0]:
        wrong.append("the group's name")
    return wrong


def a_wrong_specification_is_found(spec, header):
    """This test can fail: each kind of mistake is noticed."""
    def with_change(change):
        other = yaml.safe_load(SPEC.read_text(encoding="utf-8"))
        change(other)
        return other

    def swap(items):
        items[2], items[3] = items[3], items[2]

    def definition(spec, name):
        return next(d for d in spec["definitions"] if d["name"] == name)

    faults = [
        (values_of_attributes, lambda s: swap(attributes(s))),
        (values_of_attributes, lambda s: attributes(s).pop()),
        (types_of_attributes, lambda s: attributes(s)[2].update(type="u64")),
        (values_of_commands, lambda s: swap(s["operations"]["list"])),
        (attributes_of_commands, lambda s: s["operations"]["list"][0]["do"]["request"]["attributes"].pop()),
        (values_of_enums, lambda s: swap(definition(s, "exit-kind")["entries"])),
        (layout_of_structs, lambda s: swap(definition(s, "fx_event")["members"])),
        (layout_of_structs, lambda s: definition(s, "fx_place_desc")["members"].pop()),
        (constants, lambda s: s.update(version=2)),
    ]
    return [f"{check.__name__} overlooks a mistake" for check, change in faults
            if not check(with_change(change), header)]


def main():
    header = HEADER.read_text(encoding="utf-8")
    spec = yaml.safe_load(SPEC.read_text(encoding="utf-8"))
    tests = [values_of_attributes, types_of_attributes, values_of_commands,
             attributes_of_commands, values_of_enums, layout_of_structs, constants,
             a_wrong_specification_is_found]
    failed = 0
    print(f"TAP version 13\n1..{len(tests)}")
    for i, test in enumerate(tests, 1):
        wrong = test(spec, header)
        for line in wrong:
            print(f"# {line}")
        failed += bool(wrong)
        print(f"{'not ok' if wrong else 'ok'} {i} {test.__name__}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
