#!/usr/bin/python3 -B
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Attach and detach: all or nothing, nothing left, nothing that was altered."""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
sys.dont_write_bytecode = True
from netlab import (POLICY, Attached, Events, Foreground, Lab, Peer, Port, compile_bundle, frame, graph, none_new,  # noqa: E402
                    nothing_left, ours, sh, since, tests_of)
from fxtest import SANITIZED, TMP, Run, main, same, want, write  # noqa: E402

EDGES = [("a", "in", "{ udp: 7000 }"), ("b", "out", "{ udp: 7000 }")]
DENY = [("a", "in", "{ udp: 7000 }", {"priority": 1}), ("b", "out", "{ udp: 7001 }", {"priority": 1})]
TWO = EDGES + [("c", "in", "{ udp: 7001 }", {"nic": 1}), ("d", "out", "{ udp: 7001 }", {"nic": 1})]


def one_sentence(text):
    return text.count("\n") == 1 and text.startswith("fabricctl: ")


def refused(run, *words):
    same(run.rc, 1, run.err)
    want(one_sentence(run.err), run.err)
    for word in words:
        want(word in run.err, word, "is not in", run.err)


def detach_leaves_nothing(_):
    before = ours()
    for nics, edges in ((["v0"], EDGES), (["v0", "w0"], TWO), (["v0"], EDGES[:1]), (["v0"], EDGES[1:])):
        with Attached(edges, nics=nics):
            new = since(before)
            ends = sum(2 if edge[1] == "in" else 1 for edge in edges)
            same((new["link"], new["prog"]), (ends, ends), nics)
        nothing_left(before)


def attach_is_all_or_nothing(_):
    """One netdev is not there, or is taken: the other is as before."""
    before = ours()
    bundle = compile_bundle(graph(TWO, nics=["v0", "nope0"]), name="two")
    for options in (["--pin"], []):
        refused(Run("attach", *options, bundle, "--", "true") if not options else Run("attach", *options, bundle),
                "nope0", "nic1", "v0")
        nothing_left(before)
    with Attached([("x", "in", "{ udp: 1 }")], name="other", nics=["w0"]):
        taken = ours()
        bundle = compile_bundle(graph(TWO, nics=["v0", "w0"]), name="two")
        refused(Run("attach", "--pin", bundle), "w0", "XDP", "another one is there")
        want(not Path("/sys/fs/bpf/fabric_ext/lab").exists(), "pins left behind")
        none_new(taken)
        same([g["graph"] for g in Run("list", "-j").json], ["other"])
    nothing_left(before)


def one_graph_once(_):
    with Attached(EDGES) as a:
        refused(Run("attach", "--pin", a.bundle), "already", "detach lab")
        same(a.nic()["state"], "attached")
    refused_system = Run("detach", "lab")
    same(refused_system.rc, 2)
    want("insmod" in refused_system.err, refused_system.err)


def altered(_):
    """One byte of any part: refused, and the part is named."""
    before = ours()
    bundle = compile_bundle(graph(EDGES), name="altered")
    files = [p for p in sorted(bundle.rglob("*")) if p.is_file()]
    same([str(p.relative_to(bundle)) for p in files],
         ["edges.bin", "manifest.json", "manifest.sha256", "nic/v0/flows.bin", "nic/v0/policy.bpf.o",
          "obligations.json"])
    for path in files:
        sound = path.read_bytes()
        for at in (0, len(sound) // 3, len(sound) // 2, len(sound) - 1):
            path.write_bytes(sound[:at] + bytes((sound[at] ^ 1,)) + sound[at + 1:])
            name = "manifest.json" if path.name == "manifest.sha256" else str(path.relative_to(bundle))
            refused(Run("attach", "--pin", bundle), name, "compile it again")
        for changed in (sound[:-1], sound + b"\0", b""):
            path.write_bytes(changed)
            refused(Run("attach", "--pin", bundle), "manifest.json" if path.name == "manifest.sha256"
                    else str(path.relative_to(bundle)))
        path.unlink()
        refused(Run("attach", "--pin", bundle), str(path.relative_to(bundle)), "no such file")
        path.write_bytes(sound)
    nothing_left(before)


def no_regular_file(_):
    """Anything else in the place of a part: named, and never waited for."""
    bundle = compile_bundle(graph(EDGES), name="special")
    elsewhere = write("special/elsewhere", b"")
    for path in (bundle / "nic/v0/policy.bpf.o", bundle / "edges.bin", bundle / "manifest.json"):
        kept = path.rename(path.parent.parent / "kept")
        for make in (lambda: socket.socket(socket.AF_UNIX).bind(os.path.relpath(path)), lambda: os.mkfifo(path),
                     path.mkdir, lambda: path.symlink_to(elsewhere), lambda: path.symlink_to(kept)):
            make()
            refused(Run("attach", "--pin", bundle), str(path.relative_to(bundle)), "no regular file", "compile it again")
            if path.is_dir():
                path.rmdir()
            else:
                path.unlink()
        kept.rename(path)
    same(Run("attach", "--pin", bundle).rc, 0)
    same(Run("detach", "lab").rc, 0)


def flows_that_are_not_the_graphs(_):
    """A manifest that fits does not make sound what says other than the graph."""
    bundle = compile_bundle(graph(EDGES), name="forged")
    path, manifest = bundle / "nic/v0/flows.bin", bundle / "manifest.json"
    sound, listed = path.read_bytes(), json.loads(manifest.read_text(encoding="utf-8"))
    record = len(sound) // 2
    same(record, 120, "size of a flow")

    def forge(data, **other):
        path.write_bytes(data)
        new = json.loads(json.dumps(listed))
        new["files"]["nic/v0/flows.bin"] = {"bytes": len(data), "sha256": sh("sha256sum", str(path)).split()[0]}
        new.update(other)
        manifest.write_text(json.dumps(new), encoding="utf-8")
        (bundle / "manifest.sha256").write_text(f"{sh('sha256sum', str(manifest)).split()[0]}  manifest.json\n",
                                                encoding="utf-8")

    def at(offset, value):
        return sound[:offset] + value + sound[offset + len(value):]

    # a record is key and mask of 48 bytes each, edge, class, direction, priority, bytes,
    # which queues a redirect is to, and zeroes
    for data, word in ((at(96, b"\7"), "no edge"), (at(100, b"\1"), "no edge"), (at(102, b"\2"), "does not cross"),
                       (at(102, b"\0"), "does not cross"), (at(102, b"\xff"), "does not cross"),
                       (at(103, b"\3"), "priority"), (at(104, b"\1"), "bytes"),
                       (at(112, b"\7"), "redirect"), (at(113, b"\1"), "redirect"), (at(119, b"\1"), "redirect"), (at(48 + 34, b"\1"), "mask"),
                       (at(0, b"\1"), "mask"), (at(48 + 41, b"\xff"), "mask"), (at(44, b"\1"), "mask"),
                       (at(48 + 44, b"\xff"), "mask"), (at(48 + 44, b"\xff" * 4)[:44] + b"\1\0\0\0" + at(
                           48 + 44, b"\xff" * 4)[48:], "mask"),
                       (sound[record:] + sound[:record], "order"), (sound[:record] * 2, "order"),
                       (sound[:-1], "version")):
        forge(data)
        refused(Run("attach", "--pin", bundle), "nic/v0/flows.bin", word)
    for nic in ([], {}, "v0", [7], [{"netdev": "w0"}], [{"netdev": "../v0"}], [{"netdev": "v0"}] * 2):
        forge(sound, nic=nic)
        refused(Run("attach", "--pin", bundle), "manifest.json")
    forge(sound)
    same(Run("attach", "--pin", bundle).rc, 0)
    same(Run("detach", "lab").rc, 0)


def a_device_left_out(_):
    """What lies in a bundle for a device that the manifest does not speak of is not passed over."""
    bundle = compile_bundle(graph([*EDGES, ("other", "in", "{ udp: 7009 }", {"nic": 1})], nics=("v0", "w0")), name="less")
    manifest = bundle / "manifest.json"
    said = json.loads(manifest.read_text(encoding="utf-8"))
    same([n["netdev"] for n in said["nic"]], ["v0", "w0"])
    del said["nic"][1]
    manifest.write_text(json.dumps(said), encoding="utf-8")
    (bundle / "manifest.sha256").write_text(f"{sh('sha256sum', str(manifest)).split()[0]}  manifest.json\n", encoding="utf-8")
    refused(Run("attach", "--pin", bundle), "nic/w0/", "no device")


def audit_and_bypass(lab):
    """Refusals are counted and not carried out; a bypass ends both."""
    here = Port("v0")
    with Peer(lab):
        there = Port("v1")
    with Attached(DENY, options=["--audit"], malformed="DROP") as a:
        there.send(frame(7000), frame(7000)[:30])
        nic = a.wait("in", 2)
        same((nic["state"], nic["edges"][0]["refused"], nic["in"]["malformed_refused"]), ("audit", 1, 1))
        same(len(here.receive()), 2)
    with Attached(DENY) as a:
        there.send(frame(7000))
        same(a.wait("in", 1)["edges"][0]["refused"], 1)
        same(here.receive(), [])
        same(Run("bypass", "lab").rc, 0)
        there.send(frame(7000))
        same(len(here.receive()), 1)
        same((a.nic()["state"], a.nic()["edges"][0]["refused"]), ("by-passed", 1))
        same(Run("bypass", "--all").rc, 0)


PINS = Path("/sys/fs/bpf/fabric_ext/front")


def as_any_other(bundle):
    """What is attached in the foreground is seen, and is not another command's."""
    listed, = Run("list", "-j").json
    same((listed["graph"], listed["attached"], listed["nic"][0]["state"]), ("front", True, "attached"))
    same(Run("show", "-j", "front").json["nic"][0]["netdev"], "v0")
    same(sum(e["refused"] for e in Run("stat", "-j", "front").json["nic"][0]["edges"]), 1)
    for command in (["detach", "front"], ["attach", bundle], *(["attach", how, bundle] for how in ("--pin", "--replace", "--repair"))):
        run = Run(*command)
        same((run.rc, run.err.count("\n")), (1, 1), run.err)
        want("the process that attached it" in run.err, run.err)


