#!/usr/bin/python3 -B
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A fabric-dpu on each kind of device that needs no hardware: what is sent is
counted once, and arrives once, whole and in order."""

import socket
import struct
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
sys.dont_write_bytecode = True
from dpulab import Attached, Dpu, DpuLab, Skip, nothing_left, want  # noqa: E402
from fxtest import main, same  # noqa: E402
from netlab import Peer, Port, frame, tests_of  # noqa: E402

# what the priority says: 0 passes, 1 is dropped
EDGES = [
    ("passes", "in", "{ udp: 5000 }"),
    ("drops", "in", "{ udp: 5001 }", {"priority": 1}),
    ("out", "out", "{ udp: 5000 }"),
    ("out_drops", "out", "{ udp: 5002 }", {"priority": 1}),
]
N = 400
BATCH = 100


def counts(a):
    return {name: (e["packets"], e["bytes"], e["refused"]) for (name, _, _), e in a.edges().items()}


def of_port(frames, port):
    return [data for data, _ in frames if data[36:38] == struct.pack("!H", port)]


def payload(i):
    return struct.pack("!I", i) + bytes(i % 1200)


def through(wire, host, a):
    """From wire to host and back; what is dropped on the way is missed at the other end alone."""
    there, back = [], []
    sent = [frame(5000, payload(i)) for i in range(N)]
    for i in range(0, N, BATCH):
        wire.send(*sent[i:i + BATCH], frame(5001))
        host.send(*sent[i:i + BATCH], frame(5002))
        there += host.receive()
        back += wire.receive()
    a.wait("in", N + N // BATCH)
    a.wait("out", N + N // BATCH)
    there += host.receive()
    back += wire.receive()
    same(of_port(there, 5000), sent, "to the host, in order:")
    same(of_port(back, 5000), sent, "to the wire, in order:")
    same((of_port(there, 5001), of_port(back, 5002)), ([], []), "dropped:")
    size = sum(len(payload(i)) for i in range(N))
    same(counts(a), {"passes": (N, size, 0), "drops": (0, 0, N // BATCH),
                     "out": (N, size, 0), "out_drops": (0, 0, N // BATCH)})


def both_ways(dpu, wire, host):
    """Between two ends of their own, with the policy."""
    with Attached(EDGES) as a:
        through(wire, host, a)
        info = dpu.info()
        same((info["ports"], info["unsent"]), (2, 0))
    wire.close()
    host.close()


def af_packet(lab):
    with Dpu(ports=("v0", "w0")) as dpu:
        with Peer(lab):
            wire = Port("v1")
        both_ways(dpu, wire, Port("w1"))
    nothing_left()


class Surely(Dpu):
    """Where the device can be, the process has to start."""

    def start(self):
        try:
            super().start()
        except Skip as reason:
            raise AssertionError(reason) from reason


def tap(_):
    try:
        open("/dev/net/tun", "r+b", buffering=0).close()
    except OSError as reason:
        raise Skip(f"no tap device can be made here: {reason}") from reason
    # no packets of the kernel's own on devices that come up by themselves
    Path("/proc/sys/net/ipv6/conf/default/disable_ipv6").write_text("1", encoding="utf-8")
    with Surely(ports=("net_tap0,iface=fxt0", "net_tap1,iface=fxt1")) as dpu:
        both_ways(dpu, Port("fxt0"), Port("fxt1"))
    want(not Path("/sys/class/net/fxt0").exists(), "the device is left behind")
    nothing_left()


def ring(lab):
    """A ring gives back what it was given: all that passes comes in once more, from the host, and goes out."""
    with Surely(ports=("v0", "net_ring0")) as dpu:
        with Peer(lab):
            wire = Port("v1")
        with Attached(EDGES) as a:
            sent = [frame(5000, payload(i)) for i in range(N)]
            got = []
            for i in range(0, N, BATCH):
                wire.send(*sent[i:i + BATCH], frame(5001), frame(5002))
                got += wire.receive()
            a.wait("in", N + 2 * N // BATCH)
            a.wait("out", N + N // BATCH)
            got += wire.receive()
            same([data for data, _ in got], sent, "in order:")
            size = sum(len(payload(i)) for i in range(N))
            same(counts(a), {"passes": (N, size, 0), "drops": (0, 0, N // BATCH),
                             "out": (N, size, 0), "out_drops": (0, 0, N // BATCH)})
            info = dpu.info()
            same((info["received"], info["sent"], info["unsent"]), (2 * N + 3 * N // BATCH, 2 * N + N // BATCH, 0))
        wire.close()
    nothing_left()


def af_xdp(lab):
    try:
        socket.socket(44, socket.SOCK_RAW).close()  # AF_XDP
    except OSError as reason:
        raise Skip(f"this kernel has no AF_XDP: {reason}") from reason
    with Dpu(ports=("net_af_xdp0,iface=v0", "net_af_xdp1,iface=w0")) as dpu:
        with Peer(lab):
            wire = Port("v1")
        both_ways(dpu, wire, Port("w1"))
    nothing_left()


sys.exit(main(tests_of(DpuLab(), [af_packet, tap, ring, af_xdp])))
