#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Packets through a fabric-dpu: each is counted once, and at both ends."""

import struct
import subprocess
import sys
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
sys.dont_write_bytecode = True
from dpulab import CLIENT, Attached, Dpu, DpuLab, Run, nothing_left, want, write  # noqa: E402
from fxtest import main, same  # noqa: E402
from netlab import ETH_P_IP, ETH_P_IPV6, Peer, Port, ethernet, extension, frame, ipv4, ipv6, tcp, tests_of, udp  # noqa: E402

# what the priority says: 0 passes, 1 is dropped, 2 is marked
EDGES = [
    ("passes", "in", "{ udp: 5000 }"),
    ("drops", "in", "{ udp: 5001 }", {"priority": 1}),
    ("marks", "in", "{ udp: 5002 }", {"priority": 2}),
    ("six", "in", "{ tuple: { proto: tcp, dst: \"fd00::1\", dport: 6000 } }"),
    ("tagged", "in", "{ udp: 5003, vlan: 7 }"),
    ("out", "out", "{ udp: 5000 }"),
    ("out_drops", "out", "{ udp: 5001 }", {"priority": 1}),
]


def counts(a):
    return {name: (e["packets"], e["bytes"], e["refused"], e["refused_bytes"], e["marked"])
            for (name, _, _), e in a.edges().items()}


def one_port(lab):
    """What a single port receives is judged and counted, and ends there."""
    with Dpu() as dpu, Attached(EDGES) as a:
        with Peer(lab):
            port = Port("v1")
        port.send(*[frame(5000, b"x" * size) for size in range(1, 101)])
        port.send(*[frame(5001)] * 30)
        port.send(*[frame(5002)] * 20)
        port.send(*[frame(5003, vlan=7)] * 5, *[frame(5003, vlan=8)] * 4, *[frame(5003)] * 3)
        port.send(*[ethernet(ETH_P_IPV6, ipv6(6, tcp(1, 6000, b"abc")))] * 7)
        port.send(*[ethernet(ETH_P_IPV6, ipv6(0, extension(6) + tcp(1, 6000, b"abcd")))] * 2)
        port.send(*[ethernet(0x88b5, b"x" * 50)] * 6)
        total = 100 + 30 + 20 + 12 + 9 + 6
        dpu.wait_received(total)
        seen = a.wait("in", total)["in"]
        same((seen["packets"], seen["no_edge"], seen["malformed"]), (total, 13, 0))
        same(counts(a), {"passes": (100, 5050, 0, 0, 0), "drops": (0, 0, 30, 960, 0), "marks": (20, 640, 0, 0, 20),
                         "six": (9, 29, 0, 0, 0), "tagged": (5, 160, 0, 0, 0), "out": (0,) * 5, "out_drops": (0,) * 5})
        same(dpu.info()["received"], total)
        port.close()
    nothing_left()


def both_ways(lab):
    """Two ports: what passes arrives whole at the other end, what is dropped does not."""
    with Dpu(ports=("v0", "w0"), workers=2) as dpu:
        with Peer(lab):
            wire = Port("v1")
        host = Port("w1")
        # without a policy all of it passes
        wire.send(*[frame(port) for port in (5000, 5001, 9999)])
        same(len(host.receive()), 3)
        with Attached(EDGES) as a:
            sent = [frame(5000, bytes((i,)) * (i + 1)) for i in range(200)]
            for i in range(0, 200, 20):
                wire.send(*sent[i:i + 20], frame(5001), frame(5002))
                host.send(frame(5000), frame(5001), frame(5001))
                time.sleep(0.01)
            a.wait("in", 220)
            a.wait("out", 30)
            got = [data for data, _ in host.receive()]
            same([data for data in got if data[36:38] == struct.pack("!H", 5000)], sent, "in order:")
            same(len(got), 210)
            same(len(wire.receive()), 10)
            same({name: count[:3] for name, count in counts(a).items() if any(count)},
                 {"passes": (200, 20100, 0), "drops": (0, 0, 10), "marks": (10, 320, 0),
                  "out": (10, 320, 0), "out_drops": (0, 0, 20)})
            info = dpu.info()
            same((info["received"], info["sent"], info["unsent"]), (3 + 250, 3 + 220, 0))
        wire.send(frame(5001))
        same(len(host.receive()), 1, "after the policy:")
        wire.close()
        host.close()
    nothing_left()


