#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The control socket: artifacts that are not sound, and clients that mean ill."""

import ctypes
import fcntl
import hashlib
import json
import os
import random
import select
import socket
import struct
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
sys.dont_write_bytecode = True
from dpulab import CLIENT, DPU, RUN, Attached, Dpu, DpuLab, Skip, graph, want, write  # noqa: E402
from fxtest import TOP, main, same  # noqa: E402
from netlab import Peer, Port, compile_bundle, frame, sh, tests_of  # noqa: E402

INFO, LOAD, UNLOAD, STAT, READ, WRITE, PUBLISH, BYPASS, QUIT, SETTLE, TAG = range(1, 12)
HEAD, MAX, NAME = struct.Struct("<IHHII"), 65536, 64
F_ADD_SEALS, SEALS = 1033, 0xe
EDGES = [("passes", "in", "{ udp: 5000 }"), ("drops", "in", "{ udp: 5001 }", {"priority": 1})]


class Client:
    """A connection that checks nothing."""

    def __init__(self, name="dpu0"):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.socket.settimeout(10)
        self.socket.connect(str(RUN / f"dpu-{name}.sock"))

    def raw(self, data, fds=()):
        """The answer, or None when the connection was closed."""
        try:
            socket.send_fds(self.socket, [data], list(fds)) if fds else self.socket.send(data)
            return self.socket.recv(MAX) or None
        except (BrokenPipeError, ConnectionResetError):
            return None

    def ask(self, cmd, body=b"", fds=(), size=None, version=1, reserved=0):
        """(error, why) of an answer in order."""
        data = HEAD.pack(HEAD.size + len(body) if size is None else size, version, cmd, 77, reserved) + body
        got = self.raw(data, fds)
        want(got is not None, f"command {cmd} closed the connection")
        size, version, answered, seq, _ = HEAD.unpack(got[:HEAD.size])
        same((size, version, answered, seq), (len(got), 1, cmd, 77))
        error = struct.unpack_from("<i", got, HEAD.size)[0]
        return error, got[HEAD.size + 8:HEAD.size + 8 + 256].split(b"\0")[0].decode("utf-8", "replace")

    def close(self):
        self.socket.close()


def memfd(data, seals=SEALS):
    fd = os.memfd_create("test", os.MFD_ALLOW_SEALING)
    os.write(fd, data)
    fcntl.fcntl(fd, F_ADD_SEALS, seals)
    return fd


def name(text):
    return text.encode().ljust(NAME, b"\0")


class Artifact:
    """The files of one, and LOAD with some of them changed."""

    def __init__(self, text=None, **how):
        self.bundle = compile_bundle(text or graph(EDGES), **how)
        folder = self.bundle / "dpu/dpu0"
        self.parts = [(folder / part).read_bytes() for part in ("artifact.bin", "policy.bpf.o", "flows.bin")]
        self.parts.append(name("passes") + name("drops"))

    def load(self, client, flags=0, replace=0, seals=SEALS, **changed):
        parts = list(self.parts)
        for number, data in changed.items():
            parts[int(number[1:])] = data
        fds = [memfd(data, seals) for data in parts]
        try:
            return client.ask(LOAD, struct.pack("<II", flags, replace), fds)
        finally:
            for fd in fds:
                os.close(fd)

    def resealed(self, at, value):
        """The manifest with a field changed and its digest made to fit."""
        data = bytearray(self.parts[0])
        data[at:at + len(value)] = value
        digest = self.digest_at()
        data[digest:digest + 32] = bytes(32)
        data[digest:digest + 32] = hashlib.sha256(data).digest()
        return bytes(data)

    def digest_at(self):
        return struct.unpack_from("<H", self.parts[0], 6)[0] - 32


