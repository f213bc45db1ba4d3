#!/usr/bin/python3 -B
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""scripts/vm shell, as somebody at a terminal uses it."""

import os
import pty
import select
import sys
import time
from pathlib import Path

VM = Path(__file__).resolve().parent.parent.parent / "scripts" / "vm"
SECONDS = 900  # it may wait for another machine


def shell():
    """Type two commands at its prompt: what was shown, and the exit code."""
    pid, terminal = pty.fork()
    if not pid:
        os.execv(VM, [str(VM), "shell", "newest"])
    shown, typed, end = b"", False, time.monotonic() + SECONDS
    while time.monotonic() < end:
        if not select.select([terminal], [], [], 1)[0]:
            continue
        try:
            piece = os.read(terminal, 4096)
        except OSError:
            break
        if not piece:
            break
        shown += piece
        if not typed and b"# " in shown.rpartition(b"root@")[2]:
            typed = True
            os.write(terminal, b"echo there are $(grep -c ^fabric_ext /proc/modules); exit 3\n")
    else:
        os.kill(pid, 15)
    return shown.decode(errors="replace"), os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def main():
    shown, code = shell()
    wrong = [text for text in ("vm: fabric_ext is loaded", "there are 1\r")
             if text not in shown]
    print("KTAP version 1\n1..1")
    if wrong or code != 3:
        print("".join(f"# {line}\n" for line in shown.splitlines()[-20:]), end="")
        print(f"# exit code {code}; not shown: {wrong}")
        print("not ok 1 the_module_is_loaded_and_the_exit_code_passed_on")
        return 1
    print("ok 1 the_module_is_loaded_and_the_exit_code_passed_on")
    return 0


sys.exit(main())