MALFORMED = [
    ethernet(ETH_P_IP, b"\x45"), ethernet(ETH_P_IP, ipv4(17, udp(1, 5000, b"x" * 8), first=0x55)),
    ethernet(ETH_P_IP, ipv4(17, udp(1, 5000, b"x" * 8), first=0x41)),
    ethernet(ETH_P_IP, ipv4(17, udp(1, 5000, b"x" * 8), length=9000)),
    ethernet(ETH_P_IP, ipv4(17, udp(1, 5000, b"x" * 8, length=4))),
    ethernet(ETH_P_IP, ipv4(17, udp(1, 5000, b"x" * 8, length=400))),
    ethernet(ETH_P_IP, ipv4(6, tcp(1, 5000, b"x", doff=15))),
    ethernet(ETH_P_IPV6, ipv6(17, udp(1, 5000, b"x" * 8), length=999)),
    ethernet(ETH_P_IPV6, ipv6(0, extension(17, length=99) + udp(1, 5000, b""))),
]


def malformed(lab):
    """Passed or dropped as the policy says, and never an edge's."""
    for word, arrive in (("PASS", len(MALFORMED)), ("DROP", 0)):
        with Dpu(ports=("v0", "w0")), Attached(EDGES, malformed=word) as a:
            with Peer(lab):
                wire = Port("v1")
            host = Port("w1")
            wire.send(*MALFORMED)
            dpu = a.wait("in", len(MALFORMED))
            same(dpu["in"]["malformed"], len(MALFORMED), dpu)
            same(dpu["in"]["malformed_refused"], len(MALFORMED) - arrive)
            same(len(host.receive()), arrive)
            same({name: c for name, c in counts(a).items() if any(c)}, {})
            wire.close()
            host.close()


def audit_and_bypass(lab):
    with Dpu(ports=("v0", "w0")) as dpu:
        with Peer(lab):
            wire = Port("v1")
        host = Port("w1")
        with Attached(EDGES, options=("--audit",)) as a:
            wire.send(*[frame(5001)] * 4, *[frame(5002)] * 3)
            same(a.wait("in", 7)["state"], "audit")
            same(len(host.receive()), 7)
            same((counts(a)["drops"], counts(a)["marks"]), ((4, 128, 4, 128, 0), (3, 96, 0, 0, 0)))
        with Attached(EDGES) as a:
            run = Run("bypass", "lab")
            want(run.rc == 0, run.err)
            before = dpu.info()["received"]
            wire.send(*[frame(5001)] * 4)
            same(len(host.receive()), 4)
            dpu.wait_received(before + 4)
            same((a.nic()["state"], a.nic()["in"]["packets"]), ("by-passed", 0))
        wire.close()
        host.close()


def replaced(lab):
    """Under load nothing is lost, nothing is counted twice, and the counts go on."""
    with Dpu(ports=("v0", "w0")) as dpu, Attached(EDGES) as a:
        with Peer(lab):
            wire = Port("v1")
        host = Port("w1")
        arrived = 0
        for i in range(10):
            wire.send(*[frame(5000)] * 50)
            run = Run("attach", "--replace", a.bundle)
            want(run.rc == 0, run.err)
            wire.send(*[frame(5001)] * 10)
            arrived += len(host.receive())
        a.wait("in", 600)
        same(arrived, 500)
        same((counts(a)["passes"], counts(a)["drops"]), ((500, 16000, 0, 0, 0), (0, 0, 100, 3200, 0)))
        same(dpu.info()["loads"], 11)
        wire.close()
        host.close()


def replaced_while_packets_come(lab):
    """A stream that does not pause for the swaps: what is sent arrives, once, and is counted once."""
    with Dpu(ports=("v0", "w0")), Attached(EDGES) as a:
        with Peer(lab):
            wire = Port("v1")
        host = Port("w1")
        sent, got, stop = [0], [0], threading.Event()

        def send():
            while not stop.wait(0.0005):
                wire.send(frame(5000))
                sent[0] += 1

        def receive():
            while not stop.is_set():
                got[0] += len(host.receive())

        threads = [threading.Thread(target=send), threading.Thread(target=receive)]
        for thread in threads:
            thread.start()
        for _ in range(8):
            run = Run("attach", "--replace", a.bundle)
            want(run.rc == 0, run.err)
        stop.set()
        for thread in threads:
            thread.join()
        a.wait("in", sent[0])
        same(got[0] + len(host.receive()), sent[0])
        same(counts(a)["passes"][:3], (sent[0], sent[0] * 32, 0))
        want(sent[0] > 100, sent)
        wire.close()
        host.close()