def altered(_):
    """Each byte of the manifest, and many of the others: refused, and the part is named."""
    random.seed(1)
    art = Artifact()
    with Dpu():
        client = Client()
        for part, word in enumerate(("artifact.bin", "policy.bpf.o", "flows.bin")):
            sound = art.parts[part]
            places = range(len(sound)) if not part else random.sample(range(len(sound)), min(len(sound), 200))
            for at in places:
                bad = sound[:at] + bytes((sound[at] ^ 1 << random.randrange(8),)) + sound[at + 1:]
                error, why = art.load(client, **{f"p{part}": bad})
                same(error, -22, word, at)
                want(why.startswith(word + ": "), at, why)
            for bad in (sound[:-1], sound + b"\0", sound[:16]):
                error, why = art.load(client, **{f"p{part}": bad})
                want(error == -22 and why.startswith(word), why)
        for bad, word in ((b"x" * 128, "no end"), (name("passes"), "each flow"), (name("a") * 3, "each flow")):
            error, why = art.load(client, p3=bad)
            want(error == -22 and word in why, why)
        same(art.load(client), (0, ""))
        client.close()


def manifests(_):
    """A manifest whose digest fits, and that says otherwise than object and flows."""
    art = Artifact()
    # flags, insns, stack, n_maps, n_flows, object_size, helpers, malformed, place, reserved
    cases = [(8, "<I", 0, "verifier"), (8, "<I", 3, "does not have"), (12, "<I", 1, "program"),
             (12, "<I", 5000, "budget"), (16, "<I", 4096, "budget"), (20, "<I", 17, "size"),
             (24, "<I", 1, "flows"), (24, "<I", 0, "flows"), (24, "<I", 0xffffffff, "flows"),
             (28, "<I", 100, "object"), (32, "<Q", 1 << 63, "program"), (40, "<I", 1, "program"),
             (40, "<I", 2, "does not have"), (44, "<H", 300, "place"), (46, "<H", 1, "does not have")]
    with Dpu():
        client = Client()
        for at, form, value, word in cases:
            error, why = art.load(client, p0=art.resealed(at, struct.pack(form, value)))
            want(error == -22 and word in why, at, value, error, why)
        header = art.digest_at() + 32
        for at in (header, header + NAME, header + NAME + 16, header + NAME + 24, header + NAME + 28):
            error, why = art.load(client, p0=art.resealed(at, b"\x7f"))
            want(error == -22 and "maps" in why, at, why)
        want("another DPU" in art.load(client, p0=art.resealed(art.parts[0].index(b"dpu0\0"), b"dpu1"))[1], "name")
        same(client.ask(UNLOAD, name("lab") + bytes(8))[0], -2)
        same(art.load(client), (0, ""))
        error, why = art.load(client)
        want(error == -16 and "fabricctl detach lab" in why, why)
        client.close()


class Elf:
    """An object to be changed: sections as [at, name, type, offset, size, link, info]."""

    def __init__(self, data):
        self.data = bytearray(data)
        start, = struct.unpack_from("<Q", data, 40)
        number, names = struct.unpack_from("<HH", data, 60)
        self.at = [start + 64 * i for i in range(number)]
        offset, = struct.unpack_from("<Q", data, self.at[names] + 24)
        self.name = [self.text(offset + struct.unpack_from("<I", data, at)[0]) for at in self.at]

    def text(self, at):
        return bytes(self.data[at:self.data.index(0, at)]).decode()

    def header(self, section):
        return self.at[self.name.index(section)]

    def body(self, section):
        return struct.unpack_from("<QQ", self.data, self.header(section) + 24)

    def put(self, at, form, *values):
        struct.pack_into(form, self.data, at, *values)
        return bytes(self.data)

    def maps(self):
        """Where the BTF's section of maps stands, and each (variable, offset) of it."""
        start = self.body(".BTF")[0]
        types, size, strings = struct.unpack_from("<III", self.data, start + 8)
        at, end, text = start + 24 + types, start + 24 + types + size, start + 24 + strings
        tail = {1: 4, 3: 12, 14: 4, 17: 4}
        each = {4: 12, 5: 12, 6: 8, 13: 8, 15: 12, 19: 12}
        while at < end:
            name_at, info, _ = struct.unpack_from("<III", self.data, at)
            kind, n = info >> 24 & 31, info & 0xffff
            if kind == 15 and self.text(text + name_at) == ".maps":
                return at, [at + 12 + 12 * i for i in range(n)]
            at += 12 + tail.get(kind, 0) + each.get(kind, 0) * n
        raise AssertionError("no maps")


