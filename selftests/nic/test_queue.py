#!/usr/bin/python3 -B
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""fx_redirect(): what is received goes on at the CPU that the policy names."""

import os
import socket
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
sys.dont_write_bytecode = True
from netlab import (Attached, Lab, Peer, Port, compile_bundle, cpumap_threads, frame, graph, nothing_left, ours, sh,  # noqa: E402
                    tests_of)
from fxtest import Run, Skip, main, same, want, write  # noqa: E402

# the port says the queue
POLICY = """\
#include <fabric_ext/portable.bpf.h>

FX_GUARD(move)
{
	%s
		return fx_redirect(move->flow.dport - 8000);
	return fx_pass();
}

FX_PORTABLE(lab, FX_MALFORMED_PASS);

char LICENSE[] SEC("license") = "Dual BSD/GPL";
"""
ANYWHERE = "if (move->flow.dport >= 8000 || move->priority == 7)"
ON_NICS = "if (move->device == FX_DEVICE_NIC && move->flow.dport >= 8000)"
SO_INCOMING_CPU = 49
EDGES = [("q", "in", "{ udp: 8000 + i }", {"for": "i in 3"}), ("far", "in", "{ udp: 12000 }"),
         ("none", "in", "{ udp: 65535 }"), ("plain", "in", "{ udp: 7000 }"), ("out", "out", "{ udp: 8000 }")]


def policy(condition):
    return write("queue/p.bpf.c", POLICY % condition)


def queues(lab):
    """Counted, delivered, and by the CPU that was asked for."""
    cpus = sorted(os.sched_getaffinity(0))
    if len(cpus) < 2:
        raise Skip("only one CPU is here, so nothing can be redirected to another")
    sh("ip", "addr", "add", "10.78.0.1/24", "dev", "v0")
    with Peer(lab):
        there = Port("v1")
    same(cpus[:2], [0, 1])
    sockets = []
    for cpu in cpus[:2]:
        one = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        one.settimeout(5)
        one.bind(("10.78.0.1", 8000 + cpu))
        one.connect(("10.78.0.2", 999))
        sockets.append(one)
    with Attached(EDGES, policy=policy(ANYWHERE)) as a:
        for number in range(40):
            for cpu, one in zip(cpus, sockets):
                there.send(frame(8000 + cpu, bytes((number, cpu)), src="10.78.0.2", dst="10.78.0.1"))
                same(one.recv(64), bytes((number, cpu)))
                same(one.getsockopt(socket.SOL_SOCKET, SO_INCOMING_CPU), cpu, number)
        edges = {(e["class"], e["edge"]): e for e in a.wait("in", 80)["edges"]}
        for i in range(2):
            same([edges["q", i][k] for k in ("packets", "bytes", "redirected", "failed")], [40, 80, 40, 0])


def queues_that_are_not(lab):
    """A queue that is not there, and what is sent: the packet passes, and is counted as failed."""
    here = Port("v0")
    with Peer(lab):
        there = Port("v1")
    with Attached(EDGES, policy=policy(ANYWHERE)) as a:
        sent = [frame(12000), frame(65535), frame(7000)]
        there.send(*sent)
        same([data for data, _ in here.receive()], sent)
        here.send(frame(8000))
        same([data for data, _ in there.receive()], [frame(8000)])
        edges = {e["class"]: (e["packets"], e["redirected"], e["failed"]) for e in a.nic()["edges"] if e["edge"] != 0}
        same([edges[name] for name in ("far", "none", "plain", "out")], [(1, 0, 1), (1, 0, 1), (1, 0, 0), (1, 0, 1)])
    with Attached(EDGES, policy=policy(ANYWHERE), options=["--audit"]) as a:
        there.send(frame(8000))
        edge = a.wait("in", 1)["edges"][0]
        same((edge["packets"], edge["redirected"], edge["failed"]), (1, 0, 0))


def only_where_asked(_):
    """A policy that never redirects has no queues, and no threads behind them."""
    before, kept = ours(), cpumap_threads()
    with Attached(EDGES, malformed="PASS"):
        same(cpumap_threads(), kept)
    with Attached(EDGES, policy=policy(ANYWHERE)):
        same(cpumap_threads() - kept, os.cpu_count())
    nothing_left(before)


def kernel_has_none(_):
    """For the kernel module a redirect is an error, unless the policy asks for the device first."""
    text = graph(EDGES, name="both") + "  - { edge: k, from: host, to: host, bytes: 1KiB, owner: borrow }\n"
    bundle = compile_bundle(text, policy(ON_NICS), name="both")
    want((bundle / "kernel/policy.bpf.o").exists(), list(bundle.rglob("*")))
    source = policy(ANYWHERE)
    run = Run("compile", bundle.parent / "g.yaml", source, "-o", bundle.parent / "again")
    same(run.rc, 1, run.err)
    for word in ("p.bpf.c:6", "only what a network device receives can be redirected", "fx_mark", "FX3005"):
        want(word in run.err, word, "is not in", run.err)


if __name__ == "__main__":
    os.environ.setdefault("ASAN_OPTIONS", "detect_leaks=1")
    sys.exit(main(tests_of(Lab(), [queues, queues_that_are_not, only_where_asked, kernel_has_none])))
