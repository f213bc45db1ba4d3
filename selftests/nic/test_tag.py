#!/usr/bin/python3 -B
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Queue pairs that are bound while running: fabricctl tag."""

import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
sys.dont_write_bytecode = True
from netlab import Attached, Lab, Peer, Port, tests_of  # noqa: E402
from rocelab import write  # noqa: E402
from fxtest import Run, main, same, want  # noqa: E402

TAG = "{ rocev2: tag }"
# the test of DPUs runs some of these on its own
DEVICE, NOUN = "v0", "netdev"
EDGES = [("kv", "in", TAG, {"for": "i in 4"}), ("one", "in", TAG), ("fixed", "in", "{ rocev2: { qp: 99 } }"),
         ("kv", "out", TAG, {"nic": 1, "for": "i in 4"})]


def tag(*words):
    run = Run("tag", "lab", *words)
    same(run.rc, 0, run.err)


def refused(run, *words):
    same(run.rc, 1, run.err)
    want(run.err.count("\n") == 1 and run.err.startswith("fabricctl: "), run.err)
    for word in words:
        want(word in run.err, word, "is not in", run.err)


def found(a):
    return {(e["class"], e["edge"]): (e["packets"], e["bytes"], e.get("qp")) for e in a.nic()["edges"]
            if e["packets"] or e.get("qp")}


def there_of(lab):
    with Peer(lab):
        return Port("v1")


def binds(lab):
    """Nothing is found before; then the instance is, and another one after it, and none again."""
    there = there_of(lab)
    one, two = write(20, 5, 5000), write(21, 5, 7000)
    with Attached(EDGES[:3]) as a:
        there.send(*one)
        nic = a.wait("in", len(one))
        same((nic["in"]["no_edge"], found(a)), (len(one), {("fixed", 5): (0, 0, 99)}))
        tag("kv[2]", "--qp", "20")
        tag("one", "--qp", "0x15")
        there.send(*one, *two)
        a.wait("in", 2 * len(one) + len(two))
        want_now = {("kv", 2): (len(one), 5000, 20), ("one", 4): (len(two), 7000, 21), ("fixed", 5): (0, 0, 99)}
        same(found(a), want_now)
        # the one before is let go; the counters go on
        tag("kv[2]", "--qp", "22")
        there.send(*one, *write(22, 5, 100))
        a.wait("in", 3 * len(one) + len(two) + 1)
        want_now["kv", 2] = (len(one) + 1, 5100, 22)
        same(found(a), want_now)
        # whose number was let go can be another's, and begins anew
        tag("kv[3]", "--qp", "20", "--dev", DEVICE)
        there.send(*one)
        a.wait("in", 4 * len(one) + len(two) + 1)
        want_now["kv", 3] = (len(one), 5000, 20)
        same(found(a), want_now)
        # so does the next that bears the same number
        tag("kv[3]", "--qp", "20")
        there.send(*one)
        a.wait("in", 5 * len(one) + len(two) + 1)
        want_now["kv", 3] = (2 * len(one), 10000, 20)
        tag("kv[3]", "--none")
        want_now["kv", 3] = (2 * len(one), 10000, None)
        there.send(*one)
        a.wait("in", 6 * len(one) + len(two) + 1)
        same(found(a), want_now)
        tag("kv[3]", "--none")
        want("none" in Run("stat", "lab").out, Run("stat", "lab").out)


def on_several_devices(lab):
    """Each that the edge crosses, or the one that is named."""
    del lab
    edges = EDGES[:1] + [("out", "out", TAG, {"nic": 1}), ("out2", "out", TAG)]
    with Attached(edges, nics=["v0", "w0"]) as a:
        run = Run("tag", "-j", "lab", "out", "--qp", "30")
        same((run.rc, run.json), (0, {"graph": "lab", "edge": "out", "qp": 30, "devices": 1}))
        same([e.get("qp") for n in (0, 1) for e in a.nic(n)["edges"] if e["class"] == "out"], [30])
        refused(Run("tag", "lab", "out", "--qp", "31", "--dev", "v0"), "does not cross", "v0")
        # one number may be another edge's elsewhere, in the other direction too
        tag("kv[0]", "--qp", "30")
        tag("out2", "--qp", "30")


def refuses(lab):
    """What cannot be bound is told in one sentence, and changes nothing."""
    del lab
    with Attached(EDGES[:3]) as a:
        tag("kv[1]", "--qp", "40")
        before = found(a)
        for words, said in (
                (["kv", "--qp", "41"], ["4 instances", "kv[3]"]), (["kv[4]", "--qp", "41"], ["no instance 4", "kv[3]"]),
                (["kv[", "--qp", "41"], ["no edge"]), (["kv[]", "--qp", "41"], ["no edge"]),
                (["kv[1", "--qp", "41"], ["no edge"]), (["kv[1]x", "--qp", "41"], ["no edge"]),
                (["kv[-1]", "--qp", "41"], ["no edge"]), (["kv[99999999999999999999]", "--qp", "41"], ["no edge"]),
                (["kw[1]", "--qp", "41"], ["did you mean 'kv'"]), (["fixed", "--qp", "41"], ["rocev2: tag", f"{NOUN} '{DEVICE}'"]),
                (["one", "--qp", "40"], ["queue pair 40", f"{NOUN} '{DEVICE}'", "'kv'"]), (["one", "--qp", "99"], ["queue pair 99", "'fixed'"]),
                (["one", "--qp", "1"], ["2 to"]), (["one", "--qp", "0xffffff"], ["2 to"]),
                (["one", "--qp", "5.5"], ["a number"]), (["one"], ["--qp"]), (["one", "--qp", "9", "--none"], ["--qp"]),
                (["one", "--qp", "9", "--dev", "w0"], ["w0"])):
            refused(Run("tag", "lab", *words), *said)
            same(found(a), before, words)
    same(Run("tag", "lab", "one", "--qp", "9").rc, 1)
    refused(Run("tag", "nobody", "one", "--qp", "9"), "nobody", "--pin")


if __name__ == "__main__":
    os.environ.setdefault("ASAN_OPTIONS", "detect_leaks=1")
    sys.exit(main(tests_of(Lab(), [binds, on_several_devices, refuses])))