def relocated(_):
    """Objects in which the kernel's verifier sees other maps than librte_bpf, under digests that fit."""
    art = Artifact()
    sound = art.parts[1]
    digest = art.parts[0].index(hashlib.sha256(sound).digest())
    rel = ".rel" + "syscall"

    def other_offsets():
        elf = Elf(sound)
        at, entries = elf.maps()
        size = elf.body(".maps")[1]
        symbols, length = elf.body(".symtab")
        maps = elf.name.index(".maps")
        places = sorted(struct.unpack_from("<Q", elf.data, s + 8)[0] for s in range(symbols, symbols + length, 24)
                        if struct.unpack_from("<H", elf.data, s + 6)[0] == maps and elf.data[s + 4] & 15 == 1)
        same(len(places), len(entries))
        # the maps one place further on than their symbols are
        places = places[1:] + places[:1]
        for entry, place in zip(entries, places):
            elf.put(entry + 4, "<I", place)
        return elf.put(at + 8, "<I", size)

    def second_of_the_program():
        elf = Elf(sound)
        return elf.put(elf.header(".rel.BTF") + 44, "<I", elf.name.index("syscall"))

    def changed(section, at, form, value):
        elf = Elf(sound)
        return elf.put(elf.header(section) + at, form, value)

    def twice():
        elf = Elf(sound)
        at, size = elf.body(rel)
        want(size >= 32, "one relocation only")
        return elf.put(at + 16, "<Q", struct.unpack_from("<Q", elf.data, at)[0])

    cases = [(other_offsets(), "no map"), (second_of_the_program(), "relocations"),
             (changed(rel, 40, "<I", 1), "relocations"), (changed(rel, 4, "<I", 4), "libbpf reads"),
             (changed(".rel.BTF", 4, "<I", 2), "no object"), (twice(), "relocations")]
    with Dpu():
        client = Client()
        for number, (data, word) in enumerate(cases):
            error, why = art.load(client, p0=art.resealed(digest, hashlib.sha256(data).digest()), p1=data)
            want(error == -22 and word in why, number, error, why)
        # the name of a section is nobody's concern
        data = Elf(sound)
        at = data.header(rel)
        data.put(at, "<I", struct.unpack_from("<I", data.data, data.header(".strtab"))[0])
        data = bytes(data.data)
        same(art.load(client, p0=art.resealed(digest, hashlib.sha256(data).digest()), p1=data), (0, ""))
        client.close()


CORE = """\
#include <fabric_ext/portable.bpf.h>
#include <bpf/bpf_core_read.h>

struct nowhere { int a; };
FX_MAP(local, table, __u64, 4);

FX_GUARD(move)
{
	__u64 *p = fx_at(&table, %s);

	if (%s)
		return *(volatile __u64 *)p ? fx_drop(ENOSPC) : fx_pass();
	return fx_pass();
}

FX_PORTABLE(core, FX_MALFORMED_PASS);

char LICENSE[] SEC("license") = "GPL";
"""


