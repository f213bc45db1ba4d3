#!/usr/bin/python3 -B
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Litmus tests across two memories: XDP and tc in the kernel, fabric-dpu beside it.

A round is a packet, of which the program that it meets reads and writes maps
and counts what must not be; 100,000 and more in each memory, while the agent is
killed and started again.
"""

import os
import struct
import sys
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
sys.dont_write_bytecode = True
from test_remote import DpuLab, Peer, Port, Remote, compile_bundle, frame, graph, tests_of, wait  # noqa: E402
from fxtest import PLAIN, Run, main, same, want, write  # noqa: E402

ROUNDS = 100000
BOUND_MS = 100
BATCH = 64

EDGES = [("a", "in", "{ udp: 7000 }"), ("b", "in", "{ udp: 7001 }", {"nic": 0}),
         ("c", "out", "{ udp: 7002 }", {"nic": 0})]

# Edge 0 is the DPU's, 1 XDP's, 2 tc's. UNTORN and FRESH are what the twins leave out.
POLICY = """\
#include <fabric_ext/portable.bpf.h>

#define WORDS	512

FX_MAP(counter, seen, __u64, 3);
FX_MAP(snapshot, table, __u64, WORDS);
FX_MAP(bounded, clock, __u64, 3, %(bound)d);

/* rounds, torn, promised, behind, most behind, last write, longest pause, epoch went back */
FX_MAP(local, said, __u64, 8);

#define ADD(i, n)	do { __u64 *at = fx_at(&said, i); if (at) *at += (n); } while (0)
#define MOST(i, n)	do { __u64 *at = fx_at(&said, i); if (at && (n) > *at) *at = (n); } while (0)

/* Who writes the time of a write cannot be further behind than that. */
static __always_inline void look(__u32 other, __u64 now)
{
	__u64 then = 0;

	if (%(get)s(&clock, other, &then) && then) {
		ADD(2, 1);
		if (now > then) {
			MOST(4, now - then);
			if (now - then > (%(bound)d + %(slack)d) * 1000000ULL)
				ADD(3, 1);
		}
	}
}

FX_GUARD(move)
{
	const struct fx_epoch_table *t = fx_snap(&table);
	__u64 *last = fx_at(&said, 7), now = fx_now();

	fx_count(&seen, move->edge, 1);
	ADD(0, 1);
	if (t) {
		if (t->value[0] != t->epoch || t->value[WORDS / 2] != t->epoch ||
		    t->value[WORDS - 1] != t->epoch)
			ADD(1, 1);
		if (last && t->epoch < *last)
			ADD(1, 1);
		if (last && t->epoch > *last)
			*last = t->epoch;
	}
	/* the wire writes in one memory, and the other one looks */
	if (move->edge == 0) {
		fx_put(&clock, 0, &now);
		look(1, now);
	} else {
		fx_put(&clock, 1, &now);
		look(0, now);
	}
	return fx_pass();
}

FX_PORTABLE(flood, FX_MALFORMED_PASS);

char LICENSE[] SEC("license") = "Dual BSD/GPL";
"""

# Reads whatever lies there, as if nothing had been promised.
CARELESS = """
#define careless_get(map, i, out)					\\
({									\\
	__u32 n = fx_bounded_rows(map);					\\
	typeof((map)->value) row = fx_map_entry(map, n + (i));		\\
									\\
	if (row)							\\
		fx_row_read(row, out);					\\
	row != 0;							\\
})

"""
SAID = ("rounds", "torn", "promised", "behind", "most_behind")


class Flooded(Remote):
    def __init__(self, lab, get="fx_get"):
        super().__init__(lab)
        # what a burst may wait for the CPU, and a writer for its next packet, on a machine that is shared
        text = POLICY % {"bound": BOUND_MS, "slack": 400, "get": get}
        if get != "fx_get":
            text = text.replace("/* Who writes", CARELESS + "/* Who writes", 1)
        self.bundle = compile_bundle(graph(EDGES, "remote", nics=["w0"]), write("remote/f.bpf.c", text), name="remote")

    def dpu_map(self, name, entries=8):
        return struct.unpack(f"<{entries}Q", bytes.fromhex(self.dpu.client("read", name).split("\n")[1]))

    def said(self):
        """What each memory's programs counted."""
        return {"nic": dict(zip(SAID, self.map("said")["devices"]["nic-w0"])),
                "dpu": dict(zip(SAID, self.dpu_map("said")))}


class Traffic:
    """with Traffic(lab): packets to the DPU, and through the device both ways."""

    def __init__(self, lab):
        self.lab = lab
        self.stop = threading.Event()
        self.threads = []
        self.sent = [0, 0, 0]

    def __enter__(self):
        with Peer(self.lab):
            wire = Port("v1")
        for edge, port, name in ((0, wire, 7000), (1, Port("w1"), 7001), (2, Port("w0"), 7002)):
            self.threads.append(threading.Thread(target=self.send, args=(edge, port, frame(name))))
            self.threads[-1].start()
        return self

    def send(self, edge, port, what):
        while not self.stop.is_set():
            for _ in range(BATCH):
                port.send(what)
            self.sent[edge] += BATCH
            time.sleep(0.0005)
        port.close()

    def __exit__(self, *_):
        self.stop.set()
        for thread in self.threads:
            thread.join()


def publish(epoch):
    values = write("values", str([epoch] * 512))
    return Run("publish", "remote", "table", values, program=PLAIN)


def all_classes(lab):
    """Counters exact, tables whole, nothing further behind than promised; the agent is killed again and again."""
    with Flooded(lab) as r:
        with Traffic(lab) as t:
            epoch, end = 0, time.monotonic() + 240
            while min(t.sent) < ROUNDS and time.monotonic() < end:
                epoch += 1
                same(publish(epoch).rc, 0)
                if epoch % 8 == 0:
                    r.kill_agent()
                    # longer than the bound: readers have to notice
                    time.sleep(3 * BOUND_MS / 1000)
        want(min(t.sent) >= ROUNDS, "too slow:", t.sent)
        same(publish(epoch + 1).rc, 0)
        time.sleep(1)
        said, dpu = r.said(), r.dpu.info()
        print(f"# {epoch} epochs, {epoch // 8} agents killed; sent {t.sent}, the DPU received {dpu['received']}")
        for who, of in said.items():
            print(f"# {who}: {of}")
            same((of["torn"], of["behind"]), (0, 0), who)
            want(of["promised"] > of["rounds"] / 10, who, "was promised next to nothing")
        wait("the sums", lambda: r.map("seen")["sum"] == [dpu["received"], t.sent[1], t.sent[2]])
        want(dpu["received"] > ROUNDS * 9 / 10, "the DPU met too few")


def careless_reader(lab):
    """The twin that does not ask whether it is promised: found out when the agent is dead."""
    with Flooded(lab, "careless_get") as r:
        with Traffic(lab):
            wait("what the other wrote", lambda: min(of["promised"] for of in r.said().values()))
            r.kill_agent()
            wait("what is behind", lambda: min(of["behind"] for of in r.said().values()))
        print(f"# {r.said()}")


if __name__ == "__main__":
    os.environ.setdefault("ASAN_OPTIONS", "detect_leaks=1")
    sys.exit(main(tests_of(DpuLab(), [all_classes, careless_reader])))
