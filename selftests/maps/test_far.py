#!/usr/bin/python3 -B
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Litmus tests on four executors in two memories: a syscall program, XDP and tc
in the kernel, and a fabric-dpu, with the agent between them, which is killed
again and again.

All of litmus_far.bpf.c runs once, for 100,000 rounds and more of each question;
each test then asks one of what was written down, and asks its twin.
"""

import os
import struct
import subprocess
import sys
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
sys.dont_write_bytecode = True
from test_remote import Dpu, DpuLab, Peer, Port, Remote, compile_bundle, graph, tests_of, wait  # noqa: E402
from netlab import ETH_P_IP, ethernet, ipv4, udp  # noqa: E402
from fxtest import OUT, PLAIN, Run, Skip, main, same, want, write  # noqa: E402

HERE = Path(__file__).resolve().parent
TURNS = 4		# of which a question has one at least
ROUNDS = 100000 * TURNS	# of all executors
SHARE = ROUNDS // 5	# of each
BOUND_NS = 100 * 1000000
CLOCKS_NS = 100000	# by how much two readers of one clock may differ
WORDS = 512
BATCH = 64
KILLS = 4		# agents, at least
DPU, XDP, TC, SYSCALL = range(4)
NAMES = ("dpu", "xdp", "tc", "syscall")
EDGES = [("dpu", "in", "{ udp: 7000 }"), ("xdp", "in", "{ udp: 7001 }", {"nic": 0}),
         ("tc", "out", "{ udp: 7002 }", {"nic": 0}), ("syscall", "in", "{ udp: 7003 }", {"nic": 0})]
SAID = ("rounds", "torn", "back", "early", "epoch", "plain_sums", "plain_torn", "plain_early")
HISTORY = struct.Struct("<5Q")


def rows(data, size):
    return [struct.unpack_from(f"<{size // 8}Q", data, at) for at in range(0, len(data), size)]


class Syscall:
    """The syscall program, in a process of its own."""

    program = OUT / "tests/bin/litmus-far", OUT / "selftests/maps/litmus_far.bpf.o"

    def __init__(self):
        self.child = subprocess.Popen([*self.program, "remote"],
                                      stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.lock = threading.Lock()
        self.answer()

    def answer(self):
        line = self.child.stdout.readline()
        if not line:
            raise AssertionError(self.child.communicate()[1])
        return line.strip()

    def ask(self, *words):
        with self.lock:
            print(*words, file=self.child.stdin, flush=True)
            return self.answer()

    def close(self):
        self.child.stdin.close()
        self.child.wait(60)


class Forgetful:
    """The twin of the agent: what it has counted of the DPU is in its memory alone."""

    def __init__(self):
        self.total = self.last = 0

    def count(self, now):
        self.total += now - self.last
        self.last = now


class Far(Remote):
    """The policy on all, packets to all, and what came of it."""

    def __init__(self, lab):
        super().__init__(lab)
        self.bundle = compile_bundle(graph(EDGES, "remote", nics=["w0"]), HERE / "litmus_far.bpf.c", name="remote")
        self.dpu = Dpu()
        self.twin = Forgetful()
        self.message = 0
        self.stop = threading.Event()
        self.sent = [0] * len(EDGES)

    def send(self, edge, port):
        while not self.stop.is_set():
            what = ethernet(ETH_P_IP, ipv4(17, udp(self.message, 7000 + edge, b"x" * 32)))
            for _ in range(BATCH):
                port.send(what)
            self.sent[edge] += BATCH
            time.sleep(0.002)
        port.close()

    def call(self):
        while not self.stop.is_set():
            same(self.syscall.ask("litmus_run", BATCH, self.message), "ok")
            same(self.syscall.ask("litmus_write", 1, self.sent[SYSCALL] + 1), "ok")
            self.sent[SYSCALL] += BATCH
            time.sleep(0.002)

    def publish(self, epoch):
        run = Run("publish", "remote", "table", write("values", str([epoch] * WORDS)), program=PLAIN)
        same(run.rc, 0, run.err)
        # published: from here on a message may say so
        same(self.syscall.ask("litmus_tell", 1, epoch), "ok")
        self.message = epoch

    def enough(self, received):
        each = [received] + self.sent[1:]
        return min(each) >= SHARE and sum(each) >= ROUNDS and self.killed >= KILLS

    def everything(self):
        """Traffic everywhere, epochs, and agents that are killed, until it was enough."""
        with Peer(self.lab):
            wire = Port("v1")
        ports = ((DPU, wire), (XDP, Port("w1")), (TC, Port("w0")))
        threads = [threading.Thread(target=self.send, args=args) for args in ports]
        threads.append(threading.Thread(target=self.call))
        for thread in threads:
            thread.start()
        end, self.epochs, self.killed = time.monotonic() + 400, 0, 0
        try:
            while time.monotonic() < end and not self.enough(self.dpu.info()["received"]):
                self.epochs += 1
                self.publish(self.epochs)
                self.twin.count(self.dpu_words("seen")[DPU])
                if self.epochs % 3 == 0:
                    self.kill_agent()
                    self.killed += 1
                    self.twin.last = 0
                    # longer than the bound: readers have to notice
                    time.sleep(3 * BOUND_NS / 1e9)
        finally:
            self.stop.set()
            for thread in threads:
                thread.join()
        self.publish(self.epochs + 1)
        received = self.dpu.info()["received"]
        want(self.enough(received), "too slow:", self.sent, received, self.killed, "agents killed")

    def dpu_words(self, name):
        return struct.unpack(f"<{len(EDGES)}Q", bytes.fromhex(self.dpu.client("read", name).split("\n")[1]))

    def of_all(self, name, size):
        """A local map, as each executor left its part."""
        dpu = rows(bytes.fromhex(self.dpu.client("read", name).split("\n")[1]), size)
        run = Run("map", "-j", "remote", name, program=PLAIN)
        same(run.rc, 0, run.err)
        values = run.json["maps"][0]["devices"]["nic-w0"]
        nic = rows(b"".join(struct.pack("<Q", v) if isinstance(v, int) else bytes.fromhex(v) for v in values), size)
        syscall = rows(bytes.fromhex(self.syscall.ask("map", name)), size)
        each = len(dpu) // len(EDGES)
        return [memory[at * each:(at + 1) * each] for at, memory in enumerate((dpu, nic, nic, syscall))]

    def __enter__(self):
        super().__enter__()
        try:
            self.syscall = Syscall()
        except BaseException:
            super().__exit__(*sys.exc_info())
            raise
        return self

    def __exit__(self, *args):
        self.syscall.close()
        super().__exit__(*args)


class Result:
    """What one run of everything left behind."""

    def __init__(self, lab):
        with Far(lab) as far:
            far.everything()
            self.said = [dict(zip(SAID, one[0])) for one in far.of_all("said", 8 * len(SAID))]
            self.history = [[row for row in one if row[0]] for one in far.of_all("history", HISTORY.size)]
            self.rounds = [one["rounds"] for one in self.said]
            received = far.dpu.info()["received"]
            same(self.rounds, [received] + far.sent[1:], "calls and packets:")
            wait("the sums", lambda: far.map("seen")["sum"] == self.rounds)
            time.sleep(0.3)
            self.sums = far.map("seen")["sum"]
            self.shards = far.map("seen")["devices"]
            far.twin.count(received)
            self.twin = far.twin.total
            self.plain_sum = far.map("plain_sum")["values"][0]["value"]
            print(f"# rounds {dict(zip(NAMES, self.rounds))}, {far.epochs} epochs, {far.killed} agents killed")


class Once:
    """The run, for the test that comes first; the others have what it left."""

    def __init__(self, lab):
        self.lab = lab
        self.why = lab.why
        self.result = None

    def get(self):
        if not self.result:
            self.result = Result(self.lab)
        return self.result


def lost_update(once):
    """class counter: each addition is in the sum. Twin: read, add one, write."""
    r = once.get()
    same(r.sums, r.rounds)
    added = sum(one["plain_sums"] for one in r.said)
    print(f"# plain: {added - r.plain_sum} of {added} are lost")
    want(r.plain_sum < added)


def killed_agent(once):
    """class counter: agents were killed, and the DPU's shard is what it counted. Twin: one that forgets."""
    r = once.get()
    same(r.shards["dpu-dpu0"], [r.rounds[DPU], 0, 0, 0])
    print(f"# plain: {r.twin} of {r.rounds[DPU]}")
    want(r.twin > r.rounds[DPU])


