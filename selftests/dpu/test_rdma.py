#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""RoCEv2 through a fabric-dpu: what network devices count and refuse, DPUs do.

The tests of network devices run here on a DPU as they are, and one stream of
generated packets through both.
"""

import fcntl
import json
import os
import random
import socket
import struct
import sys
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
sys.dont_write_bytecode = True
import dpulab  # noqa: E402
from dpulab import RUN, Dpu, DpuLab, Run, nothing_left, refused, want, write  # noqa: E402
import netlab  # noqa: E402
import rocelab as r  # noqa: E402
import test_roce as nic_roce  # noqa: E402
import test_tag as nic_tag  # noqa: E402
from fxtest import main, same  # noqa: E402
from netlab import Peer, Port, sh, tests_of  # noqa: E402
from rocelab import over, packet, reth, roce  # noqa: E402

FRAMES = 4096	# a port's ring: the tests send faster than a busy machine takes
MOVE = 120	# bytes of struct fx_move
TAG = "{ rocev2: tag }"
CHUNK = 200


def a_dpu(**how):
    return Dpu(ports=("v0", "w0"), workers=2, frames=FRAMES, **how)


def ports(lab):
    """The host's side and the wire's: what netlab calls here and there."""
    here = Port("w1")
    with Peer(lab):
        return here, Port("v1")


def read_map(dpu, name):
    return bytes.fromhex(dpu.client("read", name).split("\n")[1])


def on_dpu(function):
    """A test of network devices, on a DPU."""
    def run(lab):
        with a_dpu() as dpu:
            nic_roce.Attached = nic_tag.Attached = dpulab.Attached
            nic_roce.ports = ports
            nic_roce.last_move = lambda name="lab": read_map(dpu, "last")
            # net_af_packet has the kernel put IPv4 fragments together first
            nic_roce.BAD = [case for case in nic_roce.BAD if case[0] != "first fragment"]
            nic_tag.DEVICE, nic_tag.NOUN = "dpu0", "dpu"
            function(lab)
        nothing_left()

    run.__name__ = function.__name__
    run.__doc__ = function.__doc__
    return run


# ---- the same packets through XDP, tc and a DPU ----

# Every move that it is asked about, in order; some are refused for what the state says of them.
LOG = """\
#include <fabric_ext/portable.bpf.h>

FX_MAP(local, number, __u64, 1);
FX_MAP(local, moves, struct fx_move, 8192);

FX_GUARD(move)
{
	__u64 *n = fx_at(&number, 0);
	struct fx_move *m = n ? fx_at(&moves, *n) : NULL;

	if (m) {
		*m = *move;
		*n += 1;
	}
	if (move->priority == 1)
		return fx_drop(EACCES);
	if (move->priority == 2 && move->rdma.rkey == 0xbad)
		return fx_drop(EPERM);
	if (move->priority == 3 && move->rdma.addr >> 32 && !move->rdma.repeat)
		return fx_drop(ENOSPC);
	if (move->priority == 4)
		return fx_mark(7, 1);
	return fx_pass();
}

FX_PORTABLE(lab, FX_MALFORMED_%s);

