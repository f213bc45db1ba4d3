#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""attach and what belongs to it, of graphs with DPUs: all of it or nothing."""

import json
import os
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
sys.dont_write_bytecode = True
from dpulab import RUN, WAIT_S, Attached, Dpu, DpuLab, Run, graph, nothing_left, refused, want, write  # noqa: E402
from fxtest import SANITIZED, main, same  # noqa: E402
from netlab import Peer, Port, compile_bundle, frame, none_new, ours, sh, tests_of  # noqa: E402

EDGES = [("passes", "in", "{ udp: 5000 }"), ("drops", "in", "{ udp: 5001 }", {"priority": 1})]
TWO = [("one", "in", "{ udp: 5000 }"), ("other", "in", "{ udp: 5001 }", {"dpu": 1})]


def progs():
    """Programs of DPUs that the kernel still has: none, they are only verified."""
    return [p for p in json.loads(sh("bpftool", "-j", "prog", "list")) if p.get("name") == "fx_dpu_move"]


def not_running(_):
    bundle = compile_bundle(graph(EDGES))
    for options in ((), ("--pin",)):
        refused(Run("attach", *options, bundle), "dpu 'dpu0'", "no fabric-dpu", "start it")
        nothing_left()
    run = Run("attach", "--repair", bundle)
    refused(run, "nothing pinned")
    nothing_left()


def told_by_all(_):
    """list, show and stat, in text and as JSON."""
    with Dpu(), Attached(EDGES):
        run = Run("list")
        want("attached on dpu0" in run.out, run.out)
        shown = Run("show", "-j", "lab").json
        same((shown["graph"], shown["policy"], shown["attached"], [d["dpu"] for d in shown["dpu"]]),
             ("lab", "lab", True, ["dpu0"]))
        want("nic" not in shown, shown)
        same([(e["class"], e["dir"]) for e in shown["dpu"][0]["edges"]], [("passes", "in"), ("drops", "in")])
        for command in ("show", "stat"):
            want("dpu0" in Run(command, "lab").out and "drops" in Run(command, "lab").out, command)
        same(Run("stat", "-j", "lab").json["dpu"][0]["state"], "attached")
        same(progs(), [])
        refused(Run("attach", "--pin", compile_bundle(graph(EDGES))), "already", "--replace", "fabricctl detach lab")
        refused(Run("attach", "--pin", compile_bundle(graph(EDGES, "other"), name="other")),
                "dpu 'dpu0'", "fabricctl detach lab")
    nothing_left()
    same(Run("list", "-j").rc, 2, "no graph, and no module:")


def becomes(dpu, key, value):
    end = time.monotonic() + 20
    while dpu.info()[key] != value and time.monotonic() < end:
        time.sleep(0.02)
    same(dpu.info()[key], value)


def in_the_foreground(_):
    """Without --pin it is there for as long as the command."""
    bundle = compile_bundle(graph(EDGES))
    with Dpu() as dpu:
        run = Run("attach", bundle, "--", sys.executable, "-c", "print('meanwhile')")
        want(run.rc == 0 and "meanwhile" in run.out, run.rc, run.out, run.err)
        same((dpu.info()["graph"], dpu.info()["loads"]), ("", 1))
        child = subprocess.Popen([SANITIZED, "attach", bundle], stderr=subprocess.DEVNULL)
        becomes(dpu, "graph", "lab")
        child.terminate()
        child.wait(20)
        same(dpu.info()["graph"], "")
        # nor does it outlive a command that is killed
        child = subprocess.Popen([SANITIZED, "attach", bundle], stderr=subprocess.DEVNULL)
        becomes(dpu, "graph", "lab")
        end = time.monotonic() + 20
        while not Run("list", "-j").json and time.monotonic() < end:
            time.sleep(0.1)
        same([(o["graph"], [(d["dpu"], d["state"]) for d in o["dpu"]]) for o in Run("list", "-j").json],
             [("lab", [("dpu0", "attached")])])
        refused(Run("detach", "lab"), "the process that attached it")
        refused(Run("attach", "--replace", bundle), "the process that attached it")
        child.kill()
        child.wait(20)
        becomes(dpu, "graph", "")
        # what it left among the pins, the next command removes
        refused(Run("show", "lab"), "")
    nothing_left()


