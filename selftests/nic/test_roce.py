#!/usr/bin/python3 -B
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""RoCEv2: an edge is a queue pair, its bytes are RDMA's, and what is sent again counts once."""

import json
import os
import struct
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
sys.dont_write_bytecode = True
import rocelab as r  # noqa: E402
from netlab import (ETH_P_IP, ETH_P_IPV6, Attached, Lab, Peer, Port, ethernet, ipv4, ipv6, sh, tests_of,  # noqa: E402
                    udp)
from rocelab import PORT, PSNS, over, packet, reth, roce, write  # noqa: E402
from fxtest import main, same, want  # noqa: E402

DENY = {"priority": 1}
SILENT_S = 17	# more than it takes for a queue pair to be forgotten


def ports(lab):
    here = Port("v0")
    with Peer(lab):
        there = Port("v1")
    return here, there


def qp(number):
    return f"{{ rocev2: {{ qp: {number} }} }}"


def counted(edge):
    return tuple(edge[key] for key in ("packets", "bytes", "refused", "refused_bytes", "repeated"))


def push(source, frames):
    for frame in frames:
        try:
            source.send(frame)
        except OSError:
            pass	# tc tells the sender that it dropped


def last_move(name="lab"):
    """The bytes of the policy's map; the test of DPUs has another way to them."""
    path = f"/sys/fs/bpf/fabric_ext/{name}/nic-v0/maps/last"
    value = json.loads(sh("bpftool", "-j", "map", "dump", "pinned", path))[0]
    return bytes(int(byte, 16) for byte in value["value"])


def moved():
    """What the policy saw last: the fields of move->rdma and the queue pair."""
    raw = last_move()
    # struct fx_move: seven numbers before the flow, RDMA behind it
    flow = 40
    (number,) = struct.unpack_from("<I", raw, flow + 44)
    op, psn, addr, rkey, length, repeat, opcode = struct.unpack_from("<IIQIIII", raw, flow + 48)
    (size,) = struct.unpack_from("<Q", raw, 16)
    return {"qp": number, "op": op, "psn": psn, "addr": addr, "rkey": rkey, "length": length, "repeat": repeat,
            "opcode": opcode, "bytes": size}


def counts_payload(lab):
    """Messages of all sizes, both ways, over IPv4, IPv6 and VLAN: the bytes are those that were written."""
    sizes = [1, 2, 3, 4, 1023, 1024, 1025, 2048, 5000, 65536]
    edges = [(f"a_{way}", way, qp(17)) for way in ("in", "out")] + [(f"b_{way}", way, qp(18)) for way in ("in", "out")]
    here, there = ports(lab)
    with Attached(edges) as a:
        for way, source, sink in (("in", there, here), ("out", here, there)):
            psn, sent = 100, []
            for number, size in enumerate(sizes):
                how = ({}, {"six": True}, {"vlan": 9})[number % 3]
                frames = write(17, psn, size, imm=number % 2, **how)
                psn += len(frames)
                sent += frames
            source.send(*sent)
            # a socket sees frames without their tag
            plain = [frame[:12] + frame[16:] if frame[12:14] == b"\x81\0" else frame for frame in sent]
            want([data for data, _ in sink.receive()] == plain, "other frames than were sent", way)
            nic = a.wait(way, len(sent))
            edges = {e["class"]: counted(e) for e in nic["edges"]}
            same(edges[f"a_{way}"], (len(sent), sum(sizes), 0, 0, 0), way)
            same(edges[f"b_{way}"], (0, 0, 0, 0, 0), way)
            same((nic[way]["no_edge"], nic[way]["malformed"], nic[way]["untracked"]), (0, 0, 0), way)