def foreground_events(_):
    """An event when it comes into force and when its process ends, however."""
    before = ours()
    bundle = compile_bundle(graph(DENY, "front"), name="front")
    with Attached([("z", "in", "{ udp: 1 }")], name="other", nics=["w0"]):
        others = ours()
        for number, message in ((signal.SIGTERM, "detached"), (signal.SIGKILL, "the command that attached it has ended")):
            with Events() as e:
                with Foreground(bundle) as child:
                    ev = e.until(lambda ev: ev["event"] == "attach")
                    same((ev["graph"], ev["netdev"]), ("front", "v0"))
                    child.send_signal(number)
                    ev = e.until(lambda ev: ev["event"] == "eject")
                same((ev["graph"], ev["netdev"], ev["exit"], ev["message"]), ("front", "v0", "unreg", message))
                # who follows events removes what a killed one left
                end = time.monotonic() + 20
                while (ours() - others or PINS.exists()) and time.monotonic() < end:
                    time.sleep(0.1)
                same((ours() - others, PINS.exists()), (set(), False))
    nothing_left(before)


def foreground(lab):
    """Without --pin the programs go when the command goes, however it ends."""
    before = ours()
    bundle = compile_bundle(graph(DENY, "front"), name="front")
    run = Run("attach", bundle, "--", "bpftool", "-j", "net")
    same(run.rc, 0, run.err)
    net = json.loads(run.out)[0]
    same(([x["devname"] for x in net["xdp"]], len(net["tc"])), (["v0"], 2), net)
    same(Run("attach", bundle, "--", "sh", "-c", "exit 1").rc, 1)
    nothing_left(before)
    here = Port("v0")
    with Peer(lab):
        there = Port("v1")
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGKILL):
        with Foreground(bundle) as child:
            there.send(frame(7000))
            same(here.receive(), [], number)
            as_any_other(bundle)
            child.send_signal(number)
            want(child.wait(30) in (0, -number), number)
        # one that is killed leaves pins, which the next command removes
        if number == signal.SIGKILL:
            want(PINS.exists(), "it has no pins")
            same(Run("detach", "front").rc, 2)
        nothing_left(before)
        there.send(frame(7000))
        same(len(here.receive()), 1, number)