def all_or_nothing(_):
    """One of two that does not run, or is taken: the other has nothing, nor has a network device."""
    bundle = compile_bundle(graph(TWO, dpus=("dpu0", "dpu1")))
    before = ours()
    with Dpu() as one:
        refused(Run("attach", "--pin", bundle), "dpu1")
        same(one.info()["graph"], "")
        nothing_left()
        with Dpu("dpu1", ("w0",)) as other:
            with Attached(TWO, dpus=("dpu0", "dpu1")):
                same((one.info()["graph"], other.info()["graph"]), ("lab", "lab"))
            same((one.info()["graph"], other.info()["graph"]), ("", ""))
            with Attached([("x", "in", "{ udp: 1 }")], name="else", dpus=("dpu1",)):
                refused(Run("attach", "--pin", bundle), "dpu1", "else")
                same(one.info()["graph"], "")
        mixed = [*EDGES, ("wire", "out", "{ udp: 5000 }", {"nic": 0})]
        text = graph(mixed, nics=("w1",))
        with Attached(mixed, nics=("w1",)) as a:
            stat = a.stat()
            same((len(stat["nic"]), len(stat["dpu"])), (1, 1))
        one.kill()
        refused(Run("attach", "--pin", compile_bundle(text)), "dpu0")
    none_new(before)
    nothing_left()


