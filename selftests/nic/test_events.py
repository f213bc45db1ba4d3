#!/usr/bin/python3 -B
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""fabricctl events tells of network devices with the words of the module's events."""

import os
import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
sys.dont_write_bytecode = True
from netlab import Attached, Events, Lab, Peer, Port, compile_bundle, frame, graph, nothing_left, ours, sh, tests_of  # noqa: E402
from fxtest import Run, main, same, want  # noqa: E402

EDGES = [("a", "in", "{ udp: 7000 }"), ("no", "in", "{ udp: 7001 }", {"priority": 1})]


def verdicts(lab):
    """What passed and what was refused, as many packets and bytes as were sent."""
    before = ours()
    with Peer(lab):
        there = Port("v1")
    for audit in (False, True):
        with Attached(EDGES, options=["--audit"] if audit else []) as a, Events("lab") as e:
            there.send(*[frame(7000, b"x" * 100)] * 5, *[frame(7001, b"y" * 10)] * 3)
            a.wait("in", 8)
            sums = {}
            while sums.get("a") != (5, 500) or "no" not in sums or sums["no"][0] != 3:
                ev = e.until(lambda ev: ev["event"] in ("move", "verdict"))
                want(ev["netdev"] == "v0" and ev["op"] == "move" and ev["graph"] == "lab", ev)
                if ev["event"] == "verdict":
                    same((ev["class"], ev["reason"]), ("no", "audit_refused" if audit else "refused_policy"))
                elif ev["class"] == "no":
                    want(audit, ev)
                    continue
                n, size = sums.get(ev["class"], (0, 0))
                sums[ev["class"]] = (n + ev["packets"], size + ev["bytes"])
            same(sums["no"], (3, 30))
        same(e.child.returncode, 0)
        want(e.told.startswith("events: ") and e.told.endswith(" 0 lost\n"), e.told)
    nothing_left(before)


def comings_and_goings(_):
    """Attach, replace, bypass, a device that goes, repair, detach."""
    before = ours()
    sh("ip", "link", "add", "x0", "type", "veth", "peer", "name", "x1")
    with Attached([("z", "in", "{ udp: 1 }")], name="other", nics=["w0"]):
        bundle = compile_bundle(graph([("a", "in", "{ udp: 7000 }")], nics=["x0"]), name="lab")
        with Events() as e:
            same(Run("attach", "--pin", bundle).rc, 0)
            ev = e.until(lambda ev: ev["event"] == "attach")
            same((ev["graph"], ev["netdev"], ev["policy"]), ("lab", "x0", "lab"))
            sh("ip", "link", "del", "x0")
            ev = e.until(lambda ev: ev["event"] == "eject")
            same((ev["graph"], ev["netdev"], ev["message"], ev["exit"]), ("lab", "x0", "its device is gone", "unreg"))
            sh("ip", "link", "add", "x0", "type", "veth", "peer", "name", "x1")
            same(Run("attach", "--repair", bundle).rc, 0)
            same(e.until(lambda ev: ev["event"] == "attach")["netdev"], "x0")
            same(Run("bypass", "lab").rc, 0)
            ev = e.until(lambda ev: ev["event"] == "eject")
            same((ev["exit"], ev["message"]), ("bypass", "by-passed"))
            same(Run("attach", "--replace", bundle).rc, 0)
            e.until(lambda ev: ev["event"] == "attach")
            same(Run("detach", "lab").rc, 0)
            ev = e.until(lambda ev: ev["event"] == "eject")
            same((ev["graph"], ev["message"]), ("lab", "detached"))
        same([ev for ev in e.got if ev["graph"] == "other"], [])
    sh("ip", "link", "del", "x0")
    nothing_left(before)


def as_text(lab):
    """The same in words: a line each, with what the graph calls things."""
    stamp = r"^\d+\.\d{9} lab "
    lines = (r"attach netdev=v0 reason=applied policy=\"lab\"\n$",
             r"move netdev=v0 op=move edge=0 \(a\) packets=5 bytes=500 reason=applied\n$",
             r"verdict netdev=v0 op=move edge=1 \(no\) packets=3 bytes=30 reason=refused_policy\n$",
             r"eject netdev=v0 exit=bypass reason=bypass_ejected message=\"by-passed\"\n$",
             r"eject netdev=v0 exit=bypass reason=bypass_ejected message=\"detached\"\n$")
    with Peer(lab):
        there = Port("v1")
    with Attached([("z", "in", "{ udp: 1 }")], name="other", nics=["w0"]), Events(as_json=False) as e:
        with Attached(EDGES) as a:
            e.until(lambda line: re.search(stamp + lines[0], line))
            there.send(*[frame(7000, b"x" * 100)] * 5)
            a.wait("in", 5)
            e.until(lambda line: " move " in line and sum_of(e.got, " move ") == (5, 500))
            there.send(*[frame(7001, b"y" * 10)] * 3)
            e.until(lambda line: " verdict " in line and sum_of(e.got, " verdict ") == (3, 30))
            same(Run("bypass", "lab").rc, 0)
            e.until(lambda line: re.search(stamp + lines[3], line))
        e.until(lambda line: re.search(stamp + lines[4], line))
    # what was counted between two looks is one line; the words are the same however many there are
    words = [re.sub(r"=\d+\b", "=N", pattern) for pattern in lines]
    for line in e.got:
        want(any(re.search(stamp + word.replace("=N", r"=\d+"), line) for word in words), line)
    there.close()


def sum_of(lines, kind):
    """(packets, bytes) of the events of a kind."""
    found = [re.search(r"packets=(\d+) bytes=(\d+)", line) for line in lines if kind in line]
    return tuple(sum(int(m[i]) for m in found) for i in (1, 2))


def ends(_):
    """--count and --timeout end it; a graph that is nowhere is the module's to know."""
    with Attached(EDGES):
        run = Run("events", "lab", "-t", "300ms")
        same((run.rc, run.out, run.err), (0, "", "events: 0 received, 0 lost\n"))
        with Events("lab", "-n", "1") as e:
            same(Run("bypass", "lab").rc, 0)
            e.until(lambda ev: True)
            same(e.child.wait(60), 0)
    run = Run("events", "nobody", "-t", "300ms")
    same(run.rc, 2)
    want("insmod" in run.err, run.err)


if __name__ == "__main__":
    os.environ.setdefault("ASAN_OPTIONS", "detect_leaks=1")
    sys.exit(main(tests_of(Lab(), [verdicts, comings_and_goings, as_text, ends])))