def rewritten(_):
    """CO-RE: the verifier is shown what libbpf makes of it for this kernel, librte_bpf what the file has."""
    art = Artifact()
    digest = art.parts[0].index(hashlib.sha256(art.parts[1]).digest())

    def compiled(*where):
        source, out = write("core/p.bpf.c", CORE % where), write("core/p.o", "")
        sh("clang", "-O2", "-target", "bpf", "-g", "-c", "-mcpu=v2", "-DFX_FOR_DPU", "-I", str(TOP / "bpf/include"),
           "-I", str(TOP / "uapi"), "-I", "/usr/include/" + sh("cc", "-print-multiarch").strip(), "-o", str(out),
           str(source))
        return out.read_bytes(), json.loads(sh(str(CLIENT), str(out), "verify"))

    # neither look at it lets it pass for itself, and both take the twin
    data, seen = compiled("99", "bpf_core_type_exists(struct nowhere)")
    want("CO-RE" in seen["fault"], seen)
    same(seen["verify"], -22)
    want("libbpf changed" in seen["why"], seen)
    same(compiled("3", "p")[1], {"fault": "", "verify": 0, "why": ""})
    with Dpu() as dpu:
        client = Client()
        manifest = art.resealed(digest, hashlib.sha256(data).digest())
        art.parts[0] = manifest
        error, why = art.load(client, p0=art.resealed(28, struct.pack("<I", len(data))), p1=data)
        want(error == -22 and "CO-RE" in why, error, why)
        same(dpu.info()["loads"], 0)
        client.close()


def queue_pairs(_):
    """Flows by a queue pair that none has, or by a part of its number, under digests that fit."""
    art = Artifact(graph([("passes", "in", "{ rocev2: tag }"), ("drops", "in", "{ rocev2: { qp: 50 } }")]))
    sound = art.parts[2]
    digest = art.parts[0].index(hashlib.sha256(sound).digest())
    key, mask, one = 44, 92, len(sound) // 2
    cases = [((key, 1),), ((key, 0xffffff),), ((key, 0xffffffff),), ((mask, 0xffffff),), ((mask, 0xff),), ((mask, 0),)]
    with Dpu() as dpu:
        client = Client()
        for case in cases:
            data = bytearray(sound)
            for at, value in case:
                struct.pack_into("<I", data, one + at, value)
            error, why = art.load(client, p0=art.resealed(digest, hashlib.sha256(data).digest()), p2=bytes(data))
            want(error == -22 and why.startswith("flows.bin: a flow has"), case, error, why)
        same((dpu.info()["loads"], art.load(client), dpu.info()["flags"]), (0, (0, ""), 8))
        client.close()


def messages(_):
    """Short, long, unknown, of another version: an error each, and life goes on."""
    art = Artifact()
    with Dpu() as dpu:
        client = Client()
        for cmd in (0, 12, 255, 65535):
            same(client.ask(cmd)[0], -95)
        for kwargs in ({"version": 2}, {"version": 0}, {"reserved": 1}):
            same(client.ask(INFO, **kwargs)[0], -71)
        for size in (0, 15, 17, 1 << 31, 0xffffffff):
            same(client.ask(INFO, size=size)[0], -22)
        for cmd in range(INFO, TAG + 1):
            if cmd == QUIT:
                continue
            for extra in (1, 7, 100, 30000):
                same(client.ask(cmd, b"\xff" * extra)[0], -22, cmd, extra)
        same(client.ask(QUIT, b"x")[0], -22)
        # names without an end, of nothing, of nobody
        for cmd in (UNLOAD, BYPASS, SETTLE):
            for text, error in ((b"x" * NAME, -22), (bytes(NAME), -22), (name("nobody"), -2)):
                same(client.ask(cmd, text + bytes(8))[0], error)
        for text, error in ((b"x" * NAME, -22), (bytes(NAME), -22), (name("nothing"), -2)):
            same(client.ask(READ, text + bytes(8))[0], error)
        same(client.ask(STAT, bytes(8))[0], -2)
        same(art.load(client), (0, ""))
        same(client.ask(STAT, struct.pack("<II", 3, 0))[0], -34)
        same(client.ask(STAT, struct.pack("<II", 0, 1))[0], -22)
        same(client.ask(READ, name("asked") + struct.pack("<II", 9, 1))[0], -34)
        same(client.ask(READ, name("asked") + struct.pack("<II", 0, 0xffffffff))[0], 0)
        same(client.ask(WRITE, name("last") + struct.pack("<II", 0, 2))[0], -34)
        same(client.ask(WRITE, name("last") + struct.pack("<II", 0xffffffff, 1))[0], -34)
        same(client.ask(WRITE, name("last") + struct.pack("<II", 0, 1) + b"x")[0], -22)
        same(client.ask(LOAD, struct.pack("<II", 0, 0))[0], -22, "without descriptors")
        same(art.load(client, flags=8)[0], -22)
        same(art.load(client, replace=3)[0], -22)
        same(client.ask(SETTLE, name("lab") + struct.pack("<II", 1, 0))[0], -2)
        same(client.ask(UNLOAD, name("lab") + struct.pack("<II", 1, 0))[0], -22)
        # what has no header, or more than fits, has no answer either
        for data in (b"", b"x", b"x" * 15, b"x" * (MAX + 1)):
            other = Client()
            same(other.raw(data) if data else other.socket.send(data) or None, None)
            other.close()
        same(dpu.info()["graph"], "lab")
        client.close()