def device_goes(_):
    """A netdev that vanishes takes its programs along; detach finds the rest."""
    before = ours()
    sh("ip", "link", "add", "x.0", "type", "veth", "peer", "name", "x1")
    with Attached(EDGES, nics=["x.0"]) as a:
        same(a.nic()["netdev"], "x.0")
        sh("ip", "link", "del", "x.0")
        end = time.monotonic() + 20
        while a.nic()["state"] == "attached" and time.monotonic() < end:
            time.sleep(0.1)
        same(a.nic()["state"], "its device is gone")
        want("its device is gone" in Run("list").out, Run("list").out)
    nothing_left(before)


def nothing_is_lost(lab):
    """Attach and detach under traffic: what is sent arrives, once."""
    here = Port("v0")
    with Peer(lab):
        there = Port("v1")
    bundle = compile_bundle(graph(EDGES), name="busy")
    for way, source, sink in (("in", there, here), ("out", here, there)):
        sent, got, stop = [0], [0], threading.Event()

        def send():
            while not stop.wait(0.0002):
                source.send(frame(7000))
                sent[0] += 1

        def receive():
            while not stop.is_set():
                got[0] += len(sink.receive())

        threads = [threading.Thread(target=send), threading.Thread(target=receive)]
        for thread in threads:
            thread.start()
        counted = 0
        for _ in range(4):
            same(Run("attach", "--pin", bundle).rc, 0)
            time.sleep(0.05)
            counted += sum(e["packets"] for e in Run("stat", "-j", "lab").json["nic"][0]["edges"])
            same(Run("detach", "lab").rc, 0)
        stop.set()
        for thread in threads:
            thread.join()
        same(got[0] + len(sink.receive()), sent[0], way)
        want(0 < counted < sent[0], way, counted)


