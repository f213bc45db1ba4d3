#!/usr/bin/python3 -B
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Maps of a graph whose devices have two memories: the kernel's and a DPU's."""

import json
import os
import signal
import socket
import struct
import sys
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "dpu"))
sys.dont_write_bytecode = True
from dpulab import RUN, WAIT_S, Dpu, DpuLab, graph  # noqa: E402
from netlab import Events, Foreground, Peer, Port, compile_bundle, frame, nothing_left, ours, sh, tests_of  # noqa: E402
from fxtest import Run, main, same, want, write  # noqa: E402

# the DPU's wire is v0; what goes to w0 is the network device's
EDGES = [("a", "in", "{ udp: 7000 }"), ("b", "in", "{ udp: 7001 }", {"nic": 0})]

POLICY = """\
#include <fabric_ext/portable.bpf.h>

FX_MAP(counter, seen, __u64, 2);
FX_MAP(snapshot, limits, __u64, 2);
FX_MAP(bounded, latest, __u64, 2, 200);
FX_MAP(local, read, __u64, 4);	/* value, epoch, promised, not promised */

/* Edge 0 is the DPU's. Frames of 8 bytes read, others write their size. */
FX_GUARD(move)
{
	const struct fx_epoch_limits *epoch = fx_snap(&limits);
	__u64 *value = fx_at(&read, 0), *number = fx_at(&read, 1);
	__u64 *yes = fx_at(&read, 2), *no = fx_at(&read, 3), got;

	fx_count(&seen, move->edge, 1);
	if (!value || !number || !yes || !no)
		return fx_pass();
	*number = epoch ? epoch->epoch * 1000 + epoch->value[1] : 0;
	if (move->bytes != 8) {
		fx_put(&latest, 0, &move->bytes);
	} else if (fx_get(&latest, 0, &got)) {
		*value = got;
		*yes += 1;
	} else {
		*no += 1;
	}
	return fx_pass();
}

FX_PORTABLE(remote, FX_MALFORMED_PASS);