TORN = """\
#include <fabric_ext/portable.bpf.h>

FX_MAP(snapshot, epoch, __u64, 512);
FX_MAP(counter, seen, __u64, 3);

FX_GUARD(move)
{
	const struct fx_epoch_epoch *e = fx_snap(&epoch);

	fx_count(&seen, 0, 1);
	if (!e)
		return fx_pass();
	if (e->epoch != e->value[0] || e->value[0] != e->value[200] ||
	    e->value[200] != e->value[511])
		fx_count(&seen, 1, 1);
	fx_count(&seen, 2, 1);
	return fx_pass();
}

FX_PORTABLE(torn, FX_MALFORMED_PASS);

char LICENSE[] SEC("license") = "Dual BSD/GPL";
"""


def maps(lab):
    """Read, written, published; a run of the program sees one epoch."""
    policy = write("torn.bpf.c", TORN)
    with Dpu(workers=2, ports=("v0", "w0")) as dpu, Attached(EDGES[:1], policy=policy):
        with Peer(lab):
            wire = Port("v1")
        same(dpu.client("read", "epoch"), f"snapshot 1 4104 0\n{'00' * 4104}\n")
        dpu.client("publish", "epoch", "0100000000000000" * 513)
        same(dpu.client("read", "epoch"), f"snapshot 1 4104 1\n{'0100000000000000' * 513}\n")
        want("-22" in dpu.client("publish", "epoch", "00" * 4096, rc=1), "too short")
        want("-1 " in dpu.client("publish", "seen", "00" * 24, rc=1), "not a snapshot")
        want("-1 " in dpu.client("write", "epoch", 0, "00" * 8, rc=1), "published as a whole")
        want("-1 " in dpu.client("write", "seen", 0, "00" * 8, rc=1), "the policy's")
        want("-2 " in dpu.client("read", "none", rc=1), "no such map")
        publisher = subprocess.Popen([CLIENT, "dpu0", "epochs", "epoch", "3000"])
        while publisher.poll() is None:
            wire.send(*[frame(5000)] * 32)
        same(publisher.returncode, 0)
        time.sleep(1)
        # such a flood overruns the ring now and then; what came was judged
        came = dpu.info()["received"]
        want(came > 3000, f"only {came} packets met the epochs")
        seen = struct.unpack("<3Q", bytes.fromhex(dpu.client("read", "seen").split("\n")[1]))
        same(seen, (came, 0, came), "runs, torn, of an epoch that was published:")
        same(dpu.client("read", "epoch").split("\n")[0], "snapshot 1 4104 3001")
        wire.close()


def local_maps(lab):
    """A map of class local is read and written while the program runs."""
    with Dpu() as dpu, Attached(EDGES) as a:
        with Peer(lab):
            wire = Port("v1")
        wire.send(*[frame(5002)] * 3)
        a.wait("in", 3)
        same(struct.unpack("<8Q", bytes.fromhex(dpu.client("read", "asked").split("\n")[1])), (0, 0, 3, 0, 0, 0, 0, 0))
        head, value = dpu.client("read", "last").split("\n")[:2]
        cls, entries, size, _ = head.split()
        same((cls, entries), ("local", "1"))
        want(value[:8] == "02000000", "edge", value)
        dpu.client("write", "last", 0, "ff" * int(size))
        same(dpu.client("read", "last").split("\n")[1], "ff" * int(size))
        want("-34 " in dpu.client("write", "last", 1, "ff" * int(size), rc=1), "no such entry")
        want("-22 " in dpu.client("write", "last", 0, "ff" * 3, rc=1), "another size")
        wire.send(frame(5002))
        a.wait("in", 4)
        want(dpu.client("read", "last").split("\n")[1] == value, "written again by the program")
        wire.close()


sys.exit(main(tests_of(DpuLab(), [one_port, both_ways, malformed, audit_and_bypass, replaced,
                                replaced_while_packets_come, maps, local_maps])))
