#!/usr/bin/python3 -B
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""redirect: af_xdp: an application's socket gets the packets of its edge, and no others."""

import os
import sys
import threading
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
sys.dont_write_bytecode = True
from netlab import (Attached, Lab, Peer, Port, compile_bundle, cpumap_threads, frame, graph, nothing_left, ours, sh,  # noqa: E402
                    tests_of)
from xsk import Xsk  # noqa: E402
from fxtest import Run, main, same, want, write  # noqa: E402

# the port says the slot; what is not redirected passes, and one port is refused
POLICY = """\
#include <fabric_ext/portable.bpf.h>

FX_GUARD(move)
{
	if (move->flow.dport == 7001)
		return fx_drop(EPERM);
	if (move->flow.dport >= 8000)
		return fx_redirect(move->flow.dport - 8000);
	return fx_pass();
}

FX_PORTABLE(%s, FX_MALFORMED_PASS);

char LICENSE[] SEC("license") = "Dual BSD/GPL";
"""
# never redirects
PASSES = POLICY.replace("move->flow.dport >= 8000", "0").replace("FX_PORTABLE(%s", "FX_PORTABLE(passes")
SOCKET = {"redirect": "af_xdp"}
EDGES = [("kv", "in", "{ udp: 8000 + i }", {"for": "i in 4", **SOCKET}), ("far", "in", "{ udp: 8064 }", SOCKET),
         ("plain", "in", "{ udp: 7000 }"), ("no", "in", "{ udp: 7001 }"), ("cpu", "in", "{ udp: 12000 }"),
         ("out", "out", "{ udp: 8000 }")]
PIN = Path("/sys/fs/bpf/fabric_ext/lab/nic-v0/maps/fx_sockets")


def policy(text=POLICY % "sock", name="sock"):
    return write(f"{name}/p.bpf.c", text)


def counted(attached, name, edge=None):
    found = [e for e in attached.nic()["edges"] if e["class"] == name and edge in (None, e["edge"])]
    same(len(found), 1, found)
    return tuple(found[0][key] for key in ("packets", "bytes", "redirected", "failed", "refused"))


def body(number):
    return number.to_bytes(4, "big") * 8


def to_its_edge_alone(lab):
    """The socket has what is of its edge, to the byte and in order; all else goes its ways."""
    before = ours()
    here = Port("v0")
    with Peer(lab):
        there = Port("v1")
    with Attached(EDGES, policy=policy()) as a:
        xsk = Xsk("v0")
        xsk.enter(PIN, 0)
        sent = {port: [frame(port, body(n)) for n in range(50)] for port in (8000, 8001, 7000, 7001)}
        for number in range(50):
            there.send(*(sent[port][number] for port in sent))
        a.wait("in", 200)
        same(xsk.receive(50), sent[8000])
        # the empty slot's packets, and those that nothing redirects
        passed = [data for data, _ in here.receive()]
        same([data for data in passed if data in sent[8001]], sent[8001])
        same([data for data in passed if data in sent[7000]], sent[7000])
        same(len(passed), 100)
        same(counted(a, "kv", 0), (50, 1600, 50, 0, 0))
        same(counted(a, "kv", 1), (50, 1600, 0, 50, 0))
        same(counted(a, "plain"), (50, 1600, 0, 0, 0))
        same(counted(a, "no"), (0, 0, 0, 0, 50))
        same(a.nic()["in"]["packets"], 200)
        same(xsk.lost(), 0)
        xsk.close()
    nothing_left(before)


def slots_that_are_not(lab):
    """No socket, a number that is no slot, a socket that was closed, what is sent: all passes, as failed."""
    here = Port("v0")
    with Peer(lab):
        there = Port("v1")
    with Attached(EDGES, policy=policy()) as a:
        xsk = Xsk("v0")
        xsk.enter(PIN, 0)
        # in the slot of a receive queue that it is not bound to
        xsk.enter(PIN, 1, queue=3)
        there.send(frame(8000))
        same(xsk.receive(1), [frame(8000)])
        xsk.close()
        sent = [frame(8000), frame(8001), frame(8064), frame(12000)]
        there.send(*sent)
        same([data for data, _ in here.receive()], sent)
        here.send(frame(8000))
        same([data for data, _ in there.receive()], [frame(8000)])
        for name, edge, packets in (("kv", 0, 2), ("kv", 1, 1), ("far", None, 1), ("cpu", None, 1), ("out", None, 1)):
            passed, _, redirected, failed, refused = counted(a, name, edge)
            same((passed, redirected, failed, refused), (packets, packets - 1, 1, 0), name)
    with Attached(EDGES, policy=policy(), options=["--audit"]) as a:
        xsk = Xsk("v0")
        xsk.enter(PIN, 0)
        there.send(frame(8000))
        same([data for data, _ in here.receive()], [frame(8000)])
        same((xsk.receive(), counted(a, "kv", 0)), ([], (1, 32, 0, 0, 0)))
        same(Run("bypass", "lab").rc, 0)
        there.send(frame(8000))
        same([data for data, _ in here.receive()], [frame(8000)])
        same((xsk.receive(), counted(a, "kv", 0)), ([], (1, 32, 0, 0, 0)))
        xsk.close()


