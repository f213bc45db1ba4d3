#!/usr/bin/python3 -B
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What a packet costs with a policy on the network device that receives it.

Against XDP_PASS, in turns, on this kernel: from a veth to another, which is all
that a kernel does with a packet that nobody waits for, and of the program alone
(test_run). `make bench-nic` builds what it needs and runs it.
"""

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

TOP = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(TOP / "selftests/nic"))
sys.dont_write_bytecode = True
from netlab import Lab, frame  # noqa: E402
import rocelab  # noqa: E402

BUILD, PINS, FABRICCTL = TOP / "build/bench", Path("/sys/fs/bpf"), TOP / "build/bin/fabricctl"
POLICIES = {"watch": TOP / "bench/watch.bpf.c", "kv_guard": TOP / "bpf/policies/kv_guard.bpf.c"}
ROUNDS, FRAMES, REPEAT = 40, 16384, 100_000
GOALS = {"watch": "1.15x", "kv_guard": "1.3x"}

# the budget is one that the measurement does not use up
GRAPH = """\
fabric_ext: 1
graph: %s
places:
  host: { kind: dram, match: { node: 0 } }
  nic0: { kind: nic, match: { netdev: %s } }
edges:
  - { edge: kv, for: layer in 32, from: nic0, to: host, bytes: 1TiB, owner: borrow, flow: %s }
"""


def run(*command):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False, timeout=120)
    if done.returncode:
        sys.exit(f"nic-cost: {' '.join(map(str, command))}: {done.stderr.strip() or done.stdout.strip()}")
    return done.stdout


class Loaded:
    """A program under test, on a veth by native XDP and on another by generic."""

    def __init__(self, name, number, flow, folder):
        self.name = name
        self.native, self.generic = (f"{kind}{number}" for kind in "ng")
        for device in (self.native, self.generic):
            run("ip", "link", "add", device, "address", "02:00:00:00:00:0a", "type", "veth", "peer", "name", device + "p")
            for end in (device, device + "p"):
                Lab.up(end)
        if name == "XDP_PASS":
            self.program = PINS / "bench_pass"
            run("bpftool", "prog", "load", BUILD / "pass.o", self.program)
            run("bpftool", "net", "attach", "xdpdrv", "pinned", self.program, "dev", self.native)
        else:
            graph = folder / f"{name}.yaml"
            graph.write_text(GRAPH % (name, self.native, flow), encoding="utf-8")
            run(FABRICCTL, "compile", "--device", "nic", graph, POLICIES[name], "-o", folder / name)
            run(FABRICCTL, "attach", "--pin", folder / name)
            self.program = PINS / "fabric_ext" / name / f"nic-{self.native}/progs/fx_nic_in"
        run("bpftool", "net", "attach", "xdpgeneric", "pinned", self.program, "dev", self.generic)

    def end(self):
        for device in (self.native, self.generic):
            run("ip", "link", "del", device)
        if self.name == "XDP_PASS":
            self.program.unlink()
        else:
            run(FABRICCTL, "detach", self.name)

    def costs(self, data):
        said = run("bpftool", "prog", "run", "pinned", self.program, "data_in", data, "repeat", REPEAT)
        return [*(float(run(BUILD / "flood", f"{device}p", data, FRAMES)) for device in (self.native, self.generic)),
                float(re.search(r"duration \(average\): (\d+)ns", said)[1])]


def measure(what, flow, data, folder):
    names = ("XDP_PASS", *POLICIES)
    loaded = [Loaded(name, number, flow, folder) for number, name in enumerate(names)]
    least = {name: [float("inf")] * 3 for name in names}
    for _ in range(ROUNDS):
        for one in loaded:
            least[one.name] = [min(pair) for pair in zip(least[one.name], one.costs(data))]
    for one in loaded:
        one.end()
    print(f"\n{what:26} {'veth, native':>19} {'veth, generic':>19} {'program':>9}")
    base = least["XDP_PASS"]
    for name, (native, generic, alone) in least.items():
        goal = f"   goal {GOALS[name]}" if name in GOALS else ""
        print(f"{name:26} {native:10.0f} {native / base[0]:7.3f}x {generic:10.0f} {generic / base[1]:7.3f}x {alone:9.0f}{goal}")


def main():
    lab = Lab()
    if lab.why:
        sys.exit(f"nic-cost: {lab.why}")
    print(f"kernel {os.uname().release}, ns per packet of 256 bytes, the least of {ROUNDS} rounds")
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder) / "frame"
        data.write_bytes(frame(47910 + 7, bytes(256)))
        measure("UDP", "{ udp: 47910 + layer }", data, Path(folder))
        data.write_bytes(rocelab.packet(rocelab.WRITE_ONLY, 107, 9, bytes(256), rocelab.reth(256)))
        measure("RDMA WRITE", "{ rocev2: { qp: 100 + layer } }", data, Path(folder))


if __name__ == "__main__":
    main()
