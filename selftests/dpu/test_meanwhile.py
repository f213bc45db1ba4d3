#!/usr/bin/python3 -B
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What comes between two steps of a replacement: a bypass, and a worker that is away."""

import ctypes
import os
import struct
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
sys.dont_write_bytecode = True
from dpulab import WAIT_S, Attached, Dpu, DpuLab, Run, Skip, nothing_left, want  # noqa: E402
from fxtest import PLAIN, main, same  # noqa: E402
from netlab import Peer, Port, frame, tests_of  # noqa: E402
from test_interrupted import interrupted  # noqa: E402
from test_rdma import ALONE, LOAD, SETTLE, ask, connected, sealed  # noqa: E402

EDGES = [("a", "in", "{ udp: 7000 }")]
STEPS = 100	# programs that a command loads; none loads so many
PTRACE_SEIZE, PTRACE_INTERRUPT, PTRACE_DETACH = 0x4206, 0x4207, 17
WALL = 0x40000000


class Away:
    """with Away(dpu): its first worker is stopped, and no other thread."""

    def __init__(self, dpu):
        tasks = Path(f"/proc/{dpu.child.pid}/task").iterdir()
        self.tid = min(int(t.name) for t in tasks if "worker" in (t / "comm").read_text(encoding="utf-8"))

    def trace(self, request):
        libc = ctypes.CDLL(None, use_errno=True)
        libc.ptrace.argtypes = [ctypes.c_long] * 4
        libc.ptrace.restype = ctypes.c_long
        if libc.ptrace(request, self.tid, 0, 0):
            raise Skip(f"no thread can be stopped here: ptrace: {os.strerror(ctypes.get_errno())}")

    def __enter__(self):
        self.trace(PTRACE_SEIZE)
        self.trace(PTRACE_INTERRUPT)
        os.waitpid(self.tid, WALL)
        return self

    def __exit__(self, *_):
        self.trace(PTRACE_DETACH)


def wire(lab):
    with Peer(lab):
        return Port("v1")


def counted(a):
    return a.nic()["edges"][0]["packets"]


def bypassed_meanwhile(_):
    """A bypass that the command has not seen is not taken back by it, one that it has seen is."""
    with Dpu(), Attached(EDGES) as a:
        held = 0
        for step in range(1, STEPS):
            same(Run("attach", "--replace", a.bundle).rc, 0)
            same(a.nic()["state"], "attached", step)
            rc, came = interrupted(f"prog_load:{step} run {PLAIN} bypass --all", "attach", "--replace", a.bundle)
            same(rc, 0, step)
            if not came:
                break
            # what libbpf probes before the DPU is asked comes first
            held += a.nic()["state"] == "by-passed"
            want(not held or a.nic()["state"] == "by-passed", "the bypass was taken back at step", step)
        want(held and step < STEPS - 1, held, step)
    nothing_left()


def replaced_while_away(lab):
    """Counts go on, and what is put back is there, though a worker had left neither in time."""
    name = b"lab".ljust(64, b"\0")
    with Dpu() as dpu, Attached(EDGES) as a:
        port = wire(lab)
        port.send(*[frame(7000)] * 5)
        a.wait("in", 5)
        with Away(dpu):
            run = Run("attach", "--replace", a.bundle)
            same(run.rc, 0, run.err)
            same((counted(a), dpu.info()["graph"]), (5, "lab"))
        port.send(*[frame(7000)] * 3)
        a.wait("in", 8)
        same(counted(a), 8)
        parts = [(a.bundle / "dpu/dpu0" / part).read_bytes() for part in ("artifact.bin", "policy.bpf.o", "flows.bin")]
        fds = [sealed(data) for data in (*parts, b"a".ljust(64, b"\0"))]
        load = struct.pack("<II", ALONE, 1)
        with connected() as s:
            with Away(dpu):
                same(ask(load, cmd=LOAD, over=s, fds=fds), (0, ""))
                same(ask(name + struct.pack("<II", 1, 0), cmd=SETTLE, over=s), (0, ""))
                same((dpu.info()["graph"], counted(a)), ("lab", 8))
            # all that waited for the worker is freed, and what runs is what was there
            port.send(*[frame(7000)] * 2)
            a.wait("in", 10)
            same(counted(a), 10)
            # who waits for it has a limit
            errors = []
            with Away(dpu):
                began = time.monotonic()
                while not errors and time.monotonic() < began + 4 * WAIT_S:
                    error, why = ask(load, cmd=LOAD, over=s, fds=fds)
                    if error:
                        errors.append((error, why))
                want(errors and errors[0][0] == -16 and "worker does not come back" in errors[0][1], errors)
            # it may take the next turn later than we ask
            until = time.monotonic() + WAIT_S
            answer = ask(load, cmd=LOAD, over=s, fds=fds)
            while answer[0] == -16 and time.monotonic() < until:
                time.sleep(0.05)
                answer = ask(load, cmd=LOAD, over=s, fds=fds)
            same(answer, (0, ""))
        for fd in fds:
            os.close(fd)
        port.send(*[frame(7000)] * 2)
        a.wait("in", 12)
        same(counted(a), 12)
        port.close()
    nothing_left()


if __name__ == "__main__":
    os.environ.setdefault("ASAN_OPTIONS", "detect_leaks=1")
    sys.exit(main(tests_of(DpuLab(), [bypassed_meanwhile, replaced_while_away])))
