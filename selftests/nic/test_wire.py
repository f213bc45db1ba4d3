#!/usr/bin/python3 -B
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Packets: found by their flows, judged, counted, and malformed in each field."""

import ctypes
import os
import socket
import struct
import sys
import threading
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
sys.dont_write_bytecode = True
from netlab import (ETH_P_IP, ETH_P_IPV6, Attached, Lab, Peer, Port, ethernet, extension, frame, ipv4,  # noqa: E402
                    ipv6, sh, tcp, tests_of, udp)
from fxtest import TOP, Skip, main, same, want, write  # noqa: E402

DENY, MARK = {"priority": 1}, {"priority": 2}
XDP_DROP, XDP_PASS = 1, 2


def ports(lab):
    """(here, there)"""
    here = Port("v0")
    with Peer(lab):
        there = Port("v1")
    return here, there


def frames_of(port):
    return [data for data, _ in port.receive()]


def counted(edge):
    return edge["packets"], edge["bytes"], edge["refused"], edge["refused_bytes"]


def counts_exactly(lab):
    """Instances by port, both ways; what is of no edge passes uncounted."""
    edges = [("kv_in", "in", "{ udp: 5000 + i }", {"for": "i in 4"}),
             ("kv_out", "out", "{ udp: 5000 + i }", {"for": "i in 4"})]
    here, there = ports(lab)
    with Attached(edges) as a:
        sent = [frame(5000 + i % 5, b"x" * (i * 13 % 1400)) for i in range(200)]
        there.send(*sent)
        same(frames_of(here), sent, "received")
        here.send(*sent)
        same(frames_of(there), sent, "sent")
        for way in ("in", "out"):
            a.wait(way, 200)
            same(a.nic()[way], {"packets": 200, "no_edge": 40, "malformed": 0, "malformed_refused": 0, "untracked": 0}, way)
            for i in range(4):
                size = sum(j * 13 % 1400 for j in range(i, 200, 5))
                edge = a.edges()[f"kv_{way}", i + 4 * (way == "out"), way]
                same(counted(edge), (40, size, 0, 0), edge)


def denies_one(lab):
    """One flow is refused and another goes on, both ways."""
    edges = [("bad_in", "in", "{ udp: 6000 }", DENY), ("good_in", "in", "{ udp: 6001 }"),
             ("bad_out", "out", "{ udp: 6000 }", DENY), ("good_out", "out", "{ udp: 6001 }")]
    here, there = ports(lab)
    with Attached(edges) as a:
        sent = [frame(6000 + i % 2, bytes((i,)) * 50) for i in range(100)]
        for way, source, sink in (("in", there, here), ("out", here, there)):
            for one in sent:
                try:
                    source.send(one)
                except OSError:
                    pass	# tc tells the sender that it dropped
            same(frames_of(sink), sent[1::2], way)
            a.wait(way, 100)
            found = {e["class"]: counted(e) for e in a.nic()["edges"] if e["dir"] == way}
            same(found, {f"bad_{way}": (0, 0, 50, 2500), f"good_{way}": (50, 2500, 0, 0)})


def marks(lab):
    """Mark and priority reach the skb: from XDP through metadata, and at once in tc."""
    ours = Port("v0", ETH_P_IP, mark=True)
    with Peer(lab):
        there = Port("v1")
    with Attached([("m", "in", "{ udp: 6100 }", MARK), ("n", "in", "{ udp: 6101 }")]) as a:
        there.send(frame(6100), frame(6101), frame(6102))
        same([mark for _, mark in ours.receive()], [0x4242, 0, 0])
        edges = {e["class"]: e for e in a.nic()["edges"]}
        same((edges["m"]["marked"], edges["m"]["failed"], edges["n"]["marked"]), (1, 0, 0))
    source, sink = Port("w0"), Port("w1", ETH_P_IP, mark=True)
    with Attached([("m", "out", "{ udp: 6100 }", MARK), ("n", "out", "{ udp: 6101 }")], nics=["w0"]) as a:
        source.send(frame(6100), frame(6101))
        same([mark for _, mark in sink.receive()], [0x4242, 0])
        same([e["marked"] for e in a.nic()["edges"]], [1, 0])


# class: what it looks for; the first in the list that matches a packet has it
FLOWS = [
    ("tagged", "{ udp: 7000, vlan: 5 }"),
    ("pair", "{ tuple: { proto: udp, src: 10.9.0.1, dst: 10.9.0.2, sport: 111, dport: 7000 } }"),
    ("six", "{ tuple: { proto: tcp, dst: \"fd00::77\", dport: 443 } }"),
    ("class", "{ dscp: 46 }"),
    ("port", "{ udp: 7000 }"),
    ("untagged", "{ tuple: { proto: tcp, dport: 80 } }"),
    ("from", "{ tuple: { src: 10.9.0.9 } }"),
    ("icmp", "{ tuple: { proto: 1 } }"),
]


def with_udp(payload, **ip):
    return ethernet(ETH_P_IP, ipv4(17, payload, **ip))


def deep(count, payload=b"p" * 10, length=None):
    """UDP to port 7000 behind COUNT extension headers, the last of which may say another LENGTH."""
    inner, following = udp(1, 7000, payload), 17
    for i in range(count):
        inner, following = extension(following, 8 * (i % 2 + 1), None if i else length) + inner, (60, 43)[i % 2]
    return ethernet(ETH_P_IPV6, ipv6(following, inner))


def long_head(size):
    """UDP to port 7000 that ends SIZE bytes behind the frame's beginning, but for 10 bytes of payload."""
    rest, inner, following = size - 14 - 40 - 8, udp(1, 7000, b"p" * 10), 17
    while rest:
        one = min(rest, 256)
        inner, following, rest = extension(following, one) + inner, 60, rest - one
    return ethernet(ETH_P_IPV6, ipv6(following, inner))