def altered(_):
    """One byte of any part: refused, and the part is named."""
    bundle = compile_bundle(graph(EDGES), name="altered")
    files = [p for p in sorted(bundle.rglob("*")) if p.is_file()]
    same([str(p.relative_to(bundle)) for p in files],
         ["dpu/dpu0/artifact.bin", "dpu/dpu0/flows.bin", "dpu/dpu0/policy.bpf.o", "edges.bin", "manifest.json",
          "manifest.sha256", "obligations.json"])
    with Dpu() as dpu:
        for path in files:
            part = "manifest.json" if path.name == "manifest.sha256" else str(path.relative_to(bundle))
            sound = path.read_bytes()
            for at in (0, len(sound) // 3, len(sound) // 2, len(sound) - 1):
                path.write_bytes(sound[:at] + bytes((sound[at] ^ 1,)) + sound[at + 1:])
                refused(Run("attach", "--pin", bundle), part)
            for changed in (sound[:-1], sound + b"\0", b""):
                path.write_bytes(changed)
                refused(Run("attach", "--pin", bundle), part)
            path.write_bytes(sound)
        same(dpu.info()["loads"], 0)
        nothing_left()


def seal(bundle):
    """A manifest that fits what lies there."""
    manifest = bundle / "manifest.json"
    said = json.loads(manifest.read_text(encoding="utf-8"))
    for name in said["files"]:
        path = bundle / name
        said["files"][name] = {"bytes": path.stat().st_size, "sha256": sh("sha256sum", str(path)).split()[0]}
    manifest.write_text(json.dumps(said), encoding="utf-8")
    (bundle / "manifest.sha256").write_text(f"{sh('sha256sum', str(manifest)).split()[0]}  manifest.json\n",
                                            encoding="utf-8")


def mixed_up(_):
    """Parts of another bundle under a manifest that fits them."""
    bundle = compile_bundle(graph(EDGES), name="mixed")
    other = compile_bundle(graph([("passes", "in", "{ udp: 5000 }", {"bytes": 5})]), name="mixed2")
    with Dpu() as dpu:
        for part in ("artifact.bin", "flows.bin"):
            path = bundle / "dpu/dpu0" / part
            sound = path.read_bytes()
            path.write_bytes((other / "dpu/dpu0" / part).read_bytes())
            seal(bundle)
            refused(Run("attach", "--pin", bundle), f"dpu/dpu0/{part}")
            path.write_bytes(sound)
        # an object that was never this artifact's is the DPU's to refuse
        path = bundle / "dpu/dpu0/policy.bpf.o"
        source = write("mixed3/p.bpf.c", "#include <fabric_ext/portable.bpf.h>\nFX_GUARD(move)\n{\n"
                       "\treturn move->bytes ? fx_pass() : fx_drop(EPERM);\n}\n"
                       "FX_PORTABLE(q, FX_MALFORMED_PASS);\nchar LICENSE[] SEC(\"license\") = \"GPL\";\n")
        third = compile_bundle(graph(EDGES), policy=source, name="mixed3")
        path.write_bytes((third / "dpu/dpu0/policy.bpf.o").read_bytes())
        seal(bundle)
        refused(Run("attach", "--pin", bundle), "policy.bpf.o", "dpu0")
        same(dpu.info()["loads"], 0)
    nothing_left()


def not_verified(_):
    """Compiled without the privilege: told then, and refused by attach."""
    text, policy = write("weak/g.yaml", graph(EDGES)), Path(__file__).resolve().parents[2] / "bpf/policies/kv_guard.bpf.c"
    out = text.parent / "out"
    out.mkdir()
    os.chmod(text.parents[1], 0o755)
    os.chmod(out, 0o777)
    done = subprocess.run(["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--inh-caps=-all",
                           SANITIZED, "compile", str(text), str(policy), "-o", str(out / "bundle")],
                          capture_output=True, text=True, check=False, timeout=120, env={**os.environ, "TMPDIR": str(out)})
    want(done.returncode == 0, done.stderr)
    want("not verified" in done.stderr and "CAP_BPF" in done.stderr and "not verified" in done.stdout, done.stderr)
    about = json.loads((out / "bundle/manifest.json").read_text(encoding="utf-8"))["dpu"][0]
    same((about["verified"], about["kernel"]), (False, None))
    with Dpu() as dpu:
        refused(Run("attach", "--pin", out / "bundle"), "artifact.bin", "as root")
        same(dpu.info()["loads"], 0)
    nothing_left()


MANY = """\
#include <fabric_ext/portable.bpf.h>

struct many {
	__u64 n[16];
};

FX_MAP(local, many, struct many, 1);

FX_GUARD(move)
{
	struct many *m = fx_at(&many, 0);

%s
	return fx_pass();
}

FX_PORTABLE(many, FX_MALFORMED_PASS);

char LICENSE[] SEC("license") = "Dual BSD/GPL";
"""
# (what is refused at its second line, its twin)
NOT_TAKEN = [
    ("\tif (m && move->bytes < 16)\n\t\tm->n[move->bytes]++;", "\tif (m)\n\t\tm->n[move->bytes & 15]++;"),
    ("\tif (m && move->edge <= 7)\n\t\tm->n[move->edge] += 2;", "\tif (m)\n\t\tm->n[move->edge & 7] += 2;"),
]


def not_taken(_):
    """What the kernel verifies and librte_bpf does not take: why, where, and the way out."""
    line = MANY.split("\n").index("%s") + 2
    with Dpu() as dpu:
        for faulty, twin in NOT_TAKEN:
            bundle = compile_bundle(graph(EDGES), write("many.bpf.c", MANY % faulty))
            refused(Run("attach", "--pin", bundle), "dpu 'dpu0': librte_bpf does not take the program",
                    "memory boundary violation at instruction ", f"the policy's line {line};", "& (2^n - 1)")
            nothing_left()
            want("memory boundary violation" in dpu.said(), "its log:", dpu.said())
            with Attached(EDGES, policy=write("many.bpf.c", MANY % twin)):
                same(dpu.info()["graph"], "lab")
    nothing_left()


def killed(lab):
    """kill -9: told in one sentence, cleaned up, mended."""
    for command in (("detach", "lab"), ("attach", "--repair")):
        with Dpu() as dpu:
            a = Attached(EDGES)
            a.__enter__()
            dpu.kill()
            for told in ("show", "stat"):
                run = Run(told, "lab")
                want(run.rc == 0 and run.err.count("\n") == 1 and "no fabric-dpu of this name is running" in run.err,
                     run.err)
                want("its fabric-dpu has ended" in run.out, run.out)
            same(Run("stat", "-j", "lab").json["dpu"][0]["state"], "its fabric-dpu has ended")
            want("its fabric-dpu has ended" in Run("list").out, "list")
            want(Run("bypass", "lab").rc == 0, "bypass")
            if command[0] == "detach":
                want(Run(*command).rc == 0, "detach")
                nothing_left()
                continue
            refused(Run(*command, a.bundle), "no fabric-dpu")
            dpu.start()
            same(Run("stat", "-j", "lab").json["dpu"][0]["state"],
                 "its fabric-dpu was started anew: attach --repair mends that")
            refused(Run("attach", "--replace", a.bundle), "no policy to replace", "--repair")
            run = Run(*command, a.bundle)
            want(run.rc == 0, run.err)
            want("dpu dpu0" in run.out + run.err, run.out, run.err)
            same((dpu.info()["graph"], a.nic()["state"]), ("lab", "attached"))
            with Peer(lab):
                wire = Port("v1")
            wire.send(*[frame(5001)] * 5)
            same(a.wait("in", 5)["edges"][1]["refused"], 5)
            wire.close()
            loads, flags = dpu.info()["loads"], dpu.info()["flags"]
            want(Run(*command, a.bundle).rc == 0, "again")
            same(dpu.info()["loads"], loads, "what is well is left alone:")
            want(Run("bypass", "lab").rc == 0, "bypass")
            same(dpu.info()["flags"], 2 | flags)
            run = Run(*command, a.bundle)
            want(run.rc == 0 and "dpu dpu0" in run.out + run.err, run.rc, run.out, run.err)
            same((dpu.info()["flags"], dpu.info()["loads"]), (flags, loads + 1))
            a.__exit__()
            nothing_left()


OTHER = ("#include <fabric_ext/portable.bpf.h>\nFX_GUARD(move)\n{\n"
         "\treturn move->bytes ? fx_pass() : fx_drop(EPERM);\n}\n"
         "FX_PORTABLE(q, FX_MALFORMED_PASS);\nchar LICENSE[] SEC(\"license\") = \"GPL\";\n")


MAPPED = OTHER.replace("FX_GUARD", "FX_MAP(counter, sizes, __u64, 2);\nFX_GUARD").replace(
    "\treturn", "\tfx_count(&sizes, 0, move->bytes);\n\treturn")


def another_policy(_):
    """Repair mends what was attached last, by its own bundle only."""
    with Dpu() as dpu, Attached(EDGES) as a:
        other = compile_bundle(graph(EDGES), policy=write("another/p.bpf.c", OTHER), name="another")
        refused(Run("attach", "--repair", other), "not the bundle's", "--replace")
        run = Run("attach", "--replace", other)
        want(run.rc == 0, run.err)
        same(Run("show", "-j", "lab").json["policy"], "q")
        refused(Run("attach", "--repair", a.bundle), "'q'", "not the bundle's", "--replace")
        dpu.kill()
        same(Run("show", "-j", "lab").json["policy"], "q")
        dpu.start()
        refused(Run("attach", "--repair", a.bundle), "'q'", "not the bundle's", "--replace")
        same(dpu.info()["graph"], "")
        want(Run("attach", "--repair", other).rc == 0, "repair")
        same(dpu.info()["graph"], "lab")
    nothing_left()


def crowded(_):
    """Clients that say nothing make room, all but one whose policy hangs on its connection."""
    bundle = compile_bundle(graph(EDGES))
    with Dpu() as dpu, Attached(EDGES):
        crowd = [socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) for _ in range(20)]
        try:
            for client in crowd:
                client.connect(str(RUN / "dpu-dpu0.sock"))
            run = Run("bypass", "lab")
            want(run.rc == 0, run.err)
            same(dpu.info()["flags"] & 2, 2)
        finally:
            for client in crowd:
                client.close()
    with Dpu() as dpu:
        child = subprocess.Popen([SANITIZED, "attach", bundle], stderr=subprocess.DEVNULL)
        crowd = [socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) for _ in range(20)]
        try:
            becomes(dpu, "graph", "lab")
            for client in crowd:
                client.connect(str(RUN / "dpu-dpu0.sock"))
            same(dpu.info()["graph"], "lab")
        finally:
            for client in crowd:
                client.close()
            child.terminate()
            child.wait(20)
    same(list(RUN.glob("*.sock")), [])
    nothing_left()