char LICENSE[] SEC("license") = "Dual BSD/GPL";
"""


def wait(what, true):
    end = time.monotonic() + WAIT_S
    while not true():
        want(time.monotonic() < end, "waited in vain:", what)
        time.sleep(0.01)


class Remote:
    """with Remote(lab) as r: the policy is on dpu0 and on w0, and an agent runs."""

    def __init__(self, lab, edges=(), dpus=("dpu0",)):
        self.lab = lab
        self.dpu = Dpu()
        self.bundle = compile_bundle(graph([*EDGES, *edges], "remote", dpus, ["w0"]), write("remote/p.bpf.c", POLICY),
                                     name="remote")

    def __enter__(self):
        self.dpu.start()
        run = Run("attach", "--pin", self.bundle)
        want(run.rc == 0, run.err)
        return self

    def __exit__(self, *_):
        agent = self.agent()
        run = Run("detach", "remote")
        want(run.rc == 0, run.err)
        wait("the agent's end", lambda: not agent or not Path(f"/proc/{agent}").exists())
        self.dpu.stop()

    @staticmethod
    def map(name):
        run = Run("map", "-j", "remote", name)
        want(run.rc == 0, run.err)
        return run.json["maps"][0]

    @staticmethod
    def agent():
        """The process id of the agent, by its command line, where our pins are."""
        ours_to_see = os.readlink("/proc/self/ns/mnt")
        for path in Path("/proc").glob("[0-9]*/cmdline"):
            try:
                if (path.read_bytes().split(b"\0")[:3] == [b"fabricctl", b"agent", b"remote"] and
                        os.readlink(path.parent / "ns/mnt") == ours_to_see):
                    return int(path.parent.name)
            except OSError:
                pass	# it ended meanwhile
        return None

    def kill_agent(self):
        pid = self.agent()
        want(pid, "no agent runs")
        os.kill(pid, signal.SIGKILL)
        wait("the agent's death", lambda: self.agent() != pid)

    def to_dpu(self, size, n=1):
        with Peer(self.lab):
            port = Port("v1")
        port.send(*[frame(7000, b"x" * size)] * n)
        port.close()

    @staticmethod
    def to_nic(size, n=1):
        port = Port("w1")
        port.send(*[frame(7001, b"x" * size)] * n)
        port.close()

    def nic_reads(self):
        """(value, epoch, promised) as the program of the network device sees them."""
        before = self.map("read")["devices"]["nic-w0"]
        self.to_nic(8)
        wait("the packet", lambda: self.map("read")["devices"]["nic-w0"][2:] != before[2:])
        after = self.map("read")["devices"]["nic-w0"]
        return after[0], after[1], after[2] > before[2]

    def dpu_map(self, name):
        return struct.unpack("<4Q", bytes.fromhex(self.dpu.client("read", name).split("\n")[1]))

    def dpu_reads(self):
        before = self.dpu_map("read")
        self.to_dpu(8)
        wait("the packet", lambda: self.dpu_map("read")[2:] != before[2:])
        after = self.dpu_map("read")
        return after[0], after[1], after[2] > before[2]


def counts_of_both(lab):
    before = ours()
    with Remote(lab) as r:
        want(r.agent(), "no agent runs")
        r.to_dpu(32, 5)
        r.to_nic(32, 3)
        wait("the sums", lambda: r.map("seen")["sum"] == [5, 3])
        same(r.map("seen")["devices"], {"dpu-dpu0": [5, 0], "nic-w0": [0, 3]})
        # the agent is killed: no count is lost, nor counted twice
        for _ in range(3):
            r.kill_agent()
            r.to_dpu(32, 7)
            r.to_nic(32, 1)
            r.dpu.wait_received(0)
            same(Run("publish", "remote", "limits", write("values", "[1, 2]")).rc, 0)
            want(r.agent(), "publish starts no agent")
        wait("the sums", lambda: r.map("seen")["sum"] == [5 + 3 * 7, 3 + 3])
        # the DPU is started anew: what it counted before stays counted
        r.dpu.stop()
        r.dpu.start()
        same(Run("attach", "--repair", r.bundle).rc, 0)
        r.to_dpu(32, 2)
        wait("the sums", lambda: r.map("seen")["sum"] == [5 + 3 * 7 + 2, 6])
        # and a policy that is replaced goes on
        same(Run("attach", "--replace", r.bundle).rc, 0)
        r.to_dpu(32, 2)
        r.to_nic(32, 2)
        wait("the sums", lambda: r.map("seen")["sum"] == [5 + 3 * 7 + 4, 8])
        time.sleep(0.3)
        same(r.map("seen")["sum"], [5 + 3 * 7 + 4, 8])
    nothing_left(before)


def bounded_both_ways(lab):
    with Remote(lab) as r:
        wait("the promise", lambda: r.nic_reads()[2])
        wait("the promise", lambda: r.dpu_reads()[2])
        r.to_dpu(100)
        wait("what the DPU wrote", lambda: r.nic_reads()[::2] == (100, True))
        r.to_nic(50)
        wait("what the NIC wrote", lambda: r.dpu_reads()[::2] == (50, True))
        same(r.map("latest")["values"][0]["value"], 50)
        # without an agent nothing is promised, and nothing stale is read
        r.kill_agent()
        time.sleep(0.25)
        same((r.nic_reads()[2], r.dpu_reads()[2]), (False, False))
        same((r.map("latest")["promised"], r.map("latest")["values"][0]), (False, None))
        r.to_dpu(70)
        same(r.nic_reads()[2], False)
        same(Run("publish", "remote", "limits", write("values", "[1, 2]")).rc, 0)
        wait("what the DPU wrote", lambda: r.nic_reads()[::2] == (70, True))
        # without the DPU neither
        r.dpu.kill()
        time.sleep(0.25)
        same(r.nic_reads()[2], False)
        r.dpu.start()
        same(Run("attach", "--repair", r.bundle).rc, 0)
        wait("the promise", lambda: r.nic_reads()[::2] == (70, True))
        wait("what it wrote itself", lambda: r.dpu_reads()[::2] == (70, True))


def snapshot_everywhere(lab):
    with Remote(lab) as r:
        same((r.nic_reads()[1], r.dpu_reads()[1]), (0, 0))
        for epoch in (1, 2, 3):
            run = Run("publish", "-j", "remote", "limits", write("values", f"[9, {epoch}]"))
            same((run.rc, run.json["epoch"]), (0, epoch), run.err)
            # when it returns, all see it
            same((r.nic_reads()[1], r.dpu_reads()[1]), (epoch * 1001, epoch * 1001))
        r.dpu.stop()
        run = Run("publish", "remote", "limits", write("values", "[9, 4]"))
        same(run.rc, 0, run.err)
        want("dpu-dpu0 is away" in run.err, run.err)
        r.dpu.start()
        same(Run("attach", "--repair", r.bundle).rc, 0)
        wait("the epoch", lambda: r.dpu_reads()[1] == 4004)
        same(Run("attach", "--replace", r.bundle).rc, 0)
        same((r.nic_reads()[1], r.dpu_reads()[1]), (4004, 4004))


def one_hangs(lab):
    """A DPU that does not answer: the others are served all the same, and it is when it is back."""
    with Dpu("dpu1", ports=("net_ring0",)) as other, \
            Remote(lab, [("c", "in", "{ udp: 7002 }", {"dpu": 1})], ("dpu0", "dpu1")) as r:
        wait("the promise", lambda: r.nic_reads()[2])
        other.child.send_signal(signal.SIGSTOP)
        try:
            began = time.monotonic()
            for i in range(1, 11):
                r.to_dpu(32)
                wait("the sum", lambda n=i: r.map("seen")["sum"][0] == n)
            # a round that waits for the answer takes five seconds
            want(time.monotonic() - began < 30, "the rounds are held up:", time.monotonic() - began)
            # what the other has put may be missing
            same(r.nic_reads()[2], False)
            # the command says who is away
            run = Run("publish", "remote", "limits", write("values", "[9, 1]"))
            want("dpu1" in run.err, run.err)
            wait("the epoch", lambda: r.dpu_reads()[1] == 1001)
        finally:
            other.child.send_signal(signal.SIGCONT)
        wait("the promise", lambda: r.nic_reads()[2])
        epoch = struct.pack("<3Q", 1, 9, 1).hex()
        wait("the epoch", lambda: other.client("read", "limits").split()[4] == epoch)
        r.to_nic(50)
        wait("what the NIC wrote", lambda: r.dpu_reads()[::2] == (50, True))


class Slow:
    """with Slow(name, seconds): each answer of that fabric-dpu comes so much later."""

    def __init__(self, name, seconds):
        self.path, self.real = RUN / f"dpu-{name}.sock", RUN / "real.sock"
        self.seconds = seconds

    def __enter__(self):
        self.path.rename(self.real)
        self.listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.listener.bind(str(self.path))
        self.listener.listen(8)
        threading.Thread(target=self.serve, daemon=True).start()
        return self

    def serve(self):
        while True:
            try:
                client = self.listener.accept()[0]
            except OSError:
                return
            threading.Thread(target=self.relay, args=(client,), daemon=True).start()

    def relay(self, client):
        with client, socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as dpu:
            try:
                dpu.connect(str(self.real))
                while True:
                    data, fds, _, _ = socket.recv_fds(client, 65536, 4)
                    if not data:
                        return
                    socket.send_fds(dpu, [data], fds)
                    for fd in fds:
                        os.close(fd)
                    answer = dpu.recv(65536)
                    time.sleep(self.seconds)
                    client.send(answer)
            except OSError:
                pass	# either has ended

    def __exit__(self, *_):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        self.path.unlink()
        self.real.rename(self.path)


def one_is_slow(lab):
    """Slower than the agent waits, it is served all the same, and promised nothing."""
    r = Remote(lab)
    r.dpu.start()
    with Slow("dpu0", 0.3):
        run = Run("attach", "--pin", r.bundle)
        want(run.rc == 0, run.err)
        for n in (5, 10):
            r.to_dpu(32, 5)
            wait("the sum", lambda n=n: r.map("seen")["sum"][0] == n)
        run = Run("publish", "remote", "limits", write("values", "[9, 1]"))
        same(run.rc, 0, run.err)
        wait("the epoch", lambda: r.dpu_reads()[1] == 1001)
        same(r.nic_reads()[2], False)
    r.__exit__()


def agents_maps():
    """The maps that only an agent or a pin keeps."""
    return {m["id"] for m in json.loads(sh("bpftool", "-j", "map", "list")) if m.get("name") in ("fx_life", "fx_shard")}


def as_agent(ev):
    return ev["graph"] == "remote" and "agent" in ev


def states(wanted):
    """What list, show and stat say of the agent; the same, but of their time."""
    def said():
        listed = [o for o in Run("list", "-j").json if o["graph"] == "remote"]
        return [o["agent"]["state"] for o in (*listed, Run("show", "-j", "remote").json, Run("stat", "-j", "remote").json)]

    wait(wanted, lambda: said() == [wanted] * 3)
    for run in (Run("list"), Run("show", "remote"), Run("stat", "remote")):
        want(run.rc == 0 and wanted in run.out and "agent" in run.out, run.out)


def agent_ends(lab):
    """Killed or stopped, it is told of as a device that goes; --repair mends, nothing is left."""
    before, maps = ours(), agents_maps()
    ended, hangs = "it has ended: attach --repair starts another", "it hangs: attach --repair ends it and starts another"
    with Remote(lab) as r, Events() as e, Events(as_json=False) as text:
        first = r.agent()
        states("runs")
        r.kill_agent()
        states(ended)
        ev = e.until(as_agent)
        same((ev["event"], ev["agent"], ev["reason"], ev["exit"], ev["message"]),
             ("eject", first, "bypass_ejected", "unreg", ended))
        run = Run("attach", "-j", "--repair", r.bundle)
        same((run.rc, run.json["repaired"]), (0, ["agent"]), run.err)
        ev = e.until(as_agent)
        same((ev["event"], ev["agent"], ev["reason"]), ("attach", r.agent(), "applied"))
        # one that is stopped has its lock; it is not only that of its reads nothing comes
        second = r.agent()
        os.kill(second, signal.SIGSTOP)
        states(hangs)
        ev = e.until(as_agent)
        same((ev["event"], ev["agent"], ev["message"]), ("eject", second, hangs))
        run = Run("attach", "-j", "--repair", r.bundle)
        same((run.rc, run.json["repaired"]), (0, ["agent"]), run.err)
        wait("the end of the hung one", lambda: not Path(f"/proc/{second}").exists())
        want(r.agent(), "no other was started")
        same(e.until(as_agent)["event"], "attach")
        states("runs")
        run = Run("attach", "-j", "--repair", r.bundle)
        same((run.rc, run.json["repaired"]), (0, []), run.err)
        want(text.until(lambda line: f" agent={first} exit=unreg reason=bypass_ejected message=\"{ended}\"" in line), "")
        want(text.until(lambda line: f" attach agent={second} reason=applied" in line), "")
        # detach while it is stopped: it would keep the maps
        os.kill(r.agent(), signal.SIGSTOP)
        want(agents_maps() - maps, "no map is the agent's")
    wait("the maps' end", lambda: agents_maps() <= maps)
    nothing_left(before)


def in_the_foreground(lab):
    """Maps and an agent for as long as the command: one that is killed leaves no pins, which the agent sees to."""
    before, maps = ours(), agents_maps()
    r = Remote(lab)
    r.dpu.start()
    for number in (signal.SIGTERM, signal.SIGKILL):
        with Foreground(r.bundle) as child:
            agent = r.agent()
            want(agent, "no agent runs")
            r.to_dpu(32, 5)
            r.to_nic(32, 3)
            wait("the sums", lambda: r.map("seen")["sum"] == [5, 3])
            same(Run("publish", "remote", "limits", write("values", "[1, 2]")).rc, 0)
            same((r.nic_reads()[1], r.dpu_reads()[1]), (1002, 1002))
            child.send_signal(number)
            child.wait(60)
        wait("the agent's end", lambda: not Path(f"/proc/{agent}").exists())
        wait("the maps' end", lambda: agents_maps() <= maps)
        nothing_left(before)
    # and one that is stopped is in nobody's way
    with Foreground(r.bundle) as child:
        agent = r.agent()
        os.kill(agent, signal.SIGSTOP)
        child.kill()
    want("remote" not in Run("list").out, "it is listed")
    wait("the agent's end", lambda: not Path(f"/proc/{agent}").exists())
    nothing_left(before)
    r.dpu.stop()


def one_agent(lab):
    with Remote(lab) as r:
        run = Run("agent", "remote")
        same(run.rc, 1, run.err)
        want("runs already" in run.err, run.err)
        os.kill(r.agent(), signal.SIGTERM)
        wait("its end", lambda: not r.agent())
        same(Run("map", "-j", "remote").json["agent"], False)
    run = Run("agent", "nobody")
    same(run.rc, 1, run.err)


if __name__ == "__main__":
    os.environ.setdefault("ASAN_OPTIONS", "detect_leaks=1")
    sys.exit(main(tests_of(DpuLab(), [counts_of_both, bounded_both_ways, snapshot_everywhere, one_hangs, one_is_slow, agent_ends,
                                      in_the_foreground, one_agent])))
