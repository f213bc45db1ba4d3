#!/usr/bin/python3 -B
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Maps that the devices of a graph share: attach, map, publish, and devices that go."""

import json
import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "nic"))
sys.dont_write_bytecode = True
from netlab import Lab, Peer, Port, compile_bundle, frame, graph, nothing_left, ours, tests_of  # noqa: E402
from fxtest import TMP, Run, main, same, want, write  # noqa: E402

EDGES = [("a", "in", "{ udp: 7000 }"), ("b", "in", "{ udp: 7001 }", {"nic": 1})]

POLICY = """\
#include <fabric_ext/portable.bpf.h>

struct rule {
	__u32 limit;
	__u32 mark;
	__u64 unused;
};

FX_MAP(local, mine, __u64, 4);
FX_MAP(counter, seen, __u64, 4);
FX_MAP(snapshot, rules, struct rule, 3);
FX_MAP(bounded, latest, __u64, 4, 50);
FX_MAP(coherent, ticket, __u64, 2);

FX_GUARD(move)
{
	const struct fx_epoch_rules *epoch = fx_snap(&rules);
	const struct rule *rule = epoch ? fx_snap_at(epoch, move->edge) : 0;
	__u64 *own = fx_at(&mine, 0), last;

	if (own)
		*own += 1;
	fx_count(&seen, move->edge, 1);
	fx_count(&seen, 3, move->bytes);
	fx_add(&ticket, 0, 1);
	if (fx_get(&latest, 0, &last))
		fx_store(&ticket, 1, last);
	fx_put(&latest, 0, &move->bytes);
	if (rule && move->bytes > rule->limit)
		return fx_drop(ENOSPC);
	return fx_pass();
}

FX_PORTABLE(share, FX_MALFORMED_PASS);

char LICENSE[] SEC("license") = "Dual BSD/GPL";
"""
NICS = ("v0", "w0")


class Shared:
    """with Shared() as s: the policy is pinned on both devices."""

    def __init__(self, policy=POLICY, edges=EDGES, nics=NICS, options=()):
        self.bundle = compile_bundle(graph(edges, "share", nics), write("share/p.bpf.c", policy), name="share")
        self.options = options

    def __enter__(self):
        run = Run("attach", "--pin", *self.options, self.bundle)
        want(run.rc == 0, run.err)
        return self

    def __exit__(self, *_):
        run = Run("detach", "share")
        want(run.rc == 0, run.err)

    @staticmethod
    def map(name):
        run = Run("map", "-j", "share", name)
        want(run.rc == 0, run.err)
        return run.json["maps"][0]


def send(lab, on_v0, on_w0, size=32):
    """So many frames to each of the two devices, and no others."""
    with Peer(lab):
        port = Port("v1")
    port.send(*[frame(7000, b"x" * size)] * on_v0)
    port.close()
    port = Port("w1")
    port.send(*[frame(7001, b"x" * size)] * on_w0)
    port.close()


def refused(run, *words):
    same(run.rc, 1, run.err)
    want(run.err.count("\n") == 1, run.err)
    for word in words:
        want(word in run.err, word, "is not in", run.err)


def manifest_lists_them(_):
    bundle = compile_bundle(graph(EDGES, "share", NICS), write("share/p.bpf.c", POLICY), name="share")
    listed = json.loads((bundle / "manifest.json").read_text(encoding="utf-8"))["classes"]
    same(listed, {
        "mine": {"class": "local", "entries": 4, "value_size": 8},
        "seen": {"class": "counter", "entries": 4, "value_size": 8},
        "rules": {"class": "snapshot", "entries": 3, "value_size": 16},
        "latest": {"class": "bounded", "entries": 4, "value_size": 8, "bound_ms": 50},
        "ticket": {"class": "coherent", "entries": 2, "value_size": 8},
    })


def each_as_its_class(lab):
    """What two devices did to the maps, read by class."""
    before = ours()
    with Shared() as s:
        same(s.map("rules")["epoch"], 0)
        send(lab, 3, 5)
        seen = s.map("seen")
        same(seen["sum"], [3, 5, 0, 8 * 32])
        same(seen["devices"], {"nic-v0": [3, 0, 0, 96], "nic-w0": [0, 5, 0, 160]})
        same(s.map("mine")["devices"], {"nic-v0": [3, 0, 0, 0], "nic-w0": [5, 0, 0, 0]})
        same(s.map("ticket")["values"], [8, 32])
        latest = s.map("latest")
        same((latest["bound_ms"], latest["promised"]), (50, True))
        same(latest["values"][0]["value"], 32)
        want(0 < latest["values"][0]["age_ms"] < 60000, latest)
        same(latest["values"][1], {"value": 0})
        for words in ((), ("seen",), ("seen", "--all"), ("latest",), ("rules",)):
            run = Run("map", "share", *words)
            same(run.rc, 0, run.err)
        want("8  " not in Run("map", "share", "seen").err)
        refused(Run("map", "share", "sen"), "'sen'", "did you mean 'seen'?")
        refused(Run("map", "nobody"), "nobody")
        same([m["sum"] for m in Run("stat", "-j", "share").json["maps"]], [[3, 5, 0, 256]])
        want("seen" in Run("stat", "share").out)
    nothing_left(before)


if __name__ == "__main__":
    os.environ.setdefault("ASAN_OPTIONS", "detect_leaks=1")
    sys.exit(main(tests_of(Lab(), [manifest_lists_them, each_as_its_class])))