char LICENSE[] SEC("license") = "Dual BSD/GPL";
"""

QPS = range(100, 110)


def edges_of(way):
    """Queue pairs of every priority, one by more than its number, and one that is only a port."""
    edges = [(f"{way}{i}", way, f"{{ rocev2: {{ qp: {qp} }} }}", {"priority": i % 5})
             for i, qp in enumerate(QPS)]
    edges.append((f"{way}_from", way, "{ rocev2: { qp: 200 }, tuple: { src: 10.1.0.9 } }"))
    return [*edges, (f"{way}_vlan", way, "{ rocev2: { qp: 201 }, vlan: 9 }"), (f"{way}_udp", way, "{ udp: 4791 }")]


class Messages:
    """What senders of queue pairs would send, and what happens on the way."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.psn = {}
        self.sent = []

    def message(self, number):
        """The frames of one message of a queue pair."""
        rnd = self.random
        key = rnd.choice(({}, {}, {"six": True}, {"vlan": 9}, {"src": "10.1.0.9"}))
        psn = self.psn.setdefault((number, str(key)), rnd.randrange(r.PSNS) if rnd.random() < .5 else r.PSNS - 20)
        mtu = rnd.choice((64, 256, 1024))
        size = rnd.choice((0, 1, 3, mtu, mtu + 1, rnd.randrange(1, 9 * mtu)))
        addr = rnd.choice((0x1000, 0xfffffff0, 0x123456789a00))
        rkey = rnd.choice((1, 0xbad))
        single = min(size, mtu)
        kind = rnd.randrange(12)
        if kind < 6:
            frames = r.write(number, psn, size, mtu, addr, rkey, imm=rnd.random() < .2, **key)
        elif kind < 8:
            frames = self.send(number, psn, size, mtu, key)
        elif kind == 8:
            frames = [packet(r.READ_REQUEST, number, psn, b"", reth(rnd.randrange(1 << 31), addr, rkey), **key)]
        elif kind == 9:
            frames = [packet(r.READ_ONLY, number, psn + rnd.randrange(3), b"x" * single, b"aeth", **key)]
        elif kind == 10:
            frames = [packet(r.SEND_ONLY, number, psn, b"x" * single, b"deth" * 2, transport=r.UD, **key)]
        else:
            frames = [packet(rnd.choice((r.COMPARE_SWAP, r.FETCH_ADD)), number, psn, b"", nic_roce.ATOMIC, **key)]
        self.psn[number, str(key)] = psn + len(frames) + rnd.choice((0, 0, 0, 0, 5, 2000, 70000))
        return frames

    @staticmethod
    def send(number, psn, size, mtu, key):
        count = max(1, -(-size // mtu))
        ops = [r.SEND_ONLY] if count == 1 else [r.SEND_FIRST] + [r.SEND_MIDDLE] * (count - 2) + [r.SEND_LAST]
        return [packet(op, number, psn + i, b"s" * min(mtu, size - i * mtu), **key) for i, op in enumerate(ops)]

    def on_the_way(self, frames):
        """Lost, late, twice, in another order."""
        rnd = self.random
        how = rnd.randrange(8)
        if how == 0:
            return frames + frames[rnd.randrange(len(frames)):]
        if how == 1:
            return [x for x in frames if rnd.random() < .8] + frames
        if how == 2:
            return rnd.sample(frames, len(frames))
        if how == 3:
            return frames + rnd.choices(self.sent or frames, k=3)
        return frames

    def spoilt(self, frame):
        """A frame with a byte of its RoCEv2 changed, or cut there, with lengths that say so."""
        rnd = self.random
        at = 14 + 4 * (frame[12:14] == b"\x81\0")
        six = frame[at] >> 4 == 6
        data = bytearray(frame[at + (40 if six else 20) + 8:])
        if rnd.random() < .5:
            data = data[:rnd.randrange(len(data))]
        else:
            data[rnd.randrange(min(len(data), 28))] ^= 1 << rnd.randrange(8)
        return over(bytes(data), 9 if at == 18 else None, six)

    def stream(self, messages):
        rnd = self.random
        frames = []
        for _ in range(messages):
            new = self.on_the_way(self.message(rnd.choice((*QPS, 200, 201, 999))))
            self.sent += new
            frames += new
            if rnd.random() < .3:
                frames.append(self.spoilt(rnd.choice(new)))
            if rnd.random() < .1:
                frames.append(over(rnd.choice(nic_roce.KINDS)[1].replace(struct.pack("!I", 17), struct.pack("!I", 101))))
        return frames


COUNTS = ("packets", "bytes", "refused", "refused_bytes", "marked", "repeated")
TOTALS = ("packets", "no_edge", "malformed", "malformed_refused", "untracked")


def through(a, way, source, sink, frames):
    """What passes, the counts of each edge, and of all."""
    got = []
    sink.receive()
    for i in range(0, len(frames), CHUNK):
        nic_roce.push(source, frames[i:i + CHUNK])
        same(a.wait(way, min(i + CHUNK, len(frames)))[way]["packets"], min(i + CHUNK, len(frames)), way)
        got += [data for data, _ in sink.receive()]
    device = a.nic()
    edges = {e["class"]: {key: e[key] for key in COUNTS} for e in device["edges"] if e["dir"] == way}
    return got, edges, {key: device[way][key] for key in TOTALS}


def moves_of(number, raw):
    """What the policy was asked, without the place and the kind of device."""
    (count,) = struct.unpack("<Q", number)
    want(0 < count < 8192 and len(raw) == 8192 * MOVE, count, len(raw))
    return [raw[i:i + 6] + raw[i + 12:i + MOVE] for i in range(0, count * MOVE, MOVE)]


def pinned(name):
    path = f"/sys/fs/bpf/fabric_ext/lab/nic-v0/maps/{name}"
    entries = json.loads(sh("bpftool", "-j", "map", "dump", "pinned", path))
    return b"".join(bytes(int(byte, 16) for byte in entry["value"]) for entry in entries)


def same_stream(lab):
    """One stream through XDP and tc, and through a DPU: the same verdicts, counts, and moves to the policy."""
    seen = {}
    for way, malformed in (("in", "PASS"), ("out", "DROP")):
        policy = write(f"log_{malformed}.bpf.c", LOG % malformed)
        frames = Messages(way).stream(400)
        want(len(frames) > 800, len(frames))
        with netlab.Attached(edges_of(way), policy=policy) as a:
            here = Port("v0")
            with Peer(lab):
                there = Port("v1")
            there_to_here = (there, here) if way == "in" else (here, there)
            by_nic = through(a, way, *there_to_here, frames)
            asked_nic = moves_of(pinned("number"), pinned("moves"))
            here.close()
        with a_dpu() as dpu, dpulab.Attached(edges_of(way), policy=policy) as a:
            host, wire = ports(lab)
            by_dpu = through(a, way, *((wire, host) if way == "in" else (host, wire)), frames)
            asked_dpu = moves_of(read_map(dpu, "number"), read_map(dpu, "moves"))
            host.close()
        same(by_dpu[2], by_nic[2], way)
        for name, counts in by_nic[1].items():
            same(by_dpu[1][name], counts, way, name)
        want(by_dpu[0] == by_nic[0], "other frames pass", way, len(by_dpu[0]), len(by_nic[0]))
        same(len(asked_dpu), len(asked_nic), way)
        for i, (one, other) in enumerate(zip(asked_dpu, asked_nic)):
            want(one == other, "another move", way, i, one.hex(), other.hex())
        seen[way] = by_nic
    for way, (got, edges, total) in seen.items():
        # the stream has something of everything
        for key in ("packets", "refused", "marked", "repeated"):
            want(sum(e[key] for e in edges.values()) > 30, way, key, edges)
        want(all(e["packets"] + e["refused"] for e in edges.values()), way, edges)
        want(total["malformed"] > 50 and got, way, total)
    nothing_left()


# ---- the control socket ----

HEAD = struct.Struct("<IHHII")
INFO, LOAD, SETTLE, TAG_REQUEST = 1, 2, 10, 11
F_ADD_SEALS, SEALS, ALONE = 1033, 0xe, 4


def connected():
    s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    s.settimeout(20)
    s.connect(str(RUN / "dpu-dpu0.sock"))
    return s


def ask(body, cmd=TAG_REQUEST, version=1, over=None, fds=()):
    """(error, why), by a connection of its own or an open one."""
    data = HEAD.pack(HEAD.size + len(body), version, cmd, 7, 0) + body
    s = over or connected()
    try:
        socket.send_fds(s, [data], list(fds))
        got = s.recv(65536)
    finally:
        if not over:
            s.close()
    return struct.unpack_from("<i", got, HEAD.size)[0], got[24:280].split(b"\0")[0].decode()


def sealed(data):
    fd = os.memfd_create("test", os.MFD_ALLOW_SEALING)
    os.write(fd, data)
    fcntl.fcntl(fd, F_ADD_SEALS, SEALS)
    return fd


# ---- what only a DPU has ----

def whole_pieces(lab):
    """Messages of 64 queue pairs at once, both ways by two workers: the bytes are those that were written."""
    with a_dpu(), dpulab.Attached([(f"{way}{i}", way, f"{{ rocev2: {{ qp: {300 + i} }} }}")
                                   for way in ("in", "out") for i in range(64)]) as a:
        host, wire = ports(lab)
        frames = [r.write(300 + i, 77 * i, 1000 + 313 * i) for i in range(64)]
        mixed = [f for group in zip(*(g + [None] * 32 for g in frames)) for f in group if f]
        same(len(mixed), sum(map(len, frames)))

        def send(port):
            for i in range(0, len(mixed), 16):
                port.send(*mixed[i:i + 16], mixed[i])
                time.sleep(0.002)

        threads = [threading.Thread(target=send, args=(port,)) for port in (host, wire)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        total = len(mixed) + -(-len(mixed) // 16)
        a.wait("in", total)
        a.wait("out", total)
        for e in a.nic()["edges"]:
            i = int(e["class"].lstrip("inout"))
            same((e["packets"], e["bytes"], e["refused"]), (len(frames[i]), 1000 + 313 * i, 0), e)
        same(sum(e["repeated"] for e in a.nic()["edges"]), 2 * (total - len(mixed)))
        host.close()
        wire.close()
    nothing_left()


def replaced(lab):
    """Another program goes on with the queue pairs, their bindings and what was seen of them."""
    edges = [("m", "in", TAG), ("n", "in", "{ rocev2: { qp: 50 } }")]
    with a_dpu() as dpu, dpulab.Attached(edges) as a:
        host, wire = ports(lab)
        nic_tag.tag("m", "--qp", "40")
        one, two = r.write(40, 9, 20000), r.write(50, 9, 10000)
        wire.send(*one[:10], *two)
        a.wait("in", 10 + len(two))
        run = Run("attach", "--replace", a.bundle)
        want(run.rc == 0, run.err)
        wire.send(*one, *two)
        a.wait("in", 10 + len(one) + 2 * len(two))
        found = {e["class"]: (nic_roce.counted(e), e.get("qp")) for e in a.nic()["edges"]}
        same(found, {"m": ((len(one), 20000, 0, 0, 10), 40), "n": ((len(two), 10000, 0, 0, len(two)), 50)})
        same(dpu.info()["loads"], 2)
        # a DPU that was started again knows of none: they are bound anew
        dpu.kill()
        run = Run("tag", "lab", "m", "--qp", "41")
        want(run.rc == 2 and "dpu0" in run.err and "has ended" in run.err, run.rc, run.err)
        dpu.start()
        run = Run("attach", "--repair", a.bundle)
        want(run.rc == 0, run.err)
        same({e["class"]: e.get("qp") for e in a.nic()["edges"]}, {"m": None, "n": 50})
        nic_tag.tag("m", "--qp", "40")
        wire.send(*one)
        a.wait("in", len(one))
        same(nic_roce.counted(a.nic()["edges"][0]), (len(one), 20000, 0, 0, 0))
        host.close()
        wire.close()
    nothing_left()


def put_back(lab):
    """What was replaced and is put back has its queue pairs still; meanwhile nothing is bound."""
    edges = [("m", "in", TAG), ("n", "in", TAG)]
    name = b"lab".ljust(64, b"\0")
    with a_dpu() as dpu, dpulab.Attached(edges) as a:
        host, wire = ports(lab)
        nic_tag.tag("m", "--qp", "40")
        one = r.write(40, 9, 20000)
        wire.send(*one[:10])
        a.wait("in", 10)
        parts = [(a.bundle / "dpu/dpu0" / part).read_bytes() for part in ("artifact.bin", "policy.bpf.o", "flows.bin")]
        fds = [sealed(data) for data in (*parts, b"m".ljust(64, b"\0") + b"n".ljust(64, b"\0"))]
        with connected() as s:
            same(ask(struct.pack("<II", ALONE, 1), cmd=LOAD, over=s, fds=fds), (0, ""))
            wire.send(*one[:15])
            a.wait("in", 25)
            for request in (struct.pack("<IIII", 1, 1, 41, 0), struct.pack("<IIII", 0, 1, 0, 0)):
                error, why = ask(name + request)
                want(error == -16 and "another process" in why, error, why)
            same(ask(name + struct.pack("<II", 1, 0), cmd=SETTLE, over=s), (0, ""))
        for fd in fds:
            os.close(fd)
        wire.send(*one)
        edge = a.wait("in", 25 + len(one))["edges"][0]
        same((nic_roce.counted(edge), edge["qp"]), ((len(one), 20000, 0, 0, 25), 40))
        nic_tag.tag("n", "--qp", "41")
        same(dpu.info()["loads"], 3)
        host.close()
        wire.close()
    nothing_left()


def tagged_while_packets_come(lab):
    """Bound, unbound and bound again under load: each packet is of the edge or of none."""
    with a_dpu() as dpu, dpulab.Attached([("m", "in", TAG)]) as a:
        host, wire = ports(lab)
        stop, sent = threading.Event(), [0]

        def send():
            while not stop.wait(0.0005):
                wire.send(packet(r.SEND_ONLY, 60, sent[0], b"data"))
                sent[0] += 1

        thread = threading.Thread(target=send)
        thread.start()
        try:
            for i in range(60):
                dpu.client("tag", "lab", 0, 1, 0 if i % 2 else 60)
            dpu.client("tag", "lab", 0, 1, 60)
            time.sleep(0.2)
        finally:
            stop.set()
            thread.join()
        nic = a.wait("in", sent[0])
        edge = nic["edges"][0]
        same((nic["in"]["packets"], nic["in"]["no_edge"] + edge["packets"], edge["repeated"]), (sent[0], sent[0], 0))
        same(edge["bytes"], 4 * edge["packets"])
        want(edge["packets"] and edge["qp"] == 60, edge)
        host.close()
        wire.close()
    nothing_left()


def on_both_kinds(lab):
    """An edge from a DPU to a network device is bound at both, or at neither."""
    del lab
    edges = [("kv", "in", TAG, {"for": "i in 2"}), ("out", "out", TAG, {"nic": 0}),
             ("out_fixed", "out", "{ rocev2: { qp: 99 } }", {"nic": 0})]
    text = dpulab.graph(edges, nics=("w1",)).replace("edge: out, from: host", "edge: out, from: dpu0")
    with a_dpu() as dpu:
        bundle = netlab.compile_bundle(text)
        run = Run("attach", "--pin", bundle)
        want(run.rc == 0, run.err)
        try:
            def bound():
                stat = Run("stat", "-j", "lab").json
                return [{(e["class"], e["edge"]): e["qp"] for d in stat[kind] for e in d["edges"] if "qp" in e}
                        for kind in ("dpu", "nic")]

            fixed = {("out_fixed", 3): 99}
            run = Run("tag", "-j", "lab", "out", "--qp", "30")
            same((run.rc, run.json["devices"], bound()), (0, 2, [{("out", 2): 30}, {("out", 2): 30, **fixed}]))
            nic_tag.tag("out", "--qp", "31", "--dev", "dpu0")
            same(bound(), [{("out", 2): 31}, {("out", 2): 30, **fixed}])
            # free here and taken there: neither
            refused(Run("tag", "lab", "out", "--qp", "99"), "queue pair 99", "'out_fixed'")
            same(bound(), [{("out", 2): 31}, {("out", 2): 30, **fixed}])
            nic_tag.tag("kv[1]", "--qp", "99")
            refused(Run("tag", "lab", "out", "--qp", "99", "--dev", "dpu0"), "queue pair 99 at dpu 'dpu0'", "'kv'")
            refused(Run("tag", "lab", "kv[1]", "--qp", "5", "--dev", "w1"), "does not cross", "w1")
            nic_tag.tag("out", "--none")
            same(bound(), [{("kv", 1): 99}, fixed])
        finally:
            want(Run("detach", "lab").rc == 0, "detach")
        same(dpu.info()["can"], 3)
    nothing_left()


def ill_tags(lab):
    """The request by itself: every field that cannot be is told, and changes nothing."""
    del lab
    name = b"lab".ljust(64, b"\0")
    edges = [("m", "in", TAG), ("n", "in", TAG), ("f", "in", "{ rocev2: { qp: 50 } }")]
    with a_dpu() as dpu:
        same(dpu.client("tag", "lab", 0, 1, 40, rc=1).split()[0], "-2")
        with dpulab.Attached(edges) as a:
            cases = [(name, 0, 1, 40, 0, 0), (name, 0, 1, 1, 0, -34), (name, 0, 1, 0xffffff, 0, -34),
                     (name, 0, 1, 0xffffffff, 0, -34), (name, 0, 0, 40, 0, -22), (name, 0, 3, 40, 0, -22),
                     (name, 0, 2, 40, 0, -2), (name, 3, 1, 40, 0, -2), (name, 0xffffffff, 1, 40, 0, -2),
                     (name, 0, 1, 40, 1, -22), (name, 1, 1, 40, 0, -17), (name, 1, 1, 50, 0, -17),
                     (name, 2, 1, 51, 0, -1), (b"x" * 64, 0, 1, 40, 0, -22), (bytes(64), 0, 1, 40, 0, -22),
                     (b"other".ljust(64, b"\0"), 0, 1, 41, 0, -2)]
            for graph, edge, way, qp, reserved, error in cases:
                same(ask(graph + struct.pack("<IIII", edge, way, qp, reserved))[0], error, edge, way, qp, reserved)
            for size in (0, 63, 79, 81, 200):
                same(ask(bytes(size))[0], -22, size)
            same([e.get("qp") for e in a.nic()["edges"]], [40, None, 50])
            # none of a message's other versions
            want("another version" in ask(name + struct.pack("<IIII", 0, 1, 41, 0), version=2)[1], "version 2")
            same([e.get("qp") for e in a.nic()["edges"]], [40, None, 50])
    nothing_left()


def an_older_peer(lab):
    """A fabric-dpu that tells of no such flows is asked for none, and the way out is said."""
    del lab
    RUN.mkdir(mode=0o700, exist_ok=True)
    path = RUN / "dpu-dpu0.sock"
    asked = []
    bundle = netlab.compile_bundle(dpulab.graph([("m", "in", TAG)]))

    def answer(cmd, seq):
        """As one of that version: INFO without what it can do, and no other command."""
        error, why, more = (0, b"", b"dpu0".ljust(16, b"\0") + bytes(64 + 24 + 32 + 40)) if cmd == INFO else \
            (-95, b"there is no such command", b"")
        return HEAD.pack(HEAD.size + 264 + len(more), 1, cmd, seq, 0) + struct.pack("<iI256s", error, 0, why) + more

    def serve(listener):
        while True:
            try:
                client = listener.accept()[0]
            except OSError:
                return
            with client:
                while data := client.recv(65536):
                    _, _, cmd, seq, _ = HEAD.unpack_from(data)
                    asked.append(cmd)
                    client.send(answer(cmd, seq))

    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
        listener.bind(str(path))
        listener.listen(4)
        thread = threading.Thread(target=serve, args=(listener,), daemon=True)
        thread.start()
        refused(Run("attach", "--pin", bundle), "dpu 'dpu0'", "queue pair", "older", "of this version")
        same(asked, [INFO])
        done = Dpu.client(Dpu(), "tag", "lab", 0, 1, 40, rc=1)
        want("older" in done and done.startswith("-95 "), done)
        listener.shutdown(socket.SHUT_RDWR)
    thread.join(20)
    path.unlink()
    nothing_left()


NIC_TESTS = [nic_roce.counts_payload, nic_roce.kinds, nic_roce.what_the_policy_sees, nic_roce.sent_again,
             nic_roce.long_ago, nic_roce.interleaved, nic_roce.denies_one, nic_roce.table_is_full, nic_roce.malformed,
             nic_roce.only_where_asked, nic_tag.binds, nic_tag.refuses]

if __name__ == "__main__":
    os.environ.setdefault("ASAN_OPTIONS", "detect_leaks=1")
    sys.exit(main(tests_of(DpuLab(), [same_stream, *map(on_dpu, NIC_TESTS), whole_pieces, replaced, put_back,
                                      tagged_while_packets_come, on_both_kinds, ill_tags, an_older_peer])))