# (what, packet to QP 17, bytes or None: of no edge)
ATOMIC = struct.pack("!QIQQ", 0x1000, 0x77, 1, 2)
KINDS = [
    ("send first", roce(r.SEND_FIRST, 17, 1, b"x" * 64), 64),
    ("send middle", roce(r.SEND_MIDDLE, 17, 2, b"x" * 64), 64),
    ("send last", roce(r.SEND_LAST, 17, 3, b"x" * 7), 7),
    ("send last with immediate", roce(r.SEND_LAST_IMM, 17, 4, b"x" * 7, b"immd"), 7),
    ("send only", roce(r.SEND_ONLY, 17, 5, b"x" * 6), 6),
    ("send only with immediate", roce(r.SEND_ONLY_IMM, 17, 6, b"x" * 5, b"immd"), 5),
    ("send last with invalidate", roce(r.SEND_LAST_INVALIDATE, 17, 7, b"x" * 5, b"rkey"), 5),
    ("send only with invalidate", roce(r.SEND_ONLY_INVALIDATE, 17, 8, b"x" * 5, b"rkey"), 5),
    ("send of nothing", roce(r.SEND_ONLY, 17, 9), 0),
    ("write of nothing", roce(r.WRITE_ONLY, 17, 10, b"", reth(0)), 0),
    ("read request", roce(r.READ_REQUEST, 17, 11, b"", reth(1 << 20)), 0),
    ("read response first", roce(r.READ_FIRST, 17, 12, b"x" * 64, b"aeth"), 64),
    ("read response middle", roce(r.READ_MIDDLE, 17, 13, b"x" * 64), 64),
    ("read response last", roce(r.READ_LAST, 17, 14, b"x" * 3, b"aeth"), 3),
    ("read response only", roce(r.READ_ONLY, 17, 15, b"x" * 8, b"aeth"), 8),
    ("compare and swap", roce(r.COMPARE_SWAP, 17, 16, b"", ATOMIC), 0),
    ("fetch and add", roce(r.FETCH_ADD, 17, 17, b"", ATOMIC), 0),
    ("acknowledgement", roce(r.ACK, 17, 18, b"", b"aeth"), None),
    ("atomic acknowledgement", roce(r.ATOMIC_ACK, 17, 19, b"", b"aeth" + b"original"), None),
    ("unreliable send", roce(r.SEND_ONLY, 17, 20, b"x" * 9, transport=r.UC), 9),
    ("unreliable write", roce(r.WRITE_ONLY, 17, 21, b"x" * 9, reth(9), transport=r.UC), 9),
    ("datagram", roce(r.SEND_ONLY, 17, 22, b"x" * 10, b"deth" * 2, transport=r.UD), 10),
    ("the same datagram again", roce(r.SEND_ONLY, 17, 22, b"x" * 10, b"deth" * 2, transport=r.UD), 10),
    ("datagram with immediate", roce(r.SEND_ONLY_IMM, 17, 23, b"x" * 10, b"deth" * 2 + b"immd", transport=r.UD), 10),
    ("extended write", roce(r.WRITE_ONLY, 17, 24, b"x" * 11, b"xrc " + reth(11), transport=r.XRC), 11),
    ("extended response", roce(r.READ_ONLY, 17, 25, b"x" * 12, b"aeth", transport=r.XRC), 12),
    ("reliable datagram", roce(r.SEND_ONLY, 17, 26, b"x" * 12, b"rdeth" * 4, transport=r.RD), None),
    ("congestion", roce(1, 17, 27, bytes(16), transport=r.CNP), None),
    ("a manufacturer's", roce(3, 17, 28, b"x" * 4, transport=6), None),
    ("flush", roce(0x1c, 17, 28, b"", b"feth" + reth(4096)), None),
    ("atomic write", roce(0x1d, 17, 28, b"x" * 8, reth(8)), None),
    ("extended flush", roce(0x1c, 17, 28, b"", b"xrc feth" + reth(4096), transport=r.XRC), None),
    ("opcode 21 of RC", roce(21, 17, 28, b"data"), None),
    ("opcode 24 of RC", roce(24, 17, 28, b"data"), None),
    ("opcode 31 of RC", roce(31, 17, 28, b"data"), None),
    ("opcode 12 of UC", roce(12, 17, 28, b"", reth(4), transport=r.UC), None),
    ("opcode 10 of UD", roce(10, 17, 28, b"data", reth(4), transport=r.UD), None),
    ("opcode 0 of CNP", roce(0, 17, 28, bytes(16), transport=r.CNP), None),
    ("opcode 21 of XRC", roce(21, 17, 28, b"data", transport=r.XRC), None),
    ("another queue pair", roce(r.SEND_ONLY, 16, 29, b"x"), None),
    ("the same lower bits", roce(r.SEND_ONLY, 17 + (1 << 16), 30, b"x"), None),
    ("bits above a queue pair", roce(r.SEND_ONLY, 17 | 0xab << 24, 31, b"x" * 13), 13),
]