def of_another_queue(lab):
    """A socket in a slot of a queue that it is not bound to gets nothing, and nothing is lost."""
    sh("ip", "link", "add", "m0", "numrxqueues", "2", "numtxqueues", "2", "type", "veth", "peer", "name", "m1")
    for name in ("m0", "m1"):
        Lab.up(name)
    here, there = Port("m0"), Port("m1")
    with Attached(EDGES, policy=policy(), nics=("m0",)) as a:
        pin = PIN.parents[2] / "nic-m0" / "maps" / "fx_sockets"
        second = Xsk("m0", queue=1)
        second.enter(pin, 0, queue=0)
        there.send(frame(8000))
        same([data for data, _ in here.receive()], [frame(8000)])
        same((second.receive(), counted(a, "kv", 0)), ([], (1, 32, 0, 1, 0)))
        first = Xsk("m0", queue=0)
        first.enter(pin, 0, queue=0)
        there.send(frame(8000))
        same((first.receive(1), counted(a, "kv", 0)), ([frame(8000)], (2, 64, 1, 1, 0)))
        first.close()
        second.close()
    sh("ip", "link", "del", "m0")


def replace_keeps_it(lab):
    """Through --replace under load: each packet comes once, also when a policy between never redirects."""
    before = ours()
    here = Port("v0")
    with Peer(lab):
        there = Port("v1")
    with Attached(EDGES, policy=policy()) as a:
        xsk = Xsk("v0")
        xsk.enter(PIN, 0)
        again = compile_bundle(graph(EDGES), policy(POLICY % "again", "again"), name="again")
        sent, got, stop = [0], [], threading.Event()

        def send():
            while not stop.wait(0.0005):
                there.send(frame(8000, body(sent[0])))
                sent[0] += 1

        def receive():
            while not stop.is_set():
                got.extend(xsk.receive())

        threads = [threading.Thread(target=send), threading.Thread(target=receive)]
        for thread in threads:
            thread.start()
        try:
            for turn in range(8):
                run = Run("attach", "--replace", a.bundle if turn % 2 else again)
                same(run.rc, 0, run.err)
        finally:
            stop.set()
            for thread in threads:
                thread.join()
        got.extend(xsk.receive(sent[0] - len(got)))
        want(sent[0] > 100, sent)
        same(xsk.lost(), 0)
        same(got == [frame(8000, body(n)) for n in range(sent[0])], True, len(got), "of", sent[0])
        same(counted(a, "kv", 0), (sent[0], 32 * sent[0], sent[0], 0, 0))
        same(here.receive(), [])
        passes = compile_bundle(graph(EDGES), policy(PASSES, "passes"), name="passes")
        same(Run("attach", "--replace", passes).rc, 0)
        there.send(frame(8000))
        same(([data for data, _ in here.receive()], xsk.receive()), ([frame(8000)], []))
        same(Run("attach", "--replace", a.bundle).rc, 0)
        there.send(frame(8000))
        same((xsk.receive(1), here.receive()), ([frame(8000)], []))
        xsk.close()
    nothing_left(before)


def repair_lets_go(_):
    """A device that went away took its sockets along: those that are left get nothing, and nothing is lost."""
    for again in (False, True):
        sh("ip", "link", "add", "x0", "type", "veth", "peer", "name", "x1")
        for name in ("x0", "x1"):
            Lab.up(name)
        if not again:
            attached = Attached(EDGES, policy=policy(), nics=("x0",))
            attached.__enter__()
            xsk = Xsk("x0")
            pin = PIN.parents[2] / "nic-x0" / "maps" / "fx_sockets"
            xsk.enter(pin, 0)
            Port("x1").send(frame(8000))
            same(xsk.receive(1), [frame(8000)])
            # half of the programs; the device is the same, and so is the socket
            sh("bpftool", "link", "detach", "pinned", str(PIN.parents[2] / "nic-x0" / "xdp"))
            same(Run("attach", "--repair", attached.bundle).rc, 0)
            Port("x1").send(frame(8000))
            same(xsk.receive(1), [frame(8000)])
            sh("ip", "link", "del", "x0")
    run = Run("attach", "--repair", "-j", attached.bundle)
    same((run.rc, run.json["repaired"]), (0, ["nic x0"]), run.err)
    here = Port("x0")
    Port("x1").send(frame(8000))
    same([data for data, _ in here.receive()], [frame(8000)])
    xsk.close()
    xsk = Xsk("x0")
    xsk.enter(pin, 0)
    Port("x1").send(frame(8000))
    same(xsk.receive(1), [frame(8000)])
    same(counted(attached, "kv", 0), (4, 128, 3, 1, 0))
    xsk.close()
    attached.__exit__()
    sh("ip", "link", "del", "x0")


def only_where_asked(_):
    """Without an edge that has sockets there is no map of them, nor anything that needs it."""
    with Attached([("kv", "in", "{ udp: 8000 }", {"redirect": "cpu"})], policy=policy()):
        want((PIN.parent / "fx_cpus").exists() and not PIN.exists(), list(PIN.parent.iterdir()))


def threads_of_none(_):
    """Where all edges have sockets, no CPU waits for packets."""
    kept = cpumap_threads()
    with Attached([("kv", "in", "{ udp: 8000 }", SOCKET)], policy=policy()):
        want(PIN.exists(), "no map")
        same(cpumap_threads(), kept)


if __name__ == "__main__":
    os.environ.setdefault("ASAN_OPTIONS", "detect_leaks=1")
    sys.exit(main(tests_of(Lab(), [
        to_its_edge_alone, slots_that_are_not, of_another_queue, replace_keeps_it, repair_lets_go, only_where_asked,
        threads_of_none])))
