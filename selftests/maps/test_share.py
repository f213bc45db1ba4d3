#!/usr/bin/python3 -B
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Maps that the devices of a graph share: attach, map, publish, and devices that go."""

import hashlib
import json
import os
import struct
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "nic"))
sys.dont_write_bytecode = True
from netlab import Lab, Peer, Port, compile_bundle, frame, graph, nothing_left, ours, sh, tests_of  # noqa: E402
from fxtest import Run, main, same, want, write  # noqa: E402

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
PINS = Path("/sys/fs/bpf/fabric_ext/share/shared")
LESS = """\
#include <fabric_ext/portable.bpf.h>

FX_MAP(counter, seen, __u64, 4);

FX_GUARD(move)
{
	fx_count(&seen, move->edge, 1);
	return fx_pass();
}

FX_PORTABLE(less, FX_MALFORMED_PASS);

char LICENSE[] SEC("license") = "Dual BSD/GPL";
"""


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


def rules(limit):
    return write("rules", json.dumps([struct.pack("<IIQ", limit, 0, 0).hex()] * 3))


def send(lab, on_v0, on_w0, peer="w1", size=32):
    """So many frames to each of the two devices, and no others."""
    with Peer(lab):
        port = Port("v1")
    port.send(*[frame(7000, b"x" * size)] * on_v0)
    port.close()
    if on_w0:
        port = Port(peer)
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


def nothing_is_lost(lab):
    """A policy that is replaced, a device that goes and comes: maps go on, and are shared on."""
    before = ours()
    sh("ip", "link", "add", "x0", "type", "veth", "peer", "name", "x1")
    for name in ("x0", "x1"):
        lab.up(name)
    with Shared(nics=("v0", "x0")) as s:
        run = Run("publish", "share", "rules", rules(1000))
        same(run.rc, 0, run.err)
        send(lab, 3, 5, "x1")
        same(s.map("seen")["sum"][:2], [3, 5])
        run = Run("attach", "--replace", s.bundle)
        same(run.rc, 0, run.err)
        send(lab, 1, 1, "x1")
        same(s.map("seen")["sum"][:2], [4, 6])
        same((s.map("ticket")["values"][0], s.map("rules")["epoch"]), (10, 1))
        # the device goes: its counts stay in the sum
        sh("ip", "link", "del", "x0")
        send(lab, 1, 0)
        same(s.map("seen")["sum"][:2], [5, 6])
        sh("ip", "link", "add", "x0", "type", "veth", "peer", "name", "x1")
        for name in ("x0", "x1"):
            lab.up(name)
        run = Run("attach", "--repair", s.bundle)
        same(run.rc, 0, run.err)
        send(lab, 1, 2, "x1")
        same(s.map("seen")["sum"][:2], [6, 8])
        same(s.map("ticket")["values"][0], 14)
        # a repair is for what is attached, with its maps
        other = compile_bundle(graph(EDGES, "share", ("v0", "x0")),
                               write("share/q.bpf.c", POLICY.replace("coherent, ticket, __u64, 2", "coherent, ticket, __u64, 3")),
                               name="share2")
        sh("ip", "link", "del", "x0")
        sh("ip", "link", "add", "x0", "type", "veth", "peer", "name", "x1")
        refused(Run("attach", "--repair", other), "not the bundle's", "--replace")
        run = Run("attach", "--repair", s.bundle)
        same(run.rc, 0, run.err)
        # a policy with other maps begins those anew, and only those
        run = Run("attach", "--replace", other)
        same(run.rc, 0, run.err)
        same((s.map("ticket")["values"], s.map("seen")["sum"][:2]), ([0, 0, 0], [6, 8]))
        less = compile_bundle(graph(EDGES, "share", ("v0", "x0")), write("share/r.bpf.c", LESS), name="share3")
        run = Run("attach", "--replace", less)
        same(run.rc, 0, run.err)
        same([m["map"] for m in Run("map", "-j", "share").json["maps"]], ["seen"])
        same(sorted(path.name for path in PINS.iterdir()), ["@maps", "seen@nic-v0", "seen@nic-x0"])
    sh("ip", "link", "del", "x0")
    nothing_left(before)


def published(lab):
    """A whole table or none; what does not fit is refused with the reason."""
    with Shared() as s:
        for text, *words in ((b"[1, 2", "JSON"), (b"[]", "0 values", "3 entries"), (b"[1, 2, 3]", "value 0"),
                             (b'["00", "00", "00"]', "value 0", "1 bytes", "16"), (b"zz", "hexadecimal"),
                             (b"00" * 47, "47 bytes", "48"), (b"00" * 49, "49 bytes"), (b"", "0 bytes"),
                             (b"[1, 2, 3]\0", "no text")):
            refused(Run("publish", "share", "rules", write("values", text)), *words)
            same(s.map("rules")["epoch"], 0)
        refused(Run("publish", "share", "seen", rules(1)), "'counter'", "'snapshot'")
        refused(Run("publish", "share", "rulez", rules(1)), "did you mean 'rules'?")
        refused(Run("publish", "nobody", "rules", rules(1)), "nobody")
        refused(Run("publish", "share", "rules", "/nonexistent"), "/nonexistent")
        for epoch, limit in ((1, 40), (2, 20)):
            run = Run("publish", "-j", "share", "rules", rules(limit))
            same((run.rc, run.json["epoch"]), (0, epoch), run.err)
            same(s.map("rules")["values"], [struct.pack("<IIQ", limit, 0, 0).hex()] * 3)
        send(lab, 2, 0)
        same([e["refused"] for e in Run("stat", "-j", "share").json["nic"][0]["edges"]], [2])
        # nobody writes a table, from here neither
        same(Run("publish", "share", "rules", write("hex", " 00" * 48)).rc, 0)
    refused(Run("map", "share"), "no maps that are pinned")


def altered_classes(_):
    """A manifest that lists other maps than the objects have."""
    before = ours()
    bundle = compile_bundle(graph(EDGES, "share", NICS), write("share/p.bpf.c", POLICY), name="share")
    path, seal = bundle / "manifest.json", bundle / "manifest.sha256"
    sound = json.loads(path.read_text(encoding="utf-8"))
    for change, *words in (({"seen": None}, "'seen'", "does not list it"),
                           ({"seen": {"class": "local", "entries": 4, "value_size": 8}}, "'seen'", "another class or size"),
                           ({"rules": {"class": "snapshot", "entries": 2, "value_size": 16}}, "'rules'", "another"),
                           ({"latest": {"class": "bounded", "entries": 4, "value_size": 8, "bound_ms": 60}}, "'latest'"),
                           ({"latest": {"class": "bounded", "entries": 4, "value_size": 8}}, "bound"),
                           ({"latest": {"class": "bounded", "entries": 4, "value_size": 8, "bound_ms": 1}}, "out of range"),
                           ({"seen": {"class": "other", "entries": 4, "value_size": 8}}, "does not exist"),
                           ({"seen": {"class": "counter", "entries": 1 << 40, "value_size": 8}}, "without"),
                           ({"a/b": {"class": "local", "entries": 1, "value_size": 8}}, "manifest.json"),
                           ({"x" * 64: {"class": "local", "entries": 1, "value_size": 8}}, "manifest.json")):
        classes = {name: about for name, about in {**sound["classes"], **change}.items() if about}
        text = json.dumps({**sound, "classes": classes})
        path.write_text(text, encoding="utf-8")
        seal.write_text(f"{hashlib.sha256(text.encode()).hexdigest()}  manifest.json\n", encoding="utf-8")
        refused(Run("attach", "--pin", bundle), "compile", *words)
    nothing_left(before)


if __name__ == "__main__":
    os.environ.setdefault("ASAN_OPTIONS", "detect_leaks=1")
    sys.exit(main(tests_of(Lab(), [
        manifest_lists_them, each_as_its_class, nothing_is_lost, published, altered_classes])))
