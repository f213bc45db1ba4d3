#!/usr/bin/python3 -B
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""How long after the call a snapshot is visible to a syscall program, XDP, tc
and a fabric-dpu, next to a bare update of as many bytes in an array."""

import statistics
import sys
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
sys.dont_write_bytecode = True
import test_far  # noqa: E402
from test_far import EDGES, HERE, NAMES, Far, Peer, Port, compile_bundle, graph, want  # noqa: E402
from test_remote import DpuLab, frame  # noqa: E402
from fxtest import OUT  # noqa: E402

RUNS = 101
BYTES = 4096 * 8
BUILT = OUT / "selftests/maps"


class Bench(Far):
    def __init__(self, lab):
        super().__init__(lab)
        self.bundle = compile_bundle(graph(EDGES, "remote", nics=["w0"]), HERE / "bench_far.bpf.c", name="bench")

    def send(self, edge, port):
        what = frame(7000 + edge)
        while not self.stop.is_set():
            port.send(what)
            time.sleep(0.0002)
        port.close()

    def call(self):
        while not self.stop.is_set():
            self.syscall.ask("litmus_run", 1, 0)
            time.sleep(0.0002)

    def measure(self):
        """[(begin, end)] of each call, and when each executor saw what."""
        with Peer(self.lab):
            wire = Port("v1")
        threads = [threading.Thread(target=self.send, args=args)
                   for args in ((0, wire), (1, Port("w1")), (2, Port("w0")))]
        threads.append(threading.Thread(target=self.call))
        for thread in threads:
            thread.start()
        calls = []
        try:
            for _ in range(RUNS):
                calls.append(list(map(int, self.syscall.ask("epoch", "table").split())))
                time.sleep(0.1)
        finally:
            time.sleep(1)
            self.stop.set()
            for thread in threads:
                thread.join()
        return calls, [[row[0] for row in one] for one in self.of_all("seen_at", 8)]


def first_seen(seen, epoch):
    """A later epoch may be the first one that was looked at."""
    return min((at for at in seen[epoch:] if at), default=0)


def main():
    lab = DpuLab()
    if lab.why:
        print(f"bench: {lab.why}")
        return 0
    test_far.Syscall.program = BUILT / "bench-far", BUILT / "bench_far.bpf.o"
    with Bench(lab) as b:
        bare = int(b.syscall.ask("bare", BYTES, RUNS))
        calls, seen = b.measure()
    print(f"a snapshot of {BYTES} bytes, median of {RUNS}, of a bare update ({bare} ns):")
    visible = [[first_seen(one, epoch) - begin for epoch, (begin, _) in enumerate(calls, 1)] for one in seen]
    rows = [(f"visible to {name}", ns) for name, ns in zip(NAMES, visible)]
    rows.append(("visible to all four", [max(ns) for ns in zip(*visible)]))
    rows.append(("the call returns", [end - begin for begin, end in calls]))
    for what, ns in rows:
        want(min(ns) > 0, what, "never")
        median = statistics.median(ns)
        print(f"  {what:20} {median / bare:9.1f}  ({median:.0f} ns)")
    return 0


if __name__ == "__main__":
    sys.exit(main())