def hangs(_):
    """One that is stopped: told of that, and of others all the same; it is named what became of the graph."""
    with Dpu() as dpu, Dpu("dpu1", ("w0",)) as other:
        with Attached([("x", "in", "{ udp: 1 }")], name="else", dpus=("dpu1",)):
            a = Attached(EDGES)
            a.__enter__()
            os.kill(dpu.child.pid, signal.SIGSTOP)
            try:
                run = Run("list", "-j")
                want(run.rc == 0, run.rc, run.err)
                rows = {o["graph"]: o["dpu"][0]["state"] for o in run.json}
                same(rows, {"else": "attached", "lab": "its fabric-dpu does not answer"})
                run = Run("show", "lab")
                want(run.rc == 0 and f"process {dpu.child.pid} hangs" in run.err, run.rc, run.err)
                run = Run("bypass", "--all")
                want(run.rc == 2 and f"kill -9 {dpu.child.pid}" in run.err and "not there" in run.err, run.rc, run.err)
                want("kernel" not in run.err, run.err)
                same(other.info()["flags"] & 2, 2)
                refused(Run("detach", "lab"), "dpu 'dpu0'", f"kill -9 {dpu.child.pid}", "graph 'lab'", "detach again")
                want("does not answer" in Run("list").out, "list")
            finally:
                os.kill(dpu.child.pid, signal.SIGCONT)
            # who gave up is not listened to any more: it is as it was
            same((dpu.info()["graph"], dpu.info()["flags"] & 2), ("lab", 0))
            os.kill(dpu.child.pid, signal.SIGSTOP)
            crowd = [socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) for _ in range(32)]
            try:
                for client in crowd:
                    client.setblocking(False)
                    if client.connect_ex(str(RUN / "dpu-dpu0.sock")):
                        break
                else:
                    raise AssertionError("its queue is never full")
                refused(Run("detach", "lab"), "dpu 'dpu0'", "does not answer", "it hangs", "detach again")
            finally:
                for client in crowd:
                    client.close()
            dpu.kill()
            want(Run("detach", "lab").rc == 0, "detach")
    nothing_left()