def kinds(lab):
    """Which operations are movements, and of how many bytes."""
    here, there = ports(lab)
    with Attached([("m_in", "in", qp(17)), ("m_out", "out", qp(17))]) as a:
        for way, source in (("in", there), ("out", here)):
            before = a.nic()
            for number, (what, data, size) in enumerate(KINDS, 1):
                source.send(over(data))
                nic = a.wait(way, number)
                edge, old = (next(e for e in n["edges"] if e["dir"] == way) for n in (nic, before))
                same((edge["packets"] - old["packets"], edge["bytes"] - old["bytes"]),
                     (0, 0) if size is None else (1, size), what, way)
                same(nic[way]["malformed"], 0, what, way)
                same(nic[way]["no_edge"] - before[way]["no_edge"], int(size is None), what, way)
                before = nic


def what_the_policy_sees(lab):
    """The message's address, key and length in each of its packets; unknown without the first."""
    here, there = ports(lab)
    del here
    with Attached([("m", "in", qp(17))]) as a:
        whole = write(17, 0xfffffe, 3000, addr=0x123456789abc, rkey=0xcafe)
        for i, frame in enumerate(whole):
            there.send(frame)
            a.wait("in", i + 1)
            same(moved(), {"qp": 17, "op": 2, "psn": (0xfffffe + i) % PSNS, "addr": 0x123456789abc + 1024 * i,
                           "rkey": 0xcafe, "length": 3000, "repeat": 0, "opcode": (6, 7, 8)[i],
                           "bytes": min(1024, 3000 - 1024 * i)}, i)
        # again, from the middle: nothing new is carried
        there.send(whole[1])
        a.wait("in", 4)
        found = moved()
        same((found["repeat"], found["bytes"], found["addr"]), (1, 0, 0x123456789abc + 1024))
        # of a message whose beginning is not known
        there.send(write(17, 500, 3000)[1])
        a.wait("in", 5)
        found = moved()
        same((found["addr"], found["rkey"], found["length"], found["bytes"]), (0, 0, 0, 1024))
        there.send(packet(r.READ_REQUEST, 17, 600, b"", reth(1 << 30, 0x5000, 9)))
        a.wait("in", 6)
        found = moved()
        same((found["op"], found["addr"], found["rkey"], found["length"], found["bytes"]), (4, 0x5000, 9, 1 << 30, 0))
        # what follows it is not of the request
        there.send(packet(r.WRITE_MIDDLE, 17, 601, b"x" * 64))
        a.wait("in", 7)
        same(moved()["length"], 0)


def sent_again(lab):
    """Lost, repeated, out of order, around the end of the numbers: each packet once."""
    cases = {
        "all again": lambda f: f + f,
        "from the middle": lambda f: f[:40] + f[20:],
        "each twice": lambda f: [x for y in f for x in (y, y)],
        "backwards": lambda f: f[::-1],
        "odd before even": lambda f: f[1::2] + f[::2],
        "one is late": lambda f: f[:10] + f[11:] + f[10:11] + f[10:],
        "three times the end": lambda f: f + f[-5:] * 3,
        "once": lambda f: f,
    }
    here, there = ports(lab)
    for way, source in (("in", there), ("out", here)):
        for start in (0, 1000, PSNS - 30, PSNS - 1):
            edges = [(f"c{i}", way, qp(100 + i)) for i in range(len(cases))]
            with Attached(edges) as a:
                total = 0
                for i, (what, order) in enumerate(cases.items()):
                    frames = order(write(100 + i, start, 100 * 64 - 1, mtu=64))
                    push(source, frames)
                    total += len(frames)
                    nic = a.wait(way, total)
                    same(counted(nic["edges"][i]), (100, 6399, 0, 0, len(frames) - 100), what, way, start)