def descriptors(_):
    """Not sealed, not memory, too many, too few, empty, huge; none is kept."""
    art = Artifact()
    with Dpu() as dpu:
        client = Client()
        same(client.ask(INFO)[0], 0)
        before = len(os.listdir(f"/proc/{dpu.child.pid}/fd"))
        body = struct.pack("<II", 0, 0)
        for seals in (0, 2, 6, 8):
            error, why = art.load(client, seals=seals)
            want(error == -22 and "sealed" in why, why)
        with open("/dev/zero", "rb") as zero, open("/proc/self/exe", "rb") as exe:
            for fd in (zero.fileno(), exe.fileno(), client.socket.fileno()):
                error, why = client.ask(LOAD, body, [fd] * 4)
                want(error == -22 and "sealed" in why, why)
        empty, big = memfd(b""), os.memfd_create("big", os.MFD_ALLOW_SEALING)
        os.truncate(big, 1 << 40)
        fcntl.fcntl(big, F_ADD_SEALS, SEALS)
        same(client.ask(LOAD, body, [empty] * 4)[0], -27)
        same(client.ask(LOAD, body, [big] * 4)[0], -27)
        for n in (1, 2, 3):
            same(client.ask(LOAD, body, [empty] * n)[0], -22)
        same(client.ask(INFO, fds=[empty])[0], -22)
        other = Client()
        same(other.raw(HEAD.pack(HEAD.size, 1, INFO, 1, 0), [empty] * 100), None)
        other.close()
        same(client.ask(INFO)[0], 0)
        same(len(os.listdir(f"/proc/{dpu.child.pid}/fd")), before, "descriptors kept:")
        os.close(empty)
        os.close(big)
        client.close()


def strangers(_):
    """Nobody else connects, and one who could is not listened to."""
    with Dpu() as dpu:
        path = RUN / "dpu-dpu0.sock"
        same((path.stat().st_mode & 0o777, RUN.stat().st_mode & 0o777), (0o600, 0o700))
        for open_doors in (False, True):
            if open_doors:
                os.chmod(RUN, 0o755)
                os.chmod(path, 0o666)
            child = os.fork()
            if not child:
                os.setgroups([])
                os.setresgid(65534, 65534, 65534)
                os.setresuid(65534, 65534, 65534)
                try:
                    client = Client()
                except OSError:
                    os._exit(10)
                os._exit(20 if client.raw(HEAD.pack(HEAD.size, 1, INFO, 1, 0)) is None else 30)
            same(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 20 if open_doors else 10)
        same(dpu.info()["dpu"], "dpu0")


