#!/usr/bin/python3 -B
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What a command that was killed at any of its steps has left: told as it is, by-passed, mended, ended."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
sys.dont_write_bytecode = True
from netlab import WAIT_S, POLICY, Attached, Foreground, Lab, Peer, Port, compile_bundle, frame, graph, nothing_left, ours, sh, tests_of  # noqa: E402
from fxtest import OUT, PLAIN, Run, Skip, main, same, want, write  # noqa: E402

EDGES = [("a", "in", "{ udp: 7000 }"), ("b", "out", "{ udp: 7000 }")]
PINS = Path("/sys/fs/bpf/fabric_ext/lab")
INTERRUPT = OUT / "tests/lib/interrupt.so"
DENIES = POLICY.replace("return fx_pass();", "return fx_drop(EPERM);").replace("FX_PORTABLE(lab", "FX_PORTABLE(deny")
SHARES = POLICY.replace("FX_GUARD(", "FX_MAP(snapshot, limits, __u64, 4);\n\nFX_GUARD(")
HALF = "half replaced: attach --repair mends that"
ENDS = 200	# steps of a command; none has so many


def interrupted(how, *command):
    """Run a command that HOW happens to: its status and whether the step came."""
    if not INTERRUPT.exists():
        raise Skip(f"there is no {INTERRUPT}; `make -C selftests/nic` makes it")
    done = subprocess.run([PLAIN, *command], capture_output=True, text=True, check=False, timeout=120,
                          env={**os.environ, "LD_PRELOAD": str(INTERRUPT), "FX_INTERRUPT": how})
    return done.returncode, "interrupted at" in done.stderr


def killed(step, *command):
    """Was it killed, or did it end before it came to that step?"""
    rc, came = interrupted(f"{step} kill", *command)
    same(rc, -signal.SIGKILL if came else 0, step)
    return came


def denying():
    return compile_bundle(graph(EDGES), write("deny/p.bpf.c", DENIES % "PASS"), name="deny")


class Wire:
    """Whether what comes in passes the programs on v0."""

    def __init__(self, lab):
        self.here = Port("v0")
        with Peer(lab):
            self.there = Port("v1")

    def passes(self):
        self.here.receive()
        self.there.send(frame(7000))
        return len(self.here.receive()) == 1


def half_replaced(lab):
    """Killed before the pins follow the links: what runs is what is told of, by-passed, and mended."""
    before = ours()
    wire, deny = Wire(lab), denying()
    for step in ("link_update:2", "renameat2:1"):
        for mend in (["--repair", deny], ["--repair"], ["--replace"], ["--replace", deny]):
            with Attached(EDGES) as a:
                want(killed(step, "attach", "--replace", deny), step)
                want(not wire.passes(), "the new one does not run")
                same((a.nic()["state"], a.nic()["policy"]), (HALF, "deny"), step)
                want(HALF in Run("list").out, Run("list").out)
                run = Run("attach", "-j", mend[0], mend[1] if mend[1:] else a.bundle)
                same(run.rc, 0, run.err)
                want(mend[0] == "--replace" or run.json["repaired"] == ["nic v0"], run.out)
                same((a.nic()["state"], wire.passes()), ("attached", deny not in mend), step, *mend)
                same(list(PINS.glob("*/next")), [])
            nothing_left(before)
        with Attached(EDGES) as a:
            want(killed(step, "attach", "--replace", deny), step)
            for everything in ("lab", "--all"):
                same(Run("bypass", everything).rc, 0)
                want(wire.passes(), "it is by-passed and refuses")
                same(a.nic()["state"], "by-passed")
            same(Run("attach", "--repair", deny).rc, 0)
            same((a.nic()["state"], wire.passes()), ("attached", False), step)
        nothing_left(before)


def replaced_twice(lab):
    """A second replacement that is killed or fails after a first one that was killed."""
    before = ours()
    wire, deny = Wire(lab), denying()
    with Attached(EDGES) as a:
        want(killed("renameat2:1", "attach", "--replace", deny), "the first")
        # the pins follow, and all of the old ones are gone
        want(killed("mkdir:3", "attach", "--replace", a.bundle), "the second")
        same((a.nic()["policy"], wire.passes()), ("deny", False))
        same(interrupted("link_update:2 fail", "attach", "--replace", a.bundle), (2, True))
        same((a.nic()["policy"], a.nic()["state"], wire.passes()), ("deny", "attached", False))
        # maps in place, programs not; then what runs is pinned nowhere
        want(killed("renameat2:2", "attach", "--replace", a.bundle), "the third")
        same((a.nic()["policy"], a.nic()["state"], wire.passes()), ("lab", HALF, True))
        want(killed("mkdir:5", "attach", "--replace", deny), "the fourth")
        want(killed("renameat2:1", "attach", "--replace", deny), "the fifth")
        sh("rm", "-r", str(PINS / "nic-v0" / "next"))
        want(not wire.passes(), "it does not refuse")
        same(a.nic()["state"], HALF)
        same(Run("bypass", "lab").rc, 0)
        want(wire.passes(), "it is by-passed and refuses")
        same(Run("attach", "--repair", a.bundle).rc, 0)
        same((a.nic()["state"], a.nic()["policy"], wire.passes()), ("attached", "lab", True))
    nothing_left(before)