def tells(_):
    """list, show and stat have one vocabulary, as text and as JSON."""
    with Attached(EDGES, name="te.ll"):
        listed, shown, counted = (Run(*c, "-j").json for c in (["list"], ["show", "te.ll"], ["stat", "te.ll"]))
        same(listed[0]["graph"], "te.ll")
        same(listed, [shown])
        same((shown["policy"], shown["attached"], shown["audit"], shown["bypassed"]), ("lab", True, False, False))
        same(counted["nic"], shown["nic"])
        for command in (["list"], ["show", "te.ll"], ["stat", "te.ll"]):
            run = Run(*command)
            same(run.rc, 0, run.err)
            want("v0" in run.out and "attached" in run.out, run.out)
        run = Run("stat", "te.ll", "-i", "10ms", "-n", "2", "-j")
        same([json.loads(line)["graph"] for line in run.out.splitlines()], ["te.ll"] * 2)
        refused(Run("show", "-e", "te.ll"), "not supported yet")
        # another name is still the module's to know
        run = Run("show", "nobody")
        same(run.rc, 2)
        want("insmod" in run.err, run.err)


def no_ethernet(_):
    """A device whose frames begin with IP is refused: nothing would be found on it."""
    before = ours()
    sh("ip", "tuntap", "add", "dev", "t0", "mode", "tun")
    bundle = compile_bundle(graph(EDGES, nics=["t0"]), name="tun")
    refused(Run("attach", "--pin", bundle), "t0", "Ethernet")
    nothing_left(before)
    sh("ip", "link", "del", "t0")