def authentication(payload):
    return ethernet(ETH_P_IPV6, ipv6(51, struct.pack("!BB", 17, 4) + bytes(22) + udp(1, 7000, payload)))


def fragment(offset, more, payload):
    return ethernet(ETH_P_IPV6, ipv6(44, struct.pack("!BBHI", 17, 0, offset << 3 | more, 1) + payload))


# (what, frame, class or None, bytes that count)
FOUND = [
    ("udp", frame(7000, b"a" * 9), "port", 9),
    ("no payload", frame(7000, b""), "port", 0),
    ("another port", frame(7001), None, 0),
    ("source port only", ethernet(ETH_P_IP, ipv4(17, udp(7000, 1, b"x"))), None, 0),
    ("tag", frame(7000, b"a" * 3, vlan=5), "tagged", 3),
    ("another tag", frame(7000, b"a" * 3, vlan=6), "port", 3),
    ("tag with priority bits", frame(7000, b"a", vlan=0xe005), "tagged", 1),
    ("two tags", ethernet(0x8100, struct.pack("!HH", 6, ETH_P_IP) + ipv4(17, udp(1, 7000, b"x")), vlan=5), None, 0),
    ("tuple", with_udp(udp(111, 7000, b"ab"), src="10.9.0.1", dst="10.9.0.2"), "pair", 2),
    ("the way back", with_udp(udp(7000, 111, b"ab"), src="10.9.0.2", dst="10.9.0.1"), None, 0),
    ("tuple, other source", with_udp(udp(111, 7000, b"ab"), src="10.9.0.3", dst="10.9.0.2"), "port", 2),
    ("dscp", frame(1, b"abc", tos=46 << 2 | 1), "class", 3),
    ("dscp and port: the first", frame(7000, b"abc", tos=46 << 2), "class", 3),
    ("dscp of IPv6", ethernet(ETH_P_IPV6, ipv6(17, udp(1, 2, b"abc"), tclass=46 << 2)), "class", 3),
    ("udp of IPv6", ethernet(ETH_P_IPV6, ipv6(17, udp(1, 7000, b"q" * 70))), "port", 70),
    ("tcp of IPv6", ethernet(ETH_P_IPV6, ipv6(6, tcp(5, 443, b"abcd"), dst="fd00::77")), "six", 4),
    ("tcp, other address", ethernet(ETH_P_IPV6, ipv6(6, tcp(5, 443, b"abcd"), dst="fd00::78")), None, 0),
    ("tcp", ethernet(ETH_P_IP, ipv4(6, tcp(5, 80, b"abcde"))), "untagged", 5),
    ("tcp with options", ethernet(ETH_P_IP, ipv4(6, tcp(5, 80, b"abc", 8, b"\1" * 12))), "untagged", 3),
    ("tcp is not udp", ethernet(ETH_P_IP, ipv4(6, tcp(5, 7000, b"abc"))), None, 0),
    ("udp is not tcp", frame(80), None, 0),
    ("options of IPv4", frame(7000, b"abcd", options=b"\1" * 40), "port", 4),
    ("padding behind", frame(7000, b"ab") + bytes(20), "port", 2),
    ("udp shorter than IP", ethernet(ETH_P_IP, ipv4(17, udp(1, 7000, b"abcd", length=10))), "port", 2),
    ("first fragment", with_udp(udp(1, 7000, b"a" * 24, length=2000), frag=0x2000), "port", 24),
    ("later fragment", with_udp(udp(1, 7000, b"a" * 24), frag=0x2003), None, 0),
    ("later fragment by address", with_udp(b"a" * 32, frag=3, src="10.9.0.9"), "from", 32),
    ("another protocol", ethernet(ETH_P_IP, ipv4(1, b"\10\0" + bytes(6))), "icmp", 8),
    ("one extension header", deep(1), "port", 10),
    ("eight extension headers", deep(8), "port", 10),
    ("authentication header", authentication(b"abc"), "port", 3),
    ("atomic fragment", fragment(0, 0, udp(1, 7000, b"abc")), "port", 3),
    ("first fragment of IPv6", fragment(0, 1, udp(1, 7000, b"a" * 24, length=2000)), "port", 24),
    ("later fragment of IPv6", fragment(3, 0, udp(1, 7000, b"a" * 24)), None, 0),
    ("nine extension headers", deep(9), None, 0),
    ("headers of 510 bytes", long_head(510), "port", 10),
    ("headers of 518 bytes", long_head(518), None, 0),
    ("headers of 630 bytes", long_head(630), None, 0),
    ("no next header", ethernet(ETH_P_IPV6, ipv6(59, b"")), None, 0),
    ("arp", ethernet(0x0806, bytes(28)), None, 0),
    ("802.3 length", ethernet(60, bytes(60)), None, 0),
]