def pins_that_cannot_follow(lab):
    """The new policy is in force, and the pins stay behind with an error."""
    before = ours()
    wire, deny = Wire(lab), denying()
    for step in ("renameat2:1", "renameat2:2"):
        with Attached(EDGES) as a:
            same(interrupted(f"{step} fail", "attach", "--replace", deny), (2, True))
            same((a.nic()["state"], a.nic()["policy"], wire.passes()), (HALF, "deny", False), step)
            same(Run("bypass", "lab").rc, 0)
            want(wire.passes(), "it is by-passed and refuses")
            same(Run("attach", "--repair", deny).rc, 0)
            same((a.nic()["state"], wire.passes()), ("attached", False), step)
        nothing_left(before)


def bypassed_meanwhile(lab):
    """A bypass that comes while a replacement goes on is not taken back by it."""
    before = ours()
    wire, deny = Wire(lab), denying()
    for step in ("prog_load:1", "mkdir:3", "link_update:1", "link_update:2", "link_update:3", "renameat2:1",
                 "renameat2:2"):
        with Attached(EDGES) as a:
            rc, came = interrupted(f"{step} run {PLAIN} bypass --all", "attach", "--replace", deny)
            want(rc == 0 and came, step, rc)
            same((a.nic()["state"], a.nic()["policy"], wire.passes()), ("by-passed", "deny", True), step)
            # one that comes later was asked for
            same(Run("attach", "--replace", deny).rc, 0)
            same((a.nic()["state"], wire.passes()), ("attached", False), step)
            # and a mended one
            sh("bpftool", "link", "detach", "pinned", str(PINS / "nic-v0" / "xdp"))
            rc, came = interrupted(f"link_create:1 run {PLAIN} bypass --all", "attach", "--repair", deny)
            same((rc, came, a.nic()["state"], wire.passes()), (0, True, "by-passed", True), step)
        nothing_left(before)


def held_meanwhile(_):
    """A detach that waits for an attach finds that the policy is its process', and leaves it."""
    before = ours()
    bundle = compile_bundle(graph(EDGES, "front"), name="front")
    says = write("front/said", "").parent / "said"
    held = attach = None
    # mkdir of the graph's directory is past, so the lock is held, and @owner is to be made
    for step in range(1, ENDS):
        says.write_text("")
        command = f"(sleep 1; {PLAIN} detach front 2>{says}; echo $? >>{says}) >/dev/null 2>&1 &"
        attach = subprocess.Popen([PLAIN, "attach", bundle], stderr=subprocess.PIPE, text=True,
                                  env={**os.environ, "LD_PRELOAD": str(INTERRUPT),
                                       "FX_INTERRUPT": f"mkdir:{step} run {command} sleep 2"})
        lines = []
        while attach.poll() is None and not any("ends with this command" in line for line in lines):
            lines.append(attach.stderr.readline())
        came = any("interrupted at" in line for line in lines)
        end = time.monotonic() + WAIT_S
        while came and not says.read_text().strip()[-1:].isdigit() and time.monotonic() < end:
            time.sleep(0.05)
        if came:
            *told, rc = says.read_text().splitlines()
            held = held or "the process that attached it" in told[0]
            # before the directory is locked there is nothing to detach yet
            same((rc, len(told)), ("1" if "the process" in told[0] else "2", 1), step, told)
        same((attach.poll(), Run("list", "-j").json[0]["nic"][0]["state"]), (None, "attached"), step)
        attach.terminate()
        attach.communicate(timeout=WAIT_S)
        if not came:
            break
    want(held and step > 1, "no detach waited for the attach")
    nothing_left(before)


def pins_of_another(_):
    """Who held pins that somebody removed leaves alone what another attach has pinned since."""
    before = ours()
    deny = denying()
    with Foreground(compile_bundle(graph(EDGES))) as child:
        sh("find", str(PINS), "-depth", "-delete")
        child.send_signal(signal.SIGSTOP)
        # its programs are still in the way of others on v0
        other = compile_bundle(graph(EDGES, nics=["w0"]), write("w/p.bpf.c", DENIES % "PASS"), name="w")
        same(Run("attach", "--pin", other).rc, 0)
        child.send_signal(signal.SIGCONT)
        child.send_signal(signal.SIGINT)
        child.wait(WAIT_S)
        same([n["state"] for n in Run("stat", "-j", "lab").json["nic"]], ["attached"])
        same(Run("detach", "lab").rc, 0)
    nothing_left(before)


def attach_and_detach(_):
    """Killed before any step, either leaves what one detach ends, with no module to ask."""
    before = ours()
    bundle = compile_bundle(graph(EDGES), write("maps/p.bpf.c", SHARES % "PASS"), name="maps")
    attach, detach = ["attach", "--pin", str(bundle)], ["detach", "lab"]
    for command, call, least in ((detach, "unlinkat", 8), (detach, "link_detach", 3), (detach, "rmdir", 1),
                                 (attach, "mkdir", 4), (attach, "link_create", 3), (attach, "obj_pin", 10)):
        for step in range(1, ENDS):
            if command == detach:
                same(Run(*attach).rc, 0)
            came = killed(f"{call}:{step}", *command)
            # before a first directory was made, and after the last one went, there is nothing
            if PINS.exists():
                run = Run(*detach)
                same((run.rc, run.err.count("\n"), PINS.exists()), (0, 1, False), command, call, step, run.err)
            if not came:
                break
        want(least < step < ENDS - 1, command, call, step)
    nothing_left(before)


if __name__ == "__main__":
    os.environ.setdefault("ASAN_OPTIONS", "detect_leaks=1")
    sys.exit(main(tests_of(Lab(), [half_replaced, replaced_twice, pins_that_cannot_follow, bypassed_meanwhile,
                                   held_meanwhile, pins_of_another, attach_and_detach])))
