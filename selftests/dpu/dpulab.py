# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A fabric-dpu between veth devices: v0 is its wire, w0 its host side."""

import atexit
import ctypes
import json
import os
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "nic"))
sys.dont_write_bytecode = True
import netlab  # noqa: E402
from netlab import POLICY, WAIT_S, Lab, sh  # noqa: E402,F401
from fxtest import OUT, Run, Skip, want, write  # noqa: E402

DPU = OUT / "bin/fabric-dpu"
CLIENT = OUT / "tests/bin/dpu-client"
RUN = Path("/run/fabric_ext")
# What a port's driver says where the kernel lacks its kind of socket or device: a reason to
# skip, at a first start. Whatever else keeps a fabric-dpu from starting is its fault.
LACKING = ("Could not open AF_PACKET socket", "could not open AF_PACKET socket", "Failed to create xsk socket",
           "Failed to create umem", "Unable to open /dev/net/tun")


class DpuLab(Lab):
    """Lab's devices, and a /run of our own."""

    def make(self):
        super().make()
        if ctypes.CDLL(None, use_errno=True).mount(b"none", b"/run", b"tmpfs", 0, None):
            raise OSError(ctypes.get_errno(), "mount tmpfs on /run")


class Dpu:
    """with Dpu() as dpu: it runs in there."""

    def __init__(self, name="dpu0", ports=("v0",), workers=1, program=DPU, frames=0, spread=False):
        """FRAMES: how many a port's ring holds, where it is not the driver's default."""
        self.name = name
        self.program = program
        self.frames = f",framecnt={frames}" if frames else ""
        self.ports = ports
        self.workers = workers
        # over the CPUs that there are, or all on one
        self.cpus = sorted(os.sched_getaffinity(0)) if spread else [0]
        self.child = None
        self.started = False

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.stop()

    def start(self):
        lcores = ",".join(f"{i}@{self.cpus[i % len(self.cpus)]}" for i in range(self.workers + 1))
        # a netdev by its name, or another device by what DPDK calls it
        devices = [f"--vdev={port}" if port.startswith("net_") else
                   f"--vdev=net_af_packet{i},iface={port}{self.frames}"
                   for i, port in enumerate(self.ports)]
        self.log = open(write(f"{self.name}.log", ""), "r+", encoding="utf-8")
        self.child = subprocess.Popen(
            [self.program, self.name, "--lcores", lcores, "--no-huge", "-m", "64", "--no-pci", "--no-telemetry",
             f"--file-prefix={self.name}", *devices], stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log)
        atexit.register(self.kill)
        end = time.monotonic() + WAIT_S
        while "is ready" not in self.said():
            if self.child.poll() is not None or time.monotonic() > end:
                self.kill()
                said = self.said()
                if not self.started and any(word in said for word in LACKING):
                    raise Skip(f"the kernel lacks what fabric-dpu's ports need: {said}")
                want(False, "fabric-dpu does not start:", said)
            time.sleep(0.02)
        self.started = True

    def said(self):
        self.log.seek(0)
        return self.log.read()

    def stop(self):
        """Ask it to end, and see that it does."""
        if self.child.poll() is None:
            self.child.terminate()
            rc = self.child.wait(WAIT_S)
            want(rc == 0, f"fabric-dpu ends with {rc}: {self.said()}")

    def kill(self):
        if self.child.poll() is None:
            self.child.kill()
            self.child.wait(WAIT_S)

    def client(self, *args, rc=0):
        """What dpu-client says; its exit status is RC."""
        done = subprocess.run([CLIENT, self.name, *map(str, args)], capture_output=True, text=True,
                              check=False, timeout=120)
        want(done.returncode == rc and not done.stderr, args, done.stdout, done.stderr)
        return done.stdout

    def info(self):
        return json.loads(self.client("info"))

    def wait_received(self, packets):
        end = time.monotonic() + WAIT_S
        while self.info()["received"] < packets and time.monotonic() < end:
            time.sleep(0.02)
        return self.info()


def graph(edges, name="lab", dpus=("dpu0",), nics=()):
    """As netlab's: (edge, "in" or "out", flow[, more keys]); a key dpu is the number of one."""
    lines = ["fabric_ext: 1", f"graph: {name}", "places:", "  host: { kind: dram, match: { node: 0 } }"]
    lines += [f"  dpu{i}: {{ kind: dpu, match: {{ dpu: {dpu} }} }}" for i, dpu in enumerate(dpus)]
    lines += [f"  nic{i}: {{ kind: nic, match: {{ netdev: {nic} }} }}" for i, nic in enumerate(nics)]
    lines.append("edges:")
    for edge, way, flow, *more in edges:
        keys = dict(more[0]) if more else {}
        place = f"nic{keys.pop('nic')}" if "nic" in keys else f"dpu{keys.pop('dpu', 0)}"
        keys = {"bytes": 1024, "owner": "borrow", **keys}
        ends = f"from: {place}, to: host" if way == "in" else f"from: host, to: {place}"
        lines.append(f"  - {{ edge: {edge}, {ends}, flow: {flow}, " +
                     ", ".join(f"{key}: {value}" for key, value in keys.items()) + " }")
    return "\n".join(lines) + "\n"


class Attached(netlab.Attached):
    """The same with places of kind dpu."""

    def __init__(self, edges, name="lab", options=(), dpus=("dpu0",), nics=(), **how):
        self.name = name
        self.bundle = netlab.compile_bundle(graph(edges, name, dpus, nics), name=name, **how)
        self.options = options

    def nic(self, number=0):
        return self.stat()["dpu"][number]


def nothing_left():
    want(not list(Path("/sys/fs/bpf/fabric_ext").glob("*")), "pins left behind",
         list(Path("/sys/fs/bpf/fabric_ext").rglob("*")))


def refused(run, *words):
    """It fails by one sentence with these words."""
    want(run.rc in (1, 2) and run.err.count("\n") == 1, run.rc, run.err)
    for word in words:
        want(word in run.err, word, run.err)


__all__ = ["Attached", "Dpu", "DpuLab", "OUT", "RUN", "Run", "Skip", "graph", "nothing_left", "refused", "want", "write"]