def other_pins_stay(_):
    """What is refused takes nothing along that another attach has pinned."""
    with Attached(EDGES) as a:
        other = compile_bundle(graph(EDGES + [("z", "in", "{ udp: 9 }")]), name="more")
        refused(Run("attach", "--pin", other), "already", "detach lab")
        same((a.nic()["state"], a.nic()["policy"]), ("attached", "lab"))
        run = Run("attach", "--repair", compile_bundle(graph(EDGES), write("o/p.bpf.c", POLICY % "DROP"), name="o"))
        refused(run, "not the bundle's", "--replace")
        same(a.nic()["state"], "attached")


def devices_add_up(lab):
    """An edge from one device to another is counted at both, and together."""
    text = graph([], nics=["v0", "w0"]) + (
        "  - { edge: fwd, from: nic0, to: nic1, bytes: 1024, owner: borrow, flow: { udp: 7000 } }\n"
        "  - { edge: in, from: nic1, to: host, bytes: 1024, owner: borrow, flow: { udp: 7001 } }\n")
    bundle = compile_bundle(text, name="sum")
    same(Run("attach", "--pin", bundle).rc, 0)
    with Peer(lab):
        Port("v1").send(frame(7000, b"x" * 10), frame(7000, b"x" * 20))
    Port("w0").send(frame(7000, b"x" * 5))
    end = time.monotonic() + 20
    while time.monotonic() < end:
        got = {e["class"]: (e["edge"], e["crossings"], e["packets"], e["bytes"], e["refused"])
               for e in Run("stat", "-j", "lab").json["edges"]}
        if got["fwd"][2] == 3:
            break
    same(got, {"fwd": (0, 2, 3, 35, 0), "in": (1, 1, 0, 0, 0)})
    want("CROSSINGS" in Run("stat", "lab").out, "table")
    same(Run("detach", "lab").rc, 0)


def half_made_pins(_):
    """What an attach that was killed has left is not in the way of list and detach."""
    before = ours()
    with Attached(EDGES) as a:
        for name in ("maps/fx_counts", "xdp"):
            Path("/sys/fs/bpf/fabric_ext/lab/nic-v0", name).unlink()
        same(Run("list", "-j").json, [{"graph": "lab", "attached": False, "incomplete": True}])
        want("detach it" in Run("list").out)
        refused(Run("attach", "--pin", a.bundle), "detach lab")
    nothing_left(before)


def not_for_everybody(_):
    """Without privileges: one sentence, and nothing is done."""
    before = ours()
    bundle = compile_bundle(graph(EDGES), name="small")
    visible = TMP.parent / f"{TMP.name}.shown"
    shutil.copytree(bundle, visible)
    try:
        done = subprocess.run(["setpriv", "--bounding-set=-all", "--inh-caps=-all", SANITIZED, "attach", visible, "--", "true"],
                              capture_output=True, text=True, check=False, timeout=60,
                              env={**os.environ, "ASAN_OPTIONS": "detect_leaks=0"})
        same(done.returncode, 2, done.stderr)
        want(one_sentence(done.stderr) and "CAP_NET_ADMIN" in done.stderr, done.stderr)
    finally:
        shutil.rmtree(visible)
    nothing_left(before)


if __name__ == "__main__":
    os.environ.setdefault("ASAN_OPTIONS", "detect_leaks=1")
    sys.exit(main(tests_of(Lab(), [
        detach_leaves_nothing, attach_is_all_or_nothing, one_graph_once, altered, no_regular_file, flows_that_are_not_the_graphs, a_device_left_out,
        audit_and_bypass, foreground, foreground_events, device_goes, nothing_is_lost, tells, no_ethernet, other_pins_stay, devices_add_up, half_made_pins, not_for_everybody])))
