# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Devices, namespaces and frames for tests of programs on network devices.

v0 is here and v1 at the peer, in another namespace; w0 and w1 are both here.
Nothing of it is seen outside, and all of it is gone with the process.
"""

import atexit
import ctypes
import json
import os
import re
import signal
import socket
import struct
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "loader"))
sys.dont_write_bytecode = True
from fxtest import SANITIZED, Run, Skip, want, write  # noqa: E402

ETH_P_ALL, ETH_P_IP, ETH_P_IPV6 = 3, 0x0800, 0x86dd
SO_MARK, SO_RCVMARK = 36, 75
MAC_HERE, MAC_THERE = bytes.fromhex("02000000000a"), bytes.fromhex("02000000000b")
WAIT_S = 20
LOCK_S = 900
EVENTS_S = 90	# a test's, all of it


def sh(*command, fds=()):
    """What a command says, which has to work."""
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60, pass_fds=fds)
    want(not done.returncode, f"`{' '.join(command)}` fails: {(done.stderr or done.stdout).strip()}")
    return done.stdout


def alone():
    """One such test at a time on this machine, as what the kernel has is counted.

    The name is of the network namespace that is left afterwards, and goes with
    the process.
    """
    lock = socket.socket(socket.AF_UNIX)
    end = time.monotonic() + LOCK_S
    while True:
        try:
            lock.bind("\0fabric_ext-selftests-nic")
            return lock
        except OSError as error:
            if time.monotonic() > end:
                raise Skip("another of these tests does not end") from error
            time.sleep(0.2)


class Lab:
    """The namespaces; made once, or the reason why not."""

    def __init__(self):
        self.why = None
        self.lock = None
        try:
            self.make()
        except (OSError, Skip, AssertionError) as reason:
            self.why = f"no network namespace with veth and bpffs can be made: {reason}"

    def make(self):
        self.lock = alone()
        os.unshare(os.CLONE_NEWNS | os.CLONE_NEWNET)
        if ctypes.CDLL(None, use_errno=True).mount(b"none", b"/", None, (1 << 18) | (1 << 14), None):
            raise OSError(ctypes.get_errno(), "mount --make-rprivate /")
        sh("mount", "-t", "bpf", "bpf", "/sys/fs/bpf")
        self.here = os.open("/proc/self/ns/net", os.O_RDONLY)
        os.unshare(os.CLONE_NEWNET)
        self.there = os.open("/proc/self/ns/net", os.O_RDONLY)
        holder = subprocess.Popen(["sleep", "infinity"])
        atexit.register(holder.kill)
        os.setns(self.here)
        sh("ip", "link", "add", "v0", "type", "veth", "peer", "name", "v1", "netns", str(holder.pid))
        sh("ip", "link", "add", "w0", "type", "veth", "peer", "name", "w1")
        sh("ip", "link", "set", "v0", "address", MAC_HERE.hex(":"))
        for name in ("v0", "w0", "w1"):
            self.up(name)
        with Peer(self):
            sh("ip", "link", "set", "v1", "address", MAC_THERE.hex(":"))
            self.up("v1")

    @staticmethod
    def up(name):
        # no packets of the kernel's own
        path = Path(f"/proc/sys/net/ipv6/conf/{name}/disable_ipv6")
        try:
            path.write_text("1")
        except OSError:
            pass	# then they are counted as of no edge
        sh("ip", "link", "set", name, "up")


class Peer:
    """with Peer(lab): what is opened in here is the other namespace's."""

    def __init__(self, lab):
        self.lab = lab

    def __enter__(self):
        os.setns(self.lab.there)

    def __exit__(self, *_):
        os.setns(self.lab.here)


class Port:
    """A device to send frames on and to receive what came through."""

    def __init__(self, name, proto=ETH_P_ALL, mark=False):
        # of no protocol until it is bound: it would have frames of all devices
        self.socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 22)
        if mark:
            self.socket.setsockopt(socket.SOL_SOCKET, SO_RCVMARK, 1)
        self.socket.bind((name, proto))
        self.socket.settimeout(0.2)

    def send(self, *frames):
        for frame in frames:
            self.socket.send(frame)

    def receive(self):
        """Frames that were received, those sent from here left out: (frame, mark)."""
        got = []
        while True:
            try:
                data, extra, _, address = self.socket.recvmsg(1 << 16, 256)
            except TimeoutError:
                return got
            if address[2] == socket.PACKET_OUTGOING:
                continue
            mark = [struct.unpack("I", value)[0] for level, kind, value in extra
                    if (level, kind) == (socket.SOL_SOCKET, SO_MARK)]
            got.append((data, mark[0] if mark else 0))

    def close(self):
        self.socket.close()