def crowds(_):
    """More clients than there is room for; those that never read; all of it ends."""
    with Dpu() as dpu:
        crowd = [Client() for _ in range(16)]
        for client in crowd:
            same(client.ask(INFO)[0], 0)
        # who comes late waits, and is served when one of them has gone
        late = Client()
        late.socket.send(HEAD.pack(HEAD.size, 1, INFO, 1, 0))
        want(not select.select([late.socket], [], [], 0.5)[0], "served, or closed")
        same(crowd[0].ask(INFO)[0], 0)
        crowd.pop().close()
        want(select.select([late.socket], [], [], 10)[0] and len(late.socket.recv(MAX)) > HEAD.size, "not served")
        for client in (*crowd, late):
            client.close()
        deaf = Client()
        deaf.socket.setblocking(False)
        end = time.monotonic() + 10
        while time.monotonic() < end:
            try:
                deaf.socket.send(HEAD.pack(HEAD.size, 1, INFO, 1, 0))
            except BlockingIOError:
                time.sleep(0.001)
            except (BrokenPipeError, ConnectionResetError):
                break
        want(time.monotonic() < end, "who does not read is never closed")
        same(dpu.info()["dpu"], "dpu0")


def random_messages(_):
    """Ten thousand of them."""
    random.seed(2)
    art = Artifact()
    with Dpu() as dpu:
        client = Client()
        same(art.load(client), (0, ""))
        for _ in range(10000):
            cmd = random.choice([INFO, STAT, READ, WRITE, PUBLISH, SETTLE, TAG, random.randrange(1 << 16)])
            if cmd == QUIT:
                continue
            body = random.choice([b"", name(random.choice(["last", "asked", "lab", ""]))])
            body += random.randbytes(random.choice([0, 4, 8, 8, 8, random.randrange(300)]))
            client.ask(cmd, body)
        same(dpu.info()["graph"], "lab")
        client.close()


def names(_):
    """One of a name; the socket of one that was killed is in nobody's way."""
    with Dpu() as dpu:
        args = ["--lcores", "0@0,1@0", "--no-huge", "-m", "64", "--no-pci", "--no-telemetry", "--file-prefix=x",
                "--vdev=net_null0"]
        done = subprocess.run([DPU, "dpu0", *args], capture_output=True, text=True, check=False, timeout=60)
        want(done.returncode == 1 and "is running" in done.stderr, done.stderr)
        for bad in ("", "a/b", "../x", "x" * 16, "-x"):
            done = subprocess.run([DPU, bad, *args], capture_output=True, text=True, check=False, timeout=60)
            same(done.returncode, 1, bad)
        life = dpu.info()["life"]
        same(dpu.info()["life"], life)
        dpu.kill()
        want((RUN / "dpu-dpu0.sock").exists(), "what was killed leaves its socket")
        dpu.start()
        same(dpu.info()["dpu"], "dpu0")
        want(life and dpu.info()["life"] not in (0, life), "the same life", life)
    want(not (RUN / "dpu-dpu0.sock").exists(), "the socket stays")


def undone(lab):
    """A load that replaces and is taken back: nothing is counted twice or lost."""
    art = Artifact()

    def refused():
        data = client.raw(HEAD.pack(HEAD.size + 8, 1, STAT, 1, 0) + bytes(8))
        # packets, bytes, refused, ...
        return struct.unpack_from("<3Q", data, len(data) - count_size)[2]

    with Dpu() as dpu:
        with Peer(lab):
            wire = Port("v1")
        client = Client()
        same(art.load(client), (0, ""))
        first = client.raw(HEAD.pack(HEAD.size + 8, 1, STAT, 1, 0) + bytes(8))
        count_size = len(first) - first.index(name("drops")) - NAME
        wire.send(*[frame(5001)] * 3)
        dpu.wait_received(3)
        same(art.load(client, replace=1), (0, ""))
        wire.send(*[frame(5001)] * 4)
        dpu.wait_received(7)
        same(refused(), 7)
        same(client.ask(SETTLE, name("lab") + struct.pack("<II", 1, 0)), (0, ""))
        wire.send(*[frame(5001)] * 5)
        dpu.wait_received(12)
        same(refused(), 12)
        same(client.ask(SETTLE, name("lab") + struct.pack("<II", 1, 0))[0], -2)
        same(art.load(client, replace=1), (0, ""))
        same(client.ask(SETTLE, name("lab") + struct.pack("<II", 0, 0)), (0, ""))
        same(refused(), 12)
        client.close()
        wire.close()