def long_ago(lab):
    """What lies further back than is remembered was there; what lies far off is a new sequence."""
    here, there = ports(lab)
    del here

    def one(psn):
        there.send(packet(r.WRITE_ONLY, 17, psn, b"x" * 100, reth(100)))

    with Attached([("m", "in", qp(17))]) as a:
        # (number, whether it counts)
        steps = [(5000, 1), (5000, 0), (4999, 1), (4999, 0), (4500, 1), (4500, 0), (5000 - 960, 0), (1, 0), (5001, 1),
                 (5700, 1), (5300, 1), (5001, 0), (5300, 0), (7000, 1), (6500, 1), (5999, 0), (6999, 1), (7000, 0),
                 (7000 - 65535, 0), (7000 - 65536, 1), (7000 - 65536, 0), (7000, 1), (1 << 23, 1), (1 << 23, 0),
                 (PSNS - 1, 1), (0, 1), (PSNS - 1, 0), (0, 0), (1023, 1), (1024, 1), (65, 1), (64, 0), (63, 0), (0, 0)]
        counts = 0
        for number, (psn, new) in enumerate(steps, 1):
            one(psn)
            counts += new
            edge = a.wait("in", number)["edges"][0]
            same(counted(edge), (counts, counts * 100, 0, 0, number - counts), number, psn)


def interleaved(lab):
    """Two queue pairs at once, one of them also at another address and in both directions of the data."""
    here, there = ports(lab)
    edges = [("a", "in", qp(40)), ("b", "in", qp(41)), ("c", "out", qp(40))]
    first, second, other = write(40, 7, 50000), write(41, 7, 30000), write(40, 7, 20000, src="10.1.0.3")
    answers = [packet(r.READ_FIRST, 40, 7, b"r" * 1024, b"aeth")] + [packet(r.READ_MIDDLE, 40, 8 + i, b"r" * 1024)
                                                                       for i in range(10)]
    mixed = [x for group in zip(first, second + [None] * 99, other + [None] * 99, answers + [None] * 99)
             for x in group if x]
    with Attached(edges) as a:
        there.send(*mixed, *mixed)
        here.send(*first)
        nic = a.wait("in", 2 * len(mixed))
        a.wait("out", len(first))
        found = {e["class"]: counted(e) for e in a.nic()["edges"]}
        same(len(mixed), len(first) + len(second) + len(other) + len(answers))
        count = len(first) + len(other) + len(answers)
        same(found, {"a": (count, 50000 + 20000 + 11 * 1024, 0, 0, count),
                     "b": (len(second), 30000, 0, 0, len(second)), "c": (len(first), 50000, 0, 0, 0)})
        same(nic["in"]["untracked"], 0)


def denies_one(lab):
    """One queue pair is refused, its repetitions are not counted again; the other stays exact."""
    here, there = ports(lab)
    edges = [(f"{name}_{way}", way, qp(50 + bad), DENY if bad else {}) for way in ("in", "out")
             for bad, name in enumerate(("good", "bad"))]
    good, bad = write(50, 0xfffff0, 60000), write(51, 5, 60000)
    with Attached(edges) as a:
        for way, source, sink in (("in", there, here), ("out", here, there)):
            sink.receive()
            push(source, [x for pair in zip(good, bad) for x in pair] + bad * 3 + good[-2:])
            nic = a.wait(way, len(good) * 5 + 2)
            want([data for data, _ in sink.receive()] == good + good[-2:], "other frames than those of one", way)
            found = {e["class"]: counted(e) for e in nic["edges"] if e["dir"] == way}
            n = len(bad)
            same(found, {f"good_{way}": (n, 60000, 0, 0, 2), f"bad_{way}": (0, 0, n, 60000, 3 * n)}, way)
    with Attached(edges, options=["--audit"]) as a:
        there.send(*bad, *bad)
        found = {e["class"]: counted(e) for e in a.wait("in", 2 * len(bad))["edges"]}
        same(found["bad_in"], (len(bad), 60000, len(bad), 60000, len(bad)))


def table_is_full(lab):
    """What finds no room counts plainly, and is told; once the others are silent there is room again."""
    here, there = ports(lab)
    here.close()
    limit, more = 4096, 20
    with Attached([("m", "in", qp(17))]) as a:
        frames = [packet(r.WRITE_ONLY, 17, 3, b"x" * 10, reth(10), src=f"10.{i >> 8 & 255}.{i & 255}.1")
                  for i in range(limit + more)]
        seen = 0
        for i in range(0, len(frames), 256):
            there.send(*frames[i:i + 256])
            seen += len(frames[i:i + 256])
            a.wait("in", seen)
        nic = a.nic()
        same((counted(nic["edges"][0]), nic["in"]["untracked"]), ((limit + more, 10 * (limit + more), 0, 0, 0), more))
        # those in the table are known, those that are not count again
        there.send(*frames[:30], *frames[limit:])
        nic = a.wait("in", seen + 30 + more)
        same((counted(nic["edges"][0]), nic["in"]["untracked"]),
             ((limit + 2 * more, 10 * (limit + 2 * more), 0, 0, 30), 2 * more))
        seen += 30 + more
        for _ in range(SILENT_S):
            time.sleep(1)
            there.send(*frames[:30])
        seen += SILENT_S * 30
        # those that went on are kept, the silent make room: for new ones, too
        there.send(*frames[limit:] * 2, *frames[:30])
        nic = a.wait("in", seen + 2 * more + 30)
        same((counted(nic["edges"][0]), nic["in"]["untracked"]),
             ((limit + 3 * more, 10 * (limit + 3 * more), 0, 0, 30 * (SILENT_S + 2) + more), 2 * more))