# ---- frames ----

def ethernet(proto, payload, vlan=None):
    tag = b"" if vlan is None else struct.pack("!HH", 0x8100, vlan)
    return MAC_HERE + MAC_THERE + tag + struct.pack("!H", proto) + payload


def udp(sport, dport, payload, length=None):
    return struct.pack("!HHHH", sport, dport, 8 + len(payload) if length is None else length, 0) + payload


def tcp(sport, dport, payload, doff=5, options=b""):
    return struct.pack("!HHIIBBHHH", sport, dport, 1, 1, doff << 4, 0x10, 1024, 0, 0) + options + payload


def ipv4(proto, payload, src="10.1.0.2", dst="10.1.0.1", tos=0, options=b"", frag=0, first=None, length=None):
    size = 20 + len(options)
    head = struct.pack("!BBHHHBBH4s4s", 0x40 | size // 4 if first is None else first, tos,
                       size + len(payload) if length is None else length, 7, frag, 64, proto, 0,
                       socket.inet_aton(src), socket.inet_aton(dst)) + options
    total = sum(struct.unpack(f"!{len(head) // 2}H", head))
    while total >> 16:
        total = (total & 0xffff) + (total >> 16)
    return head[:10] + struct.pack("!H", ~total & 0xffff) + head[12:] + payload


def ipv6(proto, payload, src="fd00::2", dst="fd00::1", tclass=0, first=6, length=None):
    return struct.pack("!IHBB16s16s", first << 28 | tclass << 20, len(payload) if length is None else length,
                       proto, 64, socket.inet_pton(socket.AF_INET6, src),
                       socket.inet_pton(socket.AF_INET6, dst)) + payload