def becomes(dpu, key, value):
    """What the DPU says after it has seen that a client is gone."""
    end = time.monotonic() + 10
    while dpu.info()[key] != value and time.monotonic() < end:
        time.sleep(0.02)
    same(dpu.info()[key], value)


def unsettled(_):
    """A load ends with its connection, unless it was settled; so does one that replaces."""
    art, keep, audit = Artifact(), name("lab") + bytes(8), 1
    with Dpu() as dpu:
        client, other = Client(), Client()
        same(art.load(client), (0, ""))
        same(other.ask(SETTLE, keep)[0], -2, "another client's:")
        error, why = art.load(other, replace=1)
        want(error == -16 and "another process" in why, error, why)
        same(dpu.info()["graph"], "lab")
        client.close()
        becomes(dpu, "graph", "")
        # who asks and does not wait for the answer
        for _ in range(20):
            client = Client()
            fds = [memfd(part) for part in art.parts]
            socket.send_fds(client.socket, [HEAD.pack(HEAD.size + 8, 1, LOAD, 1, 0) + bytes(8)], fds)
            client.close()
            for fd in fds:
                os.close(fd)
            becomes(dpu, "graph", "")
        client = Client()
        same(art.load(client), (0, ""))
        same(client.ask(SETTLE, keep), (0, ""))
        same(client.ask(SETTLE, keep)[0], -2)
        client.close()
        client = Client()
        same(art.load(client, flags=audit, replace=1), (0, ""))
        same((dpu.info()["graph"], dpu.info()["flags"]), ("lab", audit))
        client.close()
        becomes(dpu, "flags", 0)
        same(dpu.info()["graph"], "lab")
        same(art.load(other, flags=audit, replace=1), (0, ""))
        same(other.ask(SETTLE, keep), (0, ""))
        other.close()
        time.sleep(0.2)
        same((dpu.info()["graph"], dpu.info()["flags"]), ("lab", audit))
        # both are the client's: both go
        client = Client()
        same(client.ask(UNLOAD, keep), (0, ""))
        same(art.load(client), (0, ""))
        same(art.load(client, replace=1), (0, ""))
        client.close()
        becomes(dpu, "graph", "")


def bypassed_meanwhile(_):
    """What is by-passed while a load that replaces is not settled passes everything, whichever of both stays."""
    art, keep, bypass, audit = Artifact(), name("lab") + bytes(8), 2, 1
    with Dpu() as dpu:
        for undo in ("closed", "undone", "settled", "left alone"):
            owner, client, other = Client(), Client(), Client()
            same(art.load(owner), (0, ""))
            same(owner.ask(SETTLE, keep), (0, ""))
            same(art.load(client, flags=audit, replace=1), (0, ""))
            if undo != "left alone":
                same(other.ask(BYPASS, keep), (0, ""))
            if undo in ("undone", "settled"):
                same(client.ask(SETTLE, name("lab") + struct.pack("<II", undo == "undone", 0)), (0, ""))
            client.close()
            becomes(dpu, "flags", {"settled": audit | bypass, "left alone": 0}.get(undo, bypass))
            same(other.ask(UNLOAD, keep), (0, ""))
            owner.close()
            other.close()