def finds(lab):
    """Each frame is of the edge that it should be, and of no other."""
    here, there = ports(lab)
    edges = [(name, way, flow) for way in ("in", "out") for name, flow in FLOWS]
    edges = [(f"{name}_{way}", way, flow) for name, way, flow in edges]
    with Attached(edges) as a:
        for way, source in (("in", there), ("out", here)):
            before = a.edges()
            for number, (what, data, name, size) in enumerate(FOUND, 1):
                source.send(data)
                nic = a.wait(way, number)
                now = {(e["class"], e["edge"], e["dir"]): e for e in nic["edges"]}
                changed = {key[0]: (now[key]["packets"] - before[key]["packets"],
                                    now[key]["bytes"] - before[key]["bytes"])
                           for key in now if now[key] != before[key]}
                same(changed, {f"{name}_{way}": (1, size)} if name else {}, what, way)
                same(nic[way]["malformed"], 0, what, way)
                before = now


def long_udp():
    return with_udp(udp(1, 7000, b"x" * 30), options=b"\1" * 8)


# well formed but for one field
BAD = [
    ("version 5", frame(7000, first=0x55)),
    ("header of 16 bytes", frame(7000, first=0x44)),
    ("header beyond the packet", frame(7000, first=0x4f, length=40)),
    ("IP shorter than its header", frame(7000, length=19)),
    ("IP longer than the frame", frame(7000, length=61)),
    ("UDP of 7 bytes", ethernet(ETH_P_IP, ipv4(17, udp(1, 7000, b"x" * 9, length=7)))),
    ("UDP of 0 bytes", ethernet(ETH_P_IP, ipv4(17, udp(1, 7000, b"x" * 9, length=0)))),
    ("UDP longer than IP", ethernet(ETH_P_IP, ipv4(17, udp(1, 7000, b"x" * 9, length=18)))),
    ("IP too short for UDP", frame(7000, length=27)),
    ("TCP header of 16 bytes", ethernet(ETH_P_IP, ipv4(6, tcp(1, 80, b"x" * 40, doff=4)))),
    ("TCP header beyond IP", ethernet(ETH_P_IP, ipv4(6, tcp(1, 80, b"x" * 8, doff=15)))),
    ("IP too short for TCP", ethernet(ETH_P_IP, ipv4(6, tcp(1, 80, b""), length=39))),
    ("IPv6 of version 4", ethernet(ETH_P_IPV6, ipv6(17, udp(1, 7000, b"x"), first=4))),
    ("IPv6 longer than the frame", ethernet(ETH_P_IPV6, ipv6(17, udp(1, 7000, b"x"), length=10))),
    ("IPv6 too short for UDP", ethernet(ETH_P_IPV6, ipv6(17, udp(1, 7000, b"x"), length=7))),
    ("jumbogram", ethernet(ETH_P_IPV6, ipv6(0, extension(17) + udp(1, 7000, b"x"), length=0))),
    ("nine extension headers, the last one beyond IP", deep(9, length=99)),
    ("extension header beyond IP", ethernet(ETH_P_IPV6, ipv6(60, extension(17, length=9) + udp(1, 7000, b"x")))),
    ("extension headers without end", ethernet(ETH_P_IPV6, ipv6(60, extension(60) + extension(60)))),
    ("two Ethernet headers", ethernet(ETH_P_IP, frame(7000))),
]


