#!/usr/bin/python3 -B
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Two workers of a fabric-dpu that put into the same entries of a bounded map:
the last one stays, and no value stands under another's stamp."""

import os
import struct
import sys
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
sys.dont_write_bytecode = True
from dpulab import Attached, Dpu, DpuLab, want, write  # noqa: E402
from fxtest import main, same  # noqa: E402
from netlab import Peer, Port, frame, tests_of  # noqa: E402

EDGES = [("in", "in", "{ udp: 5000 }"), ("out", "out", "{ udp: 5000 }")]
PACKETS = 20000		# of each worker
BATCH = 64

# Whoever has put finds that, or what is newer; and who adds while the other is
# between reading and putting would lose it. @map is the class's, or the twin's.
POLICY = """\
#include <fabric_ext/portable.bpf.h>

FX_MAP(%(class)s);
FX_MAP(counter, seen, __u64, 2);	/* rounds, older values */

FX_GUARD(move)
{
	__u64 mine = fx_now(), got = 0, sum = 0;

	%(put)s(&latest, 0, &mine);
	%(get)s(&latest, 0, &got);
	if (got < mine)
		fx_count(&seen, 1, 1);
	%(get)s(&latest, 1, &sum);
	sum += 1;
#pragma unroll
	for (int i = 0; i < 64; i++)
		fx_now();
	%(put)s(&latest, 1, &sum);
	fx_count(&seen, 0, 1);
	return fx_pass();
}

FX_PORTABLE(turns, FX_MALFORMED_PASS);

char LICENSE[] SEC("license") = "Dual BSD/GPL";
"""
# a plain array instead, where nobody takes turns
PLAIN = """
#define plain_get(map, i, out)	do { __u64 *at = fx_at(map, i); if (at) *(out) = *at; } while (0)
#define plain_put(map, i, in)	do { __u64 *at = fx_at(map, i); if (at) *at = *(in); } while (0)

FX_GUARD"""


def flood(lab, dpu):
    """So many packets to each worker, at once; how many came."""
    with Peer(lab):
        wire = Port("v1")
    stop = threading.Event()

    def send(port):
        while not stop.is_set():
            for _ in range(BATCH):
                port.send(frame(5000))
            time.sleep(0.001)
        port.close()

    threads = [threading.Thread(target=send, args=(port,)) for port in (wire, Port("w1"))]
    for thread in threads:
        thread.start()
    end = time.monotonic() + 120
    while dpu.info()["received"] < 2 * PACKETS and time.monotonic() < end:
        time.sleep(0.05)
    stop.set()
    for thread in threads:
        thread.join()
    received = dpu.wait_received(dpu.info()["received"])["received"]
    want(received >= 2 * PACKETS, "too slow:", received)


def words(dpu, name):
    data = bytes.fromhex(dpu.client("read", name).split("\n")[1])
    return struct.unpack(f"<{len(data) // 8}Q", data)


def run(lab, text):
    """(rounds, older, the sum's row)"""
    with Dpu(workers=2, ports=("v0", "w0"), spread=True) as dpu, \
            Attached(EDGES, policy=write("turns/p.bpf.c", text)) as a:
        flood(lab, dpu)
        rounds = 0
        while rounds != a.nic()["in"]["packets"] + a.nic()["out"]["packets"]:
            rounds = a.nic()["in"]["packets"] + a.nic()["out"]["packets"]
            time.sleep(0.2)
        seen, latest = words(dpu, "seen"), words(dpu, "latest")
        same(seen[0], rounds)
        return seen[0], seen[1], latest


def last_one_stays(lab):
    rounds, older, latest = run(lab, POLICY % {"class": "bounded, latest, __u64, 2, 1000", "get": "fx_get", "put": "fx_put"})
    # a row is lock and writer, value, stamp
    print(f"# {rounds} rounds: {older} found an older value, {rounds - latest[4]} additions lost")
    same((older, latest[4]), (0, rounds))


def twin(lab):
    """Without the class two who write at once are found out."""
    text = POLICY.replace("\nFX_GUARD", PLAIN, 1) % {"class": "local, latest, __u64, 2", "get": "plain_get", "put": "plain_put"}
    for _ in range(10):
        rounds, older, latest = run(lab, text)
        print(f"# {rounds} rounds: {older} found an older value, {rounds - latest[1]} additions lost")
        if older or latest[1] < rounds:
            return
    want(False, "two workers never met")


if __name__ == "__main__":
    os.environ.setdefault("ASAN_OPTIONS", "detect_leaks=1")
    sys.exit(main(tests_of(DpuLab(), [last_one_stays, twin])))