BAD = [
    ("no BTH", over(b"")),
    ("half a BTH", over(bytes(11))),
    ("no ICRC", over(roce(r.SEND_ONLY, 17)[:12])),
    ("half an ICRC", over(roce(r.SEND_ONLY, 17)[:14])),
    ("version 1", over(roce(r.SEND_ONLY, 17, 0, b"data", version=1))),
    ("version 8", over(roce(r.SEND_ONLY, 17, 0, b"data", version=8))),
    ("unknown opcode of version 1", over(roce(0x1c, 17, 0, b"data", version=1))),
    ("no RETH", over(roce(r.WRITE_ONLY, 17))),
    ("half a RETH", over(roce(r.WRITE_ONLY, 17, 0, b"", reth(0)[:12]))),
    ("RETH of more than is carried", over(roce(r.WRITE_ONLY, 17, 0, b"data", reth(5)))),
    ("RETH of less than is carried", over(roce(r.WRITE_ONLY, 17, 0, b"data", reth(3)))),
    ("first of no more than itself", over(roce(r.WRITE_FIRST, 17, 0, b"data", reth(4)))),
    ("message of more than 2 GiB", over(roce(r.WRITE_FIRST, 17, 0, b"data", reth((1 << 31) + 1)))),
    ("request of more than 2 GiB", over(roce(r.READ_REQUEST, 17, 0, b"", reth(1 << 31 | 4)))),
    ("request with data", over(roce(r.READ_REQUEST, 17, 0, b"data", reth(4)))),
    ("atomic with data", over(roce(r.FETCH_ADD, 17, 0, b"data", ATOMIC))),
    ("half an atomic", over(roce(r.FETCH_ADD, 17, 0, b"", ATOMIC[:24]))),
    ("no immediate", over(roce(r.SEND_ONLY_IMM, 17))),
    ("no key to invalidate", over(roce(r.SEND_ONLY_INVALIDATE, 17))),
    ("no AETH", over(roce(r.READ_ONLY, 17))),
    ("acknowledgement without AETH", over(roce(r.ACK, 17))),
    ("acknowledgement with data", over(roce(r.ACK, 17, 0, b"data", b"aeth"))),
    ("half an atomic acknowledgement", over(roce(r.ATOMIC_ACK, 17, 0, b"", b"aeth" + b"orig"))),
    ("no DETH", over(roce(r.SEND_ONLY, 17, transport=r.UD))),
    ("no XRCETH", over(roce(r.SEND_ONLY, 17, transport=r.XRC))),
    ("first with padding", over(roce(r.SEND_FIRST, 17, 0, b"dat"))),
    ("middle with padding", over(roce(r.WRITE_MIDDLE, 17, 0, b"da"))),
    ("first of nothing", over(roce(r.SEND_FIRST, 17))),
    ("middle of nothing", over(roce(r.WRITE_MIDDLE, 17))),
    ("padding beyond the packet", over(roce(r.SEND_ONLY, 17, 0, b"", pad=0)[:1] + b"\x30" + roce(r.SEND_ONLY, 17)[2:])),
    ("no multiple of four", over(roce(r.SEND_ONLY, 17, 0, b"datum", pad=0))),
    ("first fragment", over(roce(r.SEND_ONLY, 17, 0, b"x" * 48), frag=0x2000)),
    ("first fragment of IPv6", ethernet(ETH_P_IPV6, ipv6(44, struct.pack("!BBHI", 17, 0, 1, 1) + udp(
        1, PORT, roce(r.SEND_ONLY, 17, 0, b"x" * 48))))),
]