def keeps_recording(_):
    """What was attached with --audit records after a repair too; what was not enforces, whatever is asked for."""
    for options, asked, flags in ((("--audit",), (), 1), ((), ("--audit",), 0)):
        with Dpu() as dpu, Attached(EDGES, options=options) as a:
            same(dpu.info()["flags"] & 3, flags)
            dpu.kill()
            dpu.start()
            for again in ("started anew", "by-passed"):
                run = Run("attach", "--repair", *asked, a.bundle)
                want(run.rc == 0, again, run.err)
                same(dpu.info()["flags"] & 3, flags, again)
                want(Run("bypass", "lab").rc == 0, "bypass")
        nothing_left()


def lost_pins(_):
    """A DPU that is well, and of which nothing is pinned any more: repair pins it, as it is, and detach ends it."""
    pin = Path("/sys/fs/bpf/fabric_ext/lab/dpu-dpu0")
    with Dpu() as dpu:
        with Attached(EDGES, options=("--audit",)) as a:
            for lost in ("file", "directory"):
                (pin / "fx_conf").unlink()
                if lost == "directory":
                    pin.rmdir()
                loads = dpu.info()["loads"]
                run = Run("attach", "-j", "--repair", a.bundle)
                same((run.rc, run.json["repaired"], dpu.info()["loads"]), (0, ["dpu dpu0"], loads), run.err)
                same([p.name for p in pin.iterdir()], ["fx_conf"])
                dpu.kill()
                dpu.start()
                want(Run("attach", "--repair", a.bundle).rc == 0, "repair")
                same(dpu.info()["flags"] & 1, 1, lost)
        same(dpu.info()["graph"], "")
    nothing_left()


def replace_of_some(lab):
    """When one cannot be replaced none is, and the others go on counting."""
    mixed = [*EDGES, ("wire", "out", "{ udp: 5000 }", {"dpu": 1})]
    with Dpu() as one, Dpu("dpu1", ("w0",)) as other, Attached(mixed, dpus=("dpu0", "dpu1")) as a:
        with Peer(lab):
            wire = Port("v1")
        wire.send(*[frame(5001)] * 5)
        a.wait("in", 5)
        other.kill()
        refused(Run("attach", "--replace", a.bundle), "dpu1")
        wire.send(*[frame(5001)] * 2)
        dpu = a.wait("in", 7)
        same((dpu["edges"][1]["refused"], one.info()["graph"]), (7, "lab"))
        other_graph = compile_bundle(graph(mixed[:2]), name="fewer")
        refused(Run("attach", "--replace", other_graph), "detach lab")
        wire.close()
    nothing_left()


class Between:
    """with Between(dpu): what a client asks passes through here, until the first SETTLE.

    Then the DPU dies, or before it hears of that the client, or the client before it has the answer.
    """

    SETTLE = 10

    def __init__(self, dpu, dies="dpu"):
        self.dpu, self.dies = dpu, dies
        self.path, self.real = RUN / f"dpu-{dpu.name}.sock", RUN / "behind.sock"

    def __enter__(self):
        self.path.rename(self.real)
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.socket.bind(str(self.path))
        self.socket.listen()
        self.socket.settimeout(WAIT_S)
        self.thread = threading.Thread(target=self.serve)
        self.thread.start()
        return self

    def serve(self):
        client, _ = self.socket.accept()
        peer = struct.unpack("3i", client.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))[0]
        with client, socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as dpu:
            client.settimeout(WAIT_S)
            dpu.settimeout(WAIT_S)
            dpu.connect(str(self.real))
            while True:
                request, fds, _, _ = socket.recv_fds(client, 1 << 16, 8)
                if not request:
                    return
                last = struct.unpack_from("IHH", request)[2] == self.SETTLE
                if last and self.dies == "dpu":
                    self.dpu.kill()
                    return
                if last and self.dies == "before":
                    os.kill(peer, signal.SIGKILL)
                    return
                socket.send_fds(dpu, [request], fds)
                for fd in fds:
                    os.close(fd)
                answer = dpu.recv(1 << 16)
                if last:
                    os.kill(peer, signal.SIGKILL)
                    return
                client.send(answer)

    def __exit__(self, *_):
        self.thread.join(2 * WAIT_S)
        self.socket.close()
        if self.dies != "dpu":
            self.real.rename(self.path)
            return
        for path in (self.path, self.real):
            path.unlink(missing_ok=True)


