#!/usr/bin/python3 -B
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""fabricctl where there is no module: every command says so in one sentence."""

import json
import os
import subprocess
import sys
from pathlib import Path

FABRICCTL = Path(__file__).absolute().parents[1] / "bin/fabricctl-asan"
MODULE = Path("/sys/module/fabric_ext")


def run(*args, env=None):
    kept = {k: v for k, v in os.environ.items() if k != "FX_KMOD"}
    return subprocess.run([FABRICCTL, *args], capture_output=True, text=True, check=False,
                          timeout=60, env={**kept, **(env or {})})


def one_sentence(text):
    return text.count("\n") == 1 and len(text.split()) >= 5 and text.startswith("fabricctl: ")


COMMANDS = [["list"], ["show", "g"], ["stat", "g"], ["events", "--timeout", "1s"],
            ["bypass", "--all"], ["bypass", "g"], ["detach", "g"]]


def without_the_module():
    for command in COMMANDS:
        done = run(*command)
        assert done.returncode == 2, (command, done)
        assert one_sentence(done.stderr), done.stderr
        assert "insmod" in done.stderr, done.stderr
        assert not done.stdout, done.stdout


def errors_as_json():
    for command in COMMANDS:
        done = run(*command, "-j")
        assert done.returncode == 2, (command, done)
        said = json.loads(done.stdout)
        assert len(said["errors"]) == 1 and "insmod" in said["errors"][0], said


def wrong_command_lines():
    for command, word in ((["bypass"], "--all"), (["bypass", "g", "--all"], "--all"),
                          (["show"], "GRAPH"), (["stat"], "GRAPH"), (["detach"], "GRAPH"),
                          (["attach"], "BUNDLE"), (["stat", "g", "-n", "3"], "--interval"),
                          (["stat", "g", "-i", "1"], "time"), (["stat", "g", "-i", "1ns"], "--interval"),
                          (["stat", "g", "-i", "100000s"], "--interval"),
                          (["events", "-n", "0"], "--count"), (["events", "-n", "x"], "--count"),
                          (["events", "-t", "5"], "--timeout"), (["events", "a", "b"], "'b'"),
                          (["attach", "b", "--pim"], "--pin"), (["list", "x"], "'x'"),
                          (["attach", "b", "--pin", "--", "true"], "--pin")):
        done = run(*command)
        assert done.returncode == 1, (command, done)
        assert one_sentence(done.stderr), done.stderr
        assert word in done.stderr, (word, done.stderr)


def attach_wants_a_bundle():
    for bundle in ("/no/such/directory", "/", "/etc/passwd"):
        done = run("attach", bundle)
        assert done.returncode in (1, 2), done
        assert one_sentence(done.stderr), done.stderr
        assert bundle in done.stderr, done.stderr


def doctor_speaks_json():
    done = run("doctor", "-j")
    said = json.loads(done.stdout)
    assert said["ok"] == (done.returncode == 0), said
    assert done.returncode in (0, 1), done
    assert len(said["checks"]) >= 16, said
    for check in said["checks"]:
        assert check["status"] in ("ok", "gap", "missing", "unknown"), check
        assert ("fix" in check) == (check["status"] != "ok"), check
    assert said["ok"] == all(c["status"] != "missing" for c in said["checks"]), said


def doctor_offers_the_module():
    for env, command in ({}, "insmod fabric_ext.ko"), ({"FX_KMOD": "/x/y.ko"}, "insmod /x/y.ko"):
        said = json.loads(run("doctor", "-j", env=env).stdout)
        checks = {c["check"]: c for c in said["checks"]}
        for name, status in ("module", "gap"), ("module_btf", "unknown"):
            assert (checks[name]["status"], checks[name]["fix"]) == (status, command), checks[name]
    assert "gaps\n" in run("doctor").stdout or "1 gap\n" in run("doctor").stdout


def help_is_there():
    for command in ("attach", "detach", "list", "show", "stat", "events", "bypass", "doctor"):
        done = run(command, "--help")
        assert done.returncode == 0 and done.stdout.startswith(f"usage: fabricctl {command}"), done
    assert "-- CMD" in run("attach", "--help").stdout


def main():
    tests = [wrong_command_lines, attach_wants_a_bundle, doctor_speaks_json, help_is_there]
    gone = [without_the_module, errors_as_json, doctor_offers_the_module]
    failed = 0
    print(f"TAP version 13\n1..{len(tests) + len(gone)}")
    for i, test in enumerate(tests + gone, 1):
        if test in gone and MODULE.exists():
            print(f"ok {i} {test.__name__} # SKIP the module is loaded here")
            continue
        try:
            test()
            print(f"ok {i} {test.__name__}")
        except (AssertionError, ValueError, KeyError, subprocess.TimeoutExpired) as error:
            print(f"# {error!r}"[:2000].replace("\n", "\n# "))
            print(f"not ok {i} {test.__name__}")
            failed = 1
    return failed


if __name__ == "__main__":
    os.environ.setdefault("ASAN_OPTIONS", "detect_leaks=1")
    sys.exit(main())