def truncated():
    """Each frame cut off at each length: within Ethernet's payload, all are malformed."""
    whole = [long_udp(), frame(7000, b"x" * 5, vlan=5), ethernet(ETH_P_IP, ipv4(6, tcp(1, 80, b"ab", 7, b"\1" * 8))),
             ethernet(ETH_P_IPV6, ipv6(6, tcp(1, 80, b"ab"))), deep(3, b"x")]
    for data in whole:
        for size in range(15, len(data)):
            yield f"{len(data)} bytes cut to {size}", data[:size]


def malformed(lab):
    """Passed or dropped as the policy says, counted, and never of an edge."""
    here, there = ports(lab)
    cases = BAD + list(truncated())
    edges = [(f"{name}_{way}", way, flow) for way in ("in", "out") for name, flow in FLOWS]
    # the kernel itself does not take all of them
    taken = {}
    for way, source, sink in (("in", there, here), ("out", here, there)):
        source.send(*(data for _, data in cases))
        taken[way] = len(frames_of(sink))
    for default in ("PASS", "DROP"):
        with Attached(edges, malformed=default) as a:
            for way, source, sink in (("in", there, here), ("out", here, there)):
                sink.receive()
                good = frame(7000, b"good")
                for _, data in cases:
                    try:
                        source.send(data)
                    except OSError:
                        pass	# tc tells the sender that it dropped
                source.send(good)
                nic = a.wait(way, len(cases) + 1)
                got = frames_of(sink)
                refused = len(cases) if default == "DROP" else 0
                if nic[way]["malformed"] != len(cases):
                    one_by_one(a, way, source, cases)
                same(nic[way], {"packets": len(cases) + 1, "no_edge": 0, "malformed": len(cases),
                                "malformed_refused": refused, "untracked": 0}, default, way)
                same(sum(e["packets"] + e["refused"] for e in nic["edges"] if e["dir"] == way), 1, default, way)
                same(got[-1], good, default, way)
                same(len(got), 1 + (0 if refused else taken[way]), default, way)


class TestRun(ctypes.Structure):
    """struct bpf_test_run_opts"""
    _fields_ = [("sz", ctypes.c_size_t), ("data_in", ctypes.c_char_p), ("data_out", ctypes.c_void_p),
                ("data_size_in", ctypes.c_uint32), ("data_size_out", ctypes.c_uint32),
                ("ctx_in", ctypes.c_char_p), ("ctx_out", ctypes.c_void_p), ("ctx_size_in", ctypes.c_uint32),
                ("ctx_size_out", ctypes.c_uint32), ("retval", ctypes.c_uint32), ("repeat", ctypes.c_int),
                ("duration", ctypes.c_uint32), ("flags", ctypes.c_uint32), ("cpu", ctypes.c_uint32),
                ("batch_size", ctypes.c_uint32)]


class Pieces:
    """The XDP program of v0, for a packet that lies in two pieces: what a driver with short buffers hands it."""

    def __init__(self):
        self.bpf = ctypes.CDLL("libbpf.so.1", use_errno=True)
        link = self.bpf.bpf_obj_get(b"/sys/fs/bpf/fabric_ext/lab/nic-v0/xdp")
        # struct bpf_link_info: type, id, prog_id
        info, size = (ctypes.c_uint32 * 3)(), ctypes.c_uint32(12)
        error = self.bpf.bpf_obj_get_info_by_fd(link, info, ctypes.byref(size))
        self.prog = self.bpf.bpf_prog_get_fd_by_id(info[2])
        want(link >= 0 and not error and self.prog >= 0, "the program cannot be opened")
        os.close(link)

    def run(self, data, linear):
        """The verdict about DATA, LINEAR bytes of which can be read at once."""
        context = struct.pack("=6I", 0, linear, 0, 0, 0, 0)
        opts = TestRun(sz=ctypes.sizeof(TestRun), data_in=data, data_size_in=len(data), ctx_in=context,
                       ctx_size_in=len(context), repeat=1)
        if error := self.bpf.bpf_prog_test_run_opts(self.prog, ctypes.byref(opts)):
            raise Skip(f"this kernel runs no XDP program on two pieces: {os.strerror(-error)}")
        return opts.retval

    def close(self):
        os.close(self.prog)


