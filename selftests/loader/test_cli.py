#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The command itself: its tables, its two ways to tell errors, its bundles."""

import json
import os
import re
import shutil
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
sys.dont_write_bytecode = True
from fxtest import DEFAULT_MODEL, GRAPH, POLICY, SANITIZED, TMP, TOP, Run, Skip, main, same, want, write  # noqa: E402


def commands():
    return re.findall(r"^  (\w+) +\S", Run("--help").out.split("commands:")[1], re.M)


def help_of_each():
    found = commands()
    for name in ("model", "compile", "explain"):
        want(name in found, name)
    for name in found:
        run = Run(name, "--help")
        same(run.rc, 0, name)
        want(run.out.startswith(f"usage: fabricctl {name} "), name)
        want("--json" in run.out and "--help" in run.out, name)
        same(run.err, "")
        same(Run(name, "-h").out, run.out)


def wrong_words():
    for args, said in (
            ((), "usage"), (("compil",), "did you mean 'compile'"), (("frobnicate",), "--help"),
            (("compile",), "needs GRAPH"), (("compile", "a", "b", "c"), "no further operand"),
            (("compile", "--ouput", "x", "g"), "--output"), (("compile", "g", "-z"), "no option"),
            (("compile", "g", "-o"), "needs a value"), (("compile", "g", "--json=1"), "no value"),
            (("compile", "g", "p", "-o", "a", "-o", "b"), "twice"), (("compile", "g", "p", "-o", ""), "empty"),
            (("compile", ""), "empty"), (("explain", ""), "empty"),
            (("compile", "g", "p"), "-o"), (("compile", "g", "-o", "b"), "policy"),
            (("model", "m"), "--tokens"), (("model", "m", "--tokens", "1KiB"), "number"),
            (("model", "m", "--tokens", "0x"), "number"), (("explain", "FX12345"), "no code"),
            (("explain", "-1"), "no option"), (("explain", "--", "-1"), "no code")):
        run = Run(*args)
        same(run.rc, 1, args)
        want(said in run.err, args, run.err)
        same(run.out, "", args)


def json_of_errors():
    run = Run("compile", "-j", "/nowhere.yaml")
    same(run.rc, 1)
    same(run.json["diagnostics"], [])
    want("nowhere" in run.json["errors"][0])
    # wherever the -j stands
    for args in (("compile", "--ouput", "x", "-j"), ("compil", "-j"), ("explain", "a", "b", "--json")):
        same((Run(*args).rc, len(Run(*args).json["errors"])), (1, 1), args)
    same(Run("compile", "--ouput", "--", "-j").out, "")
    run = Run("compile", "-j", write("a.yaml", GRAPH.replace("kind: gpu", "kind: gup")))
    same(run.err, "", "text next to JSON")
    found = run.json["diagnostics"][0]
    same({k: found[k] for k in ("code", "severity", "line", "column", "message", "source", "help")}, {
        "code": "FX0204", "severity": "error", "line": 5, "column": 16, "message": "there is no place kind 'gup'",
        "source": "  gpu: { kind: gup, match: { driver: vgem } }", "help": "did you mean 'gpu'?"})