def extension(following, size=8, length=None):
    """An extension header of SIZE bytes, all padding."""
    head = bytes((following, size // 8 - 1 if length is None else length))
    return head + (b"\1" + bytes((size - 4,)) + bytes(size - 4))


def frame(dport, payload=b"x" * 32, vlan=None, **ip):
    """The usual one: UDP over IPv4."""
    return ethernet(ETH_P_IP, ipv4(17, udp(999, dport, payload), **ip), vlan)


# ---- policies, graphs, counters ----

POLICY = """\
#include <fabric_ext/portable.bpf.h>

/* The test says by the priority of an edge what becomes of it. */
FX_MAP(local, last, struct fx_move, 1);
FX_MAP(counter, asked, __u64, 8);

FX_GUARD(move)
{
	struct fx_move *m = fx_at(&last, 0);

	if (m)
		*m = *move;
	fx_count(&asked, move->priority, 1);
	if (move->priority == 1)
		return fx_drop(EACCES);
	if (move->priority == 2)
		return fx_mark(0x4242, 3);
	return fx_pass();
}

FX_PORTABLE(lab, FX_MALFORMED_%s);

char LICENSE[] SEC("license") = "Dual BSD/GPL";
"""


def graph(edges, name="lab", nics=("v0",)):
    """A graph of (edge, "in" or "out", flow[, more keys]); w0 is the place nic1, and so on."""
    lines = ["fabric_ext: 1", f"graph: {name}", "places:", "  host: { kind: dram, match: { node: 0 } }"]
    lines += [f"  nic{i}: {{ kind: nic, match: {{ netdev: {nic} }} }}" for i, nic in enumerate(nics)]
    lines.append("edges:")
    for edge, way, flow, *more in edges:
        keys = dict(more[0]) if more else {}
        nic = f"nic{keys.pop('nic', 0)}"
        keys = {"bytes": 1024, "owner": "borrow", **keys}
        ends = f"from: {nic}, to: host" if way == "in" else f"from: host, to: {nic}"
        lines.append(f"  - {{ edge: {edge}, {ends}, flow: {flow}, " +
                     ", ".join(f"{key}: {value}" for key, value in keys.items()) + " }")
    return "\n".join(lines) + "\n"


def compile_bundle(text, policy=None, malformed="PASS", name="lab"):
    bundle = write(f"{name}/g.yaml", text).parent / "bundle"
    source = policy or write(f"{name}/p.bpf.c", POLICY % malformed)
    run = Run("compile", bundle.parent / "g.yaml", source, "-o", bundle)
    want(run.rc == 0, run.err)
    return bundle


class Attached:
    """with Attached(edges) as a: the policy is pinned in there; a.edges(), a.total()."""

    def __init__(self, edges, name="lab", options=(), nics=("v0",), **how):
        self.name = name
        self.bundle = compile_bundle(graph(edges, name, nics), name=name, **how)
        self.options = options

    def __enter__(self):
        run = Run("attach", "--pin", *self.options, self.bundle)
        want(run.rc == 0, run.err)
        return self

    def __exit__(self, *_):
        run = Run("detach", self.name)
        want(run.rc == 0, run.err)

    def stat(self):
        run = Run("stat", "-j", self.name)
        want(run.rc == 0, run.err)
        return run.json

    def nic(self, number=0):
        return self.stat()["nic"][number]

    def edges(self, number=0):
        """{(class, edge, dir): counters}"""
        return {(e["class"], e["edge"], e["dir"]): e for e in self.nic(number)["edges"]}

    def wait(self, way, packets, number=0):
        """Until the device has seen so many, and then its counters."""
        end = time.monotonic() + WAIT_S
        while True:
            nic = self.nic(number)
            if nic[way]["packets"] >= packets or time.monotonic() > end:
                return nic
            time.sleep(0.02)


class Foreground:
    """with Foreground(bundle) as child: attach holds the policy, as a process."""

    def __init__(self, bundle):
        self.bundle = bundle

    def __enter__(self):
        self.child = subprocess.Popen([SANITIZED, "attach", self.bundle], stderr=subprocess.PIPE, text=True)
        want("ends with this command" in self.child.stderr.readline(), "it is not attached")
        return self.child

    def __exit__(self, *_):
        if self.child.poll() is None:
            self.child.kill()
        self.child.communicate(timeout=WAIT_S)


class Events:
    """with Events(...) as e: fabricctl events runs; e.until(f) waits for one that f takes.

    Each is a dictionary, or with AS_JSON=False a line of text.
    """

    def __init__(self, *args, as_json=True):
        self.args = [*args, *(["-j"] if as_json else [])]
        self.take = json.loads if as_json else str
        self.got = []

    def __enter__(self):
        self.child = subprocess.Popen([SANITIZED, "events", "-t", f"{EVENTS_S}s", *self.args], text=True,
                                      stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        # what is counted from here on is news to it
        time.sleep(1)
        return self

    def until(self, takes):
        for line in self.child.stdout:
            self.got.append(self.take(line))
            if takes(self.got[-1]):
                return self.got[-1]
        raise AssertionError(f"only {self.got}; {self.child.stderr.read()}")

    def __exit__(self, *_):
        self.child.send_signal(signal.SIGINT)
        _, self.told = self.child.communicate(timeout=EVENTS_S)


def ours():
    """The links, programs and maps of network devices that the kernel has: kind and ID of each.

    An ID is given once. What ended before is freed a little later, so counts say little.
    """
    found = set()
    for kind in ("prog", "map"):
        listed = json.loads(sh("bpftool", "-j", kind, "list"))
        found |= {(kind, o["id"]) for o in listed if re.match("fx_(nic|conf|flows|rows)", o.get("name", ""))}
    links = json.loads(sh("bpftool", "-j", "link", "list"))
    return found | {("link", link["id"]) for link in links if link["type"] in ("xdp", "tcx")}


def cpumap_threads():
    """How many threads wait for packets that are redirected to a CPU."""
    found = []
    for path in Path("/proc").glob("[0-9]*/comm"):
        try:
            found.append(path.read_text(encoding="utf-8").startswith("cpumap/"))
        except OSError:
            pass	# it ended meanwhile
    return sum(found)


def since(before):
    """How many of each kind there are that were not there before."""
    new = [kind for kind, _ in ours() - before]
    return {kind: new.count(kind) for kind in ("prog", "map", "link")}


def no_more(count, before):
    """What was freed is gone a little later: in the end no more are new."""
    end = time.monotonic() + WAIT_S
    while any(n > count[kind] for kind, n in since(before).items()) and time.monotonic() < end:
        time.sleep(0.1)
    new = since(before)
    want(all(n <= count[kind] for kind, n in new.items()), f"left behind: have {new}, want at most {count}")


def none_new(before):
    no_more({"prog": 0, "map": 0, "link": 0}, before)


def nothing_left(before):
    none_new(before)
    want(not list(Path("/sys/fs/bpf/fabric_ext").glob("*")), "pins left behind")


def tests_of(lab, functions):
    def run(function):
        if lab.why:
            raise Skip(lab.why)
        function(lab)

    return [(function.__name__, run, function) for function in functions]