def torn_snapshot(once):
    """class snapshot: no table of two epochs, none that is older than one before. Twin: entry by entry."""
    r = once.get()
    for name, one in zip(NAMES, r.said):
        print(f"# {name}: epoch {one['epoch']}, plain: {one['plain_torn']} torn")
        same((one["torn"], one["back"]), (0, 0), name)
        want(one["epoch"] > 1, name, "saw no epochs")
    want(r.said[DPU]["plain_torn"], "the DPU saw no plain table torn")


def message_passing(once):
    """class snapshot: who is told of an epoch after it was published sees it. Twin: an entry that was written."""
    r = once.get()
    for name, one in zip(NAMES, r.said):
        same(one["early"], 0, name)
    print(f"# plain: {r.said[DPU]['plain_early']} messages came to the DPU before what they tell of")
    want(r.said[DPU]["plain_early"])


def behind(r, reader, promised):
    """How many rounds read what had been overwritten longer ago than the bound, and of how many."""
    late = asked = 0
    index = [{row[3]: at for at, row in enumerate(one)} for one in r.history]
    for began, got, source, _, _ in r.history[reader]:
        who = source % len(EDGES)
        if promised and source < len(EDGES):
            continue
        asked += 1
        want(not got or got in index[who], NAMES[reader], "read what nobody wrote:", got)
        after = index[who][got] + 1 if got else 0
        late += after < len(r.history[who]) and r.history[who][after][4] + BOUND_NS + CLOCKS_NS < began
    return late, asked