def killed_replace(_):
    """A replace that is killed around the SETTLE: the DPU has one of both, and fabricctl mends and ends it."""
    other = compile_bundle(graph(EDGES), policy=write("another/p.bpf.c", OTHER), name="another")
    amiss = "it has another policy than is written down: attach --repair or --replace mends that"
    for dies, has, state, mended in (("before", "lab", amiss, ["dpu dpu0"]), ("after", "q", "attached", None)):
        for end in ("detach", "repair", "back"):
            with Dpu() as dpu:
                a = Attached(EDGES)
                a.__enter__()
                with Between(dpu, dies):
                    done = subprocess.run([SANITIZED, "attach", "--replace", str(other)], stdin=subprocess.DEVNULL,
                                          capture_output=True, check=False, timeout=120)
                same(done.returncode, -signal.SIGKILL, done.stderr)
                until = time.monotonic() + 20
                while Run("show", "-j", "lab").json["policy"] != has and time.monotonic() < until:
                    time.sleep(0.05)
                shown = Run("show", "-j", "lab").json
                same((shown["policy"], shown["dpu"][0]["state"]), (has, state), dies)
                if end == "back" and dies == "before":
                    # what it has, or was to have: either
                    same(Run("attach", "-j", "--repair", a.bundle).json["repaired"][:1], mended)
                    shown = Run("show", "-j", "lab").json
                    same((shown["policy"], shown["dpu"][0]["state"]), ("lab", "attached"))
                elif end == "back":
                    refused(Run("attach", "--repair", a.bundle), "not the bundle's")
                if end == "repair":
                    run = Run("attach", "-j", "--repair", other)
                    want(run.rc == 0, run.err)
                    if mended:
                        want(set(mended) <= set(run.json["repaired"]), run.out)
                    same(Run("show", "-j", "lab").json["policy"], "q")
                    # and it can be told to go on with another
                    want(Run("attach", "--replace", a.bundle).rc == 0, "replace")
                a.__exit__()
                same(dpu.info()["graph"], "")
            nothing_left()


def dies_of_a_replace(_):
    """It took the new policy and then ends: all others have that, and a repair gives it to this one as well."""
    edges = [*EDGES, ("c", "in", "{ udp: 7001 }", {"nic": 0})]
    with Dpu() as dpu, Attached(edges, nics=["w0"]) as a:
        other = compile_bundle(graph(edges, nics=["w0"]), policy=write("another/p.bpf.c", MAPPED), name="another")
        with Between(dpu):
            run = Run("attach", "--replace", other)
        want(run.rc in (1, 2) and "in force on all other devices; attach --repair" in run.err, run.rc, run.err)
        shown = Run("show", "-j", "lab").json
        same([(shown[kind][0]["policy"], shown[kind][0]["state"]) for kind in ("nic", "dpu")],
             [("q", "attached"), ("q", "its fabric-dpu has ended")])
        # its maps are those of the new policy, and an agent waits for the DPU
        same([m["map"] for m in Run("map", "-j", "lab").json["maps"]], ["sizes"])
        same(shown["agent"]["state"], "runs")
        dpu.start()
        refused(Run("attach", "--repair", a.bundle), "not the bundle's")
        run = Run("attach", "-j", "--repair", other)
        same((run.rc, run.json["repaired"]), (0, ["dpu dpu0"]), run.err)
        shown = Run("show", "-j", "lab").json
        same([shown[kind][0]["state"] for kind in ("nic", "dpu")], ["attached"] * 2)
        same(dpu.info()["graph"], "lab")
    nothing_left()


sys.exit(main(tests_of(DpuLab(), [not_running, told_by_all, in_the_foreground, all_or_nothing, altered, mixed_up,
                                  not_verified, not_taken, killed, another_policy, keeps_recording, lost_pins, crowded, hangs, replace_of_some,
                                  dies_of_a_replace, killed_replace])))