def json_is_utf8():
    """Whatever bytes the file, its name and its line have."""
    for bad in (b"\xff", b"\xc0\x80", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xe2\x82", b"\x80"):
        path = TMP / os.fsdecode(b"n" + bad + b".yaml")
        path.write_bytes(b"a: [ " + bad + b" gr\xc3\xbc\xc3\x9fe \xf0\x9f\x98\x80 ]\n")
        run = Run("compile", "-j", path)
        same(run.rc, 1)
        found = json.loads(run.raw.decode("utf-8"))["diagnostics"][0]
        want("\ufffd" in found["file"] and "\ufffd" in found["source"], bad, found)
        want("grüße \U0001f600 ]" in found["source"], bad, found)
    run = Run("compile", "-j", TMP / os.fsdecode(b"\xff\xfe"))
    want("\ufffd\ufffd" in json.loads(run.raw.decode("utf-8"))["errors"][0], run.out)
    # nor does the name control a terminal
    want("\x1b" not in Run("compile", TMP / "\x1b[2J").err, "control characters")
    want("\x1b" not in Run("compile", write("\x1b[1m.yaml", "a: 1")).err, "control characters")


def json_of_one_line():
    """An error in each value of a line is told with what stands around it."""
    many = 3000
    text = "{" + "".join(f'"key{i:04}": 1, ' for i in range(many)) + '"z": 1}'
    run = Run("compile", "-j", write("one.json", text))
    found = {d["column"]: d["source"] for d in run.json["diagnostics"]}
    want(len(found) > many, len(found))
    for i in (0, 7, many // 2, many - 1):
        want(f'"key{i:04}"' in found[text.index(f'"key{i:04}"') + 1], i)
    want(max(map(len, found.values())) <= 160, "long lines")


def text_of_errors():
    path = write("t.yaml", GRAPH.replace("edge: back", "edge: out"))
    run = Run("compile", path)
    same(run.rc, 1)
    same(run.out, "")
    same(run.err, f"""\
{path}:24:11: error[FX0207]: there are two edges 'out'
   24 |   - edge: out
      |           ^
{path}:14:11: note: the first is here
   14 |   - edge: out
      |           ^
""")
    # the caret counts characters, and tabs stay
    run = Run("compile", write("t.yaml", "{ \"grüße\":\t\"ß\", fabric_ext: 2, }\n"))
    want("   1 | { \"grüße\":\t\"ß\", fabric_ext: 2, }\n      |           \t                 ^\n" in run.err, run.err)
    # a long line is shown around its error, and nothing controls the terminal
    line = "{ " + "a: [" + "1, " * 500 + "] , \x7fb: 1 }"
    run = Run("compile", write("t.yaml", line))
    want(max(map(len, run.err.splitlines())) < 250, "long lines")
    want(not re.search(r"[\x00-\x08\x0b-\x1f\x7f]", run.err), "control characters")


def many_errors():
    text = GRAPH.replace("places:\n", "places:\n" + "".join(f"  p{i}: {{ kind: x }}\n" for i in range(200)))
    run = Run("compile", write("m.yaml", text))
    want("more errors not shown" in run.err)
    same(len(Run("compile", "-j", write("m.yaml", text)).json["diagnostics"]), 400)


def document():
    """The example of the language's description parses as a whole."""
    text = (TOP / "Documentation/graph-language.rst").read_text(encoding="utf-8")
    example = re.search(r"\.\. code-block:: yaml\n\n((?:    .*\n|\n)+)", text)[1]
    example = "\n".join(line[4:] for line in example.split("\n"))
    found = Run("compile", "-j", write("doc.yaml", example)).json["diagnostics"]
    same([d["code"] for d in found], ["FX1901"])
    want("compress" in found[0]["message"])
    rest = example.replace("compress: { algo: lz4, only_if_pays: true }, ", "")
    run = Run("compile", "-j", write("doc.yaml", rest))
    same(run.rc, 0, run.out)
    same(run.json["instances"], 64)


def to_json(node):
    """A graph as JSON: YAML's other spelling."""
    return json.dumps(node)


def json_graph():
    graph = {
        "fabric_ext": 1, "graph": "g", "params": {"n": 4, "size": "64KiB"},
        "places": {"gpu": {"kind": "gpu", "match": {"driver": "vgem"}},
                   "host": {"kind": "dram", "match": {"node": 0}, "capacity": "16MiB"},
                   "cxl": {"kind": "cxl", "match": {"region": "region0"}}},
        "links": [{"between": ["gpu", "host"], "bandwidth": "55GB/s", "latency": "1us"},
                  {"between": ["host", "cxl"]}],
        "alias": {"kv": {"bytes": "n * size"}},
        "edges": [
            {"edge": "out", "for": "i in n", "from": "gpu", "to": ["host", "cxl"], "bytes": "size", "element": "bf16",
             "alias": {"set": "kv", "at": "i * bytes"}, "owner": "transfer", "order": "release",
             "transform": [{"quantize": {"to": "mxfp8"}}, {"checksum": {"algo": "crc32c"}}]},
            {"edge": "back", "for": ["i in n"], "from": "host", "to": "gpu", "bytes": "size",
             "alias": {"set": "kv", "at": "i * bytes"}, "owner": "borrow", "order": "acquire", "after": ["out[i]"]}]}
    want_digest = Run("compile", "-j", write("g.yaml", GRAPH)).json["digest"]
    for text in (json.dumps(graph), json.dumps(graph, indent=1), json.dumps(graph, indent="\t")):
        run = Run("compile", "-j", write("g.json", text))
        same(run.rc, 0, run.out)
        same(run.json["digest"], want_digest)


def bundle():
    graph, policy, out = write("g.yaml", GRAPH), write("p.bpf.c", POLICY), TMP / "b"
    shutil.rmtree(out, ignore_errors=True)
    run = Run("compile", "-j", graph, policy, "-o", out)
    same(run.rc, 0, run.err, run.out)
    manifest = json.loads((out / "manifest.json").read_text(encoding="utf-8"))
    same(manifest["graph"], "g")
    same(manifest["digest"], run.json["digest"])
    same(manifest["policy"]["ops_map"], "p")
    same(manifest["policy"]["ops"], ["admit"])
    same(sorted(manifest["files"]), ["edges.bin", "kernel/policy.bpf.o", "obligations.json"])
    obligations = json.loads((out / "obligations.json").read_text(encoding="utf-8"))["obligations"]
    same({o["status"] for o in obligations}, {"proved", "run-time", "assumed"})
    for o in obligations:
        want(o["edges"] and o["holds"] and o["by"], o)
    # the same input gives the same graph, whatever was there before
    before = (out / "edges.bin").read_bytes()
    same(Run("compile", graph, policy, "-o", out).rc, 0)
    same((out / "edges.bin").read_bytes(), before)
    same(sorted(p.name for p in TMP.iterdir() if p.name.startswith(".")), [], "left behind:")


def keeps_what_works():
    """A graph or policy that fails leaves the old bundle as it is."""
    graph, policy, out = write("g.yaml", GRAPH), write("p.bpf.c", POLICY), TMP / "keep"
    same(Run("compile", graph, policy, "-o", out).rc, 0)
    before = (out / "manifest.json").read_bytes()
    same(Run("compile", write("bad.yaml", GRAPH + "x: 1\n"), policy, "-o", out).rc, 1)
    same(Run("compile", graph, write("bad.bpf.c", "x"), "-o", out).rc, 1)
    same((out / "manifest.json").read_bytes(), before)


def shipped_policies():
    graph = TMP / "shipped.yaml"
    same(Run("model", DEFAULT_MODEL, "--tokens", 1024, "-o", graph).rc, 0)
    paths = sorted((TOP / "bpf/policies").glob("*.bpf.c"))
    want(paths, "no policies")
    for path in paths:
        run = Run("compile", "-j", graph, path, "-o", TMP / "shipped")
        same(run.rc, 0, path.name, run.err, run.out)
        same(run.err, "", path.name)


def clang_speaks():
    """What clang says stands on standard error, and with -j in the notes."""
    graph, out = write("g.yaml", GRAPH), TMP / "speaks"
    policy = write("bad.bpf.c", POLICY.replace("return 0;", "return zero;"))
    run = Run("compile", graph, policy, "-o", out)
    want("undeclared identifier 'zero'" in run.err, run.err)
    same(run.err.count("note:"), 0, run.err)
    run = Run("compile", "-j", graph, policy, "-o", out)
    want("undeclared identifier 'zero'" in run.err, run.err)
    notes = run.json["diagnostics"][0]["notes"]
    same(len(notes), 1)
    same(notes[0]["message"], run.err)
    # a warning is passed on, and a pointer to something else is an error
    warns = write("warns.bpf.c", POLICY.replace("return 0;", "int unused; return 0;"))
    run = Run("compile", graph, warns, "-o", out)
    same(run.rc, 0, run.err)
    want("unused" in run.err, run.err)
    mixed = POLICY.replace("return 0;", "struct fx_class *c = fx_bpf_edge(fx_call_of(args), 0); return !c;")
    run = Run("compile", graph, write("mixed.bpf.c", mixed), "-o", out)
    same(run.rc, 1, run.err)
    want("incompatible pointer types" in run.err, run.err)


def clang_trouble():
    """No clang, a clang that dies, a clang that is interrupted."""
    graph, policy, out = write("g.yaml", GRAPH), write("p.bpf.c", POLICY), TMP / "trouble"
    tools = TMP / "tools"
    tmp = TMP / "empty"
    tools.mkdir(exist_ok=True)
    tmp.mkdir(exist_ok=True)

    def run(script):
        clang = tools / "clang"
        clang.unlink(missing_ok=True)
        if script:
            clang.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
            clang.chmod(0o755)
        done = Run("compile", graph, policy, "-o", out,
                   env={"PATH": f"{tools}" if not script else f"{tools}:{os.environ['PATH']}", "TMPDIR": str(tmp)})
        same(list(tmp.iterdir()), [], "left behind:")
        want(not out.exists())
        return done.rc, done.err

    rc, err = run(None)
    same((rc, len(err.splitlines())), (2, 1))
    want("install" in err, err)
    rc, err = run("kill -SEGV $$")
    same((rc, len(err.splitlines())), (2, 1))
    want("signal 11" in err, err)
    rc, err = run("exit 0")
    same(rc, 2, err)
    rc, err = run("while [ \"$1\" != -o ]; do shift; done; echo junk >\"$2\"")
    same((rc, len(err.splitlines())), (2, 1), err)
    want("BTF" in err, err)


def interrupted():
    """SIGINT, as from a terminal, while clang runs: nothing is left."""
    graph, policy, out = write("g.yaml", GRAPH), write("p.bpf.c", POLICY), TMP / "interrupted"
    tools, tmp = TMP / "slow", TMP / "slow-tmp"
    tools.mkdir()
    tmp.mkdir()
    (tools / "clang").write_text("#!/bin/sh\nsleep 30\n", encoding="utf-8")
    (tools / "clang").chmod(0o755)
    with subprocess.Popen([SANITIZED, "compile", graph, policy, "-o", out], start_new_session=True,
                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                          env={**os.environ, "PATH": f"{tools}:{os.environ['PATH']}", "TMPDIR": str(tmp)}) as run:
        for _ in range(500):
            if list(tmp.iterdir()):
                break
            time.sleep(0.02)
        time.sleep(0.3)
        os.killpg(run.pid, signal.SIGINT)
        run.wait(180)
    want(run.returncode != 0)
    same(list(tmp.iterdir()), [], "left behind:")
    want(not out.exists())


def output_is_full():
    """A result that nobody can have read is a failure."""
    with open("/dev/full", "w", encoding="utf-8") as full:
        done = subprocess.run([SANITIZED, "compile", write("g.yaml", GRAPH)], stdout=full, stderr=subprocess.PIPE,
                              check=False)
    same(done.returncode, 2)
    same(len(done.stderr.splitlines()), 1)


def disk_is_full():
    """A file-size limit stands for the full disk."""
    graph, policy, out = write("g.yaml", GRAPH.replace("n: 4", "n: 40000").replace("16MiB", "16GiB")), \
        write("p.bpf.c", POLICY), TMP / "full"
    script = 'trap "" XFSZ; ulimit -f 500; exec "$@"'
    done = subprocess.run(["bash", "-c", script, "x", SANITIZED, "compile", graph, policy, "-o", out],
                          capture_output=True, text=True, check=False)
    same(done.returncode, 2, done.stderr)
    want("cannot be written" in done.stderr, done.stderr)
    want(not out.exists())
    same([p.name for p in TMP.iterdir() if p.name.startswith(".full")], [], "left behind:")


def only_files_are_replaced():
    """A device or a pipe keeps its name: root would lose /dev/null."""
    pipe, folder, link = TMP / "pipe", TMP / "folder", TMP / "link"
    os.mkfifo(pipe)
    folder.mkdir()
    link.symlink_to(pipe)
    for path in (pipe, folder, link):
        run = Run("model", DEFAULT_MODEL, "--tokens", 128, "-o", path)
        same((run.rc, len(run.err.splitlines())), (1, 1), path)
        want("-o" in run.err, run.err)
    want(stat.S_ISFIFO(pipe.stat().st_mode) and link.is_symlink())
    same(Run("model", DEFAULT_MODEL, "--tokens", 128, "-o", TMP / "no/such").rc, 2)
    same([p.name for p in TMP.iterdir() if p.name.startswith(("pipe.", "folder.", "link."))], [], "left behind:")


def modes():
    old = os.umask(0o027)
    try:
        out = TMP / "modes"
        same(Run("compile", write("g.yaml", GRAPH), write("p.bpf.c", POLICY), "-o", out).rc, 0)
        same(Run("model", DEFAULT_MODEL, "--tokens", 128, "-o", TMP / "m.yaml").rc, 0)
    finally:
        os.umask(old)
    same(stat.S_IMODE(out.stat().st_mode), 0o750)
    same(stat.S_IMODE((out / "manifest.json").stat().st_mode), 0o640)
    same(stat.S_IMODE((TMP / "m.yaml").stat().st_mode), 0o640)


TESTS = [(f.__name__.replace("_", " "), f) for f in (
    help_of_each, wrong_words, json_of_errors, json_is_utf8, json_of_one_line, text_of_errors, many_errors, document, json_graph, bundle,
    keeps_what_works, shipped_policies, clang_speaks, clang_trouble, interrupted, output_is_full, disk_is_full, only_files_are_replaced,
    modes)]

sys.exit(main(TESTS))