def stale_beyond_bound(once):
    """class bounded: what is promised was not overwritten longer ago than that. Twin: who does not ask for the promise."""
    r = once.get()
    careless = 0
    for reader, name in enumerate(NAMES):
        late, asked = behind(r, reader, True)
        plain, of = behind(r, reader, False)
        print(f"# {name}: {late} of {asked} behind; plain: {plain} of {of}")
        same(late, 0, name)
        want(asked > of / 10, name, "was promised next to nothing")
        careless += plain if reader == DPU else 0
    want(careless, "nobody was behind when the agent was dead")


def no_coherent(_):
    """class coherent: a DPU cannot have it, which the compiler says at the map's line."""
    text = (HERE / "litmus_far.bpf.c").read_text(encoding="utf-8")
    source = write("coherent/p.bpf.c", text.replace("FX_MAP(counter, seen,", "FX_MAP(coherent, words, __u64, 1);\nFX_MAP(counter, seen,"))
    line = source.read_text(encoding="utf-8").split("\n").index("FX_MAP(coherent, words, __u64, 1);") + 1
    run = Run("compile", write("coherent/g.yaml", graph(EDGES[:1], "remote")), source, "-o", source.parent / "bundle")
    same(run.rc, 1, run.err)
    for word in (f"p.bpf.c:{line}:", "FX1111", "'words'", "'dpu'", "'bounded'"):
        want(word in run.err, word, "is not in", run.err)


if __name__ == "__main__":
    os.environ.setdefault("ASAN_OPTIONS", "detect_leaks=1")
    sys.exit(main(tests_of(Once(DpuLab()), [lost_update, killed_agent, torn_snapshot, message_passing,
                                            stale_beyond_bound, no_coherent])))