def in_pieces(lab):
    """Wherever a packet's first piece ends, it is read as if there were one."""
    del lab
    edges = [(name, "in", flow) for name, flow in FLOWS]
    cases = [(*case, XDP_PASS) for case in FOUND] + [(what, data, None, None, XDP_DROP) for what, data in BAD]
    with Attached(edges, malformed="DROP") as a:
        pieces, runs = Pieces(), 0
        for what, data, name, size, verdict in cases:
            before = a.nic()
            ends = [end for end in (14, 15, 18, 33, 34, 41, 54, 61, 62, 70, 500) if end <= len(data)]
            for end in ends:
                same(pieces.run(data, end), verdict, what, end)
            n, nic = len(ends), a.nic()
            changed = {e["class"]: (e["packets"] - old["packets"], e["bytes"] - old["bytes"])
                       for e, old in zip(nic["edges"], before["edges"]) if e != old}
            same(changed, {name: (n, n * size)} if name else {}, what)
            same(nic["in"]["malformed_refused"] - before["in"]["malformed_refused"], n * (verdict == XDP_DROP), what)
            same(nic["in"]["no_edge"] - before["in"]["no_edge"], n * (verdict == XDP_PASS and not name), what)
            runs += n
        same(a.nic()["in"]["packets"], runs)
        pieces.close()


def one_by_one(a, way, source, cases):
    """Which of them was taken for well formed?"""
    for what, data in cases:
        before = a.nic()[way]
        try:
            source.send(data)
        except OSError:
            pass
        after = a.wait(way, before["packets"] + 1)[way]
        want(after["malformed"] == before["malformed"] + 1, f"{what} ({way}) is not found out: {data.hex()}")


def sockets(lab):
    """A megabyte over TCP is a megabyte, however it is cut into packets."""
    size = 1 << 20
    edges = [("sent", "out", "{ tuple: { proto: tcp, dport: 7777 } }"),
             ("asked", "in", "{ tuple: { proto: tcp, sport: 7777 } }")]
    sh("ip", "addr", "add", "10.77.0.1/24", "dev", "v0")
    with Peer(lab):
        sh("ip", "addr", "add", "10.77.0.2/24", "dev", "v1")
        server = socket.create_server(("10.77.0.2", 7777))
    got = []

    def serve():
        connection, _ = server.accept()
        while data := connection.recv(1 << 16):
            got.append(len(data))
        connection.close()

    with Attached(edges) as a:
        thread = threading.Thread(target=serve)
        thread.start()
        with socket.create_connection(("10.77.0.2", 7777), timeout=30) as client:
            client.sendall(bytes(size))
            client.shutdown(socket.SHUT_WR)
            want(client.recv(1) == b"", "the end")
            again = struct.unpack_from("I", client.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 192), 100)[0]
        thread.join()
        same(sum(got), size)
        edges = {e["class"]: e for e in a.nic()["edges"]}
        want(edges["sent"]["bytes"] == size if not again else edges["sent"]["bytes"] > size, edges, again)
        want(edges["sent"]["packets"] > size // 65536 and edges["asked"]["bytes"] == 0 and edges["asked"]["packets"],
             edges)
    server.close()


def shipped_guard(lab):
    """kv_guard: what is over the edge's budget is refused, an edge beside it is not."""
    source = TOP / "bpf/policies/kv_guard.bpf.c"
    small = write("guard/small.bpf.c", "#define KV_TIMES 4\n#define KV_WINDOW_NS 1000000000000ULL\n" +
                  source.read_text(encoding="utf-8"))
    edges = [("kv", "in", "{ udp: 7100 }", {"bytes": 1000, "priority": 5}), ("more", "in", "{ udp: 7101 }", {"bytes": 1000})]
    here, there = ports(lab)
    with Attached(edges, policy=small) as a:
        for _ in range(10):
            there.send(frame(7100, b"k" * 1000))
        there.send(frame(7101, b"m" * 1000))
        a.wait("in", 11)
        found = {e["class"]: (*counted(e), e["marked"]) for e in a.nic()["edges"]}
        same(found, {"kv": (4, 4000, 6, 6000, 4), "more": (1, 1000, 0, 0, 0)})
        same(len(frames_of(here)), 5)


if __name__ == "__main__":
    os.environ.setdefault("ASAN_OPTIONS", "detect_leaks=1")
    sys.exit(main(tests_of(Lab(), [counts_exactly, denies_one, marks, finds, malformed, in_pieces, sockets,
                                   shipped_guard])))