def truncated():
    """Each kind cut off at each length that makes it none, with lengths in IP and UDP that say so."""
    for what, data, _ in KINDS:
        for size in range(len(data)):
            if not whole(data[:size]):
                yield f"{what} cut to {size}", over(data[:size])


def malformed(lab):
    """Passed or dropped as the policy says, counted, and never of an edge."""
    here, there = ports(lab)
    cases = BAD + list(truncated())
    want(len(cases) > 400, len(cases))
    for default in ("PASS", "DROP"):
        with Attached([("m_in", "in", qp(17)), ("m_out", "out", qp(17))], malformed=default) as a:
            for way, source, sink in (("in", there, here), ("out", here, there)):
                sink.receive()
                good = packet(r.SEND_ONLY, 17, 9, b"good")
                push(source, [frame for _, frame in cases] + [good])
                nic = a.wait(way, len(cases) + 1)
                if nic[way]["malformed"] != len(cases):
                    one_by_one(a, way, source, cases)
                refused = len(cases) if default == "DROP" else 0
                same((nic[way]["malformed"], nic[way]["malformed_refused"]), (len(cases), refused), default, way)
                edge = next(e for e in nic["edges"] if e["dir"] == way)
                same(counted(edge), (1, 4, 0, 0, 0), default, way)
                got = [data for data, _ in sink.receive()]
                same(got[-1], good, default, way)
                want(len(got) == 1 if refused else len(got) > 1, default, way, len(got))


def whole(data):
    """Whether a packet is one of a smaller size, by what the specification says of sizes."""
    if len(data) < 16:
        return False
    op, pad, transport = data[0] & 31, data[1] >> 4 & 3, data[0] >> 5
    known = {r.RC: (*range(21), 22, 23), r.XRC: (*range(21), 22, 23), r.UC: range(12), r.UD: (4, 5)}
    if op not in known.get(transport, ()):
        return True	# not looked into
    head = {r.UD: 8, r.XRC: 0 if op in range(13, 19) else 4}.get(transport, 0)
    head += {6: 16, 10: 16, 11: 20, 12: 16, 13: 4, 15: 4, 16: 4, 17: 4, 18: 12, 19: 28, 20: 28, 3: 4, 5: 4, 9: 4,
             22: 4, 23: 4}.get(op, 0)
    rest = len(data) - 12 - head - pad - 4
    if rest < 0 or len(data) % 4:
        return False
    if op in (10, 11):
        return struct.unpack_from("!I", data, 12 + 4 * (transport == r.XRC) + 12)[0] == rest
    if op in (17, 18):
        return rest == 0
    return rest > 0 or op not in (0, 1, 6, 7, 13, 14)


def one_by_one(a, way, source, cases):
    for what, data in cases:
        before = a.nic()[way]
        push(source, [data])
        after = a.wait(way, before["packets"] + 1)[way]
        want(after["malformed"] == before["malformed"] + 1, f"{what} ({way}) is not found out: {data[42:].hex()}")


def only_where_asked(lab):
    """Without a flow of a queue pair, port 4791 is a port: its datagrams are not looked into."""
    here, there = ports(lab)
    del here
    with Attached([("m", "in", f"{{ udp: {PORT} }}")]) as a:
        there.send(packet(r.SEND_ONLY, 17, 9, b"good"), packet(r.SEND_ONLY, 17, 9, b"good"), over(b"no BTH"))
        nic = a.wait("in", 3)
        same((counted(nic["edges"][0]), nic["in"]["malformed"]), ((3, 20 + 20 + 6, 0, 0, 0), 0))
    # beside one, the datagrams of others are found by it as before
    with Attached([("q", "in", qp(17)), ("m", "in", f"{{ udp: {PORT} }}")]) as a:
        there.send(packet(r.SEND_ONLY, 17, 9, b"good"), packet(r.SEND_ONLY, 18, 9, b"good"),
                   packet(r.ACK, 17, 9, b"", b"aeth"))
        found = {e["class"]: counted(e) for e in a.wait("in", 3)["edges"]}
        same(found, {"q": (1, 4, 0, 0, 0), "m": (2, 40, 0, 0, 0)})


if __name__ == "__main__":
    os.environ.setdefault("ASAN_OPTIONS", "detect_leaks=1")
    sys.exit(main(tests_of(Lab(), [counts_payload, kinds, what_the_policy_sees, sent_again, long_ago, interleaved,
                                   denies_one, table_is_full, malformed, only_where_asked])))