def replaced_twice(lab):
    """Of two loads by one client that are not settled what was settled before comes back, and has counted all."""
    art, keep, audit, alone = Artifact(), name("lab") + bytes(8), 1, 4
    with Dpu() as dpu:
        with Peer(lab):
            wire = Port("v1")

        def sent(packets, received):
            wire.send(*[frame(5001)] * packets)
            dpu.wait_received(received)

        first = Client()
        same(art.load(first), (0, ""))
        same(first.ask(SETTLE, keep), (0, ""))
        sent(3, 3)
        client = Client()
        for flags, received in ((audit, 5), (alone, 7), (audit | alone, 9)):
            same(art.load(client, flags=flags, replace=1), (0, ""))
            sent(2, received)
            same(dpu.info()["flags"], flags)
        client.close()
        becomes(dpu, "flags", 0)
        same(dpu.info()["graph"], "lab")
        sent(1, 10)
        data = first.raw(HEAD.pack(HEAD.size + 8, 1, STAT, 1, 0) + bytes(8))
        # of the last row, which a load that records counts the same: packets, bytes, refused
        same(struct.unpack_from("<3Q", data, len(data) - 64)[2], 10)
        # settled, the last of them stays
        client = Client()
        for flags in (audit, alone):
            same(art.load(client, flags=flags, replace=1), (0, ""))
        same(client.ask(SETTLE, keep), (0, ""))
        client.close()
        time.sleep(0.2)
        same((dpu.info()["graph"], dpu.info()["flags"]), ("lab", alone))
        first.close()
        wire.close()


def stopped_worker(_):
    """A worker that hangs: one publish waits for it, the next are refused, then all is well again."""
    libc, attach, detach = ctypes.CDLL(None, use_errno=True), 16, 17
    text = ("#include <fabric_ext/portable.bpf.h>\nFX_MAP(snapshot, table, __u64, 4);\nFX_GUARD(move)\n{\n"
            "\tconst typeof(*table.value) *s = fx_snap(&table);\n"
            "\tconst __u64 *x = s ? fx_snap_at(s, 0) : 0;\n\treturn x && *x ? fx_drop(EPERM) : fx_pass();\n}\n"
            "FX_PORTABLE(q, FX_MALFORMED_PASS);\nchar LICENSE[] SEC(\"license\") = \"GPL\";\n")
    art = Artifact(policy=write("hang/p.bpf.c", text))
    with Dpu() as dpu:
        client, values = Client(), memfd(struct.pack("<5Q", 1, 0, 2, 3, 4))
        publish = lambda: client.ask(PUBLISH, name("table") + bytes(8), [values])  # noqa: E731
        same(art.load(client), (0, ""))
        same(publish(), (0, ""))
        tasks = Path(f"/proc/{dpu.child.pid}/task")
        worker = [int(t.name) for t in tasks.iterdir() if "worker" in (t / "comm").read_text(encoding="utf-8")]
        same(len(worker), 1, [(t / "comm").read_text(encoding="utf-8") for t in tasks.iterdir()])
        if libc.ptrace(attach, worker[0], None, None):
            raise Skip(f"a thread cannot be stopped here: {os.strerror(ctypes.get_errno())}")
        os.waitpid(worker[0], 0x40000000)  # __WALL
        try:
            error, why = publish()
            want(error == -110 and "come back" in why, error, why)
            for _ in range(3):
                error, why = publish()
                want(error == -16 and "come back" in why, error, why)
        finally:
            libc.ptrace(detach, worker[0], None, None)
        end = time.monotonic() + 10
        while publish()[0] and time.monotonic() < end:
            time.sleep(0.05)
        same(publish(), (0, ""))
        os.close(values)
        client.close()


def quits(_):
    with Dpu() as dpu, Attached(EDGES):
        dpu.client("quit")
        same(dpu.child.wait(20), 0)
        want("-111 " in dpu.client("info", rc=1), "still there")


sys.exit(main(tests_of(DpuLab(), [altered, manifests, relocated, rewritten, queue_pairs, messages, descriptors, strangers, crowds,
                                  random_messages, names, undone, unsettled, bypassed_meanwhile, replaced_twice,
                                  stopped_worker, quits])))
