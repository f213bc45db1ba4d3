#!/usr/bin/python3 -B
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""attach --replace and --repair: nothing lost, all or nothing, counts go on."""

import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
sys.dont_write_bytecode = True
from netlab import (POLICY, Attached, Lab, Peer, Port, compile_bundle, frame, graph, no_more, nothing_left, ours, sh, since,  # noqa: E402
                    tests_of)
from fxtest import PLAIN, Run, main, same, want, write  # noqa: E402

EDGES = [("a", "in", "{ udp: 7000 }"), ("b", "out", "{ udp: 7000 }")]
TWO = EDGES + [("c", "in", "{ udp: 7001 }", {"nic": 1}), ("d", "out", "{ udp: 7001 }", {"nic": 1})]
PINS = Path("/sys/fs/bpf/fabric_ext/lab")
# the same, and drops all: another policy for the same graph
DENIES = POLICY.replace("return fx_pass();", "return fx_drop(EPERM);").replace("FX_PORTABLE(lab", "FX_PORTABLE(deny")


def refused(run, *words):
    same(run.rc, 1, run.err)
    want(run.err.count("\n") == 1 and run.err.startswith("fabricctl: "), run.err)
    for word in words:
        want(word in run.err, word, "is not in", run.err)


def denying(edges=None, nics=("v0",)):
    text = graph(edges or EDGES, nics=nics)
    return compile_bundle(text, write("deny/p.bpf.c", DENIES % "PASS"), name="deny")


def replace_swaps(lab):
    """The other policy decides from then on, and what was counted stays."""
    before = ours()
    here = Port("v0")
    with Peer(lab):
        there = Port("v1")
    refused(Run("attach", "--replace", compile_bundle(graph(EDGES))), "no pinned programs", "without --replace")
    nothing_left(before)
    with Attached(EDGES) as a:
        attached = since(before)
        there.send(frame(7000))
        same(a.wait("in", 1)["edges"][0]["packets"], 1)
        same(len(here.receive()), 1)
        run = Run("attach", "--replace", "-j", denying())
        same((run.rc, run.json["policy"], run.json["replaced"]), (0, "deny", True), run.err)
        there.send(frame(7000), frame(7000))
        nic = a.wait("in", 3)
        same((nic["policy"], nic["edges"][0]["packets"], nic["edges"][0]["refused"]), ("deny", 1, 2))
        same(here.receive(), [])
        # as audit, and back: the same links and no more of anything
        same(Run("attach", "--replace", "--audit", denying()).rc, 0)
        there.send(frame(7000))
        same(len(here.receive()), 1)
        same((a.nic()["state"], a.nic()["edges"][0]["refused"]), ("audit", 3))
        same(Run("attach", "--replace", a.bundle).rc, 0)
        there.send(frame(7000))
        same(len(here.receive()), 1)
        no_more(attached, before)
        same(sorted(p.name for p in PINS.glob("nic-v0/*")), ["maps", "progs", "tc_in", "tc_out", "xdp"])
    nothing_left(before)


def replace_needs_the_same(_):
    """Another graph or other devices: refused, and nothing changes."""
    before = ours()
    with Attached(EDGES) as a:
        for text, words in ((graph(EDGES[:1]), ("same graph", "detach")),
                            (graph(TWO, nics=["v0", "w0"]), ("2 network devices", "detach lab"))):
            refused(Run("attach", "--replace", compile_bundle(text, name="new")), *words)
            same((a.nic()["policy"], a.nic()["state"]), ("lab", "attached"))
        run = Run("attach", "--replace", "--repair", a.bundle)
        refused(run, "--replace", "--repair")
        refused(Run("attach", "--replace", a.bundle, "--", "true"), "does not end with a command")
    nothing_left(before)


def replace_is_all_or_nothing(lab):
    """One device went away: the other keeps the policy that it had."""
    before = ours()
    here = Port("v0")
    with Peer(lab):
        there = Port("v1")
    sh("ip", "link", "add", "x0", "type", "veth", "peer", "name", "x1")
    nics = ["v0", "x0"]
    with Attached(TWO, nics=nics) as a:
        bundle = denying(TWO, nics)
        # its links are there, and hold no device any more
        sh("ip", "link", "del", "x0")
        sh("ip", "link", "add", "x0", "type", "veth", "peer", "name", "x1")
        refused(Run("attach", "--replace", bundle), "x0", "--repair")
        same([nic["policy"] for nic in a.stat()["nic"]], ["lab", "lab"])
        there.send(frame(7000))
        same(len(here.receive()), 1)
        same(list(PINS.glob("*/next")), [])
        # a program that is missing among the pins
        Path(PINS, "nic-v0", "tc_out").unlink()
        refused(Run("attach", "--replace", bundle), "v0", "incomplete")
        there.send(frame(7000))
        same(len(here.receive()), 1)
    sh("ip", "link", "del", "x0")
    nothing_left(before)


def replace_loses_nothing(lab):
    """Under traffic both ways: what is sent arrives once, and is counted once."""
    before = ours()
    here = Port("v0")
    with Peer(lab):
        there = Port("v1")
    for way, source, sink in (("in", there, here), ("out", here, there)):
        sent, got, stop = [0], [0], threading.Event()

        def send():
            while not stop.wait(0.0002):
                source.send(frame(7000))
                sent[0] += 1

        def receive():
            while not stop.is_set():
                got[0] += len(sink.receive())

        with Attached(EDGES) as a:
            other = compile_bundle(graph(EDGES), write("again/p.bpf.c", POLICY % "DROP"), name="again")
            threads = [threading.Thread(target=send), threading.Thread(target=receive)]
            for thread in threads:
                thread.start()
            for turn in range(8):
                same(Run("attach", "--replace", a.bundle if turn % 2 else other).rc, 0)
            stop.set()
            for thread in threads:
                thread.join()
            same(got[0] + len(sink.receive()), sent[0], way)
            edge = a.edges()[("a", 0, "in") if way == "in" else ("b", 1, "out")]
            same((edge["packets"], edge["refused"]), (sent[0], 0), way)
            want(sent[0] > 100, sent)
    nothing_left(before)


def repair_mends(lab):
    """A device that went away and came back gets its programs again; the rest is left alone."""
    before = ours()
    here = Port("v0")
    with Peer(lab):
        there = Port("v1")
    sh("ip", "link", "add", "x0", "type", "veth", "peer", "name", "x1")
    nics = ["v0", "x0"]
    refused(Run("attach", "--repair", compile_bundle(graph(TWO, nics=nics))), "nothing pinned", "without --repair")
    with Attached(TWO, nics=nics) as a:
        run = Run("attach", "--repair", "-j", a.bundle)
        same((run.rc, run.json), (0, {"graph": "lab", "repaired": []}), run.err)
        want("nothing to repair" in Run("attach", "--repair", a.bundle).out + Run("attach", "--repair", a.bundle).err,
             "told")
        there.send(frame(7000))
        a.wait("in", 1)
        Lab.up("x1")
        Lab.up("x0")
        Port("x1").send(frame(7001))
        same(a.wait("in", 1, 1)["edges"][0]["packets"], 1)
        sh("ip", "link", "del", "x0")
        same(a.nic(1)["state"], "its device is gone")
        refused(Run("attach", "--repair", a.bundle), "x0", "not there")
        same([nic["state"] for nic in a.stat()["nic"]], ["attached", "its device is gone"])
        sh("ip", "link", "add", "x0", "type", "veth", "peer", "name", "x1")
        Lab.up("x1")
        Lab.up("x0")
        run = Run("attach", "--repair", "-j", a.bundle)
        same((run.rc, run.json["repaired"]), (0, ["nic x0"]), run.err)
        same([nic["state"] for nic in a.stat()["nic"]], ["attached", "attached"])
        Port("x1").send(frame(7001))
        # what was counted before it went away is not forgotten
        same(a.wait("in", 2, 1)["edges"][0]["packets"], 2)
        # half of the programs is no policy either
        sh("bpftool", "link", "detach", "pinned", str(PINS / "nic-v0" / "xdp"))
        want(a.nic()["state"] != "attached", "half")
        same(Run("attach", "--repair", "-j", a.bundle).json["repaired"], ["nic v0"])
        here.receive()
        there.send(frame(7000))
        same(a.wait("in", 2)["edges"][0]["packets"], 2)
        same(Run("bypass", "lab").rc, 0)
        same(Run("attach", "--repair", "-j", a.bundle).json["repaired"], ["nic v0", "nic x0"])
        same([nic["state"] for nic in a.stat()["nic"]], ["attached", "attached"])
        refused(Run("attach", "--repair", compile_bundle(graph(EDGES), name="new")), "detach")
        same(Run("attach", "--replace", denying(TWO, nics)).rc, 0)
    sh("ip", "link", "del", "x0")
    nothing_left(before)


def renamed(lab):
    """A name that another device has by now: what is on the first one is told, and not swapped."""
    before = ours()
    moved = "its device has another name by now, or is in another network namespace"
    sh("ip", "link", "add", "x0", "type", "veth", "peer", "name", "x1")
    one = [(edge, way, flow) for edge, way, flow, *_ in EDGES]
    deny = denying(one, ["x0"])

    def xdp():
        return [x["devname"] for x in json.loads(sh("bpftool", "-j", "net"))[0]["xdp"]]

    with Attached(one, nics=["x0"]) as a:
        sh("ip", "link", "set", "x0", "name", "y0")
        same(a.nic()["state"], moved)
        want(f"{moved} on x0" in Run("list").out, Run("list").out)
        refused(Run("attach", "--replace", deny), "x0", "not there")
        sh("ip", "link", "add", "x0", "type", "veth", "peer", "name", "x2")
        same(a.nic()["state"], moved)
        refused(Run("attach", "--replace", deny), "x0", "went away", "--repair")
        same((a.nic()["policy"], xdp(), list(PINS.glob("*/next"))), ("lab", ["y0"], []))
        run = Run("attach", "--repair", "-j", a.bundle)
        same((run.rc, run.json["repaired"]), (0, ["nic x0"]), run.err)
        same((a.nic()["state"], xdp()), ("attached", ["x0"]))
        same(Run("attach", "--replace", deny).rc, 0)
        # and into another network namespace, as it is
        sh("ip", "link", "set", "x0", "netns", f"/proc/self/fd/{lab.there}", fds=(lab.there,))
        same((a.nic()["state"], a.nic()["policy"]), (moved, "deny"))
        with Peer(lab):
            sh("ip", "link", "del", "x0")
        same(a.nic()["state"], "its device is gone")
    sh("ip", "link", "del", "y0")
    nothing_left(before)


def repair_keeps_audit(lab):
    """What only counted refusals does so after a repair, and what refused them refuses."""
    before = ours()
    deny = denying()
    here = Port("v0")
    with Peer(lab):
        there = Port("v1")

    def look():
        here.receive()
        there.send(frame(7000))
        return Run("stat", "-j", "lab").json["nic"][0]["state"], len(here.receive())

    for options, *steps in (([], ([], "attached"), (["--audit"], "audit"), ([], "audit")),
                            (["--audit"], ([], "audit"), (["--audit"], "audit"))):
        same(Run("attach", "--pin", *options, deny).rc, 0)
        for more, then in steps:
            sh("bpftool", "link", "detach", "pinned", str(PINS / "nic-v0" / "xdp"))
            run = Run("attach", "--repair", "-j", *more, deny)
            same((run.rc, run.json["repaired"]), (0, ["nic v0"]), run.err)
            same(look(), (then, 1 if then == "audit" else 0), options, more)
        # a replacement is as it is asked for
        same(Run("attach", "--replace", deny).rc, 0)
        same(look(), ("attached", 0))
        same(Run("detach", "lab").rc, 0)
    nothing_left(before)


def killed_in_between(_):
    """A replacement that is killed at any moment leaves what replace, repair and detach can work with."""
    before = ours()
    with Attached(EDGES) as a:
        other = denying()
        for delay in (0.02, 0.05, 0.1, 0.15, 0.2, 0.3):
            with subprocess.Popen([PLAIN, "attach", "--replace", other], stderr=subprocess.DEVNULL) as child:
                time.sleep(delay)
                child.kill()
            # what it was just then doing is told
            want(a.nic()["state"] in ("attached", "half replaced: attach --repair mends that"), a.nic())
        same(Run("attach", "--replace", a.bundle).rc, 0)
        same((a.nic()["policy"], a.nic()["state"]), ("lab", "attached"))
        same(list(PINS.glob("*/next")), [])
    nothing_left(before)


if __name__ == "__main__":
    os.environ.setdefault("ASAN_OPTIONS", "detect_leaks=1")
    sys.exit(main(tests_of(Lab(), [
        replace_swaps, replace_needs_the_same, replace_is_all_or_nothing, replace_loses_nothing, repair_mends,
        renamed, repair_keeps_audit, killed_in_between])))
